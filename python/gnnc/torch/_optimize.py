# Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
# See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`gnnc.optimize`: compiles what can be compiled of a model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils import _pytree as pytree

from .._errors import Error
from ._api import _arguments
from ._module import CompiledModule, Options


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


def _has_indices(leaves: list[Any]) -> bool:
    return any(isinstance(leaf, Tensor) and leaf.dtype in (torch.int32, torch.int64) for leaf in leaves)


def _record_calls(model: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[nn.Module, tuple[Any, Any]]:
    """The first arguments of each submodule in one call of the model."""
    calls: dict[nn.Module, tuple[Any, Any]] = {}

    def record(module: nn.Module, given: tuple[Any, ...], named: dict[str, Any]) -> None:
        calls.setdefault(module, (given, named))

    hooks = [each.register_forward_pre_hook(record, with_kwargs=True) for each in model.modules()]
    try:
        with torch.no_grad():
            model(*args, **kwargs)
    finally:
        for hook in hooks:
            hook.remove()
    return calls


def optimize(
    model: nn.Module, inputs: Any, *, kwargs: Mapping[str, Any] | None = None, progress: bool | None = None
) -> Report:
    """Compiles the model whole if it can be, otherwise its submodules that can be, as large as possible, in their
    places; the rest stays with PyTorch.

    `inputs` and `kwargs`: example arguments, as for `compile`. The model is called once with them. Modules that are
    given no index tensor are left alone: PyTorch is good at those. What was compiled in one mode and is refused in the other
    (dropout and running statistics in training) runs in PyTorch there, with a warning. Returns a `Report`; where the whole model was
    compiled, `report.model` is what to call from now on.
    """
    args, named = _arguments(inputs, kwargs)
    report = Report(model=model)
    calls = _record_calls(model, args, named)
    done: dict[nn.Module, CompiledModule | None] = {}

    def attempt(module: nn.Module, path: str) -> CompiledModule | None:
        if module in done:
            return done[module]
        done[module] = None
        given, by_name = calls.get(module, (None, None))
        if given is None or not _has_indices(pytree.tree_leaves((given, by_name))):
            return None
        compiled = CompiledModule(module, Options(progress=progress, fall_back=True))
        try:
            compiled._specialization(pytree.tree_leaves((given, by_name)), given, by_name)
        except Error as error:
            report.outcomes.append(Outcome(path, type(module).__name__, False, str(error)))
            return None
        report.outcomes.append(Outcome(path, type(module).__name__, True))
        done[module] = compiled
        return compiled

    def descend(module: nn.Module, path: str) -> None:
        for name, child in list(module.named_children()):
            below = f"{path}.{name}" if path else name
            compiled = attempt(child, below)
            if compiled is not None:
                module._modules[name] = compiled
            else:
                descend(child, below)

    whole = attempt(model, "")
    if whole is not None:
        report.model = whole
    else:
        descend(model, "")
    return report
