# Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
# See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The arguments of an exported model: those of the program that was exported.

The description says of each root space, root map and computed input what it comes from, such as `edge_index[0]` or
`size(x, 0)` (_sources.py). Arguments whose numbers are read for that make the graph; their places, and the sizes that
are read, are what a prepared graph is found by.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from . import _abi, _sources
from ._arguments import Arguments, Data, Resolved
from ._arrays import View, as_dense, as_floats, view
from ._description import Description, Value
from ._errors import Error
from ._graph import IndexData


class ExportedArguments:
    """Reads the arguments of calls of one exported model."""

    def __init__(self, description: Description) -> None:
        self.description = description
        self.spaces = {name: _sources.parse(space.source) for name, space in description.roots.items() if space.source}
        self.maps = {
            name: _sources.parse(found.source) for name, found in description.root_maps.items() if found.source
        }
        self.computed = {
            name: _sources.parse(value.source) for name, value in description.inputs.items() if value.source
        }
        sources = [*self.spaces.values(), *self.maps.values(), *self.computed.values()]
        read: set[str] = set().union(*map(_sources.names, sources)) if sources else set()
        self.graph_names: set[str] = set().union(*map(_sources.contents, sources)) if sources else set()
        # What the object has itself is no argument.
        read -= set(description.integers)
        self.graph_names -= set(description.integers)
        self.inputs = {
            name: value for name, value in description.inputs.items() if not value.gradient and not value.source
        }
        #: Arguments of which only sizes are read.
        self.sized = read - self.graph_names
        self.names = [*self.inputs, *sorted(read - set(self.inputs))]

    def symbolic_extents(self, arguments: Mapping[str, Any], known: dict[str, Any]) -> dict[str, Any]:
        """Extents that are sizes of arguments, which may be symbols. `known`: those of values."""
        for name, source in self.spaces.items():
            while isinstance(source, _sources.Apply) and source.function in ("at_least", "at_most"):
                source = source.arguments[0]
            if isinstance(source, _sources.Apply) and source.function == "size":
                of, axis = source.arguments
                if isinstance(of, _sources.Name) and isinstance(axis, int) and of.name in arguments:
                    known.setdefault(name, arguments[of.name].shape[axis])
        return known

    def resolve(self, arguments: Mapping[str, Any], extents: Mapping[str, int] | None = None) -> Resolved:
        result = ResolvedExport(self)
        if extents:
            result.extents.update(extents)
        for name, given in arguments.items():
            if given is None:
                continue
            known = self.description.find(name)
            is_input = known is not None and not known.source
            if not is_input and name not in self.names:
                raise Error(f"unknown argument '{name}': expected one of {', '.join(self.names)}", 1)
            found = view(given, name)
            result.given[name] = found
            if name in self.graph_names:
                result.arrays.append(found)
            if is_input:
                assert known is not None
                result.values[name] = as_floats(found, known.dtype, name)
        for name, space in self.description.spaces.items():
            if space.kind == "static" and space.extent is not None:
                result.extents.setdefault(name, space.extent)
        return result


class ResolvedExport(Resolved):
    """The arguments of one call of an exported model; the graph's data are computed when they are asked for."""

    def __init__(self, arguments: ExportedArguments) -> None:
        super().__init__()
        self.arguments = arguments
        self.given: dict[str, View] = {}

    @property
    def key(self) -> tuple[object, ...]:
        sizes = tuple((name, self.given[name].shape) for name in sorted(self.arguments.sized & set(self.given)))
        return (tuple(self.extents.items()), sizes, tuple(array.key for array in self.arrays))

    def missing(self, spaces: Any) -> str | None:
        return None  # what a source needs is asked for when it is computed

    def data(
        self,
        whole: Mapping[_sources.Source, int] | None = None,
        apply: Callable[[_sources.Apply, list[Any]], Any] = _sources.apply_function,
    ) -> Data:
        """On one of several ranks: `whole`, sizes of the whole graph, which numbers of all ranks are computed from, and
        `apply`, which gives the values of functions there (_part_sources.py)."""
        given = {name: found.owner for name, found in self.given.items()}
        given |= self.arguments.description.integers
        known: dict[_sources.Source, Any] = {}
        device = self.device

        def evaluate(what: str, source: _sources.Source, known: dict[_sources.Source, Any] = known) -> Any:
            try:
                value = _sources.evaluate(source, given, known, apply)
            except Error as error:
                raise type(error)(f"{what}: {error}", error.status) from error
            return placed(value) if isinstance(value, np.ndarray) else value

        def placed(value: np.ndarray) -> Any:
            """What is made of sizes alone, where the graph is."""
            if device is None or device[0] == _abi.CPU:
                return value
            torch = sys.modules["torch"]
            return torch.as_tensor(value, device=torch.device("cuda", device[1]))

        extents = dict(self.extents)
        for name, source in self.arguments.spaces.items():
            extents[name] = int(evaluate(f"space '{name}'", source))
        indices = []
        for name, source in self.arguments.maps.items():
            targets = as_dense(_as_indices(view(evaluate(f"map '{name}'", source), name), name))
            if targets.dtype not in ("i32", "i64") or len(targets.shape) != 1:
                found = f"{targets.dtype} {list(targets.shape)}"
                raise Error(f"map '{name}' of {source_text(self, name)}: expected int32 or int64 [E], found {found}", 1)
            indices.append(IndexData(name, targets, 0, targets.shape[0]))
        values = {}
        for name, source in self.arguments.computed.items():
            value: Value = self.arguments.description.inputs[name]
            if whole is not None and value.space is None:
                if _sources.names(source, whole):
                    text = f"'{self.arguments.description.inputs[name].source}'"
                    raise Error(f"input '{name}' of {text}: expected sizes that all ranks know, found one rank's", 4)
                numbers = evaluate(f"input '{name}'", source, dict(whole))
            else:
                numbers = evaluate(f"input '{name}'", source)
            values[name] = _reshaped(placed(np.array(numbers)) if isinstance(numbers, int) else numbers, value, name)
        return Data(extents, indices, values)


def _as_indices(found: View, name: str) -> View:
    """Truth values and small integers choose too, as of two rows."""
    if found.dtype not in ("bool", "u8", "i8", "i16"):
        return found
    return view(found.owner.long() if found.is_torch else found.owner.astype(np.int64), name)


def _reshaped(numbers: Any, value: Value, name: str) -> View:
    """A list of integers as what an input is on: a number for each element, in the input's shape."""
    shape = ((-1,) if value.space is not None else ()) + value.dims
    return as_floats(view(numbers.reshape(shape), name), value.dtype, name)


def source_text(resolved: ResolvedExport, name: str) -> str:
    return f"'{resolved.arguments.description.maps[name].source}'"


def make_arguments(description: Description) -> Arguments | ExportedArguments:
    return ExportedArguments(description) if description.exported else Arguments(description)
