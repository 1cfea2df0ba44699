# Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
# See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a trace of a module has read of Python's state: attributes of modules, class attributes, variables of the user's
own files, switches of PyTorch. All of it is compiled in; `_state.py` compares it at each call.

Reads are recorded while torch.export runs `forward` as Python does. Dynamo reads by itself: what it has traced counts as
having read every attribute.
"""

from __future__ import annotations

import collections
import contextlib
import dis
import functools
import gc
import sys
import sysconfig
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Set
from dataclasses import dataclass, field
from types import BuiltinFunctionType, CodeType, FunctionType, MethodType, ModuleType
from typing import Any

import torch
from torch import Tensor, nn

from ._scripts import interpreted

#: What every module has, and what is looked at elsewhere: which submodules and tensors there are, and the mode.
_OWN = {
    *("_parameters", "_buffers", "_modules", "_non_persistent_buffers_set", "training", "__class__", "__dict__"),
    *("_gnnc", "_gnnc_module"),
    *("_is_full_backward_hook", "_forward_hooks_with_kwargs", "_forward_hooks_always_called"),
    *("_forward_pre_hooks_with_kwargs", "_state_dict_hooks", "_state_dict_pre_hooks"),
    *("_load_state_dict_pre_hooks", "_load_state_dict_post_hooks"),
}

#: Switches that a forward may ask for, by the names of the functions that say how they are.
SWITCHES: dict[str, Callable[[], Any]] = {
    name: getattr(torch, name)
    for name in (
        *("is_grad_enabled", "is_inference_mode_enabled", "is_anomaly_enabled"),
        *("are_deterministic_algorithms_enabled", "is_deterministic_algorithms_warn_only_enabled"),
        *("get_float32_matmul_precision", "get_num_threads", "get_default_device"),
    )
    if hasattr(torch, name)
}

#: Hooks of all modules.
GLOBAL_HOOKS: list[dict[Any, Any]] = [
    getattr(nn.modules.module, f"_global_{kind}_hooks", {}) for kind in ("forward", "forward_pre", "backward", "backward_pre")
]

_PLAIN = (bool, int, float, complex, str, bytes, type(None), torch.dtype, torch.device)
_FUNCTIONS = (FunctionType, BuiltinFunctionType, MethodType, functools.partial)


def is_plain(value: Any) -> bool:
    """Numbers, strings and the like, and tuples of them: what is never changed in place."""
    if isinstance(value, tuple):
        return all(map(is_plain, value))
    return isinstance(value, _PLAIN)


def members_of(module: nn.Module) -> list[nn.Module]:
    """All modules that a call may run: submodules, and those that one of them has as a plain attribute or in a list. What
    stands for modules of TorchScript is in their places."""
    found = list(map(interpreted, module.modules()))
    seen = set(map(id, found))
    for each in found:  # grows meanwhile
        for value in vars(each).values():
            for hidden in _modules_in(value):
                more = [inner for inner in map(interpreted, hidden.modules()) if id(inner) not in seen]
                seen.update(map(id, more))
                found += more
    return found


def path_of(module: nn.Module, member: nn.Module) -> str:
    """What messages call a member: its path, or its class."""
    path = next((path for path, each in module.named_modules() if each is member), "")
    return path or type(member).__name__


def _modules_in(value: Any, depth: int = 0) -> Iterator[nn.Module]:
    if isinstance(value, nn.Module):
        yield value
    elif depth < 3 and type(value) in (list, tuple, dict):
        for each in value.values() if isinstance(value, dict) else value:
            yield from _modules_in(each, depth + 1)


@dataclass
class Reads:
    """Of a module's trace. Modules go by their numbers in `members_of`, so that it holds for copies too."""

    names: dict[int, set[str]] = field(default_factory=dict)
    everything: bool = False  #: all attributes, since nobody knows which

    def of(self, number: int, member: nn.Module) -> list[str]:
        """The attributes of a member that count."""
        own = vars(member)
        hooks = [name for name in own if name.endswith("_hooks") and name not in _OWN]
        if self.everything:
            return list(dict.fromkeys([*hooks, *(name for name in own if name not in _OWN), "forward"]))
        found = self.names.get(number, set())
        if "__dict__" in found:
            found = found | {name for name in own if name not in _OWN}
        return sorted({*hooks, *found} - _OWN)


