"""Link prediction on Cora with negative samples, with one line added.

    python3 examples/pytorch/links.py [--eager] [--epochs 100] [--device cuda]

A GCN encodes nodes, products score pairs; each epoch has other negative pairs. Tested by the area under the curve.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception"""

from __future__ import annotations

import time

import cora
import torch
import torch.nn.functional as F
import training
from torch import Tensor, nn
from torch_geometric.nn import GCNConv
from torch_geometric.utils import negative_sampling

import gnnc


class Links(nn.Module):
    def __init__(self, inputs: int = 1433, hidden: int = 64, width: int = 32) -> None:
        super().__init__()
        self.conv1, self.conv2 = GCNConv(inputs, hidden), GCNConv(hidden, width)

    def forward(self, x: Tensor, edge_index: Tensor, pairs: Tensor) -> Tensor:
        z = self.conv2(self.conv1(x, edge_index).relu(), edge_index)
        return (z[pairs[0]] * z[pairs[1]]).sum(-1)


def main() -> None:
    args = training.parser(epochs=100).parse_args()
    torch.manual_seed(0)
    data = cora.load(args.device)
    edges = data.edge_index[:, data.edge_index[0] < data.edge_index[1]]
    edges = edges[:, torch.randperm(edges.shape[1], device=args.device)]
    test, train = edges[:, :500], edges[:, 500:]
    graph = torch.cat([train, train.flip(0)], 1)

    def pairs(positive: Tensor) -> tuple[Tensor, Tensor]:
        negative = negative_sampling(data.edge_index, len(data.x), positive.shape[1])
        labels = torch.cat([torch.ones(positive.shape[1]), torch.zeros(negative.shape[1])])
        return torch.cat([positive, negative], 1), labels.to(args.device)

    tested, labels = pairs(test)
    model: nn.Module = Links().to(args.device)
    if not args.eager:
        model = gnnc.compile(model, (data.x, graph, tested))  # the line that was added
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    started = time.perf_counter()
    for _ in range(args.epochs):
        asked, wanted = pairs(train)
        optimizer.zero_grad()
        F.binary_cross_entropy_with_logits(model(data.x, graph, asked), wanted).backward()
        optimizer.step()
    spent = (time.perf_counter() - started) / args.epochs
    with torch.no_grad():
        print(f"area under the curve {training.area(model(data.x, graph, tested), labels):.4f}, {spent * 1e3:.2f} ms an epoch")


if __name__ == "__main__":
    main()
