# Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
# See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a compiled module was made from besides its arguments, and whether that has changed since.

Parameters are read at each call, from the modules that had them. That is right as long as those are the submodules, what
was one parameter is one, and what is compiled in has not changed: the numbers of buffers of integers and of tensors that
are plain attributes, and everything else that the trace has read (`_reads.py`).
"""

from __future__ import annotations

import gc
from collections.abc import Iterator, Sequence
from operator import attrgetter, getitem
from typing import Any

import torch
from torch import Tensor, nn

from ._kept import Place
from ._reads import GLOBAL_HOOKS, SWITCHES, Reads, frozen, members_of, variables_of, watched
from ._sparse import is_matrix, tensors_of


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
    """A tensor whose numbers are compiled in."""

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
        if not isinstance(tensor, Tensor):
            return False
        version = _version(tensor)
        if tensor.dtype is not self.kept.dtype or not _equal(tensor.to(self.kept.device), self.kept):
            return False
        self.tensor, self.version = tensor, version
        return True


def _equal(tensor: Tensor, other: Tensor) -> bool:
    if tensor.layout is not other.layout or tensor.shape != other.shape:
        return False
    if not is_matrix(tensor):
        return torch.equal(tensor, other)
    return all(map(torch.equal, tensors_of(tensor), tensors_of(other)))


def _version(tensor: Tensor) -> int:
    """PyTorch's count of its changes; -1: it has none."""
    if tensor.is_inference():
        return -1
    if is_matrix(tensor):
        return sum(each._version for each in tensors_of(tensor)) if tensor.layout is torch.sparse_coo else -1
    return tensor._version


