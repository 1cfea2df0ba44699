# Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
# See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Sizes that nothing but an operation on both says to be equal: they are compared when a graph is prepared."""

from __future__ import annotations

import unittest
from collections.abc import Callable

import torch
from torch import Tensor, nn

import gnnc


def two_lists(module: nn.Module, x: Tensor, first: Tensor, rows: Tensor, second: Tensor, others: Tensor) -> Tensor:
    edges, features = torch.cat([first, second], 1), torch.cat([rows, others], 0)
    return torch.zeros_like(x).index_add(0, edges[1], module(x)[edges[0]] * features)


def features_first(module: nn.Module, x: Tensor, first: Tensor, rows: Tensor, second: Tensor, others: Tensor) -> Tensor:
    edges, features = torch.cat([first, second], 1), torch.cat([rows, others], 0)
    return torch.zeros_like(x).index_add(0, edges[1], module(features) * x[edges[0]])


def side_by_side(module: nn.Module, x: Tensor, first: Tensor, rows: Tensor, second: Tensor, others: Tensor) -> Tensor:
    ends = module(x)[torch.cat([first[1], second[1]])]
    return torch.cat([ends, torch.cat([rows, others])], 1).sum(0)


class Two(nn.Module):
    def __init__(self, run: Callable[..., Tensor]) -> None:
        super().__init__()
        self.lin, self.run = nn.Linear(4, 4), run

    def forward(self, *arguments: Tensor) -> Tensor:
        return self.run(self.lin, *arguments)


class Virtual(nn.Module):
    """A node for each graph, of which there are as many as batch says; pooling counts them again."""

    def __init__(self) -> None:
        super().__init__()
        self.virtual, self.lin = nn.Embedding(1, 4), nn.Linear(4, 4)

    def forward(self, x: Tensor, batch: Tensor) -> Tensor:
        rows = self.virtual(torch.zeros(batch[-1].item() + 1).long())
        count = int(batch.max()) + 1
        sums = x.new_zeros(count, 4).index_add(0, batch, x + rows[batch])
        return self.lin(sums + rows)


class Typed(nn.Module):
    """Rows of two tables at the places of a mask."""

    def __init__(self) -> None:
        super().__init__()
        self.lin = nn.Linear(4, 4)

    def forward(self, mask: Tensor, first: Tensor, second: Tensor) -> Tensor:
        table = torch.zeros(mask.shape[0], 4)
        table[torch.where(mask == 0)[0]] = self.lin(first)
        table[torch.where(mask == 1)[0]] = second
        return table * 2


def arguments(nodes: int, first: int, second: int) -> tuple[Tensor, ...]:
    lists = [torch.randint(0, nodes, (2, count)) for count in (first, second)]
    return torch.randn(nodes, 4), lists[0], torch.randn(first, 4), lists[1], torch.randn(second, 4)


class EqualSizesTest(unittest.TestCase):
    def check(self, module: nn.Module, compiled: nn.Module, *given: Tensor) -> None:
        expected, found = module(*given), compiled(*given)
        torch.testing.assert_close(found, expected)
        wanted = torch.autograd.grad(expected.sin().sum(), list(module.parameters()))
        grads = torch.autograd.grad(found.sin().sum(), list(module.parameters()))
        torch.testing.assert_close(grads, wanted, rtol=1e-4, atol=1e-4)

    def test_lists_and_features_that_are_joined(self) -> None:
        for run in (two_lists, features_first, side_by_side):
            with self.subTest(run.__name__):
                torch.manual_seed(0)
                module = Two(run)
                compiled = gnnc.compile(module, arguments(9, 20, 15))
                self.check(module, compiled, *arguments(9, 20, 15))
                self.check(module, compiled, *arguments(12, 7, 30))
                self.assertEqual(len(vars(compiled)["_gnnc"].specializations), 1)
                x, first, rows, second, others = arguments(9, 20, 15)
                with self.assertRaises((gnnc.Error, RuntimeError)):
                    compiled(x, first, rows[:-2], second, others)
                # As many in all, in other parts.
                self.check(module, compiled, x, first, torch.randn(18, 4), second, torch.randn(17, 4))

    def test_graphs_that_are_counted_twice(self) -> None:
        torch.manual_seed(0)
        module = Virtual()
        compiled = gnnc.compile(module, (torch.randn(9, 4), torch.arange(9) // 3))
        self.check(module, compiled, torch.randn(9, 4), torch.arange(9) // 3)
        self.check(module, compiled, torch.randn(20, 4), torch.arange(20) // 4)

    def test_rows_that_values_choose_have_no_size_to_compare(self) -> None:
        class Chosen(nn.Module):
            def forward(self, x: Tensor) -> Tensor:
                return (x[x[:, 0] > 0] * x[x[:, 1] > 1]).sum(0)

        x = torch.arange(36.0).view(9, 4) - 15.5
        with self.assertRaisesRegex(gnnc.Error, "nothing says that they are equal"):
            gnnc.compile(Chosen(), (x,))

    def test_rows_at_the_places_of_a_mask(self) -> None:
        torch.manual_seed(0)
        module, mask = Typed(), torch.tensor([0, 1, 1, 0, 0, 1, 0, 1, 1])
        compiled = gnnc.compile(module, (mask, torch.randn(4, 4), torch.randn(5, 4)))
        self.check(module, compiled, mask, torch.randn(4, 4), torch.randn(5, 4))
        other = torch.tensor([1, 1, 1, 0, 0, 1, 1])
        self.check(module, compiled, other, torch.randn(2, 4), torch.randn(5, 4))
        with self.assertRaises(gnnc.Error):
            compiled(other, torch.randn(3, 4), torch.randn(5, 4))


if __name__ == "__main__":
    unittest.main()
