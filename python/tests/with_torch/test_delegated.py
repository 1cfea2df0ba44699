# Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
# See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A compiled module is the user's but for calls: methods that its class overrides, and attributes of any name."""

from __future__ import annotations

import copy
import pickle
import unittest
from typing import Any

import torch
from torch import Tensor, nn

import gnnc
from gnnc.torch import CompiledModule
from torch_modules import Conv, TorchTest, graph


class Frozen(nn.Module):
    """Running statistics that stay, a number in the state, and an older name of a parameter."""

    def __init__(self) -> None:
        super().__init__()
        self.conv, self.norm, self.scale = Conv(), nn.BatchNorm1d(2), 2.0
        self.register_load_state_dict_pre_hook(self._renamed)

    @staticmethod
    def _renamed(module: nn.Module, state: dict[str, Any], prefix: str, *_: object) -> None:
        if f"{prefix}old.bias" in state:
            state[f"{prefix}conv.bias"] = state.pop(f"{prefix}old.bias")

    def train(self, mode: bool = True) -> Frozen:
        super().train(mode)
        self.norm.eval()
        return self

    def get_extra_state(self) -> float:
        return self.scale

    def set_extra_state(self, state: float) -> None:
        self.scale = state

    def zero_grad(self, set_to_none: bool = True) -> None:
        super().zero_grad(set_to_none=False)

    def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
        return self.norm(self.conv(x, edge_index)) * self.scale


class Stages(nn.Sequential):
    def __contains__(self, kind: type) -> bool:
        return any(isinstance(each, kind) for each in self)


class Names(nn.Module):
    """Attributes and methods that compiled modules might have themselves."""

    def __init__(self) -> None:
        super().__init__()
        self._last, self._options, self._types, self.handle = 1.0, {"factor": 2.0}, ("a",), 3
        self._module = nn.Linear(3, 2)

    def report(self) -> str:
        return f"last: {self._last}"

    def _prepare(self, x: Tensor) -> Tensor:
        return x * self._options["factor"]

    def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
        return self._module(self._prepare(x))[edge_index[0]] * self._last


class DelegatedTest(TorchTest):
    def setUp(self) -> None:
        super().setUp()
        self.given = graph(6, 12)

    def test_overridden_modes(self) -> None:
        module = Frozen()
        fast = gnnc.compile(module, self.given)
        for outer in (fast, nn.ModuleList([fast])):
            self.assertIs(outer.train(), outer)
            self.assertEqual((module.training, module.norm.training, fast.training), (True, False, True))
            self.assertClose(fast(*self.given), module(*self.given))
            self.assertClose(module.norm.running_mean, torch.zeros(2))
        self.assertIs(fast.eval(), fast)
        module.train()
        self.assertTrue(fast.training)
        fast.training = False
        self.assertFalse(module.training)

    def test_optimized_models(self) -> None:
        class Outer(nn.Module):
            def __init__(self) -> None:
                super().__init__()
                self.first = Frozen()

            def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
                return torch.linalg.svd(self.first(x, edge_index))[1]

        model = Outer()
        report = gnnc.optimize(model, self.given)
        self.assertEqual(report.compiled, ["first"])
        model.train()
        self.assertFalse(model.first.norm.training)

    def test_states(self) -> None:
        module = Frozen()
        module.scale = 5.0
        state = module.state_dict()
        self.assertEqual(list(gnnc.compile(module).state_dict()), list(state))
        self.assertIs(type(gnnc.compile(Conv())).get_extra_state, nn.Module.get_extra_state)
        state["old.bias"] = state.pop("conv.bias") + 1
        for nested in (False, True):
            other = Frozen()
            fast = gnnc.compile(other, self.given)
            fast(*self.given)
            if nested:
                outer = nn.ModuleList([fast])
                self.assertEqual(list(outer.state_dict()), list(nn.ModuleList([other]).state_dict()))
                outer.load_state_dict({f"0.{name}": value for name, value in state.items()})
            else:
                fast.load_state_dict(dict(state))
            self.assertEqual(other.scale, 5.0)
            self.assertClose(other.conv.bias, state["old.bias"])
            self.assertClose(fast(*self.given), other(*self.given))

    def test_other_methods(self) -> None:
        module = Frozen()
        fast = gnnc.compile(module, self.given)
        fast(*self.given).sum().backward()
        fast.zero_grad()
        self.assertClose(module.conv.bias.grad, torch.zeros(2))
        self.assertIs(fast.requires_grad_(False), fast)
        self.assertFalse(module.conv.bias.requires_grad)
        self.assertIs(fast.double(), fast)
        self.assertIs(next(iter(fast.modules())), fast)
        self.assertEqual([name for name, _ in fast.named_modules()], [name for name, _ in module.named_modules()])
        seen: list[nn.Module] = []
        fast.apply(seen.append)
        self.assertIn(module, seen)
        hooked: list[nn.Module] = []
        fast.register_forward_hook(lambda owner, *_: hooked.append(owner))
        fast(self.given[0].double(), self.given[1])
        self.assertEqual(hooked, [fast])
        self.assertFalse(module._forward_hooks)

    def test_containers(self) -> None:
        module = Stages(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 2))
        fast = gnnc.compile(module, (self.given[0],))
        for each in (fast, copy.deepcopy(fast), pickle.loads(pickle.dumps(fast)), copy.copy(fast)):
            self.assertIsInstance(each, CompiledModule)
            self.assertEqual((len(each), len(list(each)), type(each[1])), (3, 3, nn.ReLU))
            self.assertIn(nn.ReLU, each)
            self.assertClose(each(self.given[0]), module(self.given[0]))
        fast[1] = nn.Tanh()
        self.assertIsInstance(module[1], nn.Tanh)
        self.assertClose(fast(self.given[0]), module(self.given[0]))
        with self.assertRaises(TypeError):
            len(gnnc.compile(Conv()))

    def test_names(self) -> None:
        module = Names()
        fast = gnnc.compile(module, self.given)
        fast(*self.given)
        self.assertEqual((fast._last, fast._types, fast.handle), (1.0, ("a",), 3))
        self.assertIs(fast._module, module._module)
        fast._last, fast._options = 4.0, {"factor": 0.5}
        self.assertEqual((module._last, fast.report()), (4.0, "last: 4.0"))
        self.assertClose(fast(*self.given), module(*self.given))
        del fast.handle
        self.assertFalse(hasattr(module, "handle"))
        self.assertIn("_prepare", dir(fast))
        self.assertEqual(gnnc.compile(Conv()).report.__name__, "report")


if __name__ == "__main__":
    unittest.main()
