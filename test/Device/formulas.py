"""Random formulas on a GPU beside the CPU's own code: rows of real widths on graphs of real sizes.

    python3 benchmarks cpu.formulas compile --out objects --first 1000 --count 100 --options=--target=cpu,cuda \
        --options=--arch=sm_90
    PYTHONPATH=benchmarks python3 test/Device/formulas.py objects

The random models of RandomModelsTest are checked by the interpreter, so their graphs and rows are small: schedules that
only large graphs or wide rows have are not met there. Here each formula of `cpu.formulas compile` runs forward and with
all gradients on the same numbers twice. Results are compared by their root mean squares: where a rounding makes another
element a maximum, or takes a number across the kink of a relu, a few numbers differ by more than rounding, and a
gradient that is zero but for rounding (of a bias before a softmax) has no digits to compare. An owner of ten thousand
that is left out is seen. Exits with 1 where a result differs by more than `--within` of its own root mean square.
"""

from __future__ import annotations

import argparse
import gc
import json
import sys
import time
from pathlib import Path

import numpy as np
import torch
from gpu.model import DeviceRun, open_model
from harness import fuzzing, kinds
from harness.model import Graph, Model, aligned

#: Of the largest gradient, below which another is rounding alone.
NO_DIGITS = 1e-3


def tensors_of(graph: Graph, program: str, seed: int) -> dict[str, np.ndarray]:
    info = graph.model.info
    known = {value["name"]: value for value in [*info["inputs"], *info["params"], *info["states"]]}
    known |= {f"grad.{value['name']}": value for value in info["outputs"]}
    random = np.random.default_rng(seed)
    found = {}
    for name in next(entry for entry in info["programs"] if entry["name"] == program)["inputs"]:
        found[name] = aligned(graph.shape(known[name]))
        found[name][...] = 0.3 * random.standard_normal(found[name].shape, "f4")
    return found


def prepared(model: Model, kind: kinds.Kind) -> Graph:
    roots = {entry["name"] for entry in model.info["maps"] if entry["kind"] == "root"}
    spaces = {entry["name"] for entry in model.info["spaces"] if entry["kind"] in ("root", "static")}
    extents = {name: extent for name, extent in kind.extents.items() if name in spaces}
    return model.prepare(extents, {name: array for name, array in kind.maps.items() if name in roots})


def root_mean_square(array: np.ndarray) -> float:
    return float(np.sqrt(np.mean(np.square(array, dtype="f8")))) if array.size else 0.0


def differences(found: dict[str, np.ndarray], wanted: dict[str, np.ndarray]) -> dict[str, float]:
    """Of each result, as a share of its numbers; infinite where only one has a number that is none."""
    sizes = {name: root_mean_square(array) for name, array in wanted.items()}
    least = NO_DIGITS * max((size for size in sizes.values() if np.isfinite(size)), default=0.0)
    off = {}
    for name, array in wanted.items():
        finite = np.isfinite(array)
        if not np.array_equal(np.isfinite(found[name]), finite):
            off[name] = float("inf")
            continue
        size = root_mean_square(array[finite])
        off[name] = root_mean_square(found[name][finite] - array[finite]) / max(size, least, 1e-30)
    return off


def compare(path: Path, kind: kinds.Kind, seed: int, threads: int) -> dict[str, dict[str, float]]:
    """Differences of all outputs by program and name."""
    host, device = Model(path, threads), open_model(str(path))
    there, here = prepared(host, kind), prepared(device, kind)
    found: dict[str, dict[str, float]] = {}
    for program in fuzzing.PROGRAMS:
        tensors = tensors_of(there, program, seed)
        wanted = there.bind(tensors, program)
        wanted()
        run = DeviceRun(here, {name: torch.from_numpy(array).cuda() for name, array in tensors.items()}, program)
        run()
        torch.cuda.synchronize()
        found[program] = differences(
            {name: output.cpu().numpy() for name, output in run.outputs.items()}, wanted.outputs
        )
        del run
    here.free()
    there.free()
    gc.collect()
    torch.cuda.empty_cache()
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("objects", type=Path)
    parser.add_argument("--within", type=float, default=5e-3)
    parser.add_argument("--threads", type=int, default=0, help="on the CPU; the default: as many as it has")
    parser.add_argument("--seconds", type=float, default=1e9, help="for all")
    arguments = parser.parse_args()
    end = time.monotonic() + arguments.seconds
    graphs: dict[str, kinds.Kind] = {}
    compared = wrong = 0
    for name, record in fuzzing.read_compiled(arguments.objects).items():
        if "failed" in record or time.monotonic() > end:
            continue
        if record["graph"] not in graphs:
            graphs[record["graph"]] = kinds.make(record["graph"], large=False)
        path = arguments.objects / f"{record['object']}.so"
        found = compare(path, graphs[record["graph"]], fuzzing.seed_of(record["object"]), arguments.threads)
        compared += 1
        off = {f"{program} {output}": each for program, all in found.items() for output, each in all.items()}
        worst = max(off, key=lambda key: off[key])
        wrong += not off[worst] <= arguments.within
        print(json.dumps({"name": name, "graph": record["graph"], "worst": worst, "off": off[worst]}), flush=True)
    print(f"{compared} formulas compared, {wrong} differ by more than {arguments.within}")
    return 1 if wrong or not compared else 0


if __name__ == "__main__":
    sys.exit(main())
