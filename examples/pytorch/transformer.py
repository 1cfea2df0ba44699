"""A graph transformer whose attention reads features of edges, with one line added.

    python3 examples/pytorch/transformer.py [--eager] [--epochs 20] [--device cuda]

Shi et al., "Masked Label Prediction". A random graph; the number to be found for a node is the mean of its incoming edges'
first feature.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception"""

from __future__ import annotations

import time

import torch
import torch.nn.functional as F
import training
from torch import Tensor, nn
from torch_geometric.nn import TransformerConv

import gnnc


class Transformer(nn.Module):
    def __init__(self, inputs: int = 16, hidden: int = 16, heads: int = 4, edge_features: int = 8) -> None:
        super().__init__()
        self.conv1 = TransformerConv(inputs, hidden, heads, edge_dim=edge_features, beta=True)
        self.norm = nn.LayerNorm(hidden * heads)
        self.conv2 = TransformerConv(hidden * heads, hidden, heads, concat=False, edge_dim=edge_features)
        self.head = nn.Linear(hidden, 1)

    def forward(self, x: Tensor, edge_index: Tensor, edge_attr: Tensor) -> Tensor:
        x = self.norm(self.conv1(x, edge_index, edge_attr)).relu()
        return self.head(self.conv2(x, edge_index, edge_attr)).squeeze(-1)


def main() -> None:
    args = training.parser(epochs=20).parse_args()
    torch.manual_seed(0)
    nodes, edges = 4000, 40000
    x, edge_attr = torch.randn(nodes, 16, device=args.device), torch.randn(edges, 8, device=args.device)
    edge_index = torch.randint(0, nodes, (2, edges), device=args.device)
    count = torch.zeros(nodes, device=args.device).index_add(0, edge_index[1], torch.ones_like(edge_attr[:, 0]))
    y = torch.zeros_like(count).index_add(0, edge_index[1], edge_attr[:, 0]) / count.clamp(min=1)
    model: nn.Module = Transformer().to(args.device)
    if not args.eager:
        model = gnnc.compile(model, (x, edge_index, edge_attr))  # the line that was added
    optimizer = torch.optim.Adam(model.parameters(), lr=0.005)
    started = time.perf_counter()
    for epoch in range(args.epochs):
        optimizer.zero_grad()
        loss = F.mse_loss(model(x, edge_index, edge_attr), y)
        loss.backward()
        optimizer.step()
        if epoch == 0:
            print(f"first loss {loss.item():.5f}")
    spent = (time.perf_counter() - started) / args.epochs
    print(f"last loss {loss.item():.5f}, {spent * 1e3:.2f} ms an epoch")


if __name__ == "__main__":
    main()
