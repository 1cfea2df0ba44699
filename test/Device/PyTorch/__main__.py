# Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
# See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The Python package with PyTorch on a GPU: numbers, streams, captures, and times beside eager PyTorch.

    GNNC_COMPILER=build/package/gnnc python3 test/Device/PyTorch [--seconds 340] [--data cora.safetensors] [NAME ...]

For a machine with a GPU, torch 2.9 or later and torch-geometric, where LLVM need not be: `ninja -C build gnnc-package` makes
a compiler that runs by itself. Prints one line for each check, and exits with 1 if any failed. Checks run in a process of
their own, which is started again after one that has lost the device; when the seconds are over, the rest is left out.
`--device cpu` tries the program itself where there is no GPU. NAME: only checks whose names begin so; `--list` prints them.
"""

from __future__ import annotations

import argparse
import os
import queue
import subprocess
import sys
import threading
import time
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
PACKAGE = FOLDER.parents[2] / "python"
#: A check that says nothing for so long has hung.
LONGEST = 150.0


def work(args: argparse.Namespace) -> int:
    """In the process of the checks: runs those that are named, one after another."""
    import faulthandler
    import logging
    import traceback
    import warnings

    faulthandler.enable()
    warnings.filterwarnings("ignore")
    import checks
    import registry

    for name in ("torch", "torch._functorch", "torch._inductor", "torch._dynamo"):  # inductor fails at length
        logging.getLogger(name).setLevel(logging.CRITICAL)

    registry.device, registry.data = args.device, args.data
    names = args.names
    if not args.exactly:
        names = [name for name in registry.CHECKS if not names or name.startswith(tuple(names))]
        print("checks " + "\t".join(names), flush=True)
    for name in [] if args.list else names:
        started = time.monotonic()
        print(f"begin {name}", flush=True)
        try:
            said = registry.CHECKS[name]() or ""
            print(f"passed {name} ({time.monotonic() - started:.1f} s){said and ': ' + said}", flush=True)
        except BaseException:
            print(f"FAILED {name} ({time.monotonic() - started:.1f} s)\n{traceback.format_exc(limit=-4)}", flush=True)
            if checks.has_lost_device():
                os._exit(3)
    sys.stdout.flush()
    os._exit(0)  # what is left of a device that has failed must not be taken down in order


def start(args: argparse.Namespace, left: list[str] | None) -> tuple[subprocess.Popen[str], queue.Queue[str | None]]:
    command = [sys.executable, str(FOLDER), "--worker", "--device", args.device, "--data", args.data]
    command += ["--list"] if args.list else []
    command += args.names if left is None else ["--exactly", *left]
    path = os.pathsep.join([str(PACKAGE), str(PACKAGE / "tests"), os.environ.get("PYTHONPATH", "")])
    environment = {**os.environ, "PYTHONPATH": path}
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=environment)
    lines: queue.Queue[str | None] = queue.Queue()

    def read() -> None:
        for line in process.stdout or ():
            lines.put(line.rstrip("\n"))
        lines.put(None)

    threading.Thread(target=read, daemon=True).start()
    return process, lines


def watch(args: argparse.Namespace) -> int:
    """Starts processes until all checks have run or the time is over. Returns how many failed."""
    end = time.monotonic() + args.seconds
    left: list[str] | None = None  # the first process says which there are
    failed = 0
    while left != [] and time.monotonic() < end:
        process, lines = start(args, left)
        running = ""
        while True:
            try:
                line = lines.get(timeout=max(min(LONGEST, end - time.monotonic()), 0.01))
            except queue.Empty:
                over = time.monotonic() >= end
                print(f"{'STOPPED' if over else 'FAILED'} {running}: {'no time left' if over else 'it hangs'}", flush=True)
                process.kill()
                failed += not over
                left = [name for name in left or [] if name != running]
                break
            if line is None:
                process.wait()
                if running and left:
                    print(f"FAILED {running}: the process ended with {process.returncode}", flush=True)
                    failed += 1
                    left.remove(running)
                elif left is None or process.returncode not in (0, 3):
                    print(f"FAILED: the process ended with {process.returncode} before a check", flush=True)
                    return failed + 1
                break
            word, _, rest = line.partition(" ")
            if word == "checks" and left is None:
                left = rest.split("\t") if rest else []
                continue
            if word == "begin":
                running = rest
                continue
            if word in ("passed", "FAILED") and running and left and rest.startswith(running):
                failed += word == "FAILED"
                left.remove(running)
                running = ""
            print(line, flush=True)
    for name in left or ():
        print(f"left out {name}", flush=True)
    return failed


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("names", nargs="*")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--seconds", type=float, default=340)
    parser.add_argument("--data", default=str(FOLDER.parents[2] / "examples" / "data" / "cora.safetensors"))
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--exactly", action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.worker:
        return work(args)
    if args.list:
        process, lines = start(args, None)
        while (line := lines.get()) is not None:
            print(line.removeprefix("checks ").replace("\t", "\n"))
        return process.wait()
    failed = watch(args)
    print(f"{failed} failed" if failed else "no check failed", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
