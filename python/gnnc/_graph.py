# Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
# See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Prepared graphs, and calls of a model's programs on them."""

from __future__ import annotations

import ctypes
import json
import struct
import weakref
from collections.abc import Iterable, Mapping, Sequence
from ctypes import byref, c_char_p, c_size_t, c_void_p
from functools import lru_cache
from typing import Any

from . import _abi
from ._arrays import View
from ._library import Context, Library, errors

_NULL = c_void_p()
_NO_BYTES = c_size_t(0)
_WORD = 8


class IndexData:
    """The data of one root map: `length` numbers that begin `offset` numbers into `view`."""

    __slots__ = ("map", "view", "offset", "length", "rows")

    def __init__(self, map_name: str, view: View, offset: int, length: int, rows: bool = False) -> None:
        self.map, self.view, self.offset, self.length, self.rows = map_name, view, offset, length, rows

    @property
    def bits(self) -> int:
        return 32 if self.view.dtype == "i32" else 64

    @property
    def format(self) -> int:
        on_device = _abi.INDEX_ON_DEVICE if self.view.device[0] == _abi.CUDA else 0
        return (_abi.INDEX_ROWS if self.rows else _abi.INDEX_EACH) + on_device


class Description:
    """A graph_desc and what it points to."""

    def __init__(
        self,
        extents: Mapping[str, int],
        indices: Sequence[IndexData],
        capacities: Mapping[str, int] | None = None,
        tuning: str | None = None,
        stream: int | None = None,
    ) -> None:
        """`stream`: of a CUDA device, in whose order the graph is prepared."""
        self.kept = list(indices)
        most = capacities or {}
        # Packed at once, since each step on a new graph needs one: setting a structure's fields one by one takes longer.
        size = ctypes.sizeof(_abi.GraphDesc)
        extents_at = size // _WORD
        capacities_at = extents_at + 2 * len(extents)
        indices_at = capacities_at + 2 * len(most)
        count = indices_at + 4 * len(indices)
        self.memory = bytearray(count * _WORD)
        self.record = _abi.GraphDesc.from_buffer(self.memory)
        begin = ctypes.addressof(self.record)
        self.tuning = ctypes.create_string_buffer(tuning.encode()) if tuning else None
        words = [
            size | len(extents) << 32,
            begin + extents_at * _WORD,
            len(indices),
            begin + indices_at * _WORD,
            len(most),
            begin + capacities_at * _WORD,
            0 if self.tuning is None else ctypes.addressof(self.tuning),
            stream or 0,
        ]
        for sizes in (extents, most):
            for name, extent in sizes.items():
                words += (_address_of(name), extent)
        for given in indices:
            bits = given.bits
            pointer = given.view.pointer + given.offset * bits // 8
            words += (_address_of(given.map), pointer, given.length, bits | given.format << 32)
        struct.pack_into(f"{count}q", self.memory, 0, *words)


#: C strings for as long as this process runs: names of spaces and maps, which are few.
_names: dict[str, tuple[int, Any]] = {}


def _address_of(name: str) -> int:
    found = _names.get(name)
    if found is None:
        text = ctypes.create_string_buffer(name.encode())
        found = _names.setdefault(name, (ctypes.addressof(text), text))
    return found[0]


class CallDescription:
    """A program that is given these inputs, parameters and states, and is asked for these outputs, on any graph. `later`:
    the outputs that will be asked for of the program that goes on from it; None: all."""

    __slots__ = ("pack", "record")

    def __init__(
        self, program: str, inputs: Sequence[str], outputs: Sequence[str], later: Sequence[str] | None = None
    ) -> None:
        def names(given: Sequence[str]) -> Any:
            return (c_char_p * max(len(given), 1))(*[name.encode() for name in given])

        self.record = _abi.CallDesc(
            ctypes.sizeof(_abi.CallDesc),
            len(inputs),
            program.encode(),
            names(inputs),
            names(outputs),
            len(outputs),
            len(later or ()),
            names(later) if later is not None else None,
        )
        #: Addresses, of the inputs and then of the outputs, as C has them.
        self.pack = struct.Struct(f"{len(inputs) + len(outputs)}Q").pack


