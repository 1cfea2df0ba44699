# Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
# See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Rows and numbers that an index says place by place: other places for each feature, windows, copies by counts."""

from __future__ import annotations

import unittest
from collections.abc import Callable

import torch
from torch import Tensor, nn

import gnnc


class Places(nn.Module):
    def __init__(self, function: Callable[..., Tensor]) -> None:
        super().__init__()
        self.function, self.linear = function, nn.Linear(4, 4, dtype=torch.float64)

    def forward(self, x: Tensor, *index: Tensor) -> Tensor:
        return self.function(self.linear(x), *index)


def rows(*sizes: int) -> Tensor:
    return torch.randn(*sizes, dtype=torch.float64)


def numbers(below: int, *sizes: int) -> Tensor:
    return torch.randint(below, sizes)


class PlacesTest(unittest.TestCase):
    def check(self, function: Callable[..., Tensor], arguments: Callable[[int], tuple[Tensor, ...]]) -> None:
        """Outputs and gradients on three graphs are those of eager PyTorch; one object is for all of them."""
        torch.manual_seed(0)
        module, fast = Places(function), None
        for n in (9, 7, 12):
            given = arguments(n)
            fast = fast or gnnc.compile(module, given)
            results = []
            for call in (module, fast):
                x = given[0].clone().requires_grad_()
                module.zero_grad()
                y = call(x, *given[1:])
                (y * torch.linspace(1, 2, y.numel(), dtype=y.dtype).view_as(y)).sum().backward()
                results.append([y.detach(), x.grad, *[p.grad.clone() for p in module.parameters()]])
            for expected, found in zip(*results, strict=True):
                self.assertLess(float((expected - found).abs().max()), 1e-10, function.__name__)

    def test_rows_of_each_element(self) -> None:
        def gathered(h: Tensor, index: Tensor) -> Tensor:
            return torch.gather(h, 1, index.unsqueeze(-1).expand(-1, -1, 4)).tanh()

        self.check(gathered, lambda n: (rows(n, 5, 4), numbers(5, n, 3)))

    def test_features_of_each_row(self) -> None:
        self.check(lambda h, index: h.gather(1, index), lambda n: (rows(n, 4), numbers(4, n, 3)))
        self.check(lambda h, index: h.gather(1, index), lambda n: (rows(n, 4), numbers(4, n, 1)))

    def test_what_is_in_other_places_does_not_count(self) -> None:
        def chosen(h: Tensor, index: Tensor, is_there: Tensor) -> Tensor:
            score = h.masked_fill(~is_there, -float("inf")).log_softmax(1).gather(1, index)
            sums = torch.zeros_like(h).scatter_add(1, index, score)
            return sums.exp()

        def arguments(n: int) -> tuple[Tensor, ...]:
            index = numbers(4, n, 2)
            return rows(n, 4), index, torch.zeros(n, 4, dtype=torch.bool).scatter(1, index, True)

        self.check(chosen, arguments)

    def test_rows_for_each_feature(self) -> None:
        def scattered(h: Tensor, index: Tensor) -> Tensor:
            return torch.zeros_like(h).scatter_add(0, index, h.gather(0, index))

        self.check(scattered, lambda n: (rows(n, 4), numbers(n, n, 4)))

    def test_classes_that_are_counted(self) -> None:
        def counted(h: Tensor, index: Tensor) -> Tensor:
            counts = h.new_zeros(h.size(0), 6).scatter_add(1, index, torch.ones_like(index, dtype=h.dtype))
            return counts * h.sum(1, keepdim=True)

        self.check(counted, lambda n: (rows(n, 4), numbers(6, n, 3)))

    def test_classes_that_are_written(self) -> None:
        def written(h: Tensor, index: Tensor) -> Tensor:
            marked = torch.zeros_like(h).scatter(1, index, 2.0)
            most = h.scatter_reduce(1, index, marked[:, :2] * 3, "amax")
            return marked * h + most

        self.check(written, lambda n: (rows(n, 4), numbers(4, n, 2)))

    def test_windows(self) -> None:
        self.check(lambda h: h.unfold(0, 3, 1).prod(-1), lambda n: (rows(n, 4),))
        self.check(lambda h: h.unfold(0, 2, 2).amax(-1), lambda n: (rows(n, 4),))

    def test_copies_by_counts(self) -> None:
        self.check(
            lambda h, counts: torch.repeat_interleave(h, counts, dim=0).tanh(), lambda n: (rows(n, 4), numbers(4, n))
        )

    def test_tables_of_neighbours(self) -> None:
        """With six columns and more they are edges, with fewer columns one by one."""

        def largest(h: Tensor, table: Tensor) -> Tensor:
            near = h[table]
            return torch.cat([h.unsqueeze(1).expand_as(near), near - h.unsqueeze(1)], -1).tanh().amax(1)

        def attention(h: Tensor, table: Tensor) -> Tensor:
            near = h[table]
            weights = (near * h.unsqueeze(1)).sum(-1).softmax(1)
            return (weights.unsqueeze(-1) * near).sum(1) + near.mean(1)

        def masked(h: Tensor, table: Tensor) -> Tensor:
            there = (table > 2).to(h.dtype)
            own = (table != torch.arange(h.size(0)).unsqueeze(1)).unsqueeze(-1)
            near = (h[table] * there.unsqueeze(-1)).masked_fill(~own, 0.5)
            return near.sum(1) / there.sum(1, keepdim=True).clamp(min=1)

        def kept(h: Tensor, table: Tensor) -> Tensor:
            near = h[table]
            return near[:, 0] * near.sum((1, 2)).unsqueeze(-1) + torch.einsum("nkd,nkd->nd", near, near.cos())

        for function in (largest, attention, masked, kept):
            for columns in (3, 8):
                self.check(function, lambda n, k=columns: (rows(n, 4), numbers(n, n, k)))

    def test_products_of_32_bits_wrap(self) -> None:
        def hashed(h: Tensor, index: Tensor) -> Tensor:
            place = (index.int() * 1_500_000_001) % h.size(0)
            both = (index.int() * 73_856_093 + index.flip(0).int() * 19_349_663) % h.size(0)
            return h[place.long()] * 2 + h[index.flip(0)] - h[both.long()]

        self.check(hashed, lambda n: (rows(n, 4), numbers(n, 2 * n)))

    def test_what_is_the_same_for_each_end(self) -> None:
        def spread(h: Tensor, cells: Tensor) -> Tensor:
            mean = h[cells].mean(1)
            return torch.zeros_like(h).index_add(0, cells.reshape(-1), mean[:, None].expand(-1, 4, -1).reshape(-1, 4))

        self.check(spread, lambda n: (rows(n, 4), numbers(n, 2 * n, 4)))


if __name__ == "__main__":
    unittest.main()
