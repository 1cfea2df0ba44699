"""Random formulas beside their floors: how far code for formulas that nobody has named is from what the machine can do.

    python3 benchmarks cpu.formulas compile --out objects --first 1000 --count 150
    python3 benchmarks cpu.formulas run objects --out formulas.json [--threads 2]
    python3 benchmarks cpu.formulas table formulas.json

`compile --standard` takes layers of the standard library at all widths instead of random formulas (harness/standard.py).
Formulas are compiled each within `--limit` seconds of processor time, and run on a seeded graph of the kind that the
seed draws (harness/kinds.py), forward and forward with all gradients, each in a process of its own. With one thread,
processor time is measured, on a machine that others use too; reported is the least of several calls. With `--jobs`, so
many formulas run at a time and share what memory gives, but rates are measured before, alone. harness/floor.py says what
the floor is. Kernels' times are shares of the samples that `perf` takes, where it is installed.
"""

from __future__ import annotations

import argparse
import collections
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from harness import fuzzing
from harness.floor import Definition, Rates
from harness.program import Program

CALLS = 3  # at least
SHORT = 0.001  # seconds; calls that take less are timed several together
SECONDS = 0.15  # of calls, where they are short


def clock(threads: int):
    return time.thread_time if threads == 1 else time.perf_counter


def least(call, threads: int, seconds: float = SECONDS) -> float:
    """Seconds of the fastest call."""
    now, times = clock(threads), []
    call()
    begin = time.perf_counter()
    call()
    together = max(1, int(SHORT / max(time.perf_counter() - begin, 1e-7)))
    end = time.perf_counter() + seconds
    while len(times) < CALLS or time.perf_counter() < end:
        begin = now()
        for _ in range(together):
            call()
        times.append((now() - begin) / together)
    return min(times)


def rates(threads: int) -> Rates:
    """By memcpy, by dot products of 96 KiB and by a product of 1024 numbers, the last two NumPy's, of one thread each.
    NumPy's vectors are the machine's widest: OPENBLAS_CORETYPE=Haswell gives those of x86-64-v3."""
    for library in ("OPENBLAS", "MKL", "OMP"):  # before NumPy is loaded; a thread's own time leaves out that of others
        os.environ[f"{library}_NUM_THREADS"] = "1"
    import numpy as np

    x, y = (np.ones(1 << 26, "f4") for _ in range(2))
    copy = 2 * x.nbytes / least(lambda: np.copyto(x, y), 1)
    small = [np.ones(24 << 10, "f4") for _ in range(2)]
    cache = sum(each.nbytes for each in small) / least(lambda: small[0].dot(small[1]), 1)
    square = [np.ones((1024, 1024), "f4") for _ in range(2)]
    product = 2 * 1024**3 / least(lambda: square[0] @ square[1], 1)
    return Rates(copy, cache * threads, product * threads)


def compile_objects(arguments: argparse.Namespace) -> None:
    formulas = fuzzing.chosen(arguments)
    fuzzing.compile_all(arguments.gnnc, formulas, arguments.out, arguments.options, arguments.limit, arguments.jobs)


def one(arguments: argparse.Namespace) -> None:
    """In a process of its own: prints what was found."""
    import numpy as np

    from harness import kinds
    from harness.model import Model, aligned

    kind = kinds.make(arguments.graph, large=False)
    definition = Definition(json.loads((arguments.objects / f"{arguments.object}.json").read_text()))
    model = Model(arguments.objects / f"{arguments.object}.so", arguments.threads)
    roots = {entry["name"] for entry in definition.model["maps"] if entry["kind"] == "root"}
    spaces = {entry["name"] for entry in definition.model["spaces"] if entry["kind"] in ("root", "static")}
    extents = {name: extent for name, extent in kind.extents.items() if name in spaces}
    maps = {name: array for name, array in kind.maps.items() if name in roots}
    graph = model.prepare(extents, maps)
    rng = np.random.default_rng(fuzzing.seed_of(arguments.object))

    def tensors(program: str) -> dict[str, np.ndarray]:
        known = {
            value["name"]: value for value in [*model.info["inputs"], *model.info["params"], *model.info["states"]]
        }
        known |= {f"grad.{value['name']}": value for value in model.info["outputs"]}
        found = {}
        for name in next(entry for entry in model.info["programs"] if entry["name"] == program)["inputs"]:
            found[name] = aligned(graph.shape(known[name]))
            found[name][...] = 0.3 * rng.standard_normal(found[name].shape, "f4")
        return found

    ascending = {name: kinds.ascends(array) for name, array in maps.items()}
    ceilings = Rates(*arguments.rates)
    record: dict = {}
    for program in [arguments.program] if arguments.program else fuzzing.PROGRAMS:
        run = graph.bind(tensors(program), program)
        times = {"ms": 1e3 * least(run, arguments.threads)}
        fuzzing.judged(
            record, model.info, program, definition, graph.extent, lambda m: ascending.get(m, False), ceilings, times
        )
        entry = record["programs"][program]
        entry["kernels"] = fuzzing.kernel_floors(model.info, program, graph.extent, ceilings)
        entry["workspace_mib"] = graph.workspace_bytes(program) / 2**20
        if not all(np.isfinite(output).all() for output in run.outputs.values()):
            entry["not finite"] = True
    print(json.dumps(record))


