"""Dense products on a GPU beside cuBLAS: x @ W, and both gradients of it, at the shapes of the grid and the networks.

    python3 benchmarks gpu.products compile --gnnc build/bin/gnnc --out objects    # anywhere; needs NVRTC, no GPU
    python3 benchmarks gpu.products run objects                                    # where there is a GPU and PyTorch: Markdown

gnnc's three kinds of arithmetic (`--products`) beside torch.matmul in float32 and with TF32 allowed; and rows of 16 bits with
weights of float32, in two parts and rounded (`bf16 once`), beside torch.matmul of two 16-bit operands. Medians in ms of calls
in turns; `backward` is the gradient of x and of W together. Errors are those of y in the norm against float64. `--beside`:
objects of another compiler, of which those in 16 bits are timed in the same turns.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
from pathlib import Path

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
    (320, 1280),
    (602, 128),
    (1024, 256),
    (1280, 320),
    (100, 47),
]
WAYS = {
    "tf32x3": [],
    "fma": ["--products", "fma"],
    "tf32": ["--products", "tf32"],
    "bf16": ["--dtype", "bf16"],
    "bf16 once": ["--dtype", "bf16", "--products", "tf32"],
    "f16": ["--dtype", "f16"],
}
BESIDE = ["bf16", "f16"]
MOST_NUMBERS = 1 << 30  # of x and y together


def object_of(folder: Path, shape: tuple[int, int], way: str) -> Path:
    return folder / f"product_{shape[0]}_{shape[1]}_{way.replace(' ', '_')}.so"


def compile_objects(arguments: argparse.Namespace) -> None:
    arguments.out.mkdir(parents=True, exist_ok=True)
    for shape in arguments.shapes:
        for way in arguments.ways:
            command = [str(arguments.gnnc), "compile", str(MODELS / "product.gnn"), "--gradient", "--target", "cuda"]
            command += ["--arch", arguments.arch, *WAYS[way], "-D", f"in={shape[0]}", "-D", f"out={shape[1]}"]
            subprocess.run([*command, "-o", str(object_of(arguments.out, shape, way))], check=True)


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


def theirs(x, weight, seed, allowed: bool) -> dict[str, object]:
    """cuBLAS's calls on operands of one type, captured, and y."""
    import torch

    out, gx, gw = torch.empty_like(seed), torch.empty_like(x), torch.empty_like(weight)

    def backward() -> None:
        torch.matmul(seed, weight.t(), out=gx)
        torch.matmul(x.t(), seed, out=gw)

    torch.backends.cuda.matmul.allow_tf32 = allowed
    forward = captured(lambda: torch.matmul(x, weight, out=out))
    return {"forward": forward, "backward": captured(backward), "y": out}


def ours(path: Path, rows: int) -> dict[str, object]:
    """gnnc's calls, captured, and what they read and write."""
    from gpu.model import DeviceRun, open_model, random_tensors

    model = open_model(str(path))
    prepared = model.prepare({"node": rows}, {})
    tensors = random_tensors(prepared, "gradient")
    needs = {entry["name"]: entry["inputs"] for entry in model.info["programs"]}
    run_of: dict[str, DeviceRun] = {}
    for program in ("forward", "gradient", "gradient.forward", "gradient.backward"):
        given = {key: tensors[key] for key in needs[program]}
        # The halves of `gradient` leave each other their values in its workspace.
        whole = run_of["gradient"] if program.startswith("gradient.") else None
        run_of[program] = DeviceRun(prepared, given, program, whole)
    run_of["gradient.forward"]()
    calls = {"forward": captured(run_of["forward"]), "backward": captured(run_of["gradient.backward"])}
    return calls | {"y": run_of["forward"].outputs["y"], "kept": (model, prepared, run_of), "tensors": tensors}


def run(arguments: argparse.Namespace) -> None:
    import torch

    cublas = {"cuBLAS": (torch.float32, False), "cuBLAS TF32": (torch.float32, True)}
    cublas |= {"cuBLAS bf16": (torch.bfloat16, False), "cuBLAS f16": (torch.float16, False)}
    known = {way: (arguments.objects, way) for way in arguments.ways}
    if arguments.beside:
        known |= {f"{way} beside": (arguments.beside, way) for way in BESIDE if way in arguments.ways}
    names = [*known, *cublas]
    print(f"{torch.cuda.get_device_name()}\n\n| rows, K × N | half | " + " | ".join(names) + " |")
    print("|---|---|" + "---:|" * len(names))
    for rows in arguments.rows:
        for shape in arguments.shapes:
            if rows * sum(shape) > MOST_NUMBERS:
                continue
            cases = {name: ours(object_of(folder, shape, way), rows) for name, (folder, way) in known.items()}
            tensors = next(iter(cases.values()))["tensors"]
            for name, (dtype, allowed) in cublas.items():
                given = {key: tensors[key].to(dtype) for key in ("x", "W", "grad.y")}
                cases[name] = theirs(given["x"], given["W"], given["grad.y"], allowed) | {"tensors": given}
            for half in ("forward", "backward"):
                ms = measure({name: case[half] for name, case in cases.items()}, arguments.seconds)
                cells = [f"{rows}, {shape[0]} × {shape[1]}", half, *(f"{ms[name]:.3g}" for name in names)]
                print("| " + " | ".join(cells) + " |", flush=True)
            some = slice(0, min(rows, 20000))
            errors = []
            for name in names:
                case = cases[name]
                case["forward"]()
                # A weight in 16 bits is cuBLAS's, and so is its rounding.
                exact = case["tensors"]["x"][some].double() @ tensors["W"].double()
                errors.append(f"{float((case['y'][some].double() - exact).norm() / exact.norm()):.1e}")
            print("| | error | " + " | ".join(errors) + " |", flush=True)
            del cases, tensors, case, exact, given
            torch.cuda.empty_cache()


def shape_of(text: str) -> tuple[int, int]:
    inner, outer = text.split("x")
    return int(inner), int(outer)


def main() -> None:
    program = Program(__doc__)
    compiling, running = program.compile(compile_objects), program.run(run)
    for action in (compiling, running):
        action.add_argument("--shapes", type=shape_of, nargs="+", default=SHAPES, metavar="KxN")
        action.add_argument("--ways", nargs="+", default=list(WAYS), choices=list(WAYS))
    running.add_argument("--rows", type=int, nargs="+", default=ROWS)
    running.add_argument("--seconds", type=float, default=0.1, help="for each half of a shape")
    running.add_argument("--beside", type=Path, help="objects of another compiler")
    program.main()
