"""Energies of atoms in space: distances, directions, angles."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from whole.catalogue import Made, Size
from whole.graphs import rows, spatial, triplets
from whole.parts import Bessel, Radial, mlp, scatter_mean, scatter_sum


class ShiftedSoftplus(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return F.softplus(x) - 0.6931471805599453


class SchNetBlock(nn.Module):
    def __init__(self, width: int, gaussians: int) -> None:
        super().__init__()
        self.filter = mlp(gaussians, width, width, act=ShiftedSoftplus)
        self.into = nn.Linear(width, width, bias=False)
        self.out = mlp(width, width, width, act=ShiftedSoftplus)

    def forward(self, x: Tensor, edge_index: Tensor, basis: Tensor, envelope: Tensor) -> Tensor:
        src, dst = edge_index
        weights = self.filter(basis) * envelope.unsqueeze(-1)
        return x + self.out(scatter_sum(self.into(x)[src] * weights, dst, x.shape[0]))


class SchNet(nn.Module):
    """Schütt et al., 2017; on QM9 with a cutoff of 10 Å."""

    def __init__(self, depth: int, graphs: int, width: int = 128, gaussians: int = 50, cutoff: float = 10.0) -> None:
        super().__init__()
        self.graphs, self.cutoff = graphs, cutoff
        self.embedding = nn.Embedding(100, width)
        self.basis = Radial(gaussians, cutoff)
        self.blocks = nn.ModuleList(SchNetBlock(width, gaussians) for _ in range(depth))
        self.energy = mlp(width, width // 2, 1, act=ShiftedSoftplus)

    def forward(self, z: Tensor, edge_index: Tensor, distance: Tensor, batch: Tensor) -> Tensor:
        x, basis = self.embedding(z), self.basis(distance)
        envelope = 0.5 * (torch.cos(distance * (torch.pi / self.cutoff)) + 1.0)
        for block in self.blocks:
            x = block(x, edge_index, basis, envelope)
        return scatter_sum(self.energy(x), batch, self.graphs).squeeze(-1)


def schnet(size: Size) -> Made:
    atoms = spatial(size.of(128), cutoff=10.0)
    inputs = (atoms.kinds, atoms.edge_index, atoms.distances, atoms.batch)
    return Made(SchNet(size.depth, atoms.count), inputs, rows(atoms.count, 1, 4).squeeze(1), F.l1_loss)


class PaiNNBlock(nn.Module):
    """Messages, then what scalars and vectors of an atom tell one another."""

    def __init__(self, width: int, basis: int) -> None:
        super().__init__()
        self.width = width
        self.message = mlp(width, width, 3 * width, act=nn.SiLU)
        self.filter = nn.Linear(basis, 3 * width)
        self.mix = nn.Linear(width, 2 * width, bias=False)
        self.update = mlp(2 * width, width, 3 * width, act=nn.SiLU)

    def forward(
        self, s: Tensor, v: Tensor, edge_index: Tensor, basis: Tensor, envelope: Tensor, direction: Tensor
    ) -> tuple[Tensor, Tensor]:
        src, dst = edge_index
        weights = self.filter(basis) * envelope.unsqueeze(-1)
        ds, gate, along = (self.message(s)[src] * weights).split(self.width, dim=-1)
        dv = v[src] * gate.unsqueeze(1) + along.unsqueeze(1) * direction.unsqueeze(-1)
        s, v = s + scatter_sum(ds, dst, s.shape[0]), v + scatter_sum(dv, dst, v.shape[0])
        left, right = self.mix(v).split(self.width, dim=-1)
        norm = torch.sqrt((right**2).sum(dim=1) + 1e-8)
        a, b, c = self.update(torch.cat([s, norm], dim=-1)).split(self.width, dim=-1)
        return s + a + b * (left * right).sum(dim=1), v + c.unsqueeze(1) * left


class PaiNN(nn.Module):
    """Schütt et al., 2021; vectors are [atoms, 3, width]."""

    def __init__(self, depth: int, graphs: int, width: int = 128, basis: int = 20, cutoff: float = 5.0) -> None:
        super().__init__()
        self.graphs, self.cutoff = graphs, cutoff
        self.embedding = nn.Embedding(100, width)
        self.basis = Bessel(basis, cutoff)
        self.blocks = nn.ModuleList(PaiNNBlock(width, basis) for _ in range(depth))
        self.energy = mlp(width, width // 2, 1, act=nn.SiLU)

    def forward(self, z: Tensor, edge_index: Tensor, vectors: Tensor, batch: Tensor) -> Tensor:
        distance = vectors.norm(dim=-1)
        basis, direction = self.basis(distance), vectors / distance.unsqueeze(-1)
        envelope = 0.5 * (torch.cos(distance * (torch.pi / self.cutoff)) + 1.0)
        s = self.embedding(z)
        v = s.new_zeros(s.shape[0], 3, s.shape[1])
        for block in self.blocks:
            s, v = block(s, v, edge_index, basis, envelope, direction)
        return scatter_sum(self.energy(s), batch, self.graphs).squeeze(-1)


def painn(size: Size) -> Made:
    atoms = spatial(size.of(128))
    inputs = (atoms.kinds, atoms.edge_index, atoms.vectors, atoms.batch)
    return Made(PaiNN(size.depth, atoms.count), inputs, rows(atoms.count, 1, 4).squeeze(1), F.l1_loss)


class DimeNet(nn.Module):
    """DimeNet++ of PyTorch Geometric's blocks, with edges and triplets given: its own forward looks for neighbours."""

    def __init__(self, depth: int, graphs: int) -> None:
        super().__init__()
        from torch_geometric.nn.models import dimenet as pyg

        self.graphs = graphs
        self.rbf = pyg.BesselBasisLayer(6, 5.0, 5)
        self.sbf = pyg.SphericalBasisLayer(7, 6, 5.0, 5)
        self.emb = pyg.EmbeddingBlock(6, 128, F.silu)
        outputs = [pyg.OutputPPBlock(6, 128, 256, 1, 3, F.silu, "glorot_orthogonal") for _ in range(depth + 1)]
        self.outputs = nn.ModuleList(outputs)
        self.blocks = nn.ModuleList(pyg.InteractionPPBlock(128, 64, 8, 7, 6, 1, 2, F.silu) for _ in range(depth))

    def forward(
        self, z: Tensor, i: Tensor, j: Tensor, distance: Tensor, angle: Tensor, kj: Tensor, ji: Tensor, batch: Tensor
    ) -> Tensor:
        rbf, sbf = self.rbf(distance), self.sbf(distance, angle, kj)
        x = self.emb(z, rbf, i, j)
        p = self.outputs[0](x, rbf, i, num_nodes=z.shape[0])
        for block, output in zip(self.blocks, self.outputs[1:]):
            x = block(x, rbf, sbf, kj, ji)
            p = p + output(x, rbf, i, num_nodes=z.shape[0])
        return scatter_sum(p, batch, self.graphs).squeeze(-1)


