"""Products whose rows have any number of numbers: none may be much slower than its neighbours.

./dev bench widths                                                  # beside the other parts
taskset -c 1 python3 benchmarks cpu.widths --out results/widths.json  # by itself, in processor time of one thread
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from pathlib import Path

import numpy as np

from harness import machine
from harness.machine import product_work, same
from harness.measure import count_processor_time, race
from harness.model import Model, aligned_copy
from harness.places import GNNC
from harness.report import Goal, Section
from harness.toolbox import Bench

ROWS = 12000
FIXED = 64
WIDTHS = range(1, 131)
PROGRAMS = ("forward", "gradient")
CODE: list[str] = []  # options of gnnc that say for which processors
NOTE = f"""\
`x @ W` with {ROWS} rows: GFLOP/s by the median, of the product with K = {FIXED} and N numbers a row of the result, and with N = {FIXED}
and K numbers a row of x; forward, and forward with both gradients, which has the sum of outer products. A width is compared with
the one before and the one after it, by the least times; K, N below four, where reading x takes most of the time, by times, not rates."""
HEADER = ["width", "N forward", "N gradients", "K forward", "K gradients"]


def measure(bench: Bench, inner: int, columns: int) -> dict[str, dict[str, float]]:
    rng = np.random.default_rng(inner * 1000 + columns)
    x = aligned_copy(rng.standard_normal((ROWS, inner)))
    weight = aligned_copy(rng.standard_normal((inner, columns)))
    above = aligned_copy(rng.standard_normal((ROWS, columns)))
    options = ("-D", f"in={inner}", "-D", f"out={columns}", "--gradient", *CODE)
    model = Model(bench.compile(bench.model("product.gnn"), f"widths{inner}x{columns}", *options), bench.threads)
    prepared = model.prepare({"node": ROWS}, {})
    tensors = {"x": x, "W": weight, "grad.y": above}
    calls = {}
    for program in PROGRAMS:
        names = next(each for each in model.info["programs"] if each["name"] == program)["inputs"]
        calls[program] = prepared.bind({name: tensors[name] for name in names}, program)
        calls[program]()
    expected = {"y": x @ weight}
    found = {"y": calls["forward"].outputs["y"]}
    expected |= {"grad.x": above @ weight.T, "grad.W": x.T @ above}
    found |= {name: calls["gradient"].outputs[name] for name in ("grad.x", "grad.W")}
    for name, result in expected.items():
        if not same(found[name], result):
            raise SystemExit(f"widths: {name} is wrong at K {inner}, N {columns}")
    times = race(calls, bench.rounds, bench.patience)
    flops = {"forward": product_work(ROWS, inner, columns).flops}
    flops["gradient"] = 3 * flops["forward"] if "y" in calls["gradient"].outputs else 2 * flops["forward"]
    prepared.free()
    model.close()
    return {
        program: times[program].summary() | {"gflops": flops[program] / times[program].median / 1e6}
        for program in PROGRAMS
    }


def run(bench: Bench) -> Section:
    section = Section(f"Products of all widths, {bench.threaded()}", NOTE, HEADER)
    found: dict[str, list[dict]] = {"N": [], "K": []}
    for width in WIDTHS:
        found["N"].append(measure(bench, FIXED, width))
        found["K"].append(measure(bench, width, FIXED))
        cells = [f"{found[axis][-1][program]['gflops']:.0f}" for axis in ("N", "K") for program in PROGRAMS]
        section.add([str(width), *cells], {"width": width, "N": found["N"][-1], "K": found["K"][-1]})
    for axis, ours in found.items():
        for program in PROGRAMS:
            worst, where = slowest(ours, program)
            text = f"{program}: each {axis} at least 1 / 1.5 of the rate of its neighbours"
            section.goals.append(Goal(text, f"{worst:.2f} at {where}", worst <= 1.5))
    return section


def slowest(ours: list[dict], program: str) -> tuple[float, int]:
    """The largest ratio of a neighbour's rate to a width's own, and that width."""
    ratios = []
    for at, own in enumerate(ours):
        for other in (at - 1, at + 1):
            if 0 <= other < len(ours):
                ratio = own[program]["min_ms"] / ours[other][program]["min_ms"]
                ratios.append((ratio if at < 3 else ratio * WIDTHS[other] / WIDTHS[at], WIDTHS[at]))
    return max(ratios)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--gnnc", type=Path, default=GNNC, help="the compiler")
    parser.add_argument("--cpu", help="the processor level that code is for, such as v3; default: the best")
    parser.add_argument("--rounds", type=int, default=3, help="of each race (3)")
    parser.add_argument("--out", type=Path, required=True, help="a JSON file")
    chosen = parser.parse_args()
    count_processor_time()
    CODE[:] = ["--cpu", chosen.cpu] if chosen.cpu else []
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(chosen.gnnc, Path(folder), [], 1, chosen.rounds, 0, None, None, False)
        section = run(bench)
    about = machine.describe(1) | {
        "clock": "processor time of one thread",
        "command": " ".join(["python3 benchmarks cpu.widths", *sys.argv[1:]]),
    }
    chosen.out.write_text(json.dumps({"machine": about, "sections": [section.as_dict()]}, indent=1) + "\n")
    print(section.text())
    return 0
