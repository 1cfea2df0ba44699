# Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
# See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Integers of Python that differ from call to call, and what is said of compilations that come again and again."""

from __future__ import annotations

import unittest
import warnings
from collections.abc import Callable, Iterable
from typing import Any
from unittest import mock

import torch
from torch import Tensor, nn

import gnnc
from gnnc.torch import _module, _numbers
from torch_modules import TorchTest, graph


class Trimmed(nn.Module):
    """Layers on ever smaller parts of a sampled graph."""

    def __init__(self) -> None:
        super().__init__()
        self.lins = nn.ModuleList([nn.Linear(3, 3), nn.Linear(3, 3)])

    def forward(self, x: Tensor, edge_index: Tensor, nodes: list[int], edges: list[int]) -> Tensor:
        for i, lin in enumerate(self.lins):
            if i:
                x = x.narrow(0, 0, x.shape[0] - nodes[-i])
                edge_index = edge_index.narrow(1, 0, edge_index.shape[1] - edges[-i])
            x = lin(x + torch.zeros_like(x).index_add(0, edge_index[1], x.index_select(0, edge_index[0]))).relu()
        return x


class Of(nn.Module):
    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__()
        self.function, self.scale = function, 1

    def forward(self, x: Tensor, edge_index: Tensor, number: Any) -> Tensor:
        sums = torch.zeros_like(x).index_add(0, edge_index[1], x.index_select(0, edge_index[0]))
        return self.function(sums, number) * self.scale


class Pooled(nn.Module):
    """The number of graphs follows from numbers, which only Dynamo exports."""

    def __init__(self) -> None:
        super().__init__()
        self.lin, self.scale = nn.Linear(3, 2), nn.Parameter(torch.ones(2))

    def forward(self, x: Tensor, batch: Tensor, rows: int) -> Tensor:
        h = self.lin(x[:rows]) * self.scale
        return h.new_zeros(int(batch.max()) + 1, 2).index_add(0, batch[:rows], h)


def batch(i: int) -> tuple[Any, ...]:
    """Of three hops' nodes and two hops' edges."""
    nodes, edges = [3, 4 + i, 5 + 2 * i], [6 + i, 9 + 3 * i]
    generator = torch.Generator().manual_seed(i)
    inner, outer = nodes[0] + nodes[1], sum(nodes)
    near, far = (torch.randint(0, size, (2, count), generator=generator) for size, count in zip((inner, outer), edges))
    far[1] %= inner
    return torch.randn(outer, 3, generator=generator), torch.cat([near, far], 1), nodes, edges


