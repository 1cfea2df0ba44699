"""Training steps on mini-batches of different sizes, beside PyTorch Geometric eager and compiled for any size.

Each step has new tensors, of sizes that hardly come again, so preparing the graph is part of it. A step is forward,
cross entropy, backward and Adam. All contenders take the same batches in turn, in an order that changes from batch to
batch; what compiling took is told apart. The compiler is the one that GNNC_COMPILER names.
"""

from __future__ import annotations

import argparse
import copy
import importlib.util
import json
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from harness.machine import describe
from harness.measure import Watch
from harness.places import GNNC, ROOT

if TYPE_CHECKING:
    from torch import Tensor, nn

CLASSES = 8
SETTLED = 30  # batches before this one are not counted: compilers may compile again, and caches fill
KNOWN = 20  # batches whose graphs are prepared already in the last contender's steps
WHOS = ("gnnc", "eager", "torch.compile")
#: Graphs of a batch, nodes of a graph, edges per node, features: many small graphs, and a sampled neighbourhood.
KINDS = {
    "molecules": ((16, 64), (5, 25), 2, 32),
    "many molecules": ((224, 257), (5, 40), 2, 32),
    "neighbourhood": ((1, 2), (2000, 8000), 8, 64),
}


def networks(width: int) -> dict[str, nn.Module]:
    """By name: three layers, and the mean over each graph's nodes."""
    from torch import nn
    from torch_geometric import nn as layers

    def mlp(inputs: int) -> nn.Module:
        return nn.Sequential(nn.Linear(inputs, 64), nn.ReLU(), nn.Linear(64, 64))

    makes: dict[str, Callable[[int], nn.Module]] = {
        "GIN": lambda inputs: layers.GINConv(mlp(inputs)),
        "GCN": lambda inputs: layers.GCNConv(inputs, 64),
        "GAT": lambda inputs: layers.GATConv(inputs, 16, heads=4),
    }

    class Network(nn.Module):
        def __init__(self, make: Callable[[int], nn.Module]) -> None:
            super().__init__()
            self.convs = nn.ModuleList(make(inputs) for inputs in (width, 64, 64))
            self.head = nn.Linear(64, CLASSES)

        def forward(self, x: Tensor, edge_index: Tensor, batch: Tensor, y: Tensor) -> Tensor:
            for conv in self.convs:
                x = conv(x, edge_index).relu()
            sums = x.new_zeros(y.shape[0], 64).index_add(0, batch, x)
            counts = x.new_zeros(y.shape[0]).index_add(0, batch, x.new_ones(x.shape[0]))
            return self.head(sums / counts.unsqueeze(1))

    return {name: Network(make) for name, make in makes.items()}


def mini_batch(kind: str, number: int, device: str) -> tuple[Tensor, ...]:
    """Features, edges within graphs, each node's graph, each graph's class."""
    import torch

    (least, most), (fewest, largest), degree, width = KINDS[kind]
    generator = torch.Generator().manual_seed(number)
    graphs = int(torch.randint(least, most, (), generator=generator))
    sizes = torch.randint(fewest, largest, (graphs,), generator=generator)
    batch = torch.arange(graphs).repeat_interleave(sizes)
    starts, nodes = (sizes.cumsum(0) - sizes)[batch], int(sizes.sum())
    src = torch.arange(nodes).repeat(degree)
    dst = (torch.rand(nodes * degree, generator=generator) * sizes[batch].repeat(degree)).long() + starts.repeat(degree)
    x = torch.randn(nodes, width, generator=generator)
    y = torch.randint(0, CLASSES, (graphs,), generator=generator)
    return tuple(tensor.to(device) for tensor in (x, torch.stack([src, dst]), batch, y))


class Contender:
    """A copy of a network with an optimiser of its own."""

    def __init__(self, module: nn.Module, wrap: Callable[[nn.Module], Callable[..., Tensor]]) -> None:
        import torch

        self.module = copy.deepcopy(module)
        self.run = wrap(self.module)
        self.optimizer = torch.optim.Adam(self.module.parameters(), lr=1e-3)
        self.times: list[float] = []
        self.losses: list[float] = []

    def step(self, given: tuple[Tensor, ...], known: bool = False) -> None:
        import torch

        fresh = given if known else tuple(tensor.clone() for tensor in given)  # nobody has seen these
        self._synchronize()
        begin = time.perf_counter()
        self.optimizer.zero_grad(set_to_none=True)
        loss = torch.nn.functional.cross_entropy(self.run(*fresh), fresh[-1])
        loss.backward()
        self.optimizer.step()
        self._synchronize()
        self.times.append((time.perf_counter() - begin) * 1e3)
        self.losses.append(loss.item())

    def _synchronize(self) -> None:
        import torch

        if torch.cuda.is_available():
            torch.cuda.synchronize()


def by_torch(module: nn.Module) -> Callable[..., Tensor]:
    """In the best arrangement that we know: self loops are captured, and no size is compiled in."""
    import torch

    torch._dynamo.reset()
    torch._dynamo.config.capture_dynamic_output_shape_ops = True
    return torch.compile(module, dynamic=True)


