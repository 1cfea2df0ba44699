"""Memory of forward and backward together, for each setting of --save: tables for docs/Performance.md.

    python3 benchmarks cpu.memory build/bin/gnnc

Bytes are those of the plan in the compiled object (`gnnc inspect --json`), evaluated for the sizes of a graph: the most
that intermediate values take at one time, and outputs (the result, and gradients of inputs and parameters). Inputs and
parameters are not counted. Nothing is run, so the machine does not matter.
"""

from __future__ import annotations

import argparse
import json
import math
import subprocess
import tempfile

from harness.places import GNNC, MODELS

LAYERS_FILE = MODELS / "layers.gnn"
SETTINGS = ("auto", "none", "all")
LAYERS = {
    "SAGE-max 64": "SAGEMax64",
    "GAT h4 d16": "GATHeads4",
    "GATv2 h2 d64": "GATv2Heads2",
    "GT h4 d64": "TransformerHeads4",
    "MoNet16 k2 r2": "MoNet16",
    "EdgeConv64": "EdgeConv64",
}
# Peak MiB of PyTorch Geometric 2.8 (torch 2.11) on an H200 beyond the inputs, forward and backward: eager, compiled.
PEERS = {
    ("SAGE-max 64", "arxiv"): (1867, 326),
    ("SAGE-max 64", "tolokers"): (1356, 256),
    ("GAT h4 d16", "arxiv"): (1311, 492),
    ("GAT h4 d16", "tolokers"): (1099, 326),
    ("GATv2 h2 d64", "arxiv"): (3576, 657),
    ("GATv2 h2 d64", "tolokers"): (3081, 75),
    ("GT h4 d64", "arxiv"): (7235, 1317),
    ("GT h4 d64", "tolokers"): (6169, 133),
    ("MoNet16 k2 r2", "arxiv"): (572, 83),
    ("MoNet16 k2 r2", "tolokers"): (494, 21),
    ("EdgeConv64", "cloud, k = 20"): (2416, 1104),
    ("EdgeConv64", "cloud, k = 40"): (None, 2144),
}
POINTS = 65536  # 64 clouds of 1024
GRAPHS = {
    "arxiv": (169343, 1166243),
    "tolokers": (11758, 1038000),
    **{f"cloud, k = {k}": (POINTS, k * POINTS) for k in (20, 40, 80)},
}
DEGREES = (4, 20, 100, 500)
NODES = 16384


class Plan:
    """The memory plan of a model's gradients."""

    def __init__(self, gnnc: str, model: str, save: str, folder: str) -> None:
        target = f"{folder}/{model}-{save}.so"
        subprocess.run(
            [gnnc, "compile", str(LAYERS_FILE), "-m", model, "--gradient", "--save", save, "--cpu", "v3", "-o", target],
            check=True,
        )
        self.description = json.loads(
            subprocess.run([gnnc, "inspect", target, "--json"], check=True, text=True, stdout=subprocess.PIPE).stdout
        )
        self.each = 8 if self.description["dtype"] == "f64" else 4

    def bytes(self, nodes: int, edges: int) -> int:
        extents = {"node": nodes, "edge": edges, None: 1}
        values = [b for b in self.description["buffers"] if b["function"] == "gradient"]
        size = {id(b): b["row_elements"] * self.each * extents[b["space"]] for b in values}
        peak = max(sum(size[id(b)] for b in values if b["first"] <= v["first"] <= b["last"]) for v in values)
        program = next(p for p in self.description["programs"] if p["name"] == "gradient")
        outputs = sum(math.prod(o["dims"]) * self.each * extents[o["space"]] for o in program["outputs"])
        return peak + outputs

    def saves_edges(self) -> bool:
        return any(b.get("saved") and b["space"] == "edge" for b in self.description["buffers"])


def mebibytes(count: int) -> str:
    value = count / 2**20
    return f"{value:.0f}" if value >= 100 else f"{value:.3g}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("gnnc", nargs="?", default=str(GNNC), help="the compiler")
    gnnc = parser.parse_args().gnnc
    with tempfile.TemporaryDirectory() as folder:
        plans = {(layer, save): Plan(gnnc, model, save, folder) for layer, model in LAYERS.items() for save in SETTINGS}
    heads = [f"{name} ({edges / nodes:.3g})" for name, (nodes, edges) in GRAPHS.items()]
    print("| layer | " + " | ".join(heads) + " |")
    print("|---" * (len(heads) + 1) + "|")
    for layer in LAYERS:
        cells = []
        for graph, (nodes, edges) in GRAPHS.items():
            cell = " / ".join(mebibytes(plans[layer, save].bytes(nodes, edges)) for save in SETTINGS)
            if peer := PEERS.get((layer, graph)):
                cell += " · " + " / ".join("–" if mib is None else str(mib) for mib in peer)
            cells.append(cell)
        print(f"| {layer} | " + " | ".join(cells) + " |")
    print()
    print("| layer | " + " | ".join(f"E/V = {degree}" for degree in DEGREES) + " | edges saved by auto |")
    print("|---" * (len(DEGREES) + 2) + "|")
    for layer in LAYERS:
        cells = [
            " / ".join(mebibytes(plans[layer, save].bytes(NODES, degree * NODES)) for save in SETTINGS)
            for degree in DEGREES
        ]
        print(f"| {layer} | " + " | ".join(cells) + f" | {'yes' if plans[layer, 'auto'].saves_edges() else 'no'} |")
