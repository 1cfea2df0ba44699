"""A heterogeneous GraphSAGE, made by PyTorch Geometric's to_hetero, with one line added.

    python3 examples/pytorch/hetero.py [--eager] [--epochs 20] [--device cuda]

Papers, authors and what they write, at random; a paper's class is the sign of its authors' features.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception"""

from __future__ import annotations

import time

import torch
import torch.nn.functional as F
import training
from torch import Tensor, nn
from torch_geometric.nn import SAGEConv, to_hetero

import gnnc

TYPES = ["author", "paper"]
EDGES = [("author", "writes", "paper"), ("paper", "written_by", "author"), ("paper", "cites", "paper")]


class SAGE(nn.Module):
    def __init__(self, hidden: int = 32, classes: int = 2) -> None:
        super().__init__()
        self.conv1, self.conv2 = SAGEConv((16, 16), hidden), SAGEConv((hidden, hidden), classes)

    def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
        return self.conv2(self.conv1(x, edge_index).relu(), edge_index)


def data(device: str, authors: int = 2000, papers: int = 5000) -> tuple[dict[str, Tensor], dict[object, Tensor], Tensor]:
    x = {"author": torch.randn(authors, 16), "paper": torch.randn(papers, 16)}
    writes = torch.stack([torch.randint(0, authors, (3 * papers,)), torch.arange(papers).repeat(3)])
    cites = torch.randint(0, papers, (2, 4 * papers))
    sums = torch.zeros(papers).index_add(0, writes[1], x["author"][writes[0], 0])
    edges = dict(zip(EDGES, (writes, writes.flip(0), cites)))
    move = lambda given: {name: tensor.to(device) for name, tensor in given.items()}  # noqa: E731
    return move(x), move(edges), (sums > 0).long().to(device)


def main() -> None:
    args = training.parser(epochs=20).parse_args()
    torch.manual_seed(0)
    x, edges, y = data(args.device)
    train, test = torch.arange(3000), torch.arange(3000, 5000)
    model: nn.Module = to_hetero(SAGE(), (TYPES, EDGES)).to(args.device)
    if not args.eager:
        model = gnnc.compile(model, (x, edges))  # the line that was added
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    started = time.perf_counter()
    for _ in range(args.epochs):
        optimizer.zero_grad()
        F.cross_entropy(model(x, edges)["paper"][train], y[train]).backward()
        optimizer.step()
    spent = (time.perf_counter() - started) / args.epochs
    with torch.no_grad():
        right = model(x, edges)["paper"][test].argmax(-1) == y[test]
    print(f"test accuracy {right.float().mean():.3f}, {spent * 1e3:.2f} ms an epoch")


if __name__ == "__main__":
    main()
