"""Each optimisation switched off alone: what it is worth in time, operations, bytes and memory. Needs no peers."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import numpy as np

from cpu import graphs
from cpu.layers import RELATIONS
from harness.compiler import optional_passes
from harness.machine import same
from harness.measure import Times, race
from harness.model import Graph, Model, aligned_copy
from harness.report import Section, milliseconds
from harness.toolbox import Bench

NOTE = """\
Layers written naively, everything on edges (`models/naive.gnn`), 64 numbers a node. Forward / forward and backward with all gradients. Time: of the code without the optimisation over that of the code with all of
them, by medians of one race [by the least]; the first row of a layer has milliseconds. Operations, bytes (each operand once
for each element that sees it) and the peak of intermediate values are the compiler's own count for this graph.
Optimisations whose absence leaves every kernel's cost the same are not listed."""
HEADER = ["layer, without", "forward", "forward+backward", "Mflop", "MB", "peak MiB", "kernels"]
SETTINGS = {"-O0": ["-O0"], "-O1": ["-O1"], "--save=none": ["--save=none"], "--save=all": ["--save=all"]}
NODE_TYPES = 5
LAYERS = ("GCN", "SAGEMean", "GAT", "GATv2", "MoNet", "EdgeConv", "EdgeMLP", "RGCN", "HGT")
PROGRAMS = ("forward", "gradient")


def cost(bench: Bench, model: Path, graph: Path) -> tuple[str, dict[str, dict[str, int]]]:
    """The table of kernels as text, and for each program what it costs on the graph."""
    command = [str(bench.gnnc), "inspect", str(model), "--cost", "--graph", str(graph)]
    kernels, phases = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split("phases:", 1)
    found = {}
    for line in phases.splitlines():
        cells = re.split(r" {2,}", line.strip())
        if cells[0] in PROGRAMS:
            # kernels, launches, flops, bytes read, bytes written, bytes saved, peak bytes
            numbers = [int(cell.replace(" ", "")) for cell in cells[1:]]
            found[cells[0]] = {
                "kernels": numbers[0],
                "flops": numbers[2],
                "bytes": numbers[3] + numbers[4],
                "peak": numbers[-1],
            }
    return kernels, found


class Form:
    """One layer compiled in one way, and bound to the graph."""

    def __init__(self, bench: Bench, name: str, title: str, options: list[str], graph_file: Path) -> None:
        self.title = title
        path = bench.compile(bench.model("naive.gnn"), f"passes-{name}", "-m", name, "--gradient", *options)
        path = path.rename(path.with_name(f"passes-{name}-{title.lstrip('-')}.so"))
        self.kernels, self.cost = cost(bench, path, graph_file)
        self.path = path

    def open(self, bench: Bench, extents: dict[str, int], maps: dict[str, np.ndarray]) -> None:
        self.model = Model(self.path, bench.threads)
        self.prepared = self.model.prepare(extents, maps)

    def bind(self, inputs: dict[str, np.ndarray]) -> None:
        self.runs = {
            "forward": self.prepared.bind({k: v for k, v in inputs.items() if k != "grad.y"}, "forward"),
            "gradient": self.prepared.bind(inputs, "gradient"),
        }

    def release(self) -> None:
        self.prepared.free()
        self.model.close()

    def cells(self) -> list[str]:
        def pair(key: str, scale: float, form: str) -> str:
            return " / ".join(format(self.cost[program][key] / scale, form) for program in PROGRAMS)

        return [
            pair("flops", 1e6, ".0f"),
            pair("bytes", 1e6, ".0f"),
            pair("peak", 2**20, ".1f"),
            pair("kernels", 1, ".0f"),
        ]


def write_graph(bench: Bench, graph: graphs.Graph, types: np.ndarray, node_types: np.ndarray) -> Path:
    """The graph as a file for `gnnc inspect`."""
    from safetensors.numpy import save_file

    path = bench.out / "passes-graph.safetensors"
    edges = np.stack([graph.src, graph.dst]).astype("i4")
    save_file(
        {
            "edge_index": edges,
            "edge_type": types.astype("i4"),
            "node_type": node_types.astype("i4"),
            "x": np.zeros((graph.nodes, 64), "f4"),
            "p": np.zeros((graph.edges, 2), "f4"),
        },
        str(path),
        {"num_nodes": str(graph.nodes)},
    )
    return path


def inputs_of(prepared: Graph) -> dict[str, np.ndarray]:
    """Seeded numbers for everything that the gradient takes."""
    rng = np.random.default_rng(0)
    info = prepared.model.info
    wanted = [*info["inputs"], *info["params"]]
    return {value["name"]: aligned_copy(0.3 * rng.standard_normal(prepared.shape(value))) for value in wanted}


def run(bench: Bench) -> Section:
    place = (bench.graphs or ("twitch_de",))[0]
    graph = graphs.load(place, bench.data)
    rng = np.random.default_rng(0)
    types, node_types = rng.integers(0, RELATIONS, graph.edges), rng.integers(0, NODE_TYPES, graph.nodes)
    section = Section(f"Each optimisation switched off alone, {graph.title}, {bench.threaded()}", NOTE, HEADER)
    file = write_graph(bench, graph, types, node_types)
    ways = {name: ["--without", name] for name in optional_passes(bench.gnnc)} | SETTINGS
    for name in bench.layers or LAYERS:
        best = Form(bench, name, "nothing", [], file)
        forms = [Form(bench, name, title, options, file) for title, options in ways.items()]
        forms = [form for form in forms if form.kernels != best.kernels or form.cost != best.cost]
        maps = {"src": graph.src, "dst": graph.dst}
        if name in ("RGCN", "HGT"):
            maps["etype"] = types.astype("i8")
        if name == "HGT":
            maps["ntype"] = node_types.astype("i8")
        for form in [best, *forms]:
            form.open(bench, {"node": graph.nodes, "edge": graph.edges}, maps)
            form.bind(inputs_of(best.prepared))
            for program, call in form.runs.items():
                call()
                for output, value in best.runs[program].outputs.items():
                    if not same(call.outputs[output], value):
                        raise SystemExit(f"{name} without {form.title}: {output} differs")
        times: dict[str, dict[str, Times]] = {}
        for program in PROGRAMS:
            times[program] = race(
                {form.title: form.runs[program] for form in [best, *forms]}, bench.rounds, bench.patience
            )
        for form in [best, *forms]:
            cells = [name if form is best else f"— {form.title}"]
            for program in PROGRAMS:
                own, all_on = times[program][form.title], times[program][best.title]
                if form is best:
                    cells.append(f"{milliseconds(own.median)} [{milliseconds(own.least)}] ms")
                else:
                    cells.append(f"{own.median / all_on.median:.2f} [{own.least / all_on.least:.2f}]")
            section.add(
                [*cells, *form.cells()],
                {"layer": name, "without": form.title, "cost": form.cost}
                | {program: times[program][form.title].summary() for program in PROGRAMS},
            )
            print("  ".join([*cells, *form.cells()]), flush=True)
            form.release()
    return section
