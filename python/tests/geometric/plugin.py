# Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
# See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A plugin of pytest: while other tests run, each outermost call of a module is compared with its compiled copy.

    pytest -p plugin --gnnc-report calls.jsonl TESTS

Before the call the process forks, and all that is compiled and compared happens in the child, which starts from what
the test has made and is gone afterwards: the test sees nothing of it, a crash ends the child alone, and one that takes
too long is ended. The report has one line of JSON for each call.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import time
import traceback
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from compare import compare
from torch import Tensor, nn
from torch._subclasses import FakeTensor
from torch.utils import _pytree as pytree

_ORIGINAL = nn.Module.__call__


class Comparer:
    """Compares the calls of the test that is running."""

    def __init__(self, report: Path, limit: float) -> None:
        self.report, self.limit = report, limit
        self.test = ""
        self.depth = 0
        self.seen: set[Any] = set()
        self.counts: Counter[str] = Counter()

    def start(self, test: str) -> None:
        self.test, self.depth = test, 0
        self.seen.clear()

    def call(self, module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if any(isinstance(leaf, nn.Module) for leaf in pytree.tree_leaves((args, kwargs))):
            return _ORIGINAL(module, *args, **kwargs)  # an explainer: compared is the module that it explains
        if self.depth == 0 and self._is_new(module, args, kwargs):
            self._record(module, self._compare_in_child(module, args, kwargs))
        self.depth += 1
        try:
            return _ORIGINAL(module, *args, **kwargs)
        finally:
            self.depth -= 1

    def _is_new(self, module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
        """Whether the test has made no call of this module yet that the same compiled copy runs."""
        if isinstance(module, (torch.jit.ScriptModule, torch._dynamo.OptimizedModule)) or torch.jit.is_tracing():
            return False
        leaves, tree = pytree.tree_flatten((args, kwargs))
        if any(isinstance(leaf, (FakeTensor, torch.fx.Proxy)) for leaf in leaves):
            return False
        kinds = [(leaf.dtype, leaf.dim(), type(leaf)) if isinstance(leaf, Tensor) else repr(leaf) for leaf in leaves]
        modes = [each.training for each in module.modules()]
        key = (id(module), str(tree), str(kinds), str(modes))
        is_new = key not in self.seen
        self.seen.add(key)
        return is_new

    def _record(self, module: nn.Module, found: dict[str, Any]) -> None:
        self.counts[found["outcome"]] += 1
        line = {"test": self.test, "module": type(module).__name__, **found}
        with self.report.open("a") as file:
            file.write(json.dumps(line) + "\n")

    def _compare_in_child(self, module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
        started = time.monotonic()
        reading, writing = os.pipe()
        child = os.fork()
        if child == 0:
            _in_child(writing, module, args, kwargs)
        os.close(writing)
        text, is_late = b"", False
        with open(reading, "rb", buffering=0) as pipe:
            while not is_late:
                left = started + self.limit - time.monotonic()
                ready, _, _ = select.select([pipe], [], [], max(left, 0))
                is_late = not ready
                part = pipe.read(1 << 16) if ready else b""
                if ready and not part:
                    break
                text += part
        with contextlib.suppress(ProcessLookupError):  # the compiler that it runs too
            os.killpg(child, signal.SIGKILL)
        _, status = os.waitpid(child, 0)
        seconds = round(time.monotonic() - started, 1)
        if text.endswith(b"\n"):
            return {**json.loads(text), "seconds": seconds}
        if is_late:
            return {"outcome": "time", "message": f"more than {self.limit:.0f} s", "seconds": seconds}
        number = os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0
        return {"outcome": "crash", "message": f"signal {number}, status {status}", "seconds": seconds}


def _in_child(writing: int, module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    try:
        os.setpgid(0, 0)
        nn.Module.__call__ = _ORIGINAL  # type: ignore[method-assign]
        nothing = os.open(os.devnull, os.O_RDWR)
        os.dup2(nothing, 1)
        os.dup2(nothing, 2)
        try:
            found = compare(module, args, kwargs)
        except Exception:
            found = {"outcome": "crash", "message": f"the comparison itself: {traceback.format_exc()}"}
        os.write(writing, json.dumps(found).encode() + b"\n")
    finally:
        os._exit(0)


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("gnnc")
    group.addoption("--gnnc-report", default="gnnc-calls.jsonl", help="where a line for each call is appended")
    group.addoption("--gnnc-limit", type=float, default=120, help="seconds for each call")


def pytest_configure(config: pytest.Config) -> None:
    report = Path(config.getoption("--gnnc-report")).absolute()
    comparer = Comparer(report, config.getoption("--gnnc-limit"))
    config.pluginmanager.register(Hooks(comparer), "gnnc-hooks")
    # What torch.export imports is imported once, not in each child.
    compare(nn.Linear(2, 2), (torch.ones(3, 2),), {})


class Hooks:
    """What pytest calls."""

    def __init__(self, comparer: Comparer) -> None:
        self.comparer = comparer

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Iterator[None]:
        comparer = self.comparer
        comparer.start(item.nodeid)

        def call(module: nn.Module, *args: Any, **kwargs: Any) -> Any:
            if torch.compiler.is_compiling():
                return _ORIGINAL(module, *args, **kwargs)
            return comparer.call(module, args, kwargs)

        nn.Module.__call__ = call  # type: ignore[method-assign]
        try:
            yield
        finally:
            nn.Module.__call__ = _ORIGINAL  # type: ignore[method-assign]

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        found = ", ".join(f"{count} {outcome}" for outcome, count in self.comparer.counts.most_common())
        terminalreporter.write_line(f"gnnc: {found}")
