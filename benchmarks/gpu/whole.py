"""Whole models as people write them, in plain PyTorch or PyTorch Geometric, with the shapes that were published.

Each is a function of its depth that gives a module and, for a device, its arguments.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

Made = tuple[nn.Module, tuple[Any, ...]]


def _graph(nodes: int, edges: int, *widths: int) -> tuple[Tensor, ...]:
    """Features of nodes, then of edges, and both ends of random edges."""
    made = torch.Generator().manual_seed(0)
    features = [torch.randn(count, width, generator=made) for count, width in zip((nodes, edges), widths)]
    return (*features, torch.randint(0, nodes, (2, edges), generator=made))


def _mlp(widths: list[int], act: Callable[[], nn.Module] = nn.ReLU, norm: bool = False) -> nn.Sequential:
    layers: list[nn.Module] = []
    for a, b in zip(widths, widths[1:]):
        layers += [nn.Linear(a, b), act()]
    layers.pop()
    return nn.Sequential(*layers, *([nn.LayerNorm(widths[-1])] if norm else []))


def _sum(values: Tensor, at: Tensor, like: Tensor) -> Tensor:
    return torch.zeros(like.size(0), values.size(-1), dtype=values.dtype, device=values.device).index_add(0, at, values)


class _MeshBlock(nn.Module):
    def __init__(self, d: int) -> None:
        super().__init__()
        self.edge, self.node = _mlp([3 * d, d, d, d], norm=True), _mlp([2 * d, d, d, d], norm=True)

    def forward(self, x: Tensor, e: Tensor, ei: Tensor) -> tuple[Tensor, Tensor]:
        m = self.edge(torch.cat([e, x[ei[0]], x[ei[1]]], -1))
        return x + self.node(torch.cat([x, _sum(m, ei[1], x)], -1)), e + m


class MeshGraphNet(nn.Module):
    """Pfaff et al. 2021: an encoder, blocks of two networks with residuals, a decoder."""

    def __init__(self, depth: int, d: int = 128) -> None:
        super().__init__()
        self.node, self.edge = _mlp([12, d, d, d], norm=True), _mlp([7, d, d, d], norm=True)
        self.blocks = nn.ModuleList(_MeshBlock(d) for _ in range(depth))
        self.out = _mlp([d, d, d, 3])

    def forward(self, x: Tensor, e: Tensor, ei: Tensor) -> Tensor:
        x, e = self.node(x), self.edge(e)
        for block in self.blocks:
            x, e = block(x, e, ei)
        return self.out(x)


class InteractionNetwork(nn.Module):
    """DeZoort et al. 2021, for tracks: a score for each edge after several steps."""

    def __init__(self, depth: int, d: int = 64) -> None:
        super().__init__()
        self.node, self.edge = nn.Linear(7, d), nn.Linear(4, d)
        self.relation = nn.ModuleList(_mlp([3 * d, d, d], nn.SiLU) for _ in range(depth))
        self.object = nn.ModuleList(_mlp([2 * d, d, d], nn.SiLU) for _ in range(depth))
        self.out = _mlp([d, d, 1], nn.SiLU)

    def forward(self, x: Tensor, e: Tensor, ei: Tensor) -> Tensor:
        x, e = self.node(x), self.edge(e)
        for relation, obj in zip(self.relation, self.object):
            e = e + F.silu(relation(torch.cat([x[ei[0]], x[ei[1]], e], -1)))
            x = x + obj(torch.cat([x, _sum(e, ei[1], x)], -1))
        return self.out(e)


class SchNet(nn.Module):
    """Schütt et al. 2018, with distances given."""

    def __init__(self, depth: int, d: int = 128, radial: int = 50) -> None:
        super().__init__()
        self.embedding = nn.Linear(16, d)
        self.filters = nn.ModuleList(_mlp([radial, d, d], nn.Softplus) for _ in range(depth))
        self.inner = nn.ModuleList(nn.Linear(d, d, bias=False) for _ in range(depth))
        self.update = nn.ModuleList(_mlp([d, d, d], nn.Softplus) for _ in range(depth))
        self.out = _mlp([d, d // 2, 1], nn.Softplus)
        self.register_buffer("centres", torch.linspace(0, 5, radial))

    def forward(self, x: Tensor, r: Tensor, ei: Tensor) -> Tensor:
        h, rbf = self.embedding(x), torch.exp(-10 * (r.abs() - self.centres) ** 2)
        for filters, inner, update in zip(self.filters, self.inner, self.update):
            h = h + update(_sum(inner(h)[ei[0]] * filters(rbf), ei[1], h))
        return self.out(h)


class EGNN(nn.Module):
    """Satorras et al. 2021."""

    def __init__(self, depth: int, d: int = 64) -> None:
        super().__init__()
        self.embedding = nn.Linear(16, d)
        self.edges = nn.ModuleList(_mlp([2 * d + 1, d, d], nn.SiLU) for _ in range(depth))
        self.nodes = nn.ModuleList(_mlp([2 * d, d, d], nn.SiLU) for _ in range(depth))
        self.coords = nn.ModuleList(_mlp([d, d, 1], nn.SiLU) for _ in range(depth))

    def forward(self, x: Tensor, pos: Tensor, ei: Tensor) -> Tensor:
        h, p = self.embedding(x), pos[: x.size(0)]
        for edges, nodes, coords in zip(self.edges, self.nodes, self.coords):
            diff = p[ei[0]] - p[ei[1]]
            m = F.silu(edges(torch.cat([h[ei[0]], h[ei[1]], (diff**2).sum(-1, keepdim=True)], -1)))
            p = p + _sum(diff * torch.tanh(coords(m)), ei[1], p) * 0.1
            h = h + nodes(torch.cat([h, _sum(m, ei[1], h)], -1))
        return torch.cat([h, p], -1)


class GatedGCN(nn.Module):
    """Bresson and Laurent 2018, with edge features and residuals, as in Benchmarking GNNs."""

    def __init__(self, depth: int, d: int = 64) -> None:
        super().__init__()
        self.node, self.edge = nn.Linear(16, d), nn.Linear(4, d)
        self.layers = nn.ModuleList(nn.ModuleList(nn.Linear(d, d) for _ in range(5)) for _ in range(depth))
        self.norms = nn.ModuleList(nn.ModuleList(nn.LayerNorm(d) for _ in range(2)) for _ in range(depth))

    def forward(self, x: Tensor, e: Tensor, ei: Tensor) -> Tensor:
        h, e = self.node(x), self.edge(e)
        for (a, b, c, d, u), (first, second) in zip(self.layers, self.norms):
            gate = a(h)[ei[0]] + b(h)[ei[1]] + c(e)
            weight = torch.sigmoid(gate)
            sums = _sum(weight * d(h)[ei[0]], ei[1], h) / (_sum(weight, ei[1], h) + 1e-6)
            h, e = h + F.relu(first(u(h) + sums)), e + F.relu(second(gate))
        return h


class TensorProduct(nn.Module):
    """Messages of l up to 2: paths with weights of an edge network, as in NequIP, with coefficients that are mostly 0."""

    def __init__(self, depth: int, channels: int = 32) -> None:
        super().__init__()
        made = torch.Generator().manual_seed(1)
        parts = [slice(0, 1), slice(1, 4), slice(4, 9)]
        paths = [(a, b, c) for a in range(3) for b in range(3) for c in range(3) if abs(a - b) <= c <= a + b]
        self.paths = [(parts[a], parts[b], c) for a, b, c in paths]
        for i, (a, b, c) in enumerate(paths):
            shape = (2 * a + 1, 2 * b + 1, 2 * c + 1)
            self.register_buffer(f"cg{i}", torch.randn(shape, generator=made) * (torch.rand(shape, generator=made) < 0.35))
        self.channels = channels
        self.weights = nn.ModuleList(_mlp([8, 64, len(paths) * channels], nn.SiLU) for _ in range(depth))
        self.mix = nn.ModuleList(nn.Linear(channels, channels) for _ in range(depth))

    def forward(self, x: Tensor, y: Tensor, r: Tensor, ei: Tensor) -> Tensor:
        for weights, mix in zip(self.weights, self.mix):
            w, source = weights(r).view(-1, len(self.paths), self.channels), x[ei[0]]
            out: list[Any] = [0, 0, 0]
            for i, (a, b, c) in enumerate(self.paths):
                product = torch.einsum("eci,ej,ijk->eck", source[:, :, a], y[:, b], getattr(self, f"cg{i}"))
                out[c] = out[c] + product * w[:, i].unsqueeze(-1)
            message = torch.cat(out, -1)
            x = x + mix(torch.zeros_like(x).index_add(0, ei[1], message).transpose(1, 2)).transpose(1, 2)
        return x


def _pna(depth: int) -> Made:
    """Corso et al. 2020, as for ZINC: four aggregators, three scalers, five towers."""
    from torch_geometric.nn import PNAConv

    class PNA(nn.Module):
        def __init__(self, d: int = 80) -> None:
            super().__init__()
            self.node, self.edge = nn.Linear(9, d), nn.Linear(4, 50)
            degrees = torch.tensor([0, 10, 40, 60, 30, 5])
            kinds = ["mean", "min", "max", "std"], ["identity", "amplification", "attenuation"]
            self.convs = nn.ModuleList(
                PNAConv(d, d, *kinds, degrees, edge_dim=50, towers=5, divide_input=False) for _ in range(depth)
            )

        def forward(self, x: Tensor, e: Tensor, ei: Tensor) -> Tensor:
            x, e = self.node(x), self.edge(e)
            for conv in self.convs:
                x = x + conv(x, ei, e).relu()
            return x

    return PNA(), _graph(20000, 50000, 9, 4)


def _gatv2(depth: int) -> Made:
    from torch_geometric.nn import GATv2Conv

    class Deep(nn.Module):
        def __init__(self, d: int = 64) -> None:
            super().__init__()
            self.node = nn.Linear(16, d)
            self.convs = nn.ModuleList(GATv2Conv(d, d // 4, 4, edge_dim=8, add_self_loops=False) for _ in range(depth))
            self.norms = nn.ModuleList(nn.LayerNorm(d) for _ in range(depth))

        def forward(self, x: Tensor, e: Tensor, ei: Tensor) -> Tensor:
            x = self.node(x)
            for conv, norm in zip(self.convs, self.norms):
                x = x + F.elu(conv(norm(x), ei, e))
            return x

    return Deep(), _graph(20000, 200000, 16, 8)


def _deeper(depth: int) -> Made:
    from torch_geometric.nn import GENConv

    class DeeperGCN(nn.Module):
        def __init__(self, d: int = 64) -> None:
            super().__init__()
            self.node, self.edge = nn.Linear(16, d), nn.Linear(8, d)
            self.convs = nn.ModuleList(
                GENConv(d, d, aggr="softmax", t=1.0, learn_t=True, num_layers=2, norm="layer") for _ in range(depth)
            )
            self.norms = nn.ModuleList(nn.LayerNorm(d) for _ in range(depth))

        def forward(self, x: Tensor, e: Tensor, ei: Tensor) -> Tensor:
            x, e = self.node(x), self.edge(e)
            for conv, norm in zip(self.convs, self.norms):
                x = x + conv(norm(x).relu(), ei, e)
            return x

    return DeeperGCN(), _graph(20000, 200000, 16, 8)


def _tensor_product(depth: int) -> Made:
    made = torch.Generator().manual_seed(0)
    rows = torch.randn(5000, 32, 9, generator=made), torch.randn(60000, 9, generator=made)
    lengths, edges = torch.rand(60000, 8, generator=made), torch.randint(0, 5000, (2, 60000), generator=made)
    return TensorProduct(depth), (*rows, lengths, edges)


#: With the depth that is measured unless another is asked for.
MODELS: dict[str, tuple[int, Callable[[int], Made]]] = {
    "MeshGraphNet": (4, lambda depth: (MeshGraphNet(depth), _graph(20000, 120000, 12, 7))),
    "MeshGraphNet15": (15, lambda depth: (MeshGraphNet(depth), _graph(20000, 120000, 12, 7))),
    "InteractionNetwork": (6, lambda depth: (InteractionNetwork(depth), _graph(20000, 100000, 7, 4))),
    "SchNet": (6, lambda depth: (SchNet(depth), _graph(20000, 300000, 16, 1))),
    "EGNN": (4, lambda depth: (EGNN(depth), _graph(20000, 200000, 16, 3))),
    "GatedGCN": (8, lambda depth: (GatedGCN(depth), _graph(20000, 120000, 16, 4))),
    "GATv2": (8, _gatv2),
    "DeeperGCN": (8, _deeper),
    "PNA": (2, _pna),
    "TensorProduct": (2, _tensor_product),
}
