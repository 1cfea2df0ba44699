"""Whole models: inference and training steps beside PyTorch eager and compiled, in float32 and TF32.

Each model is compiled by gnnc in a process of its own, all at once; then one is measured after the other: outputs and
gradients first, beside float64, then milliseconds (medians), the most memory, and how long the first step took. A model
that is refused, wrong or too long in compiling stays in the table. The compiler is the one that GNNC_COMPILER names.
"""

from __future__ import annotations

import argparse
import copy
import json
import math
import os
import statistics
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

from harness.places import ROOT

CONTENDERS = ("eager", "compiled", "gnnc")
PRECISIONS = {"float32": "highest", "tf32": "high"}


def _arguments() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("models", nargs="*", help="default: all")
    parser.add_argument("--precisions", default="float32,tf32", help="separated by commas (%(default)s)")
    parser.add_argument("--contenders", default=",".join(CONTENDERS), help="separated by commas (%(default)s)")
    parser.add_argument("--depth", type=int, help="blocks, instead of each model's own number")
    parser.add_argument("--rounds", type=int, default=20, help="steps that are timed (%(default)s)")
    parser.add_argument("--compile-seconds", type=float, default=120, help="for gnnc to compile all (%(default)s)")
    parser.add_argument("--out", type=Path, help="a file for the measurements, as JSON")
    parser.add_argument("--only-compile", action="store_true", help=argparse.SUPPRESS)
    return parser


def _made(name: str, depth: int | None) -> tuple[Any, tuple[Any, ...]]:
    import torch
    import whole

    torch.manual_seed(0)
    own, make = whole.MODELS[name]
    module, inputs = make(depth or own)
    return module.cuda(), tuple(each.cuda() for each in inputs)


def _step(module: Any, inputs: tuple[Any, ...]) -> Any:
    for parameter in module.parameters():
        parameter.grad = None
    output = module(*inputs)
    output.square().mean().backward()
    return output


def _milliseconds(run: Callable[[], object], rounds: int) -> float:
    import torch

    for _ in range(3):
        run()
    times = []
    for _ in range(rounds):
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        begin.record()
        run()
        end.record()
        torch.cuda.synchronize()
        times.append(begin.elapsed_time(end))
    return statistics.median(times)


def _error(module: Any, output: Any, reference: dict[str, Any]) -> float:
    """The largest relative error, by root mean squares, of the output and of parameters' gradients."""
    found = {"": output} | {name: each.grad for name, each in module.named_parameters() if each.grad is not None}
    return max(
        float((found[name].detach().double() - want).norm() / (want.norm() + 1e-30)) for name, want in reference.items()
    )


def _reference(name: str, depth: int | None) -> dict[str, Any]:
    module, inputs = _made(name, depth)
    module = copy.deepcopy(module).double()
    output = _step(module, tuple(each.double() if each.is_floating_point() else each for each in inputs))
    return {"": output.detach()} | {n: p.grad for n, p in module.named_parameters() if p.grad is not None}


def _measure(name: str, contender: str, arguments: argparse.Namespace, reference: dict[str, Any]) -> dict[str, Any]:
    import torch

    import gnnc

    module, inputs = _made(name, arguments.depth)
    begin = time.perf_counter()
    if contender == "gnnc":
        run = gnnc.compile(module, inputs)
    else:
        torch.compiler.reset()
        run = torch.compile(module) if contender == "compiled" else module
    output = _step(run, inputs)
    torch.cuda.synchronize()
    first = time.perf_counter() - begin
    error = _error(module, output, reference)
    del output
    with torch.no_grad():
        forward = _milliseconds(lambda: run(*inputs), arguments.rounds)
    torch.cuda.reset_peak_memory_stats()
    step = _milliseconds(lambda: _step(run, inputs), arguments.rounds)
    memory = torch.cuda.max_memory_allocated() / 2**20
    return {"forward": forward, "step": step, "memory": memory, "first": first, "error": error}


