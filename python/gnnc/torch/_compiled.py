# Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
# See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compiled modules: what `gnnc.compile` returns.

A compiled module is the user's module but for calls. Methods and attributes are the user's, also those that its class
overrides: nn.Module's are called on the user's module. The compiled module itself has the call, its forward and backward
hooks, and what is compiled, under names that begin with `_gnnc`.
"""

from __future__ import annotations

import copy
import functools
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from types import MethodType
from typing import TYPE_CHECKING, Any, TypeVar

from torch import nn

from ._module import Options, Runner

if TYPE_CHECKING:
    from ..ranks import PartFile

_Method = TypeVar("_Method", bound=Callable[..., Any])

#: Of nn.Module's methods and attributes, those that make a call what it is.
_OF_CALLS = {
    *("forward", "_call_impl", "_wrapped_call_impl", "_slow_forward", "_compiled_call_impl", "compile"),
    *("_get_backward_hooks", "_get_backward_pre_hooks", "_maybe_warn_non_full_backward_hook"),
    *("register_forward_hook", "register_forward_pre_hook", "register_backward_hook"),
    *("register_full_backward_hook", "register_full_backward_pre_hook", "_replicate_for_data_parallel"),
}

#: Dicts that both modules have, so that whatever is done to one is done to both, by code that takes them as they are too.
_SHARED = (
    *("_parameters", "_buffers", "_modules", "_non_persistent_buffers_set"),
    *("_state_dict_hooks", "_state_dict_pre_hooks", "_load_state_dict_pre_hooks", "_load_state_dict_post_hooks"),
)

#: What is set on the compiled module itself: its hooks, and what it shares.
_OWN = {*vars(nn.Module())} - {"training"} | {"forward", "_compiled_call_impl", "_is_replica", "__class__", "__dict__"}

#: Methods that Python and PyTorch look for in classes, if the user's class has them.
_SPECIAL = (
    *("get_extra_state", "set_extra_state"),
    *("__len__", "__getitem__", "__setitem__", "__delitem__", "__iter__", "__next__", "__reversed__", "__contains__"),
    *("__bool__", "__int__", "__float__", "__index__", "__enter__", "__exit__", "__str__", "__format__"),
    *(f"__{kind}{name}__" for name in ("add", "sub", "mul", "matmul", "truediv", "or", "and") for kind in ("", "r", "i")),
)


def _offered(method: _Method) -> _Method:
    """A method that the user's module does not have: one of the same name comes first."""

    class Offered:
        def __get__(self, instance: CompiledModule | None, owner: type) -> Any:
            if instance is None:
                return method
            try:
                return getattr(vars(instance)["_gnnc_module"], method.__name__)
            except AttributeError:
                return MethodType(method, instance)

    return Offered()  # type: ignore[return-value]


def _delegated(name: str, like: Callable[..., Any] | None = None) -> Callable[..., Any]:
    """A method that calls the user's. What returns the user's module returns the compiled one."""

    def call(self: CompiledModule, *args: Any, **kwargs: Any) -> Any:
        module = vars(self)["_gnnc_module"]
        result = getattr(module, name)(*args, **kwargs)
        return self if result is module else result

    if like is not None:
        return functools.wraps(like)(call)
    call.__name__ = name
    return call


def _attribute(name: str) -> property:
    return property(
        lambda self: getattr(vars(self)["_gnnc_module"], name),
        lambda self, value: setattr(vars(self)["_gnnc_module"], name, value),
    )


