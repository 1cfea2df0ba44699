"""Whole networks on one GPU beside PyTorch Geometric, and preparing their graphs beside torch's sorts.

    gnnc compile benchmarks/models/networks.gnn -m GCN3 --target cuda -o OUT/GCN3.so   # GAT2, EdgeConv4, RGCN2 likewise
    gnnc compile benchmarks/models/networks.gnn -m GATLayer --gradient --target cuda -o OUT/GATLayer.so
    gnnc compile benchmarks/models/layers.gnn -m GCN64 --gradient --target cuda -o OUT/GCN64.so   # GATHeads4, SAGEMax64
    gnnc compile benchmarks/models/layers.gnn -m GCN64 --target cuda -o OUT/GCN64Forward.so       # and these
    gnnc compile examples/gcn/model.gnn --target cuda -o OUT/gcn.so                    # and gat
    python3 benchmarks gpu.networks OUT CORA.safetensors prepare fresh cora gcn rgcn edgeconv layer reddit

`fresh:roads,arxiv:60:20` takes these graphs only, compiles nothing of PyG's after 60 s, and waits 20 s for each way of PyG's.
`--compile-first 90` has torch compile all that these parts need before anything is measured, for at most so many seconds,
each variant in a process of its own, into the folder that TORCHINDUCTOR_CACHE_DIR names; compiling again finds it there.
It needs torch, torch-geometric and a GPU; nothing else of gnnc. One line of JSON for each measurement: medians in ms, and
MiB beyond inputs and parameters at the peak. A training step is forward, loss, backward and Adam; gnnc's and those of
torch.compile's mode reduce-overhead are CUDA graphs. Steps change the parameters, so their losses are compared after
as many steps from the same start.
"""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path

import torch

from gpu import fresh
from gpu.grid import peak_mib
from gpu.runs import (
    SIZES,
    Model,
    Only,
    batched,
    conv_weights,
    milliseconds,
    ordered,
    report,
    same,
    states,
    transposed,
    wanted,
)
from harness.places import BENCHMARKS

warnings.filterwarnings("ignore")
MODES = {None: "PyG eager", "default": "PyG compiled", "reduce-overhead": "PyG compiled, as CUDA graphs"}
SHARE = 0.12  # of the GPU's memory, for each process that compiles beforehand
patience = 40  # seconds for one way of PyG's


def compare(name: str, model: Model, inputs: dict[str, torch.Tensor], net, forward, loss, weights) -> None:
    """gnnc's forward and training step beside PyG's, eager and compiled; `weights` copies parameters to the module."""
    if Only.variant is None:
        own = compare_own(name, model, inputs, net, forward, weights)
    else:
        keep(forward, net)
    for mode, module in arrangements(net):
        times: dict[str, float] = {}
        peaks: dict[str, float] = {}
        signal.alarm(patience)  # Compiling what breaks into many graphs takes minutes.
        try:
            optimiser = torch.optim.Adam(net.parameters(), lr=0.01, fused=True)

            def infer(module=module) -> None:
                with torch.no_grad():
                    forward(module)

            def train(module=module, optimiser=optimiser) -> None:
                optimiser.zero_grad(set_to_none=True)
                loss(forward(module)).backward()
                optimiser.step()

            for key, call in (("forward", infer), ("step", train)):
                times[key] = milliseconds(call)
                if mode != "reduce-overhead":  # PyTorch does not count what its graphs hold
                    peaks[key] = peak_mib(call)
            failed = {}
        except Exception as failure:  # Out of memory, or what its compiler does not take.
            failed = {"failed": f"{type(failure).__name__}: {failure}"[:160]}
        signal.alarm(0)
        if Only.variant is None:
            ratios = {key: times[key] / own[key] for key in times}
            report(network=name, who=MODES[mode], ms=times, mib=peaks, times_gnnc=ratios, **failed)
        del module, infer, train, optimiser
        net.zero_grad(set_to_none=True)
        torch.cuda.empty_cache()


def keep(forward: Callable, net: torch.nn.Module) -> None:
    """Lets layers keep what they keep from their first call, in as far as memory allows."""
    try:
        with torch.no_grad():
            forward(net)
    except torch.OutOfMemoryError:
        torch.cuda.empty_cache()


def arrangements(net: torch.nn.Module) -> Iterator[tuple[str | None, Callable]]:
    """Of a module, eager and compiled."""
    for mode in MODES:
        if not wanted(mode or "eager"):
            continue
        torch._dynamo.reset()
        yield mode, torch.compile(net, mode=mode) if mode else net