def sampled(data: Path) -> dict[str, int]:
    """How often each symbol was met."""
    done = subprocess.run(["perf", "script", "-i", str(data), "-F", "ip,sym"], capture_output=True, text=True)
    symbols = collections.Counter((line.split() + ["", ""])[1] for line in done.stdout.splitlines())
    return {symbol: count for symbol, count in symbols.items() if symbol.startswith("gnnc_")}


def measure(arguments: argparse.Namespace, record: dict, ceilings: Rates) -> None:
    """A formula in processes of its own: one that times it, and one for each slow program that says where the time goes."""
    root = Path(__file__).resolve().parents[1]
    command = [
        sys.executable,
        str(root),
        "cpu.formulas",
        "one",
        str(arguments.objects),
        record["object"],
        record["graph"],
    ]
    command += ["--threads", str(arguments.threads)]
    command += ["--rates", *(str(rate) for rate in (ceilings.copy, ceilings.cache, ceilings.product))]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=arguments.patience)
    except subprocess.TimeoutExpired:
        record["failed"] = f"not run in {arguments.patience:.0f} s"
        return
    if done.returncode:
        record["failed"] = f"status {done.returncode}: {fuzzing.reason(done.stderr)}"
        return
    record |= json.loads(done.stdout.splitlines()[-1])
    for program, entry in record["programs"].items():
        if entry["ratio"] < arguments.explain or not shutil.which("perf"):
            continue
        with tempfile.TemporaryDirectory() as folder:
            data = Path(folder) / "samples"
            watched = ["perf", "record", "-q", "-e", "cpu-clock", "-F", "1000", "-o", str(data), "--", *command]
            subprocess.run([*watched, "--program", program], capture_output=True, timeout=arguments.patience)
            fuzzing.enter_kernels(entry, sampled(data))


def run(arguments: argparse.Namespace) -> None:
    ceilings = rates(arguments.threads)
    print(
        f"copy {ceilings.copy / 1e9:.1f} GB/s, cache {ceilings.cache / 1e9:.1f} GB/s, product {ceilings.product / 1e9:.1f} GFLOP/s"
    )
    found = fuzzing.read_compiled(arguments.objects)
    if arguments.out.exists() and arguments.resume:
        found |= {record["name"]: record for record in json.loads(arguments.out.read_text())["formulas"]}
    records = [record for name, record in found.items() if not arguments.names or name in arguments.names]
    waiting = [record for record in records if "failed" not in record and "programs" not in record]
    with ThreadPoolExecutor(arguments.jobs) as pool:

        def measured(record: dict) -> dict:
            own = dict(record)  # records are written while others are measured
            measure(arguments, own, ceilings)
            return own

        for record, own in zip(waiting, pool.map(measured, waiting), strict=True):
            record |= own
            write(arguments, ceilings, records)
            shown = {name: f"{entry['ratio']:.2f}" for name, entry in record.get("programs", {}).items()}
            print(record["name"], record["graph"], record.get("failed") or shown, flush=True)
    write(arguments, ceilings, records)
    print("\n".join(fuzzing.table(records)))


def write(arguments: argparse.Namespace, ceilings: Rates, records: list[dict]) -> None:
    from harness import machine

    about = {
        "clock": "processor time of one thread" if arguments.threads == 1 else "time on the wall",
        "command": " ".join(["python3 benchmarks cpu.formulas", *sys.argv[1:]]),
    }
    results = {
        "machine": machine.describe(arguments.threads) | about,
        "rates": ceilings.__dict__,
        "summary": fuzzing.summary(records),
        "formulas": records,
    }
    arguments.out.write_text(fuzzing.kept(results))


def main() -> None:
    program = Program(__doc__)
    action = program.compile(compile_objects)
    fuzzing.add_formulas(action)
    action = program.run(run)
    action.add_argument("--out", type=Path, required=True)
    action.add_argument("--threads", type=int, default=1)
    action.add_argument("--jobs", type=int, default=1, help="formulas at a time")
    action.add_argument("--names", nargs="*", help="only these, such as F1000")
    action.add_argument("--resume", action="store_true", help="leave out what is in the output file already")
    action.add_argument("--patience", type=float, default=120, help="seconds for each")
    action.add_argument("--explain", type=float, default=3, help="times its floor, from which kernels are sampled")
    action = program.action("one", one, "measure one formula; `run` calls it")
    action.add_argument("objects", type=Path)
    action.add_argument("object", help="its name")
    action.add_argument("graph", help="the kind of graph")
    action.add_argument("--threads", type=int, default=1)
    action.add_argument("--program", choices=fuzzing.PROGRAMS, help="only this")
    action.add_argument("--rates", type=float, nargs=3, required=True)
    program.table(fuzzing.print_tables).add_argument("--worst", type=int, default=10, help="of each program")
    program.main()
