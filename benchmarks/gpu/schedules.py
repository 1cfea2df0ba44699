"""How a sweep's owners are shared out on a GPU: each schedule of each sweep alone, beside what the rule takes.

    python3 benchmarks gpu.schedules compile --gnnc build/bin/gnnc --out objects     # anywhere; needs NVRTC, no GPU
    python3 benchmarks gpu.schedules run objects --out schedules.json                # where there is a GPU and PyTorch
    python3 benchmarks gpu.schedules table schedules.json                            # Markdown

Schedules, as `gnnc tune` has them: a *block* for each owner (its warps share the members), a *warp*, two groups of lanes
(*pair*), one *group* for each owner, and *few*: the same with one member in flight. `x2`, `x4`: the rule, with blocks from twice, four times as many members on.
Times are medians of captured calls; `prepare` is that of the graph from int32 edges on the GPU, of what the program
needs and nothing else. Results of all schedules must be the same to 1e-5, and each the same bits twice.
Graphs: those of gpu/grid.py, power laws of one size and different exponents, and one whose edges go to one owner (hub)."""

from __future__ import annotations

import argparse
import ctypes
import json
import subprocess
import time
from pathlib import Path

from harness.places import MODELS, data_folders
from harness.program import Program

WIDTHS = [16, 32, 64, 128, 256, 512]
LAYERS = ["GCN64", "SAGEMax64", "GATHeads4", "GATv2Heads2"]
NEVER = 1 << 20
NODES = 1 << 17  # of the power laws
HUB = 1_000_000  # members of the heavy owner
SKEWS = ["even2", "even8", "power0.4x8", "power0.6x8", "power0.8x8", "power1.0x8", "hub"]


def compile_objects(arguments: argparse.Namespace) -> None:
    arguments.out.mkdir(parents=True, exist_ok=True)
    objects = [(f"Sum{width}", "gpu.gnn", "Sum", ["-D", f"dim={width}"]) for width in WIDTHS]
    objects += [(name, "layers.gnn", name, []) for name in LAYERS]
    for name, file, model, sizes in objects:
        if arguments.only and name not in arguments.only:
            continue
        command = [str(arguments.gnnc), "compile", str(MODELS / file), "-m", model, "--target", "cuda", *sizes]
        if not sizes and arguments.gradient:
            command.append("--gradient")
        subprocess.run([*command, "--arch", arguments.arch, "-o", str(arguments.out / f"{name}.so")], check=True)


