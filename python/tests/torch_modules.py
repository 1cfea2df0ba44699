# Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
# See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Modules that the tests compile, in plain PyTorch."""

from __future__ import annotations

import tempfile
import unittest
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any
from unittest import mock

import torch
from torch import Tensor, nn

import gnnc
from gnnc import _cache, _compiler


class Conv(nn.Module):
    """relu of the sum over the edges into each node of W x, plus b."""

    def __init__(self, inputs: int = 3, outputs: int = 2, dtype: torch.dtype | None = None) -> None:
        super().__init__()
        self.lin = nn.Linear(inputs, outputs, bias=False, dtype=dtype)
        self.bias = nn.Parameter(torch.randn(outputs, dtype=dtype))

    def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
        messages = self.lin(x).index_select(0, edge_index[0])
        sums = messages.new_zeros(x.shape[0], messages.shape[1]).index_add(0, edge_index[1], messages)
        return torch.sigmoid(sums + self.bias)


class Pair(nn.Module):
    """Two outputs, of which one is linear in the edges' weights, and one is a dict's value."""

    def __init__(self) -> None:
        super().__init__()
        self.scale = nn.Parameter(torch.tensor([1.0, 2.0, 3.0]))

    def forward(self, x: Tensor, edge_index: Tensor, edge_weight: Tensor | None = None) -> dict[str, Tensor]:
        messages = x.index_select(0, edge_index[0])
        if edge_weight is not None:
            messages = messages * edge_weight.view(-1, 1)
        sums = torch.zeros_like(x).index_add(0, edge_index[1], messages)
        return {"sums": sums, "scaled": sums * self.scale}


class Of(nn.Module):
    """A function as a module."""

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__()
        self.function = function

    def forward(self, *given: Tensor) -> Any:
        return self.function(*given)


class _Exported(nn.Module):
    """The same with arguments that have names: torch 2.9 cannot decompose programs with a starred one."""

    def __init__(self, module: nn.Module) -> None:
        super().__init__()
        self.module = module

    def forward(self, given_0: Tensor, given_1: Tensor, given_2: Any = None, given_3: Any = None) -> Any:
        return self.module(*[each for each in (given_0, given_1, given_2, given_3) if each is not None])


def graph(
    nodes: int, edges: int, width: int = 3, seed: int = 0, dtype: torch.dtype | None = None
) -> tuple[Tensor, Tensor]:
    """Features and an edge list, both random."""
    generator = torch.Generator().manual_seed(seed)
    x = torch.randn(nodes, width, generator=generator, dtype=dtype)
    return x, torch.randint(0, max(nodes, 1), (2, edges), generator=generator)


def graphs(sizes: Sequence[tuple[int, int]], classes: int, types: int = 0) -> Iterator[tuple[Tensor, ...]]:
    """Of so many nodes and edges: four features of each node, an edge list, each node's class and each edge's type."""
    generator = torch.Generator().manual_seed(1)
    for nodes, edges in sizes:
        given = (
            torch.randn(nodes, 4, generator=generator),
            torch.randint(0, nodes, (2, edges), generator=generator),
            torch.randint(0, classes, (nodes,), generator=generator),
        )
        yield (*given, torch.randint(0, types, (edges,), generator=generator)) if types else given


class TorchTest(unittest.TestCase):
    """Compiles into a cache of its own."""

    folder: tempfile.TemporaryDirectory[str]

    @classmethod
    def setUpClass(cls) -> None:
        cls.folder = tempfile.TemporaryDirectory()
        cls.patch = mock.patch.object(_compiler, "cache_folder", lambda: Path(cls.folder.name))
        cls.patch.start()

    @classmethod
    def tearDownClass(cls) -> None:
        cls.patch.stop()
        cls.folder.cleanup()

    def setUp(self) -> None:
        torch.manual_seed(0)
        _cache.graphs.clear()

    def assertClose(self, found: object, expected: object, tolerance: float = 1e-5) -> None:
        torch.testing.assert_close(found, expected, rtol=tolerance, atol=tolerance)

    def assertLikeEager(
        self, module: nn.Module, graphs: Iterable[tuple[Tensor, ...]], tolerance: float = 1e-5
    ) -> None:
        """Results, and gradients with respect to the first argument and the parameters, on graphs that are compiled for the
        first of them."""
        fast = None
        for x, *given in graphs:
            fast = fast or gnnc.compile(module, (x, *given))
            found = []
            for run in (fast, module):
                leaf = x.clone().requires_grad_()
                outputs = run(leaf, *given)
                outputs = outputs if isinstance(outputs, tuple) else (outputs,)
                sources = [leaf, *module.parameters()]
                loss = sum(each.square().sum() for each in outputs if each.requires_grad)
                gradients = torch.autograd.grad(loss, sources, allow_unused=True)
                gradients = [torch.zeros_like(s) if g is None else g for g, s in zip(gradients, sources)]
                found.append([*(each.detach() for each in outputs), *gradients])
            self.assertClose(*found, tolerance)
        self.assertEqual(len(vars(fast)["_gnnc"].specializations), 1, "compiled once, for graphs of any size")

    def assertLikeEagerInCore(self, module: nn.Module, graphs: Iterable[tuple[Tensor, ...]]) -> None:
        """Results of an object that is compiled from the program in PyTorch's core operators."""
        with tempfile.TemporaryDirectory() as folder:
            model = None
            for given in graphs:
                if model is None:
                    sizes = tuple({int(each.dim() == 2 and each.shape[0] == 2): torch.export.Dim.AUTO} for each in given)
                    program = torch.export.export(_Exported(module), given, dynamic_shapes=sizes, strict=False)
                    torch.export.save(program.run_decompositions(), Path(folder) / "core.pt2")
                    _compiler.run_compiler(Path(folder) / "core.pt2", Path(folder) / "core.so", [])
                    model = gnnc.load(Path(folder) / "core.so")
                names = {f"given_{i}": each for i, each in enumerate(given)}
                found = model(**{name: each for name, each in names.items() if name in model.arguments})
                expected = module(*given)
                outputs = list(found.values()) if isinstance(found, dict) else [found]
                expected = list(expected) if isinstance(expected, tuple) else [expected]
                self.assertClose(outputs, [each.detach() for each in expected])
