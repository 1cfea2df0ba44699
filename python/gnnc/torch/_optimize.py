# Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
# See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`gnnc.optimize`: compiles what can be compiled of a model."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils import _pytree as pytree

from .._errors import Error
from ._api import _arguments, check_module
from ._containers import has_containers, layout_of, spread
from ._compiled import CompiledModule
from ._module import Options


@dataclass
class Outcome:
    """What became of one module."""

    path: str  #: "" for the whole model
    kind: str  #: its class
    compiled: bool
    reason: str = ""  #: why it was left to PyTorch


@dataclass
class Report:
    """What `optimize` did: print it, or look at `outcomes`."""

    outcomes: list[Outcome] = field(default_factory=list)
    model: nn.Module | None = None  #: the model; another object than was given only if it was compiled whole

    @property
    def compiled(self) -> list[str]:
        return [outcome.path for outcome in self.outcomes if outcome.compiled]

    def __str__(self) -> str:
        lines = []
        for outcome in self.outcomes:
            name = f"{outcome.path or 'the whole model'} ({outcome.kind})"
            lines.append(f"compiled      {name}" if outcome.compiled else f"left as it is {name}: {outcome.reason}")
        return "\n".join(lines) or "nothing to compile"


def _has_indices(args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    if has_containers(args, kwargs):
        args, kwargs = tuple(spread(args, kwargs, layout_of(args, kwargs))), {}
    leaves = pytree.tree_leaves((args, kwargs))
    return any(isinstance(leaf, Tensor) and leaf.dtype in (torch.int32, torch.int64) for leaf in leaves)


Calls = dict[nn.Module, tuple[tuple[Any, ...], dict[str, Any]]]


@contextlib.contextmanager
def recorded_calls(model: nn.Module) -> Iterator[Calls]:
    """The first arguments of each module of the model, in what it is called with meanwhile."""
    calls: Calls = {}

    def record(module: nn.Module, given: tuple[Any, ...], named: dict[str, Any]) -> None:
        calls.setdefault(module, (given, named))

    hooks = [each.register_forward_pre_hook(record, with_kwargs=True) for each in model.modules()]
    try:
        yield calls
    finally:
        for hook in hooks:
            hook.remove()


class Parts:
    """Compiles modules of a model in their places, as large as possible."""

    def __init__(self, calls: Calls, progress: bool | None) -> None:
        self.calls, self.progress = calls, progress
        self.report = Report()
        self._done: dict[nn.Module, CompiledModule | None] = {}

    def attempt(self, module: nn.Module, path: str) -> CompiledModule | None:
        if module in self._done:
            return self._done[module]
        self._done[module] = None
        given, by_name = self.calls.get(module, (None, None))
        if given is None or by_name is None or not _has_indices(given, by_name):
            return None
        if isinstance(module, CompiledModule):
            return module
        compiled = CompiledModule(module, Options(progress=self.progress, fall_back=True))
        try:
            vars(compiled)["_gnnc"].prepare(given, by_name)
        except Error as error:
            self.report.outcomes.append(Outcome(path, type(module).__name__, False, str(error)))
            return None
        self.report.outcomes.append(Outcome(path, type(module).__name__, True))
        self._done[module] = compiled
        return compiled

    def descend(self, module: nn.Module, path: str = "") -> None:
        for name, child in list(module.named_children()):
            below = f"{path}.{name}" if path else name
            compiled = self.attempt(child, below)
            if compiled is not None:
                module._modules[name] = compiled
            else:
                self.descend(child, below)


def optimize(
    model: nn.Module, inputs: Any, *, kwargs: Mapping[str, Any] | None = None, progress: bool | None = None
) -> Report:
    """Compiles the model whole if it can be, otherwise its submodules that can be, as large as possible, in their
    places; the rest stays with PyTorch.

    `inputs` and `kwargs`: example arguments, as for `compile`. The model is called once with them. Modules that are
    given no index tensor are left alone: PyTorch is good at those. Where a module was compiled in one mode and is refused in
    the other (dropout and running statistics in training), its submodules are compiled there, and a warning says so.
    Returns a `Report`; where the whole model was compiled, `report.model` is what to call from now on.
    """
    check_module(model)
    args, named = _arguments(inputs, kwargs)
    with recorded_calls(model) as calls, torch.no_grad():
        model(*args, **named)
    parts = Parts(calls, progress)
    whole = parts.attempt(model, "")
    if whole is None:
        parts.descend(model)
    parts.report.model = whole if whole is not None else model
    return parts.report
