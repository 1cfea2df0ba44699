# Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
# See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a trace has read of Python's state: when it changes, so does what a call computes."""

from __future__ import annotations

import argparse
import collections
import random
import types
import unittest
import warnings
from collections.abc import Callable
from typing import Any
from unittest import mock

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

import gnnc
from gnnc.torch import _module
from torch_modules import TorchTest, graph

SCALE = 2.0
scale = 0  # called as an attribute is
SETTINGS = argparse.Namespace(scale=2.0, inner=argparse.Namespace(shift=[0.5]))


def scaled(x: Tensor) -> Tensor:
    return x * SCALE


class Step(nn.Module):
    """Sums over edges, with a bit of everything that Python has."""

    kind_scale = 1.0

    def __init__(self) -> None:
        super().__init__()
        self.lin = nn.Linear(3, 3)
        self.norm = nn.BatchNorm1d(3)
        self.act = nn.LeakyReLU(0.1)
        self.drop = nn.Dropout(0.5)
        self.scale, self.shifts, self.settings = 1.5, [0.1, 0.2], {"power": 1, "names": ["a"]}
        self.options = argparse.Namespace(offset=0.0)
        self.offset = torch.tensor([0.5])
        self.epoch = 0

    def message(self, x: Tensor) -> Tensor:
        return x * self.scale

    def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
        x = self.act(self.norm(self.lin(x)))
        h = torch.zeros_like(x).index_add(0, edge_index[1], self.message(x.index_select(0, edge_index[0])))
        h = h * self.kind_scale + self.shifts[0] + self.options.offset + self.offset
        return self.drop(h) + self.settings["power"] * len(self.settings["names"])


class Other(Step):
    def message(self, x: Tensor) -> Tensor:
        return -x


class Of(nn.Module):
    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__()
        self.function = function

    def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
        return self.function(x).index_select(0, edge_index[0])


