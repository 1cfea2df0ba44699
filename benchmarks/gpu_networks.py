"""Whole networks on one GPU beside PyTorch Geometric, and preparing their graphs beside torch's sorts.

    gnnc compile models/networks.gnn -m GCN3 --target cuda -o OUT/GCN3.so      # GAT2, EdgeConv4, RGCN2 likewise
    gnnc compile models/networks.gnn -m GATLayer --gradient --target cuda -o OUT/GATLayer.so
    gnnc compile models/layers.gnn -m GCN64 --gradient --target cuda -o OUT/GCN64.so    # GATHeads4, SAGEMax64 likewise
    gnnc compile models/layers.gnn -m GCN64 --target cuda -o OUT/GCN64Forward.so        # and these
    gnnc compile ../examples/gcn/model.gnn --target cuda -o OUT/gcn.so         # and gat
    python3 gpu_networks.py OUT CORA.safetensors prepare fresh cora gcn rgcn edgeconv layer reddit

`fresh:roads,arxiv:60` takes these graphs only, and compiles nothing of PyG's after 60 s. It needs torch, torch-geometric
and a GPU; nothing else of gnnc. One line of JSON for each measurement: medians in ms, and MiB beyond inputs and
parameters at the peak. A training step is forward, loss, backward and Adam; gnnc's and those of torch.compile's mode
reduce-overhead are CUDA graphs. Steps change the parameters, so their losses are compared after
as many steps from the same start.
"""

from __future__ import annotations

import ctypes
import json
import signal
import sys
import time
import warnings
from ctypes import byref, c_char_p, c_int32, c_int64, c_size_t, c_uint32, c_void_p
from pathlib import Path

import torch

from gnnc_model import Binding, Error, Extent, GraphDesc, Index, Options, Tensor
from gpu_grid import peak_mib

warnings.filterwarnings("ignore")
ON_DEVICE = 16
SECONDS = 40  # for one way of PyG's
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
    "create_stream destroy_stream begin_recording end_recording replay free_recording update describe_graph"
).split()


# Of the GPU's current stream, as what torch.compile makes asks for it.
stream_of = torch._C._cuda_getCurrentRawStream


class Api(ctypes.Structure):
    _fields_ = [("abi_version", c_uint32), ("struct_size", c_uint32)] + [(name, c_void_p) for name in CALLS]


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
            "run", model.handle, model.graph, self.name, *self.bound, workspace.data_ptr(), workspace.numel(), stream_of(0)
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
    tensors = {v["name"]: torch.zeros(model.shape(v), device="cuda") for v in model.info["params"] + model.info["states"]}
    program = next((p for p in model.info["programs"] if p["name"] == "initialize"), None)
    if program:
        model.program("initialize", tensors)()
    else:
        for tensor in tensors.values():
            tensor.normal_(0, 0.1)
    return tensors


def compare(name: str, model: Model, inputs: dict[str, torch.Tensor], net, forward, loss, weights) -> None:
    """gnnc's forward and training step beside PyG's, eager and compiled; `weights` copies parameters to the module."""
    parameters = states(model)
    weights(net, parameters)
    run = model.program("forward", inputs | parameters)
    run()
    with torch.no_grad():
        reference = forward(net)
        error = float((run.outputs["y"] - reference).abs().max() / reference.abs().max())
    del reference
    step = model.program("train_step", inputs | parameters)
    own = {"forward": batched(run.captured(), 10), "step": batched(step.captured(), 10)}
    memory = {"forward": run.mib(), "step": step.mib(), "graph": model.graph_mib()}
    report(network=name, who="gnnc", error=error, ms=own, mib=memory)
    titles = {None: "PyG eager", "default": "PyG compiled", "reduce-overhead": "PyG compiled, as CUDA graphs"}
    for mode, title in titles.items():
        torch._dynamo.reset()
        signal.alarm(SECONDS)  # Compiling what breaks into many graphs takes minutes.
        try:
            module = torch.compile(net, mode=mode) if mode else net
            optimiser = torch.optim.Adam(net.parameters(), lr=0.01, fused=True)

            def infer(module=module) -> None:
                with torch.no_grad():
                    forward(module)

            def train(module=module, optimiser=optimiser) -> None:
                optimiser.zero_grad(set_to_none=True)
                loss(forward(module)).backward()
                optimiser.step()

            times = {"forward": milliseconds(infer), "step": milliseconds(train)}
            peaks = {"forward": peak_mib(infer), "step": peak_mib(train)}
            ratios = {key: times[key] / own[key] for key in own}
            report(network=name, who=title, ms=times, mib=peaks, times_gnnc=ratios)
        except Exception as failure:  # Out of memory, or what its compiler does not take.
            report(network=name, who=title, failed=f"{type(failure).__name__}: {failure}"[:160])
        signal.alarm(0)
        torch.cuda.empty_cache()


