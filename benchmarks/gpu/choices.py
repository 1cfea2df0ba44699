"""Elements that a model chooses by values: what is nearer than a radius, edges by their scores, and the best nodes.

Beside the forms of PyTorch: distances of all atoms of a molecule and `nonzero` of a mask (molecules have one size),
masks of edges, and PyTorch Geometric's own pooling, eagerly and compiled. Times are medians, with the range of the
rounds; the number of pairs or the losses are compared first. Each model is run at two depths, in float32 and TF32, and
then on a graph that it has not seen.
"""

from __future__ import annotations

import argparse
import statistics
from collections.abc import Callable
from typing import Any

import torch
from gpu.neighbours import timed, told
from torch import Tensor, nn
from torch.nn import functional as F

import gnnc
from gnnc import ops

try:
    from torch_geometric import nn as geometric
except ImportError:
    geometric = None

_RADIUS, _ATOMS = 0.5, 24


class Near(nn.Module):
    """How many are near each point."""

    def __init__(self, radius: float) -> None:
        super().__init__()
        self.radius = radius

    def forward(self, x: Tensor, weight: Tensor) -> Tensor:
        src, dst = ops.radius_graph(x, self.radius, max_num_neighbors=64)
        return torch.zeros_like(weight).index_add(0, dst, weight[src])


def all_pairs(x: Tensor, weight: Tensor, radius: float) -> Tensor:
    """The same by the distances of all pairs, some rows at a time."""
    found = []
    for rows in x.split(4096):
        near = torch.cdist(rows, x, compute_mode="donot_use_mm_for_euclid_dist") < radius
        found.append(near.to(weight.dtype) @ weight)
    return torch.cat(found) - weight


def search(points: int, rounds: int, dense: bool) -> None:
    """About 30 neighbours each."""
    x = torch.rand(points, 3, device="cuda") * points ** (1 / 3)
    weight, radius = torch.ones(points, device="cuda"), 1.93
    fast = gnnc.compile(Near(radius))
    with torch.no_grad():
        own = fast(x, weight)
        times = timed(lambda: fast(x, weight), rounds)
        floor = points * (12 + own.mean().item() * 4 * 2) / 3.3e9  # ms: points, and the list written and read
        print(f"{points} points, {own.mean().item():.1f} near each: gnnc {told(times)} ms; floor {floor:.3f}", end="")
        if dense:
            other = all_pairs(x, weight, radius)
            best = timed(lambda: all_pairs(x, weight, radius), rounds)
            same = (own - other).abs() < 0.5
            print(f", all pairs {told(best)}; {100 * same.double().mean().item():.4f} % of sums agree", end="")
    print(flush=True)


def molecule_edges(pos: Tensor, batch: Tensor, dense: bool) -> tuple[Tensor, Tensor]:
    if not dense:
        src, dst = ops.radius_graph(pos, _RADIUS, batch, max_num_neighbors=_ATOMS)
        return src, dst
    rows = pos.view(-1, _ATOMS, 3)
    near = torch.cdist(rows, rows) < _RADIUS
    near &= ~torch.eye(_ATOMS, dtype=torch.bool, device=pos.device)
    molecule, own, other = near.nonzero(as_tuple=True)
    return molecule * _ATOMS + other, molecule * _ATOMS + own


class Molecules(nn.Module):
    """Continuous filters on the atoms near each atom (as SchNet has them), of molecules of 24 atoms."""

    name = "filters on molecules"

    def __init__(self, depth: int, width: int = 64) -> None:
        super().__init__()
        self.embedding = nn.Linear(8, width)
        self.filters = nn.ModuleList(
            nn.Sequential(nn.Linear(20, width), nn.Softplus(), nn.Linear(width, width)) for _ in range(depth)
        )
        self.before = nn.ModuleList(nn.Linear(width, width) for _ in range(depth))
        self.after = nn.ModuleList(nn.Linear(width, width) for _ in range(depth))
        self.head = nn.Linear(width, 1)
        self.register_buffer("centers", torch.linspace(0, _RADIUS, 20))

    def forward(self, pos: Tensor, x: Tensor, batch: Tensor, molecules: int, dense: bool) -> Tensor:
        src, dst = molecule_edges(pos, batch, dense)
        distance = (pos[src] - pos[dst]).square().sum(-1).sqrt()
        basis = torch.exp(-200 * (distance[:, None] - self.centers).square())
        h = self.embedding(x)
        for filters, before, after in zip(self.filters, self.before, self.after):
            messages = before(h)[src] * filters(basis)
            h = h + after(F.softplus(torch.zeros_like(h).index_add(0, dst, messages)))
        return torch.zeros(molecules, 1, device=x.device).index_add(0, batch, self.head(h)).squeeze(1)

    @staticmethod
    def graph(seed: int) -> tuple[Any, ...]:
        generator = torch.Generator().manual_seed(seed)
        molecules = 1024 if seed == 0 else 900
        pos = torch.rand(molecules * _ATOMS, 3, generator=generator).cuda()
        x = torch.rand(molecules * _ATOMS, 8, generator=generator).cuda()
        return pos, x, torch.arange(molecules, device="cuda").repeat_interleave(_ATOMS), molecules


