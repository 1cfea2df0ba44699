"""The sweeps of GATv2 alone against loops written by hand, in one run.

The loops are a C++ program that is not part of this repository: peers/cpu_sweeps.cpp in the folder that GNNC_SHARED
names. It measures itself (two threads of its own, medians of 15 calls), so the two take turns as processes and the
lowest median of each counts.
"""

from __future__ import annotations

import json
import statistics
import subprocess
from pathlib import Path

import numpy as np

from cpu import graphs
from harness.machine import vectors
from harness.measure import Watch, seconds
from harness.model import Model, aligned_copy
from harness.places import shared
from harness.report import Goal, Section
from harness.toolbox import Bench

HEADS, OUT = 2, 64
GRAPHS = ("tolokers", "twitch_de")
CALLS = 15  # as the peer
NOTE = """\
GATv2 with two heads of 64 on features that are projected already; forward keeps what backward needs; backward gives the gradients of both
inputs and of the attention vector. Milliseconds: the least of {rounds} medians of 15 calls, taking turns; two threads. Floors: rows
gathered along edges (forward once, backward three times) at the rate of reading in the second-level cache."""
HEADER = ["graph", "forward", "by hand", "ratio", "backward", "by hand", "ratio", "floors"]


def build_peer(bench: Bench) -> Path | None:
    """The peer's program; None where it or a compiler is missing."""
    source = shared() and shared() / "peers/cpu_sweeps.cpp"
    if not source or not source.exists():
        return None
    target = bench.out / "cpu_sweeps"
    lanes, level = (16, "v4") if "AVX-512" in vectors() else (8, "v3")
    flags = ["-std=c++20", "-O3", "-ffast-math", f"-march=x86-64-{level}", f"-DW={lanes}", "-pthread"]
    flags += ["-mprefer-vector-width=512"] if lanes == 16 else []
    for compiler in ("clang++-22", "clang++", "g++"):
        try:
            subprocess.run([compiler, *flags, str(source), "-o", str(target)], check=True, capture_output=True)
            return target
        except (OSError, subprocess.CalledProcessError):
            continue
    return None


def write_graph(graph: graphs.Graph, path: Path) -> None:
    """Nodes and edges (int64), then rows and sources by destination, rows and destinations by source (int32)."""
    order = np.lexsort((graph.dst, graph.src))
    columns = np.r_[0, np.cumsum(np.bincount(graph.src, minlength=graph.nodes))]
    with path.open("wb") as file:
        np.array([graph.nodes, graph.edges], "i8").tofile(file)
        for part in (graph.rows, graph.src, columns, graph.dst[order]):
            part.astype("i4").tofile(file)


def median_ms(call: object) -> float:
    call()
    return statistics.median(seconds(call) for _ in range(CALLS)) * 1e3


def run(bench: Bench) -> Section:
    section = Section("Sweeps of GATv2 against loops by hand", NOTE.format(rounds=bench.rounds), HEADER)
    peer = build_peer(bench)
    if peer is None or bench.threads != 2:
        section.note = (
            "Skipped: no peers/cpu_sweeps.cpp in the folder that GNNC_SHARED names, or no compiler built it."
            if peer is None
            else "Skipped: the peer has two threads, no more and no less."
        )
        return section
    ratios: dict[str, list[float]] = {"forward": [], "backward": []}
    for name in bench.graphs or GRAPHS:
        graph = graphs.load(name, bench.data)
        file = bench.out / f"{name}.bin"
        write_graph(graph, file)
        rng = np.random.default_rng(0)
        shape = (graph.nodes, HEADS, OUT)
        inputs = {key: aligned_copy(rng.uniform(-1, 1, shape)) for key in ("l", "r", "grad.y")}
        inputs["a"] = aligned_copy(rng.uniform(-1, 1, shape[1:]))
        model = Model(
            bench.compile(bench.model("sweeps.gnn"), "sweeps", "-m", "GATv2Sweeps", "--gradient"), bench.threads
        )
        prepared = model.prepare({"node": graph.nodes, "edge": graph.edges}, {"src": graph.src, "dst": graph.dst})
        whole = prepared.bind(inputs, "gradient")
        forward = prepared.bind({key: inputs[key] for key in ("l", "r", "a")}, "gradient.forward", whole)
        backward = prepared.bind(inputs, "gradient.backward", whole)
        times: dict[str, list[float]] = {key: [] for key in ("forward", "backward", "gatv2_fwd_ms", "gatv2_bwd_ms")}
        watch = Watch()
        for _ in range(bench.rounds):
            measured = subprocess.run([str(peer), str(file)], check=True, capture_output=True, text=True)
            theirs = json.loads(measured.stdout)
            if theirs["fwd_err"] > 1e-4 or theirs["bwd_rel_err"] > 1e-3:
                raise SystemExit(f"sweeps: the peer is wrong on {graph.title}: {theirs}")
            for key in ("gatv2_fwd_ms", "gatv2_bwd_ms"):
                times[key].append(theirs[key])
            times["forward"].append(median_ms(forward))
            times["backward"].append(median_ms(backward))
        others = watch.others()
        best = {key: min(values) for key, values in times.items()}
        cells = [graph.title]
        for half, hand in (("forward", "gatv2_fwd_ms"), ("backward", "gatv2_bwd_ms")):
            ratios[half].append(best[half] / best[hand])
            cells += [f"{best[half]:.2f}", f"{best[hand]:.2f}", f"{ratios[half][-1]:.2f}"]
        gathered = 4e-9 * graph.edges * HEADS * OUT / bench.at_best.cached_gbs * 1e3
        cells.append(f"{gathered:.2f}, {3 * gathered:.2f}")
        section.add(cells, {"graph": graph.describe(), "times": times, "machine": {"others": others}})
        prepared.free()
        model.close()
    for half, values in ratios.items():
        section.goals.append(Goal(f"{half} within 20 % of loops by hand", f"{max(values):.2f}", max(values) <= 1.2))
    return section
