"""One grid on one GPU in one run: gnnc, PyTorch Geometric (eager, compiled, CSR adjacency), cuSPARSE and kernels by hand.

    python3 benchmarks gpu.grid compile --gnnc build/bin/gnnc --out objects   # anywhere; needs NVRTC, no GPU
    python3 benchmarks gpu.grid run objects --out grid.json               # with a GPU, PyTorch and torch-geometric
    python3 benchmarks gpu.grid run objects --out grid.json --peers DIR   # and the kernels in DIR (peers/by_hand.py)
    python3 benchmarks gpu.grid table grid.json [other.json ...]          # Markdown; gpu/plot.py draws it

A cell is a layer on a graph. Each contender runs five times to warm up, then until `--seconds` are over, at least five
times and at most fifty, each call between two events of its stream. Calls of half a second and more run three times, of
five seconds and more twice. Reported are the median, the least and the most in milliseconds, and the peak of memory beyond
what the caller holds (inputs, parameters, outputs, the prepared graph, whose bytes stand beside it). gnnc and kernels by
hand run a second time as a captured CUDA graph, for cells so short that starting kernels takes longer than running them.
Rows of SWEEPS are what layers do along edges and nothing else; there is no peer for them but kernels by hand, which are in
no mean of peers.

The floor of a cell is the longest of: bytes that must move at least once at the rate of a copy, bytes that the kernels
read and write, each operand as often as it is seen, at the rate of the second-level cache, and operations at the rate
of float32 products; all three rates are measured in the same run.
"""

from __future__ import annotations

import argparse
import gc
import importlib.metadata
import json
import signal
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from harness.places import MODELS, data_folders
from harness.program import Program

LAYERS = ["GCN64", "SAGEMax64", "GATHeads4", "GATv2Heads2", "TransformerHeads4", "MoNet16"]
WIDTHS = [16, 64, 128, 256, 512]
GRAPHS = ["arxiv", "tolokers", "roads", "twitch_de", "pokec"]
TYPED = ["aifb", "mutag", "bgs", "am"]
EDGE_TYPES = {"aifb": 90, "mutag": 50, "bgs": 122, "am": 96}
NODE_TYPES = {"aifb": 1, "mutag": 5, "bgs": 27, "am": 7}
SWEEPS = {"PlainSum64": "PlainSum", "GATv2Sweeps": "GATv2Sweeps", "TransformerSweeps": "TransformerSweeps"}
BACKWARD = "gradient.backward"
PROGRAMS = {"forward": "f", "gradient": "f+b", BACKWARD: "b"}
BY_HAND = "by hand"


def objects() -> dict[str, tuple[str, str, list[str]]]:
    """Name of each object: file and model, and what is defined."""
    found = {name: ("layers.gnn", name, []) for name in [*LAYERS, "EdgeConv64"]}
    found |= {f"Sum{width}": ("gpu.gnn", "Sum", [f"dim={width}"]) for width in WIDTHS}
    found |= {name: ("sweeps.gnn", model, []) for name, model in SWEEPS.items()}
    for graph in TYPED:
        found[f"TypedRGCN_{graph}"] = ("gpu.gnn", "TypedRGCN", [f"edge_type={EDGE_TYPES[graph]}"])
        sizes = [f"edge_type={EDGE_TYPES[graph]}", f"node_type={NODE_TYPES[graph]}"]
        found[f"TypedHGT_{graph}"] = ("gpu.gnn", "TypedHGT", sizes)
    return found


def compile_objects(arguments: argparse.Namespace) -> None:
    arguments.out.mkdir(parents=True, exist_ok=True)
    for name, (file, model, sizes) in objects().items():
        if arguments.only and name not in arguments.only:
            continue
        command = [str(arguments.gnnc), "compile", str(MODELS / file), "-m", model, "--target", "cuda"]
        command += ["--arch", arguments.arch, "-o", str(arguments.out / f"{name}.so"), *arguments.options]
        if "Sum" not in name:
            command.append("--gradient")
        for size in sizes:
            command += ["-D", size]
        subprocess.run(command, check=True)


