# Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
# See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What becomes of a program: compiled, and compared with eager on graphs of three sizes."""

from __future__ import annotations

import contextlib
import copy
import importlib.util
import os
import random
import re
import signal
import stat
import sys
import tempfile
import traceback
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from unittest import mock

import torch
from torch import Tensor, nn

import gnnc
from gnnc import _cache, _compiler

from .program import Program

SECONDS = 30  #: of processor time that a program may take, and a run of the compiler by itself
TOLERANCE = {torch.float64: 1e-8, torch.float32: 2e-4}
LAST_BITS = {torch.float64: 1e-13, torch.float32: 3e-7}
#: torch's symbols and names, and places in JSON, which no message may have
UNREADABLE = re.compile(r"\b[su]\d+\b|\bzuf\d+|FloorDiv|PythonMod|sympy|SymInt|\$\.|graph_module|GuardOnDataDependent")
GOOD = ("equal", "unstable", "refused")


class TooSlow(BaseException):
    pass


@dataclass
class Outcome:
    """kind: equal, unstable, refused, or a failure: wrong, internal, unreadable, slow, ill-formed."""

    kind: str
    text: str = ""
    compilations: int = 0

    @property
    def fails(self) -> bool:
        return self.kind not in GOOD


def dtype_of(program: Program) -> torch.dtype:
    return torch.float32 if program.seed % 4 == 3 else torch.float64


def options_of(program: Program) -> list[str]:
    """Compiled for one level of x86-64, and now and then with less optimisation."""
    level = ("0", "1", "2", "2", "2", "2", "2")[program.seed % 7]
    return ["-O", level, "--cpu", "baseline" if program.seed % 5 == 0 or not _has_avx2() else "v3"]


def _has_avx2() -> bool:
    try:
        return " avx2 " in Path("/proc/cpuinfo").read_text(encoding="utf-8")
    except OSError:
        return False


def sizes_of(program: Program) -> list[tuple[int, int, int]]:
    """Nodes, edges and graphs: the example, a graph with isolated nodes, and one without edges."""
    rng = random.Random(program.seed)
    sizes = [
        (rng.randint(6, 9), rng.randint(12, 18), 3),
        (rng.randint(10, 14), rng.randint(3, 6), rng.randint(2, 4)),
        (rng.choice((1, 3, 5)), 0, rng.choice((1, 2))),
    ]
    return [(max(n, program.least_nodes), e, b) for n, e, b in sizes]


# Running ------------------------------------------------------------------------------------------------------------


@contextlib.contextmanager
def workplace() -> Iterator[Path]:
    """A folder for programs and objects, and a compiler that ends when it takes too long."""
    compiler = _compiler.find_compiler().resolve()
    with tempfile.TemporaryDirectory(prefix="gnnc-modules-") as folder:
        place = Path(folder)
        limited = place / "gnnc"
        limited.write_text(f'#!/bin/sh\nulimit -t {SECONDS}\nexec "{compiler}" "$@"\n', encoding="utf-8")
        limited.chmod(limited.stat().st_mode | stat.S_IXUSR)
        with (
            mock.patch.object(_compiler, "cache_folder", lambda: place / "objects"),
            mock.patch.dict(os.environ, GNNC_COMPILER=str(limited)),
        ):
            yield place


@contextlib.contextmanager
def limited_time() -> Iterator[None]:
    def stop(*_: object) -> None:
        raise TooSlow

    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def load(source: str, place: Path, name: str) -> ModuleType:
    """A program as a module of Python, from a file: messages name its lines."""
    path = place / f"{name}.py"
    path.write_text(source, encoding="utf-8")
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


@dataclass
class Results:
    outputs: list[Tensor]
    gradients: list[tuple[str, Tensor | None]]

    def named(self) -> list[tuple[str, Tensor | None]]:
        return [(f"result {i}", each) for i, each in enumerate(self.outputs)] + self.gradients


