"""Part 6: R-GCN and HGT on graphs with types of nodes and edges, forward, and forward and backward."""

from __future__ import annotations

import numpy as np

from cpu import graphs
from harness.machine import same
from harness.measure import race
from harness.model import Model, aligned_copy
from harness.report import Goal, Section, geometric_mean, ratio, spread
from harness.toolbox import Bench

NOTE = """\
Whole layers, input and output width 64, HGT with 4 heads, forward, and forward and backward with the gradients of the
input and of all parameters; {versions}. Milliseconds: median [least–most]; ratios: by medians [by the least]. A relation
of HGT is a triple of node type, edge type and node type. A peer that takes more than two seconds is called once."""
HEADER = ["layer, graph", "nodes / edges / types", "", "gnnc", "PyG", "how", "PyG / gnnc"]
LAYERS = ("RGCN64", "HGT64")
GRAPHS = ("aifb", "mutag", "bgs")


def run(bench: Bench) -> Section:
    import torch

    from peers import pyg

    torch.set_num_threads(bench.threads)
    section = Section(f"Typed layers, {bench.threaded()}", NOTE.format(versions=pyg.versions()), HEADER)
    ratios: dict[str, list[float]] = {"forward": [], "gradient": []}
    for place in [name for name in bench.graphs or GRAPHS if name in GRAPHS]:
        typed = graphs.load_typed(place, bench.data, bench.out)
        graph = typed.graph
        x = aligned_copy(np.random.default_rng(0).standard_normal((graph.nodes, 64)))
        upstream = aligned_copy(np.random.default_rng(1).standard_normal((graph.nodes, 64)))
        types = {"edge_type": len(typed.ends), "node_type": int(typed.node_type.max()) + 1}
        for name in [name for name in bench.layers or LAYERS if name in LAYERS]:
            module, weights = pyg.typed_layer(name, typed)
            sizes = [f"-D{key}={value}" for key, value in types.items() if name == "HGT64" or key == "edge_type"]
            model = Model(
                bench.compile(bench.model("layers.gnn"), f"{name}-{place}", "-m", name, "--gradient", *sizes),
                bench.threads,
            )
            maps = {"src": graph.src, "dst": graph.dst, "etype": typed.relation}
            if name == "HGT64":
                maps["ntype"] = typed.node_type
            prepared = model.prepare({"node": graph.nodes, "edge": graph.edges}, maps)
            for program, result in (("forward", "y"), ("gradient", "grad.x")):
                inputs = {"x": x} | {key: aligned_copy(value) for key, value in weights.items()}
                given = None
                if program == "gradient":
                    inputs["grad.y"] = upstream
                    given = torch.from_numpy(upstream)
                own = prepared.bind(inputs, program)
                own()
                candidates = pyg.typed_candidates(name, module, typed, torch.from_numpy(x), given)
                title, peer = pyg.fastest(candidates, own.outputs[result], same)
                times = race({"gnnc": own, "PyG": peer}, bench.rounds, bench.patience)
                ratios[program].append(times["PyG"].median / times["gnnc"].median)
                counts = f"{graph.nodes} / {graph.edges} / {len(typed.ends)}"
                way = "forward" if program == "forward" else "forward and backward"
                cells = [f"{name}, {graph.title}", counts, way, spread(times["gnnc"]), spread(times["PyG"]), title]
                section.add(
                    [*cells, ratio(times["PyG"], times["gnnc"])],
                    {"layer": name, "graph": graph.describe(), "program": program, "arrangement": title}
                    | {who: time.summary() for who, time in times.items()},
                )
                print(f"{cells[0]}, {way}: gnnc {cells[3]}, PyG {cells[4]} ({title})", flush=True)
            prepared.free()
            model.close()
    for program, goal, text in (("forward", 8, "forward"), ("gradient", 15, "forward and backward")):
        if found := ratios[program]:
            value = f"least {min(found):.2f}, geometric mean {geometric_mean(found):.2f}"
            section.goals.append(
                Goal(f"typed layers {goal} times as fast {text}", value, geometric_mean(found) >= goal)
            )
    return section
