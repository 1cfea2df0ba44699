"""Neighbours that a model finds itself: the search alone, and whole models, beside the dense forms of PyTorch.

PyTorch has the distances of all pairs of points in memory (`-|x|² + 2 x·y - |y|²` and `topk`, as DGCNN's authors wrote
it), eagerly and compiled, and clouds of one size; gnnc has `gnnc.ops.knn_graph`. Times are medians, with the range of
the rounds; numbers are compared first: neighbours by how many agree (near ties may not), models by their loss.
"""

from __future__ import annotations

import argparse
import statistics
from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.nn import functional as F

import gnnc
from gnnc import ops


def dense_neighbours(x: Tensor, k: int, others: bool) -> Tensor:
    """[clouds, points, k] of [clouds, points, numbers]."""
    squares = x.square().sum(-1)
    distances = squares[:, :, None] - 2 * x @ x.transpose(1, 2) + squares[:, None, :]
    if others:
        distances = distances + torch.diag(torch.full((x.shape[1],), torch.inf, device=x.device))
    return distances.topk(k, dim=-1, largest=False).indices


def pooled(x: Tensor, batch: Tensor, clouds: int, how: str, dense: bool) -> Tensor:
    if dense:
        rows = x.view(clouds, -1, x.shape[1])
        return rows.amax(1) if how == "amax" else rows.mean(1)
    zero = torch.zeros(clouds, x.shape[1], device=x.device)
    return zero.scatter_reduce(0, batch[:, None].expand_as(x), x, how, include_self=False)


class Edges(nn.Module):
    """Rows of an edge network with the largest, or the mean, over each point's k neighbours."""

    def __init__(self, widths: list[int], k: int, norm: bool, mean: bool) -> None:
        super().__init__()
        layers: list[nn.Module] = []
        for a, b in zip([2 * widths[0], *widths[1:]], widths[1:]):
            layers += [nn.Linear(a, b), *([nn.BatchNorm1d(b)] if norm else []), nn.LeakyReLU(0.2)]
        self.mlp, self.k, self.mean, self.width = nn.Sequential(*layers), k, mean, widths[-1]

    def forward(self, x: Tensor, near: Tensor, batch: Tensor, clouds: int, dense: bool) -> Tensor:
        n = x.shape[0]
        if dense:
            points = n // clouds
            found = dense_neighbours(near.detach().view(clouds, points, -1), self.k, True)
            src = (found + (torch.arange(clouds, device=x.device) * points)[:, None, None]).view(n, self.k)
            own = x[:, None].expand(-1, self.k, -1)
            rows = self.mlp(torch.cat([own, x[src] - own], -1).flatten(0, 1)).view(n, self.k, self.width)
            return rows.mean(1) if self.mean else rows.amax(1)
        src, dst = ops.knn_graph(near, self.k, batch)
        rows = self.mlp(torch.cat([x[dst], x[src] - x[dst]], -1))
        zero = torch.zeros(n, self.width, device=x.device)
        if self.mean:
            return zero.index_add(0, dst, rows) / self.k
        return zero.scatter_reduce(0, dst[:, None].expand_as(rows), rows, "amax", include_self=False)


class DGCNN(nn.Module):
    """Wang et al., 2019, for ModelNet: neighbours in space, then by each layer's features."""

    name, shape, classes = "DGCNN, 32 clouds of 1024, k = 20", (32, 1024, 3), 40

    def __init__(self) -> None:
        super().__init__()
        widths = [3, 64, 64, 128, 256]
        self.convs = nn.ModuleList(Edges([a, b], 20, norm=False, mean=False) for a, b in zip(widths, widths[1:]))
        self.top = nn.Sequential(nn.Linear(512, 1024), nn.LeakyReLU(0.2))
        self.head = nn.Sequential(nn.Linear(2048, 512), nn.LeakyReLU(0.2), nn.Linear(512, self.classes))

    def forward(self, x: Tensor, batch: Tensor, clouds: int, dense: bool) -> Tensor:
        found = []
        for conv in self.convs:
            x = conv(x, x, batch, clouds, dense)
            found.append(x)
        x = self.top(torch.cat(found, 1))
        return self.head(
            torch.cat([pooled(x, batch, clouds, "amax", dense), pooled(x, batch, clouds, "mean", dense)], 1)
        )


class ParticleNet(nn.Module):
    """Qu and Gouskos, 2019, for jets: neighbours by direction, then by features; three layers an edge network."""

    name, shape, classes = "ParticleNet, 256 jets of 100, k = 16", (256, 100, 7), 2

    def __init__(self) -> None:
        super().__init__()
        widths = [7, 64, 128, 256]
        pairs = list(zip(widths, widths[1:]))
        self.convs = nn.ModuleList(Edges([a, b, b, b], 16, norm=True, mean=True) for a, b in pairs)
        self.ways = nn.ModuleList(nn.Linear(a, b) for a, b in pairs)
        self.head = nn.Sequential(nn.Linear(256, 256), nn.ReLU(), nn.Linear(256, self.classes))

    def forward(self, x: Tensor, batch: Tensor, clouds: int, dense: bool) -> Tensor:
        near = x[:, :2]
        for conv, way in zip(self.convs, self.ways):
            near = x = F.relu(conv(x, near, batch, clouds, dense) + way(x))
        return self.head(pooled(x, batch, clouds, "mean", dense))


