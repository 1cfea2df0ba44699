# Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
# See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compiled modules as operators of PyTorch."""

from __future__ import annotations

import unittest

import torch
from torch import Tensor, nn

import gnnc
from torch_modules import Conv, TorchTest, graph


class OperatorTest(TorchTest):
    def setUp(self) -> None:
        super().setUp()
        torch._dynamo.reset()
        self.module = Conv()
        self.x, self.edges = graph(5, 9)
        self.fast = gnnc.compile(self.module, (self.x, self.edges))

    def test_opcheck(self) -> None:
        tensors = [self.x.clone().requires_grad_(), self.edges]
        known = vars(self.fast)["_gnnc"].specializations[0]
        torch.library.opcheck(
            torch.ops.gnnc.call.default, (int(vars(self.fast)["_gnnc"].handle), 0, tensors + known.parameters())
        )

    def test_no_graph_break_within_another_compilation(self) -> None:
        class Outer(nn.Module):
            def __init__(self, conv: nn.Module) -> None:
                super().__init__()
                self.conv, self.head = conv, nn.Linear(2, 2)

            def forward(self, x: Tensor, edges: Tensor) -> Tensor:
                return self.head(self.conv(x * 2, edges)).tanh()

        torch.manual_seed(1)
        fast, eager = Outer(self.fast), Outer(self.module)
        eager.head = fast.head
        compiled = torch.compile(fast, backend="aot_eager", fullgraph=True, dynamic=True)
        for nodes, edges in ((5, 9), (8, 30)):
            x, index = graph(nodes, edges)
            x.requires_grad_()
            found, expected = compiled(x, index), eager(x, index)
            self.assertClose(found, expected)
            wanted = [x, *eager.parameters()]
            self.assertClose(torch.autograd.grad(found.sum(), wanted), torch.autograd.grad(expected.sum(), wanted))

    def test_outputs_without_a_gradient(self) -> None:
        class Measured(Conv):
            def forward(self, x: Tensor, edge_index: Tensor) -> tuple[Tensor, ...]:
                y = super().forward(x, edge_index)
                return y, (y > 0.5).float().mean(), y.detach(), x * 2, edge_index

        module = Measured()
        fast = gnnc.compile(module, (self.x, self.edges))
        compiled = torch.compile(fast, backend="aot_eager", fullgraph=True, dynamic=True)
        for want in (False, True):
            self.x.requires_grad_(want)
            found, expected = compiled(self.x, self.edges), module(self.x, self.edges)
            self.assertClose(found, expected)
            self.assertEqual(*[[each.requires_grad for each in result] for result in (found, expected)])
            wanted = [self.x, *module.parameters()][not want :]
            self.assertClose(*[torch.autograd.grad(result[0].sum(), wanted) for result in (found, expected)])

    def test_exported_with_the_operator(self) -> None:
        program = torch.export.export(self.fast, (self.x, self.edges))
        self.assertIn("gnnc.call", program.graph_module.code)


if __name__ == "__main__":
    unittest.main()
