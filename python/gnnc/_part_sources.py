# Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
# See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the graph's data of an exported model are computed from, where ranks have parts of the graph.

Lists are a rank's own: rows of its own elements, and numbers of elements in the part's numbers, which may lead into the
halo. What is read there is asked of the ranks that have it, and what is counted there is brought back to them. All ranks
evaluate the same sources in the same order. Some functions mean another thing of a part's numbers than of the whole
graph's: these are errors, on all ranks.
"""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING, Any

import numpy as np

from . import _abi, _sources
from ._arrays import is_tensor
from ._errors import Error
from ._graph_functions import FUNCTIONS
from ._sources import Apply, Source

if TYPE_CHECKING:
    from ._description import Description
    from .ranks import PartFile

#: Of numbers of elements, these depend on how a graph is cut.
_BY_NUMBER = frozenset("add sub mul div mod neg minimum maximum lt le gt ge cumsum diff".split())
#: These give numbers of a rank's own elements.
_NUMBERING = frozenset(("arange", "nonzero", "argsort", "cumsum"))
#: What a part has is not what it has of the whole.
_OF_THE_WHOLE = frozenset(("unique", "inverse"))


class PartSources:
    """Applies functions on one rank."""

    def __init__(self, part: PartFile, description: Description) -> None:
        self.part = part
        #: Spaces of which other ranks read elements; the same on all ranks.
        self.halos = sorted(name[: -len(".sent")] for name in part.tensors if name.endswith(".sent"))
        #: The space that the numbers of a list are of, where a map of the model says so.
        self.spaces: dict[Source, str] = {}
        for found in description.root_maps.values():
            if found.source:
                self.spaces[chosen_from(_sources.parse(found.source))] = found.target.removesuffix(".all")

    def apply(self, source: Apply, values: list[Any]) -> Any:
        function = FUNCTIONS[source.function]
        if self.part.ranks.size == 1:
            return function(*values)
        if source.function in _OF_THE_WHOLE:
            raise Error(f"{_sources.text(source)}: a part does not know which elements of other parts are equal", 4)
        if source.function in _BY_NUMBER and any(self._is_numbered(source, each) for each in source.arguments):
            raise Error(f"{_sources.text(source)}: the numbers of elements in a part are not those in the graph", 4)
        if source.function == "take" and not isinstance(values[1], int):
            space = self._reached(source, source.arguments[1], values[1], len(values[0]))
            return function(values[0] if space is None else self._with_halo(space, values[0]), values[1])
        if source.function == "put" and not isinstance(values[1], int):
            if self._reached(source, source.arguments[1], values[1], len(values[0])) is not None:
                raise Error(
                    f"{_sources.text(source)}: which is written last is known of a part's own elements alone", 4
                )
        if source.function == "scatter_sum":
            at, numbers, length = values
            space = self._reached(source, source.arguments[0], at, length)
            if space is not None:
                sums = function(at, numbers, length + len(self.part.tensors[f"{space}.halo.global"]))
                return self._brought_back(space, sums, length)
        return function(*values)

    def check_numbers(self, name: str, source: Source) -> None:
        """That an input does not consist of numbers of elements."""
        if self.part.ranks.size > 1 and self._has_numbers(source):
            text = f"input '{name}' of '{_sources.text(source)}'"
            raise Error(f"{text}: the numbers of elements in a part are not those in the graph", 4)

    def _has_numbers(self, source: Source) -> bool:
        if self._leads_to_halo(source):
            return True
        if not isinstance(source, Apply) or source.function in ("eq", "ne", "size", "length", "scatter_sum"):
            return False
        if source.function in _NUMBERING:
            return bool(_sources.names(source))
        read = source.arguments[:1] if source.function == "take" else source.arguments
        return any(map(self._has_numbers, read))

    def _is_numbered(self, by: Apply, source: Source) -> bool:
        """Whether it is a list of numbers of elements. Those of a rank's own, of which others are taken away, are places
        among elements that follow one another."""
        chosen = chosen_from(source)
        is_own = isinstance(chosen, Apply) and chosen.function == "arange" and bool(_sources.names(chosen))
        return self._leads_to_halo(source) or (is_own and by.function != "sub")

    def _leads_to_halo(self, source: Source) -> bool:
        """Whether it is a list of numbers of elements of which other ranks read some."""
        return self.spaces.get(chosen_from(source)) in self.halos

    def _reached(self, source: Apply, at_source: Source, at: Any, length: int) -> str | None:
        """The space whose own elements a list of this length is of, if positions on any rank lead into the halo."""
        known = self.spaces.get(chosen_from(at_source))
        candidates = [space in (known or space,) and self.part.extent(space) == length for space in self.halos]
        greatest = int(at.max()) if len(at) else -1
        every = gather(self.part, np.array([greatest, length, *candidates], np.int64))
        beyond = np.nonzero(every[:, 0] >= every[:, 1])[0]
        if len(beyond) == 0:
            return None
        found = [space for space, is_one in zip(self.halos, every[:, 2:].all(axis=0)) if is_one]
        if len(found) == 1:
            return found[0]
        if found:
            spaces = " and ".join(f"'{space}'" for space in found)
            raise Error(f"{_sources.text(source)}: a rank has as many elements of {spaces}, and reads others of one", 4)
        rank = int(beyond[0])
        raise Error(
            f"{_sources.text(source)}: expected positions from 0 to {every[rank, 1] - 1}, found {every[rank, 0]} "
            f"on rank {rank}",
            2,
        )

    def _with_halo(self, space: str, rows: Any) -> Any:
        return FUNCTIONS["cat"](rows, _like(rows, self.part.exchange_rows(space, _on_host(rows))))

    def _brought_back(self, space: str, sums: Any, own: int) -> Any:
        result = _on_host(sums[:own]).copy()
        np.add.at(result, self.part.sent(space), self.part.return_rows(space, _on_host(sums[own:])))
        return _like(sums, result)


def gather(part: PartFile, own: np.ndarray) -> np.ndarray:
    """Numbers of all ranks, by rank; all ranks call this at once."""
    ranks, error = part.ranks, _abi.ErrorRecord()
    every = np.zeros((ranks.size, len(own)), own.dtype)
    if ranks.record.gather_host(None, own.ctypes.data, every.ctypes.data, own.nbytes, ctypes.pointer(error)):
        raise Error(error.message.decode(errors="replace"), error.status)
    return every


def chosen_from(source: Source) -> Source:
    """The list that some elements of are chosen, in any order."""
    while isinstance(source, Apply) and source.function in ("take", "slice", "flip"):
        source = source.arguments[0]
    return source


def _on_host(values: Any) -> np.ndarray:
    return np.ascontiguousarray(values.cpu().numpy() if is_tensor(values) else values, np.int64)


def _like(values: Any, numbers: np.ndarray) -> Any:
    """A list where another one is."""
    return values.new_tensor(numbers, dtype=FUNCTIONS["cat"](values).dtype) if is_tensor(values) else numbers
