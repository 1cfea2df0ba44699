"""Two layers of GCN on Cora, from PyTorch Geometric's examples, with one line added.

    python3 examples/pytorch/gcn.py [--eager] [--seeds 10]

Kipf and Welling, "Semi-Supervised Classification with Graph Convolutional Networks".
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception"""

from __future__ import annotations

import cora
import torch
import torch.nn.functional as F
import training
from torch import Tensor, nn
from torch_geometric.nn import GCNConv

import gnnc


class GCN(nn.Module):
    def __init__(self, inputs: int = 1433, hidden: int = 16, classes: int = 7) -> None:
        super().__init__()
        self.conv1 = GCNConv(inputs, hidden)
        self.conv2 = GCNConv(hidden, classes)

    def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
        x = self.conv1(x, edge_index).relu()
        return self.conv2(x, edge_index)


class Net(nn.Module):
    """The layers, and dropout around them, which stays with PyTorch and its random numbers."""

    def __init__(self, gcn: nn.Module) -> None:
        super().__init__()
        self.gcn = gcn

    def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
        return self.gcn(F.dropout(x, 0.5, self.training), edge_index)


def compile(model: nn.Module, data: cora.Cora) -> nn.Module:
    return Net(gnnc.compile(model.gcn, (data.x, data.edge_index)))  # the line that was added


if __name__ == "__main__":
    torch.set_num_threads(torch.get_num_threads())
    training.main(lambda: Net(GCN()), compile, 0.01)
