"""Classification of graphs: GIN on batches of many small graphs, with one line added.

    python3 examples/pytorch/molecules.py [--eager] [--epochs 5] [--device cuda]

Xu et al., "How Powerful are Graph Neural Networks?". The graphs are rings and trees at random: which of both has to be
found. Each batch has other sizes and new tensors; nothing is compiled again.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception"""

from __future__ import annotations

import time

import torch
import torch.nn.functional as F
import training
from torch import Tensor, nn
from torch_geometric.data import Data
from torch_geometric.loader import DataLoader
from torch_geometric.nn import GINConv, global_add_pool

import gnnc


def graphs(count: int) -> list[Data]:
    result = []
    for number in range(count):
        nodes = int(torch.randint(5, 25, ()))
        ids = torch.arange(nodes)
        is_ring = number % 2
        parents = (ids + 1) % nodes if is_ring else (torch.rand(nodes) * ids).long()
        ends = torch.stack([ids, parents])[:, int(not is_ring) :]
        result.append(Data(x=torch.ones(nodes, 4), edge_index=torch.cat([ends, ends.flip(0)], 1), y=is_ring))
    return result


class GIN(nn.Module):
    def __init__(self, inputs: int = 4, hidden: int = 32, classes: int = 2, layers: int = 3) -> None:
        super().__init__()
        widths = [inputs, *[hidden] * layers]
        self.convs = nn.ModuleList(
            GINConv(nn.Sequential(nn.Linear(a, b), nn.ReLU(), nn.Linear(b, b), nn.ReLU()))
            for a, b in zip(widths, widths[1:])
        )
        self.head = nn.Linear(hidden, classes)

    def forward(self, x: Tensor, edge_index: Tensor, batch: Tensor) -> Tensor:
        for conv in self.convs:
            x = conv(x, edge_index)
        return self.head(global_add_pool(x, batch))


def main() -> None:
    args = training.parser(epochs=5).parse_args()
    torch.manual_seed(0)
    batches = DataLoader(graphs(4000), batch_size=64, shuffle=True)
    tests = DataLoader(graphs(1000), batch_size=256)
    model: nn.Module = GIN().to(args.device)
    if not args.eager:
        first = next(iter(tests)).to(args.device)
        model = gnnc.compile(model, (first.x, first.edge_index, first.batch))  # the line that was added
    optimizer = torch.optim.Adam(model.parameters(), lr=0.003)
    for epoch in range(args.epochs):
        started = time.perf_counter()
        model.train()
        for data in batches:
            data = data.to(args.device)
            optimizer.zero_grad()
            F.cross_entropy(model(data.x, data.edge_index, data.batch), data.y).backward()
            optimizer.step()
        spent = time.perf_counter() - started
        model.eval()
        right = 0
        with torch.no_grad():
            for data in tests:
                data = data.to(args.device)
                right += int((model(data.x, data.edge_index, data.batch).argmax(-1) == data.y).sum())
        print(f"epoch {epoch}: test accuracy {right / 1000:.3f}, {spent:.2f} s")


if __name__ == "__main__":
    main()
