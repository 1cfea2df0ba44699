"""Models of [batch, nodes, features]: all samples of a batch on one graph, or with as many nodes each."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from whole.catalogue import Made, Size
from whole.graphs import near, rows, seeded
from whole.traffic import signals


def network(inputs: int, width: int) -> nn.Sequential:
    return nn.Sequential(nn.Linear(inputs, width), nn.SiLU(), nn.Linear(width, width), nn.LayerNorm(width))


class Weather(nn.Module):
    """Encoder, processor and decoder, as in GraphCast; grid, mesh and all edges are buffers; x of [batch, grid, ·]."""

    def __init__(self, grid: int, mesh: int, depth: int, variables: int = 40, width: int = 128) -> None:
        super().__init__()
        parts = {"up": near(mesh, grid, 8), "mesh": near(mesh, mesh, 6, seed=2), "down": near(grid, mesh, 3, seed=3)}
        for name, edges in parts.items():
            self.register_buffer(f"{name}_edges", edges)
            self.register_buffer(f"{name}_rows", rows(edges.shape[1], 4))
        self.register_buffer("places", rows(mesh, 3))
        self.embed_grid, self.embed_mesh = network(variables, width), network(3, width)
        self.embed_edges = nn.ModuleDict({name: network(4, width) for name in parts})
        self.edges = nn.ModuleList(network(3 * width, width) for _ in range(depth + 2))
        self.nodes = nn.ModuleList(network(2 * width, width) for _ in range(depth + 2))
        self.head, self.depth = nn.Linear(width, variables), depth

    def step(self, number: int, source: Tensor, target: Tensor, edges: Tensor, index: Tensor) -> tuple[Tensor, Tensor]:
        message = self.edges[number](torch.cat([source[:, index[0]], target[:, index[1]], edges], -1))
        summed = torch.zeros_like(target).index_add(1, index[1], message)
        return target + self.nodes[number](torch.cat([target, summed], -1)), message

    def forward(self, x: Tensor) -> Tensor:
        batch = x.shape[0]
        grid, mesh = self.embed_grid(x), self.embed_mesh(self.places).expand(batch, -1, -1)
        edges = {
            name: embed(getattr(self, f"{name}_rows")).expand(batch, -1, -1) for name, embed in self.embed_edges.items()
        }
        mesh, _ = self.step(0, grid, mesh, edges["up"], self.up_edges)
        for number in range(self.depth):
            mesh, change = self.step(1 + number, mesh, mesh, edges["mesh"], self.mesh_edges)
            edges["mesh"] = edges["mesh"] + change
        grid, _ = self.step(1 + self.depth, mesh, grid, edges["down"], self.down_edges)
        return x + self.head(grid)


def weather(size: Size) -> Made:
    """A grid of 10 512 points of 40 variables, a mesh of 2562."""
    grid, mesh = size.of(10512), size.of(2562)
    x = signals(2, grid, 40)
    return Made(Weather(grid, mesh, size.depth), (x,), signals(2, grid, 40, seed=4), F.mse_loss)


class Sensors(nn.Module):
    """Graph convolutions with an embedding for each sensor; x of [batch, time, sensors, features]."""

    def __init__(self, sensors: int, depth: int, features: int = 2, steps: int = 12, width: int = 64) -> None:
        super().__init__()
        self.places = nn.Parameter(rows(sensors, width))
        self.inner, self.head = nn.Linear(steps * features, width), nn.Linear(width, steps)
        self.message = nn.ModuleList(nn.Linear(2 * width, width) for _ in range(depth))
        self.update = nn.ModuleList(nn.Linear(2 * width, width) for _ in range(depth))
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(depth))

    def forward(self, x: Tensor, edge_index: Tensor, weight: Tensor) -> Tensor:
        batch, steps, sensors, features = x.shape
        h = self.inner(x.permute(0, 2, 1, 3).reshape(batch, sensors, steps * features))
        places = self.places.expand(batch, -1, -1)
        for message, update, norm in zip(self.message, self.update, self.norms):
            m = message(torch.cat([h, places], -1))
            m = torch.zeros_like(m).index_add(1, edge_index[1], (m[:, edge_index[0]] * weight[:, None]).to(m.dtype))
            h = norm(h + F.silu(update(torch.cat([m, h], -1))))
        return self.head(h).permute(0, 2, 1)


def sensors(size: Size) -> Made:
    """PEMS-BAY: 325 sensors, 2600 edges; 64 windows of 12 steps."""
    edge_index = near(325, 325, 8)
    weight = torch.rand(edge_index.shape[1], generator=seeded(3)) + 0.1
    batch = size.of(64, 2)
    inputs = (signals(batch, 12, 325, 2), edge_index, weight)
    return Made(Sensors(325, size.depth), inputs, signals(batch, 12, 325, seed=4), F.l1_loss)


class Pairs(nn.Module):
    """An equivariant network's invariant part over all pairs of atoms; padded molecules [batch, atoms] with a mask."""

    def __init__(self, depth: int, width: int = 64) -> None:
        super().__init__()
        self.embed, self.head = nn.Linear(10, width), nn.Linear(width, 1)
        self.messages = nn.ModuleList(
            nn.Sequential(nn.Linear(2 * width + 1, width), nn.SiLU(), nn.Linear(width, width), nn.SiLU())
            for _ in range(depth)
        )
        self.updates = nn.ModuleList(
            nn.Sequential(nn.Linear(2 * width, width), nn.SiLU(), nn.Linear(width, width)) for _ in range(depth)
        )

    def forward(self, kind: Tensor, position: Tensor, mask: Tensor) -> Tensor:
        h, atoms = self.embed(kind), kind.shape[1]
        distance = ((position[:, :, None] - position[:, None]) ** 2).sum(-1, keepdim=True)
        both = (mask[:, :, None] * mask[:, None])[..., None]
        for message, update in zip(self.messages, self.updates):
            ends = [h[:, :, None].expand(-1, -1, atoms, -1), h[:, None].expand(-1, atoms, -1, -1)]
            m = message(torch.cat([*ends, distance], -1)) * both
            h = h + update(torch.cat([h, m.sum(2)], -1))
        return (self.head(h).squeeze(-1) * mask).sum(1)


def pairs(size: Size) -> Made:
    """128 molecules of 8 to 24 atoms."""
    batch = size.of(128, 2)
    kind = F.one_hot(torch.randint(10, (batch, 24), generator=seeded()), 10).float()
    mask = (torch.arange(24) < torch.randint(8, 25, (batch, 1), generator=seeded(3))).float()
    return Made(Pairs(size.depth), (kind, signals(batch, 24, 3), mask), signals(batch, seed=4), F.mse_loss)


class Agents(nn.Module):
    """A transformer over the agents of each scene, [batch, agents, features]."""

    def __init__(self, depth: int, width: int = 128) -> None:
        super().__init__()
        self.embed, self.head = nn.Linear(10, width), nn.Linear(width, 30)
        self.layers = nn.ModuleList(
            nn.TransformerEncoderLayer(
                width, 8, 2 * width, dropout=0.0, activation=F.silu, batch_first=True, norm_first=True
            )
            for _ in range(depth)
        )

    def forward(self, x: Tensor) -> Tensor:
        h = self.embed(x)
        for layer in self.layers:
            h = layer(h)
        return self.head(h)


def agents(size: Size) -> Made:
    """64 scenes of 100 agents."""
    batch = size.of(64, 2)
    return Made(Agents(size.depth), (signals(batch, 100, 10),), signals(batch, 100, 30, seed=4), F.smooth_l1_loss)
