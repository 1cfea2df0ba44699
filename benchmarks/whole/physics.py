"""Simulations on meshes, tracks in a detector, and weather: networks on edges and on nodes, in turn."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from whole.catalogue import Made, Size
from whole.graphs import layered, mesh, near, rows
from whole.parts import mlp, scatter_sum


class Block(nn.Module):
    """Edges from what they join, then nodes from the sum of their edges, both with residuals."""

    def __init__(self, width: int, act: type[nn.Module] = nn.ReLU, hidden: int = 2) -> None:
        super().__init__()
        self.edge = mlp(3 * width, *[width] * hidden, width, act=act, norm=True)
        self.node = mlp(2 * width, *[width] * hidden, width, act=act, norm=True)

    def forward(self, x: Tensor, e: Tensor, edge_index: Tensor) -> tuple[Tensor, Tensor]:
        src, dst = edge_index[0], edge_index[1]
        e_new = self.edge(torch.cat([x[src], x[dst], e], dim=-1))
        gathered = scatter_sum(e_new, dst, x.shape[0])
        x = x + self.node(torch.cat([x, gathered], dim=-1))
        return x, e + e_new


class MeshGraphNet(nn.Module):
    """Pfaff et al., 2021: flow around a cylinder."""

    def __init__(self, depth: int, width: int = 128) -> None:
        super().__init__()
        self.encode_nodes = mlp(11, width, width, width, norm=True)
        self.encode_edges = mlp(3, width, width, width, norm=True)
        self.blocks = nn.ModuleList(Block(width) for _ in range(depth))
        self.decode = mlp(width, width, width, 3)

    def forward(self, x: Tensor, edge_index: Tensor, edge_attr: Tensor) -> Tensor:
        x, e = self.encode_nodes(x), self.encode_edges(edge_attr)
        for block in self.blocks:
            x, e = block(x, e, edge_index)
        return self.decode(x)


def mesh_graph_net(size: Size, nodes: int = 15000) -> Made:
    """By default 8 meshes of 1885 nodes and 11 000 edges."""
    position, edge_index = mesh(size.of(nodes, 16))
    away = position[edge_index[0]] - position[edge_index[1]]
    edge_attr = torch.cat([away, away.norm(dim=1, keepdim=True)], 1)
    count = len(position)
    return Made(MeshGraphNet(size.depth), (rows(count, 11), edge_index, edge_attr), rows(count, 3, 4), F.mse_loss)


class Tracks(nn.Module):
    """The interaction network of Exa.TrkX: every step has the same weights, and sees the encoded hits again."""

    def __init__(self, steps: int, width: int = 64) -> None:
        super().__init__()
        self.steps = steps
        self.encode_nodes = mlp(3, width, width, act=nn.Tanh, norm=True)
        self.encode_edges = mlp(2 * width, width, width, act=nn.Tanh, norm=True)
        self.edge = mlp(6 * width, width, width, width, act=nn.Tanh, norm=True)
        self.node = mlp(4 * width, width, width, width, act=nn.Tanh, norm=True)
        self.score = mlp(3 * width, width, width, 1, act=nn.Tanh)

    def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
        start, end = edge_index
        x = x0 = self.encode_nodes(x)
        e = e0 = self.encode_edges(torch.cat([x[start], x[end]], dim=1))
        for _ in range(self.steps):
            x, e = torch.cat([x, x0], dim=1), torch.cat([e, e0], dim=1)
            edges = self.edge(torch.cat([x[start], x[end], e], dim=1))
            to, back = scatter_sum(edges, end, x.shape[0]), scatter_sum(edges, start, x.shape[0])
            x, e = self.node(torch.cat([x, to, back], dim=1)), edges
        return self.score(torch.cat([x[start], x[end], e], dim=1)).squeeze(-1)


def tracks(size: Size) -> Made:
    nodes, edges = size.of(20000, 40), size.of(200000, 80)
    edge_index = layered(nodes, edges)
    target = (rows(edges, 1, 4).squeeze(1) > 1).float()
    return Made(Tracks(size.depth), (rows(nodes, 3), edge_index), target, F.binary_cross_entropy_with_logits)


class GraphCast(nn.Module):
    """The processor of Lam et al., 2023: one hidden layer, swish, LayerNorm, residuals."""

    def __init__(self, depth: int, width: int = 512) -> None:
        super().__init__()
        self.embed_edges = mlp(4, width, width, act=nn.SiLU, norm=True)
        self.blocks = nn.ModuleList(Block(width, nn.SiLU, 1) for _ in range(depth))

    def forward(self, x: Tensor, edge_index: Tensor, edge_attr: Tensor) -> Tensor:
        e = self.embed_edges(edge_attr)
        for block in self.blocks:
            x, e = block(x, e, edge_index)
        return x


def graph_cast(size: Size) -> Made:
    """The mesh of four refinements, with the edges of all of them."""
    nodes = size.of(2562, 16)
    edge_index = near(nodes, nodes, 8, 40)
    inputs = (rows(nodes, 512), edge_index, rows(edge_index.shape[1], 4, 5))
    return Made(GraphCast(size.depth), inputs, rows(nodes, 512, 4), F.mse_loss)


class Across(nn.Module):
    """From the nodes of one set to those of another."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.embed = mlp(4, width, width, act=nn.SiLU, norm=True)
        self.edge = mlp(3 * width, width, width, act=nn.SiLU, norm=True)
        self.node = mlp(2 * width, width, width, act=nn.SiLU, norm=True)

    def forward(self, x_src: Tensor, x_dst: Tensor, edge_index: Tensor, edge_attr: Tensor) -> Tensor:
        src, dst = edge_index
        e = self.edge(torch.cat([x_src[src], x_dst[dst], self.embed(edge_attr)], dim=-1))
        return x_dst + self.node(torch.cat([x_dst, scatter_sum(e, dst, x_dst.shape[0])], dim=-1))


