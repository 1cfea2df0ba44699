"""Writes the model that deploy.cpp runs, and prints what PyTorch computes on the same graph.

    python3 examples/pytorch/export.py model.so

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception"""

from __future__ import annotations

import sys

import torch
from torch import Tensor, nn
from torch_geometric.nn import SAGEConv

import gnnc


class SAGE(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv1, self.conv2 = SAGEConv(4, 8), SAGEConv(8, 3)

    def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
        return self.conv2(self.conv1(x, edge_index).relu(), edge_index)


torch.manual_seed(0)
model = SAGE().eval()
nodes = torch.arange(6)
edge_index = torch.stack([nodes, (nodes + 1) % 6])
x = (0.1 * (torch.arange(24) % 7)).view(6, 4)
path = gnnc.export(model, (x, edge_index), sys.argv[1])
print(gnnc.load(path))
with torch.no_grad():
    for node, scores in enumerate(model(x, edge_index)):
        print(f"node {node}: " + " ".join(f"{score:.4f}" for score in scores))