def measure(name: str, kind: str, module: nn.Module, count: int, device: str) -> dict[str, Any]:
    import torch

    import gnnc

    first = mini_batch(kind, 0, device)
    begin = time.perf_counter()
    with tempfile.TemporaryDirectory() as cache:
        os.environ["XDG_CACHE_HOME"] = cache
        own = Contender(module, lambda each: gnnc.compile(each, first))
    compiling = {"gnnc": time.perf_counter() - begin}
    contenders = {
        "gnnc": own,
        "eager": Contender(module, lambda each: each),
        "torch.compile": Contender(module, by_torch),
    }
    graphs = torch._dynamo.utils.counters["stats"]
    settled, watch = 0, Watch()
    mini_batches: list[tuple[Tensor, ...]] = []
    for number in range(count):
        given = mini_batch(kind, 1 + number, device)
        if number < KNOWN:
            mini_batches.append(given)
        names = list(contenders)
        for turn in range(len(names)):
            who = names[(number + turn) % len(names)]
            try:
                contenders[who].step(given)
            except Exception as error:
                if who != "torch.compile":
                    raise
                print(
                    f"torch.compile fails: {type(error).__name__}: {str(error).splitlines()[0][:200]}", file=sys.stderr
                )
                del contenders[who]
        if number == 0 and "torch.compile" in contenders:
            compiling["torch.compile"] = contenders["torch.compile"].times[0] / 1e3
        if number + 1 == SETTLED:
            settled, watch = graphs["unique_graphs"], Watch()
    result: dict[str, Any] = {"network": name, "batches": kind, "compiling_s": compiling}
    # Graphs that have been seen: each of a few batches again and again.
    again = Contender(own.module, lambda _: own.run)
    for turn in range(4):
        for number in range(KNOWN):
            again.step(mini_batches[number], known=True)
        if turn == 1:
            again.times.clear()
    contenders["gnnc, known"] = again
    # New graphs that a thread prepares: from the end of one step to that of the next.
    ahead = contenders["gnnc, Loader"] = Contender(own.module, lambda _: own.run)
    fresh = [tuple(tensor.clone() for tensor in mini_batch(kind, 1 + number, device)) for number in range(count)]
    last = 0.0
    for given in gnnc.Loader(fresh, own.run):
        ahead.step(given, known=True)
        now = time.perf_counter()
        ahead.times[-1], last = (now - last) * 1e3, now
    result["others"] = watch.others()
    result["compiled_later"] = graphs["unique_graphs"] - settled
    result["largest_loss_difference"] = max(
        abs(a - b)
        for who in WHOS
        if who in contenders
        for a, b in zip(contenders[who].losses[:20], contenders["eager"].losses)
    )
    for who, each in contenders.items():
        times = sorted(each.times if who == "gnnc, known" else each.times[SETTLED:])
        result[who] = {"median_ms": statistics.median(times), "min_ms": times[0], "max_ms": times[-1]}
        result[who]["p95_ms"] = times[int(0.95 * (len(times) - 1))]
    return result


def table(results: list[dict[str, Any]]) -> str:
    whos = (*WHOS, "gnnc, known", "gnnc, Loader")
    lines = ["| | " + " | ".join(whos) + " | best / gnnc |", "| --- |" + " ---: |" * (len(whos) + 1)]
    for each in results:
        row = "{median_ms:.2f} [{min_ms:.2f}, {p95_ms:.2f}, {max_ms:.2f}]"
        times = " | ".join(row.format(**each[who]) if who in each else "fails" for who in whos)
        best = [min(each[who][kind] for who in WHOS[1:] if who in each) for kind in ("median_ms", "min_ms")]
        ratios = best[0] / each["gnnc"]["median_ms"], best[1] / each["gnnc"]["min_ms"]
        lines.append(f"| {each['network']}, {each['batches']} | {times} | {ratios[0]:.1f} [{ratios[1]:.1f}] |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="cpu", help="cpu or cuda (default: %(default)s)")
    parser.add_argument("--threads", type=int, default=2, help="of every contender on the CPU (default: %(default)s)")
    parser.add_argument("--count", type=int, default=300, help="of batches (default: %(default)s)")
    parser.add_argument("--networks", nargs="*", default=["GIN", "GCN", "GAT"])
    parser.add_argument("--batches", nargs="*", default=list(KINDS), choices=list(KINDS))
    parser.add_argument("--out", help="a JSON file for all numbers")
    args = parser.parse_args()
    if args.count <= SETTLED:
        parser.error(f"--count: expected more than {SETTLED}, which are not counted, found {args.count}")
    if importlib.util.find_spec("gnnc") is None:
        sys.path.insert(0, str(ROOT / "python"))
        os.environ.setdefault("GNNC_COMPILER", str(GNNC))
    import torch

    torch.set_num_threads(args.threads)
    results = []
    for kind in args.batches:
        torch.manual_seed(0)
        for name, module in networks(KINDS[kind][-1]).items():
            if name in args.networks:
                results.append(measure(name, kind, module.to(args.device), args.count, args.device))
                print(json.dumps(results[-1]), flush=True)
    machine = describe(args.threads) | {"torch": torch.__version__}
    if args.device == "cuda":
        machine["device"] = torch.cuda.get_device_name()
    print(
        f"\nMilliseconds for a step, median [least, 95th percentile, most]. {json.dumps(machine)}\n\n{table(results)}"
    )
    if args.out:
        with open(args.out, "w") as file:
            json.dump({"machine": machine, "results": results}, file, indent=1)


if __name__ == "__main__":
    main()
