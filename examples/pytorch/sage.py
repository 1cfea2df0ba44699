"""GraphSAGE with batch normalisation on a random graph of ogbn-arxiv's size, with one line added.

    python3 examples/pytorch/sage.py [--eager] [--epochs 5] [--nodes 169343] [--device cuda]

Hamilton et al., "Inductive Representation Learning on Large Graphs". Labels are random: only times mean something.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception"""

from __future__ import annotations

import time

import torch
import torch.nn.functional as F
import training
from torch import Tensor, nn
from torch_geometric.nn import SAGEConv

import gnnc


class SAGE(nn.Module):
    def __init__(self, inputs: int = 128, hidden: int = 128, classes: int = 40, layers: int = 3) -> None:
        super().__init__()
        widths = [inputs, *[hidden] * (layers - 1), classes]
        self.convs = nn.ModuleList(SAGEConv(a, b) for a, b in zip(widths, widths[1:]))
        self.norms = nn.ModuleList(nn.BatchNorm1d(width) for width in widths[1:-1])

    def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
        for conv, norm in zip(self.convs, self.norms):
            x = F.dropout(norm(conv(x, edge_index)).relu(), 0.5, self.training)
        return self.convs[-1](x, edge_index)


def main() -> None:
    parser = training.parser(epochs=5)
    parser.add_argument("--nodes", type=int, default=169343)
    args = parser.parse_args()
    torch.manual_seed(0)
    edges = 7 * args.nodes
    x = torch.randn(args.nodes, 128, device=args.device)
    edge_index = torch.randint(0, args.nodes, (2, edges), device=args.device)
    y = torch.randint(0, 40, (args.nodes,), device=args.device)
    model: nn.Module = SAGE().to(args.device)
    if not args.eager:
        model = gnnc.compile(model, (x, edge_index))  # the line that was added
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for epoch in range(args.epochs):
        started = time.perf_counter()
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x, edge_index), y)
        loss.backward()
        optimizer.step()
        print(f"epoch {epoch}: loss {loss.item():.4f}, {time.perf_counter() - started:.3f} s")


if __name__ == "__main__":
    main()
