"""Dense products on a GPU beside cuBLAS: x @ W, and both gradients of it, at the shapes of the grid and the networks.

    python3 benchmarks gpu.products compile --gnnc build/bin/gnnc --out objects    # anywhere; needs NVRTC, no GPU
    python3 benchmarks gpu.products run objects                                    # where there is a GPU and PyTorch: Markdown

gnnc's three kinds of arithmetic (`--products`) beside torch.matmul in float32 and with TF32 allowed. Medians in ms of calls in
turns; `backward` is the gradient of x and of W together. Errors are those of y in the norm against float64.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess

from harness.places import MODELS
from harness.program import Program

# Rows, and numbers of a row of x and of y.
ROWS = [2708, 65536, 169343, 1632803]
SHAPES = [
    (64, 16),
    (64, 64),
    (64, 128),
    (64, 256),
    (128, 128),
    (128, 256),
    (256, 64),
    (256, 256),
    (256, 40),
    (602, 128),
    (100, 47),
]
WAYS = ["tf32x3", "fma", "tf32"]
MOST_NUMBERS = 1 << 30  # of x and y together


def compile_objects(arguments: argparse.Namespace) -> None:
    arguments.out.mkdir(parents=True, exist_ok=True)
    for inner, outer in SHAPES:
        for way in WAYS:
            command = [str(arguments.gnnc), "compile", str(MODELS / "product.gnn"), "--gradient", "--target", "cuda"]
            command += ["--arch", arguments.arch, "--products", way, "-D", f"in={inner}", "-D", f"out={outer}"]
            subprocess.run([*command, "-o", str(arguments.out / f"product_{inner}_{outer}_{way}.so")], check=True)


def measure(calls: dict[str, object], seconds: float) -> dict[str, float]:
    """Medians of calls that take turns."""
    import torch

    from gpu.grid import timed

    one = {name: timed(call, 0.02)["median"] for name, call in calls.items()}
    rounds = max(5, min(60, int(1e3 * seconds / max(sum(one.values()), 1e-3))))
    events = {name: [] for name in calls}
    for _ in range(rounds):
        for name, call in calls.items():
            pair = [torch.cuda.Event(enable_timing=True) for _ in range(2)]
            pair[0].record()
            call()
            pair[1].record()
            events[name].append(pair)
    torch.cuda.synchronize()
    return {name: statistics.median(a.elapsed_time(b) for a, b in pairs) for name, pairs in events.items()}


def captured(call):
    """As a CUDA graph, so that what starting it from Python takes does not count."""
    import torch

    call()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        call()
    return graph.replay


def run(arguments: argparse.Namespace) -> None:
    import torch

    from gpu.model import DeviceRun, open_model, random_tensors

    names = [*WAYS, "cuBLAS", "cuBLAS TF32"]
    print("| rows, K × N | half | " + " | ".join(names) + " | cuBLAS / tf32x3 | error: tf32x3 | cuBLAS |")
    print("|---|---|" + "---:|" * (len(names) + 3))
    for rows in ROWS:
        for inner, outer in SHAPES:
            if rows * (inner + outer) > MOST_NUMBERS:
                continue
            halves: dict[str, dict[str, object]] = {"forward": {}, "backward": {}}
            kept: list[object] = []
            tensors, y = {}, {}
            for way in WAYS:
                model = open_model(str(arguments.objects / f"product_{inner}_{outer}_{way}.so"))
                prepared = model.prepare({"node": rows}, {})
                tensors = tensors or random_tensors(prepared, "gradient")
                needs = {entry["name"]: entry["inputs"] for entry in model.info["programs"]}
                run_of: dict[str, DeviceRun] = {}
                for program in ("forward", "gradient", "gradient.forward", "gradient.backward"):
                    given = {key: tensors[key] for key in needs[program]}
                    # The halves of `gradient` leave each other their values in its workspace.
                    whole = run_of["gradient"] if program.startswith("gradient.") else None
                    run_of[program] = DeviceRun(prepared, given, program, whole)
                forward, backward = run_of["forward"], run_of["gradient.backward"]
                run_of["gradient.forward"]()
                halves["forward"][way], halves["backward"][way] = captured(forward), captured(backward)
                y[way] = forward.outputs["y"]
                kept += [model, prepared, run_of]
            x, weight, seed = tensors["x"], tensors["W"], tensors["grad.y"]
            out, gx, gw = torch.empty_like(seed), torch.empty_like(x), torch.empty_like(weight)

            def theirs_forward() -> None:
                torch.matmul(x, weight, out=out)

            def theirs_backward() -> None:
                torch.matmul(seed, weight.t(), out=gx)
                torch.matmul(x.t(), seed, out=gw)

            for name, allowed in (("cuBLAS", False), ("cuBLAS TF32", True)):
                torch.backends.cuda.matmul.allow_tf32 = allowed
                halves["forward"][name], halves["backward"][name] = captured(theirs_forward), captured(theirs_backward)
                if not allowed:
                    theirs_forward()
                    y[name] = out.clone()
            some = slice(0, min(rows, 20000))
            exact = x[some].double() @ weight.double()
            error = {name: float((value[some].double() - exact).norm() / exact.norm()) for name, value in y.items()}
            for half, calls in halves.items():
                ms = measure(calls, arguments.seconds)
                cells = [f"{rows}, {inner} × {outer}", half, *(f"{ms[name]:.3g}" for name in names)]
                cells += [f"{ms['cuBLAS'] / ms['tf32x3']:.2f}", f"{error['tf32x3']:.1e}", f"{error['cuBLAS']:.1e}"]
                print("| " + " | ".join(cells) + " |", flush=True)
            del halves, kept, tensors, y, run_of, forward, backward, exact, out, gx, gw, x, weight, seed
            torch.cuda.empty_cache()


def main() -> None:
    program = Program(__doc__)
    program.compile(compile_objects)
    action = program.run(run)
    action.add_argument("--seconds", type=float, default=0.1, help="for each half of a shape")
    program.main()
