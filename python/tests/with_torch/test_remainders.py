# Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
# See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Branches that depend on more of a size than its bounds: remainders, quotients, powers."""

from __future__ import annotations

import tempfile
import unittest
import warnings
from collections.abc import Callable
from pathlib import Path

import torch
from torch import Tensor, nn

import gnnc


class Branching(nn.Module):
    def __init__(self, decides: Callable[[int], bool]) -> None:
        super().__init__()
        self.decides = decides

    def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
        if self.decides(x.size(0)):
            return torch.zeros_like(x).index_add(0, edge_index[1], x[edge_index[0]])
        return 2 * x.square()


class RemaindersTest(unittest.TestCase):
    def check(self, decides: Callable[[int], bool]) -> None:
        module = Branching(decides)
        for first in (6, 7, 12):
            compiled = gnnc.compile(module)
            for nodes in (first, 6, 7, 9, 12, 20, 4):
                x = torch.randn(nodes, 3, requires_grad=True)
                y = x.detach().clone().requires_grad_()
                edge_index = torch.randint(0, nodes, (2, 10))
                result, expected = compiled(x, edge_index), module(y, edge_index)
                torch.testing.assert_close(result, expected, msg=f"{nodes} nodes after {first}")
                result.sum().backward()
                expected.sum().backward()
                torch.testing.assert_close(x.grad, y.grad, msg=f"{nodes} nodes after {first}")

    def test_even_and_odd(self) -> None:
        self.check(lambda n: n % 2 == 0)
        self.check(lambda n: n % 2 == 1)
        self.check(lambda n: n % 3 != 0)

    def test_remainders_of_numbers(self) -> None:
        """Of constants with any number of bits, to the last one, beside their multiples too."""

        class Wrapped(nn.Module):
            def __init__(self, function: Callable[[Tensor], Tensor]) -> None:
                super().__init__()
                self.function = function

            def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
                moved = self.function(x[edge_index[0]])
                return torch.zeros_like(x).index_add(0, edge_index[1], moved)

        edge_index = torch.arange(2000).repeat(2, 1)
        functions: list[tuple[float, Callable[[Tensor], Tensor]]] = [
            (6.283185307179586, lambda x: torch.remainder(x, 6.283185307179586)),
            (9.3, lambda x: torch.remainder(x, -9.3)),
            (0.7, lambda x: torch.fmod(x, 0.7)),
            (0.7, lambda x: x // 0.7),
            (0.7, lambda x: torch.div(x, 0.7, rounding_mode="trunc")),
            (3, lambda x: x % 3),
        ]
        for dtype in (torch.float32, torch.float64):
            for divisor, function in functions:
                module = Wrapped(function)
                near = torch.randint(-30, 30, (1000, 1)).to(dtype) * torch.tensor(divisor, dtype=dtype)
                near = near * (1 + torch.randint(-2, 3, near.shape) * torch.finfo(dtype).eps)
                x = torch.cat([near, 50 * torch.randn(1000, 1, dtype=dtype)])
                self.assertEqual((gnnc.compile(module)(x, edge_index) - module(x, edge_index)).abs().max().item(), 0)
        module = Wrapped(functions[0][1])
        x = torch.randn(2000, 1, requires_grad=True)
        (gradient,) = torch.autograd.grad(gnnc.compile(module)(x, edge_index).sum(), x)
        self.assertTrue((gradient == 1).all())

    def test_exported_objects_have_one_side(self) -> None:
        cases = (
            (lambda n: n % 2 == 0, r"\(?x\.size\(0\) % 2\)? == 0"),
            (lambda n: n * n > 20, r"x\.size\(0\).* > 20"),
            (lambda n: n > 4, None),  # the object says so itself
        )
        example = torch.randn(6, 3), torch.randint(0, 6, (2, 10))
        with tempfile.TemporaryDirectory() as folder:
            for decides, condition in cases:
                with warnings.catch_warnings(record=True) as caught:
                    warnings.simplefilter("always")
                    gnnc.export(Branching(decides), example, Path(folder) / "model.so")
                texts = [str(each.message) for each in caught if "branches of Branching" in str(each.message)]
                self.assertEqual(len(texts), condition is not None)
                for text in texts:
                    self.assertRegex(text, condition)

    def test_quotients(self) -> None:
        self.check(lambda n: n // 2 > 3)
        self.check(lambda n: n // 4 == 2)

    def test_powers(self) -> None:
        self.check(lambda n: n * n > 50)
        self.check(lambda n: n * (n - 1) // 2 < 40)


class Regrouped(nn.Module):
    """Four rows make one, and so do two edges."""

    def __init__(self) -> None:
        super().__init__()
        self.lin = nn.Linear(12, 2)

    def forward(self, x: Tensor, edge_index: Tensor) -> tuple[Tensor, Tensor]:
        messages = (x[edge_index[0]] - x[edge_index[1]]).view(-1, 2, 3).square()
        return self.lin(x.view(-1, 12)), messages.mean(1)


class Thirds(nn.Module):
    """Parts and numbers that are multiples and products of quotients."""

    def forward(self, x: Tensor, edge_index: Tensor) -> tuple[Tensor, ...]:
        nodes, third = x.size(0), edge_index.size(1) // 3
        parts = [edge_index[:, :third], edge_index[:, third : 2 * third], edge_index[:, 2 * third :]]
        sums = [(i + 1) * torch.zeros_like(x).index_add(0, part[1], x[part[0]]) for i, part in enumerate(parts)]
        even = nodes // 2 * 2
        return sums[0] + sums[1] + sums[2], x[:even:2] - x[1:even:2], x * (nodes * (nodes - 1)), x[: nodes - nodes % 3]


class MultiplesTest(unittest.TestCase):
    def test_parts_by_quotients(self) -> None:
        module = Thirds()
        for first in range(3):
            compiled = gnnc.compile(module)
            sizes = ((6, 9), (9, 10), (7, 14), (8, 2), (5, 3), (1, 0), (2, 4))
            for nodes, edges in (*sizes[first:], *sizes[:first]):
                x = torch.randn(nodes, 3, requires_grad=True)
                y = x.detach().clone().requires_grad_()
                edge_index = torch.randint(0, nodes, (2, edges))
                result, expected = compiled(x, edge_index), module(y, edge_index)
                for mine, eager in zip(result, expected, strict=True):
                    torch.testing.assert_close(mine, eager)
                for each in (result, expected):
                    sum(part.square().sum() for part in each).backward()
                torch.testing.assert_close(x.grad, y.grad)

    def test_views_that_regroup(self) -> None:
        module = Regrouped()
        compiled = gnnc.compile(module)
        for nodes, edges in ((8, 6), (12, 10), (16, 4), (4, 8), (20, 2), (0, 0), (9, 6), (12, 7), (8, 8)):
            x = torch.randn(nodes, 3, requires_grad=True)
            y = x.detach().clone().requires_grad_()
            edge_index = torch.randint(0, max(nodes, 1), (2, edges))
            try:
                expected = module(y, edge_index)
            except RuntimeError as error:
                with self.assertRaises(RuntimeError) as caught:
                    compiled(x, edge_index)
                self.assertIn(str(error), str(caught.exception))
                continue
            result = compiled(x, edge_index)
            torch.testing.assert_close(result, expected)
            for each in (result, expected):
                (each[0].sum() + each[1].square().sum()).backward()
            torch.testing.assert_close(x.grad, y.grad)


if __name__ == "__main__":
    unittest.main()