def prepare(out: Path) -> None:
    for name in ("arxiv", "pokec", "products"):
        count, edges, exponent = SIZES[name]
        src, dst = ordered(count, edges, exponent, shuffled=True)
        index = torch.stack([src, dst])

        def by_torch() -> tuple:
            results = []
            for owner, other in ((1, 0), (0, 1)):
                order = (index[owner] * count + index[other]).argsort()
                rows = torch.zeros(count + 1, dtype=torch.long, device="cuda")
                rows[1:] = torch.bincount(index[owner], minlength=count).cumsum(0)
                results += [index[other][order].int(), rows.int(), order]
            return tuple(results)

        model = Model(out / "GCN64.so")
        maps = {"src": src, "dst": dst}
        narrow = {key: value.int() for key, value in maps.items()}
        extents = {"node": count, "edge": edges}
        own = milliseconds(lambda: model.prepare(extents, maps))
        own32 = milliseconds(lambda: model.prepare(extents, narrow))
        theirs = milliseconds(by_torch)
        mib = model.graph_mib()
        report(prepare=name, gnnc_ms=own, gnnc_int32_ms=own32, torch_ms=theirs, times=theirs / own, graph_mib=mib)
        del src, dst, index, maps, narrow
        torch.cuda.empty_cache()


class Fresh:
    """Prepares a graph and runs a program on it. Parameters and features are bound once; outputs and the workspace are
    allocated for each graph."""

    def __init__(self, model: Model, program: str, extents: dict, maps: dict, tensors: dict) -> None:
        self.model, self.maps = model, maps
        model.prepare(extents, maps)
        self.run = model.program(program, tensors)
        self.shapes = [(name, tuple(output.shape)) for name, output in self.run.outputs.items()]
        self.desc = model.described(extents, maps)

        self.desc_at, self.graph_at = byref(self.desc), byref(model.graph)
        self.size = c_size_t()
        self.size_at = byref(self.size)
        self.device, self.stream = torch.device("cuda", 0), torch.cuda.current_stream()

    def __call__(self) -> None:
        run, model = self.run, self.model
        for data, index in zip(self.maps.values(), self.desc.indices):
            index.data = data.data_ptr()
        # The list must be there before it is prepared.
        self.stream.synchronize()
        model.free_graph(model.graph)
        model.call("prepare", model.handle, self.desc_at, self.graph_at)
        model.call("workspace_size", model.graph, run.name, self.size_at)
        run.workspace = torch.empty(self.size.value or 1, dtype=torch.uint8, device=self.device)
        for binding, (name, shape) in zip(run.results, self.shapes):
            run.outputs[name] = output = torch.empty(shape, device=self.device)
            binding.tensor.data = output.data_ptr()
        run()


