"""Part 2: emitted products against OpenBLAS."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from harness.machine import product_work, same
from harness.measure import race
from harness.model import Model, aligned_copy
from harness.report import Goal, Section, geometric_mean, milliseconds, ratio, spread
from harness.toolbox import Bench
from peers.native import OpenBLAS, PeerError, empty_like_result

ROWS = 12000
SIZES = (16, 64, 128, 256)
NOTE = """\
`x @ W` with {rows} rows; K numbers a row of x, N a row of the result. Milliseconds: median [least–most]; ratios: by medians
[by the least]. OpenBLAS: the system's {system}; NumPy's own: {numpy}; MKL's sgemm {mkl} for comparison. Floor: the longer of
the operations and the bytes at the machine's ceilings."""
HEADER = [
    "K, N",
    "gnnc",
    "gnnc GFLOP/s",
    "OpenBLAS",
    "NumPy's OpenBLAS",
    "MKL",
    "OpenBLAS / gnnc",
    "NumPy's / gnnc",
    "MKL / gnnc",
]
HEADER += ["Mflop", "MB", "floor"]


def run(bench: Bench) -> Section:
    libraries: dict[str, OpenBLAS] = {}
    for name, of_numpy in (("OpenBLAS", False), ("NumPy's OpenBLAS", True)):
        try:
            libraries[name] = OpenBLAS(bench.threads, of_numpy)
        except PeerError as error:
            print(f"products: {error}")
    versions = {name: library.version for name, library in libraries.items()}
    system, numpys = (versions.get(name, "absent") for name in ("OpenBLAS", "NumPy's OpenBLAS"))
    note = NOTE.format(rows=ROWS, system=system, numpy=numpys, mkl=bench.mkl.version)
    section = Section(f"Dense products, {bench.threaded()}", note, HEADER)
    ratios: dict[str, list[float]] = {name: [] for name in [*libraries, "MKL"]}
    rng = np.random.default_rng(0)
    for inner in SIZES:
        for columns in SIZES:
            x = aligned_copy(rng.standard_normal((ROWS, inner)))
            weight = aligned_copy(rng.standard_normal((inner, columns)))
            name = f"product{inner}x{columns}"
            options = ("-D", f"in={inner}", "-D", f"out={columns}")
            model = Model(bench.compile(bench.model("product.gnn"), name, *options), bench.threads)
            prepared = model.prepare({"node": ROWS}, {})
            own = prepared.bind({"x": x, "W": weight})
            results = {peer: empty_like_result(ROWS, columns) for peer in ratios}
            calls: dict[str, Callable[[], object]] = {"gnnc": own, "MKL": bench.mkl.sgemm(x, weight, results["MKL"])}
            calls |= {peer: library.sgemm(x, weight, results[peer]) for peer, library in libraries.items()}
            for call in calls.values():
                call()
            for peer, result in results.items():
                if not same(own.outputs["y"], result):
                    raise SystemExit(f"products: gnnc differs from {peer} at K {inner}, N {columns}")
            times = race(calls, bench.rounds, bench.patience)
            ours = times["gnnc"]
            for peer, list_of in ratios.items():
                list_of.append(times[peer].median / ours.median)
            work = product_work(ROWS, inner, columns)
            cells = [f"{inner}, {columns}", spread(ours), f"{work.flops / ours.median / 1e6:.0f}"]
            peers = ("OpenBLAS", "NumPy's OpenBLAS", "MKL")
            cells += [spread(times[peer]) if peer in times else "–" for peer in peers]
            cells += [ratio(times[peer], ours) if peer in times else "–" for peer in peers]
            cells += [f"{work.flops / 1e6:.0f}", f"{work.bytes / 1e6:.2f}", milliseconds(work.floor_ms(bench.at_best))]
            record = {"rows": ROWS, "K": inner, "N": columns, "work": work.as_dict()}
            section.add(cells, record | {name: time.summary() for name, time in times.items()})
            prepared.free()
            model.close()
    for peer in libraries:
        mean, least = geometric_mean(ratios[peer]), min(ratios[peer])
        text = f"at least 0.8 of the speed of {peer}, geometric mean over the shapes"
        section.goals.append(Goal(text, f"{mean:.2f}, least {least:.2f}", mean >= 0.8))
    return section