class Search(nn.Module):
    """The sum of each point's neighbours' weights: what it takes to have found them."""

    def __init__(self, k: int) -> None:
        super().__init__()
        self.k = k

    def forward(self, x: Tensor, weight: Tensor, batch: Tensor, clouds: int, dense: bool) -> Tensor:
        if dense:
            points = x.shape[0] // clouds
            found = dense_neighbours(x.view(clouds, points, -1), self.k, True)
            return weight.view(clouds, 1, points).expand(-1, points, -1).gather(2, found).sum(2).view(-1)
        src, dst = ops.knn_graph(x, self.k, batch)
        return torch.zeros_like(weight).index_add(0, dst, weight[src])


def timed(call: Callable[[], object], rounds: int) -> list[float]:
    """Milliseconds of a call, once for each round of about 50 ms."""
    for _ in range(3):
        call()
    torch.cuda.synchronize()

    def block(count: int) -> float:
        start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        start.record()
        for _ in range(count):
            call()
        end.record()
        torch.cuda.synchronize()
        return start.elapsed_time(end) / count

    count = max(1, round(50 / block(2)))
    return [block(count) for _ in range(rounds)]


def told(times: list[float]) -> str:
    return f"{statistics.median(times):.3f} ({min(times):.3f}-{max(times):.3f})"


def ways(module: nn.Module, compiled: bool) -> dict[str, tuple[Callable[..., Tensor], bool]]:
    """Name, what is called, and whether it has the dense form."""
    found: dict[str, tuple[Callable[..., Tensor], bool]] = {"gnnc": (gnnc.compile(module), False)}
    found["eager"] = (module, True)
    if compiled:
        found["torch.compile"] = (torch.compile(module), True)
    return found


def row(name: str, results: dict[str, list[float]], note: str) -> None:
    best = min((statistics.median(t) for way, t in results.items() if way != "gnnc"), default=float("nan"))
    cells = ", ".join(f"{way} {told(times)}" for way, times in results.items())
    own = statistics.median(results["gnnc"])
    print(f"{name}: {cells} ms; {best / own:.2f} times; {note}", flush=True)


def search(clouds: int, points: int, width: int, k: int, rounds: int, dense: bool) -> None:
    n = clouds * points
    x, weight = torch.randn(n, width, device="cuda"), torch.rand(n, device="cuda")
    batch = torch.arange(clouds, device="cuda").repeat_interleave(points)
    results, values = {}, {}
    for name, (call, isDense) in ways(Search(k), True).items():
        if isDense and not dense:
            continue
        with torch.no_grad():
            values[name] = call(x, weight, batch, clouds, isDense)
            results[name] = timed(lambda: call(x, weight, batch, clouds, isDense), rounds)  # noqa: B023
    note = "not compared"
    if "eager" in values:
        same = ((values["gnnc"] - values["eager"]).abs() < 1e-4).double().mean().item()
        note = f"{100 * same:.3f} % of sums agree"
    row(f"{clouds} clouds of {points} in {width} dimensions, k = {k}", results, note)


def model(kind: type[DGCNN] | type[ParticleNet], rounds: int, compiled: bool) -> None:
    torch.manual_seed(0)
    clouds, points, width = kind.shape
    x = torch.randn(clouds * points, width, device="cuda")
    batch = torch.arange(clouds, device="cuda").repeat_interleave(points)
    target = torch.randint(kind.classes, (clouds,), device="cuda")
    module = kind().cuda()
    for training in (False, True):
        module.train(training)
        results, losses, memory = {}, {}, {}
        for name, (call, isDense) in ways(module, compiled).items():

            def step() -> Tensor:
                loss = F.cross_entropy(call(x, batch, clouds, isDense), target)  # noqa: B023
                if training:  # noqa: B023
                    module.zero_grad()
                    loss.backward()
                return loss

            torch.cuda.reset_peak_memory_stats()
            with torch.set_grad_enabled(training):
                losses[name] = step().item()
                results[name] = timed(step, rounds)
            memory[name] = torch.cuda.max_memory_allocated() >> 20
        note = "losses " + ", ".join(f"{loss:.5f}" for loss in losses.values())
        note += "; MiB " + ", ".join(str(each) for each in memory.values())
        row(f"{kind.name}, {'training' if training else 'inference'}", results, note)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", choices=["search", "models"], help="(default: both)")
    parser.add_argument("--rounds", type=int, default=5, help="(default: %(default)s)")
    parser.add_argument("--no-compile", action="store_true", help="leave torch.compile out of the models")
    args = parser.parse_args()
    print(torch.cuda.get_device_name(), torch.__version__)
    if args.only != "models":
        for width in (3, 64):
            search(64, 1024, width, 20, args.rounds, dense=True)
        search(1, 20000, 3, 16, args.rounds, dense=True)
        search(1, 200000, 3, 16, min(args.rounds, 3), dense=False)
    if args.only != "search":
        for kind in (DGCNN, ParticleNet):
            model(kind, args.rounds, not args.no_compile)
    return 0