def fresh(out: Path, names: tuple[str, ...] = ("roads", "arxiv", "tolokers", "pokec"), seconds: float = 600) -> None:
    """One pass on a graph never seen before: from a shuffled list of edges on the GPU (int64) to the output, forward and
    with all gradients. PyG takes the list as it is. It is compiled for any shape before, and for forward also for the very
    shape, which a graph that is new does not have; what compiling takes does not count. Nothing is compiled any more
    after so many seconds."""
    from torch_geometric.nn import GATConv, GCNConv, SAGEConv

    linear = [("lin.weight", "conv.W", transposed), ("bias", "conv.b", same)]
    attention = [("att_src", "conv.a_src", same), ("att_dst", "conv.a_dst", same)]
    pair = [("lin_l.weight", "conv.W_l", transposed), ("lin_r.weight", "conv.W_r", transposed), ("lin_l.bias", "conv.b", same)]
    layers = {
        "GCN64": (lambda: GCNConv(64, 64, add_self_loops=False), linear),
        "GATHeads4": (lambda: GATConv(64, 16, heads=4, add_self_loops=False), linear + attention),
        "SAGEMax64": (lambda: SAGEConv(64, 64, aggr="max"), pair),
    }
    begin = time.perf_counter()
    graphs, modules = {}, {name: make().cuda() for name, (make, _) in layers.items()}
    times: dict = {(name, graph): {"forward": {}, "f+b": {}} for name in layers for graph in names}
    for name in names:
        count, edges, exponent = SIZES[name]
        src, dst = ordered(count, edges, exponent, shuffled=True)
        graphs[name] = (count, edges, torch.stack([src, dst]), torch.randn(count, 64, device="cuda"))

    def own(layer_name: str, name: str) -> None:
        count, edges, index, x = graphs[name]
        found = times[layer_name, name]
        extents, maps = {"node": count, "edge": edges}, {"src": index[0], "dst": index[1]}
        forward, both = (Model(out / f"{layer_name}{kind}.so") for kind in ("Forward", ""))
        forward.prepare(extents, maps)
        tensors = states(forward) | {"x": x}
        conv_weights(layers[layer_name][1])(modules[layer_name], tensors)
        with torch.no_grad():
            reference = modules[layer_name](x, index)
        call = Fresh(forward, "forward", extents, maps, tensors)
        call()
        found["error"] = float((call.run.outputs["y"] - reference).abs().max() / reference.abs().max())
        found["forward"] |= {"gnnc": milliseconds(call, 5, 0.15), "prepared": milliseconds(call.run, 5, 0.15)}
        call = Fresh(both, "gradient", extents, maps, tensors | {"grad.y": torch.ones_like(reference)})
        found["f+b"] |= {"gnnc": milliseconds(call, 5, 0.15), "prepared": milliseconds(call.run, 5, 0.15)}

    def theirs(title: str, layer_name: str, name: str, program: str, call) -> None:
        _, _, index, x = graphs[name]
        module = modules[layer_name]

        def infer() -> None:
            with torch.no_grad():
                call(x, index)

        def train() -> None:
            module.zero_grad(set_to_none=True)
            leaf = x.detach().requires_grad_(True)
            result = call(leaf, index)
            result.backward(torch.ones_like(result))

        signal.alarm(SECONDS)
        try:
            times[layer_name, name][program][title] = milliseconds(infer if program == "forward" else train, 5, 0.15)
        except Exception as failure:
            report(fresh=name, layer=layer_name, who=title, failed=f"{type(failure).__name__}: {failure}"[:160])
        signal.alarm(0)
        torch.cuda.empty_cache()

    def compiled(title: str, program: str, each: bool, only: tuple[str, ...]) -> None:
        for layer_name, module in modules.items():
            call = None
            for name in only:
                if time.perf_counter() - begin > seconds:
                    return
                if each or call is None:
                    torch._dynamo.reset()
                    call = torch.compile(module, dynamic=not each)
                theirs(title, layer_name, name, program, call)

    for layer_name in layers:
        for name in names:
            own(layer_name, name)
            for program in ("forward", "f+b"):
                theirs("PyG eager", layer_name, name, program, modules[layer_name])

    def tell(programs: tuple[str, ...]) -> None:
        for (layer_name, name), found in times.items():
            for program in programs:
                best = min((ms for who, ms in found[program].items() if who.startswith("PyG")), default=0.0)
                ratio = best / found[program]["gnnc"]
                report(fresh=name, layer=layer_name, program=program, error=found["error"], ms=found[program], times=ratio)
        report(fresh="so far", seconds=time.perf_counter() - begin)

    # What was measured is told before the compiler has its next chance to fail.
    tell(("forward", "f+b"))
    compiled("PyG compiled", "forward", False, names)
    tell(("forward",))
    compiled("PyG compiled for the shape", "forward", True, names)
    tell(("forward",))
    compiled("PyG compiled", "f+b", False, names)
    tell(("f+b",))


