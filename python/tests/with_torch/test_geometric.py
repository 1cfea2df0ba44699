# Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
# See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Layers of PyTorch Geometric, one for each kind of argument: outputs and gradients of one object on graphs of two sizes."""

from __future__ import annotations

import copy
import unittest
from collections.abc import Callable
from typing import Any
from unittest import mock

import torch
from torch import Tensor, nn
from torch.utils import _pytree as pytree
from torch_geometric import nn as layers

import gnnc
from gnnc import _compiler
from torch_modules import TorchTest

Arguments = tuple[tuple[Any, ...], dict[str, Any]]


class Data:
    """Random arguments for a graph of a size."""

    def __init__(self, nodes: int, edges: int, seed: int) -> None:
        self.nodes, self.edges = nodes, edges
        self.generator = torch.Generator().manual_seed(seed)

    def floats(self, *shape: int) -> Tensor:
        return torch.randn(*shape, generator=self.generator)

    def index(self, sources: int, targets: int, edges: int) -> Tensor:
        ends = [torch.randint(0, count, (edges,), generator=self.generator) for count in (sources, targets)]
        return torch.stack(ends)

    @property
    def x(self) -> Tensor:
        return self.floats(self.nodes, 8)

    @property
    def edge_index(self) -> Tensor:
        return self.index(self.nodes, self.nodes, self.edges)


class Classifier(nn.Module):
    """A layer and a mean over each graph of a batch; the number of graphs is that of the last node's."""

    def __init__(self) -> None:
        super().__init__()
        self.conv, self.head = layers.GINConv(nn.Linear(8, 4)), nn.Linear(4, 2)

    def forward(self, x: Tensor, edge_index: Tensor, batch: Tensor) -> Tensor:
        return self.head(layers.global_mean_pool(self.conv(x, edge_index).relu(), batch))


class Links(nn.Module):
    """A score for each of some pairs of nodes."""

    def __init__(self) -> None:
        super().__init__()
        self.conv = layers.GCNConv(8, 4)

    def forward(self, x: Tensor, edge_index: Tensor, pairs: Tensor) -> Tensor:
        z = self.conv(x, edge_index)
        return (z[pairs[0]] * z[pairs[1]]).sum(-1)


def heterogeneous() -> nn.Module:
    to, back = ("a", "to", "b"), ("b", "rev", "a")
    return layers.HeteroConv({to: layers.SAGEConv((8, 8), 4), back: layers.SAGEConv((8, 8), 4)})


def heterogeneous_data(data: Data) -> Arguments:
    n, e = data.nodes, data.edges
    x = {"a": data.floats(n, 8), "b": data.floats(n + 2, 8)}
    return (x, {("a", "to", "b"): data.index(n, n + 2, e), ("b", "rev", "a"): data.index(n + 2, n, e + 1)}), {}


def attention_of_types() -> nn.Module:
    return layers.HGTConv({"a": 8, "b": 8}, 8, (["a", "b"], [("a", "to", "b"), ("b", "rev", "a"), ("a", "of", "a")]), 2)


def attention_of_types_data(data: Data) -> Arguments:
    (x, edges), _ = heterogeneous_data(data)
    return (x, {**edges, ("a", "of", "a"): data.index(data.nodes, data.nodes, data.edges + 2)}), {}


def batch(data: Data) -> Tensor:
    result = torch.randint(0, 4, (data.nodes,), generator=data.generator).sort().values
    result[-1] = 3
    return result


DEGREES = torch.tensor([1, 2, 3, 4])
CASES: dict[str, tuple[Callable[[], nn.Module], Callable[[Data], Arguments]]] = {
    "GCN": (lambda: layers.GCN(8, 8, 2, 4), lambda d: ((d.x, d.edge_index), {})),
    "GCN with weights": (
        lambda: layers.GCNConv(8, 4),
        lambda d: ((d.x, d.edge_index, d.floats(d.edges).abs()), {}),
    ),
    "GAT with edge features": (
        lambda: layers.GATConv(8, 4, heads=2, edge_dim=5),
        lambda d: ((d.x, d.edge_index), {"edge_attr": d.floats(d.edges, 5)}),
    ),
    "transformer": (lambda: layers.TransformerConv(8, 4, heads=2), lambda d: ((d.x, d.edge_index), {})),
    "bipartite SAGE": (
        lambda: layers.SAGEConv((8, 8), 4),
        lambda d: (
            ((d.x, d.floats(d.nodes + 3, 8)), d.index(d.nodes, d.nodes + 3, d.edges)),
            {},
        ),
    ),
    "R-GCN": (
        lambda: layers.RGCNConv(8, 4, 3),
        lambda d: ((d.x, d.edge_index, d.index(3, 3, d.edges)[0]), {}),
    ),
    "PNA": (
        lambda: layers.PNAConv(8, 4, ["mean", "max", "std"], ["identity", "amplification"], DEGREES),
        lambda d: ((d.x, d.edge_index), {}),
    ),
    "hypergraph": (lambda: layers.HypergraphConv(8, 4), lambda d: ((d.x, d.index(d.nodes, 5, d.edges)), {})),
    "heterogeneous": (heterogeneous, heterogeneous_data),
    "attention of types": (attention_of_types, attention_of_types_data),
    "graph classifier": (Classifier, lambda d: ((d.x, d.edge_index, batch(d)), {})),
    "links": (Links, lambda d: ((d.x, d.edge_index, d.index(d.nodes, d.nodes, d.edges + 4)), {})),
}


class GeometricTest(TorchTest):
    def test_outputs_and_gradients(self) -> None:
        for name, (make, arguments) in CASES.items():
            with self.subTest(name):
                torch.manual_seed(0)
                module = make().eval()
                args, kwargs = arguments(Data(9, 30, 0))
                fast = gnnc.compile(module, args, kwargs=kwargs)
                with mock.patch.object(_compiler, "run_compiler", side_effect=AssertionError):
                    for nodes, edges in ((9, 30), (21, 80)):
                        args, kwargs = arguments(Data(nodes, edges, nodes))
                        self.check(fast, module, args, kwargs)

    def check(self, fast: nn.Module, module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Against the module in float64: in float32 deviations of PNA lose digits in eager mode too."""

        def double(leaf: Any) -> Any:
            return leaf.double() if isinstance(leaf, Tensor) and leaf.is_floating_point() else leaf

        exact = copy.deepcopy(module).double()
        expected_result = exact(*pytree.tree_map(double, args), **pytree.tree_map(double, kwargs))
        found, tree = pytree.tree_flatten(fast(*args, **kwargs))
        expected, expected_tree = pytree.tree_flatten(expected_result)
        self.assertEqual(tree, expected_tree)
        cotangents = [torch.randn_like(output) for output in found]
        found += torch.autograd.grad(found, list(module.parameters()), cotangents)
        expected += torch.autograd.grad(expected, list(exact.parameters()), [each.double() for each in cotangents])
        for tensor, reference in zip(found, expected, strict=True):
            scale = reference.abs().max().clamp(min=1)
            self.assertClose((tensor / scale).double(), reference / scale, 2e-5)


if __name__ == "__main__":
    unittest.main()
