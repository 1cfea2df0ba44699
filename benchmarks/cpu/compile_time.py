"""How long compilations take, nothing cached: as models grow, and of every model in files.

    python3 benchmarks cpu.compile_time                                     # growth, and a two-layer GAT with training
    python3 benchmarks cpu.compile_time --files layers.gnn -- --gradient --target cpu,cuda

Seconds of processor time, of all threads: on the wall, machines that others use too say little.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from harness.places import GNNC

BODY = """model Body(f: int = 16) {{
  input x: node[f]
  let h = x
  repeat {n} {{ let h = tanh(h) }}
  output y = h
}}
"""
JOINS = """model Joins(f: int = 4) {{
  input x: node[f]
  let h = x
  repeat {n} {{ let h = concat(h, h, axis: f) }}
  output y = h
}}
"""
TRAINING = """import std

model Training(f: int = 16, class: int = 16) {{
  input x: node[f]
  let h = x
  repeat {n} {{ let h = relu(GCN(h, out: 16) as conv) }}
  output logits = rename(h, out: class)
  loss = CrossEntropy(logits, onehot(label))
  train Adam(lr: 0.01)
}}
"""
GAT = """import std

model TwoLayerGAT(f: int = 64, class: int = 8) {
  input x: node[f]
  let h = elu(GAT(x, heads: 8, out: 8) as c1)
  output logits = GAT(h, heads: 1, out: class, concat: false) as c2
  loss = CrossEntropy(logits, onehot(label))
  train Adam(lr: 0.005)
}
"""


def outputs(n: int) -> str:
    """Many results of what could be one kernel, all different."""
    rows = "".join(f"  output y{i} = tanh(x * {i + 1}.5)\n" for i in range(n))
    return f"model Outputs(f: int = 16) {{\n  input x: node[f]\n{rows}}}\n"


def body(n: int) -> str:
    return BODY.format(n=n)


def joins(n: int) -> str:
    return JOINS.format(n=n)


def training(n: int) -> str:
    return TRAINING.format(n=n)


GROWTH = {
    "one body of N operations": (body, (250, 500, 1000, 2000)),
    "training N layers": (training, (8, 16, 32, 64)),
    "N outputs": (outputs, (32, 64, 128, 256)),
    "a row joined with itself N times": (joins, (4, 8, 16)),
}


def compile_once(gnnc: Path, text: str, options: list[str]) -> dict[str, float]:
    """Seconds: wall, processor, in LLVM, in NVRTC; the longest kernel's statements."""
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "model.gnn"
        source.write_text(text)
        command = [str(gnnc), "compile", str(source), "-o", f"{folder}/model.so", "--timings=json", *options]
        done = subprocess.run(
            command, capture_output=True, text=True, env={**os.environ, "XDG_CACHE_HOME": f"{folder}/cache"}
        )
    if done.returncode:
        raise SystemExit(f"compile_time: error: {done.stderr.strip()}")
    steps = json.loads(done.stderr.splitlines()[-1])["steps"]
    phases = [step for step in steps if step["depth"] == 0]
    kernels = [step for step in steps if step["target"]]
    gpu = [step for step in kernels if step["target"].startswith("sm_")]
    return {
        "wall": sum(step["wall"] for step in phases),
        "processor": sum(step["processor"] for step in phases),
        "LLVM": sum(step["compiler"] for step in kernels if step not in gpu),
        "NVRTC": sum(step["compiler"] for step in gpu),
        "statements": max((step["statements"] for step in kernels), default=0),
    }


def print_growth(gnnc: Path, options: list[str]) -> None:
    print("| | N | processor s | of half of N | longest kernel, statements |\n|---|---:|---:|---:|---:|")
    for what, (make, sizes) in GROWTH.items():
        before = None
        for n in sizes:
            spent = compile_once(gnnc, make(n), options)
            ratio = f"{spent['processor'] / before:.2f}" if before else ""
            print(f"| {what} | {n} | {spent['processor']:.2f} | {ratio} | {spent['statements']} |", flush=True)
            before = spent["processor"]


def print_models(gnnc: Path, models: list[tuple[str, str, list[str]]]) -> None:
    print("| | wall s | processor s | LLVM s | NVRTC s |\n|---|---:|---:|---:|---:|")
    for name, text, options in models:
        spent = compile_once(gnnc, text, options)
        cells = " | ".join(f"{spent[column]:.2f}" for column in ("wall", "processor", "LLVM", "NVRTC"))
        print(f"| {name} | {cells} |", flush=True)


def main() -> int:
    arguments, options = sys.argv[1:], []
    if "--" in arguments:
        at = arguments.index("--")
        arguments, options = arguments[:at], arguments[at + 1 :]
    parser = argparse.ArgumentParser(
        prog=sys.argv[0], description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--gnnc", type=Path, default=GNNC, help="the compiler")
    parser.add_argument("--files", type=Path, nargs="+", help="files, every model of which is compiled, and nothing else")
    arguments = parser.parse_args(arguments)
    if arguments.files:
        models = []
        for path in arguments.files:
            text = path.read_text()
            for name in re.findall(r"^model\s+(\w+)", text, re.MULTILINE):
                models.append((f"{path.stem} {name}", text, ["-m", name, *options]))
        print_models(arguments.gnnc, models)
        return 0
    print_growth(arguments.gnnc, options)
    print()
    print_models(
        arguments.gnnc,
        [
            ("two-layer GAT with training, one processor level", GAT, ["--cpu", "v4", *options]),
            ("the same, both levels", GAT, options),
            ("the same, sm_90", GAT, ["--target", "cuda", "--arch", "sm_90", *options]),
        ],
    )
    return 0
