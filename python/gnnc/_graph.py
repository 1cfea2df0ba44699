# Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
# See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Prepared graphs, and calls of a model's programs on them."""

from __future__ import annotations

import ctypes
import json
import weakref
from collections.abc import Mapping, Sequence
from ctypes import byref, c_char_p, c_int32, c_int64, c_size_t, c_uint64, c_void_p
from typing import Any

from . import _abi
from ._arrays import FLOATS, View
from ._description import Program, Value
from ._errors import Error
from ._library import Context, Library

_NULL = c_void_p()


class IndexData:
    """The data of one root map: `length` numbers that begin `offset` numbers into `view`."""

    __slots__ = ("map", "view", "offset", "length", "rows")

    def __init__(self, map_name: str, view: View, offset: int, length: int, rows: bool = False) -> None:
        self.map, self.view, self.offset, self.length, self.rows = map_name, view, offset, length, rows

    @property
    def bits(self) -> int:
        return 32 if self.view.dtype == "i32" else 64

    @property
    def pointer(self) -> int:
        return self.view.pointer + self.offset * self.bits // 8


class Description:
    """A graph_desc and what it points to."""

    def __init__(
        self,
        extents: Mapping[str, int],
        indices: Sequence[IndexData],
        capacities: Mapping[str, int] | None = None,
        tuning: str | None = None,
    ) -> None:
        self.extents = (_abi.Extent * len(extents))(
            *[_abi.Extent(name.encode(), size) for name, size in extents.items()]
        )
        self.indices = (_abi.Index * len(indices))()
        self.kept = list(indices)
        for index, given in zip(self.indices, indices):
            index.map, index.data, index.length, index.bits = (
                given.map.encode(),
                given.pointer,
                given.length,
                given.bits,
            )
            on_device = _abi.INDEX_ON_DEVICE if given.view.device[0] == _abi.CUDA else 0
            index.format = (_abi.INDEX_ROWS if given.rows else _abi.INDEX_EACH) + on_device
        most = capacities or {}
        self.capacities = (_abi.Extent * len(most))(*[_abi.Extent(name.encode(), size) for name, size in most.items()])
        self.record = _abi.GraphDesc(
            ctypes.sizeof(_abi.GraphDesc),
            len(self.extents),
            self.extents,
            len(self.indices),
            self.indices,
            len(self.capacities),
            self.capacities,
            tuning.encode() if tuning else None,
        )


class Call:
    """A program on a graph with everything described to C but the addresses. One thread uses it at a time."""

    __slots__ = (
        "_arguments",
        "_error",
        "_failure",
        "_inputs",
        "_kept",
        "_outputs",
        "_record",
        "_run",
        "values",
        "outputs",
    )

    def __init__(self, prepared: Prepared, program: Program, values: Sequence[Value]) -> None:
        self.values = list(values)
        self.outputs = list(program.outputs)
        self._kept: list[object] = []
        inputs, self._inputs = self._bindings(prepared, self.values)
        outputs, self._outputs = self._bindings(prepared, self.outputs)
        self._record = _abi.ErrorRecord()
        self._failure = byref(self._record)
        self._run = prepared.library.api.run
        self._arguments = (
            prepared.handle,
            c_char_p(program.name.encode()),
            inputs,
            c_int32(len(inputs)),
            outputs,
            c_int32(len(outputs)),
        )

    def _bindings(self, prepared: Prepared, values: Sequence[Value]) -> tuple[Any, Any]:
        bindings = (_abi.Binding * len(values))()
        for binding, value in zip(bindings, values):
            shape = value.shape(prepared.extent)
            sizes = (c_int64 * max(len(shape), 1))(*shape)
            code, bits = FLOATS[value.dtype]
            binding.name = value.name.encode()
            binding.tensor = _abi.Tensor(None, *prepared.device, len(shape), code, bits, 1, sizes, None, 0)
            self._kept.append(sizes)
        words = (c_uint64 * (_abi.BINDING_WORDS * len(values))).from_buffer(bindings) if values else None
        return bindings, words

    def __call__(
        self,
        context: Context,
        inputs: Sequence[int],
        outputs: Sequence[int],
        workspace: Any = _NULL,
        workspace_bytes: Any = None,
        stream: Any = _NULL,
    ) -> None:
        """Runs it on tensors at these addresses, in the order of `values` and `outputs`; their shapes and types are the
        caller's to check."""
        place, words = _abi.DATA_WORD, self._inputs
        for pointer in inputs:
            words[place] = pointer
            place += _abi.BINDING_WORDS
        place, words = _abi.DATA_WORD, self._outputs
        for pointer in outputs:
            words[place] = pointer
            place += _abi.BINDING_WORDS
        if workspace_bytes is None:
            workspace_bytes = _NO_BYTES
        if self._run(context.handle, *self._arguments, workspace, workspace_bytes, stream, self._failure) != _abi.OK:
            raise Error(self._record.message.decode(errors="replace"), self._record.status)


_NO_BYTES = c_size_t(0)


def _free(library: Library, device: tuple[int, int], handle: c_void_p, streams: set[int]) -> None:
    if not streams:
        library.api.free_graph(handle)
        return
    from .torch._device import retire

    retire(library, device, handle, streams)


class Prepared:
    """A prepared graph of a library on a device."""

    def __init__(
        self, library: Library, device: tuple[int, int], description: Description, part: Any = None
    ) -> None:
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
        self._calls: dict[tuple[str, tuple[str, ...]], list[Call]] = {}
        self._workspaces: dict[str, int] = {}
        self._extents: dict[str, int] = {}

    def update(self, description: Description) -> None:
        context = self.library.context(self.device)
        self.library.check(self.library.api.update, context.handle, self.handle, byref(description.record))
        self._calls, self._extents = {}, {}

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

    def calls(self, program: str, names: tuple[str, ...]) -> list[Call]:
        """Calls of a program, given the inputs, parameters and states `names`, that no thread uses now."""
        return self._calls.setdefault((program, names), [])

    def new_call(self, program: str, names: tuple[str, ...]) -> Call:
        found = self.library.description
        return Call(self, found.programs[program], [value for value in map(found.find, names) if value is not None])

    def take(self, program: str, names: tuple[str, ...]) -> Call:
        try:
            return self.calls(program, names).pop()
        except IndexError:
            return self.new_call(program, names)

    def give(self, program: str, names: tuple[str, ...], call: Call) -> None:
        self.calls(program, names).append(call)
