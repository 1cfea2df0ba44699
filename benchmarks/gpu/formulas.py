"""Random formulas beside their floors on a GPU; cpu/formulas.py is the same for CPUs.

    python3 benchmarks gpu.formulas compile --gnnc build/bin/gnnc --out objects --first 1000 --count 150 --jobs 16
    python3 benchmarks gpu.formulas run objects --out formulas.json       # where there is a GPU and PyTorch
    python3 benchmarks gpu.formulas table formulas.json

`compile --standard` takes layers of the standard library at all widths instead of random formulas (harness/standard.py).
Each program runs on a seeded graph of the kind that its formula names (harness/kinds.py); the median of its captured calls is
compared with its floor (harness/floor.py). A program slower than `--explain` times its floor is also run under PyTorch's
profiler, which says what each kernel takes. One process measures all; where a formula ends it, the next goes on in a new one.
"""

from __future__ import annotations

import argparse
import gc
import json
import subprocess
import sys
import time
from pathlib import Path

from harness import fuzzing
from harness.floor import Definition, Rates
from harness.program import Program


def compile_objects(arguments: argparse.Namespace) -> None:
    formulas = fuzzing.chosen(arguments)
    options = ["--target", "cuda", "--arch", arguments.arch, *arguments.options]
    fuzzing.compile_all(arguments.gnnc, formulas, arguments.out, options, arguments.limit, arguments.jobs)


def profiled(call, times: int = 3) -> dict[str, float]:
    """Microseconds of each kernel, over a few calls."""
    import torch
    from torch.profiler import ProfilerActivity, profile

    with profile(activities=[ProfilerActivity.CUDA]) as found:
        for _ in range(times):
            call()
        torch.cuda.synchronize()
    return {event.key: event.self_device_time_total for event in found.key_averages() if event.key.startswith("gnnc_")}


def measure(found: dict, arguments: argparse.Namespace, graphs: dict, ceilings: Rates) -> dict:
    import torch

    from gpu.grid import timed
    from gpu.model import DeviceRun, open_model, random_tensors
    from harness import kinds

    if found["graph"] not in graphs:
        graphs[found["graph"]] = kinds.make(found["graph"], large=True)
    kind = graphs[found["graph"]]
    definition = Definition(json.loads((arguments.objects / f"{found['object']}.json").read_text()))
    model = open_model(str(arguments.objects / f"{found['object']}.so"))
    roots = {entry["name"] for entry in definition.model["maps"] if entry["kind"] == "root"}
    spaces = {entry["name"] for entry in definition.model["spaces"] if entry["kind"] in ("root", "static")}
    maps = {name: array for name, array in kind.maps.items() if name in roots}
    prepared = model.prepare({name: size for name, size in kind.extents.items() if name in spaces}, maps)
    ascending = {name: kinds.ascends(array) for name, array in maps.items()}
    record: dict = {}
    for program in fuzzing.PROGRAMS:
        run = DeviceRun(prepared, random_tensors(prepared, program), program)
        run()
        torch.cuda.synchronize()
        captured = torch.cuda.CUDAGraph()
        with torch.cuda.graph(captured):
            run()
        times = timed(captured.replay, arguments.seconds)
        times = {"ms": times["median"], "least": times["least"], "called": timed(run, arguments.seconds)["median"]}
        fuzzing.judged(
            record, model.info, program, definition, prepared.extent, lambda m: ascending.get(m, False), ceilings, times
        )
        entry = record["programs"][program]
        entry["kernels"] = fuzzing.kernel_floors(model.info, program, prepared.extent, ceilings)
        entry["workspace_mib"] = prepared.workspace_bytes(program) / 2**20
        if entry["ratio"] >= arguments.explain:
            try:
                fuzzing.enter_kernels(entry, profiled(run))
            except (RuntimeError, AttributeError) as error:  # of the profiler; times are there
                print(f"{found['name']}: not profiled: {error}", file=sys.stderr)
        if not all(torch.isfinite(output).all() for output in run.outputs.values()):
            entry["not finite"] = True
        del run, captured
    prepared.free()
    # The model stays open: the profiler knows kernels by their handles, and unloading gives those to other kernels.
    gc.collect()
    torch.cuda.empty_cache()
    return record