class CompiledModule(nn.Module):
    """A module whose `forward` runs compiled code. It has the same parameters, buffers, submodules, attributes and methods
    as the module that was compiled (the same objects): optimisers, `state_dict`, `to` and `train` work on both.

    `train()` and `eval()` are two compilations, each made when it is first needed. So is one after a submodule was
    replaced, parameters that were one are two, or a buffer of integers has other numbers. Hooks of submodules do not
    run. What `forward` does must not change otherwise (sizes of graphs apart): Python code runs only when it is compiled.

    `report`, `prefetch` and `partitioned` are here unless the module has attributes of these names.
    """

    _gnnc: Runner

    def __init__(self, module: nn.Module, options: Options | None = None) -> None:
        vars(self).update(vars(nn.Module()))  # its __init__ sets attributes, which are the user's here
        del vars(self)["training"]
        self._gnnc_set(Runner(module, options))

    def _gnnc_set(self, runner: Runner) -> None:
        own = vars(self)
        own["_gnnc"], own["_gnnc_module"] = runner, runner.module  # which is no submodule
        own.update({kind: vars(runner.module)[kind] for kind in _SHARED if kind in vars(runner.module)})
        kind = type(runner.module)
        special = [name for name in _SPECIAL if any(name in vars(each) for each in kind.__mro__ if each not in _BASES)]
        self.__class__ = _with(tuple(special))

    training = _attribute("training")  # type: ignore[assignment]

    def __getattr__(self, name: str) -> Any:
        if "_gnnc_module" not in vars(self):  # of an object that is being made
            raise AttributeError(name)
        return getattr(vars(self)["_gnnc_module"], name)

    def __setattr__(self, name: str, value: Any) -> None:
        if name in _OWN:
            object.__setattr__(self, name, value)
        else:
            setattr(vars(self)["_gnnc_module"], name, value)

    def __delattr__(self, name: str) -> None:
        if name in vars(self) and name not in _SHARED:
            object.__delattr__(self, name)
        else:
            delattr(vars(self)["_gnnc_module"], name)

    def __dir__(self) -> list[str]:
        return sorted({*object.__dir__(self), *dir(vars(self)["_gnnc_module"])})

    def __repr__(self) -> str:
        head = f"gnnc.compile({type(vars(self)['_gnnc_module']).__name__})"
        return "\n".join([head, *(f"  {line}" for line in vars(self)["_gnnc"].lines())])

    def __reduce_ex__(self, protocol: Any) -> Any:
        # What was compiled is compiled again where it is needed, or found in the cache.
        runner = vars(self)["_gnnc"]
        state = {name: value for name, value in vars(self).items() if name != "_gnnc" and name not in _SHARED}
        return CompiledModule.__new__, (CompiledModule,), (state, runner.options, runner.examples)

    def __setstate__(self, state: Any) -> None:
        own, options, examples = state
        vars(self).update(own)
        runner = Runner(own["_gnnc_module"], options)
        runner.examples = examples
        self._gnnc_set(runner)

    def __deepcopy__(self, memo: dict[int, Any]) -> CompiledModule:
        runner = vars(self)["_gnnc"]
        result = CompiledModule(copy.deepcopy(runner.module, memo), runner.options)
        memo[id(self)] = result
        result._gnnc_set(runner.copied(vars(result)["_gnnc_module"]))
        return result

    def named_modules(self, *args: Any, **kwargs: Any) -> Iterator[tuple[str, nn.Module]]:
        """As the user's module has them, but with the compiled one in its place."""
        module = vars(self)["_gnnc_module"]
        return ((name, self if each is module else each) for name, each in module.named_modules(*args, **kwargs))

    def modules(self) -> Iterator[nn.Module]:
        module = vars(self)["_gnnc_module"]
        return (self if each is module else each for each in module.modules())

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        return self.__dict__["_gnnc"].call(args, kwargs)

    @_offered
    def prefetch(self, *args: Any, **kwargs: Any) -> None:
        """Prepares the graph of a call to come, in another thread if that is where it is called: the call then finds it,
        if it is given the same index tensors, unchanged. Does nothing for arguments that the module was not compiled
        for. What is wrong with a graph is said by the call."""
        vars(self)["_gnnc"].prefetch(*args, **kwargs)

    @_offered
    def partitioned(self, part: PartFile) -> CompiledModule:
        """The module on this rank's part of a graph; all ranks call this at once, and make the same calls then.

        Arguments with a row for each element, and such results, are the rank's own rows, and index arrays are in the
        part's numbers, as `part.tensors` has them. Gradients of parameters are those of all ranks together, the same
        bits on each: an optimiser does the same everywhere, without DistributedDataParallel. So a loss has to be this
        rank's share of the whole, such as a sum over its own rows divided by the number of all. Masks of dropout are
        drawn by each rank for its own rows. Compiled for the arguments that this was compiled for, so that ranks need
        not agree on anything else; derivatives of second order are not there.
        """
        result = CompiledModule(vars(self)["_gnnc_module"])
        result._gnnc_set(vars(self)["_gnnc"].partitioned(part))
        return result

    @_offered
    def report(self, path: str | os.PathLike[str] | None = None, *, open_page: bool = True) -> Path:
        """Writes the compiler's page on this module (the graph after each phase, kernels, memory), opens it in a browser,
        and returns its path. The module must have been compiled for its present mode."""
        return vars(self)["_gnnc"].report(path, open_page=open_page)


_BASES = (nn.Module, object)


@functools.cache
def _with(special: tuple[str, ...]) -> type[CompiledModule]:
    """The class of compiled modules with some special methods."""
    if not special:
        return CompiledModule
    return type("CompiledModule", (CompiledModule,), {name: _delegated(name) for name in special})


for _name, _value in vars(nn.Module).items():
    if _name.startswith("__") or _name in (*_OF_CALLS, *_SPECIAL) or _name in vars(CompiledModule):
        continue
    setattr(CompiledModule, _name, _delegated(_name, _value) if callable(_value) else _attribute(_name))