def cora(out: Path, file: Path) -> None:
    from safetensors.torch import load_file
    from torch_geometric.nn import GATConv, GCNConv

    given = load_file(str(file))
    report(cora={name: list(value.shape) for name, value in given.items()})
    edge = given["edge_index"].long().cuda()
    x = torch.rand(2708, 1433, device="cuda") * (torch.rand(2708, 1433, device="cuda") < 0.0127)
    labels = torch.randint(0, 7, (140,), device="cuda")
    for name in ("gcn", "gat"):

        class Net(torch.nn.Module):
            def __init__(self) -> None:
                super().__init__()
                if name == "gcn":
                    self.a, self.b, self.p = GCNConv(1433, 16, cached=True), GCNConv(16, 7, cached=True), 0.5
                else:
                    self.a, self.p = GATConv(1433, 8, heads=8, dropout=0.6), 0.6
                    self.b = GATConv(64, 7, heads=1, concat=False, dropout=0.6)

            def forward(self, x: torch.Tensor) -> torch.Tensor:
                drop = torch.nn.functional.dropout
                h = torch.relu(self.a(drop(x, self.p, self.training), edge))
                return self.b(drop(h, self.p, self.training), edge)

        for mode in (None, "default"):
            torch._dynamo.reset()
            net = Net().cuda()
            module = torch.compile(net, mode=mode) if mode else net
            optimiser = torch.optim.Adam(net.parameters(), lr=0.01, fused=True)

            def train() -> None:
                optimiser.zero_grad(set_to_none=True)
                torch.nn.functional.cross_entropy(module(x)[:140], labels).backward()
                optimiser.step()

            report(network=f"cora {name}", who=f"PyG {'compiled' if mode else 'eager'}", step_ms=milliseconds(train))


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


class Stack(torch.nn.Module):
    """Layers with an activation between them."""

    def __init__(self, layers, activation) -> None:
        super().__init__()
        for number, layer in enumerate(layers):
            setattr(self, f"c{number + 1}", layer)
        self.count, self.activation = len(layers), activation

    def forward(self, x, *rest):
        for number in range(self.count):
            x = getattr(self, f"c{number + 1}")(x, *rest)
            x = self.activation(x) if number + 1 < self.count else x
        return x


def labelled(count: int, classes: int) -> torch.Tensor:
    return torch.randint(0, classes, (count,), device="cuda", generator=torch.Generator("cuda").manual_seed(1))


def gcn(out: Path) -> None:
    from torch_geometric.nn import GCNConv

    count, edges, exponent = SIZES["arxiv"]
    src, dst = ordered(count, edges, exponent, shuffled=False)
    label, x = labelled(count, 40), torch.randn(count, 128, device="cuda")
    model = Model(out / "GCN3.so")
    model.prepare({"node": count, "edge": edges, "class": 40}, {"src": src, "dst": dst, "label": label})
    widths = [128, 256, 256, 40]
    layers = [GCNConv(a, b, add_self_loops=False, cached=True) for a, b in zip(widths, widths[1:])]
    net, index = Stack(layers, torch.relu).cuda(), torch.stack([src, dst])
    pairs = [(f"c{i}.lin.weight", f"c{i}.W", transposed) for i in (1, 2, 3)]
    pairs += [(f"c{i}.bias", f"c{i}.b", same) for i in (1, 2, 3)]
    cross = torch.nn.functional.cross_entropy
    compare("GCN 256 x3, arxiv", model, {"x": x}, net, lambda m: m(x, index), lambda y: cross(y, label), conv_weights(pairs))


def rgcn(out: Path) -> None:
    from torch_geometric.nn import RGCNConv

    count, edges, exponent = SIZES["am"]
    src, dst = ordered(count, edges, exponent, shuffled=False)
    label, x = labelled(count, 11), torch.randn(count, 64, device="cuda")
    types = (96 * torch.rand(edges, device="cuda") ** 3).long().clamp_(max=95)
    model = Model(out / "RGCN2.so")
    extents = {"node": count, "edge": edges, "class": 11, "edge_type": 96}
    model.prepare(extents, {"src": src, "dst": dst, "etype": types, "label": label})
    net, index = Stack([RGCNConv(64, 64, 96), RGCNConv(64, 11, 96)], torch.relu).cuda(), torch.stack([src, dst])
    pairs = [(f"c{i}.{theirs}", f"c{i}.{own}", same) for i in (1, 2) for theirs, own in (("weight", "W"), ("root", "root"), ("bias", "b"))]
    cross = torch.nn.functional.cross_entropy
    compare("R-GCN 64 x2, am's size", model, {"x": x}, net, lambda m: m(x, index, types), lambda y: cross(y, label), conv_weights(pairs))


