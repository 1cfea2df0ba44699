"""Preparing graphs on a GPU, beside torch's sorts, and running a layer on a graph never seen before, beside PyTorch Geometric:
the parts `prepare` and `fresh` of gpu/networks.py.
"""

from __future__ import annotations

import signal
import time
from ctypes import byref, c_size_t
from pathlib import Path

import torch

from gpu.runs import SIZES, Model, Only, conv_weights, milliseconds, ordered, report, same, states, transposed, wanted

LAYERS = ("GCN64", "GATHeads4", "SAGEMax64")
# How PyG is compiled: title, and whether for each shape of its own.
WAYS = (("PyG compiled", False), ("PyG compiled for the shape", True))


def variants() -> list[str]:
    """What `fresh` has torch compile: layer, way, program."""
    return [f"{layer}/{way}/{program}" for program in ("f+b", "forward") for way, _ in WAYS for layer in LAYERS]


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


def fresh(
    out: Path,
    names: tuple[str, ...] = ("roads", "arxiv", "tolokers", "pokec"),
    seconds: float = 600,
    patience: int = 40,
) -> None:
    """One pass on a graph never seen before: from a shuffled list of edges on the GPU (int64) to the output, forward and
    with all gradients. PyG takes the list as it is. It is compiled before, for any shape, and for the very shape, which a
    graph that is new does not have; what compiling takes does not count. Nothing is compiled any more after so many
    seconds, and each way of PyG's has `patience` seconds for a graph."""
    from torch_geometric.nn import GATConv, GCNConv, SAGEConv

    linear = [("lin.weight", "conv.W", transposed), ("bias", "conv.b", same)]
    attention = [("att_src", "conv.a_src", same), ("att_dst", "conv.a_dst", same)]
    pair = [
        ("lin_l.weight", "conv.W_l", transposed),
        ("lin_r.weight", "conv.W_r", transposed),
        ("lin_l.bias", "conv.b", same),
    ]
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

        signal.alarm(patience if Only.variant is None else 0)
        try:
            times[layer_name, name][program][title] = milliseconds(infer if program == "forward" else train, 5, 0.15)
        except Exception as failure:
            report(fresh=name, layer=layer_name, who=title, failed=f"{type(failure).__name__}: {failure}"[:160])
        signal.alarm(0)
        torch.cuda.empty_cache()

    def compiled(title: str, program: str, each: bool) -> None:
        for layer_name, module in modules.items():
            call = None
            for name in names if wanted(f"{layer_name}/{title}/{program}") else ():
                if Only.variant is None and time.perf_counter() - begin > seconds:
                    return
                if each or call is None:
                    torch._dynamo.reset()
                    call = torch.compile(module, dynamic=not each)
                theirs(title, layer_name, name, program, call)

    def tell(program: str) -> None:
        for (layer_name, name), found in times.items():
            best = min((ms for who, ms in found[program].items() if who.startswith("PyG")), default=0.0)
            ratio = best / found[program]["gnnc"]
            report(fresh=name, layer=layer_name, program=program, error=found["error"], ms=found[program], times=ratio)
        report(fresh="so far", seconds=time.perf_counter() - begin)

    programs = ("forward", "f+b")
    if Only.variant is None:
        for layer_name in layers:
            for name in names:
                own(layer_name, name)
                for program in programs:
                    theirs("PyG eager", layer_name, name, program, modules[layer_name])
    # What was measured is told before the compiler has its next chance to fail.
    for title, each in WAYS:
        for program in programs:
            compiled(title, program, each)
            if Only.variant is None:
                tell(program)
