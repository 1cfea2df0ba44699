"""Two compilers' objects beside each other on one GPU: is a change slower anywhere?

    python3 benchmarks gpu.grid compile --gnnc old/gnnc --out old       # and the same with the new compiler
    python3 benchmarks gpu.compare run old new --out compare.json
    python3 benchmarks gpu.compare table compare.json

The cells are those of gpu.grid. Each program of a cell is recorded as a CUDA graph for both compilers, and rounds of
replays alternate between them, so that clocks and caches treat both alike. Reported are the ratio of the medians (new over
old; below 1 is faster), the spread of each: the middle half of its rounds over its median, and how much an output differs
at most, as a part of its largest number (all of it where that is 0 but for rounding, as the gradient of a bias of keys).
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from pathlib import Path

from gpu.grid import GRAPHS, PROGRAMS, TYPED, cells, on_graphs
from harness.places import data_folders
from harness.program import Program


class Recorded:
    """One program of one object, as a CUDA graph."""

    def __init__(self, prepared: object, tensors: dict, program: str) -> None:
        import torch

        from gpu.model import DeviceRun

        self.run = DeviceRun(prepared, tensors, program)
        self.run()
        torch.cuda.synchronize()
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.run()
        self.times: list[float] = []

    def block(self, count: int) -> float:
        """Milliseconds a replay."""
        import torch

        first, last = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        first.record()
        for _ in range(count):
            self.graph.replay()
        last.record()
        torch.cuda.synchronize()
        return first.elapsed_time(last) / count

    def summary(self) -> dict[str, float]:
        low, middle, high = statistics.quantiles(self.times, n=4)
        return {"median": middle, "least": min(self.times), "spread": (high - low) / middle}


def difference(a: dict, b: dict) -> float:
    """The largest relative error of an output."""
    found = 0.0
    for name, value in a.items():
        size = value.double().abs().max().item() if value.numel() else 0.0
        found = max(found, (value.double() - b[name].double()).abs().max().item() / max(size, 1e-30) if size else 0.0)
    return found


def measure(old: Path, new: Path, graph: object, arguments: argparse.Namespace) -> dict[str, dict]:
    from gpu.model import open_model, prepare, random_tensors

    models = [open_model(str(path)) for path in (old, new)]
    prepared = [prepare(model, graph) for model in models]
    known = [{entry["name"] for entry in model.info["programs"]} for model in models]
    found = {}
    for program in PROGRAMS:
        if "." in program or not all(program in names for names in known):
            continue
        tensors = random_tensors(prepared[1], program)
        pair = [Recorded(graph, tensors, program) for graph in prepared]
        one = max(run.block(3) for run in pair)
        count = max(1, min(50, int(2 / max(one, 1e-3))))
        rounds = max(7, min(31, int(1e3 * arguments.seconds / (2 * one * count))))
        for turn in range(rounds):
            for run in pair if turn % 2 else pair[::-1]:
                run.times.append(run.block(count))
        found[program] = {
            "old": pair[0].summary(),
            "new": pair[1].summary(),
            "ratio": pair[1].summary()["median"] / pair[0].summary()["median"],
            "difference": difference(pair[0].run.outputs, pair[1].run.outputs),
            "rounds": rounds,
        }
    for graph, model in zip(prepared, models):
        graph.free()
        model.close()
    return found


def run(arguments: argparse.Namespace) -> None:
    import torch

    results: dict = {"machine": torch.cuda.get_device_name(), "date": time.strftime("%Y-%m-%d"), "cells": []}
    folders = (arguments.objects, arguments.new)
    wanted = [cell for cell in cells(arguments.graphs) if all((folder / f"{cell[2]}.so").exists() for folder in folders)]
    for graph, row, name in on_graphs(wanted, arguments.data):
        old, new = (folder / f"{name}.so" for folder in folders)
        cell = {"graph": graph.name, "row": row}
        try:
            cell["programs"] = measure(old, new, graph, arguments)
        except Exception as error:  # One cell less, and the reason in its place.
            cell["error"] = f"{type(error).__name__}: {error}"
        results["cells"].append(cell)
        ratios = [f"{PROGRAMS[name]} {entry['ratio']:.3f}" for name, entry in cell.get("programs", {}).items()]
        print(f"{row:18} {graph.name:10}", *ratios, cell.get("error", ""), flush=True)
        arguments.out.write_text(json.dumps(results, indent=1))


def lines_of_table(cells: list[dict]) -> list[str]:
    """Markdown."""
    lines = ["| layer, graph | program | old ms | new ms | new / old | spread: old | new | difference |"]
    lines.append("|---|---|---:|---:|---:|---:|---:|---:|")
    ratios = []
    for cell in cells:
        for program, entry in cell.get("programs", {}).items():
            old, new = entry["old"], entry["new"]
            ratios.append(entry["ratio"])
            lines.append(
                f"| {cell['row']}, {cell['graph']} | {PROGRAMS[program]} | {old['median']:.4g} | {new['median']:.4g} "
                f"| {entry['ratio']:.3f} | {old['spread']:.1%} | {new['spread']:.1%} | {entry['difference']:.0e} |"
            )
        if "error" in cell:
            lines.append(f"| {cell['row']}, {cell['graph']} | {cell['error']} | | | | | | |")
    if ratios:
        lines.append(f"\ngeometric mean {statistics.geometric_mean(ratios):.3f}, most {max(ratios):.3f}, {len(ratios)} cells")
    return lines


def table(arguments: argparse.Namespace) -> None:
    print("\n".join(lines_of_table([cell for file in arguments.results for cell in json.loads(file.read_text())["cells"]])))


def main() -> None:
    program = Program(__doc__)
    action = program.run(run)
    action.add_argument("new", type=Path)
    action.add_argument("--out", type=Path, required=True)
    action.add_argument("--graphs", nargs="*", default=[*GRAPHS, "k20", "k40", *TYPED])
    action.add_argument("--data", type=Path, nargs="*", default=data_folders())
    action.add_argument("--seconds", type=float, default=0.3, help="for each program")
    program.table(table)
    program.main()