def run(module: nn.Module, program: Program, given: tuple[list[Tensor], tuple[object, ...]]) -> Results:
    """Results, and gradients of a loss that uses some of them with respect to leaves and parameters."""
    leaves, args = given
    found = module(*args)
    outputs = list(found) if isinstance(found, tuple) else [found]
    generator = torch.Generator().manual_seed(7)
    cotangents = [torch.randn(each.shape, generator=generator, dtype=torch.float64) for each in outputs]
    pairs = [(outputs[i], cotangents[i].to(outputs[i].dtype)) for i in program.used if outputs[i].requires_grad]
    parameters = {name: each for name, each in module.named_parameters() if each.requires_grad}
    names = [f"gradient of {name}" for name in (*program.leaves, *parameters)]
    wanted = [*leaves, *parameters.values()]
    gradients: tuple[Tensor | None, ...] = (None,) * len(wanted)
    if pairs and wanted:
        results, factors = zip(*pairs, strict=True)
        gradients = torch.autograd.grad(results, wanted, factors, allow_unused=True)
    return Results([each.detach() for each in outputs], list(zip(names, gradients, strict=True)))


def difference(found: Tensor | None, expected: Tensor | None) -> float | str:
    """Relative to the largest number of the expected tensor, or 1. No gradient is one of zeros."""
    if found is None or expected is None:
        other = expected if found is None else found
        if other is None or not other.numel() or not bool(other.ne(0).any()):
            return 0.0
        return "no gradient" if found is None else "a gradient where there is none"
    if found.shape != expected.shape:
        return f"shape {tuple(found.shape)}, expected {tuple(expected.shape)}"
    if not expected.numel():
        return 0.0
    a, b = found.double(), expected.double()
    finite = torch.isfinite(b)
    if not torch.equal(torch.isfinite(a), finite) or not torch.equal(a[~finite].nan_to_num(), b[~finite].nan_to_num()):
        return f"{int((~torch.isfinite(a)).sum())} numbers that are not finite, expected {int((~finite).sum())}"
    a, b = a[finite], b[finite]
    return float((a - b).abs().max() / b.abs().max().clamp(min=1)) if b.numel() else 0.0


def differences(found: Results, expected: Results, types: bool) -> dict[str, float | str]:
    result: dict[str, float | str] = {}
    for (name, a), (_, b) in zip(found.named(), expected.named(), strict=True):
        result[name] = difference(a, b)
        if types and a is not None and b is not None and a.dtype != b.dtype:
            result[name] = f"type {a.dtype}, expected {b.dtype}"
    return result


def _moved(program: Program, exact: nn.Module, given: tuple[list[Tensor], tuple[object, ...]], by: float) -> Results:
    """Results of inputs and parameters whose last bits differ."""
    generator = torch.Generator().manual_seed(3)

    def move(tensor: Tensor) -> None:
        tensor.mul_(1 + by * torch.randn(tensor.shape, generator=generator, dtype=tensor.dtype))

    moved = copy.deepcopy(exact)
    with torch.no_grad():
        for each in [*moved.parameters(), *given[0]]:
            move(each)
    return run(moved, program, given)


# The check ----------------------------------------------------------------------------------------------------------


def check(program: Program, place: Path, name: str | None = None) -> Outcome:
    source = program.source()
    name = name or f"random_module_{program.seed}"
    torch.manual_seed(program.seed)
    _cache.graphs.clear()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            with limited_time():
                outcome = _check(program, load(source, place, name))
        except TooSlow:
            outcome = Outcome("slow", f"more than {SECONDS} s of processor time")
        finally:
            sys.modules.pop(name, None)
            for path in (place / "objects").glob("*.so"):
                path.unlink()
    return outcome