class _Recorder:
    def __init__(self, module: nn.Module, reads: Reads) -> None:
        self.numbers = {id(each): i for i, each in enumerate(members_of(module))}
        self.names: dict[int, set[str]] = {i: reads.names.setdefault(i, set()) for i in self.numbers.values()}
        self.written: dict[tuple[int, str], tuple[nn.Module, Any]] = {}  #: what each attribute was set to last
        self.read_first: set[tuple[int, str]] = set()  #: attributes that were read before they were set


_active: dict[int, list[_Recorder]] = {}  # by threads
_lock = threading.Lock()
_setattr, _delattr = nn.Module.__setattr__, nn.Module.__delattr__


def _getattribute(self: nn.Module, name: str) -> Any:
    for recorder in _active.get(threading.get_ident(), ()):
        number = recorder.numbers.get(id(self))
        if number is None:
            continue
        # nn.Module, torch.export and this package look into this dict by themselves; others read what it has.
        if name != "__dict__" or not sys._getframe(1).f_globals.get("__name__", "").startswith(("torch.", "gnnc.")):
            recorder.names[number].add(name)
            if (id(self), name) not in recorder.written:
                recorder.read_first.add((id(self), name))
    return object.__getattribute__(self, name)


#: Who sets attributes without anything being kept: torch.export, and PyTorch's own modules, such as a weight that is made
#: anew in each call.
_MACHINERY = ("torch._", "torch.nn.", "gnnc.")


def _set(self: nn.Module, name: str, value: Any) -> None:
    for recorder in _active.get(threading.get_ident(), ()):
        if id(self) in recorder.numbers and not sys._getframe(1).f_globals.get("__name__", "").startswith(_MACHINERY):
            recorder.written[id(self), name] = self, value
    _setattr(self, name, value)


def _delete(self: nn.Module, name: str) -> None:
    """Nothing is kept in an attribute that is taken away again."""
    _delattr(self, name)
    for recorder in _active.get(threading.get_ident(), ()):
        if (id(self), name) in recorder.written:
            recorder.written[id(self), name] = self, None


@contextlib.contextmanager
def recorded(module: nn.Module, reads: Reads) -> Iterator[_Recorder]:
    """Adds what this thread reads of the module and its members meanwhile."""
    recorder, thread = _Recorder(module, reads), threading.get_ident()
    with _lock:
        if not _active:
            nn.Module.__getattribute__ = _getattribute  # type: ignore[method-assign]
            nn.Module.__setattr__ = _set  # type: ignore[method-assign, assignment]
            nn.Module.__delattr__ = _delete  # type: ignore[method-assign]
        _active.setdefault(thread, []).append(recorder)
    try:
        yield recorder
    finally:
        with _lock:
            _active[thread].remove(recorder)
            if not _active[thread]:
                del _active[thread]
            if not _active:
                del nn.Module.__getattribute__
                nn.Module.__setattr__ = _setattr  # type: ignore[method-assign]
                nn.Module.__delattr__ = _delattr  # type: ignore[method-assign]


# Functions, and the variables that they name.


@functools.cache
def _installed() -> tuple[str, ...]:
    paths = sysconfig.get_paths()
    return tuple({paths[name] for name in ("stdlib", "platstdlib", "purelib", "platlib") if name in paths})


def _is_users(function: FunctionType) -> bool:
    """Whether it stands in a file of the user's, not of an installed package, nor is it made by one."""
    package = sys.modules.get(_package(function))
    return not any(
        str(name).startswith((*_installed(), "<frozen"))
        for name in (function.__code__.co_filename, getattr(package, "__file__", None))
    )


