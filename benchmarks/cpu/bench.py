"""Measures gnnc beside its peers; ./dev bench calls this.

    ./dev bench [PART...] [--pyg] [--rounds N] [--patience SECONDS] [--threads N | --processor-time]

Parts: spmm, products, widths, cora, sweeps, passes, layers, gradients and typed (the last three need --pyg). Results go to the
terminal and, as results.md and results.json, to the output directory. Nothing is measured before its result has been
compared with the peers'.
"""

from __future__ import annotations

import argparse
import importlib
import os
import sys
from pathlib import Path

from harness.places import GNNC, OUT, data_folders

PARTS = ("spmm", "products", "widths", "cora", "sweeps", "passes", "layers", "gradients", "typed")
WITH_PYG = ("layers", "gradients", "typed")


def settle(threads: int, out: Path) -> None:
    """Must come before the libraries are loaded. Their idle threads would spin beside the next contender (Intel's OpenMP
    for 200 ms, OpenBLAS for 26 ms), so they are told to fall asleep within the pause between two blocks. What torch compiles is kept with the results."""
    os.environ.update(
        OMP_NUM_THREADS=str(threads),
        MKL_NUM_THREADS=str(threads),
        MKL_DYNAMIC="FALSE",
        OPENBLAS_NUM_THREADS=str(threads),
        KMP_BLOCKTIME="1",
        OPENBLAS_THREAD_TIMEOUT="20",
        TORCHINDUCTOR_CACHE_DIR=str(out / "inductor"),
    )


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="./dev bench", description=__doc__.splitlines()[0])
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"of {', '.join(PARTS)}; default: all that can be run")
    parser.add_argument("--pyg", action="store_true", help="with PyTorch Geometric")
    parser.add_argument("--threads", type=int, default=min(2, os.cpu_count() or 1), help="of every contender (2)")
    parser.add_argument("--rounds", type=int, default=15, help="of each race (15)")
    parser.add_argument(
        "--patience", type=float, default=0, help="seconds to wait for a quiet machine before each race (0)"
    )
    parser.add_argument(
        "--processor-time", action="store_true", help="of one thread, for machines that are never quiet"
    )
    parser.add_argument(
        "--layers", nargs="+", default=(), help="of parts passes, layers, gradients and typed, only these"
    )
    parser.add_argument(
        "--graphs", nargs="+", default=(), help="of parts passes, layers, gradients and typed, only these"
    )
    parser.add_argument("--brief", action="store_true", help="without arrangements of PyG that are never the best")
    parser.add_argument("--gnnc", type=Path, default=GNNC, help="the compiler")
    parser.add_argument("--out", type=Path, default=OUT, help="where results go")
    parser.add_argument(
        "--data",
        type=Path,
        nargs="+",
        default=data_folders(),
        help="where graphs are looked for (examples/data, and the folder data in GNNC_SHARED)",
    )
    chosen = parser.parse_args()
    unknown = set(chosen.parts) - set(PARTS)
    if unknown:
        parser.error(f"unknown part {min(unknown)}, expected one of {', '.join(PARTS)}")
    if chosen.processor_time:
        chosen.threads = 1
    for part in WITH_PYG:
        if part in chosen.parts and not chosen.pyg:
            parser.error(f"part {part} needs --pyg")
    return chosen


def main() -> int:
    chosen = arguments()
    settle(chosen.threads, chosen.out.resolve())
    from harness import machine, measure, report
    from harness.toolbox import Bench
    from peers.native import MKL

    chosen.out.mkdir(parents=True, exist_ok=True)
    if chosen.processor_time:
        measure.count_processor_time()
    mkl = MKL(chosen.threads)
    at_best = machine.ceilings(mkl, chosen.threads)
    bench = Bench(
        chosen.gnnc, chosen.out, chosen.data, chosen.threads, chosen.rounds, chosen.patience, mkl, at_best, chosen.pyg
    )
    bench.brief = chosen.brief
    bench.layers, bench.graphs = tuple(chosen.layers), tuple(chosen.graphs)
    about = machine.describe(chosen.threads) | {
        "MKL": mkl.version,
        "reached by MKL's sgemm": f"{at_best.gflops:.0f} GFLOP/s",
        "copying in memory": f"{at_best.copy_gbs:.1f} GB/s",
        "reading in the second-level cache": f"{at_best.cached_gbs:.0f} GB/s",
        "clock": "processor time of one thread" if chosen.processor_time else "time on the wall",
        "command": "./dev bench " + " ".join(sys.argv[1:]),
    }
    for key, value in about.items():
        print(f"{key}: {value}")
    print(flush=True)
    sections: list[report.Section] = []
    for part in chosen.parts or [part for part in PARTS if part not in WITH_PYG or chosen.pyg]:
        section: report.Section = importlib.import_module(f"cpu.{part}").run(bench)
        print(section.text(), flush=True)
        sections.append(section)
        report.write(chosen.out, about, sections)
    print(f"written: {chosen.out}/results.md and results.json")
    return 0
