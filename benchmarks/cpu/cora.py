"""Part 3: inference of the two-layer models on Cora, from compiling them to the first and the thousandth result."""

from __future__ import annotations

import os
import statistics
import time
from pathlib import Path

import numpy as np

from cpu import cold_start, graphs
from harness.machine import same
from harness.measure import Times, await_quiet, race
from harness.model import Graph as PreparedGraph
from harness.model import Model, aligned_copy
from harness.places import ROOT
from harness.report import Goal, Section, milliseconds, ratio, spread
from harness.toolbox import Bench
from peers import references

NOTE = """\
Two layers, hidden width 16 (GCN) and 8 heads of 8 (GAT), 1433 sparse features. Latency: median [least–most] ms of a call
with everything prepared. First result: a C program from its start to the first logits, median of 21 processes [least];
with its parts, and the peak of its resident memory. Compile: `gnnc compile` for two processor levels, median of 5 on the wall (of the processors)."""
HEADER = ["model", "latency", "one thread", "first result ms", "load ms", "open ms", "prepare ms", "first run ms"]
HEADER += ["peak MiB", ".so KiB", "compile s", "PyG", "PyG / gnnc"]

# Model, latency to reach in ms, function that says what is right.
MODELS = (("gcn", 0.25, references.gcn), ("gat", 0.8, references.gat))
COMPILE_GOAL = 0.5
FIRST_GOAL = 10.0
MEMORY_GOAL = 40.0


def parameters(prepared: PreparedGraph) -> dict[str, np.ndarray]:
    """Random ones, small enough for a softmax to stay lively."""
    rng = np.random.default_rng(0)
    shapes = {value["name"]: prepared.shape(value) for value in prepared.model.info["params"]}
    return {name: aligned_copy(0.3 * rng.standard_normal(shape)) for name, shape in shapes.items()}


def run(bench: Bench) -> Section:
    section = Section(f"Two-layer models on Cora, {bench.threaded()}", NOTE, HEADER)
    graph = graphs.load("cora", bench.data)
    if graph.generated:
        raise SystemExit("cora: needs cora.safetensors, see --data")
    extents = {"node": graph.nodes, "edge": graph.edges, "x.entry": graph.tensors["x_indices"].size}
    maps = {
        "src": graph.src,
        "dst": graph.dst,
        "x.row": graph.tensors["x_indptr"],
        "x.column": graph.tensors["x_indices"],
    }
    program = cold_start.build(bench.out)
    for name, goal, reference in MODELS:
        source = ROOT / "examples" / name / "model.gnn"
        await_quiet(bench.patience)
        shared_object, compile_s, compile_busy_s = compile_time(bench, source, name)
        model, alone = Model(shared_object, bench.threads), Model(shared_object, 1)
        prepared, prepared_alone = (one.prepare(extents, maps, rows=("x.row",)) for one in (model, alone))
        weights = parameters(prepared)
        own, single = prepared.bind(weights), prepared_alone.bind(weights)
        calls = {"gnnc": own, "gnnc, one thread": single}
        expected = reference(graph, weights)
        peers: dict = {}
        if bench.pyg:
            from peers import pyg

            peers = pyg.cora_candidates(name, graph, weights, expected, same)
        for call in calls.values():
            call()
        results = {"gnnc": own.outputs["logits"], "gnnc, one thread": single.outputs["logits"]}
        for who, result in results.items():
            if not same(np.asarray(result), expected):
                raise SystemExit(f"cora: {who} differs from the reference for {name}")
        times = race(calls | peers, bench.rounds, bench.patience)
        bundle = bench.out / f"{name}.bundle"
        cold_start.write_bundle(bundle, extents, maps, ("x.row",), weights, own.outputs)
        await_quiet(bench.patience)
        cold = cold_start.measure(program, shared_object, bundle, bench.threads)
        best = min(peers, key=lambda title: times[title].median, default=None)
        size = shared_object.stat().st_size / 1024
        peak = cold["peak_kib"] / 1024
        first = f"{cold['since_start_ms']:.2f} [{cold['least_since_start_ms']:.2f}]"
        cells = [name.upper(), spread(times["gnnc"]), spread(times["gnnc, one thread"]), first]
        cells += [f"{cold[part]:.2f}" for part in ("load_ms", "open_ms", "prepare_ms", "first_run_ms")]
        cells += [f"{peak:.1f}", f"{size:.0f}", f"{compile_s:.2f} ({compile_busy_s:.2f})"]
        cells += [f"{spread(times[best])} ({best})", ratio(times[best], times["gnnc"])] if best else ["–", "–"]
        record = {
            "model": name,
            "cold": cold,
            "so_kib": size,
            "compile_s": compile_s,
            "compile_processor_s": compile_busy_s,
        }
        section.add(cells, record | {title: time.summary() for title, time in times.items()})
        section.goals += judge(name, goal, times["gnnc"], compile_s, cold["since_start_ms"], peak)
        for one, ready in ((model, prepared), (alone, prepared_alone)):
            ready.free()
            one.close()
    return section


def compile_time(bench: Bench, source: Path, name: str) -> tuple[Path, float, float]:
    """The compiled model, and of a few compilations the median time on the wall and of the processors."""
    times, busy = [], []
    for _ in range(5):
        begin, before = time.perf_counter(), os.times()
        shared_object = bench.compile(source, name)
        after = os.times()
        times.append(time.perf_counter() - begin)
        busy.append(sum(after[2:4]) - sum(before[2:4]))
    return shared_object, statistics.median(times), statistics.median(busy)


def judge(name: str, goal: float, times: Times, compile_s: float, first: float, peak: float) -> list[Goal]:
    value = f"{milliseconds(times.median)} ms, least {milliseconds(times.least)}"
    return [
        Goal(f"{name.upper()} inference in {goal} ms", value, times.median <= goal),
        Goal(f"{name.upper()} compiled in {COMPILE_GOAL} s", f"{compile_s:.2f} s", compile_s < COMPILE_GOAL),
        Goal(f"{name.upper()} first result in {FIRST_GOAL:.0f} ms", f"{first:.2f} ms", first < FIRST_GOAL),
        Goal(f"{name.upper()} in {MEMORY_GOAL:.0f} MiB", f"{peak:.1f} MiB", peak < MEMORY_GOAL),
    ]