def _function(value: Any) -> FunctionType | None:
    while isinstance(value, (functools.partial, MethodType, staticmethod, classmethod)):
        value = value.func if isinstance(value, functools.partial) else value.__func__
    if isinstance(value, property):
        value = value.fget
    return value if isinstance(value, FunctionType) else None


def _names(code: CodeType) -> set[str]:
    return set(code.co_names).union(*[_names(each) for each in code.co_consts if isinstance(each, CodeType)])


def _names_of_globals(code: CodeType, operations: tuple[str, ...] = ("LOAD_GLOBAL", "LOAD_NAME")) -> set[str]:
    """Those of them that are variables, where the others are attributes: scripts have many variables that are called as an
    attribute is."""
    own = {each.argval for each in dis.get_instructions(code) if each.opname in operations}
    return own.union(*[_names_of_globals(each, operations) for each in code.co_consts if isinstance(each, CodeType)])


def _package(function: FunctionType) -> str:
    return function.__module__.partition(".")[0] if function.__module__ else ""


def _dict_of(owner: type) -> Mapping[str, Any]:
    """The dict of a class itself: `vars` gives another view of it each time."""
    return next((each for each in gc.get_referents(vars(owner)) if isinstance(each, dict)), vars(owner))


@dataclass
class Variables:
    """What functions name besides attributes of modules."""

    globals: list[tuple[Mapping[str, Any], str]] = field(default_factory=list)  #: of a file or of a class
    cells: list[Any] = field(default_factory=list)  #: variables of enclosing functions
    switches: list[str] = field(default_factory=list)


def variables_of(members: list[nn.Module], reads: Reads) -> Variables:
    """Of the methods that were read, and of what they call in the same package."""
    result = Variables()
    left: list[FunctionType] = []
    seen: set[int] = set()
    switches: set[str] = set()
    places: set[tuple[int, str]] = set()

    def add(space: Mapping[str, Any], name: str) -> None:
        if (id(space), name) not in places:
            places.add((id(space), name))
            result.globals.append((space, name))

    def visit(value: Any) -> None:
        function = _function(value)
        if function is not None and id(function) not in seen and not (function.__module__ or "").startswith("torch."):
            seen.add(id(function))
            left.append(function)

    for number, member in enumerate(members):
        names = reads.of(number, member)
        for name in [*names, *dir(type(member))] if reads.everything else names:
            own = vars(member).get(name)
            if name in vars(member):
                for each in own.values() if name.endswith("_hooks") and isinstance(own, dict) else (own,):
                    visit(each)
                continue
            owner = next((each for each in type(member).__mro__ if name in vars(each)), None)
            if owner is None or owner is nn.Module or owner is object or name.startswith("__"):
                continue
            called = _function(vars(owner)[name])
            visit(called)
            if is_plain(vars(owner)[name]) or (called is not None and _is_users(called)):
                add(_dict_of(owner), name)
    while left and len(seen) < 2000:
        function = left.pop()
        names = _names(function.__code__)
        switches |= names & SWITCHES.keys()
        space = function.__globals__
        for cell in function.__closure__ or ():
            with contextlib.suppress(ValueError):  # empty
                visit(cell.cell_contents)
                if _is_users(function) and _counts(cell.cell_contents):
                    result.cells.append(cell)
        for name in _names_of_globals(function.__code__) & space.keys():
            value = space[name]
            called = _function(value)
            if called is not None and _package(called) == _package(function):
                visit(called)
            if not _is_users(function) or (called is not None and not _is_users(called)):
                continue
            elif isinstance(value, ModuleType):
                inner = vars(value)
                if getattr(value, "__file__", None) and not str(value.__file__).startswith(_installed()):
                    for each in names & inner.keys():
                        visit(inner[each])
                        if _counts(inner[each]):
                            add(inner, each)
            elif _counts(value):
                add(space, name)
    result.switches = sorted(switches)
    return result


def _counts(value: Any) -> bool:
    """Whether a variable is compared: not classes, modules of either kind, and what is not of Python."""
    return not isinstance(value, (ModuleType, nn.Module, type, BuiltinFunctionType))