def compare_own(name: str, model: Model, inputs: dict[str, torch.Tensor], net, forward, weights) -> dict[str, float]:
    parameters = states(model)
    weights(net, parameters)
    run = model.program("forward", inputs | parameters)
    run()
    with torch.no_grad():
        reference = forward(net)
        error = float((run.outputs["y"] - reference).abs().max() / reference.abs().max())
    del reference
    step = model.program("train_step", inputs | parameters)
    own = {"forward": batched(run.captured(), 10), "step": batched(step.captured(), 10)}
    memory = {"forward": run.mib(), "step": step.mib(), "graph": model.graph_mib()}
    report(network=name, who="gnnc", error=error, ms=own, mib=memory)
    return own


def cora(out: Path, file: Path) -> None:
    """A training step on Cora. gnnc keeps the features sparse, PyG has them dense."""
    from safetensors.torch import load_file
    from torch_geometric.nn import GATConv, GCNConv

    given = load_file(str(file))
    nodes, columns = 2708, 1433
    entry_rows = torch.arange(nodes).repeat_interleave(given["x_indptr"].diff().long())
    x = torch.zeros(nodes, columns)
    x[entry_rows, given["x_indices"].long()] = 1
    x = (x / x.sum(1, keepdim=True)).cuda()
    edge, train_nodes = given["edge_index"].long().cuda(), given["train_idx"].long().cuda()
    labels = given["y"].long().cuda()[train_nodes]
    for name in ("gcn", "gat"):
        own = cora_own(out / f"{name}.so", given, entry_rows.int()) if Only.variant is None else 0.0

        class Net(torch.nn.Module):
            def __init__(self) -> None:
                super().__init__()
                if name == "gcn":
                    self.a, self.b, self.p = GCNConv(columns, 16, cached=True), GCNConv(16, 7, cached=True), 0.5
                else:
                    self.a, self.p = GATConv(columns, 8, heads=8, dropout=0.6), 0.6
                    self.b = GATConv(64, 7, heads=1, concat=False, dropout=0.6)

            def forward(self, x: torch.Tensor) -> torch.Tensor:
                drop = torch.nn.functional.dropout
                h = torch.relu(self.a(drop(x, self.p, self.training), edge))
                return self.b(drop(h, self.p, self.training), edge)

        net = Net().cuda()
        keep(lambda module: module(x), net)
        for mode, module in arrangements(net):
            optimiser = torch.optim.Adam(net.parameters(), lr=0.01, fused=True)

            def train(module=module, optimiser=optimiser) -> None:
                optimiser.zero_grad(set_to_none=True)
                torch.nn.functional.cross_entropy(module(x)[train_nodes], labels).backward()
                optimiser.step()

            signal.alarm(patience)
            try:
                step = milliseconds(train)
                report(network=f"cora {name}", who=MODES[mode], step_ms=step, times_gnnc=step / own if own else 0.0)
            except Exception as failure:
                report(network=f"cora {name}", who=MODES[mode], failed=f"{type(failure).__name__}: {failure}"[:160])
            signal.alarm(0)


def cora_own(path: Path, given: dict[str, torch.Tensor], entry_rows: torch.Tensor) -> float:
    """Milliseconds of a step, captured, one of 20 that are launched before any is waited for: of five medians the median."""
    model = Model(path)
    src, dst = (ends.contiguous() for ends in given["edge_index"])
    maps = {"src": src, "dst": dst, "label": given["y"], "x.row": entry_rows, "x.column": given["x_indices"]}
    maps |= {f"{part}_idx": given[f"{part}_idx"] for part in ("train", "val", "test")}
    extents = {"node": 2708, "edge": src.numel(), "class": 7, "x.entry": entry_rows.numel()}
    extents |= {part: given[f"{part}_idx"].numel() for part in ("train", "val", "test")}
    model.prepare(extents, {name: data.contiguous() for name, data in maps.items()})
    step = model.program("train_step", states(model))
    replay = step.captured()
    times = sorted(batched(replay, 20) for _ in range(5))
    loss = float(step.outputs["loss"])
    report(network=f"cora {path.stem}", who="gnnc", step_ms=times[2], least=times[0], most=times[-1], loss=loss)
    return times[2]


class Stack(torch.nn.Module):
    """Layers with an activation between them."""

    def __init__(self, layers, activation) -> None:
        super().__init__()
        for number, layer in enumerate(layers):
            setattr(self, f"c{number + 1}", layer)
        self.count, self.activation = len(layers), activation

    def forward(self, x, *rest):
        for number in range(self.count):
            x = getattr(self, f"c{number + 1}")(x, *rest)
            x = self.activation(x) if number + 1 < self.count else x
        return x


