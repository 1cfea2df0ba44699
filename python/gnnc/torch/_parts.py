# Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
# See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compiled modules on one rank's part of a graph.

A call's arguments give the part's own spaces and maps, as they give those of a whole graph. What the part's file knows
besides goes with them: how many elements the halo has, what is sent to whom, and numbers in the whole graph.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from .. import _abi, _sources
from .._arrays import View, view
from .._cache import GraphCache
from .._description import Description as ModelDescription
from .._description import Map
from .._errors import Error
from .._exported import ResolvedExport
from .._graph import Description, IndexData, Prepared
from .._part_sources import PartSources, chosen_from, gather

if TYPE_CHECKING:
    from .._arguments import Data, Resolved
    from .._library import Library
    from ..ranks import PartFile


class PartGraphs:
    """The graphs that were prepared on one part: all ranks prepare a graph at once, so each keeps all of them, however
    large they are."""

    def __init__(self, part: PartFile) -> None:
        self.part = part
        self._cache = GraphCache(limit=sys.maxsize)

    def alongs(self, description: ModelDescription) -> list[str]:
        """The maps that spaces of a model go along in this partition, where the compiler has chosen others. Relations are
        named after a module's arguments; what counts is which of an argument's rows is the one."""
        chosen = description.document["distributed"]["along"]
        result = []
        for space, name in chosen.items():
            wanted = {"src": 0, "dst": 1}.get((self.part.along(space) or "").rpartition(".")[2])
            row = _row(description.maps[name])
            if wanted is None or row is None or row.number == wanted:
                continue
            for other in description.root_maps.values():
                if other.domain == space and _row(other) == _sources.Row(row.of, wanted):
                    result.append(other.name)
        return result

    def prepare(self, library: Library, resolved: Resolved, device: tuple[int, int]) -> Prepared:
        """The graph of these arguments; prepared, by all ranks, unless its index arrays are known."""
        return self._cache.find(
            (id(library), device, resolved.key), resolved.arrays, lambda: self._make(library, resolved, device)
        )

    def _make(self, library: Library, resolved: Resolved, device: tuple[int, int]) -> Prepared:
        part, found = self.part, library.description
        data = self._data(resolved, library)
        extents, indices = dict(data.extents), list(data.indices)
        exchanged, none = [], []
        for name, given in data.extents.items():
            own = part.extent(name)
            if f"{name}.sent" in part.tensors and own != given:
                raise Error(f"arguments have {given} elements of '{name}': expected the {own} of '{part.path}'", 1)
        for name in found.roots:
            space, _, role = name.rpartition(".")
            if role not in ("halo", "send") or space not in found.roots:
                continue
            exchanged.append(name)
            if (extent := part.extent(name)) is not None:
                extents[name] = extent
            elif self._is_listed(found, space):
                extents[name] = 0
                none.append(name)
        for name, found_map in found.root_maps.items():
            space, _, role = name.rpartition(".")
            if role == "sent" and found_map.domain == f"{space}.send":
                sent = np.zeros(0, np.int32) if self._is_listed(found, space) else part.sent(space)
                targets = _placed(sent, device)
                indices.append(IndexData(name, targets, 0, targets.shape[0]))
        stream = None
        if device[0] != _abi.CPU:
            from ._device import stream_for_preparing

            stream = stream_for_preparing(device[1])
        description = Description(extents, indices, stream=stream)
        prepared = Prepared(library, device, description, part.counts(exchanged, none))
        prepared.values = dict(data.values)
        for name, value in found.inputs.items():
            if not value.numbers:
                continue
            rows = prepared.extent(value.space or "")
            first = 0
            if part.ranks.size > 1 and self._is_listed(found, value.space or ""):  # rank after rank
                first = int(gather(part, np.array([rows], np.int64))[: part.ranks.rank].sum())
            numbers = part.numbers(value, rows, found.dtype == "f64", first)
            if len(numbers) != rows:
                what = f"'{part.path}' has numbers of {len(numbers)} elements of '{value.space}'"
                raise Error(f"{what}: expected all {rows}, since equal maxima of them are told apart by these", 4)
            prepared.values[name] = _placed(numbers, device)
        return prepared

    def _is_listed(self, description: ModelDescription, space: str) -> bool:
        """Whether a space is that of a list that is computed, such as the edges that a mask keeps. A rank's lists are made
        of its own elements, so no other has any of these."""
        text = description.spaces[space].source
        source = _sources.parse(text) if text and self.part.extent(space) is None else None
        while isinstance(source, _sources.Apply) and source.function in ("at_least", "at_most"):
            source = source.arguments[0]
        return isinstance(source, _sources.Apply) and source.function != "size"

    def _data(self, resolved: Resolved, library: Library) -> Data:
        if not isinstance(resolved, ResolvedExport):
            return resolved.data()
        sizes = {}
        for name, space in library.description.roots.items():
            if space.source and (extent := self.part.whole_extent(name)) is not None:
                sizes[_sources.parse(space.source)] = extent
        sources = PartSources(self.part, library.description)
        for name, value in library.description.inputs.items():
            if value.source and value.space is not None:
                sources.check_numbers(name, _sources.parse(value.source))
        return resolved.data(sizes, sources.apply)


def _row(found: Map) -> _sources.Row | None:
    """The row of a tensor that a map is, or has some numbers of."""
    source = chosen_from(_sources.parse(found.source)) if found.source else None
    return source if isinstance(source, _sources.Row) else None


def _placed(numbers: np.ndarray, device: tuple[int, int]) -> View:
    where: Any = "cpu" if device[0] == _abi.CPU else torch.device("cuda", device[1])
    return view(torch.from_numpy(np.array(numbers)).to(where), "part")