class State:
    """The state of a module and of its submodules, and what else a trace of it has read."""

    def __init__(
        self,
        module: nn.Module,
        modes: Sequence[bool],
        integers: Sequence[str],
        reads: Reads,
        switches: Sequence[str] = (),
        kept: Sequence[Place] = (),
    ) -> None:
        """`switches`: those of PyTorch that the compiler read itself. `kept`: attributes that each call assigns."""
        self.members, self.modes = members_of(module), list(modes)
        self._types, self._attributes = list(map(type, self.members)), list(map(vars, self.members))
        self.paths = {id(each): path for path, each in module.named_modules()}
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
        #: Parameters and buffers that are None, and those that are not, with what their shapes and types were.
        self.absent = [(owner, key) for owner, key in places if owner[key] is None]
        self.present = [(owner, key) for owner, key in places if owner[key] is not None]
        self.layouts = [_layout(owner[key]) for owner, key in self.present]
        self._present = [owner for owner, _ in self.present], [key for _, key in self.present]
        self.integers = [Integers(*owner_of(module, name)) for name in integers]
        self._own = {id(owner[key]) for owner, key in self.present}
        #: Attributes that were read, as they were; `_ABSENT`: found in the class, or nowhere.
        self.reads: list[tuple[nn.Module, str, Any]] = []
        for i, each in enumerate(self.members):
            own = vars(each)
            for name in reads.of(i, each):
                if (i, name) in kept:
                    continue
                if isinstance(own.get(name), Tensor):
                    self.integers.append(Integers(own, name))
                else:
                    self.reads.append((each, name, frozen(own[name], self._own) if name in own else _ABSENT))
        #: Names that stood for nothing: dicts that must not get them.
        self.missing = [
            (owner, name)
            for each, name, value in self.reads
            if value is _ABSENT and not any(name in vars(kind) for kind in type(each).__mro__)
            if not any(name in owner for owner in (each._parameters, each._buffers, each._modules))
            for owner in (each._parameters, each._buffers, each._modules)
        ]
        variables = variables_of(self.members, reads)
        self.globals = [(space, name, frozen(space[name], self._own)) for space, name in variables.globals]
        self.cells = [(cell, frozen(cell.cell_contents, self._own)) for cell in variables.cells]
        self.dtype = torch.get_default_dtype()
        names = dict.fromkeys([*variables.switches, *switches])
        self.switches = [(SWITCHES[name], SWITCHES[name]()) for name in names]
        # What is compared at each call.
        self._rare = False
        self._counted: list[tuple[Tensor, int]] = []
        self._arrays: list[tuple[Any, bytes]] = []
        self._empty: list[Any] = []
        self._held: list[Any] = []
        self._seen: list[Any] = [None]
        self._inner: list[Any] = []
        self._inside: list[Any] = []
        self._values: list[Any] | None = None
        self._places = [(vars(each), name) for each, name, _ in self.reads]
        # Modules with an attribute that each call assigns are looked at without it, and nothing else holds it.
        assigned = {id(self.members[i]) for i, _ in kept}
        self._assigned = [each for each in self.members if id(each) in assigned]
        self._objects: list[Any] = [each for each in self.members if id(each) not in assigned]
        self._objects += [vars(each) for each in self._objects]
        self._others = [(vars(each), name) for each in self._assigned for name in _PARTS]
        self._others += [(vars(each), name) for each, name, _ in self.reads if id(each) in assigned]
        self._rest: list[Any] = []
        self._spaces, self._variables = [space for space, *_ in self.globals], [name for _, name, _ in self.globals]
        self._read: list[Any] = []
        if self.is_in_mode():
            self._look()

    def _look(self) -> None:
        """Notes the objects that `_is_untouched` and `_is_alike` compare."""
        self._values = [own.get(name, _ABSENT) for own, name in self._places]
        self._read = list(map(getitem, self._spaces, self._variables))
        cells = [cell for cell, _ in self.cells]
        found = watched([*self._values, *self._read, *[cell.cell_contents for cell in cells]], self._own)
        self._empty = [each for each in found.containers if isinstance(each, (dict, list, set)) and not each]
        empty = set(map(id, self._empty))
        self._empty += GLOBAL_HOOKS
        self._inner = [*cells, *[each for each in found.containers if id(each) not in empty]]
        self._counted = [(each, _version(each)) for each in found.tensors]
        self._arrays = [(each, each.tobytes()) for each in found.arrays]
        self._rare = bool(self.switches or self.missing or self._counted or self._arrays)
        self._inside = _referents(*self._inner)
        self._held = [*self._objects, *[modules for modules, _ in self.children], *self._inner]
        self._seen, self._rest = _referents(*self._held), self._now()

    def _now(self) -> list[Any]:
        """Of modules with an attribute that each call assigns, the objects that are compared."""
        found = [*map(type, self._assigned), *map(vars, self._assigned)]
        return [*found, *[own.get(name, _ABSENT) for own, name in self._others]]

    def _is_untouched(self) -> bool:
        """Whether all attributes of all modules, and what else is watched, are the objects that they were: far more than was
        read, but quick. (Where they are not, numbers are compared: 1, 1.0 and True are one here.)"""
        try:
            return (
                _referents(*self._held) == self._seen
                and (not self._assigned or self._now() == self._rest)
                and not any(self._empty)
                and (not self._read or list(map(getitem, self._spaces, self._variables)) == self._read)
            )
        except Exception:  # of tensors and arrays there is no saying
            return False

    def _is_alike(self) -> bool:
        """The same of what was read."""
        try:
            return (
                [own.get(name, _ABSENT) for own, name in self._places] == self._values
                and _referents(*self._inner) == self._inside
                and not any(self._empty)
                and (not self._read or list(map(getitem, self._spaces, self._variables)) == self._read)
            )
        except Exception:
            return False

    def is_in_mode(self) -> bool:
        return [each.training for each, _ in zip(self.members, self.modes)] == self.modes

    def is_same(self) -> bool:
        """Whether nothing has changed, the modes included, as far as objects say. A part of each call."""
        try:  # as in `_is_untouched`, without the call
            same = _referents(*self._held) == self._seen and not any(self._empty)
            same = same and (not self._assigned or self._now() == self._rest)
            same = same and (not self._read or list(map(getitem, self._spaces, self._variables)) == self._read)
        except Exception:
            same = False
        if not same:
            if not self.is_in_mode() or not self._has_structure():
                return False
            if self._is_alike():
                self._seen, self._rest = _referents(*self._held), self._now()
            elif self.changes():
                return False
            else:
                self._look()
        if _default_dtype() is not self.dtype:
            return False
        for owner, key in self.absent:
            if owner[key] is not None:
                return False
        for owner, key, other, alias in self.ties:
            if owner[key] is not other[alias]:
                return False
        for each in self.integers:
            if not each.is_same():
                return False
        return not self._rare or (self._has_switches() and not self._has_more() and self._has_contents())

    def is_right(self) -> bool:
        """Whether what was compiled is right for the module, in the modes that it is in."""
        try:  # the usual case, quickly
            if self.is_same() and list(map(_layout, map(getitem, *self._present))) == self.layouts:
                return True
        except (AttributeError, KeyError):  # something else where a tensor was
            pass
        return self.is_in_mode() and self.is_current()

    def is_current(self) -> bool:
        """Whether what was compiled is right for the module, in the modes that it was compiled for."""
        return self.has_structure() and self.has_values()

    def has_structure(self) -> bool:
        """Whether it has the submodules and the tensors that it had."""
        if not self._is_untouched() and not self._has_structure():
            return False
        try:
            for owner, key in self.absent:
                if owner[key] is not None:
                    return False
            for (owner, key), layout in zip(self.present, self.layouts):
                if owner[key] is None or _layout(owner[key]) != layout:
                    return False
            for owner, key, other, alias in self.ties:
                if owner[key] is not other[alias]:
                    return False
        except KeyError:
            return False
        return not self._has_more()

    def has_values(self) -> bool:
        """Whether what was read has the values that it had."""
        try:
            if not all([each.is_current() for each in self.integers]):
                return False
        except KeyError:
            return False
        if not self._has_switches():
            return False
        return (self._has_contents() and (self._is_untouched() or self._is_alike())) or not self.changes()

    def changes(self) -> list[str]:
        """The attributes and variables that were read and are not what they were."""
        found = []
        for each, name, value in self.reads:
            own = vars(each)
            if (frozen(own[name], self._own) if name in own else _ABSENT) != value:
                path = self.paths.get(id(each)) or type(each).__name__
                found.append(f"'{name}' of '{path}'")
        found += ["hooks of all modules"] if any(GLOBAL_HOOKS) else []
        found += [f"'{name}'" for space, name, value in self.globals if frozen(space.get(name), self._own) != value]
        if any(frozen(_content(cell), self._own) != value for cell, value in self.cells):
            found.append("a variable of an enclosing function")
        return found

    def _has_structure(self) -> bool:
        if list(map(type, self.members)) != self._types:
            return False
        for each, attributes in zip(self.members, self._attributes):
            if vars(each) is not attributes:
                return False
        for modules, children in self.children:
            if len(modules) != len(children):
                return False
            for child, expected in zip(modules.values(), children):
                if child is not expected:
                    return False
        return True

    def _has_switches(self) -> bool:
        if _default_dtype() is not self.dtype:
            return False
        return not self.switches or all([ask() == before for ask, before in self.switches])

    def _has_contents(self) -> bool:
        """Whether tensors and arrays in what was read are what they were."""
        for tensor, version in self._counted:
            if version < 0 or _version(tensor) != version:
                return False
        return not self._arrays or all([each.tobytes() == before for each, before in self._arrays])

    def _has_more(self) -> bool:
        return any([name in owner for owner, name in self.missing])


#: Of a name that is no attribute of the module itself.
_ABSENT = object()
#: What a module has besides attributes of the user's.
_PARTS = ("training", "_parameters", "_buffers", "_modules")

_referents, _default_dtype = gc.get_referents, torch.get_default_dtype
_layout = attrgetter("shape", "dtype")


def _content(cell: Any) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # emptied
        return _ABSENT


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