def make(name: str):
    """A graph by name, edges sorted by destination."""
    import torch

    from gpu import graphs

    if name not in SKEWS:
        return graphs.load(name, data_folders())
    generator = torch.Generator(device="cuda").manual_seed(0)

    def draw(count: int, exponent: float):
        weight = torch.arange(1, NODES + 1, device="cuda", dtype=torch.float64) ** -exponent
        total = torch.cumsum(weight[torch.randperm(NODES, generator=generator, device="cuda")], 0)
        at = torch.rand(count, generator=generator, device="cuda", dtype=torch.float64) * total[-1]
        return torch.searchsorted(total, at).clamp_(max=NODES - 1)

    if name == "hub":
        dst = torch.cat([torch.full((HUB,), NODES // 2, device="cuda"), draw(2 * NODES, 0.0)])
    elif name.startswith("even"):
        dst = torch.arange(NODES, device="cuda").repeat(int(name.removeprefix("even")))
    else:
        exponent, degree = name.removeprefix("power").split("x")
        dst = draw(NODES * int(degree), float(exponent))
    src = torch.randint(0, NODES, (dst.numel(),), generator=generator, device="cuda")
    order = torch.argsort(dst, stable=True)
    return graphs.Graph(name, NODES, src[order], dst[order])


def preparation(model, edges, shuffled: bool = True) -> float:
    """Milliseconds of preparing a shuffled edge list that is on the GPU, the least of several."""
    import torch

    from harness.model import Extent, GraphDesc, Index

    order = torch.randperm(edges.edges, device="cuda") if shuffled else torch.arange(edges.edges, device="cuda")
    maps = {"src": edges.src[order].int().contiguous(), "dst": edges.dst[order].int().contiguous()}
    sizes = (Extent * 2)(Extent(b"node", edges.nodes), Extent(b"edge", edges.edges))
    indices = (Index * 2)()
    for index, (name, data) in zip(indices, maps.items()):
        index.map, index.data, index.length = name.encode(), data.data_ptr(), data.numel()
        index.bits, index.format = 32, 16
    desc = GraphDesc(ctypes.sizeof(GraphDesc), 2, sizes, 2, indices)
    times = []
    for _ in range(8):
        handle = ctypes.c_void_p()
        torch.cuda.synchronize()
        begin = time.perf_counter()
        model.check(
            "prepare", lambda error: model.api.prepare(model.handle, ctypes.byref(desc), ctypes.byref(handle), error)
        )
        times.append(1e3 * (time.perf_counter() - begin))
        model.api.free_graph(handle)
    return min(times)


def tunings(model, plain, program: str) -> dict[str, str]:
    """By title, the text that gives all owners of all sweeps to one schedule."""
    info = plain.describe()
    head = f"gnnc-tune 1 {info['digest']}\ngraph cuda {info['architecture']}\n"
    head += "".join(f"extent {entry['space']} {entry['extent']}\n" for entry in info["extents"] if entry["extent"] >= 0)
    schedules = {
        kernel["schedules"][0]["kernel"]: kernel["schedules"]
        for kernel in model.info["kernels"]
        if kernel.get("schedules")
    }
    order = {entry["map"]: "by_size" if entry["by_size"] else "by_owner" for entry in info["worklists"]}
    own = [sweep for sweep in info["sweeps"] if sweep["function"].split(".")[0] == program]

    def title(schedule: dict) -> str:
        if schedule.get("few"):
            return "few"
        each = schedule["lanes"] * schedule["groups"]
        return "block" if each > 32 else {32: "warp"}.get(each, "pair" if schedule["groups"] == 2 else "group")

    found: dict[str, str] = {}
    for wanted in ("block", "warp", "pair", "group", "few"):
        text = ""
        for sweep in own:
            titles = [title(schedule) for schedule in schedules[sweep["kernel"]]]
            if wanted in titles:
                least = [NEVER] * titles.index(wanted) + [0] * (len(titles) - 1 - titles.index(wanted))
                text += f"sweep {sweep['kernel']} {order[sweep['map']]} {' '.join(map(str, least))}\n"
        if text:
            found[wanted] = head + text
    for factor in (2, 4):
        text = ""
        for sweep in own:
            least = [schedule["least"] for schedule in schedules[sweep["kernel"]]][:-1]
            if order[sweep["map"]] == "by_size" and len(least) > 1 and title(schedules[sweep["kernel"]][0]) == "block":
                text += f"sweep {sweep['kernel']} by_size {least[0] * factor} {' '.join(map(str, least[1:]))}\n"
        if text:
            found[f"x{factor}"] = head + text
    return found


def run(arguments: argparse.Namespace) -> None:
    import torch

    from gpu.grid import timed
    from gpu.model import DeviceRun, open_model, random_tensors

    found: dict = {"machine": torch.cuda.get_device_name(), "cells": []}
    for name in arguments.graphs:
        edges = make(name)
        maps = {key: array.numpy() for key, array in edges.maps().items()}
        for path in sorted(arguments.objects.glob("*.so")):
            if arguments.only and path.stem not in arguments.only:
                continue
            model = open_model(str(path))
            extents = {"node": edges.nodes, "edge": edges.edges}
            programs = [entry["name"] for entry in model.info["programs"]]
            for program in [entry for entry in ("forward", "gradient") if entry in programs]:
                cell = {"graph": name, "edges": edges.edges, "object": path.stem, "program": program, "ms": {}}
                if arguments.prepare and program == "forward":
                    cell["prepare"] = preparation(model, edges)
                plain = model.prepare(extents, maps)
                inputs = random_tensors(plain, program)
                reference = None
                for title, text in {"rule": "", **tunings(model, plain, program)}.items():
                    prepared = model.prepare(extents, maps, tuning=text)
                    call = DeviceRun(prepared, inputs, program)
                    call()
                    first = {key: value.clone() for key, value in call.outputs.items()}
                    captured = torch.cuda.CUDAGraph()
                    with torch.cuda.graph(captured):
                        call()
                    cell["ms"][title] = timed(captured.replay, arguments.seconds)["median"]
                    same = all(torch.equal(value, first[key]) for key, value in call.outputs.items())
                    reference = reference or first
                    worst = max(
                        float((value - reference[key]).abs().max() / reference[key].abs().max().clamp_min(1e-30))
                        for key, value in first.items()
                        if value.numel()
                    )
                    if not same or not worst < 1e-5:
                        cell.setdefault("wrong", {})[title] = {"same": same, "difference": worst}
                    del call, captured, first
                    prepared.free()
                plain.free()
                found["cells"].append(cell)
                shown = " ".join(f"{key} {value * 1e3:.1f}" for key, value in cell["ms"].items())
                print(
                    name,
                    path.stem,
                    program,
                    f"{cell.get('prepare', 0):.2f} |",
                    shown,
                    cell.get("wrong", ""),
                    flush=True,
                )
                arguments.out.write_text(json.dumps(found))
            model.close()
        del edges
        torch.cuda.empty_cache()


def table(arguments: argparse.Namespace) -> None:
    titles = ["rule", "block", "warp", "pair", "group", "few", "x2", "x4"]
    print("| graph | program | " + " | ".join(titles) + " | prepare |\n|---|---|" + "---:|" * (len(titles) + 1))
    for path in arguments.results:
        for cell in json.loads(path.read_text())["cells"]:
            own = "" if cell["program"] == "forward" else ", with gradients"
            times = [f"{cell['ms'][title] * 1e3:.3g}" if title in cell["ms"] else "–" for title in titles]
            prepare = f"{cell['prepare'] * 1e3:.0f}" if "prepare" in cell else "–"
            print(f"| {cell['graph']} | {cell['object']}{own} | " + " | ".join(times) + f" | {prepare} |")


def main() -> None:
    program = Program(__doc__)
    action = program.compile(compile_objects)
    action.add_argument("--only", nargs="*", help="objects, by name")
    action.add_argument("--gradient", action="store_true", help="of layers, with gradients")
    action = program.run(run)
    action.add_argument("--out", type=Path, required=True)
    action.add_argument("--graphs", nargs="*", default=["arxiv", "tolokers", "roads", "pokec", *SKEWS])
    action.add_argument("--only", nargs="*", help="objects, by name")
    action.add_argument("--seconds", type=float, default=0.05, help="for each schedule")
    action.add_argument("--prepare", action=argparse.BooleanOptionalAction, default=True)
    program.table(table, "print results as Markdown, in microseconds")
    program.main()
