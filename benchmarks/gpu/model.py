"""A compiled model on a GPU, with PyTorch's tensors and streams: harness/model.py for the device."""

from __future__ import annotations

import ctypes
from ctypes import byref, c_char_p, c_int32, c_int64, c_size_t, c_void_p

import numpy as np
import torch
from torch import Tensor

from gpu.graphs import Graph as Edges
from harness.model import DLPACK_CUDA, DLPACK_FLOAT, Binding, Error, Graph, Model, ModelError
from harness.model import Tensor as CTensor

# What a tensor is stored as where the description says so: PyTorch's type, DLPack's code and bits.
STORED = {"bf16": (torch.bfloat16, 4, 16), "f16": (torch.float16, DLPACK_FLOAT, 16)}
COMPUTED = {"f32": (torch.float32, DLPACK_FLOAT, 32), "f64": (torch.float64, DLPACK_FLOAT, 64)}


def stored(model: Model, value: dict) -> torch.dtype:
    return (STORED[value["dtype"]] if "dtype" in value else COMPUTED[model.info["dtype"]])[0]


def open_model(path: str) -> Model:
    return Model(path, 1, DLPACK_CUDA)


def prepare(model: Model, edges: Edges) -> Graph:
    extents = {space["name"]: space["extent"] for space in model.info["spaces"] if space["kind"] == "static"}
    extents |= {"node": edges.nodes, "edge": edges.edges}
    maps = {name: array.numpy() for name, array in edges.maps().items()}
    return model.prepare(extents, {name: np.ascontiguousarray(array) for name, array in maps.items()})


def random_tensors(graph: Graph, program: str, seed: int = 0) -> dict[str, Tensor]:
    """Inputs and parameters of a program, parameters so small that activations stay of order 1."""
    info = graph.model.info
    names = next(entry for entry in info["programs"] if entry["name"] == program)["inputs"]
    known = {value["name"]: (value, kind) for kind in ("inputs", "params", "states") for value in info[kind]}
    results = {f"grad.{value['name']}": value for value in info["outputs"]}
    generator = torch.Generator(device="cuda").manual_seed(seed)
    tensors = {}
    for name in names:
        value, kind = known[name] if name in known else (results[name], "inputs")
        shape = graph.shape(value)
        tensor = torch.randn(shape, generator=generator, device="cuda")
        tensors[name] = (tensor * 0.1 if kind == "params" else tensor).to(stored(graph.model, value))
    return tensors


class DeviceRun:
    """A call of a program with everything bound, on PyTorch's current stream. What a call costs on the host: the look-up
    of the stream, passing eleven arguments from Python (1.5 us; ctypes objects made once, since converting Python's
    numbers takes longer than all of `run`), the runtime's checks and words (0.3 us) and the driver's launches (2 us each).
    A peer's call has PyTorch's dispatcher in it and the allocation of its result. `other`: a run whose half this is, on the
    same workspace and outputs."""

    def __init__(self, graph: Graph, inputs: dict[str, Tensor], program: str, other: DeviceRun | None = None) -> None:
        info = graph.model.info
        found = next(entry for entry in info["programs"] if entry["name"] == program)
        self.graph, self.program, self.inputs = graph, program.encode(), inputs
        self.outputs = {
            value["name"]: torch.full(graph.shape(value), float("nan"), device="cuda", dtype=stored(graph.model, value))
            for value in ([] if other else found["outputs"])
        }
        if other:
            self.outputs = {value["name"]: other.outputs[value["name"]] for value in found["outputs"]}
        size = max(graph.workspace_bytes(program), 1)
        self.workspace = other.workspace if other else torch.empty(size, dtype=torch.uint8, device="cuda")
        self._kept: list[object] = []
        self._inputs, self._outputs = self._bindings(inputs), self._bindings(self.outputs)
        self._error = Error()
        model = graph.model
        # Without argument types: what is passed is of the right ones already.
        self._call = ctypes.CFUNCTYPE(c_int32)(ctypes.cast(model.api.run, c_void_p).value)
        self._arguments = (
            model.handle,
            graph.handle,
            c_char_p(self.program),
            self._inputs,
            c_int32(len(self._inputs)),
            self._outputs,
            c_int32(len(self._outputs)),
            c_void_p(self.workspace.data_ptr()),
            c_size_t(self.workspace.numel()),
        )
        self._failure = byref(self._error)
        self._device = self.workspace.device.index

    def _bindings(self, tensors: dict[str, Tensor]) -> ctypes.Array:
        bindings = (Binding * len(tensors))()
        for binding, (name, tensor) in zip(bindings, tensors.items()):
            _, code, bits = next(form for form in (*COMPUTED.values(), *STORED.values()) if form[0] == tensor.dtype)
            assert tensor.is_contiguous(), name
            shape = (c_int64 * max(tensor.dim(), 1))(*tensor.shape)
            self._kept.append(shape)
            binding.name = name.encode()
            binding.tensor = CTensor(tensor.data_ptr(), DLPACK_CUDA, 0, tensor.dim(), code, bits, 1, shape, None, 0)
        return bindings

    def __call__(self) -> None:
        stream = c_void_p(torch._C._cuda_getCurrentRawStream(self._device))  # current_stream() makes an object: 1 us
        if self._call(*self._arguments, stream, self._failure) != 0:
            raise ModelError(f"run: {self._error.message.decode()}")