def some(arguments: argparse.Namespace) -> None:
    """Prints a line for each formula, begun and done."""
    import torch

    from gpu.grid import ceilings

    found = ceilings(arguments.seconds)
    rates = Rates(found["copy"], found["cache"], found["product"])
    print(json.dumps({"device": torch.cuda.get_device_name(), "rates": rates.__dict__}), flush=True)
    graphs: dict = {}
    records = fuzzing.read_compiled(arguments.objects)
    for name in arguments.names:
        print(json.dumps({"begun": name}), flush=True)
        try:
            record = measure(records[name], arguments, graphs, rates)
        except Exception as error:
            record = {"failed": f"{type(error).__name__}: {error}"[:300]}
            print(json.dumps(record | {"name": name}), flush=True)
            if "CUDA" in record["failed"] or "cuda" in record["failed"]:
                sys.exit(1)  # what follows on this context would fail too
            continue
        print(json.dumps(record | {"name": name}), flush=True)


def run(arguments: argparse.Namespace) -> None:
    begin = time.perf_counter()
    records = fuzzing.read_compiled(arguments.objects)
    waiting = [name for name, record in records.items() if "failed" not in record]
    results: dict = {}
    while waiting:
        command = [sys.executable, str(Path(__file__).resolve().parents[1]), "gpu.formulas", "some"]
        command += [str(arguments.objects), "--seconds", str(arguments.seconds), "--explain", str(arguments.explain)]
        process = subprocess.Popen(
            [*command, "--names", *waiting], stdout=subprocess.PIPE, text=True, stderr=sys.stderr
        )
        begun, before = None, len(waiting)
        for line in process.stdout:
            message = json.loads(line)
            if "device" in message:
                results |= message
            elif "begun" in message:
                begun = message["begun"]
            else:
                name, begun = message["name"], None
                waiting.remove(name)
                records[name] |= message
                shown = {program: f"{entry['ratio']:.2f}" for program, entry in message.get("programs", {}).items()}
                print(f"{time.perf_counter() - begin:6.1f} s {name}", message.get("failed") or shown, flush=True)
                write(arguments, results, list(records.values()))
            if time.perf_counter() - begin > arguments.budget:
                process.kill()
        process.wait()
        if time.perf_counter() - begin > arguments.budget:
            print(f"not measured within the budget: {len(waiting)}")
            for name in waiting:
                records.pop(name)
            break
        if begun is not None:
            waiting.remove(begun)
            records[begun]["failed"] = f"status {process.returncode}"
        elif len(waiting) == before:
            raise SystemExit(f"gpu.formulas: error: nothing can be measured (status {process.returncode})")
    write(arguments, results, list(records.values()))
    print("\n".join(fuzzing.table(list(records.values()))))


def write(arguments: argparse.Namespace, results: dict, records: list[dict]) -> None:
    whole = {
        "machine": results.get("device", ""),
        "command": " ".join(["python3 benchmarks gpu.formulas", *sys.argv[1:]]),
        "rates": results.get("rates", {}),
        "summary": fuzzing.summary(records),
        "formulas": records,
    }
    arguments.out.write_text(fuzzing.kept(whole))


def main() -> None:
    program = Program(__doc__)
    action = program.compile(compile_objects)
    fuzzing.add_formulas(action)
    action = program.run(run)
    action.add_argument("--out", type=Path, required=True)
    action.add_argument("--budget", type=float, default=1e9, help="seconds for all")
    add_measuring(action)
    action = program.action("some", some, "measure these formulas; `run` calls it")
    action.add_argument("objects", type=Path)
    action.add_argument("--names", nargs="+", required=True)
    add_measuring(action)
    program.table(fuzzing.print_tables).add_argument("--worst", type=int, default=10, help="of each program")
    program.main()


def add_measuring(action: argparse.ArgumentParser) -> None:
    action.add_argument("--seconds", type=float, default=0.05, help="of calls of each program")
    action.add_argument("--explain", type=float, default=3, help="times its floor, from which kernels are profiled")
