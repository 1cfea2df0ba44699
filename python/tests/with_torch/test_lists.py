# Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
# See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Edge lists that a module writes to, places that are inputs of their own, and single rows beside all, beside eager."""

from __future__ import annotations

import unittest

import torch
from torch import Tensor, nn

import gnnc
from torch_modules import Of, TorchTest, graphs


def summed(x: Tensor, edges: Tensor) -> Tensor:
    """Rows of three copies of the nodes, so that numbers that were moved up are still nodes."""
    rows = torch.cat([x, x * 2, x * 3])
    return torch.zeros_like(rows).index_add(0, edges[1], rows[edges[0]])


def moved(x: Tensor, edges: Tensor, places: Tensor) -> Tensor:
    edges = edges.clone()
    edges[0, :] += x.size(0)
    edges[1] = edges[1] + 2 * x.size(0)
    return summed(x, edges)


def reversed_by_writing(x: Tensor, edges: Tensor, places: Tensor) -> Tensor:
    other = torch.zeros_like(edges)
    other[0], other[1] = edges[1], edges[0]
    return summed(x, other)


def both_ways(x: Tensor, edges: Tensor, places: Tensor) -> Tensor:
    both = torch.empty(2, 2 * edges.size(1), dtype=torch.long)
    both[:, : edges.size(1)] = edges
    both[:, edges.size(1) :] = edges.flip(0)
    return summed(x, both)


def some_edges(x: Tensor, edges: Tensor, places: Tensor) -> Tensor:
    edges = edges.clone()
    edges[:, :1] = 0
    edges[:, 2:5] += 1
    edges[:, -2:] = edges.flip(0)[:, -2:]
    edges[0, 6:] = edges[1, 6:]
    return summed(x, edges)


def nll(x: Tensor, edges: Tensor, places: Tensor) -> Tensor:
    return -summed(x, edges)[: x.size(0)].log_softmax(-1).gather(1, places.view(-1, 1)).mean()


def taken(x: Tensor, edges: Tensor, places: Tensor) -> Tensor:
    sums = torch.zeros_like(x).index_add(0, edges[1], x[edges[0]])
    return torch.take_along_dim(sums, places[:, None], 1)


def marked(x: Tensor, edges: Tensor, places: Tensor) -> Tensor:
    return torch.zeros_like(x).scatter(1, places[:, None], 1.0) * x


def masked(x: Tensor, edges: Tensor, places: Tensor) -> Tensor:
    x = x * 1
    x[places > 1] = torch.tensor([1.0, 2.0, 3.0, 4.0])
    return summed(x, edges)


def one_row(x: Tensor, edges: Tensor, places: Tensor) -> tuple[Tensor, Tensor]:
    return x[:1] * x[edges[0]], x[-1:].expand(x.size(0), -1) + x


def pieces(x: Tensor, edges: Tensor, places: Tensor) -> tuple[Tensor, Tensor]:
    first, others = torch.split(summed(x, edges), [x.size(0), 2 * x.size(0)])
    return first * 2, others.sin()


CASES = (moved, reversed_by_writing, both_ways, some_edges, nll, taken, marked, masked, one_row, pieces)


class Negatives(nn.Module):
    """Scores of twelve others for each pair, by the lengths of stacked differences."""

    def forward(self, x: Tensor, pairs: Tensor, others: Tensor) -> Tensor:
        real, imaginary = (x[pairs[0]] + x[pairs[1]])[:, None].sub(x[others]).chunk(2, -1)
        scores = 3 - torch.stack([real, imaginary], 0).norm(dim=0).sum(-1)
        return (torch.softmax(scores, 1).detach() * torch.nn.functional.logsigmoid(-scores)).sum(1)


class ListsTest(TorchTest):
    def test_cases(self) -> None:
        for function in CASES:
            with self.subTest(function.__name__):
                self.assertLikeEager(Of(function), graphs(((9, 20), (13, 31), (5, 12)), 4))

    def test_a_size_that_a_norm_excludes(self) -> None:
        """InstanceNorm warns where there are as many nodes as features: fewer and more are compilations of their own."""

        class Norm(nn.Module):
            def forward(self, x: Tensor) -> Tensor:
                return x * 2 if x.size(0) != 16 else x * 3

        fast = gnnc.compile(Norm(), (torch.randn(23, 4),))
        for nodes in (23, 40, 16, 9):
            x = torch.randn(nodes, 4)
            torch.testing.assert_close(fast(x), Norm()(x))

    def test_a_table_is_one_list(self) -> None:
        module = Negatives()
        fast = gnnc.compile(module)
        for count in (15, 21):
            x = torch.randn(9, 6).double()
            given = (torch.randint(9, (2, count)), torch.randint(9, (count, 12)))
            found = []
            for each in (module, fast):
                leaf = x.clone().requires_grad_()
                y = each(leaf, *given)
                found.append((y, torch.autograd.grad(y.square().sum(), leaf)[0]))
            for own, expected in zip(found[1], found[0]):
                torch.testing.assert_close(own, expected)
        library = vars(fast)["_gnnc"].specializations[0].executor.library
        self.assertLess(len(library.description.root_maps), 6)

    def test_hooks_that_an_exported_program_lacks(self) -> None:
        class Conv(nn.Module):
            def __init__(self) -> None:
                super().__init__()
                self._message_forward_hooks = {0: print}  # as PyTorch Geometric's layers have them

            def forward(self, x: Tensor) -> Tensor:
                return x * 2

        with self.assertRaisesRegex(gnnc.Error, "'0' has a message hook, which PyTorch Geometric leaves out"):
            gnnc.compile(nn.Sequential(Conv()), (torch.randn(5, 4),))


if __name__ == "__main__":
    unittest.main()
