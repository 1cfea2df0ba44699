# Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
# See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What forward changes outside its module: traces leave it as it was, and say so."""

from __future__ import annotations

import unittest
import warnings
from types import SimpleNamespace
from typing import Any, ClassVar

import torch
from torch import Tensor, nn

import gnnc
from torch_modules import TorchTest, graph


class Log:
    def __init__(self) -> None:
        self.values: list[Any] = []


calls = 0
counts = {"calls": 0, "inner": [0]}
log = Log()
kept: list[Tensor] = []
last = None
tables: dict[int, Tensor] = {}


class Doubled(nn.Module):
    calls = 0
    seen: ClassVar[list[Any]] = []

    def forward(self, x: Tensor) -> Tensor:
        self.count(x)
        return x * 2

    def count(self, x: Tensor) -> None:
        """Changes nothing."""


class OfClass(Doubled):
    def count(self, x: Tensor) -> None:
        Doubled.calls += 1


class OfFile(Doubled):
    def count(self, x: Tensor) -> None:
        global calls
        calls += 1


class InContents(Doubled):
    def count(self, x: Tensor) -> None:
        counts["calls"] += 1
        counts["inner"].append(1)


class OfObject(Doubled):
    def count(self, x: Tensor) -> None:
        log.values.append(x.dim())


class InOwnContents(Doubled):
    def __init__(self) -> None:
        super().__init__()
        self.sizes: dict[str, int] = {}

    def count(self, x: Tensor) -> None:
        self.sizes["calls"] = self.sizes.get("calls", 0) + 1


class KeptInClass(Doubled):
    def count(self, x: Tensor) -> None:
        self.seen.append(x.mean())


class KeptInList(Doubled):
    def count(self, x: Tensor) -> None:
        kept.append(x.mean())


class KeptInVariable(Doubled):
    def count(self, x: Tensor) -> None:
        global last
        last = x.mean()


class Cached(nn.Module):
    """What is kept follows from sizes alone."""

    def forward(self, x: Tensor) -> Tensor:
        if x.size(1) not in tables:
            tables[x.size(1)] = torch.arange(x.size(1), dtype=x.dtype)
        return x * tables[x.size(1)]


class OutsideTest(TorchTest):
    def setUp(self) -> None:
        super().setUp()
        self.x = graph(5, 9)[0]

    def state(self) -> Any:
        return calls, str(counts), Doubled.calls, list(Doubled.seen), list(log.values), list(kept), last, list(tables)

    def test_numbers(self) -> None:
        before = self.state()
        for kind, what in (
            (OfClass, r"'calls' of the class Doubled \(0 before, then 1\)"),
            (OfFile, r"the variable 'calls' \(0 before, then 1\)"),
            (InContents, "the variable 'counts'"),
            (OfObject, "the variable 'log'"),
        ):
            with self.subTest(kind.__name__):
                with self.assertWarnsRegex(UserWarning, f"forward of {kind.__name__} changes {what}, which compiled"):
                    fast = gnnc.compile(kind(), (self.x,))
                self.assertClose(fast(self.x), self.x * 2)
                self.assertEqual(self.state(), before)

    def test_contents_of_attributes(self) -> None:
        module = InOwnContents()
        with self.assertWarnsRegex(UserWarning, "'InOwnContents' changes what 'sizes' contains in forward, which compiled"):
            gnnc.compile(module, (self.x,))
        self.assertEqual(module.sizes, {})

    def test_variables_of_enclosing_functions(self) -> None:
        count, found = 0, SimpleNamespace(values=[])

        class Counted(Doubled):
            def count(self, x: Tensor) -> None:
                nonlocal count
                count += 1

        with self.assertWarnsRegex(UserWarning, r"the variable 'count' \(0 before, then 1\)"):
            gnnc.compile(Counted(), (self.x,))
        self.assertEqual((count, found.values), (0, []))

    def test_tensors(self) -> None:
        before = self.state()
        for kind, what in (
            (KeptInClass, "'seen' of the class Doubled"),
            (KeptInList, "the variable 'kept'"),
            (KeptInVariable, "the variable 'last'"),
        ):
            with self.subTest(kind.__name__):
                with self.assertRaisesRegex(gnnc.Error, f"forward of {kind.__name__} keeps a tensor in {what} for later"):
                    gnnc.compile(kind(), (self.x,))
                self.assertEqual(self.state(), before)

    def test_what_follows_from_sizes(self) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("error", UserWarning)
            fast = gnnc.compile(Cached(), (self.x,))
            self.assertFalse(tables)
            self.assertClose(fast(self.x), self.x * torch.arange(3.0))


if __name__ == "__main__":
    unittest.main()
