# Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
# See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Losses, distributions, bags and bits as users write them, beside eager: as PyTorch exports them, and in its core
operators."""

from __future__ import annotations

import unittest

import torch
from torch import Tensor, nn
from torch.distributions import Categorical, Normal, kl_divergence
from torch.nn import functional as F

import gnnc
from gnnc.torch._exportable import exportable_forms
from torch_modules import Of, TorchTest, graphs


def diagonals(x: Tensor, edges: Tensor, classes: Tensor) -> Tensor:
    matrix = x.t() @ x
    return x @ (matrix - torch.diag(matrix.diagonal())) + x @ torch.diagflat(x.mean(0))


def margins(x: Tensor, edges: Tensor, classes: Tensor) -> Tensor:
    sides = torch.where(classes > 1, 1.0, -1.0)
    return F.hinge_embedding_loss(x[:, 0], sides) + F.cosine_embedding_loss(x, x.sin(), sides)


def divergences(x: Tensor, edges: Tensor, classes: Tensor) -> tuple[Tensor, Tensor]:
    return F.kl_div(x.log_softmax(-1), x.sin().softmax(-1), reduction="batchmean"), torch.xlogy(x.abs(), x.exp())


def densities(x: Tensor, edges: Tensor, classes: Tensor) -> tuple[Tensor, ...]:
    wide, narrow = Normal(x, 2.0), Normal(x.sin(), F.softplus(x))
    return narrow.log_prob(x), Categorical(logits=x).log_prob(classes), kl_divergence(narrow, wide)


def gaussian(x: Tensor, edges: Tensor, classes: Tensor) -> tuple[Tensor, ...]:
    return F.gaussian_nll_loss(x, x.sin(), x.exp()), F.gaussian_nll_loss(x, x.cos(), x.abs(), True, 0.5, "sum")


def constant_rows(x: Tensor, edges: Tensor, classes: Tensor) -> tuple[Tensor, ...]:
    mean = x.mean(0)
    return x * 2, mean.expand(x.size(0), -1), torch.ones_like(x[:, 0]) * 3, mean.softmax(0).expand(edges.size(1), 4)


def degrees(x: Tensor, edges: Tensor, classes: Tensor) -> Tensor:
    count = torch.bincount(edges[1], minlength=x.size(0)).float()
    return torch.zeros_like(x).index_add(0, edges[1], x[edges[0]] / (1 + count[edges[1]])[:, None])


def from_the_end(x: Tensor, edges: Tensor, classes: Tensor) -> Tensor:
    return x[[-1, 0]].sum(0) + x[torch.tensor([-2])] * x[:, [-1, 0, -3, 1]]


def taken(x: Tensor, edges: Tensor, classes: Tensor) -> tuple[Tensor, Tensor]:
    return torch.take_along_dim(x.sin(), classes[:, None], dim=1), x.take_along_dim(classes[:, None], 1) * 2


def written_diagonal(x: Tensor, edges: Tensor, classes: Tensor) -> Tensor:
    every = torch.arange(4)
    matrix = (x.t() @ x).index_put((every, every), torch.zeros(4))
    return x @ matrix + x @ (x.t() @ x).clone().fill_diagonal_(1.0)


CASES = (diagonals, margins, divergences, gaussian, constant_rows, degrees, from_the_end, taken, written_diagonal)
#: What PyTorch's own export and decompositions give for every size.
IN_CORE = (diagonals, margins, divergences, constant_rows, degrees, from_the_end)
if torch.__version__ >= torch.torch_version.TorchVersion("2.15"):  # before, distributions branch on numbers
    CASES += (densities,)
    IN_CORE += (densities,)


def labelled(y: Tensor, labels: Tensor, mask: Tensor) -> Tensor:
    return F.mse_loss(y[mask], labels[mask]) + (y[mask] * labels[mask]).sum()


class Tables(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.rows = nn.Embedding(12, 4)

    def forward(self, x: Tensor, edges: Tensor, classes: Tensor) -> tuple[Tensor, ...]:
        bags = torch.stack([classes, classes + 1, classes * 2], 1)
        table = self.rows.weight
        summed = [F.embedding_bag(bags, table, mode=mode) for mode in ("sum", "mean", "max")]
        bits = (classes[:, None] >> torch.arange(3)) & 1
        return *summed, self.rows(classes & 1) * x, self.rows((classes << 1) & 3), bits.float() @ table[:3]


class IdiomsTest(TorchTest):
    def test_cases(self) -> None:
        for module in (*map(Of, CASES), Tables()):
            with self.subTest(module.function.__name__ if isinstance(module, Of) else "tables"):
                self.assertLikeEager(module, graphs(((9, 20), (14, 31), (5, 12)), 4), 1e-4)

    def test_cases_in_core_operators(self) -> None:
        for module in (*map(Of, IN_CORE), Tables()):
            with self.subTest(module.function.__name__ if isinstance(module, Of) else "tables"):
                self.assertLikeEagerInCore(module, graphs(((9, 20), (14, 31), (5, 12)), 4))

    def test_functions_of_pytorch_are_its_own_afterwards(self) -> None:
        before = torch.take_along_dim, Tensor.take_along_dim, F.gaussian_nll_loss
        with self.assertRaises(gnnc.CompileError):
            gnnc.compile(Of(lambda x: torch.linalg.det(x)), (torch.randn(5, 4, 4),))
        first, second = exportable_forms(), exportable_forms()
        first.__enter__()
        second.__enter__()
        with self.assertRaises(IndexError):
            torch.take_along_dim(torch.ones(2, 2), torch.zeros(2, 2, dtype=torch.long), 5)
        with self.assertRaisesRegex(ValueError, "incorrect size"):
            F.gaussian_nll_loss(torch.ones(3, 2), torch.ones(3, 2), torch.ones(1))
        first.__exit__(None, None, None)
        second.__exit__(None, None, None)
        self.assertEqual(before, (torch.take_along_dim, Tensor.take_along_dim, F.gaussian_nll_loss))

    def test_missing_labels(self) -> None:
        """Rows that a mask leaves out have no part in gradients, whatever they are; nor has a mean of no rows."""
        x, labels = torch.randn(9, 3), torch.randn(9, 2)
        labels[[1, 4], [0, 1]] = torch.nan
        classes = torch.full((9,), -100)
        cases = {
            "elements": (lambda y, t, c: labelled(y, t, t == t), 2),
            "rows": (lambda y, t, c: labelled(y[:, 0], t[:, 0], t[:, 0].isfinite()), 2),
            "none": (lambda y, t, c: F.cross_entropy(y, c), 4),
        }
        for name, (loss, width) in cases.items():
            with self.subTest(name):
                layer = nn.Linear(3, width)
                eager = Of(lambda x, t, c, loss=loss, layer=layer: loss(layer(x), t, c))
                eager.layer = layer
                found = []
                for each in (eager, gnnc.compile(eager)):
                    y = each(x, labels, classes)
                    found.append((y, *torch.autograd.grad(y, list(layer.parameters()))))
                for own, expected in zip(found[1], found[0]):
                    torch.testing.assert_close(own, expected, equal_nan=True)

    def test_largest_numbers_of_64_bits(self) -> None:
        x = torch.tensor([[1e39, torch.inf, -1e300], [torch.nan, -torch.inf, 1.0]]).double().repeat(4, 1)
        module = Of(lambda x: (torch.isinf(x).double(), torch.isfinite(x).double(), torch.nan_to_num(x)))
        for own, expected in zip(gnnc.compile(module)(x), module(x)):
            torch.testing.assert_close(own, expected)

    def test_bags_with_padding_are_refused(self) -> None:
        table = torch.randn(12, 4)
        for padding in (-1, 0):
            bags = Of(lambda x, classes: x + F.embedding_bag(classes[:, None], table, padding_idx=padding, mode="sum"))
            with self.assertRaisesRegex(gnnc.CompileError, "expected an embedding_bag without .*, found padding_idx"):
                gnnc.compile(bags, (torch.randn(5, 4), torch.randint(0, 4, (5,))))


if __name__ == "__main__":
    unittest.main()