class Bipartite(nn.Module):
    """A grid, a coarse mesh, and the grid again, with what changes in a step of time."""

    def __init__(self, depth: int, channels: int = 78, width: int = 256) -> None:
        super().__init__()
        self.embed_grid, self.embed_mesh = (mlp(w, width, width, act=nn.SiLU, norm=True) for w in (channels, 3))
        self.embed_edges = mlp(4, width, width, act=nn.SiLU, norm=True)
        self.encoder, self.decoder = Across(width), Across(width)
        self.blocks = nn.ModuleList(Block(width, nn.SiLU, 1) for _ in range(depth))
        self.output = mlp(width, width, channels, act=nn.SiLU)

    def forward(
        self, grid: Tensor, mesh: Tensor, up: Tensor, up_attr: Tensor, edge_index: Tensor, edge_attr: Tensor,
        down: Tensor, down_attr: Tensor,
    ) -> Tensor:  # fmt: skip
        x, m = self.embed_grid(grid), self.embed_mesh(mesh)
        m = self.encoder(x, m, up, up_attr)
        e = self.embed_edges(edge_attr)
        for block in self.blocks:
            m, e = block(m, e, edge_index)
        return grid + self.output(self.decoder(m, x, down, down_attr))


def bipartite(size: Size) -> Made:
    """A grid of two degrees: 16 200 points, each with edges to and from three nodes of 2562."""
    points, nodes = size.of(16200, 64), size.of(2562, 16)
    up, down = near(points, nodes, 3, 2, seed=5).flip(0), near(points, nodes, 3, 2, seed=6)
    edge_index = near(nodes, nodes, 8, 40)
    grid = rows(points, 78)
    inputs = (grid, rows(nodes, 3), up, rows(up.shape[1], 4, 6), edge_index, rows(edge_index.shape[1], 4, 7), down)
    return Made(Bipartite(size.depth), (*inputs, rows(down.shape[1], 4, 8)), grid + rows(points, 78, 4), F.mse_loss)
