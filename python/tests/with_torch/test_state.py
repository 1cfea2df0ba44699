# Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
# See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Modules that change after they were compiled."""

from __future__ import annotations

import copy
import gc
import unittest
import warnings
import weakref
from functools import partial

import torch
from torch import Tensor, nn
from torch.nn.utils import parametrize, prune

import gnnc
from torch_modules import TorchTest, graph


class Layers(nn.Module):
    """Two linear layers, the second on sums over the edges."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Linear(3, 3), nn.Sequential(nn.Linear(3, 3, bias=False), nn.Dropout(0.9))

    def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
        x = self.first(x)
        return self.second(torch.zeros_like(x).index_add(0, edge_index[1], x.index_select(0, edge_index[0])))


class Permuted(nn.Module):
    def __init__(self, order: list[int]) -> None:
        super().__init__()
        self.register_buffer("order", torch.tensor(order))
        self.register_buffer("count", torch.zeros((), dtype=torch.int64))

    def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
        return x.index_select(0, edge_index[0])[:, self.order]


class StateTest(TorchTest):
    def setUp(self) -> None:
        super().setUp()
        self.x, self.edges = graph(5, 9)

    def check(self, fast: nn.Module, module: nn.Module) -> None:
        for _ in range(2):
            self.assertClose(fast(self.x, self.edges), module(self.x, self.edges))

    def test_submodules_that_are_replaced(self) -> None:
        module = Layers().eval()
        fast = gnnc.compile(module, (self.x, self.edges))
        self.check(fast, module)
        before, module.first = module.first, nn.Linear(3, 3)
        self.check(fast, module)
        module.second[0] = nn.Linear(3, 3)
        self.check(fast, module)
        module.second.append(nn.Linear(3, 3))
        self.check(fast, module)
        del module.second[0]
        self.check(fast, module)
        module.second = nn.Identity()
        self.check(fast, module)
        self.check(copy.deepcopy(fast), module)
        module.first = before
        self.check(fast, module)
        self.assertEqual(len(vars(fast)["_gnnc"].specializations), 1)

    def test_parameters_that_come_and_go(self) -> None:
        module = Layers().eval()
        fast = gnnc.compile(module, (self.x, self.edges))
        self.check(fast, module)
        module.second[0].bias = nn.Parameter(torch.randn(3))
        self.check(fast, module)
        module.first.bias = None
        self.check(fast, module)

        class Doubled(nn.Module):
            def forward(self, weight: Tensor) -> Tensor:
                return 2 * weight

        parametrize.register_parametrization(module.first, "weight", Doubled())
        self.check(fast, module)

    def test_parameters_of_other_shapes_and_types(self) -> None:
        class Table(nn.Module):
            def __init__(self) -> None:
                super().__init__()
                self.weight, self.bias = nn.Parameter(torch.randn(4, 3)), nn.Parameter(torch.randn(3))

            def forward(self, kinds: Tensor) -> Tensor:
                return self.weight[kinds] * 2 + self.bias

        module, kinds = Table(), torch.tensor([0, 3, 1, 3, 2])
        fast = gnnc.compile(module)
        self.assertClose(fast(kinds), module(kinds))
        with torch.no_grad():
            module.weight = nn.Parameter(torch.cat([module.weight, torch.randn(2, 3)]))
            self.assertClose(fast(kinds), module(kinds))
            self.assertClose(fast(kinds + 2), module(kinds + 2))
            module.weight.data, module.bias.data = torch.randn(4, 5), torch.randn(5)
            self.assertClose(fast(kinds), module(kinds))
        module.double()
        self.assertIs(fast(kinds).dtype, torch.float64)
        self.assertClose(fast(kinds), module(kinds))

    def test_parameters_that_were_one(self) -> None:
        module = Layers().eval()
        module.second[0].weight = module.first.weight
        fast = gnnc.compile(module, (self.x, self.edges))
        self.check(fast, module)
        module.second[0].weight = nn.Parameter(torch.randn(3, 3))
        self.check(fast, module)
        module.first.weight = module.second[0].weight
        self.check(fast, module)
        wanted = list(module.parameters())
        found = torch.autograd.grad(fast(self.x, self.edges).sum(), wanted)
        self.assertClose(found, torch.autograd.grad(module(self.x, self.edges).sum(), wanted))

    def test_weights_that_hooks_make(self) -> None:
        """The next pruning chooses by the weight that the last call has left."""
        for how in (partial(prune.l1_unstructured, name="weight", amount=0.3), nn.utils.weight_norm, nn.utils.spectral_norm):
            found = []
            for compiled in (False, True):
                torch.manual_seed(0)
                module, x = nn.Sequential(nn.Linear(4, 4)), torch.randn(6, 4)
                how(module[0])
                run = gnnc.compile(module, (x,)) if compiled else module
                optimizer = torch.optim.SGD(module.parameters(), 0.5)
                for _ in range(3):
                    optimizer.zero_grad()
                    (run(x).square().mean() + module[0].weight.square().sum()).backward()
                    optimizer.step()
                run.eval()
                weights = []
                for _ in range(2):
                    with torch.no_grad():
                        run(x)
                        weights.append(module[0].weight.clone())
                        next(module.parameters()).add_(1)
                run(x)
                prune.l1_unstructured(module[0], "bias", 0.5)
                found.append([*weights, module[0].weight, run(x)])
                if compiled:
                    self.assertLessEqual(len(vars(run)["_gnnc"].specializations), 3)
            self.assertClose(*found)

    def test_modes_of_submodules(self) -> None:
        module = Layers().train()
        module.second[1].eval()
        fast = gnnc.compile(module, (self.x, self.edges))
        self.check(fast, module)
        module.second[1].train()
        drawn = []
        for run in (fast, module):
            torch.manual_seed(0)
            drawn.append([run(self.x, self.edges) for _ in range(8)])
        self.assertClose(*drawn)
        self.assertGreater(len({tuple(each.flatten().tolist()) for each in drawn[0]}), 1)
        module.eval()
        self.check(fast, module)
        module.train()
        module.second[1].eval()
        self.check(fast, module)
        self.check(copy.deepcopy(fast), module)

    def test_second_derivatives_leave_modes_alone(self) -> None:
        module = Layers().train()
        module.second[1].eval()
        fast = gnnc.compile(module, (self.x, self.edges))
        x = self.x.clone().requires_grad_()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            (gradient,) = torch.autograd.grad(fast(x, self.edges).square().sum(), [x], create_graph=True)
            gradient.square().sum().backward()
        self.assertFalse(module.second[1].training)

    def test_memory_is_free_without_the_garbage_collector(self) -> None:
        module = Layers().eval()
        fast = gnnc.compile(module, (self.x, self.edges))
        x = self.x.clone().requires_grad_()
        (gradient,) = torch.autograd.grad(fast(x, self.edges).square().sum(), [x], create_graph=True)
        gradient.square().sum().backward()
        weights = [weakref.ref(each) for each in module.parameters()]
        # torch.export leaves cycles of its own.
        gc.collect()
        gc.disable()
        self.addCleanup(gc.enable)
        del module, fast, x, gradient
        self.assertEqual([each() for each in weights], [None] * len(weights))

    def test_integers_of_buffers(self) -> None:
        first, second = Permuted([2, 1, 0]), Permuted([0, 2, 1])
        fast = gnnc.compile(first, (self.x, self.edges))
        self.check(fast, first)
        self.check(gnnc.compile(second, (self.x, self.edges)), second)
        known = vars(fast)["_gnnc"].last
        with torch.no_grad():
            first.order.copy_(torch.tensor([2, 1, 0]))
            first.count.add_(1)
        self.check(fast, first)
        self.assertIs(vars(fast)["_gnnc"].last, known)
        first.load_state_dict(second.state_dict())
        self.check(fast, first)
        first.order = torch.tensor([1, 1, 1])
        self.check(fast, first)

    def test_arguments_that_are_not_used_are_compared_too(self) -> None:
        class Optional(nn.Module):
            def forward(self, x: Tensor, edge_index: Tensor, batch: Tensor | None = None) -> Tensor:
                return x.index_select(0, edge_index[0]) * (1 if batch is None else 2)

        module, batch = Optional(), torch.zeros(5, dtype=torch.int64)
        fast = gnnc.compile(module, (self.x, self.edges, batch))
        for given in (batch, None, batch):
            self.assertClose(fast(self.x, self.edges, given), module(self.x, self.edges, given))


if __name__ == "__main__":
    unittest.main()
