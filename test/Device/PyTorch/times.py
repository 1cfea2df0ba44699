# Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
# See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What calls cost the host, and epochs of training on Cora beside PyTorch alone."""

from __future__ import annotations

import copy
import statistics
import time
from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from safetensors.torch import load_file
from torch import Tensor, nn
from torch_geometric import nn as layers

import gnnc
import cases
import registry
from checks import small, synchronize
from cases import TwoLayers, graph
from registry import check


def microseconds(run: Callable[[], object], calls: int = 50, rounds: int = 40) -> float:
    """Time of the host for one call: the median of rounds, between which the device catches up."""
    times = []
    for _ in range(rounds + 3):
        synchronize()
        started = time.perf_counter()
        for _ in range(calls):
            run()
        times.append((time.perf_counter() - started) / calls * 1e6)
    synchronize()
    return statistics.median(times[3:])


class Empty(torch.autograd.Function):
    """Does nothing with as many tensors."""

    @staticmethod
    def forward(ctx: Any, output: Tensor, *tensors: Tensor) -> Tensor:
        ctx.save_for_backward(*tensors)
        return output.view_as(output)

    @staticmethod
    def backward(ctx: Any, cotangent: Tensor) -> tuple[Tensor | None, ...]:
        return None, *ctx.saved_tensors


def parts_of(known: Any, args: tuple[Any, ...]) -> object:
    """What a call does before it runs anything."""
    return known.known(args)


def run_alone(fast: Any, site: Any) -> None:
    """A call of C on one set of tensors."""
    executor = vars(fast)["_gnnc"].last.executor
    bound = executor._last
    if not hasattr(run_alone, "tensors"):
        run_alone.tensors = {}  # type: ignore[attr-defined]
    found = run_alone.tensors.get(id(site))  # type: ignore[attr-defined]
    if found is None:
        operands = [torch.randn(shape, device=registry.device) for shape, _ in bound.operands]
        cotangents = [torch.randn_like(template) for template in bound.forward.templates]
        outputs = [torch.empty_like(template) for template in site.templates]
        found = site.data(operands, cotangents, outputs), (operands, cotangents, outputs)
        run_alone.tensors[id(site)] = found  # type: ignore[attr-defined]
    size = max(site.workspace_bytes, next(iter(bound.halves.values())).workspace_bytes)
    executor._run(site, bound, found[0], size).release()


@check("host time of calls")
def host_times() -> str:
    """At most 15 µs without gradients and 60 with are wanted."""
    model, fast = small()
    x, index = graph(100, 400)
    output = fast(x, index).detach()
    cotangent = torch.randn_like(output)
    wanted = list(model.parameters())

    def without() -> object:
        with torch.no_grad():
            return fast(x, index)

    torch.set_grad_enabled(False)
    alone = microseconds(lambda: fast(x, index))
    eager = microseconds(lambda: model(x, index), rounds=10)
    torch.set_grad_enabled(True)
    forward = microseconds(lambda: fast(x, index), calls=20)
    both = microseconds(lambda: torch.autograd.grad(fast(x, index), wanted, cotangent))
    last = vars(fast)["_gnnc"].last.executor._last
    parts = microseconds(lambda: parts_of(vars(fast)["_gnnc"].last, (x, index)))
    halves = next(iter(last.halves.values()))
    launches = [microseconds(lambda: run_alone(fast, site)) for site in (last.forward, halves.first, halves.second)]
    empty = microseconds(lambda: torch.autograd.grad(Empty.apply(output, *wanted), wanted, cotangent))
    eager_both = microseconds(lambda: torch.autograd.grad(model(x, index), wanted, cotangent), rounds=10)
    return (
        f"no_grad {alone:.1f} µs (in a with {microseconds(without):.1f}; eager {eager:.0f}), forward {forward:.1f}, forward "
        f"and backward {both:.1f} (eager {eager_both:.0f}), an empty autograd.Function {empty:.1f}; of which C alone "
        f"{launches[0]:.1f}, {launches[1]:.1f} and {launches[2]:.1f}, and finding the graph {parts:.1f}"
    )


class Cora:
    """As PyTorch Geometric has it."""

    def __init__(self) -> None:
        file = cases.to_device(load_file(registry.data))
        rows = torch.diff(file["x_indptr"])
        owner = torch.repeat_interleave(torch.arange(len(rows), device=registry.device), rows)
        self.x = torch.zeros(len(rows), 1433, device=registry.device)
        self.x[owner, file["x_indices"].long()] = 1
        self.x /= self.x.sum(1, keepdim=True).clamp(min=1)
        self.edge_index, self.y = file["edge_index"].long(), file["y"].long()
        self.train = file["train_idx"].long()


