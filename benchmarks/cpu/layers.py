"""Part 4: single layers against PyTorch Geometric's, in the fastest arrangement that it has for each."""

from __future__ import annotations

import numpy as np

from cpu import graphs
from harness.machine import Work, same
from harness.measure import race
from harness.model import Model, aligned_copy
from harness.report import Goal, Section, geometric_mean, milliseconds, ratio, spread
from harness.toolbox import Bench

NOTE = """\
Whole layers, projections included, input width 64, forward; {versions}. Milliseconds: median [least–most]; ratios: by
medians [by the least]. GCN has no self loops of its own and PyG's keeps its normalisation; MoNet has two kernels and two
coordinates; R-GCN has 51 relations at random; the cloud has 8 times 1024 points with 20 neighbours. Floor: as for the weighted sum, counting rows gathered along edges."""
HEADER = ["layer, graph", "gnnc", "PyG", "how", "PyG / gnnc", "Mflop", "MB", "gathered MB", "floor"]

GRAPHS = ("tolokers", "twitch_de", "cora", "cloud")
RELATIONS = 51
# Columns of all products of a layer, columns gathered for each edge, operations for each edge, columns of the result.
LAYERS = {
    "GCN64": (64, 64, 2 * 64, 64),
    "SAGEMax64": (128, 64, 64, 64),
    "GATHeads4": (64 + 8, 64 + 4, 2 * 64 + 4 * 8, 64),
    "GATv2Heads2": (256, 128, 6 * 128 + 2 * 6, 128),
    "TransformerHeads4": (1024, 512, 4 * 256 + 4 * 6, 256),
    "MoNet16": (48, 32, 2 * 32 + 2 * 20, 16),
    "EdgeConv64": (128, 64, 64, 64),
    "RGCN64": (64, 64, 64, 64),
}


OUT = {name: columns[3] for name, columns in LAYERS.items()}


def work(name: str, graph: graphs.Graph, pairs: int, times: int) -> Work:
    """`times`: 1 forward; 3 with the backward pass, whose products and gathers are two for each of the forward pass."""
    columns, gathered, operations, out = LAYERS[name]
    n, e = graph.nodes, graph.edges
    flops = 2.0 * n * 64 * columns + e * operations + 2.0 * pairs * 64 * 64
    edge_inputs = {"MoNet16": 2 * e, "RGCN64": e}.get(name, 0)
    moved = n * (64 + out) + 64 * columns + e + n + edge_inputs
    return Work(times * flops, times * 4.0 * moved, times * 4.0 * e * gathered)


def run(bench: Bench) -> Section:
    return measure_layers(bench, False)


def measure_layers(bench: Bench, gradient: bool) -> Section:
    """Forward, or forward and backward with the gradients of the input and of all parameters."""
    import torch

    from peers import pyg

    torch.set_num_threads(bench.threads)
    note = NOTE.format(versions=pyg.versions())
    title = "Layers, forward and backward" if gradient else "Layers"
    section = Section(f"{title}, {bench.threaded()}", note, HEADER)
    program, result = ("gradient", "grad.x") if gradient else ("forward", "y")
    ratios = []
    for place in [name for name in bench.graphs or GRAPHS if name in GRAPHS]:
        graph = graphs.load(place, bench.data)
        rng = np.random.default_rng(0)
        x = aligned_copy(rng.standard_normal((graph.nodes, 64)))
        coordinates = aligned_copy(rng.random((graph.edges, 2)))
        types = rng.integers(0, RELATIONS, graph.edges, dtype="i8")
        chosen = bench.layers or [name for name in LAYERS if not (bench.brief and name == "RGCN64")]
        for name in [name for name in chosen if name in LAYERS]:
            module, weights = pyg.layer(name)
            options = ["-m", name] + (["--gradient"] if gradient else [])
            model = Model(bench.compile(bench.model("layers.gnn"), f"{name}-{program}", *options), bench.threads)
            maps = {"src": graph.src, "dst": graph.dst}
            inputs = {"x": x} | {key: aligned_copy(value) for key, value in weights.items()}
            extra: dict[str, torch.Tensor] = {}
            pairs = 0
            if name == "MoNet16":
                inputs["p"] = coordinates
                extra["p"] = torch.from_numpy(coordinates)
            elif name == "RGCN64":
                maps["etype"] = types
                extra["etype"] = torch.from_numpy(types)
                pairs = np.unique(graph.dst.astype("i8") * RELATIONS + types).size
            prepared = model.prepare({"node": graph.nodes, "edge": graph.edges}, maps)
            upstream = aligned_copy(np.random.default_rng(1).standard_normal((graph.nodes, OUT[name])))
            if gradient:
                inputs["grad.y"] = upstream
            own = prepared.bind(inputs, program)
            own()
            given = torch.from_numpy(upstream) if gradient else None
            candidates = pyg.layer_candidates(name, module, graph, torch.from_numpy(x), extra, given, bench.brief)
            title, peer = pyg.fastest(candidates, own.outputs[result], same)
            times = race({"gnnc": own, "PyG": peer}, bench.rounds, bench.patience)
            ratios.append(times["PyG"].median / times["gnnc"].median)
            needed = work(name, graph, pairs, 3 if gradient else 1)
            cells = [f"{name}, {graph.title}", spread(times["gnnc"]), spread(times["PyG"]), title]
            cells += [ratio(times["PyG"], times["gnnc"]), f"{needed.flops / 1e6:.0f}", f"{needed.bytes / 1e6:.2f}"]
            cells += [f"{needed.gathered / 1e6:.1f}", milliseconds(needed.floor_ms(bench.at_best))]
            record = {"layer": name, "graph": graph.describe(), "arrangement": title, "work": needed.as_dict()}
            section.add(cells, record | {who: time.summary() for who, time in times.items()})
            print(f"{cells[0]}: gnnc {cells[1]}, PyG {cells[2]} ({title})", flush=True)
            prepared.free()
            model.close()
    value = f"least {min(ratios):.2f}, geometric mean {geometric_mean(ratios):.2f}"
    section.goals = [Goal("faster than PyG everywhere", value, min(ratios) > 1)]
    return section
