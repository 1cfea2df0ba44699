"""Runs models in processes of their own, several at a time, and prints the table of what they found."""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from harness.machine import describe
from harness.places import BENCHMARKS, GNNC
from whole import one, table
from whole.catalogue import CATALOGUE, DEEP, DEPTHS, LONG, WAYS

Task = tuple[str, str, "int | None"]  # model, precision, depth


def parser(device: str, about: str) -> argparse.ArgumentParser:
    result = argparse.ArgumentParser(description=about, formatter_class=argparse.RawDescriptionHelpFormatter)
    gpu = device == "cuda"
    add = result.add_argument
    add("models", nargs="*", metavar="MODEL", help="of those that `list` names (default: all), or `table FILE...`")
    precisions = ["float32", "tf32", "bf16"] if gpu else ["float32", "bf16"]
    add("--precisions", nargs="+", default=["float32"], choices=precisions, help="(default: float32)")
    add("--contenders", nargs="+", default=ways(gpu), choices=WAYS, help=f"(default: {' '.join(ways(gpu))})")
    add("--depth", type=int, help="of models that have one (default: the published one)")
    add("--depths", action="store_true", help=f"{' and '.join(DEEP)} with {', '.join(map(str, DEPTHS))} blocks")
    add("--scale", type=float, help=f"size of the graphs (default: {1 if gpu else 0.05}, with --depths a fifth of it)")
    add("--rounds", type=int, default=7, help="blocks of calls of each contender (default: %(default)s)")
    add("--seconds", type=float, default=400, help="longest time of a model in one precision (default: %(default)s)")
    add("--patience", type=float, default=150, help="longest time of one contender of it (default: %(default)s)")
    add("--total", type=float, default=0, help="end everything after so many seconds (default: never)")
    add("--jobs", type=int, default=7 if gpu else 1, help="models that compile at a time (default: %(default)s)")
    add("--threads", type=int, default=2, help="of every contender on the CPU (default: %(default)s)")
    add("--out", type=Path, default=Path(f"models-{device}"), help="a folder for results (default: %(default)s)")
    add("--verbose", action="store_true", help="tracebacks of what fails")
    add("--alone", action="store_true", help=argparse.SUPPRESS)
    result.set_defaults(device=device)
    return result


def ways(gpu: bool) -> list[str]:
    """On a CPU `reduce-overhead` is the default."""
    return [way for way in WAYS if gpu or way != "reduce-overhead"]


def tasks(args: argparse.Namespace) -> list[Task]:
    """What takes longest to compile comes first."""
    if args.depths:
        depths = [(name, depth) for depth in reversed(DEPTHS) for name in args.models or DEEP]
        return [(name, precision, depth) for precision in args.precisions for name, depth in depths]
    names = sorted(args.models or CATALOGUE, key=lambda name: name not in LONG)
    return [(name, precision, args.depth) for precision in args.precisions for name in names]


class Pool:
    def __init__(self, args: argparse.Namespace, results: Path) -> None:
        self.args, self.results = args, results
        self.running: dict[subprocess.Popen[bytes], tuple[float, Task]] = {}

    def start(self, task: Task) -> None:
        name, precision, depth = task
        args = self.args
        room = "gpu" if args.device == "cuda" else "cpu"
        command = [sys.executable, "-W", "ignore", str(BENCHMARKS), f"{room}.models", name, "--alone"]
        command += ["--precisions", precision, "--contenders", *args.contenders, "--out", str(self.results)]
        command += ["--scale", str(args.scale), "--rounds", str(args.rounds), "--patience", str(args.patience)]
        command += ["--threads", str(args.threads), *(["--verbose"] if args.verbose else [])]
        command += ["--depth", str(depth)] if depth is not None else []
        environment = {"GNNC_COMPILER": str(GNNC), "TORCHINDUCTOR_COMPILE_THREADS": "2", **os.environ}
        log = self.results.with_suffix(".log").open("ab")
        # In a session of its own, so that its compilers end with it.
        process = subprocess.Popen(command, env=environment, stdout=log, stderr=log, start_new_session=True)
        self.running[process] = (time.monotonic(), task)

    def end(self, process: subprocess.Popen[bytes], why: str) -> None:
        begun, (name, precision, depth) = self.running.pop(process)
        if process.poll() is None:
            try:
                os.killpg(process.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
            process.wait()
        if why or process.returncode:
            key = {"model": name, "precision": precision, "device": self.args.device}
            key["depth"] = CATALOGUE[name].deep(depth)
            one.add_line(self.results, key | {"ended": why or f"exit status {process.returncode}"})
        told = f"{name}, {precision}, {time.monotonic() - begun:.0f} s"
        print(f"{told}, {why}" if why else told, file=sys.stderr, flush=True)

    def look(self) -> None:
        for process, (begun, _) in list(self.running.items()):
            if process.poll() is not None:
                self.end(process, "")
            elif time.monotonic() - begun > self.args.seconds:
                self.end(process, f"more than {self.args.seconds:.0f} s")


def about(args: argparse.Namespace) -> dict[str, Any]:
    """Found by a process that ends: a context on a GPU takes memory."""
    found: dict[str, Any] = describe(args.threads) | {"command": " ".join(sys.argv)}
    code = "import torch; print(torch.__version__); print(torch.cuda.is_available() and torch.cuda.get_device_name())"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    lines = [*done.stdout.splitlines(), "", ""]
    return found | {"torch": lines[0], "device": lines[1] if args.device == "cuda" else ""}


def main(device: str, text: str) -> int:
    given = parser(device, text)
    if sys.argv[1:2] == ["table"]:
        print(table.markdown([Path(file) for file in sys.argv[2:]]))
        return 0
    args = given.parse_args()
    if args.models == ["list"]:
        print("\n".join(f"{name.ljust(12)}{entry.title}" for name, entry in CATALOGUE.items()))
        return 0
    if unknown := set(args.models) - set(CATALOGUE):
        given.error(f"expected models among {', '.join(CATALOGUE)}, found {', '.join(sorted(unknown))}")
    if args.alone:
        one.main(args)
    if args.scale is None:
        args.scale = (1.0 if device == "cuda" else 0.05) * (0.2 if args.depths else 1.0)
    args.out.mkdir(parents=True, exist_ok=True)
    results = args.out / "models.jsonl"
    one.add_line(results, {"run": about(args)})
    pool, waiting, begun = Pool(args, results), tasks(args), time.monotonic()
    try:
        while waiting or pool.running:
            while waiting and len(pool.running) < args.jobs:
                pool.start(waiting.pop(0))
            time.sleep(0.1)
            pool.look()
            if args.total and time.monotonic() - begun > args.total:
                break
    finally:
        for process in list(pool.running):
            pool.end(process, "ended with the run")
    print(table.markdown([results]))
    return 0