def _compile_all(names: list[str], precisions: list[str], arguments: argparse.Namespace) -> set[tuple[str, str]]:
    """Fills gnnc's cache; what takes too long is not measured."""
    depth = [] if arguments.depth is None else ["--depth", str(arguments.depth)]
    running = {
        (name, precision): subprocess.Popen(
            [sys.executable, str(Path(__file__).parents[1]), "gpu.models", name, "--only-compile"]
            + ["--precisions", precision, *depth],
            start_new_session=True,
        )
        for name in names
        for precision in precisions
    }
    end, late = time.monotonic() + arguments.compile_seconds, set()
    for key, process in running.items():
        try:
            process.wait(max(0.1, end - time.monotonic()))
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, 9)
            late.add(key)
    return late


def _table(found: list[dict[str, Any]], contenders: list[str]) -> str:
    """Milliseconds of inference / of a step, and how many times the best of PyTorch's."""
    lines = ["| model | precision | " + " | ".join(contenders) + " | best / gnnc | MiB, best / gnnc | error |"]
    lines.append("| --- | --- |" + " ---: |" * (len(contenders) + 3))
    ratios: dict[str, list[tuple[float, float]]] = {}
    for row in found:
        cells, others = [], []
        for contender in contenders:
            got = row["contenders"][contender]
            cells.append(got["failed"] if "failed" in got else f"{got['forward']:.2f} / {got['step']:.2f}")
            if contender != "gnnc" and "failed" not in got:
                others.append(got)
        mine, ratio, memory, error = row["contenders"].get("gnnc", {"failed": ""}), "", "", ""
        if others and "failed" not in mine:
            pair = tuple(min(each[key] for each in others) / mine[key] for key in ("forward", "step"))
            ratios.setdefault(row["precision"], []).append(pair)
            ratio, error = f"{pair[0]:.2f} / {pair[1]:.2f}", f"{mine['error']:.0e}"
            memory = f"{min(each['memory'] for each in others):.0f} / {mine['memory']:.0f}"
        lines.append(f"| {row['model']} | {row['precision']} | " + " | ".join([*cells, ratio, memory, error]) + " |")
    for precision, pairs in ratios.items():
        means = [math.exp(statistics.fmean(math.log(pair[i]) for pair in pairs)) for i in (0, 1)]
        lines.append(f"\nGeometric means, {precision}, {len(pairs)} models: {means[0]:.2f} / {means[1]:.2f}")
    return "\n".join(lines)


def main() -> int:
    arguments = _arguments().parse_args()
    sys.path[:0] = [str(ROOT / "python"), str(Path(__file__).parent)]
    warnings.filterwarnings("ignore")
    import torch
    import whole

    names = arguments.models or list(whole.MODELS)
    unknown = [name for name in names if name not in whole.MODELS]
    if unknown:
        print(f"gpu.models: error: expected some of {', '.join(whole.MODELS)}, found '{unknown[0]}'", file=sys.stderr)
        return 2
    precisions, contenders = arguments.precisions.split(","), arguments.contenders.split(",")
    if arguments.only_compile:
        import gnnc

        torch.set_float32_matmul_precision(PRECISIONS[precisions[0]])
        module, inputs = _made(names[0], arguments.depth)
        gnnc.compile(module, inputs)
        return 0
    late = _compile_all(names, precisions, arguments) if "gnnc" in contenders else set()
    found: list[dict[str, Any]] = []
    for name in names:
        reference = _reference(name, arguments.depth)
        for precision in precisions:
            torch.set_float32_matmul_precision(PRECISIONS[precision])
            row: dict[str, Any] = {"model": name, "precision": precision, "contenders": {}}
            for contender in contenders:
                try:
                    if contender == "gnnc" and (name, precision) in late:
                        raise TimeoutError("compiles too long")
                    row["contenders"][contender] = _measure(name, contender, arguments, reference)
                except Exception as error:
                    row["contenders"][contender] = {"failed": str(error).partition("\n")[0][:80] or type(error).__name__}
            found.append(row)
            print(json.dumps(row), flush=True)
            if arguments.out:
                arguments.out.write_text(json.dumps({"device": torch.cuda.get_device_name(), "rows": found}, indent=1))
    print(_table(found, contenders))
    return 0
