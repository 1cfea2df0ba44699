"""Large graphs: the GPU's numbers beside the same object's on the CPU, which tests compare with the interpreter.

    python3 Large.py compile --gnnc build/bin/gnnc --out objects    # anywhere; needs NVRTC, no GPU
    python3 Large.py run objects [--data FOLDER]                    # where there is a GPU, and PyTorch

Each layer of the grid (benchmarks/gpu/grid.py) on graphs of more than a million edges, skewed and even, outputs and all
gradients; and tensors of more than 2^31 numbers (Large.gnn; needs 60 GiB on the GPU and on the host). Each tensor's
largest difference counts beside its own largest number, or a twentieth of the largest of all where gradients nearly
cancel. Exits with 1 where one is over 1e-4 in float32, 1e-9 in float64.

What has maxima, or functions with a kink, is compared in float64. In float32 a few of a hundred million sums lie so
near a kink that rounding decides on which side, and each moves gradients by one edge's whole share: weights that are
changed by 3e-7 change GATv2's gradients on arxiv by 4e-3 in float64 as well.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent.parent / "benchmarks"))

from gpu.grid import LAYERS, objects  # noqa: E402
from harness.places import MODELS, data_folders  # noqa: E402
from harness.program import Program  # noqa: E402

GRAPHS = ["arxiv", "tolokers", "roads", "pokec"]
WIDE_NODES, WIDE_EDGES = 2_200_000, 3_000_000
ALLOWED = {"f32": 1e-4, "f64": 1e-9}
KINKS = {"SAGEMax64", "GATHeads4", "GATv2Heads2", "EdgeMLP", "EdgeMatrices"}


def models() -> dict[str, tuple[Path, str, list[str]]]:
    """Name of each object: file, model, and what is defined."""
    found = {name: (MODELS / file, model, sizes) for name, (file, model, sizes) in objects().items() if name in LAYERS}
    for name in ("EdgeMLP", "EdgeMatrices"):
        found[name] = (MODELS / "gpu.gnn", name, [])
    return found | {"Wide": (HERE / "Large.gnn", "Wide", [])}


def compile_objects(arguments: argparse.Namespace) -> None:
    arguments.out.mkdir(parents=True, exist_ok=True)
    for name, (file, model, sizes) in models().items():
        command = [str(arguments.gnnc), "compile", str(file), "-m", model, "--gradient", "--target", "cpu,cuda"]
        command += ["--arch", arguments.arch, "-o", str(arguments.out / f"{name}.so")]
        command += ["--dtype", "f64" if name in KINKS else "f32"]
        subprocess.run([*command, *(part for size in sizes for part in ("-D", size))], check=True)


def compare(path: Path, graph: object) -> tuple[float, str, float]:
    """The largest difference, of which tensor, and how large it may be."""
    import numpy as np
    import torch

    from gpu.model import DeviceRun, open_model, prepare, random_tensors
    from harness.model import Model

    device = open_model(str(path))
    prepared = prepare(device, graph)
    tensors = random_tensors(prepared, "gradient")
    run = DeviceRun(prepared, tensors, "gradient")
    run()
    torch.cuda.synchronize()
    found = {name: value.cpu().numpy() for name, value in run.outputs.items()}
    host = Model(path)
    on_host = prepare(host, graph)
    inputs = {name: value.cpu().numpy() for name, value in tensors.items()}
    del run
    reference = on_host.bind(inputs, "gradient")
    reference()
    largest = max(float(np.abs(value).max()) for value in reference.outputs.values())
    worst = (0.0, "")
    for name, expected in reference.outputs.items():
        off = np.abs(found[name] - expected)
        error = float(off.max(initial=0)) / max(float(np.abs(expected).max()), largest / 20)
        worst = max(worst, (error if np.isfinite(off).all() else float("inf"), name))
    for model, graph_of in ((device, prepared), (host, on_host)):
        graph_of.free()
        model.close()
    return *worst, ALLOWED[host.info["dtype"]]


def run(arguments: argparse.Namespace) -> None:
    import torch

    from gpu import graphs

    wrong = 0
    for name in [*arguments.graphs, "wide"]:
        if name == "wide":
            generator = torch.Generator(device="cuda").manual_seed(1)
            src, dst = torch.randint(0, WIDE_NODES, (2, WIDE_EDGES), generator=generator, device="cuda")
            graph = graphs.Graph("wide", WIDE_NODES, src, dst.sort().values)
        else:
            graph = graphs.load(name, arguments.data)
        for row in models():
            if (row == "Wide") != (name == "wide") or (name == "pokec" and row in arguments.not_on_pokec):
                continue
            error, tensor, allowed = compare(arguments.objects / f"{row}.so", graph)
            wrong += not error <= allowed
            print(f"{row:18} {name:10} {error:.2e} {tensor}", "" if error <= allowed else "WRONG", flush=True)
            torch.cuda.empty_cache()
    sys.exit(1 if wrong else 0)


def main() -> None:
    program = Program(__doc__)
    program.compile(compile_objects)
    action = program.run(run)
    action.add_argument("--graphs", nargs="*", default=GRAPHS)
    action.add_argument("--data", type=Path, nargs="*", default=data_folders())
    action.add_argument("--not-on-pokec", nargs="*", default=["TransformerHeads4", "EdgeMLP", "EdgeMatrices"])
    program.main()


if __name__ == "__main__":
    main()
