# Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
# See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""From the arguments of a call to what the runtime wants: extents, index data and values.

These are the names under which `gnnc run` finds things in a graph file:

* inputs, parameters and states under their names in the model;
* `edge_index` [2, E] for the maps `src` and `dst`; `R` [2, E] for `R.src` and `R.dst`; `edge_type`, `node_type` for
  `etype` and `ntype`; any other root map under its own name, [elements of its space];
* `graph_ptr` [graphs + 1], as row pointers, instead of `batch`; `Rows(pointers)` does the same for any map;
* a sparse input as an object with `indptr`, `indices` and `data` (SciPy's CSR matrices), or as a dense array.

An exported model's description says itself what its spaces, maps and inputs come from: see _exported.py.
"""

from __future__ import annotations

import operator
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from ._arrays import FLOATS, View, as_dense, as_floats, view
from ._description import Description, Sparse
from ._errors import Error
from ._graph import IndexData

_OTHER_NAMES = {"etype": "edge_type", "ntype": "node_type"}


class Rows:
    """Row pointers of a map: element j of its target owns elements `pointers[j]` to `pointers[j + 1] - 1`.

    `pointers`: int32 or int64 [targets + 1], ascending from 0.
    """

    def __init__(self, pointers: Any) -> None:
        self.pointers = pointers


class Data:
    """What a graph is prepared from, and the inputs that are computed with it."""

    def __init__(
        self,
        extents: Mapping[str, int],
        indices: Sequence[IndexData],
        values: Mapping[str, View] | None = None,
    ) -> None:
        self.extents, self.indices, self.values = extents, indices, values or {}


class Resolved:
    """The arguments of one call."""

    def __init__(self) -> None:
        self.extents: dict[str, int] = {}
        self.indices: list[IndexData] = []
        self.arrays: list[View] = []  #: what the graph is made from, for the cache of graphs
        self.values: dict[str, View] = {}

    def add_index(self, map_name: str, given: View, offset: int, length: int, rows: bool = False) -> None:
        self.indices.append(IndexData(map_name, given, offset, length, rows))

    @property
    def key(self) -> tuple[object, ...]:
        """Where the arrays are, and what is made from them."""
        made = tuple((index.map, index.offset, index.length, index.rows) for index in self.indices)
        return (tuple(self.extents.items()), made, tuple(array.key for array in self.arrays))

    @property
    def device(self) -> tuple[int, int] | None:
        """Where the values are; without values, where the graph is; without both, None."""
        for given in (*self.values.values(), *self.arrays):
            return given.device
        return None

    def missing(self, spaces: Sequence[str]) -> str | None:
        return next((name for name in spaces if name not in self.extents), None)

    def data(self) -> Data:
        return Data(self.extents, self.indices)


def index_view(value: Any, name: str, rank: int) -> View:
    """A dense array of int32 or int64; its shape is [E], or [2, E] where `rank` is 2."""
    given = view(value, name)
    if given.dtype not in ("i32", "i64"):
        raise Error(f"argument '{name}': expected int32 or int64, found {given.dtype}", 1)
    if len(given.shape) != rank or (rank == 2 and given.shape[0] != 2):
        shape = "[2, E]" if rank == 2 else "[E]"
        raise Error(f"argument '{name}': expected shape {shape}, found {list(given.shape)}", 1)
    return given


#: As C has them.
_MOST_ELEMENTS = 2**63 - 1


def elements_of(given: Mapping[str, int] | None, spaces: Iterable[str], what: str) -> dict[str, int]:
    """How many elements the caller says that spaces have. Raises Error for what is no such number, and for other names
    than `spaces`. `what`: the argument."""
    if given is not None and not isinstance(given, Mapping):
        raise Error(f"{what}: expected numbers by the names of spaces, as in {{'node': 10}}, found {given!r}", 1)
    result = {}
    for name, number in (given or {}).items():
        if name not in spaces:
            raise Error(f"{what}: unknown space '{name}': expected one of {', '.join(spaces)}", 1)
        try:
            result[name] = operator.index(number)
        except TypeError:
            result[name] = -1
        if not 0 <= result[name] <= _MOST_ELEMENTS:
            raise Error(f"{what}: expected a whole number from 0 to 2^63 - 1 for space '{name}', found {number!r}", 1)
    return result


class Arguments:
    """Reads the arguments of calls of one model."""

    def __init__(self, description: Description) -> None:
        self.description = description
        self._of_sparse = {
            name for sparse in description.sparse.values() for name in (sparse.row, sparse.column) if name
        }
        # The maps that an argument of shape [2, E] stands for, by its name.
        self._pairs: dict[str, tuple[str | None, str | None]] = {}
        self._maps: dict[str, str] = {}
        for name in description.root_maps:
            if name in self._of_sparse:
                continue
            pair = "edge_index" if name in ("src", "dst") else name[:-4] if name.endswith((".src", ".dst")) else None
            if pair is not None:
                source, target = self._pairs.get(pair, (None, None))
                self._pairs[pair] = (name, target) if name.endswith("src") else (source, name)
            self._maps[name] = name
            if name in _OTHER_NAMES:
                self._maps[_OTHER_NAMES[name]] = name

    @property
    def names(self) -> list[str]:
        """What may be passed, for messages and completion."""
        found = self.description
        hidden = {name for pair in self._pairs.values() for name in pair if name} | set(_OTHER_NAMES)
        of_sparse = {sparse.value for sparse in found.sparse.values()}
        values = [name for name, value in found.inputs.items() if not value.gradient and name not in of_sparse]
        maps = [name for name in self._maps if name not in hidden]
        return [*values, *found.sparse, *self._pairs, *maps]

    def is_value(self, name: str) -> bool:
        """Whether a run reads it, beside the graph."""
        return name in self.description.sparse or self.description.find(name) is not None

    def symbolic_extents(self, arguments: Mapping[str, Any], known: dict[str, Any]) -> dict[str, Any]:
        """Extents that follow from shapes alone, which may be symbols. `known`: those of values."""
        for name, pair in self._pairs.items():
            if name in arguments:
                ends = next(end for end in pair if end is not None)
                known.setdefault(self.description.maps[ends].domain, arguments[name].shape[1])
        return known

    def resolve(self, arguments: Mapping[str, Any], extents: Mapping[str, int] | None = None) -> Resolved:
        result = Resolved()
        given_maps: set[str] = set()
        for name, value in arguments.items():
            if value is None:
                continue
            if name in self.description.sparse:
                self._add_sparse(result, self.description.sparse[name], value)
            elif name in self._pairs and not isinstance(value, Rows):
                given_maps |= self._add_pair(result, name, value)
            elif name in self._maps:
                given_maps |= self._add_map(result, self._maps[name], name, value)
            elif name == "graph_ptr" and "batch" in self._maps:
                given_maps |= self._add_map(result, "batch", name, Rows(value))
            elif (found := self.description.find(name)) is not None:
                result.values[name] = as_floats(view(value, name), found.dtype, name)
            else:
                raise Error(f"unknown argument '{name}': expected one of {', '.join(self.names)}", 1)
        self._find_extents(result, extents)
        return result

    def _add_pair(self, result: Resolved, name: str, value: Any) -> set[str]:
        pair = index_view(value, name, 2)
        result.arrays.append(pair)
        rows = as_dense(pair)
        length = pair.shape[1]
        made = {ends for ends in self._pairs[name] if ends is not None}
        for row, map_name in enumerate(self._pairs[name]):
            if map_name is not None:
                result.add_index(map_name, rows, row * length, length)
        return made

    def _add_map(self, result: Resolved, map_name: str, name: str, value: Any) -> set[str]:
        rows = isinstance(value, Rows)
        given = index_view(value.pointers if rows else value, name, 1)
        result.arrays.append(given)
        result.add_index(map_name, as_dense(given), 0, given.shape[0], rows)
        return {map_name}

    def _add_sparse(self, result: Resolved, sparse: Sparse, value: Any) -> None:
        if not all(hasattr(value, name) for name in ("indptr", "indices", "data", "shape")):
            value = _as_sparse(value, sparse.name)
        pointers = index_view(value.indptr, f"{sparse.name}.indptr", 1)
        columns = index_view(value.indices, f"{sparse.name}.indices", 1)
        for map_name, given, rows in ((sparse.row, pointers, True), (sparse.column, columns, False)):
            if map_name:
                result.arrays.append(given)
                result.add_index(map_name, as_dense(given), 0, given.shape[0], rows)
        if sparse.entries:
            result.extents[sparse.entries] = columns.shape[0]
        if sparse.row:
            result.extents.setdefault(self.description.maps[sparse.row].target, value.shape[0])
        if sparse.value:
            dtype = self.description.inputs[sparse.value].dtype
            given = view(value.data, f"{sparse.name}.data")
            # The numbers of a matrix are few beside a dense one's.
            if not given.is_torch and given.dtype != dtype and given.dtype in FLOATS:
                given = view(given.owner.astype(dtype.replace("f", "float")), sparse.name)
            result.values[sparse.value] = as_floats(given, dtype, sparse.name)

    def _find_extents(self, result: Resolved, given: Mapping[str, int] | None) -> None:
        """What the caller says comes first, then lengths of index data, then rows of values."""
        found = self.description
        result.extents |= elements_of(given, found.roots, "extents")
        for name, space in found.spaces.items():
            if space.kind == "static" and space.extent is not None:
                result.extents.setdefault(name, space.extent)
        for index in result.indices:
            ends = found.maps[index.map]
            if index.rows:
                result.extents.setdefault(ends.target, max(index.length - 1, 0))
            else:
                result.extents.setdefault(ends.domain, index.length)
        for name, value in result.values.items():
            on = (found.find(name) or found.inputs[name]).space
            if on in found.roots and value.shape:
                result.extents.setdefault(on, value.shape[0])


class _CSR:
    def __init__(self, dense: np.ndarray) -> None:
        self.shape = dense.shape
        rows, columns = np.nonzero(dense)
        self.indptr = np.zeros(dense.shape[0] + 1, np.int64)
        np.cumsum(np.bincount(rows, minlength=dense.shape[0]), out=self.indptr[1:])
        self.indices, self.data = columns.astype(np.int64), dense[rows, columns]


def _as_sparse(value: Any, name: str) -> _CSR:
    given = view(value, name)
    if given.device[0] != 1 or len(given.shape) != 2:
        raise Error(f"argument '{name}': expected a CSR matrix or a dense array [rows, columns] on the CPU", 1)
    return _CSR(given.owner.detach().numpy() if given.is_torch else given.owner)
