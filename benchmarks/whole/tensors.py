"""A network of tensor products of l ≤ 2 in plain PyTorch, whose weights an edge network makes: NequIP's shape."""

from __future__ import annotations

import itertools
import math

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from whole.catalogue import Made, Size
from whole.graphs import rows, spatial
from whole.parts import Bessel, mlp, scatter_sum

DEGREES = (0, 1, 2)
#: What a feature of degree a and a direction of degree b make of degree c, with the parity of directions.
PATHS = [
    (a, b, c) for a, b, c in itertools.product(DEGREES, repeat=3) if abs(a - b) <= c <= a + b and (a + b + c) % 2 == 0
]


def harmonics(direction: Tensor) -> list[Tensor]:
    """Real spherical harmonics [..., 2 l + 1] of unit vectors [..., 3], of norm sqrt(2 l + 1)."""
    x, y, z = direction.unbind(-1)
    second = [x * y, y * z, (3 * z * z - 1) / (2 * math.sqrt(3)), x * z, (x * x - y * y) / 2]
    return [torch.ones_like(x).unsqueeze(-1), math.sqrt(3) * direction, math.sqrt(15) * torch.stack(second, -1)]


def clebsch_gordan() -> dict[tuple[int, int, int], Tensor]:
    """Of each path [2 a + 1, 2 b + 1, 2 c + 1]: the mean of three harmonics' product over the sphere, which for these
    paths is Clebsch and Gordan's up to a factor. The quadrature is exact for such polynomials."""
    z = torch.tensor([-0.9324695142, -0.6612093865, -0.2386191861, 0.2386191861, 0.6612093865, 0.9324695142]).double()
    half = torch.tensor([0.1713244924, 0.3607615730, 0.4679139346]).double()
    weight = torch.cat([half, half.flip(0)])
    phi = torch.arange(8).double() * (2 * math.pi / 8)
    ring = torch.sqrt(1 - z * z)[:, None]
    points = torch.stack([ring * phi.cos(), ring * phi.sin(), z[:, None].expand(-1, 8)], -1).reshape(-1, 3)
    weights = (weight[:, None].expand(-1, 8) / 16).reshape(-1)
    y = harmonics(points)
    found = {}
    for a, b, c in PATHS:
        tensor = torch.einsum("p,pm,pn,pk->mnk", weights, y[a], y[b], y[c])
        tensor[tensor.abs() < 1e-6] = 0
        found[a, b, c] = (tensor / tensor.norm() * math.sqrt(2 * c + 1)).float()
    return found


class Layer(nn.Module):
    def __init__(self, width: int, basis: int) -> None:
        super().__init__()
        self.width = width
        for path, tensor in clebsch_gordan().items():
            self.register_buffer(f"cg{''.join(map(str, path))}", tensor)
        self.weights = mlp(basis, 64, 64, len(PATHS) * width, act=nn.SiLU)
        self.before = nn.ModuleList(nn.Linear(width, width, bias=False) for _ in DEGREES)
        paths = [sum(path[2] == degree for path in PATHS) for degree in DEGREES]
        self.after = nn.ModuleList(nn.Linear(count * width, width, bias=False) for count in paths)
        self.gates = nn.Linear(width, 2 * width)

    def forward(self, x: list[Tensor], edge_index: Tensor, y: list[Tensor], basis: Tensor) -> list[Tensor]:
        src, dst = edge_index
        nodes = x[0].shape[0]
        weights = self.weights(basis).view(-1, len(PATHS), self.width)
        moved = [linear(h.transpose(1, 2)).transpose(1, 2)[src] for linear, h in zip(self.before, x)]
        sums: list[list[Tensor]] = [[] for _ in DEGREES]
        for number, (a, b, c) in enumerate(PATHS):
            cg = getattr(self, f"cg{a}{b}{c}")
            message = torch.einsum("eum,en,mnk->euk", moved[a], y[b], cg) * weights[:, number].unsqueeze(-1)
            sums[c].append(scatter_sum(message, dst, nodes))
        new = [linear(torch.cat(each, dim=1).transpose(1, 2)).transpose(1, 2) for linear, each in zip(self.after, sums)]
        gates = torch.sigmoid(self.gates(new[0].squeeze(-1))).unsqueeze(-1).chunk(2, dim=1)
        new = [F.silu(new[0]), new[1] * gates[0], new[2] * gates[1]]
        return [old + each for old, each in zip(x, new)]


class TensorNetwork(nn.Module):
    def __init__(self, depth: int, graphs: int, width: int = 32, cutoff: float = 5.0) -> None:
        super().__init__()
        self.graphs, self.cutoff, self.width = graphs, cutoff, width
        self.embedding = nn.Embedding(100, width)
        self.basis = Bessel(8, cutoff)
        self.layers = nn.ModuleList(Layer(width, 8) for _ in range(depth))
        self.energy = mlp(width, width, 1, act=nn.SiLU)

    def forward(self, z: Tensor, edge_index: Tensor, vectors: Tensor, batch: Tensor) -> Tensor:
        distance = vectors.norm(dim=-1)
        y = harmonics(vectors / distance.unsqueeze(-1))
        basis = self.basis(distance) * (0.5 * (torch.cos(distance * (torch.pi / self.cutoff)) + 1)).unsqueeze(-1)
        scalars = self.embedding(z)
        x = [scalars.unsqueeze(-1)] + [scalars.new_zeros(*scalars.shape, 2 * degree + 1) for degree in (1, 2)]
        for layer in self.layers:
            x = layer(x, edge_index, y, basis)
        return scatter_sum(self.energy(x[0].squeeze(-1)), batch, self.graphs).squeeze(-1)


def tensors(size: Size) -> Made:
    atoms = spatial(size.of(96))
    inputs = (atoms.kinds, atoms.edge_index, atoms.vectors, atoms.batch)
    return Made(TensorNetwork(size.depth, atoms.count), inputs, rows(atoms.count, 1, 4).squeeze(1), F.mse_loss)
