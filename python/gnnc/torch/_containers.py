# Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
# See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Modules that are called with a graph as one object, `model(data)`: a container that has its tensors in stores, mappings by
name, one for each kind of node or edge, such as PyTorch Geometric's `Data`, `HeteroData` and `Batch`. A matrix of
torch.sparse is another.

What is compiled is a module that is given the tensors, and puts the container together again. Numbers are compiled in, and
whatever else a container has (names, lists) is left out.
"""

from __future__ import annotations

import copy
import inspect
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from . import _sparse
from ._wrapper import Wrapper, named_as


def is_container(value: Any) -> bool:
    kind = type(value)
    if issubclass(kind, Tensor):
        return _sparse.is_matrix(value)
    return isinstance(getattr(kind, "stores", None), property) and hasattr(kind, "__copy__")


def has_containers(args: Sequence[Any], kwargs: dict[str, Any]) -> bool:
    return any(map(is_container, args)) or (bool(kwargs) and any(map(is_container, kwargs.values())))


#: Of a store with one of these the number of nodes follows.
_SIZED = ("x", "pos", "batch")


def _keys(store: Any) -> tuple[str, ...]:
    """What a call is given of a store, in an order that does not depend on how it was filled."""
    found = [key for key, value in store.items() if isinstance(value, (Tensor, bool, int, float))]
    if "num_nodes" in found and any(isinstance(store[key], Tensor) for key in _SIZED if key in found):
        found.remove("num_nodes")
    return tuple(sorted(found))


#: Of a call: what each argument is, by its name or its number: a class with the keys of its stores, that of a sparse matrix
#: and whether it is square, or None for others.
Layout = tuple[tuple[Any, Any], ...]


def layout_of(args: Sequence[Any], kwargs: dict[str, Any]) -> Layout:
    def one(value: Any) -> Any:
        if not is_container(value):
            return None
        if isinstance(value, Tensor):
            return _sparse.Matrix, value.size(0) == value.size(1)
        return type(value), tuple((getattr(store, "_key", None), _keys(store)) for store in value.stores)

    return (*((i, one(value)) for i, value in enumerate(args)), *((name, one(kwargs[name])) for name in sorted(kwargs)))


def spread(args: Sequence[Any], kwargs: dict[str, Any], layout: Layout) -> list[Any]:
    """The arguments of a call with what is in containers in their places."""
    result: list[Any] = []
    for place, kind in layout:
        value = args[place] if isinstance(place, int) else kwargs[place]
        if kind is None:
            result.append(value)
        elif kind[0] is _sparse.Matrix:
            result += [*_sparse.tensors_of(value), *_sparse.sizes_of(value)]
        else:
            result += [store[key] for store, (_, keys) in zip(value.stores, kind[1]) for key in keys]
    return result


def _emptied(container: Any) -> Any:
    """A container with the same stores, and nothing in them."""
    result = copy.copy(container)
    for store in result.stores:
        for key in list(store.keys()):
            del store[key]
        # Notes on how it was made, such as how many graphs are in a batch: what follows from tensors is right for others too.
        for name, value in list(vars(store).items()):
            if name.startswith("_") and isinstance(value, (int, dict)) and value:
                del vars(store)[name]
    return result


@dataclass
class _Call:
    layout: Layout
    empty: dict[Any, Any]  #: containers to fill, by the argument

    def arguments(self, leaves: Sequence[Any]) -> tuple[list[Any], dict[str, Any]]:
        given = iter(leaves)
        args, kwargs = [], {}
        for place, kind in self.layout:
            if kind is None:
                value = next(given)
            elif kind[0] is _sparse.Matrix:
                value = _sparse.Matrix(*[next(given) for _ in range(3 if kind[1] else 4)])
            else:
                # Dynamo cannot follow copies of Python, and leaves the objects that a trace changes as they were.
                empty = self.empty[place]
                value = empty if torch.compiler.is_dynamo_compiling() else copy.copy(empty)
                for store, (_, keys) in zip(value.stores, kind[1]):
                    for key in keys:
                        store[key] = next(given)
            if isinstance(place, int):
                args.append(value)
            else:
                kwargs[place] = value
        return args, kwargs


class Spread(Wrapper):
    """A module that takes the tensors of containers in their places."""

    def __init__(self, module: nn.Module, call: _Call) -> None:
        super().__init__(module)
        self.__dict__["_call"] = call

    def forward(self, *leaves: Any) -> Any:
        args, kwargs = self.__dict__["_call"].arguments(leaves)
        return self.__dict__["_gnnc_wrapped"](*args, **kwargs)


def _names(module: nn.Module, layout: Layout) -> list[str]:
    """Of each argument that a call is given: `data_x`, and `data_paper_x` of one of several stores."""
    positional = [
        each.name
        for each in inspect.signature(module.forward).parameters.values()
        if each.kind in (each.POSITIONAL_ONLY, each.POSITIONAL_OR_KEYWORD)
    ]
    names: list[str] = []
    for place, kind in layout:
        name = place if isinstance(place, str) else positional[place] if place < len(positional) else f"argument_{place}"
        if kind is None:
            names.append(name)
            continue
        if kind[0] is _sparse.Matrix:
            names += [f"{name}_{part}" for part in ("indices", "values", "rows", "columns")[: 3 if kind[1] else 4]]
            continue
        for store, keys in kind[1]:
            parts = [store] if isinstance(store, str) else list(store or ())
            names += ["_".join([name, "__".join(map(str, parts)), key] if parts else [name, key]) for key in keys]
    return [re.sub(r"\W", "_", name) for name in names]


def spreading(module: nn.Module, args: Sequence[Any], kwargs: dict[str, Any], layout: Layout) -> nn.Module:
    """Called with what `spread` gives. In what the compiler says of it, it is called as the module is."""
    empty = {
        place: _emptied(args[place] if isinstance(place, int) else kwargs[place])
        for place, kind in layout
        if kind is not None and kind[0] is not _sparse.Matrix
    }
    names = _names(module, layout)
    parameters = [inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD) for name in names]
    signature = inspect.Signature(parameters) if len(set(names)) == len(names) else None
    return named_as(module, Spread, signature)(module, _Call(layout, empty))  # type: ignore[call-arg]