@lru_cache(maxsize=256)
def describe_call(program: str, inputs: tuple[str, ...], outputs: tuple[str, ...]) -> CallDescription:
    """One object for each program with these inputs and outputs: calls are kept by it."""
    return CallDescription(program, inputs, outputs)


class Call:
    """A program bound to a graph, except for buffer addresses. Any number of threads use it at once."""

    __slots__ = ("__weakref__", "_run", "handle", "pack", "workspace_bytes")

    def __init__(self, prepared: Prepared, description: CallDescription) -> None:
        self.handle, size = c_void_p(), c_size_t()
        library = prepared.library
        library.check(library.api.make_call, prepared.handle, byref(description.record), byref(self.handle), byref(size))
        weakref.finalize(self, library.api.free_call, self.handle).atexit = False
        self.workspace_bytes = size.value
        self.pack = description.pack
        self._run = library.run_call

    def __call__(
        self,
        context: Context,
        pointers: Iterable[int],
        workspace: Any = _NULL,
        workspace_bytes: Any = _NO_BYTES,
        stream: Any = _NULL,
    ) -> None:
        """Runs it on tensors at these addresses: of the inputs, then of the outputs. That their shapes and types are right
        is the caller's to check."""
        self.run(context, self.pack(*pointers), workspace, workspace_bytes, stream)

    def run(self, context: Context, data: bytes, workspace: Any, workspace_bytes: Any, stream: Any = _NULL) -> None:
        """The same, with the addresses as `pack` makes them."""
        failure = errors.failure
        if self._run(context.handle, self.handle, data, workspace, workspace_bytes, stream, failure):
            raise errors.last()


def _free(library: Library, device: tuple[int, int], handle: c_void_p, streams: set[int]) -> None:
    if not streams:
        library.api.free_graph(handle)
        return
    from .torch._device import retire

    retire(library, device, handle, streams)


class Prepared:
    """A prepared graph of a library on a device."""

    def __init__(self, library: Library, device: tuple[int, int], description: Description, part: Any = None) -> None:
        self.library, self.device = library, device
        self.handle = c_void_p()
        context = library.context(device).handle
        if part is None:
            library.check(library.api.prepare, context, byref(description.record), byref(self.handle))
        else:
            library.check(
                library.api.prepare_part,
                context,
                byref(description.record),
                byref(part.record),
                byref(self.handle),
            )
        #: The functions that ranks are reached by stay until the graph is freed.
        self.part = part
        #: Inputs that were computed with the graph.
        self.values: dict[str, View] = {}
        #: CUDA streams on which it was run: it is freed when they have finished.
        self.streams: set[int] = set()
        self._free = weakref.finalize(self, _free, library, device, self.handle, self.streams)
        self._free.atexit = False
        self._calls: dict[CallDescription, Call] = {}
        self._workspaces: dict[str, int] = {}
        self._extents: dict[str, int] = {}

    def update(self, description: Description) -> None:
        context = self.library.context(self.device)
        self.library.check(self.library.api.update, context.handle, self.handle, byref(description.record))
        self._extents = {}

    def extent(self, space: str) -> int:
        found = self._extents.get(space)
        if found is None:
            found = self._extents[space] = self.library.api.extent(self.handle, space.encode())
        return found

    @property
    def nbytes(self) -> int:
        return self.library.api.graph_bytes(self.handle)

    def workspace_bytes(self, program: str) -> int:
        found = self._workspaces.get(program)
        if found is None:
            size = c_size_t()
            self.library.check(self.library.api.workspace_size, self.handle, program.encode(), byref(size))
            found = self._workspaces[program] = size.value
        return found

    def describe(self) -> dict[str, Any]:
        length, call = c_size_t(), self.library.api.describe_graph
        self.library.check(call, self.handle, None, 0, byref(length))
        text = ctypes.create_string_buffer(length.value + 1)
        self.library.check(call, self.handle, text, len(text), byref(length))
        return json.loads(text.value)

    def call(self, description: CallDescription) -> Call:
        """The call on this graph; kept, by the description itself."""
        found = self._calls.get(description)
        if found is None:
            found = self._calls[description] = Call(self, description)
        return found
