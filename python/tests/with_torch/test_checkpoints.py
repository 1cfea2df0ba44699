# Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
# See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Blocks within `torch.utils.checkpoint`, and limits of memory."""

from __future__ import annotations

import unittest

import torch
from torch import Tensor, nn
from torch.utils import checkpoint as module_of_checkpoints
from torch.utils.checkpoint import checkpoint, checkpoint_sequential

import gnnc
from torch_modules import TorchTest


class Blocks(nn.Module):
    """With as many sums as numbers say (which Dynamo alone can trace), or one for each node."""

    def __init__(self, reentrant: bool, of_numbers: bool) -> None:
        super().__init__()
        self.first, self.second = nn.Linear(3, 3), nn.Linear(3, 3)
        self.layers = nn.Sequential(nn.Linear(3, 3), nn.ReLU(), nn.Linear(3, 3), nn.Tanh())
        self.reentrant, self.of_numbers = reentrant, of_numbers

    def block(self, x: Tensor, edge_index: Tensor, scale: float = 1.0) -> Tensor:
        count = int(edge_index.max()) + 1 if self.of_numbers else x.size(0)
        sums = torch.zeros(count, 3).index_add(0, edge_index[1], self.first(x)[edge_index[0]])
        return sums.tanh() * scale

    def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
        h = checkpoint(self.block, x, edge_index, use_reentrant=self.reentrant)
        if not self.reentrant:  # such take arguments by name
            h = h + checkpoint(self.block, x, edge_index, scale=2.0, use_reentrant=False, preserve_rng_state=False)
        return checkpoint_sequential(self.layers, 2, self.second(h), use_reentrant=self.reentrant)


class Deep(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(16, 16) for _ in range(6))

    def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
        for layer in self.layers:
            x = x + torch.zeros_like(x).index_add(0, edge_index[1], layer(x)[edge_index[0]].relu())
        return x


class MemoryLimitTest(TorchTest):
    def test_segments_are_computed_again_where_a_step_would_not_fit(self) -> None:
        module, x = Deep().double(), torch.randn(500, 16).double()
        edge_index = torch.randint(0, 500, (2, 3000))
        expected = torch.autograd.grad(module(x, edge_index).square().sum(), list(module.parameters()))

        def plans(fast: gnnc.CompiledModule) -> list[dict[str, float]]:
            known = vars(fast)["_gnnc"].specializations[0]
            return known.executor.library.description.document["plans"]

        whole = plans(gnnc.compile(module, (x, edge_index), memory_limit="1GiB"))
        least = min(each["bytes"] for each in whole)
        self.assertTrue(whole[0]["chosen"])
        self.assertLess(least, 0.8 * whole[0]["bytes"])
        fast = gnnc.compile(module, (x, edge_index), memory_limit=int(least))
        chosen = next(each for each in plans(fast) if each["chosen"])
        self.assertEqual(chosen["bytes"], least)
        self.assertGreater(chosen["segments"], 1)
        found = torch.autograd.grad(fast(x, edge_index).square().sum(), list(module.parameters()))
        for a, b in zip(found, expected):
            torch.testing.assert_close(a, b, rtol=1e-10, atol=1e-10)
        with self.assertRaisesRegex(gnnc.CompileError, "expected at least .* KiB, which the plan with the least memory of those"):
            gnnc.compile(module, (x, edge_index), memory_limit="10KiB")


    def test_partial_gradients_and_reports_have_the_same_plan(self) -> None:
        class Two(Deep):
            def forward(self, x: Tensor, edge_index: Tensor) -> tuple[Tensor, Tensor]:
                result = super().forward(x, edge_index)
                return result, result.tanh()

        module, x, edge_index = Two().double(), torch.randn(60, 16).double(), torch.randint(0, 60, (2, 200))
        fast = gnnc.compile(module, (x, edge_index), memory_limit="1GiB")
        known = vars(fast)["_gnnc"].specializations[0]
        least = min(each["bytes"] for each in known.executor.library.description.document["plans"])
        fast = gnnc.compile(module, (x, edge_index), memory_limit=int(least))
        self.assertIn("--checkpoints", vars(fast)["_gnnc"].specializations[0].flags)
        wanted = list(module.parameters())
        found = torch.autograd.grad(fast(x, edge_index)[0].square().sum(), wanted)
        for a, b in zip(found, torch.autograd.grad(module(x, edge_index)[0].square().sum(), wanted)):
            torch.testing.assert_close(a, b, rtol=1e-10, atol=1e-10)
        with self.assertRaisesRegex(TypeError, "expected bytes as an integer or a text such as '12GiB', found 1.5"):
            gnnc.compile(module, (x, edge_index), memory_limit=1.5)


class CheckpointsTest(TorchTest):
    def gradients(self, run: nn.Module, x: Tensor, edge_index: Tensor) -> list[Tensor]:
        run.zero_grad()
        x = x.clone().requires_grad_()
        result = run(x, edge_index)
        result.square().sum().backward()
        return [result.detach(), x.grad, *[each.grad for each in run.parameters()]]

    def test_they_are_what_is_inside(self) -> None:
        for reentrant in (True, False):
            for of_numbers in (True, False):
                module, fast = Blocks(reentrant, of_numbers), None
                for nodes, edges in ((5, 9), (8, 20)):
                    edge_index = torch.cat([torch.randint(0, nodes, (2, edges)), torch.full((2, 1), nodes - 1)], 1)
                    example = torch.randn(nodes, 3), edge_index
                    fast = fast or gnnc.compile(module, example)
                    self.assertClose(self.gradients(fast, *example), self.gradients(module, *example))
        for name, own in (("checkpoint", checkpoint), ("checkpoint_sequential", checkpoint_sequential)):
            self.assertIs(own, getattr(module_of_checkpoints, name))


if __name__ == "__main__":
    unittest.main()
