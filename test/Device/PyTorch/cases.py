# Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
# See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Models that are compiled for the device: the layers of python/tests/with_torch/test_geometric.py, and more."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils import _pytree as pytree
from torch_geometric import nn as layers

import registry

sys.path.append(str(Path(__file__).resolve().parents[3] / "python" / "tests" / "with_torch"))
import test_geometric  # noqa: E402


class TwoLayers(nn.Module):
    def __init__(self, conv: Callable[..., nn.Module], inputs: int = 8, hidden: int = 16, classes: int = 7) -> None:
        super().__init__()
        self.conv1, self.conv2 = conv(inputs, hidden), conv(hidden, classes)

    def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
        return self.conv2(nn.functional.elu(self.conv1(x, edge_index)), edge_index)


class Energy(nn.Module):
    """Sums over pairs of points of functions of their distance, by graph: no layer of a library."""

    def __init__(self, width: int = 16) -> None:
        super().__init__()
        self.filter = nn.Sequential(nn.Linear(8, width), nn.SiLU(), nn.Linear(width, width))
        self.embedding, self.head = nn.Embedding(10, width), nn.Linear(width, 1)
        self.register_buffer("centers", torch.linspace(0, 4, 8))

    def forward(self, z: Tensor, pos: Tensor, edge_index: Tensor) -> Tensor:
        source, target = edge_index[0], edge_index[1]
        distance = ((pos[source] - pos[target]) ** 2).sum(-1, keepdim=True).add(1e-3).sqrt()
        weights = self.filter(torch.exp(-((distance - self.centers) ** 2)))
        h = self.embedding(z)
        h = h + torch.zeros_like(h).index_add(0, target, h[source] * weights)
        return self.head(torch.tanh(h)).sum()


def two_layers(conv: Callable[..., nn.Module]) -> tuple[Any, Any]:
    return lambda: TwoLayers(conv), lambda data: ((data.x, data.edge_index), {})


CASES: dict[str, tuple[Callable[[], nn.Module], Callable[[Any], Any]]] = {
    "GCN of two layers": two_layers(layers.GCNConv),
    "GAT of two layers": two_layers(layers.GATConv),
    "SAGE of two layers": two_layers(layers.SAGEConv),
    **test_geometric.CASES,
    "GATv2": (lambda: layers.GATv2Conv(8, 4, heads=2), lambda d: ((d.x, d.edge_index), {})),
    "SAGE with maxima": (lambda: layers.SAGEConv(8, 4, aggr="max"), lambda d: ((d.x, d.edge_index), {})),
    "GINE": (
        lambda: layers.GINEConv(nn.Sequential(nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 4)), edge_dim=5),
        lambda d: ((d.x, d.edge_index, d.floats(d.edges, 5)), {}),
    ),
    "ARMA": (lambda: layers.ARMAConv(8, 4), lambda d: ((d.x, d.edge_index), {})),
    "Chebyshev": (lambda: layers.ChebConv(8, 4, 3), lambda d: ((d.x, d.edge_index), {})),
    "energies": (
        Energy,
        lambda d: ((d.index(10, 10, d.nodes)[0], d.floats(d.nodes, 3), d.edge_index), {}),
    ),
}


class Data(test_geometric.Data):
    """Without a second self loop of any node: which of several stays is arbitrary in PyTorch on a GPU."""

    def index(self, sources: int, targets: int, edges: int) -> Tensor:
        result = super().index(sources, targets, edges)
        seen = set()
        for i in (result[0] == result[1]).nonzero().flatten().tolist():
            node = int(result[0, i])
            if node in seen:
                result[1, i] = (node + 1) % targets
            seen.add(node)
        return result


def to_device(arguments: Any) -> Any:
    return pytree.tree_map(lambda leaf: leaf.to(registry.device) if isinstance(leaf, Tensor) else leaf, arguments)


def arguments(name: str, nodes: int, edges: int) -> tuple[tuple[Any, ...], dict[str, Any]]:
    return to_device(CASES[name][1](Data(nodes, edges, nodes)))


def make(name: str) -> nn.Module:
    torch.manual_seed(0)
    return CASES[name][0]().eval().to(registry.device)


def graph(nodes: int, edges: int, width: int = 8, seed: int = 0) -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(seed)
    x = torch.randn(nodes, width, generator=generator)
    return to_device((x, torch.randint(0, nodes, (2, edges), generator=generator)))
