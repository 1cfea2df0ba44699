"""Epochs of training through the Python package, beside PyTorch Geometric eager, compiled, and with reduce-overhead.

One epoch of a model on one graph: forward, loss, backward and Adam, without dropout. All contenders begin with the same
parameters; the losses of the first 50 epochs are compared with eager's. "captured" is the whole epoch of gnnc's module and
PyTorch's optimiser as one CUDA graph. Beside epochs: forward and backward alone, through PyTorch and as the object's own
`gradient` program on the same prepared graph, by the clock and as CUDA graphs; and what a call on a known graph costs the
host. Each model runs in a process of its own. `--device cpu` leaves out what needs a GPU. The compiler is the one that
GNNC_COMPILER names.
"""

from __future__ import annotations

import argparse
import copy
import json
import os
import statistics
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from harness.places import BENCHMARKS, GNNC, ROOT

if TYPE_CHECKING:
    from torch import Tensor, nn

FIRST = 50  #: losses that are compared
ROUNDS = 7
Inputs = tuple[Any, ...]


def cora(device: str) -> tuple[Any, Inputs]:
    import cora

    data = cora.load(device)
    return data, (data.x, data.edge_index)


def classified(model: nn.Module, rows: Tensor, labels: Tensor) -> nn.Module:
    """The model and its loss, on some rows, as one module."""
    import torch
    from torch import nn

    class Loss(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.model = model

        def forward(self, *inputs: Any) -> Tensor:
            *inputs, rows, labels = inputs
            return torch.nn.functional.cross_entropy(self.model(*inputs)[rows], labels)

    return Loss()


def two(first: nn.Module, second: nn.Module, between: Callable[[Tensor], Tensor]) -> nn.Module:
    from torch import nn

    class Two(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.conv1, self.conv2 = first, second

        def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
            return self.conv2(between(self.conv1(x, edge_index)), edge_index)

    return Two()


def gcn(device: str) -> tuple[nn.Module, Inputs]:
    from gcn import GCN

    data, inputs = cora(device)
    labels = data.y[data.train]
    return classified(GCN(), data.train, labels), (*inputs, data.train, labels)


def gat(device: str) -> tuple[nn.Module, Inputs]:
    from torch.nn import functional as F
    from torch_geometric.nn import GATConv

    data, inputs = cora(device)
    labels = data.y[data.train]
    model = two(GATConv(1433, 8, 8), GATConv(64, 7), F.elu)
    return classified(model, data.train, labels), (*inputs, data.train, labels)


def random_graph(device: str, nodes: int, edges: int, width: int) -> tuple[Tensor, Tensor]:
    import torch

    made = torch.Generator().manual_seed(1)
    x = torch.randn(nodes, width, generator=made)
    return x.to(device), torch.randint(0, nodes, (2, edges), generator=made).to(device)


def sage(device: str, nodes: int = 169343, edges: int = 1166243) -> tuple[nn.Module, Inputs]:
    """Of ogbn-arxiv's size, with batch norm in training mode."""
    import torch
    from torch import nn
    from torch_geometric.nn import SAGEConv

    class SAGE(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            widths = [128, 128, 128, 40]
            self.convs = nn.ModuleList(SAGEConv(a, b) for a, b in zip(widths, widths[1:]))
            self.norms = nn.ModuleList(nn.BatchNorm1d(width) for width in widths[1:-1])

        def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
            for conv, norm in zip(self.convs, self.norms):
                x = norm(conv(x, edge_index)).relu()
            return self.convs[-1](x, edge_index)

    inputs = random_graph(device, nodes, edges, 128)
    rows = torch.arange(0, nodes, 2, device=device)
    labels = torch.randint(0, 40, (len(rows),), device=device)
    return classified(SAGE(), rows, labels), (*inputs, rows, labels)


def relations(device: str) -> tuple[nn.Module, Inputs]:
    """A random graph of aifb's size: a weight for each of 90 relations."""
    import torch
    from torch import nn
    from torch_geometric.nn import FastRGCNConv

    class RGCN(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.features = nn.Parameter(torch.randn(8285, 32) / 32**0.5)
            self.conv1 = FastRGCNConv(32, 32, 90, num_bases=8)
            self.conv2 = FastRGCNConv(32, 4, 90, num_bases=8)

        def forward(self, edge_index: Tensor, edge_type: Tensor) -> Tensor:
            return self.conv2(self.conv1(self.features, edge_index, edge_type).relu(), edge_index, edge_type)

    _, index = random_graph(device, 8285, 58086, 1)
    rows = torch.arange(0, 8285, 60, device=device)
    kinds, labels = torch.randint(0, 90, (58086,), device=device), torch.randint(0, 4, (len(rows),), device=device)
    return classified(RGCN(), rows, labels), (index, kinds, rows, labels)


def transformer(device: str) -> tuple[nn.Module, Inputs]:
    """As in the example: attention that reads features of edges, and a mean square error."""
    import torch
    from torch import nn
    from transformer import Transformer

    class Loss(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.model = Transformer()

        def forward(self, x: Tensor, edge_index: Tensor, features: Tensor, wanted: Tensor) -> Tensor:
            return nn.functional.mse_loss(self.model(x, edge_index, features), wanted)

    x, index = random_graph(device, 4000, 40000, 16)
    return Loss(), (x, index, torch.randn(40000, 8, device=device), torch.randn(4000, device=device))


MODELS = {"gcn": gcn, "gat": gat, "sage": sage, "rgcn": relations, "transformer": transformer}
WAYS = ("eager", "torch.compile", "reduce-overhead", "gnnc", "gnnc captured")


class Clock:
    """Times of the device the tensors are on."""

    def __init__(self, device: str) -> None:
        import torch

        self.wait: Callable[[], None] = torch.cuda.synchronize if device == "cuda" else lambda: None

    def microseconds(self, run: Callable[[], object], least: float = 0.12) -> dict[str, float]:
        """Of one call: the median of rounds and the least."""
        run()
        self.wait()
        started = time.perf_counter()
        run()
        self.wait()
        calls = max(3, min(400, int(least / max(time.perf_counter() - started, 1e-6))))
        times = []
        for _ in range(ROUNDS):
            self.wait()
            started = time.perf_counter()
            for _ in range(calls):
                run()
            self.wait()
            times.append((time.perf_counter() - started) / calls * 1e6)
        return {"median": statistics.median(times), "least": min(times)}


def captured(run: Callable[[], Any], warm: int = 3) -> Callable[[], Any]:
    """A CUDA graph of it, after calls that allocate what stays."""
    import torch

    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        for _ in range(warm):
            run()
    torch.cuda.current_stream().wait_stream(stream)
    recording = torch.cuda.CUDAGraph()
    with torch.cuda.graph(recording):
        result = run()

    def replay() -> Any:
        recording.replay()
        return result

    return replay


def epochs(start: nn.Module, inputs: Inputs, way: str, device: str, clock: Clock) -> dict[str, Any]:
    import torch

    import gnnc

    torch._dynamo.reset()
    model = copy.deepcopy(start)
    parameters = list(model.parameters())
    begun = time.monotonic()
    if way.startswith("gnnc"):
        run = gnnc.compile(model, inputs)
    elif way == "eager":
        run = model
    else:
        run = torch.compile(model, mode=None if way == "torch.compile" else way)
    fused = {"fused": True} if device == "cuda" else {}
    whole = way.endswith("captured")
    optimizer = torch.optim.Adam(parameters, lr=0.005, weight_decay=5e-4, capturable=whole, **fused)
    losses: list[Tensor] = []

    def epoch() -> Tensor:
        optimizer.zero_grad()
        loss = run(*inputs)
        loss.backward()
        optimizer.step()
        return loss.detach()

    def kept() -> Tensor:
        losses.append(epoch().clone())
        return losses[-1]

    step = epoch
    if whole:
        stream = torch.cuda.Stream()
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            for _ in range(3):
                kept()
        torch.cuda.current_stream().wait_stream(stream)
        step = captured(epoch, warm=0)
    else:
        kept()
    clock.wait()
    before = time.monotonic() - begun
    while len(losses) < FIRST:
        losses.append(step().clone())
    found = [loss.item() for loss in losses]
    return {**clock.microseconds(step), "losses": found, "seconds_before": before}


def backward(start: nn.Module, inputs: Inputs, device: str, clock: Clock) -> dict[str, Any]:
    """Forward and backward without an optimiser, beside the object's own `gradient` program."""
    import torch

    import gnnc

    model = copy.deepcopy(start)
    fast = gnnc.compile(model, inputs)
    fast(*inputs)
    known = vars(fast)["_gnnc"].last
    executor = known.executor
    found = known.known(inputs)
    assert found is not None, "the graph should be known"
    bound, operands = found
    wanted = [operand for operand in operands if operand.requires_grad]
    halves = executor.halves(bound, [operand.requires_grad for operand in operands])
    cotangents = [torch.ones_like(template) for template in bound.forward.templates]
    operands = [operand.detach() for operand in operands]

    def through() -> Any:
        return torch.autograd.grad(fast(*inputs), wanted)

    def program() -> Any:
        return executor.run_second_half(bound, halves, operands, cotangents, (), None)

    gradients = program()
    pairs = zip([gradients[place] for place in halves.places if place is not None], through())
    largest = max((a - b).abs().max().item() for a, b in pairs)
    result = {"differ": largest, "through": clock.microseconds(through), "program": clock.microseconds(program)}
    if device == "cuda":
        result["through captured"] = clock.microseconds(captured(through))
        result["program captured"] = clock.microseconds(captured(program))
    return result


def host(device: str) -> dict[str, float]:
    """Microseconds of the host for a call of two layers on a small known graph, and of an empty autograd.Function."""
    import torch
    from torch.nn import functional as F
    from torch_geometric.nn import GCNConv

    import gnnc

    class Empty(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, output: Tensor, *tensors: Tensor) -> Tensor:
            ctx.save_for_backward(*tensors)
            return output.view_as(output)

        @staticmethod
        def backward(ctx: Any, cotangent: Tensor) -> Any:
            return None, *ctx.saved_tensors

    model = two(GCNConv(8, 16), GCNConv(16, 7), F.elu).to(device)
    x, index = random_graph(device, 100, 400, 8)
    fast = gnnc.compile(model, (x, index))
    output = fast(x, index).detach()
    cotangent, wanted = torch.randn_like(output), list(model.parameters())

    def microseconds(run: Callable[[], object], calls: int = 50, rounds: int = 40) -> float:
        times = []
        for _ in range(rounds + 3):
            if device == "cuda":
                torch.cuda.synchronize()  # so that no queue is full
            started = time.perf_counter()
            for _ in range(calls):
                run()
            times.append((time.perf_counter() - started) / calls * 1e6)
        return statistics.median(times[3:])

    with torch.no_grad():
        alone = microseconds(lambda: fast(x, index))
        eager = microseconds(lambda: model(x, index), rounds=10)
    return {
        "no_grad": alone,
        "eager no_grad": eager,
        "forward and backward": microseconds(lambda: torch.autograd.grad(fast(x, index), wanted, cotangent)),
        "eager forward and backward": microseconds(
            lambda: torch.autograd.grad(model(x, index), wanted, cotangent), rounds=10
        ),
        "empty autograd.Function": microseconds(lambda: torch.autograd.grad(Empty.apply(output, *wanted), wanted, cotangent)),
    }


def measure(name: str, args: argparse.Namespace) -> dict[str, Any]:
    import torch

    warnings.filterwarnings("ignore")
    torch._dynamo.config.capture_dynamic_output_shape_ops = True
    torch._dynamo.config.capture_scalar_outputs = True
    if args.device == "cpu":
        torch.set_num_threads(args.threads)
    clock = Clock(args.device)
    if name == "host":
        return host(args.device)
    torch.manual_seed(0)
    model, inputs = MODELS[name](args.device)
    model = model.to(args.device).train()
    result: dict[str, Any] = {}
    for way in args.ways:
        if way.endswith("captured") and args.device == "cpu":
            continue
        try:
            result[way] = epochs(model, inputs, way, args.device, clock)
        except Exception as error:
            lines = str(error).strip().splitlines()
            result[way] = {"failed": f"{type(error).__name__}: {lines[0][:300] if lines else ''}"}
            continue
        said = result[way].pop("losses")
        first = result.setdefault("losses", said)
        result[way]["losses differ by"] = max(abs(a - b) for a, b in zip(said, first))
    try:
        result["backward"] = backward(model, inputs, args.device, clock)
    except Exception as error:
        result["backward"] = {"failed": f"{type(error).__name__}: {str(error)[:300]}"}
    result.pop("losses", None)
    return result


def say(name: str, found: dict[str, Any]) -> None:
    for key, value in found.items():
        print(f"{name}, {key}: " + (json.dumps(value) if isinstance(value, dict) else f"{value:.1f}"), flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="*", metavar="MODEL", help=f"of host, {', '.join(MODELS)} (default: all)")
    parser.add_argument("--device", default="cuda", help="cpu or cuda (default: %(default)s)")
    parser.add_argument("--threads", type=int, default=2, help="of every contender on the CPU (default: %(default)s)")
    parser.add_argument("--ways", nargs="*", default=list(WAYS), choices=list(WAYS))
    parser.add_argument("--longest", type=float, default=120, help="seconds for one model (default: %(default)s)")
    parser.add_argument("--out", help="a JSON file for all numbers, written after each model")
    parser.add_argument("--alone", action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args()
    args.models = args.models or ["host", *MODELS]
    if set(args.models) - {"host", *MODELS}:
        parser.error(f"expected models among host, {', '.join(MODELS)}")
    if args.alone:
        sys.path[:0] = [str(ROOT / "python"), str(ROOT / "examples" / "pytorch")]
        print("result " + json.dumps(measure(args.models[0], args)), flush=True)
        sys.stdout.flush()
        os._exit(0)  # what inductor's helpers have left running is of no interest
    results: dict[str, Any] = {"device": args.device, "threads": args.threads, "models": {}}
    environment = {"GNNC_COMPILER": str(GNNC), **os.environ}
    for name in args.models:
        command = [sys.executable, "-W", "ignore", str(BENCHMARKS), "gpu.epochs", name, "--alone"]
        command += ["--device", args.device, "--threads", str(args.threads), "--ways", *args.ways]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=args.longest, env=environment)
            line = next((line for line in done.stdout.splitlines() if line.startswith("result ")), None)
            found = json.loads(line[len("result ") :]) if line else {"failed": {"stderr": done.stderr[-1500:]}}
        except subprocess.TimeoutExpired:
            found = {"failed": {"stderr": f"more than {args.longest} s"}}
        results["models"][name] = found
        say(name, found)
        if args.out:
            with open(args.out, "w") as file:
                json.dump(results, file, indent=1)
    return 1 if any("failed" in found for found in results["models"].values()) else 0
