# Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
# See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Derivatives of compiled modules."""

from __future__ import annotations

import unittest

import torch
from torch import Tensor

import gnnc
from torch_modules import Conv, Pair, TorchTest, graph


class AutogradTest(TorchTest):
    def setUp(self) -> None:
        super().setUp()
        self.module = Conv()
        self.x, self.edges = graph(5, 9)
        self.x.requires_grad_()
        self.fast = gnnc.compile(self.module, (self.x, self.edges))
        self.wanted = [self.x, *self.module.parameters()]

    def gradients(self, output: Tensor, cotangent: Tensor | None = None, **arguments: object) -> tuple[Tensor, ...]:
        cotangent = torch.ones_like(output) if cotangent is None else cotangent
        return torch.autograd.grad(output, self.wanted, cotangent, **arguments)

    def test_equal_to_eager(self) -> None:
        cotangent = torch.randn(5, 2)
        expected = self.gradients(self.module(self.x, self.edges), cotangent)
        self.assertClose(self.gradients(self.fast(self.x, self.edges), cotangent), expected)

    def test_cotangents_of_stride_zero(self) -> None:
        self.fast(self.x, self.edges).sum().backward()
        expected = self.gradients(self.module(self.x, self.edges))
        self.assertClose(tuple(tensor.grad for tensor in self.wanted), expected)

    def test_two_forwards_before_a_backward(self) -> None:
        other, edges = graph(8, 20, seed=1)
        first, second = self.fast(self.x, self.edges), self.fast(other, edges)
        third = self.fast(self.x * 2, self.edges)
        expected = self.gradients(self.module(self.x, self.edges))
        self.assertClose(self.gradients(first), expected)
        expected = self.gradients(self.module(self.x * 2, self.edges))
        self.assertClose(self.gradients(third), expected)
        params = list(self.module.parameters())
        expected = torch.autograd.grad(self.module(other, edges).sum(), params)
        self.assertClose(torch.autograd.grad(second.sum(), params), expected)

    def test_retain_graph(self) -> None:
        output = self.fast(self.x, self.edges)
        expected = self.gradients(self.module(self.x, self.edges))
        self.assertClose(self.gradients(output, retain_graph=True), expected)
        self.assertClose(self.gradients(output, retain_graph=True), expected)
        self.assertClose(self.gradients(output), expected)
        with self.assertRaisesRegex(RuntimeError, "second time"):
            self.gradients(output)

    def test_only_what_is_asked_for(self) -> None:
        for parameter in self.module.parameters():
            parameter.requires_grad_(False)
        output = self.fast(self.x, self.edges)
        output.sum().backward()
        self.assertIsNone(self.module.bias.grad)
        expected = torch.autograd.grad(self.module(self.x, self.edges).sum(), self.x)[0]
        self.assertClose(self.x.grad, expected)
        self.assertFalse(self.fast(self.x.detach(), self.edges).requires_grad)

    def test_inputs_changed_in_place_are_refused(self) -> None:
        x = self.x.detach().clone()
        output = self.fast(x, self.edges)
        x.add_(1)
        with self.assertRaisesRegex(RuntimeError, "modified by an inplace operation"):
            output.sum().backward()

    def test_outputs_changed_in_place_are_refused_where_they_are_read_again(self) -> None:
        output = self.fast(self.x, self.edges)
        output.detach().add_(1)
        with self.assertRaisesRegex(RuntimeError, "modified by an inplace operation"):
            output.sum().backward()

    def test_outputs_without_a_cotangent(self) -> None:
        module = Pair()
        fast = gnnc.compile(module, (self.x, self.edges))
        for name in ("sums", "scaled"):
            expected = torch.autograd.grad(module(self.x, self.edges)[name].sum(), self.x)
            self.assertClose(torch.autograd.grad(fast(self.x, self.edges)[name].sum(), self.x), expected)

    def test_gradcheck(self) -> None:
        module = Conv(dtype=torch.float64)
        x, edges = graph(4, 7, dtype=torch.float64)
        x.requires_grad_()
        fast = gnnc.compile(module, (x, edges))

        def run(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
            return torch.func.functional_call(fast, {"lin.weight": weight, "bias": bias}, (x, edges))

        weight = module.lin.weight.detach().requires_grad_()
        bias = module.bias.detach().requires_grad_()
        self.assertTrue(torch.autograd.gradcheck(run, (x, weight, bias)))

    def test_second_derivatives_are_refused(self) -> None:
        (gradient,) = torch.autograd.grad(self.fast(self.x, self.edges).sum(), self.x, create_graph=True)
        with self.assertRaises(RuntimeError):
            gradient.sum().backward()


if __name__ == "__main__":
    unittest.main()