def cells(graphs: list[str]) -> list[tuple[str, str, str]]:
    """Graph, row of the table, object; a graph's cells side by side, so that it is made once."""
    found = []
    for graph in graphs:
        if graph in TYPED:
            found += [(graph, name, f"{name}_{graph}") for name in ("TypedRGCN", "TypedHGT")]
        elif graph in ("k20", "k40"):
            found.append((graph, "EdgeConv64", "EdgeConv64"))
        else:
            found += [(graph, name, name) for name in LAYERS]
            found += [(graph, f"Sum{width}", f"Sum{width}") for width in WIDTHS]
            found += [(graph, name, name) for name in SWEEPS]
    return found


# ----------------------------------------------------------------------------------------------------------------------
# Measuring
# ----------------------------------------------------------------------------------------------------------------------


def timed(call: Callable[[], object], seconds: float) -> dict[str, float]:
    import torch

    def once() -> float:
        begin = time.perf_counter()
        call()
        torch.cuda.synchronize()
        return max(time.perf_counter() - begin, 1e-6)

    call()  # what is compiled or loaded at first use
    one = once()
    if one >= 5:
        return {"median": 1e3 * one, "least": 1e3 * one, "most": 1e3 * one, "calls": 1}
    if one < 0.5:
        call(), call()
        one = once()
    count = max(5 if one < 0.5 else 1, min(50, int(seconds / one)))
    events = [[torch.cuda.Event(enable_timing=True) for _ in range(2)] for _ in range(count)]
    for first, last in events:
        first.record()
        call()
        last.record()
    torch.cuda.synchronize()
    times = [first.elapsed_time(last) for first, last in events]
    return {"median": statistics.median(times), "least": min(times), "most": max(times), "calls": count}


def peak_mib(call: Callable[[], object]) -> float:
    import torch

    torch.cuda.synchronize()
    torch.cuda.empty_cache()
    torch.cuda.reset_peak_memory_stats()
    before = torch.cuda.memory_allocated()
    call()
    torch.cuda.synchronize()
    return (torch.cuda.max_memory_allocated() - before) / 2**20


def ceilings(seconds: float) -> dict[str, float]:
    """Bytes a second of copying and of gathering rows from the cache, operations a second of a float32 product."""
    import torch

    a, b = (torch.empty(1 << 29, device="cuda") for _ in range(2))
    copy = 2 * 4 * a.numel() / timed(lambda: b.copy_(a), seconds)["median"] * 1e3
    del a, b
    rows = torch.randn(20000, 64, device="cuda")
    at = torch.randint(0, rows.shape[0], (1 << 22,), device="cuda")
    gather = at.numel() * 256 / timed(lambda: rows.index_select(0, at), seconds)["median"] * 1e3
    a, b = torch.randn(16384, 4096, device="cuda"), torch.randn(4096, 4096, device="cuda")
    product = 2 * 16384 * 4096**2 / timed(lambda: a @ b, seconds)["median"] * 1e3
    return {"copy": copy, "cache": max(gather, 2 * copy), "product": product}


def floor_ms(info: dict, program: str, extent: Callable[[str], int], rates: dict[str, float]) -> float:
    """See above. Index arrays of a walk count once for each kernel."""
    function, _, half = program.partition(".")

    def total(formula: list[dict]) -> float:
        return sum(term["each"] * (extent(term["space"]) if term["space"] else 1) for term in formula)

    own = [kernel for kernel in info["kernels"] if kernel["function"] == function and kernel["half"].startswith(half)]
    seen = sum(total(kernel["bytes_read"]) + total(kernel["bytes_written"]) for kernel in own)
    operations = sum(total(kernel["flops"]) for kernel in own)
    names = next(entry for entry in info["programs"] if entry["name"] == program)
    values = {value["name"]: value for value in [*info["inputs"], *info["params"]]}
    moved = 0.0
    for value in [*(values[name] for name in names["inputs"] if name in values), *names["outputs"]]:
        count = extent(value["space"]) if value["space"] else 1
        for size in value["dims"]:
            count *= size
        moved += (2 if "dtype" in value else 4) * count
    return 1e3 * max(moved / rates["copy"], seen / rates["cache"], operations / rates["product"])


