"""Time against memory: whole models under `gnnc.compile(memory_limit=...)`, beside eager PyTorch.

Each model is compiled with all the memory that it wants, with three quarters and with half of that, and with the least.
A line has milliseconds of a step (median of five blocks, and their range), the most bytes that PyTorch's allocator held
besides what was there before, and the segments of the forward pass. The first line has the plans that the compiler
compared: segments, MiB, and GiB that kernels read and write. The compiler is the one that GNNC_COMPILER names.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable
from typing import Any

from whole.catalogue import CATALOGUE, Size


def step_of(
    run: Callable[..., Any], module: Any, inputs: Any, target: Any, loss: Callable[..., Any]
) -> Callable[[], None]:
    def step() -> None:
        for parameter in module.parameters():
            parameter.grad = None
        loss(run(*inputs), target).backward()

    return step


def measure(step: Callable[[], None], device: str, rounds: int) -> str:
    import torch

    def wait() -> None:
        if device == "cuda":
            torch.cuda.synchronize()

    peak = ""
    for _ in range(2):
        step()
    if device == "cuda":
        wait()
        torch.cuda.reset_peak_memory_stats()
        before = torch.cuda.memory_allocated()
        step()
        wait()
        peak = f", {(torch.cuda.max_memory_allocated() - before) / 2**20:.0f} MiB"
    times = []
    for _ in range(rounds):
        started = time.perf_counter()
        for _ in range(4):
            step()
        wait()
        times.append((time.perf_counter() - started) / 4 * 1e3)
    return f"{statistics.median(times):.2f} ms [{min(times):.2f}-{max(times):.2f}]{peak}"


def plans_of(fast: Any) -> list[dict[str, float]]:
    return vars(fast)["_gnnc"].specializations[0].executor.library.description.document["plans"]


def curve(name: str, depth: int | None, scale: float, device: str, rounds: int) -> None:
    import torch

    import gnnc
    from whole.contenders import moved

    torch.manual_seed(0)
    made = CATALOGUE[name].make(Size(scale, CATALOGUE[name].deep(depth)))
    module = made.module.to(device).train()
    inputs, target = moved((made.inputs, made.target), device, None)

    def say(run: Callable[..., Any], what: str) -> None:
        print(f"{name}, {what}: {measure(step_of(run, module, inputs, target, made.loss), device, rounds)}", flush=True)

    try:
        say(module, "eager")
    except torch.OutOfMemoryError:
        print(f"{name}, eager: out of memory")
    whole = plans_of(gnnc.compile(module, inputs, progress=False, memory_limit="1000TiB"))
    print([(plan["segments"], round(plan["bytes"] / 2**20), round(plan["moved"] / 2**30, 1)) for plan in whole])
    most, least = whole[0]["bytes"], min(plan["bytes"] for plan in whole)
    for limit in sorted({most, max(most * 0.75, least), max(most / 2, least), least}, reverse=True):
        fast = gnnc.compile(module, inputs, progress=False, memory_limit=int(limit) + 1)
        chosen = next(plan for plan in plans_of(fast) if plan["chosen"])
        say(fast, f"limit {limit / 2**20:.0f} MiB, segments {chosen['segments']}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="+", choices=sorted(CATALOGUE), metavar="MODEL", help="see gpu.models list")
    parser.add_argument("--depth", type=int, help="of models that have one (default: the published one)")
    parser.add_argument("--scale", type=float, default=1, help="size of the graphs (default: 1)")
    parser.add_argument("--rounds", type=int, default=5, help="blocks of four steps (default: 5)")
    parser.add_argument("--device", choices=["cuda", "cpu"], default="cuda", help="cpu: without peaks (default: cuda)")
    args = parser.parse_args()
    for name in args.models:
        curve(name, args.depth, args.scale, args.device, args.rounds)
    return 0
