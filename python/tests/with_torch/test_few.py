# Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
# See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Calls with no elements, or one: what the module does with so few, whatever was compiled for more."""

from __future__ import annotations

import unittest
from collections.abc import Callable
from typing import Any
from unittest import mock

import torch
from torch import Tensor, nn

import gnnc
from gnnc.torch import _export, _few
from torch_modules import TorchTest, graph


class Of(nn.Module):
    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__()
        self.function, self.lin = function, nn.Linear(3, 3)

    def forward(self, x: Tensor, edge_index: Tensor) -> Any:
        return self.function(self.lin(x), edge_index)


def squeezed(x: Tensor, edge_index: Tensor) -> Tensor:
    return x.sum(1, keepdim=True).squeeze()


def branching(x: Tensor, edge_index: Tensor) -> Tensor:
    return x * 2 if x.size(0) > 1 else x - 1


def averages(x: Tensor, edge_index: Tensor) -> tuple[Tensor, ...]:
    return x.mean(), x.mean(0), x[edge_index[0]].square().mean(), x.std(0)


def greatest(x: Tensor, edge_index: Tensor) -> Tensor:
    return x.max(0).values + x.argmax(1).sum()


def neighbours(x: Tensor, edge_index: Tensor) -> tuple[Tensor, ...]:
    return x[1:] - x[:-1], x[-2:].sum(0), torch.zeros_like(x).index_add(0, edge_index[1], x[edge_index[0]])


SIZES = ((6, 9), (0, 0), (1, 0), (1, 2), (5, 0), (2, 1), (7, 12), (3, 1), (5, 1))


class FewTest(TorchTest):
    def check(self, module: nn.Module, fast: nn.Module, nodes: int, edges: int) -> None:
        x, edge_index = graph(nodes, edges)
        for _ in range(3):  # a call that compares, one that knows, and one on a known graph
            given = [x.clone().requires_grad_() for _ in range(2)]
            try:
                expected = module(given[0], edge_index)
            except IndexError:
                with self.assertRaises(IndexError):
                    fast(given[1], edge_index)
                continue
            found = fast(given[1], edge_index)
            pairs = list(zip(found, expected, strict=True)) if isinstance(expected, tuple) else [(found, expected)]
            for mine, eager in pairs:
                torch.testing.assert_close(mine, eager, rtol=1e-4, atol=1e-5, equal_nan=True)
            for results in zip(*pairs):
                sum(each.sum() for each in results).backward()
            torch.testing.assert_close(given[1].grad, given[0].grad, rtol=1e-4, atol=1e-5, equal_nan=True)

    def test_as_the_module_does(self) -> None:
        for function in (squeezed, branching, averages, greatest, neighbours):
            for first in range(3):
                module = Of(function)
                fast = gnnc.compile(module)
                for nodes, edges in (*SIZES[first:], *SIZES[:first]):
                    with self.subTest(function=function.__name__, first=first, nodes=nodes, edges=edges):
                        self.check(module, fast, nodes, edges)

    def test_no_random_number_is_drawn_to_compare(self) -> None:
        class Dropped(Of):
            def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
                return torch.dropout(super().forward(x, edge_index), 0.5, self.training)

        module = Dropped(branching)
        fast = gnnc.compile(module, graph(6, 9))
        for nodes in (6, 3, 1):
            x, edge_index = graph(nodes, 4)
            torch.manual_seed(1)
            expected = [module(x, edge_index) for _ in range(2)]
            torch.manual_seed(1)
            self.assertClose([fast(x, edge_index) for _ in range(2)], expected)

    def test_running_statistics_are_updated_once(self) -> None:
        module = nn.Sequential(nn.Linear(3, 3), nn.BatchNorm1d(3))
        fast = gnnc.compile(module)
        eager = nn.Sequential(nn.Linear(3, 3), nn.BatchNorm1d(3))
        eager.load_state_dict(module.state_dict())
        for nodes in (5, 3, 2, 2, 3):
            x = torch.randn(nodes, 3)
            self.assertClose(fast(x), eager(x))
            self.assertClose(list(module.buffers()), list(eager.buffers()))
        with self.assertRaises(ValueError):
            eager(torch.randn(1, 3))
        with self.assertRaisesRegex(gnnc.Error, "more than one element"):
            fast(torch.randn(1, 3))

    def test_one_bad_call_decides_nothing(self) -> None:
        fast = gnnc.compile(Of(neighbours))
        self.check(vars(fast)["_gnnc"].module, fast, 6, 9)
        x, edge_index = graph(3, 9)
        with self.assertRaisesRegex(gnnc.Error, "but space 'node' has 3 elements"):
            fast(x, edge_index + 3)
        self.check(vars(fast)["_gnnc"].module, fast, 3, 9)
        few = vars(fast)["_gnnc"].specializations[0].few
        self.assertFalse(few._differs[few.kind([x, edge_index])])

    def test_nothing_is_tried_twice(self) -> None:
        fast = gnnc.compile(Of(averages))
        with mock.patch.object(_export, "build", side_effect=gnnc.CompileError("no")) as build:
            for _ in range(3):
                fast(*graph(1, 0))
            build.assert_called_once()
            with self.assertRaisesRegex(gnnc.CompileError, "no"):
                fast(*graph(4, 4))
        self.check(vars(fast)["_gnnc"].module, fast, 1, 0)


class AgreementTest(unittest.TestCase):
    def test_products_of_fewer_digits_round_otherwise(self) -> None:
        x = torch.linspace(-2, 2, 50)
        rough, other = x + 0.01, x * 1.5
        for flags, agrees in ((["--gradient"], False), (["--products", "tf32"], True), (["--autocast", "bf16"], True)):
            rounding = _few._rounding(flags)
            self.assertEqual(_few._agree([rough], [x], rounding), agrees, flags)
            self.assertFalse(_few._agree([other], [x], rounding), flags)
            self.assertFalse(_few._agree([x.unsqueeze(0)], [x], rounding), flags)
            nan = torch.where(x > 1.9, torch.nan, x)
            self.assertFalse(_few._agree([x], [nan], rounding), flags)
            self.assertTrue(_few._agree([nan], [nan], rounding), flags)


if __name__ == "__main__":
    unittest.main()
