"""Two compilers' code beside each other on the CPU: is a change slower anywhere?

    python3 benchmarks cpu.compare old/gnnc new/gnnc --threads 2 --out compare.json

The layers are those of models/layers.gnn and models/naive.gnn, on graphs of the benchmarks; each program runs in one race
of both, in short blocks that alternate. Reported are the ratio of the medians (new over old; below 1 is faster), that of
the least times, and the larger of both spreads: the middle half of the times over the median.
"""

from __future__ import annotations

import argparse
import json
import re
import statistics
import subprocess
import tempfile
import time
from pathlib import Path

import numpy as np

from cpu import graphs
from harness.measure import Times, race
from harness.model import Model, aligned_copy
from harness.places import MODELS, data_folders

FILES = ("layers.gnn", "naive.gnn")
SIZES = {"node_type": 5, "edge_type": 51}


def models_of(file: str) -> list[tuple[str, str]]:
    """Names and headers."""
    return re.findall(r"^model (\w+)\((.*)\)", (MODELS / file).read_text(), re.MULTILINE)


def spread(times: Times) -> float:
    low, middle, high = statistics.quantiles(times.samples, n=4) if len(times.samples) > 1 else (0.0, 1.0, 0.0)
    return (high - low) / middle


def inputs_of(model: Model, prepared: object) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(0)
    wanted = [*model.info["inputs"], *model.info["params"]]
    found = {value["name"]: aligned_copy(0.3 * rng.standard_normal(prepared.shape(value))) for value in wanted}
    for value in model.info["outputs"]:
        found[f"grad.{value['name']}"] = aligned_copy(rng.standard_normal(prepared.shape(value)))
    return found


def compare(paths: list[Path], graph: graphs.Graph, arguments: argparse.Namespace) -> dict[str, dict]:
    rng = np.random.default_rng(0)
    given = {
        "src": graph.src,
        "dst": graph.dst,
        "etype": rng.integers(0, SIZES["edge_type"], graph.edges),
        "ntype": rng.integers(0, SIZES["node_type"], graph.nodes),
    }
    models = [Model(path, arguments.threads) for path in paths]
    extents = {"node": graph.nodes, "edge": graph.edges}
    needed = {entry["name"] for entry in models[1].info["maps"] if entry["kind"] == "root"}
    maps = {name: aligned_copy(index, "i4") for name, index in given.items() if name in needed}
    prepared = [model.prepare(extents, maps) for model in models]
    inputs = inputs_of(models[1], prepared[1])
    found = {}
    for program in models[1].info["programs"]:
        name = program["name"]
        if "." in name:
            continue
        own = {key: inputs[key] for key in program["inputs"]}
        calls = dict(zip(("old", "new"), (graph.bind(own, name) for graph in prepared)))
        for call in calls.values():
            call()
        times = race(calls, arguments.rounds, arguments.patience)
        found[name] = {
            "old": times["old"].summary(),
            "new": times["new"].summary(),
            "ratio": times["new"].median / times["old"].median,
            "least_ratio": times["new"].least / times["old"].least,
            "spread": max(map(spread, times.values())),
        }
    for graph, model in zip(prepared, models):
        graph.free()
        model.close()
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("old", type=Path, help="a compiler")
    parser.add_argument("new", type=Path, help="another")
    parser.add_argument("--out", type=Path, help="results as JSON")
    parser.add_argument("--graphs", nargs="*", default=["twitch_de", "cora"])
    parser.add_argument("--layers", nargs="*", default=(), help="only these")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--patience", type=float, default=0)
    parser.add_argument("--data", type=Path, nargs="*", default=data_folders())
    arguments = parser.parse_args()
    cells, ratios = [], []
    print("| layer, graph | program | old ms | new ms | new / old | by the least | spread |\n|---|---|---:|---:|---:|---:|---:|")
    with tempfile.TemporaryDirectory() as folder:
        for file in FILES:
            for name, header in models_of(file):
                if arguments.layers and name not in arguments.layers:
                    continue
                paths = []
                for which, gnnc in (("old", arguments.old), ("new", arguments.new)):
                    paths.append(Path(folder) / f"{name}-{which}.so")
                    command = [str(gnnc), "compile", str(MODELS / file), "-m", name, "--gradient", "-o", str(paths[-1])]
                    for size, number in SIZES.items():
                        command += ["-D", f"{size}={number}"] if size in header else []
                    subprocess.run(command, check=True)
                for place in arguments.graphs:
                    found = compare(paths, graphs.load(place, arguments.data), arguments)
                    for program, entry in found.items():
                        ratios.append(entry["ratio"])
                        print(
                            f"| {name}, {place} | {program} | {entry['old']['median_ms']:.4g} | {entry['new']['median_ms']:.4g} "
                            f"| {entry['ratio']:.3f} | {entry['least_ratio']:.3f} | {entry['spread']:.1%} |",
                            flush=True,
                        )
                    cells.append({"layer": name, "graph": place, "programs": found})
                    if arguments.out:
                        arguments.out.write_text(json.dumps({"date": time.strftime("%Y-%m-%d"), "cells": cells}, indent=1))
    print(f"\ngeometric mean {statistics.geometric_mean(ratios):.3f}, most {max(ratios):.3f}, {len(ratios)} cells")
