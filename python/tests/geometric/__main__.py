# Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
# See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs tests of PyTorch Geometric and compares the modules that they call with their compiled copies.

    GNNC_COMPILER=build/bin/gnnc python3 python/tests/geometric --source pytorch_geometric [test/nn/conv ...]

`--source`: a checkout of PyTorch Geometric, of the version that is installed or one near it. Exits with 1 if anything
differs or crashes.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
sys.path[:0] = [str(FOLDER), str(FOLDER.parents[1])]

from summary import Call, document, failures  # noqa: E402


def run(source: Path, tests: list[str], report: Path, limit: float, options: list[str]) -> int:
    """Runs pytest with the plugin. Its exit status."""
    paths = [str(FOLDER), str(FOLDER.parents[1]), *os.environ.get("PYTHONPATH", "").split(os.pathsep)]
    environment = {"OMP_NUM_THREADS": "1", **os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths))}
    command = [sys.executable, "-W", "ignore", "-m", "pytest", "-q", "-p", "plugin"]
    command += ["-p", "no:cacheprovider", "-o", "addopts="]
    command += ["--gnnc-report", str(report), "--gnnc-limit", str(limit), *options, *tests]
    return subprocess.run(command, cwd=source, env=environment, check=False).returncode


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--source", type=Path, help="a checkout of PyTorch Geometric")
    parser.add_argument("--report", type=Path, help="where a line for each call is appended")
    parser.add_argument("--read", action="store_true", help="runs nothing: what the report says already")
    parser.add_argument("--write", type=Path, help="where the counts are written to, as Markdown")
    parser.add_argument("--limit", type=float, default=120, help="seconds for each call")
    parser.add_argument("tests", nargs="*", default=["test/nn"])
    args, options = parser.parse_known_args()
    status = 0
    with tempfile.TemporaryDirectory() as folder:
        report = (args.report or Path(folder) / "calls.jsonl").absolute()
        if not args.read:
            status = run(args.source, args.tests, report, args.limit, options)
        calls = [Call(**json.loads(line)) for line in report.read_text().splitlines()]
    text = document(calls, " ".join(args.tests))
    print(text)
    if args.write:
        args.write.write_text(text)
    return 1 if failures(calls) or status > 1 else 0


if __name__ == "__main__":
    sys.exit(main())
