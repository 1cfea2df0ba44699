"""What the benchmarks of whole networks and of preparation have in common: compiled models with tensors of torch, graphs by
size, and clocks.
"""

from __future__ import annotations

import ctypes
import json
import time
from ctypes import byref, c_char_p, c_int32, c_int64, c_size_t, c_uint32, c_void_p
from pathlib import Path

import torch

from harness.model import Binding, Error, Extent, GraphDesc, Index, Options, Tensor

ON_DEVICE = 16
CUDA = 2
# Nodes, edges, exponent of the power law of both ends.
SIZES = {
    "arxiv": (169343, 1166243, 0.55),
    "tolokers": (11758, 1038000, 0.45),
    "roads": (142257, 279061, 0.0),
    "pokec": (1632803, 30622564, 0.4),
    "products": (2449029, 123718280, 0.4),
    "reddit": (232965, 114615892, 0.4),
    "am": (1885136, 5668682, 0.6),
}
# Members of gnnc_api after the two numbers, in order.
CALLS = (
    "describe open close prepare free_graph extent graph_bytes workspace_size run allocate release copy synchronize "
    "create_stream destroy_stream begin_recording end_recording replay free_recording update describe_graph "
    "embedded"
).split()


# Of the GPU's current stream, as what torch.compile makes asks for it.
stream_of = torch._C._cuda_getCurrentRawStream


class Api(ctypes.Structure):
    _fields_ = [("abi_version", c_uint32), ("struct_size", c_uint32)] + [(name, c_void_p) for name in CALLS]


class Only:
    """What a process that fills torch's cache compiles; None: everything is measured."""

    variant: str | None = None


def wanted(variant: str) -> bool:
    return Only.variant in (None, variant)


def ordered(count: int, edges: int, exponent: float, shuffled: bool) -> tuple[torch.Tensor, torch.Tensor]:
    """Sources and destinations, by destination or in no order."""
    generator = torch.Generator(device="cuda").manual_seed(0)
    weight = torch.arange(1, count + 1, device="cuda", dtype=torch.float64) ** -exponent
    total = torch.cumsum(weight[torch.randperm(count, generator=generator, device="cuda")], 0)
    total /= total[-1].clone()

    def draw() -> torch.Tensor:
        ends = torch.empty(edges, dtype=torch.int64, device="cuda")
        for part in ends.split(1 << 24):
            at = torch.rand(part.numel(), generator=generator, device="cuda", dtype=torch.float64)
            part.copy_(torch.searchsorted(total, at).clamp_(max=count - 1))
        return ends

    dst, src = draw(), draw()
    if not shuffled:
        order = torch.argsort(dst)
        src, dst = src[order], dst[order]
    return src, dst