def measure_gnnc(path: Path, graph: object, arguments: argparse.Namespace, rates: dict, kept: dict) -> dict[str, dict]:
    """`kept` takes inputs and outputs of each program of a row of SWEEPS."""
    import torch

    from gpu.model import DeviceRun, open_model, prepare, random_tensors

    model = open_model(str(path))
    begin = time.perf_counter()
    prepared = prepare(model, graph)
    preparing = time.perf_counter() - begin
    found = {}
    programs = [entry["name"] for entry in model.info["programs"]]
    wanted = [name for name in PROGRAMS if name in programs and (name != BACKWARD or path.stem in SWEEPS)]
    for program in wanted:
        tensors = random_tensors(prepared, program)
        run = DeviceRun(prepared, tensors, program)
        # The second half writes over what the first has left, which its time does not depend on.
        before = DeviceRun(prepared, tensors, "gradient.forward", run) if program == BACKWARD else None
        if before:
            before()
        run()
        assert all(torch.isfinite(output).all() for output in run.outputs.values()), f"{path} {program}: not finite"
        first = {name: output.clone() for name, output in run.outputs.items()}
        if path.stem in SWEEPS and program != BACKWARD:
            kept[program] = (tensors, first)
        entry = timed(run, arguments.seconds)
        captured = torch.cuda.CUDAGraph()
        with torch.cuda.graph(captured):
            run()
        entry["captured"] = timed(captured.replay, arguments.seconds)["median"]
        if before:
            before()
            run()
        same = all(torch.equal(output, first[name]) for name, output in run.outputs.items())
        entry["repeatable"] = same
        entry["workspace_mib"] = prepared.workspace_bytes(program) / 2**20
        entry["floor"] = floor_ms(model.info, program, prepared.extent, rates)
        found[program] = entry
        del run, captured, first
    found["prepared"] = {"mib": prepared.bytes() / 2**20, "seconds": preparing}
    prepared.free()
    model.close()
    return found


def measure_step(call: Callable[[], object] | None, arguments: argparse.Namespace) -> dict | None:
    return None if call is None else timed(call, arguments.seconds) | {"peak_mib": peak_mib(call)}


def measure_peers(row: str, graph: object, arguments: argparse.Namespace, late: bool) -> dict[str, dict]:
    import torch

    from peers import pyg_gpu

    contenders: list = []
    if row.startswith("Sum"):
        contenders = [("cuSPARSE", lambda: pyg_gpu.cusparse(graph, int(row.removeprefix("Sum"))))]
    elif row not in SWEEPS:
        contenders = list(pyg_gpu.arrangements(row, graph, compile_too=not late))
    found = {}
    for title, make in contenders:
        if arguments.contenders and title not in arguments.contenders:
            continue
        signal.alarm(arguments.patience)  # Compiling what breaks into many graphs takes minutes.
        try:
            forward, both = make()
            found[title] = {"forward": measure_step(forward, arguments)}
            if title != "cuSPARSE":
                found[title]["gradient"] = measure_step(both, arguments)
        except Exception as error:  # Out of memory, out of patience, or what its compiler does not take.
            found.setdefault(title, {})["error"] = (
                f"{type(error).__name__}: {(str(error).splitlines() or [''])[0][:120]}"
            )
        signal.alarm(0)
        gc.collect()
        torch.cuda.empty_cache()
    return found


def kernels_by_hand(arguments: argparse.Namespace):
    """None, and one line that says why, where there are none."""
    if arguments.peers is None:
        print("no kernels by hand: --peers DIR was not given", flush=True)
        return None
    try:
        from peers import by_hand

        return by_hand.Kernels(arguments.peers)
    except (ImportError, OSError, ValueError) as error:
        print(f"no kernels by hand: {error}", flush=True)
        return None


def measure_by_hand(
    row: str, graph: object, kernels: object, kept: dict, arguments: argparse.Namespace
) -> dict[str, dict]:
    from peers import by_hand

    signal.alarm(arguments.patience)
    try:
        found = by_hand.measure(row, graph, kernels, kept, timed, arguments.seconds)
    except Exception as error:  # One contender less, and the reason in its place.
        found = {"error": f"{type(error).__name__}: {(str(error).splitlines() or [''])[0][:120]}"}
    signal.alarm(0)
    return found


def version_of(package: str) -> str:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return "none"


def on_graphs(wanted: list[tuple[str, str, str]], data: list[Path]) -> Iterator[tuple[object, str, str]]:
    """Cells with their graphs, each of which is made once; those without a file are left out."""
    import torch

    from gpu import graphs

    made: tuple[str, object] = ("", None)
    for graph_name, row, name in wanted:
        if made[0] != graph_name:
            made = (graph_name, None)
            gc.collect()
            torch.cuda.empty_cache()
            try:
                made = (graph_name, graphs.load(graph_name, data))
            except FileNotFoundError as error:
                print(error, flush=True)
        if made[1] is not None:
            yield made[1], row, name


