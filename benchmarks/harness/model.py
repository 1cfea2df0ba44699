"""A compiled model through its C interface (include/gnnc-c/gnnc.h), with ctypes and NumPy.

    model = Model("gat.so", threads=2)
    graph = model.prepare({"node": n, "edge": e}, {"src": src, "dst": dst})
    run = graph.bind({"x": x, "c1.W": W, ...})  # or another program: graph.bind(..., "gradient")
    run()
    logits = run.outputs["logits"]

`bind` describes all arrays to C once, so a call of `run` is one call of C: nothing is copied.
"""

from __future__ import annotations

import ctypes
import json
from collections.abc import Callable
from ctypes import (
    POINTER,
    Structure,
    byref,
    c_char,
    c_char_p,
    c_int32,
    c_int64,
    c_size_t,
    c_uint8,
    c_uint16,
    c_uint32,
    c_uint64,
    c_void_p,
)
from pathlib import Path

import numpy as np

ABI_VERSION = 9
INDEX_EACH = 0
INDEX_ROWS = 1
DLPACK_CPU = 1
DLPACK_CUDA = 2
DLPACK_FLOAT = 2


class ModelError(Exception):
    """A call of the model that failed, with the model's own message."""


class Error(Structure):
    _fields_ = [("status", c_int32), ("message", c_char * 508)]


class Tensor(Structure):
    _fields_ = [
        ("data", c_void_p),
        ("device_type", c_int32),
        ("device_id", c_int32),
        ("ndim", c_int32),
        ("dtype_code", c_uint8),
        ("dtype_bits", c_uint8),
        ("dtype_lanes", c_uint16),
        ("shape", POINTER(c_int64)),
        ("strides", POINTER(c_int64)),
        ("byte_offset", c_uint64),
    ]


class Binding(Structure):
    _fields_ = [("name", c_char_p), ("tensor", Tensor)]


class Options(Structure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("threads", c_int32),
        ("allocator", c_void_p),
        ("device_type", c_int32),
        ("device_id", c_int32),
        ("plan_only", c_int32),
        ("reserved", c_int32),
        ("device_allocator", c_void_p),
        ("parallel", c_void_p),
    ]


class Extent(Structure):
    _fields_ = [("space", c_char_p), ("extent", c_int64)]


class Index(Structure):
    _fields_ = [("map", c_char_p), ("data", c_void_p), ("length", c_int64), ("bits", c_int32), ("format", c_int32)]


class GraphDesc(Structure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("num_extents", c_int32),
        ("extents", POINTER(Extent)),
        ("num_indices", c_int32),
        ("indices", POINTER(Index)),
        ("num_capacities", c_int32),
        ("capacities", POINTER(Extent)),
        ("tuning", c_char_p),
        ("stream", c_void_p),
    ]


def _function(result: type | None, *arguments: type) -> type:
    return ctypes.CFUNCTYPE(result, *arguments)


class Api(Structure):
    _fields_ = [
        ("abi_version", c_uint32),
        ("struct_size", c_uint32),
        ("describe", _function(c_char_p, POINTER(c_size_t))),
        ("open", _function(c_int32, POINTER(Options), POINTER(c_void_p), POINTER(Error))),
        ("close", _function(None, c_void_p)),
        ("prepare", _function(c_int32, c_void_p, POINTER(GraphDesc), POINTER(c_void_p), POINTER(Error))),
        ("free_graph", _function(None, c_void_p)),
        ("extent", _function(c_int64, c_void_p, c_char_p)),
        ("graph_bytes", _function(c_size_t, c_void_p)),
        ("workspace_size", _function(c_int32, c_void_p, c_char_p, POINTER(c_size_t), POINTER(Error))),
        (
            "run",
            _function(
                c_int32,
                c_void_p,
                c_void_p,
                c_char_p,
                POINTER(Binding),
                c_int32,
                POINTER(Binding),
                c_int32,
                c_void_p,
                c_size_t,
                c_void_p,
                POINTER(Error),
            ),
        ),
        # allocate, release, copy, synchronize, streams (2), recordings (4), update
        ("others", c_void_p * 11),
        (
            "describe_graph",
            _function(c_int32, c_void_p, c_void_p, c_size_t, POINTER(c_size_t), POINTER(Error)),
        ),
    ]


def aligned(shape: tuple[int, ...] | int, dtype: str = "f4") -> np.ndarray:
    """An empty array that begins on a cache line, so that no contender is slowed down by where its numbers lie."""
    shape = (shape,) if isinstance(shape, int) else tuple(shape)
    size = int(np.prod(shape, dtype=np.int64)) * np.dtype(dtype).itemsize
    raw = np.empty(size + 64, np.uint8)
    offset = -raw.ctypes.data % 64
    return raw[offset : offset + size].view(dtype).reshape(shape)


def aligned_copy(array: np.ndarray, dtype: str = "f4") -> np.ndarray:
    """A dense copy that begins on a cache line."""
    result = aligned(array.shape, dtype)
    result[...] = array
    return result


