# Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
# See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tensors that `forward` stores in attributes, `self.attention = alpha`, for whoever calls the module.

A trace refuses them (`_effects.py`). What is exported then is a module that returns them beside its own results, and each call
assigns them to the attributes. That is right where `forward` writes an attribute before it reads it; else what one call stores
is an argument of the next.
"""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn
from torch.export import ExportedProgram
from torch.utils import _pytree as pytree

from .._errors import Error
from ._arranged import from_front, front_of, to_front
from ._reads import Reads, members_of
from ._wrapper import Wrapper, named_as

#: An attribute: the number of its module in `members_of`, so that it holds for copies too, and its name.
Place = tuple[int, str]

_ABSENT = object()


@dataclass
class Kept:
    """What a call assigns."""

    places: list[Place] = field(default_factory=list)
    #: Of each leaf of the values, the axis that comes to the front in the program, as in `_arranged.py`.
    axes: list[int] = field(default_factory=list)

    def __bool__(self) -> bool:
        return bool(self.places)

    def split(self, results: Any) -> tuple[Any, list[Any]]:
        """Of what the program returns: the module's own result, and the values."""
        result, values = results
        if any(self.axes):
            leaves, tree = pytree.tree_flatten(values)
            values = pytree.tree_unflatten(from_front(leaves, self.axes), tree)
        return result, values


class KeptTensors(Error):
    """What a module keeps could be results of it. `what`: the first, in words."""

    def __init__(self, what: str, places: Sequence[Place]) -> None:
        super().__init__(f"{what}, which compiled code does not: return it")
        self.what, self.places = what, list(places)


def can_be_result(member: nn.Module, name: str, value: Any) -> bool:
    """Whether an attribute is nothing but a value, and that is tensors and numbers, in lists and the like."""
    return not hasattr(getattr(type(member), name, None), "__set__") and all(map(_is_result, pytree.tree_leaves(value)))


def _is_result(leaf: Any) -> bool:
    if isinstance(leaf, Tensor):
        return leaf.layout is torch.strided and not leaf.is_complex() and not isinstance(leaf, nn.Parameter)
    return isinstance(leaf, (bool, int, float, str, torch.SymInt, type(None)))


class Keeping(Wrapper):
    """A module that returns some of its attributes too, as they are after the call. It leaves them as they were."""

    def __init__(self, module: nn.Module, kept: Kept) -> None:
        super().__init__(module)
        members = members_of(module)
        self.__dict__["_gnnc_kept"] = [(members[number], name) for number, name in kept.places]
        self.__dict__["_axes"] = kept.axes

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        owners = self.__dict__["_gnnc_kept"]
        if torch.compiler.is_dynamo_compiling():  # which changes no objects
            result = self.__dict__["_gnnc_wrapped"](*args, **kwargs)
            return result, self._in_order([getattr(owner, name) for owner, name in owners])
        before = [vars(owner).get(name, _ABSENT) for owner, name in owners]
        try:
            result = self.__dict__["_gnnc_wrapped"](*args, **kwargs)
            return result, self._in_order([vars(owner)[name] for owner, name in owners])
        finally:
            for (owner, name), value in zip(owners, before):
                vars(owner).pop(name, None)
                if value is not _ABSENT:
                    vars(owner)[name] = value

    def _in_order(self, values: list[Any]) -> list[Any]:
        if not any(self.__dict__["_axes"]):
            return values
        leaves, tree = pytree.tree_flatten(values)
        return pytree.tree_unflatten(to_front(leaves, self.__dict__["_axes"]), tree)


class KeptAxes(Exception):
    """Where the axis of elements comes first in what is kept, it is exported again: `axes`, as Kept has them."""

    def __init__(self, axes: list[int]) -> None:
        super().__init__("the axis of elements is not the first")
        self.axes = axes


def check_kept_axes(program: ExportedProgram) -> None:
    """Raises KeptAxes, for the program of a module that is Keeping."""
    tree = program.call_spec.out_spec
    values = [getattr(each, "meta", {}).get("val") for each in program.graph.output_node().args[0]]
    _, kept = pytree.tree_unflatten(values[len(values) - tree.num_leaves :], tree)
    axes = [front_of(value) for value in pytree.tree_leaves(kept)]
    if any(axes):
        raise KeptAxes(axes)


def keeping(module: nn.Module, kept: Kept) -> nn.Module:
    """In what the compiler says of it, it is called as the module is. It is the module itself where nothing is kept."""
    if not kept:
        return module
    return named_as(module, Keeping, inspect.signature(module.forward))(module, kept)  # type: ignore[call-arg]


def reads_of_wrapped(reads: Reads, module: Keeping) -> Reads:
    """What the trace of such a module has read, by the numbers that the wrapped module's members have."""
    numbers = {id(each): i for i, each in enumerate(members_of(module.__dict__["_gnnc_wrapped"]))}
    found = {numbers[id(each)]: i for i, each in enumerate(members_of(module)) if id(each) in numbers}
    return Reads({number: reads.names.get(i, set()) for number, i in found.items()}, reads.everything)
