"""Trains a module of PyTorch on the parts of a graph, one process a part, without DistributedDataParallel.

    gnnc partition examples/data/karate.safetensors -k 2 -o parts
    torchrun --nproc-per-node 2 examples/distributed/module.py parts

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import sys

import torch
import torch.distributed as dist
from torch import Tensor, nn

import gnnc
import gnnc.ranks


class Net(nn.Module):
    """Two layers that average over neighbours."""

    def __init__(self, features: int) -> None:
        super().__init__()
        self.first, self.second = nn.Linear(2 * features, 16), nn.Linear(32, 2)

    def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
        def neighbours(h: Tensor) -> Tensor:
            rows = torch.cat([h, h.new_ones(h.shape[0], 1)], 1).index_select(0, edge_index[0])
            sums = rows.new_zeros(h.shape[0], rows.shape[1]).index_add(0, edge_index[1], rows)
            return torch.cat([h, sums[:, :-1] / sums[:, -1:].clamp(min=1)], 1)

        return self.second(neighbours(torch.relu(self.first(neighbours(x)))))


def main(folder: str, epochs: int) -> None:
    dist.init_process_group("gloo")
    ranks = gnnc.ranks.TorchRanks()
    part = gnnc.ranks.PartFile(f"{folder}/part.{ranks.rank}.safetensors", ranks)
    x = torch.from_numpy(part.dense("x", 34))
    edges, label = (torch.from_numpy(part.tensors[name].copy()).long() for name in ("edge_index", "y"))
    torch.manual_seed(0)  # the same parameters on all ranks
    module = Net(x.shape[1])
    # Any example will do. It is the same on all ranks, and so is what is compiled.
    example = torch.zeros(4, x.shape[1]), torch.zeros(2, 6, dtype=torch.long)
    run = gnnc.compile(module, example).partitioned(part)
    optimiser = torch.optim.Adam(run.parameters(), lr=0.01)
    nodes = part.whole_extent("node")
    for epoch in range(1, epochs + 1):
        optimiser.zero_grad()
        # This rank's share of the mean over all nodes; gradients of parameters are those of all shares together.
        loss = nn.functional.cross_entropy(run(x, edges), label, reduction="sum") / nodes
        loss.backward()
        optimiser.step()
        if epoch % 10 == 0:
            total = loss.detach().clone()
            dist.all_reduce(total)
            if ranks.rank == 0:
                print(f"epoch {epoch}, loss {float(total):.6f}", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 50)