def run(arguments: argparse.Namespace) -> None:
    import torch

    def give_up(*_) -> None:
        raise TimeoutError(f"not done in {arguments.patience} s")

    signal.signal(signal.SIGALRM, give_up)
    begin = time.perf_counter()
    rates = ceilings(arguments.seconds)
    results: dict = {
        "machine": torch.cuda.get_device_name(),
        "date": time.strftime("%Y-%m-%d"),
        "torch": torch.__version__,
        "torch_geometric": version_of("torch-geometric"),
        "command": " ".join(["python3 benchmarks gpu.grid", *sys.argv[1:]]),
        "ceilings": rates,
        "cells": [],
    }
    by_hand = kernels_by_hand(arguments)
    wanted = [
        cell
        for cell in cells(arguments.graphs)
        if (arguments.objects / f"{cell[2]}.so").exists() and not (arguments.only and cell[1] not in arguments.only)
    ]
    for graph, row, name in on_graphs(wanted, arguments.data):
        path = arguments.objects / f"{name}.so"
        cell = {"graph": graph.name, "row": row, "nodes": graph.nodes, "edges": graph.edges}
        kept: dict = {}
        try:
            cell["gnnc"] = measure_gnnc(path, graph, arguments, rates, kept)
        except Exception as error:  # One cell less, and the reason in its place.
            cell["error"] = f"{type(error).__name__}: {error}"
        spent = time.perf_counter() - begin
        if not arguments.no_peers and spent < arguments.budget:
            cell["peers"] = measure_peers(row, graph, arguments, late=spent > arguments.compile_budget)
            if by_hand and row in SWEEPS and "gnnc" in cell:
                cell["peers"][BY_HAND] = measure_by_hand(row, graph, by_hand, kept, arguments)
        del kept
        results["cells"].append(cell)
        print(f"{time.perf_counter() - begin:6.1f} s", brief(cell), flush=True)
        arguments.out.write_text(json.dumps(results, indent=1))


# ----------------------------------------------------------------------------------------------------------------------
# Tables
# ----------------------------------------------------------------------------------------------------------------------


def best_peer(cell: dict, program: str) -> tuple[str, dict] | None:
    peers = cell.get("peers", {}).items()
    measured = [(title, peer[program]) for title, peer in peers if peer.get(program) and title != BY_HAND]
    return min(measured, key=lambda item: item[1]["median"], default=None)


def number(milliseconds: float) -> str:
    return f"{milliseconds:.3g}" if milliseconds < 100 else f"{milliseconds:.0f}"


def brief(cell: dict) -> str:
    text = f"{cell['row']:18} {cell['graph']:10}"
    for program, title in PROGRAMS.items():
        if entry := cell.get("gnnc", {}).get(program):
            text += f" {title} {number(entry['median'])} ({number(entry['captured'])}; {number(entry['floor'])})"
            text += "" if entry["repeatable"] else " NOT REPEATABLE"
            if peer := best_peer(cell, program):
                text += f" {peer[0]} {number(peer[1]['median'])}"
            if hand := cell.get("peers", {}).get(BY_HAND, {}).get(program):
                text += f" {BY_HAND} {number(hand['captured'])} (differs by {hand['difference']:.1e}; {hand['title']})"
    if error := cell.get("peers", {}).get(BY_HAND, {}).get("error"):
        text += f" {BY_HAND}: {error}"
    return text + (" " + cell["error"] if "error" in cell else "")


def table(arguments: argparse.Namespace) -> None:
    runs = [json.loads(file.read_text()) for file in arguments.results]
    print("\n".join(lines_of_table([cell for results in runs for cell in results["cells"]])))


