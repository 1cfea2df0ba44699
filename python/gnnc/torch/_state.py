# Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
# See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a compiled module was made from besides its arguments, and whether that has changed since.

Parameters are read at each call, from the modules that had them. That is right as long as those are the submodules, what
was one parameter is one, and buffers of integers, which are compiled in, have the same numbers.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from operator import getitem
from typing import Any

import torch
from torch import Tensor, nn


def modes_of(module: nn.Module) -> list[bool]:
    """`training` of each of its modules, the first of which is itself."""
    return [each.training for each in module.modules()]


def owner_of(module: nn.Module, name: str) -> tuple[dict[str, Any], str]:
    """The dict that has a parameter or buffer, and the key in it."""
    *path, last = name.split(".")
    for part in path:
        module = getattr(module, part)
    return module._parameters if last in module._parameters else module._buffers, last


class Integers:
    """A buffer whose numbers are compiled in."""

    __slots__ = ("kept", "key", "owner", "tensor", "version")

    def __init__(self, owner: dict[str, Any], key: str) -> None:
        self.owner, self.key = owner, key
        self.tensor = owner[key]
        self.version, self.kept = _version(self.tensor), self.tensor.detach().clone()

    def is_same(self) -> bool:
        """Without a look at the numbers."""
        tensor = self.owner[self.key]
        return tensor is self.tensor and self.version >= 0 and _version(tensor) == self.version

    def is_current(self) -> bool:
        if self.is_same():
            return True
        tensor = self.owner[self.key]
        version = _version(tensor)
        if tensor.dtype is not self.kept.dtype or not torch.equal(tensor.to(self.kept.device), self.kept):
            return False
        self.tensor, self.version = tensor, version
        return True


def _version(tensor: Tensor) -> int:
    """PyTorch's count of its changes; -1: it has none."""
    return -1 if tensor.is_inference() else tensor._version


class State:
    """The state of a module and of its submodules."""

    def __init__(self, module: nn.Module, modes: Sequence[bool], integers: Sequence[str]) -> None:
        self.members, self.modes = list(module.modules()), list(modes)
        #: Of each module that has submodules, these.
        self.children = [
            (each._modules, list(each._modules.values()))
            for each in self.members
            if each._modules or isinstance(each, (nn.Sequential, nn.ModuleList, nn.ModuleDict))
        ]
        #: Names of one tensor, in pairs.
        self.ties = list(_ties(self.members))
        places = [
            (owner, key) for each in self.members for owner in (each._parameters, each._buffers) for key in owner
        ]
        #: Parameters and buffers that are None, and those that are not.
        self.absent = [(owner, key) for owner, key in places if owner[key] is None]
        self.present = [(owner, key) for owner, key in places if owner[key] is not None]
        self.integers = [Integers(*owner_of(module, name)) for name in integers]
        # What `is_same` compares, as columns: `map` is quick with them.
        self._views = [modules.values() for modules, _ in self.children]
        self._lists = [children for _, children in self.children]
        entries: list[tuple[dict[str, Any], str, Any]] = [
            *((vars(each), "training", mode) for each, mode in zip(self.members, self.modes)),
            *((owner, key, None) for owner, key in self.absent),
        ]
        self._dicts, self._keys, self._values = [list(column) for column in zip(*entries)]

    def is_in_mode(self) -> bool:
        return [each.training for each in self.members] == self.modes

    def is_same(self) -> bool:
        """Whether nothing has changed, the modes included, as far as objects say. A part of each call."""
        if list(map(list, self._views)) != self._lists:
            return False
        if list(map(getitem, self._dicts, self._keys)) != self._values:
            return False
        for owner, key, other, alias in self.ties:
            if owner[key] is not other[alias]:
                return False
        for each in self.integers:
            if not each.is_same():
                return False
        return True

    def is_current(self) -> bool:
        """Whether what was compiled is right for the module, in the modes that it was compiled for."""
        for modules, children in self.children:
            if len(modules) != len(children):
                return False
            for child, expected in zip(modules.values(), children):
                if child is not expected:
                    return False
        try:
            for owner, key in self.absent:
                if owner[key] is not None:
                    return False
            for owner, key in self.present:
                if owner[key] is None:
                    return False
            for owner, key, other, alias in self.ties:
                if owner[key] is not other[alias]:
                    return False
            for each in self.integers:
                if not each.is_current():
                    return False
        except KeyError:
            return False
        return True


def _ties(members: Sequence[nn.Module]) -> Iterator[tuple[dict[str, Any], str, dict[str, Any], str]]:
    first: dict[int, tuple[dict[str, Any], str]] = {}
    for each in members:
        for owner in (each._parameters, each._buffers):
            for key, tensor in owner.items():
                if tensor is None:
                    continue
                if id(tensor) in first:
                    yield (*first[id(tensor)], owner, key)
                else:
                    first[id(tensor)] = (owner, key)