class NumbersTest(TorchTest):
    def setUp(self) -> None:
        super().setUp()
        compiled = _module.Runner._compile
        self.compilations = 0

        def count(*given: Any) -> Any:
            self.compilations += 1
            return compiled(*given)

        patch = mock.patch.object(_module.Runner, "_compile", count)
        patch.start()
        self.addCleanup(patch.stop)

    def check(self, module: nn.Module, given: Iterable[tuple[Any, ...]], **options: Any) -> None:
        fast = None
        for each in given:
            fast = fast or gnnc.compile(module, each, **options)
            found = []
            for run in (fast, module):
                x = each[0].clone().requires_grad_()
                module.zero_grad()
                result = run(x, *each[1:])
                result.square().sum().backward()
                found.append([result, x.grad, *[p.grad for p in module.parameters()]])
            self.assertClose(*found)

    def test_sampled_batches(self) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            self.check(Trimmed(), map(batch, range(6)))
        self.assertEqual(self.compilations, 2)

    def test_sampled_batches_that_the_user_speaks_of(self) -> None:
        self.check(Trimmed(), map(batch, range(4)), dynamic={"nodes": True, "edges": True})
        self.assertEqual(self.compilations, 1)
        self.compilations = 0
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            self.check(Trimmed(), map(batch, range(4)), dynamic={"nodes": False})
        self.assertGreater(self.compilations, 3)

    def test_numbers_that_are_no_sizes(self) -> None:
        """They are compiled in, and no tensor is as long as they are."""
        module, (x, edges) = Of(lambda x, number: x * 0.5 + number), graph(6, 12)
        fast = gnnc.compile(module, (x, edges, 3))
        for number in (5, 2**30, 2**40, -5, 7):
            self.assertClose(fast(x, edges, number), module(x, edges, number))
        self.assertEqual(self.compilations, 4, "for 3, for all sizes, for 2^40 and for -5")
        for size in (5, 2**30):
            self.assertEqual(_numbers._of_size(size, x.device).untyped_storage().nbytes(), 1)

    def test_sizes_that_are_held(self) -> None:
        module = Of(lambda x, number: x * number)
        self.check(module, ((*graph(n, 12), 2) for n in (5, 6, 7)), dynamic={"x": False})
        self.assertEqual(self.compilations, 3)

    def test_branches_on_numbers(self) -> None:
        """Sizes as well as values of each side."""
        functions = (
            lambda x, n: x[:n],
            lambda x, n: 2 * x if n > 2 else x,
            lambda x, n: 2 * x if n > 4 else x,
            lambda x, n: 2 * x if n == 5 else x,
            lambda x, n: 2 * x if n > x.shape[0] else x,
            lambda x, n: 2 * x if n == x.shape[0] else x,
            lambda x, n: x[:n] if n < x.shape[0] else x,
            lambda x, n: 2 * x if n % 2 == 0 else x,
            lambda x, n: sum(x for _ in range(n)) + x,
            lambda x, n: x * n,
        )
        sizes = ((8, 6), (8, 7), (9, 5), (9, 4), (9, 3), (9, 2), (9, 1), (5, 7), (6, 9), (7, 7), (7, 8), (9, 10))
        for number, function in enumerate(functions):
            with self.subTest(number), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                self.check(Of(function), ((*graph(nodes, 12), n) for nodes, n in sizes))

    def test_branches_on_two_sizes(self) -> None:
        class Sides(nn.Module):
            def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
                sums = torch.zeros_like(x).index_add(0, edge_index[1], x.index_select(0, edge_index[0]))
                return 2 * sums if edge_index.shape[1] > x.shape[0] else sums

        fast = gnnc.compile(Sides(), graph(5, 9))
        for nodes, edges in ((5, 9), (9, 5), (6, 7), (7, 6), (4, 4)):
            given = graph(nodes, edges)
            self.assertClose(fast(*given), Sides()(*given))
        self.assertEqual(self.compilations, 2)

    def test_parameters_stay_where_dynamo_exports(self) -> None:
        module, whole = Pooled(), list(Pooled().state_dict())
        fast = gnnc.compile(module)
        x, given = torch.randn(9, 3), torch.tensor([0, 0, 1, 1, 1, 2, 2, 2, 2])
        for rows in (5, 7, 9):
            self.assertClose(fast(x, given, rows), module(x, given, rows))
        self.assertEqual({type(each) for each in module.parameters()}, {nn.Parameter})
        self.assertEqual(list(module.state_dict()), whole)

    def test_graphs_without_edges_after_others(self) -> None:
        """Sizes of 0 and 1 are constants to torch.export: what is compiled again is so for the sizes of other graphs."""

        def weighted(sums: Tensor, scale: float) -> Tensor:
            return sums * scale

        module = Of(weighted)
        fast = gnnc.compile(module, (*graph(6, 12), 0.5))
        for nodes, edges, scale in ((5, 0, 0.25), (1, 1, 0.25), (9, 30, 0.25)):
            x, edge_index = graph(nodes, edges)
            leaf = x.clone().requires_grad_()
            self.assertClose(fast(leaf, edge_index, scale), module(leaf, edge_index, scale))
        self.assertEqual(self.compilations, 2, "one for each number, whatever the size")

    def test_repeated_compilations_are_named(self) -> None:
        x, edges = graph(5, 9)
        fast = gnnc.compile(Of(lambda x, number: x * number), (x, edges, 0.5))
        fast(x, edges, 0.25)
        with self.assertWarnsRegex(UserWarning, r"compiles Of for each value of argument 'number' \(0.5, 0.25, now 0.75\)"):
            fast(x, edges, 0.75)
        module = Of(lambda x, number: x * number)
        fast = gnnc.compile(module, (x, edges, 0.5))
        module.scale = 2
        fast(x, edges, 0.5)
        module.scale = 3
        with self.assertWarnsRegex(UserWarning, "compiles Of for each value of 'scale' of 'Of', which its forward reads"):
            fast(x, edges, 0.5)


if __name__ == "__main__":
    unittest.main()
