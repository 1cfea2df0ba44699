"""Signals of many sensors on one graph of roads, over steps of time."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from whole.catalogue import Made, Size
from whole.graphs import near, seeded
from whole.parts import scatter_sum


class TGCN(nn.Module):
    """Zhao et al., 2019, as PyTorch Geometric Temporal has it: three GCNs in a gated unit; signals [B, nodes, ·]."""

    def __init__(self, steps: int, width: int = 64, horizon: int = 12) -> None:
        super().__init__()
        from torch_geometric.nn import GCNConv

        self.width = width
        self.convs = nn.ModuleList(GCNConv(2, width) for _ in range(3))
        self.linears = nn.ModuleList(nn.Linear(2 * width, width) for _ in range(3))
        self.head = nn.Linear(width, horizon)
        self.steps = steps

    def forward(self, x: Tensor, edge_index: Tensor, edge_weight: Tensor) -> Tensor:
        h = x.new_zeros(x.shape[0], x.shape[1], self.width)
        for step in range(self.steps):
            z, r, c = (conv(x[..., step], edge_index, edge_weight) for conv in self.convs)
            z = torch.sigmoid(self.linears[0](torch.cat([z, h], dim=-1)))
            r = torch.sigmoid(self.linears[1](torch.cat([r, h], dim=-1)))
            c = torch.tanh(self.linears[2](torch.cat([c, h * r], dim=-1)))
            h = z * h + (1 - z) * c
        return self.head(h)


def signals(*sizes: int, seed: int = 2) -> Tensor:
    return torch.randn(*sizes, generator=seeded(seed))


def tgcn(size: Size) -> Made:
    """METR-LA: 207 sensors, 1515 edges; 32 signals of two features."""
    # Without repeated self loops: which of their weights counts is not defined on a GPU.
    edge_index = torch.unique(near(207, 207, 7, 12), dim=1)
    weight = torch.rand(edge_index.shape[1], generator=seeded(3)) + 0.1
    batch = size.of(32, 2)
    inputs = (signals(batch, 207, 2, size.depth), edge_index, weight)
    return Made(TGCN(size.depth), inputs, signals(batch, 207, 12, seed=4), F.l1_loss)


class Diffusion(nn.Module):
    """Hops of random walks along the roads and against them; signals [nodes, B, ·]."""

    def __init__(self, inputs: int, outputs: int, hops: int = 2) -> None:
        super().__init__()
        self.hops = hops
        self.linear = nn.Linear(inputs * (2 * hops + 1), outputs)

    def forward(self, x: Tensor, edge_index: Tensor, along: Tensor, against: Tensor) -> Tensor:
        found = [x]
        for (src, dst), weight in ((edge_index, along), (edge_index.flip(0), against)):
            h = x
            for _ in range(self.hops):
                h = scatter_sum(h[src] * weight.view(-1, 1, 1), dst, x.shape[0])
                found.append(h)
        return self.linear(torch.cat(found, dim=-1))


class DCRNN(nn.Module):
    """The encoder of Li et al., 2018, and a linear layer for all steps that are asked for."""

    def __init__(self, steps: int, width: int = 64, horizon: int = 12) -> None:
        super().__init__()
        self.steps, self.width = steps, width
        self.gates, self.candidate = Diffusion(2 + width, 2 * width), Diffusion(2 + width, width)
        self.head = nn.Linear(width, horizon)

    def forward(self, x: Tensor, edge_index: Tensor, along: Tensor, against: Tensor) -> Tensor:
        h = x.new_zeros(x.shape[1], x.shape[2], self.width)
        for step in range(self.steps):
            gates = torch.sigmoid(self.gates(torch.cat([x[step], h], dim=-1), edge_index, along, against))
            r, u = gates.chunk(2, dim=-1)
            c = torch.tanh(self.candidate(torch.cat([x[step], r * h], dim=-1), edge_index, along, against))
            h = u * h + (1 - u) * c
        return self.head(h)


def dcrnn(size: Size) -> Made:
    """METR-LA: [steps, nodes, signals, features]."""
    edge_index = near(207, 207, 7, 12)
    weight = torch.rand(edge_index.shape[1], generator=seeded(3)) + 0.1
    degrees = [weight.new_zeros(207).index_add(0, ends, weight) for ends in edge_index]
    along, against = weight / degrees[0][edge_index[0]], weight / degrees[1][edge_index[1]]
    batch = size.of(64, 2)
    inputs = (signals(size.depth, 207, batch, 2), edge_index, along, against)
    return Made(DCRNN(size.depth), inputs, signals(207, batch, 12, seed=4), F.l1_loss)