class Model:
    """An open model with its threads."""

    def __init__(self, path: Path | str, threads: int = 0, device: int = DLPACK_CPU) -> None:
        library = ctypes.CDLL(str(path))
        library.gnnc_model.restype = POINTER(Api)
        self.api: Api = library.gnnc_model().contents
        if self.api.abi_version != ABI_VERSION:
            raise ModelError(f"{path} has ABI version {self.api.abi_version}, expected {ABI_VERSION}")
        self.info: dict = json.loads(self.api.describe(None))
        self.handle = c_void_p()
        options = Options(ctypes.sizeof(Options), threads, None, device, 0)
        self.check("open", lambda error: self.api.open(byref(options), byref(self.handle), error))

    @staticmethod
    def check(what: str, call: Callable[[object], int]) -> None:
        error = Error()
        if call(byref(error)) != 0:
            raise ModelError(f"{what}: {error.message.decode()}")

    def prepare(
        self, extents: dict[str, int], maps: dict[str, np.ndarray], rows: tuple[str, ...] = (), tuning: str = ""
    ) -> Graph:
        """Indexes a graph; the maps named in `rows` are given as CSR row pointers. `tuning`: as `gnnc tune` writes it."""
        return Graph(self, extents, maps, rows, tuning)

    def close(self) -> None:
        self.api.close(self.handle)


class Graph:
    """A prepared graph."""

    def __init__(
        self,
        model: Model,
        extents: dict[str, int],
        maps: dict[str, np.ndarray],
        rows: tuple[str, ...],
        tuning: str = "",
    ) -> None:
        self.model = model
        self.handle = c_void_p()
        sizes = (Extent * len(extents))(*[Extent(name.encode(), extent) for name, extent in extents.items()])
        indices = (Index * len(maps))()
        for index, (name, data) in zip(indices, maps.items()):
            assert data.flags.c_contiguous and data.dtype.kind == "i", name
            form = INDEX_ROWS if name in rows else INDEX_EACH
            index.map, index.data, index.length = name.encode(), data.ctypes.data, data.size
            index.bits, index.format = 8 * data.itemsize, form
        desc = GraphDesc(ctypes.sizeof(GraphDesc), len(sizes), sizes, len(indices), indices)
        desc.tuning = tuning.encode() if tuning else None
        model.check("prepare", lambda error: model.api.prepare(model.handle, byref(desc), byref(self.handle), error))

    def extent(self, space: str) -> int:
        return self.model.api.extent(self.handle, space.encode())

    def bytes(self) -> int:
        return self.model.api.graph_bytes(self.handle)

    def describe(self) -> dict:
        """What was chosen for it: `describe_graph`."""
        length, call = c_size_t(), self.model.api.describe_graph
        Model.check("describe_graph", lambda error: call(self.handle, None, 0, byref(length), error))
        text = ctypes.create_string_buffer(length.value + 1)
        Model.check("describe_graph", lambda error: call(self.handle, text, len(text), byref(length), error))
        return json.loads(text.value.decode())

    def workspace_bytes(self, program: str = "forward") -> int:
        size = c_size_t()
        call = self.model.api.workspace_size
        Model.check("workspace_size", lambda error: call(self.handle, program.encode(), byref(size), error))
        return size.value

    def shape(self, value: dict) -> tuple[int, ...]:
        """The shape of an input, parameter or output as `describe` lists it."""
        first = [self.extent(value["space"])] if value["space"] else []
        return tuple(first + value["dims"])

    def bind(self, inputs: dict[str, np.ndarray], program: str = "forward", other: Run | None = None) -> Run:
        """`other`: a run whose half this is, on the same workspace and outputs."""
        return Run(self, inputs, program, other)

    def free(self) -> None:
        self.model.api.free_graph(self.handle)


class Run:
    """A call of a program of the model with everything bound; its outputs are overwritten by each call."""

    def __init__(self, graph: Graph, inputs: dict[str, np.ndarray], program: str, other: Run | None = None) -> None:
        info = graph.model.info
        found = next(entry for entry in info["programs"] if entry["name"] == program)
        bits = {"f32": "f4", "f64": "f8"}[info["dtype"]]
        self.graph = graph
        shapes = {value["name"]: graph.shape(value) for value in found["outputs"]}
        shared = other.outputs if other else {}
        self.outputs = {name: shared[name] if name in shared else aligned(shapes[name], bits) for name in shapes}
        self.workspace = other.workspace if other else aligned(graph.workspace_bytes(program), "u1")
        self._kept: list[object] = [inputs]
        self._inputs = self._bindings(inputs)
        self._outputs = self._bindings(self.outputs)
        self._error = Error()
        self._call = graph.model.api.run
        self._arguments = (
            graph.model.handle,
            graph.handle,
            program.encode(),
            self._inputs,
            len(self._inputs),
            self._outputs,
            len(self._outputs),
            self.workspace.ctypes.data,
            self.workspace.size,
            None,
            byref(self._error),
        )

    def _bindings(self, tensors: dict[str, np.ndarray]) -> ctypes.Array:
        bindings = (Binding * len(tensors))()
        for binding, (name, array) in zip(bindings, tensors.items()):
            assert array.flags.c_contiguous and array.dtype.kind == "f", name
            shape = (c_int64 * max(array.ndim, 1))(*array.shape)
            self._kept.append(shape)
            binding.name = name.encode()
            binding.tensor = Tensor(
                array.ctypes.data, DLPACK_CPU, 0, array.ndim, DLPACK_FLOAT, 8 * array.itemsize, 1, shape, None, 0
            )
        return bindings

    def __call__(self) -> None:
        if self._call(*self._arguments) != 0:
            raise ModelError(f"run: {self._error.message.decode()}")
