# Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
# See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compiled modules within what else PyTorch has: functional calls, transforms, checkpoints."""

from __future__ import annotations

import unittest

import torch
from torch import Tensor, nn
from torch.func import functional_call, grad, jacrev, vmap
from torch.utils.checkpoint import checkpoint

import gnnc
from torch_modules import TorchTest, graph


class Step(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.lin = nn.Linear(3, 3)

    def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
        return torch.zeros_like(x).index_add(0, edge_index[1], self.lin(x)[edge_index[0]]).tanh()


class AroundTest(TorchTest):
    def setUp(self) -> None:
        super().setUp()
        self.module = Step()
        self.fast = gnnc.compile(self.module)

    def test_functional_calls(self) -> None:
        for nodes, scale in ((5, 2.0), (7, -1.0)):
            x, edges = graph(nodes, 9)
            found = []
            for each in (self.fast, self.module):
                given = {name: (p.detach() * scale).requires_grad_() for name, p in self.module.named_parameters()}
                result = functional_call(each, given, (x, edges))
                result.square().sum().backward()
                found.append([result, *[tensor.grad for tensor in given.values()]])
            self.assertClose(found[0], found[1])
        self.assertTrue(all(isinstance(p, nn.Parameter) for p in self.module.parameters()))
        self.assertTrue(all(p.grad is None for p in self.module.parameters()))

    def test_transforms(self) -> None:
        x, edges = graph(5, 9)
        several = torch.stack([x, 2 * x])
        for _ in range(2):  # nothing is compiled, and something is
            found = []
            for each in (self.fast, self.module):

                def energy(x: Tensor, each: nn.Module = each) -> Tensor:
                    return each(x, edges).square().sum()

                found.append([grad(energy)(x), jacrev(energy)(x), vmap(energy)(several)])
            self.assertClose(found[0], found[1])
            self.fast(x, edges)

    def test_checkpoints(self) -> None:
        for reentrant in (False, True):
            fast, found = gnnc.compile(self.module), []
            for each in (fast, self.module):
                x, edges = graph(6, 9)
                x.requires_grad_()
                h = checkpoint(each, x, edges, use_reentrant=reentrant)
                checkpoint(each, h, edges, use_reentrant=reentrant).square().sum().backward()
                found.append([x.grad, *[p.grad for p in self.module.parameters()]])
                self.module.zero_grad()
            self.assertClose(found[0], found[1])


if __name__ == "__main__":
    unittest.main()
