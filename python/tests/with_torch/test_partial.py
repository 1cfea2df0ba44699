# Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
# See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Losses of some results alone: the others are not differentiated, whatever their derivatives are."""

from __future__ import annotations

import unittest
from collections.abc import Sequence
from unittest import mock

import torch
from torch import Tensor, nn

import gnnc
from torch_modules import TorchTest, graph


class Three(nn.Module):
    """The second result has an infinite derivative where x is 0; parameters of `late` belong to the third alone."""

    def __init__(self) -> None:
        super().__init__()
        self.early, self.late = nn.Linear(3, 3), nn.Linear(3, 3)

    def forward(self, x: Tensor, edge_index: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        h = torch.zeros_like(x).index_add(0, edge_index[1], self.early(x)[edge_index[0]])
        return h * 1.0, x.abs().log(), self.late(h).tanh()


class PartialTest(TorchTest):
    def setUp(self) -> None:
        super().setUp()
        self.module = Three()
        self.x, self.edges = graph(6, 9)
        self.x = self.x[:, :1].repeat(1, 3)
        self.x[0] = 0
        self.x.requires_grad_()
        self.fast = gnnc.compile(self.module, (torch.rand(5, 3), graph(5, 7)[1]))
        self.wanted = [self.x, *self.module.parameters()]

    def gradients(self, module: nn.Module, which: Sequence[int], second: bool = False) -> list[Tensor | None]:
        outputs = module(self.x, self.edges)
        loss = sum((outputs[i] ** 2).sum() for i in which)
        found = torch.autograd.grad(loss, self.wanted, create_graph=second, allow_unused=True)
        if second:
            loss = sum((each**2).sum() for each in found if each is not None)
            found = torch.autograd.grad(loss, self.wanted, allow_unused=True)
        return list(found)

    def check(self, which: Sequence[int], second: bool = False) -> None:
        expected, found = self.gradients(self.module, which, second), self.gradients(self.fast, which, second)
        for want, got in zip(expected, found, strict=True):
            if want is None or got is None:
                self.assertTrue(want is got or not (got if want is None else want).any(), which)
            else:
                torch.testing.assert_close(got, want, atol=1e-4, rtol=1e-4, equal_nan=True)

    def test_unused_results_have_no_part(self) -> None:
        for which in ((0,), (0,), (0, 2), (2,), (0,)):
            with self.subTest(which=which):
                self.check(which)
                self.assertTrue(all(each is None or each.isfinite().all() for each in self.gradients(self.fast, which)))

    def test_used_results_have(self) -> None:
        self.check((0,))
        self.check((0, 1, 2))  # with the infinite derivative that eager code has too

    def test_parameters_of_unused_results_have_no_gradient(self) -> None:
        for _ in range(2):  # the second time by the object for this result alone
            found = self.gradients(self.fast, (0,))
            self.assertIsNone(found[-1])
            self.assertIsNotNone(found[1])

    def test_zeros_that_are_given_are_cotangents(self) -> None:
        cotangents = (torch.ones(6, 3), torch.zeros(6, 3))
        for module in (self.module, self.fast):
            outputs = module(self.x, self.edges)
            (gradient,) = torch.autograd.grad(outputs[:2], [self.x], cotangents)
            self.assertTrue(gradient[0].isnan().all())

    def test_second_derivatives(self) -> None:
        for which in ((0,), (0, 2)):
            with self.subTest(which=which):
                self.check(which, second=True)

    def test_within_another_compilation(self) -> None:
        traced = torch.compile(lambda x, edges: self.fast(x, edges)[0].sum(), backend="aot_eager", dynamic=True)
        (found,) = torch.autograd.grad(traced(self.x, self.edges), [self.x])
        (expected,) = torch.autograd.grad(self.module(self.x, self.edges)[0].sum(), [self.x])
        torch.testing.assert_close(found, expected, atol=1e-5, rtol=1e-5)

    def test_a_compiled_module_that_is_gone(self) -> None:
        output = gnnc.compile(self.module, (self.x, self.edges))(self.x, self.edges)[0]
        self.assertTrue(torch.autograd.grad(output.sum(), [self.x])[0].isfinite().all())

    def test_an_index_that_has_changed(self) -> None:
        edges = self.edges.clone()
        output = self.fast(self.x, edges)[2]
        edges[0, 0] = (edges[0, 0] + 1) % 6
        with self.assertRaisesRegex(gnnc.Error, "changed in place"):
            torch.autograd.grad(output.sum(), [self.x])

    def test_steps_compile_once(self) -> None:
        self.check((0,))
        executor = vars(self.fast)["_gnnc"].specializations[0].executor
        before = executor.partials.usual
        for _ in range(3):
            self.check((0,))
        self.assertIs(executor.partials.usual, before)
        self.assertIsNot(before, executor)

    def test_results_without_a_derivative_need_no_object(self) -> None:
        class Beside(Three):
            def forward(self, x: Tensor, edge_index: Tensor) -> tuple[Tensor, ...]:
                first, _, third = super().forward(x, edge_index)
                return first, first > 0, third, first.argmax(1), first.detach() * 2

        fast = gnnc.compile(Beside(), (self.x, self.edges))
        partials = vars(fast)["_gnnc"].specializations[0].executor.partials
        with mock.patch.object(partials, "_build", wraps=partials._build) as build:
            results = fast(self.x, self.edges)
            (results[0].sum() + results[2].sum()).backward(retain_graph=True)
            (results[0].sum() + results[2].sum()).backward()
            build.assert_not_called()
            fast(self.x, self.edges)[2].sum().backward()
            build.assert_called_once()


if __name__ == "__main__":
    unittest.main()