class GAT(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv1, self.conv2 = layers.GATConv(1433, 8, 8), layers.GATConv(64, 7)

    def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
        return self.conv2(F.elu(self.conv1(x, edge_index)), edge_index)


class Loss(nn.Module):
    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model = model

    def forward(self, x: Tensor, edge_index: Tensor, train: Tensor, y: Tensor) -> Tensor:
        return F.cross_entropy(self.model(x, edge_index)[train], y[train])


def step_of(run: Callable[[], Tensor], parameters: list[nn.Parameter], capturable: bool = False) -> Callable[[], Tensor]:
    fused = {"fused": True} if registry.device == "cuda" else {}
    optimizer = torch.optim.Adam(parameters, lr=0.005, weight_decay=5e-4, capturable=capturable, **fused)

    def step() -> Tensor:
        optimizer.zero_grad()
        loss = run()
        loss.backward()
        optimizer.step()
        return loss.detach()

    return step


def captured(step: Callable[[], Tensor], losses: list[Tensor]) -> Callable[[], Tensor]:
    """The whole step as a CUDA graph, after three steps that allocate what stays."""
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        losses += [step() for _ in range(3)]
    torch.cuda.current_stream().wait_stream(stream)
    recording = torch.cuda.CUDAGraph()
    with torch.cuda.graph(recording):
        loss = step()

    def replay() -> Tensor:
        recording.replay()
        return loss

    return replay


def measure(prepare: Callable[[list[Tensor]], Callable[[], Tensor]]) -> tuple[float, list[float], float]:
    """µs of a step, the losses of the first 50, and the seconds before the first."""
    started = time.monotonic()
    losses: list[Tensor] = []
    step = prepare(losses)
    losses.append(step().clone())
    synchronize()
    before = time.monotonic() - started
    while len(losses) < 50:
        losses.append(step().clone())
    found = [loss.item() for loss in losses]
    times = []
    for _ in range(5):
        synchronize()
        started = time.perf_counter()
        for _ in range(100):
            step()
        synchronize()
        times.append((time.perf_counter() - started) / 100 * 1e6)
    return min(times), found, before


def cora(name: str, make: Callable[[], nn.Module], ways: tuple[str, ...]) -> str:
    """A step of training in several ways: the time, and how far the first 50 losses are from eager's."""
    data = Cora()
    torch.manual_seed(0)
    start = make().to(registry.device)
    rows, expected = [], None
    for way in ways:
        torch._dynamo.reset()
        torch._dynamo.config.capture_dynamic_output_shape_ops = True
        torch._dynamo.config.capture_scalar_outputs = True
        model = copy.deepcopy(start)
        parameters = list(model.parameters())

        def prepare(losses: list[Tensor], way: str = way, model: nn.Module = model) -> Callable[[], Tensor]:
            inputs = (data.x, data.edge_index, data.train, data.y)
            if way == "gnnc layers":
                gnnc.optimize(model, inputs[:2])
                loss: nn.Module = Loss(model)
            elif way.startswith("gnnc loss"):
                loss = gnnc.compile(Loss(model), inputs)
            elif way.startswith("gnnc"):
                loss = Loss(gnnc.compile(model, inputs[:2]))
            elif way == "eager":
                loss = Loss(model)
            else:
                loss = torch.compile(Loss(model), mode="reduce-overhead" if way == "reduce-overhead" else None)
            step = step_of(lambda: loss(*inputs), parameters, capturable=way.endswith("captured"))
            return captured(step, losses) if way.endswith("captured") else step

        try:
            spent, losses, before = measure(prepare)
        except Exception as error:
            said = f"  {way}: {type(error).__name__}: {str(error).strip().splitlines()[0][:200] if str(error) else ''}"
            rows.append(said)
            print(said, flush=True)
            synchronize()
            continue
        expected = expected or losses
        difference = max(abs(a - b) for a, b in zip(losses, expected))
        said = f"  {way}: {spent:.0f} µs a step, losses differ by {difference:.1e}, {before:.1f} s before the first"
        rows.append(said)
        print(said, flush=True)
    return f"{len(rows)} ways"


ALONE = ("eager", "gnnc", "gnnc layers", "gnnc loss", "gnnc captured", "gnnc loss captured")
PEERS = ("eager", "torch.compile", "reduce-overhead")


@check("Cora, GCN")
def cora_gcn() -> str:
    return cora("GCN", lambda: TwoLayers(layers.GCNConv, 1433, 16, 7), ALONE)


@check("Cora, GAT")
def cora_gat() -> str:
    return cora("GAT", GAT, ALONE)


@check("Cora, GCN, PyTorch alone")
def cora_gcn_peers() -> str:
    return cora("GCN", lambda: TwoLayers(layers.GCNConv, 1433, 16, 7), PEERS)


@check("Cora, GAT, PyTorch alone")
def cora_gat_peers() -> str:
    return cora("GAT", GAT, PEERS)


def larger(conv: Callable[..., nn.Module]) -> str:
    """169 343 nodes and 1 166 243 edges, as ogbn-arxiv has, at random."""
    x, index = graph(169343, 1166243, width=128)
    torch.manual_seed(0)
    model = TwoLayers(conv, 128, 128, 40).to(registry.device)
    wanted = list(model.parameters())
    rows = []
    torch._dynamo.reset()
    runs = {"eager": model, "gnnc": gnnc.compile(model, (x, index)), "torch.compile": torch.compile(model)}
    for way, run in runs.items():
        try:
            cotangent = torch.randn_like(run(x, index))
            torch.autograd.grad(run(x, index), wanted, cotangent)
        except Exception as error:
            rows.append(f"{way} fails ({type(error).__name__})")
            continue

        def both() -> object:
            return torch.autograd.grad(run(x, index), wanted, cotangent)

        def seconds(call: Callable[[], object]) -> float:
            call()
            call()
            synchronize()
            started = time.perf_counter()
            for _ in range(20):
                call()
            synchronize()
            return (time.perf_counter() - started) / 20 * 1e3

        with torch.no_grad():
            forward = seconds(lambda: run(x, index))
        rows.append(f"{way} {forward:.2f}/{seconds(both):.2f}")
    return f"ms of forward/forward and backward: {', '.join(rows)}"


for _name, _conv in (("GCN", layers.GCNConv), ("SAGE", layers.SAGEConv), ("GAT", layers.GATConv)):
    check(f"arxiv's size, {_name}")(lambda conv=_conv: larger(conv))