def labelled(count: int, classes: int) -> torch.Tensor:
    return torch.randint(0, classes, (count,), device="cuda", generator=torch.Generator("cuda").manual_seed(1))


def gcn(out: Path) -> None:
    from torch_geometric.nn import GCNConv

    count, edges, exponent = SIZES["arxiv"]
    src, dst = ordered(count, edges, exponent, shuffled=False)
    label, x = labelled(count, 40), torch.randn(count, 128, device="cuda")
    model = Model(out / "GCN3.so")
    model.prepare({"node": count, "edge": edges, "class": 40}, {"src": src, "dst": dst, "label": label})
    widths = [128, 256, 256, 40]
    layers = [GCNConv(a, b, add_self_loops=False, cached=True) for a, b in zip(widths, widths[1:])]
    net, index = Stack(layers, torch.relu).cuda(), torch.stack([src, dst])
    pairs = [(f"c{i}.lin.weight", f"c{i}.W", transposed) for i in (1, 2, 3)]
    pairs += [(f"c{i}.bias", f"c{i}.b", same) for i in (1, 2, 3)]
    cross = torch.nn.functional.cross_entropy
    compare(
        "GCN 256 x3, arxiv", model, {"x": x}, net, lambda m: m(x, index), lambda y: cross(y, label), conv_weights(pairs)
    )


def rgcn(out: Path) -> None:
    from torch_geometric.nn import RGCNConv

    count, edges, exponent = SIZES["am"]
    src, dst = ordered(count, edges, exponent, shuffled=False)
    label, x = labelled(count, 11), torch.randn(count, 64, device="cuda")
    types = (96 * torch.rand(edges, device="cuda") ** 3).long().clamp_(max=95)
    model = Model(out / "RGCN2.so")
    extents = {"node": count, "edge": edges, "class": 11, "edge_type": 96}
    model.prepare(extents, {"src": src, "dst": dst, "etype": types, "label": label})
    net, index = Stack([RGCNConv(64, 64, 96), RGCNConv(64, 11, 96)], torch.relu).cuda(), torch.stack([src, dst])
    pairs = [
        (f"c{i}.{theirs}", f"c{i}.{own}", same)
        for i in (1, 2)
        for theirs, own in (("weight", "W"), ("root", "root"), ("bias", "b"))
    ]
    cross = torch.nn.functional.cross_entropy
    compare(
        "R-GCN 64 x2, am's size",
        model,
        {"x": x},
        net,
        lambda m: m(x, index, types),
        lambda y: cross(y, label),
        conv_weights(pairs),
    )


def edgeconv(out: Path) -> None:
    from torch_geometric.nn import EdgeConv

    for neighbours in (20, 40):
        count = 64 * 1024
        dst = torch.arange(count, device="cuda").repeat_interleave(neighbours)
        src = dst // 1024 * 1024 + torch.randint(0, 1024, (dst.numel(),), device="cuda")
        x, wanted = torch.randn(count, 3, device="cuda"), torch.randn(count, 256, device="cuda")
        model = Model(out / "EdgeConv4.so")
        model.prepare({"node": count, "edge": dst.numel()}, {"src": src, "dst": dst})
        widths = [3, 64, 64, 128, 256]
        layers = [EdgeConv(torch.nn.Linear(2 * a, b)) for a, b in zip(widths, widths[1:])]
        net, index = Stack(layers, torch.relu).cuda(), torch.stack([src, dst])

        def both(parameters, name):
            return torch.cat([parameters[f"{name}.W_x"], parameters[f"{name}.W_d"]]).t()

        pairs = [(f"c{i}.nn.weight", f"c{i}", both) for i in (1, 2, 3, 4)]
        pairs += [(f"c{i}.nn.bias", f"c{i}.b", same) for i in (1, 2, 3, 4)]
        mean = torch.nn.functional.mse_loss
        inputs = {"x": x, "wanted": wanted}
        compare(
            f"EdgeConv x4, k {neighbours}",
            model,
            inputs,
            net,
            lambda m: m(x, index),
            lambda y: mean(y, wanted),
            conv_weights(pairs),
        )


def attention(prefix: str, heads: int, width: int):
    """PyG keeps a layer's projection as [heads * out, in]."""
    return [
        (f"{prefix}.lin.weight", f"{prefix}.W", transposed),
        (f"{prefix}.att_src", f"{prefix}.a_src", same),
        (f"{prefix}.att_dst", f"{prefix}.a_dst", same),
        (f"{prefix}.bias", f"{prefix}.b", same),
    ]