def lines_of_table(cells: list[dict]) -> list[str]:
    """Markdown."""
    lines = [
        "| layer, graph | program | gnnc ms | captured | floor | best peer | ms | ratio | MiB: gnnc | peer | graph |"
    ]
    lines.append("|---|---|---:|---:|---:|---|---:|---:|---:|---:|---:|")
    ratios: dict[str, list[float]] = {}
    for cell in (cell for cell in cells if cell["row"] not in SWEEPS):
        for program in ("forward", "gradient"):
            entry, peer = cell.get("gnnc", {}).get(program), best_peer(cell, program)
            if not entry:
                continue
            line = [f"{cell['row']}, {cell['graph']}", "f" if program == "forward" else "f+b"]
            line.append(f"{number(entry['median'])} [{number(entry['least'])}–{number(entry['most'])}]")
            line += [number(entry["captured"]), number(entry["floor"])]
            if peer:
                ratio = peer[1]["median"] / entry["median"]
                ratios.setdefault(program, []).append(ratio)
                line += [peer[0], number(peer[1]["median"]), f"{ratio:.2f}" if ratio >= 1 else f"**{ratio:.2f}**"]
            else:
                line += ["–", "–", "–"]
            line += [f"{entry['workspace_mib']:.0f}", f"{peer[1]['peak_mib']:.0f}" if peer else "–"]
            line.append(f"{cell['gnnc']['prepared']['mib']:.0f}")
            lines.append("| " + " | ".join(line) + " |")
    for program, found in ratios.items():
        lines.append(
            f"\n{program}: geometric mean {statistics.geometric_mean(found):.2f}, least {min(found):.2f}, {len(found)} cells"
        )
    if any(cell["row"] in SWEEPS for cell in cells):
        lines += lines_by_hand([cell for cell in cells if cell["row"] in SWEEPS])
    return lines


def lines_by_hand(cells: list[dict]) -> list[str]:
    """Captured calls beside captured calls: kernels by hand are started by another library."""
    lines = [
        "\n| sweeps, graph | program | gnnc ms | captured | floor | by hand, captured | gnnc / by hand | difference | MiB: gnnc | by hand |"
    ]
    lines.append("|---|---|---:|---:|---:|---:|---:|---:|---:|---:|")
    ratios: dict[str, list[float]] = {}
    for cell in cells:
        for program, title in PROGRAMS.items():
            if not (entry := cell.get("gnnc", {}).get(program)):
                continue
            line = [
                f"{cell['row']}, {cell['graph']}",
                title,
                number(entry["median"]),
                number(entry["captured"]),
                number(entry["floor"]),
            ]
            if hand := cell.get("peers", {}).get(BY_HAND, {}).get(program):
                ratio = entry["captured"] / hand["captured"]
                ratios.setdefault(f"{cell['row']} {title}", []).append(ratio)
                line += [
                    number(hand["captured"]),
                    f"{ratio:.2f}" if ratio <= 1.15 else f"**{ratio:.2f}**",
                    f"{hand['difference']:.0e}",
                ]
            else:
                line += ["–", "–", "–"]
            line += [f"{entry['workspace_mib']:.0f}", f"{hand['peak_mib']:.0f}" if hand else "–"]
            lines.append("| " + " | ".join(line) + " |")
    for name, found in ratios.items():
        lines.append(
            f"\n{name}: {statistics.geometric_mean(found):.2f} of the time by hand, most {max(found):.2f}, {len(found)} cells"
        )
    return lines


def main() -> None:
    program = Program(__doc__)
    action = program.compile(compile_objects)
    action.add_argument("--only", nargs="*", help="objects, by name")
    action.add_argument("options", nargs="*", help="more options of gnnc compile, after --")
    action = program.run(run)
    action.add_argument("--out", type=Path, required=True)
    action.add_argument("--graphs", nargs="*", default=[*GRAPHS, "k20", "k40", *TYPED])
    action.add_argument("--only", nargs="*", help="rows of the table, by name")
    action.add_argument("--data", type=Path, nargs="*", default=data_folders())
    action.add_argument("--seconds", type=float, default=0.3, help="for each contender and program")
    action.add_argument("--no-peers", action="store_true", help="gnnc alone")
    action.add_argument("--peers", type=Path, help="a folder with kernels by hand: by_hand.py")
    action.add_argument(
        "--patience", type=int, default=600, help="seconds for each arrangement of a peer, compiling included"
    )
    action.add_argument("--contenders", nargs="*", help="peers, by name")
    action.add_argument("--budget", type=float, default=1e9, help="no peers after so many seconds")
    action.add_argument("--compile-budget", type=float, default=1e9, help="nothing is compiled by torch after these")
    program.table(table)
    program.main()
