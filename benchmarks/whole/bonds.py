"""Molecules as graphs of bonds, in batches, and other batches of small graphs."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from whole.catalogue import Made, Size
from whole.graphs import bonded, labels, near, rows
from whole.parts import mlp, scatter_mean, scatter_sum


class DMPNN(nn.Module):
    """Yang et al., 2019: a message for each direction of a bond, without the one that came back along it."""

    def __init__(self, depth: int, graphs: int, width: int = 300) -> None:
        super().__init__()
        self.depth, self.graphs = depth, graphs
        self.into = nn.Linear(133 + 14, width, bias=False)
        self.message = nn.Linear(width, width, bias=False)
        self.out = nn.Linear(133 + width, width)
        self.head = mlp(width, width, 1)

    def forward(self, x: Tensor, edge_index: Tensor, edge_attr: Tensor, rev: Tensor, batch: Tensor) -> Tensor:
        src, dst = edge_index
        h0 = self.into(torch.cat([x[src], edge_attr], dim=1))
        h = F.relu(h0)
        for _ in range(self.depth - 1):
            m = scatter_sum(h, dst, x.shape[0])[src] - h[rev]
            h = F.relu(h0 + self.message(m))
        h = F.relu(self.out(torch.cat([x, scatter_sum(h, dst, x.shape[0])], dim=1)))
        return self.head(scatter_mean(h, batch, self.graphs)).squeeze(-1)


def dmpnn(size: Size) -> Made:
    given = bonded(size.of(256))
    rev = torch.arange(given.bonds) ^ 1
    inputs = (rows(given.atoms, 133), given.edge_index, rows(given.bonds, 14, 5), rev, given.batch)
    return Made(DMPNN(size.depth, given.count), inputs, rows(given.count, 1, 4).squeeze(1), F.mse_loss)


class Categories(nn.Module):
    """The sum of an embedding for each column, as OGB's encoders of atoms and bonds."""

    def __init__(self, sizes: tuple[int, ...], width: int) -> None:
        super().__init__()
        self.tables = nn.ModuleList(nn.Embedding(size, width) for size in sizes)

    def forward(self, x: Tensor) -> Tensor:
        found = self.tables[0](x[:, 0])
        for column in range(1, len(self.tables)):
            found = found + self.tables[column](x[:, column])
        return found


ATOM, BOND = (119, 5, 12, 12, 10, 6, 6, 2, 2), (5, 6, 2)


def categories(count: int, sizes: tuple[int, ...], seed: int) -> Tensor:
    return torch.stack([labels(count, size, seed + column) for column, size in enumerate(sizes)], 1)


def normed(*widths: int) -> nn.Sequential:
    layers: list[nn.Module] = []
    for inputs, outputs in zip(widths, widths[1:]):
        layers += [nn.Linear(inputs, outputs), nn.BatchNorm1d(outputs), nn.ReLU()]
    return nn.Sequential(*layers)


class GIN(nn.Module):
    """OGB's baseline for molecules."""

    def __init__(self, depth: int, graphs: int, width: int = 300) -> None:
        super().__init__()
        from torch_geometric.nn import GINEConv

        self.graphs = graphs
        self.atoms = Categories(ATOM, width)
        self.bonds = nn.ModuleList(Categories(BOND, width) for _ in range(depth))
        self.virtual = nn.Embedding(1, width)
        networks = [nn.Sequential(normed(width, 2 * width), nn.Linear(2 * width, width)) for _ in range(depth)]
        self.convs = nn.ModuleList(GINEConv(network, train_eps=True) for network in networks)
        self.norms = nn.ModuleList(nn.BatchNorm1d(width) for _ in range(depth))
        self.updates = nn.ModuleList(normed(width, 2 * width, width) for _ in range(depth - 1))
        self.head = nn.Linear(width, 1)

    def forward(self, x: Tensor, edge_index: Tensor, edge_attr: Tensor, batch: Tensor) -> Tensor:
        h = self.atoms(x)
        virtual = self.virtual(torch.zeros(self.graphs, dtype=torch.long, device=x.device))
        for number, (conv, norm) in enumerate(zip(self.convs, self.norms)):
            h = h + virtual[batch]
            new = norm(conv(h, edge_index, self.bonds[number](edge_attr)))
            if number + 1 < len(self.convs):
                new = F.relu(new)
                virtual = self.updates[number](scatter_sum(h, batch, self.graphs) + virtual)
            h = new
        return self.head(scatter_mean(h, batch, self.graphs)).squeeze(-1)


def gin(size: Size) -> Made:
    given = bonded(size.of(256))
    inputs = (categories(given.atoms, ATOM, 10), given.edge_index, categories(given.bonds, BOND, 30), given.batch)
    target = labels(given.count, 2).float()
    return Made(GIN(size.depth, given.count), inputs, target, F.binary_cross_entropy_with_logits)