def layer(out: Path) -> None:
    """One layer of attention on Reddit's size: its memory."""
    count, edges, exponent = SIZES["reddit"]
    src, dst = ordered(count, edges, exponent, shuffled=False)
    model = Model(out / "GATLayer.so")
    model.prepare({"node": count, "edge": edges}, {"src": src, "dst": dst})
    del src, dst
    tensors = states(model) | {
        "x": torch.randn(count, 64, device="cuda"),
        "grad.y": torch.randn(count, 256, device="cuda"),
    }
    run = model.program("gradient", tensors)
    ms = milliseconds(run)
    finite = all(bool(t.isfinite().all()) for t in run.outputs.values())
    report(
        network="GAT h4 d64, one layer on Reddit's size",
        finite=finite,
        step_ms=ms,
        workspace_mib=run.workspace.numel() / 2**20,
        gradients_and_output_mib=run.mib() - run.workspace.numel() / 2**20,
        graph_mib=model.graph_mib(),
    )


def reddit(out: Path) -> None:
    from torch_geometric.nn import GATConv

    count, edges, exponent = SIZES["reddit"]
    src, dst = ordered(count, edges, exponent, shuffled=False)
    label, x = labelled(count, 41), torch.randn(count, 602, device="cuda")
    model = Model(out / "GAT2.so")
    model.prepare({"node": count, "edge": edges, "class": 41}, {"src": src, "dst": dst, "label": label})
    layers = [GATConv(602, 32, heads=4, add_self_loops=False), GATConv(128, 41, heads=1, add_self_loops=False)]
    net, index = Stack(layers, torch.nn.functional.elu).cuda(), torch.stack([src, dst])
    del src, dst
    pairs = attention("c1", 4, 32) + attention("c2", 1, 41)
    cross = torch.nn.functional.cross_entropy
    compare(
        "GAT 128 x2, Reddit's size",
        model,
        {"x": x},
        net,
        lambda m: m(x, index),
        lambda y: cross(y, label),
        conv_weights(pairs),
    )


def give_up(*_) -> None:
    raise TimeoutError("out of patience")


def fill_cache(parts: list[str], arguments: argparse.Namespace) -> None:
    """Has torch compile what the parts need, each variant in its own process; what is not done in time is stopped."""
    variants = {"fresh": fresh.variants(), "prepare": [], "layer": []}
    begin = time.perf_counter()
    running: dict[str, subprocess.Popen] = {}
    for part in parts:
        for variant in variants.get(part.split(":")[0], ["default", "reduce-overhead"]):
            command = [
                sys.executable,
                "-W",
                "ignore",
                str(BENCHMARKS),
                "gpu.networks",
                str(arguments.out),
                str(arguments.cora),
                part,
            ]
            command += ["--only-compile", variant, "--patience", "600"]
            environment = os.environ | {"TORCHINDUCTOR_COMPILE_THREADS": "1"}
            running[f"{part} {variant}"] = subprocess.Popen(
                command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
            )
    late = []
    for title, process in running.items():
        try:
            process.wait(max(0.1, arguments.compile_first - (time.perf_counter() - begin)))
        except subprocess.TimeoutExpired:
            late.append(title)
            process.kill()
    report(compiled=len(running) - len(late), seconds=time.perf_counter() - begin, not_done=late)


def main() -> None:
    global patience
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path, help="folder of the compiled models")
    parser.add_argument("cora", type=Path, help="Cora's file, for the part cora")
    parser.add_argument("parts", nargs="+")
    parser.add_argument("--compile-first", type=float, default=0, metavar="SECONDS")
    parser.add_argument("--patience", type=int, default=patience, help="seconds for one way of PyG's")
    parser.add_argument("--only-compile", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    patience, Only.variant = arguments.patience, arguments.only_compile
    if Only.variant:
        torch.cuda.set_per_process_memory_fraction(SHARE)
    if arguments.compile_first:
        fill_cache(arguments.parts, arguments)
    signal.signal(signal.SIGALRM, give_up)
    parts = {"prepare": fresh.prepare, "fresh": fresh.fresh, "gcn": gcn, "rgcn": rgcn, "edgeconv": edgeconv}
    parts |= {"layer": layer, "reddit": reddit}
    for part in arguments.parts:
        begin = time.perf_counter()
        try:
            name, *options = part.split(":")
            convert = (lambda graphs: tuple(graphs.split(",")), float, int)
            chosen = [to(option) for to, option in zip(convert, options)]
            cora(arguments.out, arguments.cora) if name == "cora" else parts[name](arguments.out, *chosen)
        except Exception as failure:
            report(part=part, failed=f"{type(failure).__name__}: {failure}"[:300])
        torch.cuda.empty_cache()
        report(part=part, seconds=time.perf_counter() - begin)