def edgeconv(out: Path) -> None:
    from torch_geometric.nn import EdgeConv

    for neighbours in (20, 40):
        count = 64 * 1024
        dst = torch.arange(count, device="cuda").repeat_interleave(neighbours)
        src = dst // 1024 * 1024 + torch.randint(0, 1024, (dst.numel(),), device="cuda")
        x, wanted = torch.randn(count, 3, device="cuda"), torch.randn(count, 256, device="cuda")
        model = Model(out / "EdgeConv4.so")
        model.prepare({"node": count, "edge": dst.numel()}, {"src": src, "dst": dst})
        widths = [3, 64, 64, 128, 256]
        layers = [EdgeConv(torch.nn.Linear(2 * a, b)) for a, b in zip(widths, widths[1:])]
        net, index = Stack(layers, torch.relu).cuda(), torch.stack([src, dst])

        def both(parameters, name):
            return torch.cat([parameters[f"{name}.W_x"], parameters[f"{name}.W_d"]]).t()

        pairs = [(f"c{i}.nn.weight", f"c{i}", both) for i in (1, 2, 3, 4)]
        pairs += [(f"c{i}.nn.bias", f"c{i}.b", same) for i in (1, 2, 3, 4)]
        mean = torch.nn.functional.mse_loss
        inputs = {"x": x, "wanted": wanted}
        compare(f"EdgeConv x4, k {neighbours}", model, inputs, net, lambda m: m(x, index), lambda y: mean(y, wanted), conv_weights(pairs))


def attention(prefix: str, heads: int, width: int):
    """PyG keeps a layer's projection as [heads * out, in]."""
    return [
        (f"{prefix}.lin.weight", f"{prefix}.W", transposed),
        (f"{prefix}.att_src", f"{prefix}.a_src", same),
        (f"{prefix}.att_dst", f"{prefix}.a_dst", same),
        (f"{prefix}.bias", f"{prefix}.b", same),
    ]


def layer(out: Path) -> None:
    """One layer of attention on Reddit's size: its memory."""
    count, edges, exponent = SIZES["reddit"]
    src, dst = ordered(count, edges, exponent, shuffled=False)
    model = Model(out / "GATLayer.so")
    model.prepare({"node": count, "edge": edges}, {"src": src, "dst": dst})
    del src, dst
    tensors = states(model) | {"x": torch.randn(count, 64, device="cuda"), "grad.y": torch.randn(count, 256, device="cuda")}
    run = model.program("gradient", tensors)
    ms = milliseconds(run)
    finite = all(bool(t.isfinite().all()) for t in run.outputs.values())
    report(network="GAT h4 d64, one layer on Reddit's size", finite=finite, step_ms=ms, workspace_mib=run.workspace.numel() / 2**20, gradients_and_output_mib=run.mib() - run.workspace.numel() / 2**20, graph_mib=model.graph_mib())


def reddit(out: Path) -> None:
    from torch_geometric.nn import GATConv

    count, edges, exponent = SIZES["reddit"]
    src, dst = ordered(count, edges, exponent, shuffled=False)
    label, x = labelled(count, 41), torch.randn(count, 602, device="cuda")
    model = Model(out / "GAT2.so")
    model.prepare({"node": count, "edge": edges, "class": 41}, {"src": src, "dst": dst, "label": label})
    layers = [GATConv(602, 32, heads=4, add_self_loops=False), GATConv(128, 41, heads=1, add_self_loops=False)]
    net, index = Stack(layers, torch.nn.functional.elu).cuda(), torch.stack([src, dst])
    del src, dst
    pairs = attention("c1", 4, 32) + attention("c2", 1, 41)
    cross = torch.nn.functional.cross_entropy
    compare("GAT 128 x2, Reddit's size", model, {"x": x}, net, lambda m: m(x, index), lambda y: cross(y, label), conv_weights(pairs))


def give_up(*_) -> None:
    raise TimeoutError(f"not done in {SECONDS} s")


def main() -> None:
    signal.signal(signal.SIGALRM, give_up)
    out, file = Path(sys.argv[1]), Path(sys.argv[2])
    parts = {"prepare": prepare, "fresh": fresh, "gcn": gcn, "rgcn": rgcn, "edgeconv": edgeconv, "layer": layer, "reddit": reddit}
    for part in sys.argv[3:]:
        begin = time.perf_counter()
        try:
            name, *options = part.split(":")
            convert = (lambda graphs: tuple(graphs.split(",")), float)
            chosen = [to(option) for to, option in zip(convert, options)]
            cora(out, file) if name == "cora" else parts[name](out, *chosen)
        except Exception as failure:
            report(part=part, failed=f"{type(failure).__name__}: {failure}"[:300])
        torch.cuda.empty_cache()
        report(part=part, seconds=time.perf_counter() - begin)


if __name__ == "__main__":
    main()
