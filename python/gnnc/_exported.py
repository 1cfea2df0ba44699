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
from ._arguments import Arguments, Data, Resolved, elements_of
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
        #: All sources, by what messages call what they are of.
        self.sources = {
            **{f"space '{name}'": source for name, source in self.spaces.items()},
            **{f"map '{name}'": source for name, source in self.maps.items()},
            **{f"input '{name}'": source for name, source in self.computed.items()},
        }
        self.steps = _sources.Steps(self.sources)
        #: Arguments of which only sizes are read.
        self.sized = read - self.graph_names
        self._sized_in_order = sorted(self.sized)
        self._read = read
        #: What is given under a name and is no part of the graph: inputs, parameters, states.
        self._values: dict[str, Value] = {
            name: value
            for values in (description.states, description.params, description.inputs)
            for name, value in values.items()
            if not value.source
        }
        self._static = {
            name: space.extent
            for name, space in description.spaces.items()
            if space.kind == "static" and space.extent is not None
        }
        self.names = [*self.inputs, *sorted(read - set(self.inputs))]

    def is_value(self, name: str) -> bool:
        """Whether a run reads it, beside the graph."""
        return name in self._values

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

    def resolve(
        self, arguments: Mapping[str, Any], extents: Mapping[str, int] | None = None, *, values: bool = True
    ) -> Resolved:
        """`values`: whether inputs are wanted too, as compiled code reads them, and not the graph alone."""
        result = ResolvedExport(self)
        if extents:
            result.extents |= elements_of(extents, self.description.roots, "extents")
        for name, given in arguments.items():
            if given is None:
                continue
            known = self._values.get(name)
            if known is None and name not in self._read:
                raise Error(f"unknown argument '{name}': expected one of {', '.join(self.names)}", 1)
            if known is not None and not values and name not in self._read and result.device is not None:
                continue
            found = view(given, name)
            if known is not None:
                result.place = result.place or found.device
                if values:
                    result.values[name] = as_floats(found, known.dtype, name)
            if values or name in self._read:
                result.given[name] = found
            if name in self.graph_names:
                result.arrays.append(found)
        for name, extent in self._static.items():
            result.extents.setdefault(name, extent)
        return result


class ResolvedExport(Resolved):
    """The arguments of one call of an exported model; the graph's data are computed when they are asked for."""

    def __init__(self, arguments: ExportedArguments) -> None:
        super().__init__()
        self.arguments = arguments
        self.given: dict[str, View] = {}
        #: Where the values are.
        self.place: tuple[int, int] | None = None

    @property
    def key(self) -> tuple[object, ...]:
        given = self.given
        sizes = tuple([(name, given[name].shape) for name in self.arguments._sized_in_order if name in given])
        return (tuple(self.extents.items()), sizes, *[array.key for array in self.arrays])

    @property
    def device(self) -> tuple[int, int] | None:
        return self.place or (self.arrays[0].device if self.arrays else None)

    def missing(self, spaces: Any) -> str | None:
        return None  # what a source needs is asked for when it is computed

    def data(
        self,
        whole: Mapping[_sources.Source, int] | None = None,
        apply: Callable[[_sources.Apply, list[Any]], Any] | None = None,
    ) -> Data:
        """On one of several ranks: `whole`, sizes of the whole graph, which numbers of all ranks are computed from, and
        `apply`, which gives the values of functions there (_part_sources.py)."""
        given = {name: found.owner for name, found in self.given.items()}
        given |= self.arguments.description.integers
        if whole is None or apply is None:
            found = self.arguments.steps.run(given)
        else:
            found = self._values_on_rank(given, whole, apply)
        device = self.device

        def placed(value: Any) -> Any:
            """What is made of sizes alone, where the graph is."""
            if device is None or device[0] == _abi.CPU or not isinstance(value, np.ndarray):
                return value
            torch = sys.modules["torch"]
            return torch.as_tensor(value, device=torch.device("cuda", device[1]))

        extents = dict(self.extents)
        for name in self.arguments.spaces:
            extents[name] = int(found[f"space '{name}'"])
            if self.extents.get(name, extents[name]) != extents[name]:
                wanted = f"{extents[name]} elements of space '{name}', as the arguments have"
                raise Error(f"extents: expected {wanted}, found {self.extents[name]}", 1)
        indices = []
        for name in self.arguments.maps:
            targets = as_dense(_as_indices(view(placed(found[f"map '{name}'"]), name), name))
            if targets.dtype not in ("i32", "i64") or len(targets.shape) != 1:
                wrong = f"{targets.dtype} {list(targets.shape)}"
                raise Error(f"map '{name}' of {source_text(self, name)}: expected int32 or int64 [E], found {wrong}", 1)
            indices.append(IndexData(name, targets, 0, targets.shape[0]))
        values = {}
        for name in self.arguments.computed:
            value: Value = self.arguments.description.inputs[name]
            numbers = found[f"input '{name}'"]
            values[name] = _reshaped(placed(np.array(numbers) if isinstance(numbers, int) else numbers), value, name)
        return Data(extents, indices, values)

    def _values_on_rank(
        self,
        given: Mapping[str, Any],
        whole: Mapping[_sources.Source, int],
        apply: Callable[[_sources.Apply, list[Any]], Any],
    ) -> dict[str, Any]:
        """The sources' values. Inputs that are on no space are computed from sizes of the whole graph."""
        found = self.arguments
        shared = {name for name in found.computed if found.description.inputs[name].space is None}
        for name in shared:
            if _sources.names(found.computed[name], whole):
                text = f"input '{name}' of '{found.description.inputs[name].source}'"
                raise Error(f"{text}: expected sizes that all ranks know, found one rank's", 4)
        of_whole = {f"input '{name}'": found.computed[name] for name in found.computed if name in shared}
        own = {name: source for name, source in found.sources.items() if name not in of_whole}
        return {
            **_sources.Steps(own, apply=apply).run(given),
            **_sources.Steps(of_whole, whole, apply).run(given),
        }


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