class ReadsTest(TorchTest):
    def setUp(self) -> None:
        super().setUp()
        self.x, self.edges = graph(5, 9)
        compiled = _module.Runner._compile
        self.compilations = 0

        def count(*given: Any) -> Any:
            self.compilations += 1
            return compiled(*given)

        patch = mock.patch.object(_module.Runner, "_compile", count)
        patch.start()
        self.addCleanup(patch.stop)

    def check(self, fast: nn.Module, module: nn.Module, compilations: int) -> None:
        """As eager, three times: a call that compiles, one that looks, and one that knows."""
        for _ in range(3):
            torch.manual_seed(3)
            expected = module(self.x, self.edges)
            torch.manual_seed(3)
            self.assertClose(fast(self.x, self.edges), expected)
        self.assertEqual(self.compilations, compilations)

    def test_attributes(self) -> None:
        def put(path: str, value: Any) -> Callable[[Step], None]:
            *owner, name = path.split(".")

            def change(module: Step) -> None:
                found: Any = module
                for part in owner:
                    found = getattr(found, part)
                setattr(found, name, value)

            return change

        changes = (
            *(put("scale", 3.0), put("norm.eps", 0.5), put("act.negative_slope", 0.7), put("act.inplace", True)),
            *(put("options.offset", 1.0), put("offset", torch.tensor([1.5])), put("shifts", [0.7])),
            *(put("message", torch.relu), put("forward", lambda x, edges: x * 2), put("__class__", Other)),
            put("kind_scale", 4.0),  # hides the class's
            lambda module: module.shifts.__setitem__(0, 0.9),
            lambda module: module.settings.update(power=3),
            lambda module: module.settings["names"].append("b"),
            lambda module: vars(module).update(scale=5.0),
            lambda module: module.offset.add_(1),
        )
        for number, change in enumerate(changes):
            with self.subTest(number):
                self.compilations = 0
                module = Step().eval()
                fast = gnnc.compile(module, (self.x, self.edges))
                self.check(fast, module, 1)
                change(module)
                self.check(fast, module, 2)

    def test_attributes_in_training_mode(self) -> None:
        for name, value in (("drop.p", 0.0), ("drop.p", 0.2), ("norm.momentum", 0.7)):
            self.compilations = 0
            module = Step().train()
            fast = gnnc.compile(module, (self.x, self.edges))
            owner, attribute = name.split(".")
            setattr(getattr(fast, owner), attribute, value)
            torch.manual_seed(0)
            found = [fast(self.x, self.edges), module.norm.running_mean.clone()]
            module.norm.reset_running_stats()
            torch.manual_seed(0)
            self.assertClose(found, [module(self.x, self.edges), module.norm.running_mean])
            self.assertEqual(self.compilations, 2)

    def test_what_attributes_have_in_them(self) -> None:
        class Slots:
            __slots__ = ("scale",)

            def __init__(self) -> None:
                self.scale = 2.0

        class Scale:
            factor = 2.0

            def __call__(self, x: Tensor) -> Tensor:
                return x * self.factor

        nested = argparse.Namespace(a=argparse.Namespace(b=argparse.Namespace(c={"d": [2.0]})))
        cases = (
            (nested, lambda x, held: x * held.a.b.c["d"][0], lambda held: held.a.b.c["d"].__setitem__(0, 3.0)),
            (Slots(), lambda x, held: x * held.scale, lambda held: setattr(held, "scale", 3.0)),
            (Scale(), lambda x, held: held(x), lambda held: setattr(held, "factor", 3.0)),
            (collections.deque([2.0]), lambda x, held: x * held[0], lambda held: held.appendleft(3.0)),
            ({"a"}, lambda x, held: x * len(held), lambda held: held.add("b")),
            ([nn.LeakyReLU(0.1)], lambda x, held: held[0](x), lambda held: setattr(held[0], "negative_slope", 0.9)),
            ([nn.LeakyReLU(0.1)], lambda x, held: held[0](x), lambda held: held.__setitem__(0, nn.LeakyReLU(0.9))),
            ([torch.ones(3)], lambda x, held: x * held[0], lambda held: held[0].add_(1)),
            ({"w": torch.ones(3)}, lambda x, held: x * held["w"], lambda held: held.update(w=torch.zeros(3))),
            (np.ones(3, "f4"), lambda x, held: x * torch.from_numpy(held), lambda held: held.__setitem__(0, 7)),
        )

        class Holder(nn.Module):
            def __init__(self, held: Any, function: Callable[..., Any]) -> None:
                super().__init__()
                self.held, self.function = held, function

            def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
                return self.function(x, self.held).index_select(0, edge_index[0])

        for number, (held, function, change) in enumerate(cases):
            with self.subTest(number):
                self.compilations = 0
                module = Holder(held, function)
                fast = gnnc.compile(module, (self.x, self.edges))
                self.check(fast, module, 1)
                change(held)
                self.check(fast, module, 2)

    def test_names_that_stood_for_nothing(self) -> None:
        class Later(nn.Module):
            def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
                later = getattr(self, "later", 1.0)
                return (later(x) if callable(later) else x * later).index_select(0, edge_index[0])

        for register in (
            lambda module: setattr(module, "later", 3.0),
            lambda module: setattr(module, "later", nn.Linear(3, 3)),
            lambda module: module.register_buffer("later", torch.full((3,), 3.0)),
            lambda module: module.register_parameter("later", nn.Parameter(torch.full((3,), 3.0))),
        ):
            self.compilations = 0
            module = Later()
            fast = gnnc.compile(module, (self.x, self.edges))
            self.check(fast, module, 1)
            register(module)
            self.check(fast, module, 2)

    def test_what_is_not_read_compiles_nothing(self) -> None:
        module = Step().eval()
        fast = gnnc.compile(module, (self.x, self.edges))
        self.check(fast, module, 1)
        for epoch in range(4):
            module.epoch, module.lin.note = epoch, [epoch]
            module.losses = [0.5] * epoch
            globals()["scale"] = epoch
            self.check(fast, module, 1)

    def test_values_that_come_back(self) -> None:
        module = Step().eval()
        fast = gnnc.compile(module, (self.x, self.edges))
        for scale, compilations in ((1.5, 1), (2.5, 2), (1.5, 2), (2.5, 2)):
            module.scale = scale
            self.check(fast, module, compilations)

    def test_attributes_that_are_set_on_the_compiled_module(self) -> None:
        module = Step().eval()
        fast = gnnc.compile(module, (self.x, self.edges))
        fast.scale = 4.0
        self.assertEqual(module.scale, 4.0)
        self.check(fast, module, 2)
        fast.training = True
        self.assertTrue(module.training)
        self.assertFalse(module.norm.training)
        self.check(fast, module, 3)

    def test_variables(self) -> None:
        power = 2

        def closed(x: Tensor) -> Tensor:
            return x**power

        def settings(x: Tensor) -> Tensor:
            return x * SETTINGS.scale + SETTINGS.inner.shift[0]

        def change_power() -> None:
            nonlocal power
            power = 3

        changes = (
            (scaled, lambda: globals().update(SCALE=SCALE + 1)),
            (closed, change_power),
            (settings, lambda: vars(SETTINGS).update(scale=SETTINGS.scale + 1)),
            (settings, lambda: SETTINGS.inner.shift.__setitem__(0, SETTINGS.inner.shift[0] + 1)),
        )
        for function, change in changes:
            self.compilations = 0
            module = Of(function)
            fast = gnnc.compile(module, (self.x, self.edges))
            self.check(fast, module, 1)
            change()
            self.check(fast, module, 2)

    def test_class_attributes(self) -> None:
        module = Step().eval()
        fast = gnnc.compile(module, (self.x, self.edges))
        with mock.patch.object(Step, "kind_scale", 3.0):
            self.check(fast, module, 2)
        self.check(fast, module, 2)
        with mock.patch.object(Step, "message", lambda self, x: x * 5):
            self.check(fast, module, 3)
        self.check(fast, module, 3)
        module = Of(scaled)
        fast = gnnc.compile(Of(lambda x: scaled(x)), (self.x, self.edges))
        with mock.patch.dict(globals(), scaled=lambda x: x * 7):
            self.assertClose(fast(self.x, self.edges), (7 * self.x)[self.edges[0]])

    def test_switches(self) -> None:
        module = Of(lambda x: x + torch.ones(x.shape[0], 1).sum() if torch.is_grad_enabled() else x)
        fast = gnnc.compile(module, (self.x, self.edges))
        self.check(fast, module, 1)
        with torch.no_grad():
            self.check(fast, module, 2)
        self.check(fast, module, 2)

    def test_default_types(self) -> None:
        module = Of(lambda x: x.double() if torch.zeros(1).dtype is torch.float64 else 2 * x)
        fast = gnnc.compile(module, (self.x, self.edges))
        self.check(fast, module, 1)
        self.addCleanup(torch.set_default_dtype, torch.float32)
        torch.set_default_dtype(torch.float64)
        try:
            found = fast(self.x, self.edges)
        except gnnc.Error:
            pass
        else:
            self.assertClose(found.double(), module(self.x, self.edges))
        self.assertEqual(self.compilations, 2)

    def test_hooks_that_come_later(self) -> None:
        module = Step().eval()
        fast = gnnc.compile(module, (self.x, self.edges))
        self.check(fast, module, 1)
        handle = module.lin.register_forward_hook(lambda member, given, result: 2 * result)
        self.check(fast, module, 2)
        handle.remove()
        self.check(fast, module, 2)
        module.lin.register_forward_pre_hook(lambda member, given: (given[0] + 1,))
        self.check(fast, module, 3)
        module.lin._forward_pre_hooks.clear()
        self.check(fast, module, 3)
        module.register_forward_hook(lambda member, given, result: 3 * result)
        self.check(fast, module, 4)

    def test_hooks_that_compiled_code_cannot_run(self) -> None:
        seen: list[Any] = []

        def keep(*given: Any) -> None:
            seen.append(given)

        for register, what in (
            (lambda lin: lin.register_forward_hook(keep), "a forward hook, .*returns nothing"),
            (lambda lin: lin.register_forward_pre_hook(keep), "a pre-hook, .*returns nothing"),
            (lambda lin: lin.register_full_backward_hook(lambda *given: None), "a backward hook"),
        ):
            module = Step().eval()
            fast = gnnc.compile(module, (self.x, self.edges))
            handle = register(module.lin)
            with self.assertRaisesRegex(gnnc.Error, f"'lin' has {what}"):
                fast(self.x, self.edges)
            handle.remove()
            seen.clear()
            self.check(fast, module, 2)
            self.compilations = 0

    def test_hooks_of_all_modules(self) -> None:
        module = Step().eval()
        fast = gnnc.compile(module, (self.x, self.edges))
        fast(self.x, self.edges)
        handle = nn.modules.module.register_module_forward_hook(lambda member, given, result: 2 * result)
        self.addCleanup(handle.remove)
        with self.assertRaisesRegex(gnnc.Error, "hooks of all modules, which compiled code does not call"):
            fast(self.x, self.edges)
        handle.remove()
        self.check(fast, module, 2)

    def test_tensors_that_are_kept(self) -> None:
        class Memory(Step):
            def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
                self.last = x * self.scale
                return self.last.index_select(0, edge_index[0])

        class History(Memory):
            def __init__(self) -> None:
                super().__init__()
                self.seen: list[Tensor] = []

            def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
                self.seen.append(x)
                return x.index_select(0, edge_index[0])

        history = History()
        with self.assertRaisesRegex(gnnc.Error, "keeps a tensor in 'seen' for later"):
            gnnc.compile(history, (self.x, self.edges))
        self.assertFalse(history.seen)
        module = Memory()
        fast = gnnc.compile(module, (self.x, self.edges))
        self.assertFalse(hasattr(module, "last"))
        self.compilations = 0
        for scale in (2, 3):  # what is kept is not among what is compared, and the rest is
            module.scale = scale
            self.check(fast, module, scale - 1)
            fast(self.x, self.edges)
            self.assertClose(module.last, self.x * scale)

    def test_numbers_that_forward_counts(self) -> None:
        class Counting(Step):
            def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
                self.epoch += 1
                return x.index_select(0, edge_index[0])

        module = Counting()
        with self.assertWarnsRegex(UserWarning, r"'Counting' sets 'epoch' in forward \(0 before, then 1\)"):
            fast = gnnc.compile(module, (self.x, self.edges))
        self.assertEqual(module.epoch, 0)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            for _ in range(3):
                fast(self.x, self.edges)

    def test_random_numbers_of_python(self) -> None:
        with self.assertRaisesRegex(gnnc.Error, "draws random numbers from Python or NumPy"):
            gnnc.compile(Of(lambda x: x * random.random()), (self.x, self.edges))

    def test_a_change_that_cannot_be_compiled_is_named(self) -> None:
        module = Step().eval()
        fast = gnnc.compile(module, (self.x, self.edges))
        fast(self.x, self.edges)
        module.message = types.MethodType(lambda self, x: torch.lgamma(x), module)
        with self.assertRaisesRegex(gnnc.Error, "has changed since it was compiled, in 'message' of 'Step'.*lgamma"):
            fast(self.x, self.edges)

    def test_gradients_that_are_wanted_later(self) -> None:
        module = Step().eval()
        module.lin.weight.requires_grad_(False)
        fast = gnnc.compile(module, (self.x, self.edges))
        for wanted in (False, True, False):
            module.lin.weight.requires_grad_(wanted)
            found = []
            for run in (fast, module):
                module.zero_grad()
                run(self.x, self.edges).square().sum().backward()
                found.append([each.grad for each in module.parameters()])
            self.assertEqual(found[0][0] is None, not wanted)
            self.assertClose([g for g in found[0] if g is not None], [g for g in found[1] if g is not None])

    def test_functional_dropout(self) -> None:
        class Functional(Step):
            def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
                return F.dropout(x, self.options.offset, self.training).index_select(0, edge_index[0])

        module = Functional().train()
        module.options.offset = 0.9
        fast = gnnc.compile(module, (self.x, self.edges))
        module.options.offset = 0.0
        self.check(fast, module, 2)

    def test_the_order_of_dicts(self) -> None:
        module = Step().eval()
        module.options.offset = collections.OrderedDict(a=2.0, b=0.5)

        def forward(x: Tensor, edge_index: Tensor) -> Tensor:
            for each in module.options.offset.values():
                x = torch.tanh(x) * each
            return x.index_select(0, edge_index[0])

        module.forward = forward  # type: ignore[method-assign]
        fast = gnnc.compile(module, (self.x, self.edges))
        self.assertClose(fast(self.x, self.edges), module(self.x, self.edges))
        module.options.offset.move_to_end("a")
        self.check(fast, module, 2)

    def test_containers_that_count_in_their_own_way(self) -> None:
        """As e3nn's irreducible representations: a tuple without a length."""

        class Pair(tuple):  # type: ignore[type-arg]
            def __len__(self) -> int:
                raise NotImplementedError

        module = Step().eval()
        module.options.offset = Pair((0.5, 2.0))

        def forward(x: Tensor, edge_index: Tensor) -> Tensor:
            return (x * module.options.offset[0]).index_select(0, edge_index[0])

        module.forward = forward  # type: ignore[method-assign]
        fast = gnnc.compile(module, (self.x, self.edges))
        self.assertClose(fast(self.x, self.edges), module(self.x, self.edges))
        module.options.offset = Pair((3.0, 2.0))
        self.check(fast, module, 2)


if __name__ == "__main__":
    unittest.main()