def milliseconds(call, least: int = 5, seconds: float = 1.0) -> float:
    call()
    torch.cuda.synchronize()
    if Only.variant:
        return 0.0
    times: list[float] = []
    begin = time.perf_counter()
    while len(times) < least or (time.perf_counter() - begin < seconds and len(times) < 2000):
        start = time.perf_counter()
        call()
        torch.cuda.synchronize()
        times.append(time.perf_counter() - start)
    return 1e3 * sorted(times)[len(times) // 2]


def batched(call, count: int = 50) -> float:
    """Of one among several that are launched before any is waited for."""

    def several() -> None:
        for _ in range(count):
            call()

    return milliseconds(several, 5, 0.5) / count


def report(**values) -> None:
    """A line of JSON."""

    def short(value):
        if isinstance(value, dict):
            return {key: short(entry) for key, entry in value.items()}
        return float(f"{value:.4g}") if isinstance(value, float) else value

    print(json.dumps(short(values)), flush=True)


class Model:
    """A compiled model with tensors of torch."""

    def __init__(self, path: Path) -> None:
        library = ctypes.CDLL(str(path.resolve()))
        library.gnnc_model.restype = ctypes.POINTER(Api)
        self.api = library.gnnc_model().contents
        assert self.api.struct_size == ctypes.sizeof(Api), "another version of the C interface"
        describe = ctypes.CFUNCTYPE(c_char_p, c_void_p)(self.api.describe)
        self.info = json.loads(describe(None))
        self.handle, self.graph = c_void_p(), c_void_p()
        self.free_graph = ctypes.CFUNCTYPE(None, c_void_p)(self.api.free_graph)
        self.functions: dict[str, object] = {}
        self.error = Error()
        self.failure = byref(self.error)
        options = Options(ctypes.sizeof(Options), 1, None, CUDA, 0)
        self.call("open", byref(options), byref(self.handle))

    def call(self, name: str, *arguments) -> None:
        function = self.functions.get(name)
        if function is None:
            types = [c_void_p] * (len(arguments) + 1)
            function = self.functions[name] = ctypes.CFUNCTYPE(c_int32, *types)(getattr(self.api, name))
        if function(*arguments, self.failure) != 0:
            raise RuntimeError(f"{name}: {self.error.message.decode()}")

    def prepare(self, extents: dict[str, int], maps: dict[str, torch.Tensor]) -> None:
        self.prepare_from(self.described(extents, maps))

    def prepare_from(self, desc: GraphDesc) -> None:
        torch.cuda.synchronize()
        if self.graph:
            self.free_graph(self.graph)
            self.graph = c_void_p()
        self.call("prepare", self.handle, byref(desc), byref(self.graph))

    def described(self, extents: dict[str, int], maps: dict[str, torch.Tensor]) -> GraphDesc:
        sizes = (Extent * len(extents))(*[Extent(name.encode(), extent) for name, extent in extents.items()])
        indices = (Index * len(maps))()
        for index, (name, data) in zip(indices, maps.items()):
            index.map, index.data, index.length = name.encode(), data.data_ptr(), data.numel()
            index.bits, index.format = 8 * data.element_size(), ON_DEVICE if data.is_cuda else 0
        return GraphDesc(ctypes.sizeof(GraphDesc), len(sizes), sizes, len(indices), indices)

    def shape(self, value: dict) -> tuple[int, ...]:
        extent = ctypes.CFUNCTYPE(c_int64, c_void_p, c_char_p)(self.api.extent)
        first = [extent(self.graph, value["space"].encode())] if value["space"] else []
        return tuple(first + value["dims"])

    def graph_mib(self) -> float:
        return ctypes.CFUNCTYPE(c_size_t, c_void_p)(self.api.graph_bytes)(self.graph) / 2**20

    def program(self, name: str, tensors: dict[str, torch.Tensor]) -> Program:
        return Program(self, name, tensors)


class Program:
    """A program with everything bound, launched on torch's current stream."""

    def __init__(self, model: Model, name: str, tensors: dict[str, torch.Tensor]) -> None:
        self.model, self.name, self.tensors = model, name.encode(), tensors
        found = next(entry for entry in model.info["programs"] if entry["name"] == name)
        self.outputs = {v["name"]: torch.zeros(model.shape(v), device="cuda") for v in found["outputs"]}
        size = c_size_t()
        model.call("workspace_size", model.graph, self.name, byref(size))
        self.workspace = torch.empty(max(size.value, 1), dtype=torch.uint8, device="cuda")
        self.kept: list[object] = []
        self.inputs, self.results = self.bindings(tensors), self.bindings(self.outputs)
        self.bound = (self.inputs, len(self.inputs), self.results, len(self.results))

    def bindings(self, tensors: dict[str, torch.Tensor]) -> ctypes.Array:
        bindings = (Binding * len(tensors))()
        for binding, (name, tensor) in zip(bindings, tensors.items()):
            shape = (c_int64 * max(tensor.dim(), 1))(*tensor.shape)
            self.kept.append(shape)
            binding.name = name.encode()
            binding.tensor = Tensor(tensor.data_ptr(), CUDA, 0, tensor.dim(), 2, 32, 1, shape, None, 0)
        return bindings

    def __call__(self) -> None:
        workspace, model = self.workspace, self.model
        model.call(
            "run",
            model.handle,
            model.graph,
            self.name,
            *self.bound,
            workspace.data_ptr(),
            workspace.numel(),
            stream_of(0),
        )

    def mib(self) -> float:
        outputs = sum(t.numel() * 4 for t in self.outputs.values())
        return (self.workspace.numel() + outputs) / 2**20

    def captured(self):
        """The same as a CUDA graph of torch's."""
        self()
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            self()
        return graph.replay


def states(model: Model) -> dict[str, torch.Tensor]:
    """Parameters, and states, filled by `initialize`."""
    tensors = {
        v["name"]: torch.zeros(model.shape(v), device="cuda") for v in model.info["params"] + model.info["states"]
    }
    program = next((p for p in model.info["programs"] if p["name"] == "initialize"), None)
    if program:
        model.program("initialize", tensors)()
    else:
        for tensor in tensors.values():
            tensor.normal_(0, 0.1)
    return tensors


def conv_weights(pairs):
    """Copies gnnc's parameters into a module's: pairs of (attribute path, parameter, change)."""

    def copy(net, parameters) -> None:
        with torch.no_grad():
            for path, name, change in pairs:
                target = net
                for part in path.split("."):
                    target = getattr(target, part)
                target.copy_(change(parameters, name).reshape(target.shape))

    return copy


def same(parameters, name):
    return parameters[name]


def transposed(parameters, name):
    value = parameters[name]
    return value.reshape(value.shape[0], -1).t()
