# Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
# See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Arguments without rows, of which torch.export knows too little to export a module for them."""

from __future__ import annotations

import unittest
from unittest import mock

import torch
from torch import Tensor, nn

import gnnc
from gnnc import _compiler
from torch_modules import TorchTest


class Scaled(nn.Module):
    """Compiled again where `scale` changes."""

    def __init__(self) -> None:
        super().__init__()
        self.linear, self.scale = nn.Linear(3, 3), 1.0

    def forward(self, x: Tensor) -> Tensor:
        return self.linear(x).softmax(0) * self.scale


class EmptyTest(TorchTest):
    def test_the_module_runs_what_cannot_be_compiled(self) -> None:
        module = Scaled()
        fast = gnnc.compile(module, torch.randn(4, 3))
        for scale in (1.0, 2.0):
            module.scale = scale
            x = torch.zeros(0, 3, requires_grad=True)
            found = fast(x)
            self.assertClose(found, module(x))
            found.sum().backward()
            self.assertEqual(list(module.linear.weight.grad.abs().flatten()), [0] * 9)
        with mock.patch.object(_compiler, "run_compiler", side_effect=AssertionError):
            self.assertClose(fast(torch.zeros(0, 3)), module(torch.zeros(0, 3)))
        x = torch.randn(5, 3)
        self.assertClose(fast(x), module(x))
        self.assertClose(fast(torch.zeros(0, 3)), module(torch.zeros(0, 3)))

    def test_examples_without_rows(self) -> None:
        with self.assertRaisesRegex(gnnc.Error, r"of the example 'x' \[0, 3\] torch takes sizes of 0 and 1 for"):
            gnnc.compile(Scaled(), torch.zeros(0, 3))


if __name__ == "__main__":
    unittest.main()