@dataclass
class Watched:
    """What could be changed in place."""

    containers: list[Any] = field(default_factory=list)  #: lists, sets, dicts, and objects
    tensors: list[Tensor] = field(default_factory=list)
    arrays: list[Any] = field(default_factory=list)


#: As many values are looked into, and as deep.
_MOST, _DEEPEST = 4096, 6


def watched(values: Iterable[Any], own: Set[int]) -> Watched:
    """What values have in them: numbers in lists, attributes of objects. `own`: tensors that are parameters and buffers, by
    their ids, whose numbers are read at each call."""
    found = Watched()
    left = [(value, 0) for value in values]
    seen: set[int] = set()
    while left and len(seen) < _MOST:
        value, depth = left.pop()
        if is_plain(value) or id(value) in seen:
            continue
        seen.add(id(value))
        if isinstance(value, Tensor):
            if depth and id(value) not in own:  # those that are attributes themselves are compared by their numbers
                found.tensors.append(value)
        elif _is_array(value):
            found.arrays.append(value)
        elif isinstance(value, (type, ModuleType, nn.Module, *_FUNCTIONS)) or depth > _DEEPEST:
            continue
        else:
            inner = _parts(value)
            if not isinstance(value, (tuple, frozenset)) and type(value) is not object:
                found.containers.append(value)
                if type(value).__module__ not in ("builtins", "collections") and hasattr(value, "__dict__"):
                    found.containers.append(vars(value))
            left += [(each, depth + 1) for each in inner]
    return found


def _is_array(value: Any) -> bool:
    numpy = sys.modules.get("numpy")
    return numpy is not None and isinstance(value, numpy.ndarray)


def _parts(value: Any) -> list[Any]:
    """What a container or an object has in it."""
    # As the container itself has them: a class of the user's may give something else, or raise.
    if isinstance(value, dict):
        return [each for _, each in _items(value)]
    for kind in (list, tuple, set, frozenset, collections.deque):
        if isinstance(value, kind):
            return [*kind.__iter__(value)]
    slots = [name for kind in type(value).__mro__ for name in getattr(kind, "__slots__", ()) if isinstance(name, str)]
    slots = [getattr(value, name) for name in slots if name != "__dict__" and hasattr(value, name)]
    return [*slots, *getattr(value, "__dict__", {}).values()]


def _items(value: dict[Any, Any]) -> Any:
    """In the order in which they come, which OrderedDict can change."""
    return collections.OrderedDict.items(value) if isinstance(value, collections.OrderedDict) else dict.items(value)


class _Same:
    """A part of a frozen value that is compared as an object."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and other.value is self.value

    __hash__ = None  # type: ignore[assignment]


def frozen(value: Any, own: Set[int], seen: dict[int, int] | None = None, depth: int = 0) -> Any:
    """Something equal to what an equal value gives later, and to nothing else. It looks into what `watched` looks into."""
    if isinstance(value, float):
        return float, value.hex()
    if isinstance(value, _PLAIN):
        return type(value), value
    seen = {} if seen is None else seen
    if isinstance(value, Tensor):
        return _Same(value), -1 if id(value) in own or value.is_inference() else value._version
    if _is_array(value):
        return value.dtype.str, value.shape, value.tobytes()
    if isinstance(value, (type, ModuleType, nn.Module, *_FUNCTIONS)) or depth > _DEEPEST:
        return _Same(value)
    if id(value) in seen or len(seen) >= _MOST:
        return _Same(value)
    seen[id(value)] = depth
    if isinstance(value, dict):
        return type(value), [(_key(key), frozen(each, own, seen, depth + 1)) for key, each in _items(value)]
    if isinstance(value, (set, frozenset)):
        return type(value), sorted(map(repr, value))
    parts = [frozen(each, own, seen, depth + 1) for each in _parts(value)]
    return (type(value), parts) if isinstance(value, (list, tuple, collections.deque)) else (_Same(value), parts)


def _key(key: Any) -> Any:
    return (type(key), key) if is_plain(key) else _Same(key)
