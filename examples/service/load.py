"""Loads the service and says how it bears it. Each run starts a service of its own (--service).

    python3 load.py                                 # 1, 8 and 32 clients
    python3 load.py --compare                       # also PyTorch and ONNX Runtime, which have to be installed
    python3 load.py --mode soak --requests 1000000  # memory over time
    python3 load.py --mode broken                   # or one of the other checks: fails if an answer is not right

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception"""

from __future__ import annotations

import argparse
import contextlib
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import median

import checks
from client import Result, ask, drive, request
from graphs import make_graphs, scores_of

CHECKS = ["good", "broken", "slow", "overload", "crowd", "memory", "stop"]
HERE = Path(__file__).resolve().parent


@contextlib.contextmanager
def started(command: list[str]) -> Iterator[tuple[int, subprocess.Popen]]:
    """Port and process of a server, which prints its address first and stops when it is told to."""
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        line = process.stdout.readline()
        if not (port := re.search(r":(\d+)", line)):
            raise SystemExit(f"{command[0]} did not start: {line}")
        yield int(port[1]), process
    finally:
        process.send_signal(signal.SIGTERM)
        code = process.wait(30)
    if code:
        raise SystemExit(f"{command[0]} ended with {code}")


def measure(servers: dict[str, list[str]], counts: list[int], requests: int, rounds: int) -> None:
    """Servers take turns, so that what else the machine does hits them alike; each figure is the median of its rounds."""
    graphs = make_graphs()
    data = [request(graph.body()) for graph in graphs]
    with contextlib.ExitStack() as stack:
        running = {name: stack.enter_context(started(command)) for name, command in servers.items()}
        answers = {}
        for name, (port, _) in running.items():
            drive(port, data, None, 2, 4 * len(data))  # warms up
            answers[name] = [ask(port, each)[2] for each in data]
        agree({name: [scores_of(each) for each in bodies] for name, bodies in answers.items()})
        print("| server | clients | p50, ms | p99, ms | requests/s | MiB |\n|---|---:|---:|---:|---:|---:|")
        for clients in counts:
            results: dict[str, list[Result]] = {name: [] for name in servers}
            for _ in range(rounds):
                for name, (port, _) in running.items():
                    result = drive(port, data, answers[name], clients, requests)
                    sound(name, result)
                    results[name].append(result)
            for name, found in results.items():
                p50, p99 = (1e3 * median(each.quantile(q) for each in found) for q in (0.5, 0.99))
                rate = median(requests / each.seconds for each in found)
                memory = checks.resident(running[name][1].pid)
                print(f"| {name} | {clients} | {p50:.2f} | {p99:.2f} | {rate:.0f} | {memory:.0f} |", flush=True)


def agree(scores: dict[str, list[Sequence[float]]]) -> None:
    first, *others = scores
    for name in others:
        pairs = zip(scores[first], scores[name], strict=True)
        worst = max(abs(a - b) for one, other in pairs for a, b in zip(one, other, strict=True))
        print(f"scores of '{first}' and '{name}' differ by at most {worst:.1e}")
        if not worst < 1e-5:
            raise SystemExit(f"{name} gives other scores than {first}")


def sound(name: str, result: Result) -> None:
    if result.wrong or set(result.statuses) != {200}:
        raise SystemExit(f"{name}: {result.wrong} wrong answers, statuses {dict(result.statuses)}")


def soak(port: int, pid: int, clients: int, requests: int) -> None:
    graphs = [request(graph.body()) for graph in make_graphs()]
    expected = [ask(port, graph)[2] for graph in graphs]
    step, begin = max(1, requests // 20), time.monotonic()

    def report(done: int) -> None:
        if done % step == 0:
            taken = time.monotonic() - begin
            print(f"{done} requests, {taken:.0f} s, {done / taken:.0f}/s, {checks.resident(pid):.1f} MiB", flush=True)

    result = drive(port, graphs, expected, clients, requests, report)
    sound("service", result)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mode", choices=["load", "soak", *CHECKS], default="load")
    parser.add_argument("--compare", action="store_true")
    parser.add_argument("--service", default=str(HERE / "build" / "service"), help="program to start")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--clients", type=int, nargs="+", default=[1, 8, 32])
    parser.add_argument("--requests", type=int, default=5000, help="of each measurement")
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()

    limits = {"slow": "--seconds 1", "overload": "--workers 1 --queue 2", "crowd": "--connections 20"}
    more = limits.get(options.mode, "").split()
    service = [options.service, "--port", "0", "--workers", str(options.workers), *more]
    if options.mode == "load":
        servers = {"service": service}
        if options.compare:
            for peer in ("gnnc", "torch", "onnx"):
                command = [sys.executable, str(HERE / "peers.py"), peer, "--workers", str(options.workers)]
                servers[f"Python, {peer}"] = [*command, "--model", str(Path(options.service).parent / "model.so")]
        return measure(servers, options.clients, options.requests, options.rounds)
    with started(service) as (port, process):
        if options.mode == "soak":
            return soak(port, process.pid, options.clients[-1], options.requests)
        arguments = {"slow": [1, process], "crowd": [20], "memory": [process], "stop": [process]}.get(options.mode, [])
        print(f"{options.mode}: {getattr(checks, options.mode)(port, *arguments) or 'right'}")


if __name__ == "__main__":
    try:
        main()
    except AssertionError as error:
        raise SystemExit(f"load.py: {error}") from None
