"""Part 1: the weighted sum of neighbours, against MKL's and SciPy's product of a CSR matrix."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from cpu import graphs
from harness.machine import same, spmm_work
from harness.measure import race
from harness.model import Model, aligned_copy
from harness.report import Goal, Section, milliseconds, ratio, spread
from harness.toolbox import Bench
from peers.native import empty_like_result, scipy_product

NOTE = """\
Milliseconds: median [least–most]; ratios: by medians [by the least]. MKL is the better of its handle as created and the
one that mkl_sparse_optimize has seen (told of 1000 calls), on as many threads as gnnc; SciPy has one thread. Floor: the
longest of the operations, the bytes and the gathered bytes at the machine's own ceilings."""
HEADER = [
    "graph, width",
    "gnnc",
    "MKL",
    "handle",
    "SciPy",
    "MKL / gnnc",
    "SciPy / gnnc",
    "Mflop",
    "MB",
    "gathered MB",
    "floor",
]
WIDTHS = (64, 16, 128, 256)


def run(bench: Bench) -> Section:
    section = Section(f"Weighted sum of neighbours (SpMM), {bench.threaded()}", NOTE, HEADER)
    by_mkl, by_scipy = [], []
    for name in ("tolokers", "twitch_de", "cora"):
        graph = graphs.load(name, bench.data)
        rng = np.random.default_rng(0)
        weights = aligned_copy(rng.random(graph.edges))
        for width in WIDTHS:
            x = aligned_copy(rng.standard_normal((graph.nodes, width)))
            model = Model(bench.compile(bench.model("spmm.gnn"), f"spmm{width}", "-D", f"dim={width}"), bench.threads)
            prepared = model.prepare({"node": graph.nodes, "edge": graph.edges}, {"src": graph.src, "dst": graph.dst})
            own = prepared.bind({"x": x, "w": weights})
            plain, tuned = empty_like_result(*x.shape), empty_like_result(*x.shape)
            by_scipy_call, scipy_result = scipy_product(graph, weights, x)
            calls: dict[str, Callable[[], object]] = {
                "gnnc": own,
                "MKL as created": bench.mkl.product(graph, weights, x, plain, optimize=False),
                "MKL optimized": bench.mkl.product(graph, weights, x, tuned, optimize=True),
                "SciPy": by_scipy_call,
            }
            for call in calls.values():
                call()
            for what, result in (("gnnc", own.outputs["y"]), ("MKL", plain), ("MKL optimized", tuned)):
                if not same(result, scipy_result()):
                    raise SystemExit(f"spmm: {what} differs from SciPy on {graph.title}, width {width}")
            times = race(calls, bench.rounds, bench.patience)
            handle = min(("MKL as created", "MKL optimized"), key=lambda title: times[title].median)
            mkl, ours, scipy = times[handle], times["gnnc"], times["SciPy"]
            if width == 64:
                by_mkl.append(mkl.median / ours.median)
                by_scipy.append(scipy.median / ours.median)
            work = spmm_work(graph.nodes, graph.edges, width)
            cells = [f"{graph.title}, {width}", spread(ours), spread(mkl), handle.split(" ", 1)[1], spread(scipy)]
            cells += [ratio(mkl, ours), ratio(scipy, ours), f"{work.flops / 1e6:.1f}", f"{work.bytes / 1e6:.2f}"]
            cells += [f"{work.gathered / 1e6:.1f}", milliseconds(work.floor_ms(bench.at_best))]
            record = {"graph": graph.describe(), "width": width, "work": work.as_dict()}
            section.add(cells, record | {name: time.summary() for name, time in times.items()})
            prepared.free()
            model.close()
    both = bench.threads > 1
    least = min(by_mkl)
    section.goals = [
        Goal("as fast as MKL at width 64 on every graph", f"at least {least:.2f} times", least >= 1 if both else None),
        Goal(
            "4 times SciPy at width 64 on every graph",
            f"at least {min(by_scipy):.2f} times",
            min(by_scipy) >= 4 if both else None,
        ),
    ]
    return section