class Tracks(nn.Module):
    """Edges that are scored, and cut by their scores, before the next step (as track finding does)."""

    name = "edges cut by score"

    def __init__(self, depth: int, width: int = 64) -> None:
        super().__init__()
        self.embedding = nn.Linear(12, width)
        self.score = nn.ModuleList(
            nn.Sequential(nn.Linear(2 * width, width), nn.ReLU(), nn.Linear(width, 1)) for _ in range(depth)
        )
        self.update = nn.ModuleList(
            nn.Sequential(nn.Linear(2 * width, width), nn.ReLU(), nn.Linear(width, width)) for _ in range(depth)
        )
        self.head = nn.Linear(width, 1)

    def forward(self, x: Tensor, edges: Tensor, dense: bool) -> Tensor:
        h = F.relu(self.embedding(x))
        for score, update in zip(self.score, self.update):
            src, dst = edges[0], edges[1]
            found = score(torch.cat([h[src], h[dst]], 1)).squeeze(1)
            kept = found > -0.02
            edges, weight = edges[:, kept], found[kept].sigmoid()
            sums = torch.zeros_like(h).index_add(0, edges[1], h[edges[0]] * weight[:, None])
            h = h + update(torch.cat([h, sums], 1))
        return self.head(h).squeeze(1)

    @staticmethod
    def graph(seed: int) -> tuple[Any, ...]:
        generator = torch.Generator().manual_seed(seed)
        nodes, edges = (50000, 400000) if seed == 0 else (45000, 380000)
        x = torch.randn(nodes, 12, generator=generator).cuda()
        return x, torch.randint(0, nodes, (2, edges), generator=generator).cuda()


class Pools(nn.Module):
    """PyTorch Geometric's example of top-k pooling: convolutions, the better half of the nodes, and what is there."""

    name = "top-k pooling"

    def __init__(self, depth: int, width: int = 64) -> None:
        super().__init__()
        sizes = [8] + depth * [width]
        self.convs = nn.ModuleList(geometric.GraphConv(a, b) for a, b in zip(sizes, sizes[1:]))
        self.pools = nn.ModuleList(geometric.TopKPooling(width, 0.7) for _ in range(depth))
        self.head = nn.Linear(2 * width, 1)

    def forward(self, x: Tensor, edges: Tensor, batch: Tensor, graphs: int, dense: bool) -> Tensor:
        found = 0
        for conv, pool in zip(self.convs, self.pools):
            x = F.relu(conv(x, edges))
            x, edges, _, batch, _, _ = pool(x, edges, None, batch)
            both = [geometric.global_max_pool(x, batch, graphs), geometric.global_mean_pool(x, batch, graphs)]
            found = found + torch.cat(both, 1)
        return self.head(found).squeeze(1)

    @staticmethod
    def graph(seed: int) -> tuple[Any, ...]:
        generator = torch.Generator().manual_seed(seed)
        graphs, nodes = (512 if seed == 0 else 480), 40
        x = torch.randn(graphs * nodes, 8, generator=generator).cuda()
        first = torch.arange(graphs).repeat_interleave(nodes * 4) * nodes
        edges = (torch.randint(0, nodes, (2, graphs * nodes * 4), generator=generator) + first).cuda()
        return x, edges, torch.arange(graphs, device="cuda").repeat_interleave(nodes), graphs


def model(kind: Any, depth: int, products: str, rounds: int, compiled: bool) -> None:
    torch.manual_seed(0)
    torch.set_float32_matmul_precision("high" if products == "TF32" else "highest")
    module = kind(depth).cuda()
    calls: dict[str, tuple[Callable[..., Tensor], bool]] = {"gnnc": (gnnc.compile(module), False)}
    calls["eager"] = (module, True)
    if compiled:
        calls["torch.compile"] = (torch.compile(module, dynamic=True), True)
    for training in (False, True):
        module.train(training)
        for seed in (0, 1):
            graph = kind.graph(seed)
            results, losses = {}, {}
            for name, (call, dense) in calls.items():

                def step() -> Tensor:
                    loss = call(*graph, dense).square().mean()  # noqa: B023
                    if training:  # noqa: B023
                        module.zero_grad()
                        loss.backward()
                    return loss

                try:
                    with torch.set_grad_enabled(training):
                        losses[name] = step().item()
                        results[name] = timed(step, rounds)
                except Exception as error:  # a peer's
                    if name == "gnnc":
                        raise
                    print(f"  {name}: {type(error).__name__}: {str(error).splitlines()[0][:120]}")
            own = statistics.median(results["gnnc"])
            best = min(statistics.median(times) for name, times in results.items() if name != "gnnc")
            print(
                f"{kind.name}, {depth} layers, {products}, {'training' if training else 'inference'}, graph {seed}: "
                + ", ".join(f"{name} {told(times)}" for name, times in results.items())
                + f" ms; {best / own:.2f} times; losses "
                + ", ".join(f"{loss:.6f}" for loss in losses.values()),
                flush=True,
            )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", choices=["search", "models"], help="(default: both)")
    parser.add_argument("--rounds", type=int, default=5, help="(default: %(default)s)")
    parser.add_argument("--no-compile", action="store_true", help="leave torch.compile out of the models")
    args = parser.parse_args()
    print(torch.cuda.get_device_name(), torch.__version__)
    if args.only != "models":
        search(20000, args.rounds, dense=True)
        search(100000, args.rounds, dense=False)
        search(1000000, args.rounds, dense=False)
    if args.only != "search":
        kinds = [Molecules, Tracks] + ([Pools] if geometric else [])
        if not geometric:
            print("top-k pooling: skipped, PyTorch Geometric is not installed")
        for kind in kinds:
            for depth in (2, 6) if kind is not Pools else (2, 4):
                for products in ("float32", "TF32"):
                    model(kind, depth, products, args.rounds, not args.no_compile)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