def _check(program: Program, text: ModuleType) -> Outcome:
    dtype = dtype_of(program)
    module: nn.Module = text.Module().to(dtype)
    exact = copy.deepcopy(module).double()
    sizes = sizes_of(program)

    def given(i: int, of: torch.dtype = torch.float64) -> tuple[list[Tensor], tuple[object, ...]]:
        """The same numbers in both types."""
        seed = program.seed % 1000 + i
        return text.arguments(*sizes[i], dtype=dtype, seed=seed) if of == dtype else _widened(text, sizes[i], seed)

    expected: list[Results] = []
    for i in range(len(sizes)):
        try:
            expected.append(run(exact, program, given(i)))
        except Exception:
            return Outcome("ill-formed", f"eager mode, {_size(sizes[i])}: {traceback.format_exc(limit=-2)}")
    try:
        fast = gnnc.compile(module, given(0, dtype)[1], options=options_of(program), progress=False)
    except Exception as error:
        return _refusal(error, "")
    for i, size in enumerate(sizes):
        try:
            found = run(fast, program, given(i, dtype))
        except Exception as error:
            return _refusal(error, f"{_size(size)}: ")
        outcome = _compare(
            program, module, exact, found, expected[i], lambda i=i, of=torch.float64: given(i, of), dtype
        )
        if outcome is not None:
            outcome.text = f"{_size(size)}, {dtype}, options {' '.join(options_of(program))}\n{outcome.text}"
            return outcome
    return Outcome("equal", compilations=len(vars(fast)["_gnnc"].specializations))


def _widened(text: ModuleType, size: tuple[int, int, int], seed: int) -> tuple[list[Tensor], tuple[object, ...]]:
    """Arguments of float32 as float64: what draws them rounds first."""
    rounded = torch.randn

    def randn(*shape: object, dtype: torch.dtype, **named: object) -> Tensor:
        return rounded(*shape, dtype=torch.float32, **named).double()  # type: ignore[call-overload,no-any-return]

    with mock.patch.object(torch, "randn", randn):
        return text.arguments(*size, dtype=torch.float64, seed=seed)  # type: ignore[no-any-return]


def _compare(program, module, exact, found, expected, given, dtype) -> Outcome | None:  # noqa: ANN001
    differing = differences(found, expected, types=dtype == torch.float64)
    limit = TOLERANCE[dtype]
    bad = {name: by for name, by in differing.items() if isinstance(by, str) or by > limit}
    if not bad:
        return None
    by = LAST_BITS[dtype]
    moved = differences(_moved(program, exact, given(), by), expected, types=False)
    if dtype == torch.float32:
        rounded = differences(run(module, program, given(of=dtype)), expected, types=False)
        moved = {
            name: each
            if isinstance(rounded[name], str)
            else max(each, rounded[name])
            if not isinstance(each, str)
            else each
            for name, each in moved.items()
        }
    worse = {
        name: by
        for name, by in bad.items()
        if isinstance(moved[name], float) and (isinstance(by, str) or by > 30 * moved[name])
    }
    if not worse:
        return Outcome("unstable")
    lines = [f"{name}: {by if isinstance(by, str) else f'differs by {by:.1e}'}" for name, by in worse.items()]
    return Outcome("wrong", "\n".join(lines))


def _size(size: tuple[int, int, int]) -> str:
    return f"n={size[0]}, e={size[1]}, b={size[2]}"


def _refusal(error: Exception, where: str) -> Outcome:
    text = f"{where}{error}"
    if not isinstance(error, gnnc.Error):
        return Outcome("internal", where + "".join(traceback.format_exception(error)))
    if "exit status" in text or "internal" in text:
        kind = "slow" if f"exit status -{signal.SIGXCPU:d}" in text else "internal"
        return Outcome(kind, text + "\n" + getattr(error, "details", ""))
    return Outcome("unreadable" if UNREADABLE.search(text) else "refused", text)


def normalised(text: str) -> str:
    """A refusal without what differs from program to program: names, numbers, lines."""
    text = text.splitlines()[0] if text else ""
    text = re.sub(r"n=\d+, e=\d+, b=\d+: ", "at another size: ", text)
    text = re.sub(r"'[^']*'", "'…'", text)
    text = re.sub(r"\S*random_module_\w+(\.py)?(:\d+)?", "…", text)
    text = re.sub(r"\[[^\]]*\]", "[…]", text)
    return re.sub(r"-?\d+(\.\d+)?", "N", text)
