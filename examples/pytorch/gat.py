"""Two layers of GAT on Cora, from PyTorch Geometric's examples, with one line added.

    python3 examples/pytorch/gat.py [--eager] [--seeds 10]

Veličković et al., "Graph Attention Networks", with dropout of attention weights.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception"""

from __future__ import annotations

import cora
import torch.nn.functional as F
import training
from torch import Tensor, nn
from torch_geometric.nn import GATConv

import gnnc


class GAT(nn.Module):
    def __init__(self, inputs: int = 1433, hidden: int = 8, heads: int = 8, classes: int = 7) -> None:
        super().__init__()
        self.conv1 = GATConv(inputs, hidden, heads, dropout=0.6)
        self.conv2 = GATConv(hidden * heads, classes, dropout=0.6)

    def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
        x = F.dropout(x, 0.6, self.training)
        x = F.elu(self.conv1(x, edge_index))
        x = F.dropout(x, 0.6, self.training)
        return self.conv2(x, edge_index)


def compile(model: nn.Module, data: cora.Cora) -> nn.Module:
    return gnnc.compile(model, (data.x, data.edge_index))  # the line that was added


if __name__ == "__main__":
    training.main(GAT, compile, 0.005)
