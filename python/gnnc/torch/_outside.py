# Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
# See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What `forward` changes outside its module: class attributes, and variables that its code names, with what they have in them.
A trace changes them as a call would, and more often; they are put back, and whoever traces says so."""

from __future__ import annotations

import collections
import contextlib
import copy
import functools
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from types import CodeType, FunctionType, ModuleType
from typing import Any

from torch import Tensor, nn
from torch.utils import _pytree as pytree

from ._reads import _function, _installed, _is_users, _names, _names_of_globals, is_plain

_ABSENT = object()

#: Containers that are put back.
_CONTAINERS = (
    *(list, dict, set, collections.deque, collections.defaultdict, collections.OrderedDict, collections.Counter),
)

#: As many values are looked into, and as deep.
_MOST, _DEEPEST = 4096, 4


@dataclass
class Change:
    """Something that was changed."""

    what: str
    before: Any
    now: Any

    def has_tensors(self) -> bool:
        """Whether there are tensors that were not there before."""
        known = {id(leaf) for leaf in pytree.tree_leaves(_plainly(self.before))}
        return any(isinstance(leaf, Tensor) and id(leaf) not in known for leaf in pytree.tree_leaves(_plainly(self.now)))

    def __str__(self) -> str:
        if is_plain(self.before) and is_plain(self.now):
            return f"{self.what} ({self.before!r} before, then {self.now!r})"
        return self.what


class _Variable:
    def __init__(self, what: str, owner: Any, name: str) -> None:
        self.what, self.owner, self.name = what, owner, name

    def get(self) -> Any:
        if isinstance(self.owner, dict):
            return self.owner.get(self.name, _ABSENT)
        if isinstance(self.owner, type):
            return vars(self.owner).get(self.name, _ABSENT)
        try:
            return self.owner.cell_contents
        except ValueError:  # emptied
            return _ABSENT

    def put(self, value: Any) -> None:
        if isinstance(self.owner, dict):
            if value is _ABSENT:
                self.owner.pop(self.name, None)
            else:
                self.owner[self.name] = value
        elif isinstance(self.owner, type):
            if value is not _ABSENT:
                setattr(self.owner, self.name, value)
            elif self.name in vars(self.owner):
                delattr(self.owner, self.name)
        elif value is not _ABSENT:
            self.owner.cell_contents = value


class Outside:
    """What modules may change outside themselves, as it is now."""

    def __init__(self, members: Sequence[nn.Module]) -> None:
        self._variables = [(each, each.get()) for each in _variables(members)]
        self._contents = list(_contents([(each.what, value) for each, value in self._variables]))

    def changes(self) -> list[Change]:
        found = [
            Change(each.what, None if before is _ABSENT else before, now)
            for each, before in self._variables
            if not _is_same(now := each.get(), before)
        ]
        known = {each.what for each in found}
        for what, value, before in self._contents:
            if what not in known and not has_same(value, before):
                known.add(what)
                found.append(Change(what, before, copy.copy(value)))
        return found

    def restore(self) -> None:
        for each, before in self._variables:
            if each.get() is not before:
                each.put(before)
        for _, value, before in self._contents:
            if not has_same(value, before):
                value.clear()
                value.extend(before) if isinstance(value, (list, collections.deque)) else value.update(before)


def _plainly(value: Any) -> Any:
    return list(value) if isinstance(value, (set, collections.deque)) else value


def _is_same(value: Any, before: Any) -> bool:
    return value is before or (is_plain(value) and is_plain(before) and type(value) is type(before) and value == before)


def has_same(value: Any, before: Any) -> bool:
    """Whether a container has in it what it had, the same objects or equal numbers."""
    if len(value) != len(before):
        return False
    if isinstance(value, set):
        return value == before
    if isinstance(value, dict):
        return all(map(_is_same, value.values(), before.values())) and all(map(_is_same, value, before))
    return all(map(_is_same, value, before))


def _contents(values: Sequence[tuple[str, Any]]) -> Iterator[tuple[str, Any, Any]]:
    """Containers in values and attributes of objects in them, and copies."""
    left, seen = [(what, value, 0) for what, value in values], set()
    while left and len(seen) < _MOST:
        what, value, depth = left.pop()
        if is_plain(value) or id(value) in seen or depth > _DEEPEST or isinstance(value, (nn.Module, Tensor, type)):
            continue
        seen.add(id(value))
        inner: Any = value
        if type(value) not in _CONTAINERS and not isinstance(value, tuple):
            if not _is_users_class(type(value)) or not isinstance(getattr(value, "__dict__", None), dict):
                continue
            inner = vars(value)
        if len(inner) > _MOST:
            continue
        if not isinstance(inner, tuple):
            yield what, inner, copy.copy(inner)
        left += [(what, each, depth + 1) for each in (inner.values() if isinstance(inner, dict) else inner)]


def _variables(members: Sequence[nn.Module]) -> list[_Variable]:
    """Of the user's classes and files: what is no function, class or module."""
    found: dict[tuple[int, str], _Variable] = {}
    functions: list[FunctionType] = []
    seen: set[int] = set()

    def add(what: str, owner: Any, name: str, value: Any) -> None:
        function = _function(value)
        if function is not None:
            if id(function) not in seen and _is_own(function):
                seen.add(id(function))
                functions.append(function)
        elif isinstance(value, type):
            if id(value) not in seen and _is_users_class(value):
                seen.add(id(value))
                for key, each in list(vars(value).items()):
                    if not key.startswith("__") or _function(each) is not None:
                        add(f"'{key}' of the class {value.__name__}", value, key, each)
        elif not isinstance(value, (ModuleType, nn.Module)):
            found.setdefault((id(owner), name), _Variable(what, owner, name))

    for kind in {type(each): None for each in members}:
        for owner in kind.__mro__:
            add("", None, "", owner)
    for member in members:
        for value in (*vars(member).values(), *member._forward_hooks.values(), *member._forward_pre_hooks.values()):
            if _function(value) is not None:
                add("", None, "", value)
    while functions:
        function = functions.pop()
        code, space = function.__code__, function.__globals__
        for name, cell in zip(code.co_freevars, function.__closure__ or ()):
            with contextlib.suppress(ValueError):  # empty
                add(f"the variable '{name}'", cell, name, cell.cell_contents)
        read, stored = _globals(code)
        for name in sorted(read & space.keys() | stored):
            value = space.get(name)
            add(f"the variable '{name}'", space, name, value)
            if isinstance(value, ModuleType) and not _is_elsewhere(getattr(value, "__file__", None), value.__name__):
                for each in sorted(_names(code) & vars(value).keys()):
                    add(f"the variable '{name}.{each}'", vars(value), each, vars(value)[each])
    return list(found.values())


@functools.lru_cache(maxsize=4096)
def _globals(code: CodeType) -> tuple[set[str], set[str]]:
    """The variables of its file that code reads, and those that it sets."""
    return _names_of_globals(code), _names_of_globals(code, ("STORE_GLOBAL", "DELETE_GLOBAL"))


def _is_elsewhere(file: Any, module: str) -> bool:
    """Whether it is no file of the user's."""
    return not file or str(file).startswith(_installed()) or module.partition(".")[0] in ("gnnc", "torch")


def _is_own(function: FunctionType) -> bool:
    return _is_users(function) and (function.__module__ or "").partition(".")[0] not in ("gnnc", "torch")


def _is_users_class(kind: type) -> bool:
    module = kind.__module__
    return module == "__main__" or not _is_elsewhere(getattr(sys.modules.get(module), "__file__", None), module)
