"""Each optimisation switched off alone, on a GPU: time, memory, and bytes that moved; cpu/passes.py is the same for CPUs.

    python3 benchmarks gpu.passes compile --gnnc build/bin/gnnc --out objects      # anywhere; needs NVRTC, no GPU
    python3 benchmarks gpu.passes run objects --out passes.json                    # where there is a GPU and PyTorch
    ncu --nvtx --csv --page raw --metrics dram__bytes.sum,lts__t_bytes.sum --kernel-name regex:gnnc \\
        python3 benchmarks gpu.passes once objects > bytes.csv
    python3 benchmarks gpu.passes table passes.json [bytes.csv ...]                # Markdown

Layers are those of models/naive.gnn, on a graph of the size of ogbn-arxiv, forward and backward with all gradients.
Optimisations whose absence leaves the kernels as they are are not listed. Bytes are those of the device's memory and of
the second-level cache as its counters have them, in one call with cold caches.
"""

from __future__ import annotations

import argparse
import csv
import gc
import json
import re
import subprocess
from pathlib import Path

from harness.places import MODELS
from harness.program import Program

LAYERS = ["GCN", "GAT", "GATv2", "MoNet", "EdgeConv", "RGCN"]
TYPES = 51
SETTINGS = {"save=none": ["--save=none"], "save=all": ["--save=all"], "products=fma": ["--products=fma"]}


def compile_objects(arguments: argparse.Namespace) -> None:
    from harness.compiler import optional_passes

    arguments.out.mkdir(parents=True, exist_ok=True)
    ways = {"": [], **{name: ["--without", name] for name in optional_passes(arguments.gnnc)}, **SETTINGS}
    for layer in arguments.layers:
        seen: set[str] = set()
        for title, options in ways.items():
            command = [str(arguments.gnnc), "compile", str(MODELS / "naive.gnn"), "-m", layer, "--gradient"]
            command += ["--target", "cuda", *options]
            text = subprocess.run(
                [*command, "--emit=cuda", "-o", "-"], check=True, capture_output=True, text=True
            ).stdout
            if text in seen:
                continue
            seen.add(text)
            target = arguments.out / f"{layer}{'-' if title else ''}{title}.so"
            subprocess.run([*command, "--arch", arguments.arch, "-o", str(target)], check=True)


class Forms:
    """The objects of each layer, bound to the graph one after the other."""

    def __init__(self, folder: Path) -> None:
        import torch

        from gpu import graphs

        self.objects = [
            path
            for layer in LAYERS
            for path in sorted(folder.glob(f"{layer}.so")) + sorted(folder.glob(f"{layer}-*.so"))
        ]
        self.graph = graphs.load("arxiv", [])
        generator = torch.Generator().manual_seed(0)
        self.types = torch.randint(0, TYPES, (self.graph.edges,), generator=generator)

    def __iter__(self):
        import numpy as np
        import torch

        from gpu.model import DeviceRun, open_model, random_tensors

        extents = {"node": self.graph.nodes, "edge": self.graph.edges}
        for path in self.objects:
            model = open_model(str(path))
            maps = {name: np.ascontiguousarray(array.numpy()) for name, array in self.graph.maps().items()}
            if any(name == "etype" for name in (entry["name"] for entry in model.info["maps"])):
                maps["etype"] = self.types.numpy()
            prepared = model.prepare(extents, maps)
            run = DeviceRun(prepared, random_tensors(prepared, "gradient"), "gradient")
            yield path.stem, prepared, run
            torch.cuda.synchronize()
            del run
            prepared.free()
            model.close()
            gc.collect()
            torch.cuda.empty_cache()


def run(arguments: argparse.Namespace) -> None:
    import torch

    from gpu.grid import timed

    found: dict[str, dict] = {}
    reference: dict[str, torch.Tensor] = {}
    for name, prepared, call in Forms(arguments.objects):
        entry = timed(call, arguments.seconds)
        entry["workspace_mib"] = prepared.workspace_bytes("gradient") / 2**20
        if "-" not in name:
            reference = {output: value.clone() for output, value in call.outputs.items()}
        entry["difference"] = max(
            float((value - reference[output]).abs().max() / reference[output].abs().max())
            for output, value in call.outputs.items()
        )
        found[name] = entry
        print(name, {key: round(value, 6) for key, value in entry.items()}, flush=True)
        arguments.out.write_text(json.dumps({"machine": torch.cuda.get_device_name(), "forms": found}, indent=1))


def once(arguments: argparse.Namespace) -> None:
    """One call of each, in a range of its name for the profiler."""
    import torch

    for name, _, call in Forms(arguments.objects):
        torch.cuda.synchronize()
        torch.cuda.nvtx.range_push(name)
        call()
        torch.cuda.synchronize()
        torch.cuda.nvtx.range_pop()


def counted(file: Path) -> dict[str, dict[str, float]]:
    """Of each range the sums of its kernels' counters, in MB."""
    lines = file.read_text().splitlines()
    begin = next(i for i, line in enumerate(lines) if line.startswith('"ID"'))
    rows = csv.DictReader(lines[begin:])
    units = next(rows)
    scale = {"byte": 1e-6, "Kbyte": 1e-3, "Mbyte": 1.0, "Gbyte": 1e3}
    found: dict[str, dict[str, float]] = {}
    for row in rows:
        ranges = " ".join(value for key, value in row.items() if key and "Push/Pop" in key and value)
        words = re.split(r'[\s:,"<>]+', ranges)
        name = next((word for word in words if word.split("-")[0] in LAYERS), ranges)
        entry = found.setdefault(name, {"dram": 0.0, "l2": 0.0})
        for key, metric in (("dram", "dram__bytes.sum"), ("l2", "lts__t_bytes.sum")):
            entry[key] += float(row[metric].replace(",", "")) * scale[units[metric]]
    return found


def table(arguments: argparse.Namespace) -> None:
    forms = json.loads(arguments.results[0].read_text())["forms"]
    moved = {name: entry for file in arguments.results[1:] for name, entry in counted(file).items()}
    print("| layer, without | ms | ratio | workspace MiB | DRAM MB | L2 MB |")
    print("|---|---:|---:|---:|---:|---:|")
    for name, entry in forms.items():
        layer, _, without = name.partition("-")
        title = f"— {without}" if without else layer
        cells = [title, f"{entry['median']:.3g} [{entry['least']:.3g}–{entry['most']:.3g}]"]
        cells += [f"{entry['median'] / forms[layer]['median']:.2f}" if without else "", f"{entry['workspace_mib']:.0f}"]
        cells += [f"{moved[name][key]:.0f}" if name in moved else "–" for key in ("dram", "l2")]
        print("| " + " | ".join(cells) + " |")


def main() -> None:
    program = Program(__doc__)
    action = program.compile(compile_objects)
    action.add_argument("--layers", nargs="*", default=LAYERS)
    action = program.run(run)
    action.add_argument("--out", type=Path, required=True)
    action.add_argument("--seconds", type=float, default=0.1, help="for each")
    program.action("once", once, "call each once, under a profiler").add_argument("objects", type=Path)
    program.table(table)
    program.main()