class PNA(nn.Module):
    """PyTorch Geometric's example for ZINC."""

    def __init__(self, depth: int, graphs: int, degrees: Tensor) -> None:
        super().__init__()
        from torch_geometric.nn import BatchNorm, PNAConv

        self.graphs = graphs
        self.nodes, self.edges = nn.Embedding(21, 75), nn.Embedding(4, 50)
        given = {"aggregators": ["mean", "min", "max", "std"], "scalers": ["identity", "amplification", "attenuation"]}
        given |= {"deg": degrees, "edge_dim": 50, "towers": 5, "pre_layers": 1, "post_layers": 1, "divide_input": False}
        self.convs = nn.ModuleList(PNAConv(75, 75, **given) for _ in range(depth))
        self.norms = nn.ModuleList(BatchNorm(75) for _ in range(depth))
        self.head = mlp(75, 50, 25, 1)

    def forward(self, x: Tensor, edge_index: Tensor, edge_attr: Tensor, batch: Tensor) -> Tensor:
        from torch_geometric.nn import global_add_pool

        x, edge_attr = self.nodes(x), self.edges(edge_attr)
        for conv, norm in zip(self.convs, self.norms):
            x = F.relu(norm(conv(x, edge_index, edge_attr)))
        return self.head(global_add_pool(x, batch, self.graphs)).squeeze(-1)


def pna(size: Size) -> Made:
    given = bonded(size.of(128), 23)
    degrees = torch.bincount(torch.bincount(given.edge_index[1], minlength=given.atoms))
    inputs = (labels(given.atoms, 21), given.edge_index, labels(given.bonds, 4), given.batch)
    return Made(PNA(size.depth, given.count, degrees), inputs, rows(given.count, 1, 4).squeeze(1), F.l1_loss)


class GatedLayer(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.a, self.b, self.c, self.d, self.e = (nn.Linear(width, width) for _ in range(5))
        self.norm_h, self.norm_e = nn.BatchNorm1d(width), nn.BatchNorm1d(width)

    def forward(self, h: Tensor, e: Tensor, edge_index: Tensor) -> tuple[Tensor, Tensor]:
        src, dst = edge_index
        e_new = self.c(e) + self.d(h)[dst] + self.e(h)[src]
        gate = torch.sigmoid(e_new)
        above = scatter_sum(gate * self.b(h)[src], dst, h.shape[0])
        h_new = self.a(h) + above / (scatter_sum(gate, dst, h.shape[0]) + 1e-6)
        return h + F.relu(self.norm_h(h_new)), e + F.relu(self.norm_e(e_new))


class GatedGCN(nn.Module):
    """Dwivedi et al., 2020: 16 layers, for clusters in stochastic block models."""

    def __init__(self, depth: int, width: int = 70) -> None:
        super().__init__()
        self.nodes, self.edges = nn.Embedding(7, width), nn.Linear(1, width)
        self.layers = nn.ModuleList(GatedLayer(width) for _ in range(depth))
        self.head = mlp(width, width // 2, 6)

    def forward(self, x: Tensor, edge_index: Tensor, edge_attr: Tensor) -> Tensor:
        h, e = self.nodes(x), self.edges(edge_attr)
        for layer in self.layers:
            h, e = layer(h, e, edge_index)
        return self.head(h)


def gated_gcn(size: Size) -> Made:
    """16 graphs of 117 nodes with 36 edges each."""
    nodes = size.of(16 * 117, 80)
    edge_index = near(nodes, nodes, 36, 58)
    inputs = (labels(nodes, 7), edge_index, rows(edge_index.shape[1], 1, 5))
    return Made(GatedGCN(size.depth), inputs, labels(nodes, 6, 4), F.cross_entropy)


class GPSLocal(nn.Module):
    """A GPS layer's local half and its network, without attention among all."""

    def __init__(self, width: int) -> None:
        super().__init__()
        from torch_geometric.nn import GINEConv

        self.conv = GINEConv(mlp(width, width, width))
        self.norm1, self.norm2 = nn.BatchNorm1d(width), nn.BatchNorm1d(width)
        self.mlp = mlp(width, 2 * width, width)

    def forward(self, x: Tensor, edge_index: Tensor, batch: Tensor, edge_attr: Tensor) -> Tensor:
        x = self.norm1(x + self.conv(x, edge_index, edge_attr))
        return self.norm2(x + self.mlp(x))


class GPS(nn.Module):
    """PyTorch Geometric's example for ZINC: random walks of 20 steps tell where a node is."""

    def __init__(self, depth: int, graphs: int, attends: bool, width: int = 64) -> None:
        super().__init__()
        from torch_geometric.nn import GINEConv, GPSConv

        self.graphs = graphs
        self.nodes, self.edges = nn.Embedding(28, width - 8), nn.Embedding(4, width)
        self.walk, self.walk_norm = nn.Linear(20, 8), nn.BatchNorm1d(20)
        if attends:
            layers = [GPSConv(width, GINEConv(mlp(width, width, width)), heads=4) for _ in range(depth)]
        else:
            layers = [GPSLocal(width) for _ in range(depth)]
        self.layers = nn.ModuleList(layers)
        self.head = mlp(width, width // 2, width // 4, 1)

    def forward(self, x: Tensor, walks: Tensor, edge_index: Tensor, edge_attr: Tensor, batch: Tensor) -> Tensor:
        x = torch.cat([self.nodes(x), self.walk(self.walk_norm(walks))], dim=1)
        edge_attr = self.edges(edge_attr)
        for layer in self.layers:
            x = layer(x, edge_index, batch, edge_attr=edge_attr)
        return self.head(scatter_sum(x, batch, self.graphs)).squeeze(-1)


def gps(size: Size, attends: bool = True) -> Made:
    given = bonded(size.of(64), 23)
    inputs = (labels(given.atoms, 28), rows(given.atoms, 20, 6), given.edge_index, labels(given.bonds, 4), given.batch)
    return Made(GPS(size.depth, given.count, attends), inputs, rows(given.count, 1, 4).squeeze(1), F.l1_loss)


def gps_local(size: Size) -> Made:
    return gps(size, attends=False)