def dimenet(size: Size) -> Made:
    atoms = spatial(size.of(32))
    j, i = atoms.edge_index
    kj, ji = triplets(atoms.edge_index, len(atoms.kinds))
    to, other = -atoms.vectors[ji], atoms.vectors[kj]
    angle = torch.atan2(torch.linalg.cross(to, other).norm(dim=1), (to * other).sum(1))
    inputs = (atoms.kinds, i, j, atoms.distances, angle, kj, ji, atoms.batch)
    return Made(DimeNet(size.depth, atoms.count), inputs, rows(atoms.count, 1, 4).squeeze(1), F.l1_loss)


class EGNNLayer(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.edge = nn.Sequential(mlp(2 * width + 1, width, width, act=nn.SiLU), nn.SiLU())
        self.gate = nn.Sequential(nn.Linear(width, 1), nn.Sigmoid())
        self.node = mlp(2 * width, width, width, act=nn.SiLU)
        self.place = mlp(width, width, 1, act=nn.SiLU)

    def forward(self, h: Tensor, position: Tensor, edge_index: Tensor) -> tuple[Tensor, Tensor]:
        src, dst = edge_index
        away = position[dst] - position[src]
        square = (away**2).sum(dim=-1, keepdim=True)
        m = self.edge(torch.cat([h[dst], h[src], square], dim=-1))
        m = m * self.gate(m)
        position = position + scatter_mean(away / (square.sqrt() + 1) * self.place(m), dst, h.shape[0])
        return h + self.node(torch.cat([h, scatter_sum(m, dst, h.shape[0])], dim=-1)), position


class EGNN(nn.Module):
    """Satorras et al., 2021: QM9's shape, with coordinates that move."""

    def __init__(self, depth: int, graphs: int, width: int = 128) -> None:
        super().__init__()
        self.graphs = graphs
        self.embed = nn.Embedding(100, width)
        self.layers = nn.ModuleList(EGNNLayer(width) for _ in range(depth))
        self.node, self.graph = (mlp(width, width, out, act=nn.SiLU) for out in (width, 1))

    def forward(self, z: Tensor, position: Tensor, edge_index: Tensor, batch: Tensor) -> tuple[Tensor, Tensor]:
        h = self.embed(z)
        for layer in self.layers:
            h, position = layer(h, position, edge_index)
        return self.graph(scatter_sum(self.node(h), batch, self.graphs)).squeeze(-1), position


def both(found: tuple[Tensor, Tensor], wanted: tuple[Tensor, Tensor]) -> Tensor:
    return F.l1_loss(found[0], wanted[0]) + F.mse_loss(found[1], wanted[1])


def egnn(size: Size) -> Made:
    atoms = spatial(size.of(96), cutoff=20.0)
    inputs = (atoms.kinds, atoms.position, atoms.edge_index, atoms.batch)
    target = (rows(atoms.count, 1, 4).squeeze(1), atoms.position + 0.1 * rows(len(atoms.kinds), 3, 5))
    return Made(EGNN(size.depth, atoms.count), inputs, target, both)
