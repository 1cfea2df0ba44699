"""Seeded graphs of the published sizes: meshes, detectors, molecules, clouds, skewed ones. All are made on the CPU."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor


def seeded(seed: int = 1) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def rows(count: int, width: int, seed: int = 2) -> Tensor:
    return torch.randn(count, width, generator=seeded(seed))


def labels(count: int, classes: int, seed: int = 3) -> Tensor:
    return torch.randint(0, classes, (count,), generator=seeded(seed))


def mesh(nodes: int) -> tuple[Tensor, Tensor]:
    """Positions [nodes, 2] of a jittered grid, and the edges [2, E] of its triangles in both directions."""
    side = max(2, round(nodes**0.5))
    number = torch.arange(side * side).view(side, side)
    position = torch.stack(torch.meshgrid(torch.arange(side), torch.arange(side), indexing="ij"), -1).view(-1, 2)
    position = (position + 0.3 * torch.rand(side * side, 2, generator=seeded())) / side
    pairs = [(number[:, :-1], number[:, 1:]), (number[:-1], number[1:]), (number[:-1, :-1], number[1:, 1:])]
    one = torch.cat([torch.stack([a.reshape(-1), b.reshape(-1)]) for a, b in pairs], 1)
    return position, torch.cat([one, one.flip(0)], 1)


def near(owners: int, others: int, degree: int, spread: int = 64, seed: int = 1) -> Tensor:
    """[2, owners * degree]: each owner has so many edges from others that lie near it in their order."""
    owner = torch.arange(owners).repeat_interleave(degree)
    away = torch.randint(-spread, spread + 1, owner.shape, generator=seeded(seed))
    return torch.stack([(owner * others // owners + away) % others, owner])


def skewed(nodes: int, edges: int, seed: int = 1, others: int | None = None) -> Tensor:
    """[2, edges]: few nodes have most of the edges, as in citations and shops."""
    made = seeded(seed)
    src = (torch.rand(edges, generator=made) ** 3 * nodes).long()
    dst = (torch.rand(edges, generator=made) ** 1.5 * (others or nodes)).long()
    order = torch.randperm(nodes, generator=made)
    return torch.stack([order[src], dst])


def layered(nodes: int, edges: int, layers: int = 10) -> Tensor:
    """[2, edges] from each layer of a detector to the next."""
    made, size = seeded(), nodes // layers
    layer = torch.randint(0, layers - 1, (edges,), generator=made)
    src = torch.randint(0, size, (edges,), generator=made)
    away = torch.randint(-8, 9, (edges,), generator=made)
    return torch.stack([layer * size + src, (layer + 1) * size + (src + away) % size])


@dataclass
class Molecules:
    batch: Tensor  # [atoms]
    edge_index: Tensor  # [2, bonds]; each bond twice, one after the other
    count: int

    @property
    def atoms(self) -> int:
        return len(self.batch)

    @property
    def bonds(self) -> int:
        return self.edge_index.shape[1]


def bonded(count: int, atoms: int = 25, rings: int = 3) -> Molecules:
    """Trees with a few rings, of `atoms` atoms on average."""
    made = seeded()
    sizes = torch.randint(atoms * 3 // 5, atoms * 7 // 5 + 1, (count,), generator=made).tolist()
    pairs, first = [], 0
    for size in sizes:
        later = torch.arange(1, size)
        earlier = (later - 1 - (torch.rand(size - 1, generator=made) * 3).long()).clamp(min=0)
        closed = torch.randint(0, size - 5, (rings,), generator=made)
        both = torch.cat([torch.stack([earlier, later]), torch.stack([closed, closed + 5])], 1)
        pairs.append(both + first)
        first += size
    one = torch.cat(pairs, 1)
    edge_index = torch.stack([one, one.flip(0)], 2).reshape(2, -1)
    return Molecules(torch.arange(count).repeat_interleave(torch.tensor(sizes)), edge_index, count)


@dataclass
class Atoms:
    """Molecules in space."""

    kinds: Tensor  # [atoms]
    position: Tensor  # [atoms, 3]
    batch: Tensor  # [atoms]
    edge_index: Tensor  # [2, E], j → i
    count: int

    @property
    def vectors(self) -> Tensor:
        """From i to j [E, 3]."""
        return self.position[self.edge_index[0]] - self.position[self.edge_index[1]]

    @property
    def distances(self) -> Tensor:
        return self.vectors.norm(dim=1)


def spatial(count: int, atoms: int = 18, cutoff: float = 5.0) -> Atoms:
    """Of so many atoms each, about as dense as molecules are; edges within the cutoff."""
    made = seeded()
    steps = torch.randn(count, atoms, 3, generator=made)
    position = (1.45 * steps / steps.norm(dim=2, keepdim=True)).cumsum(1)
    position = 0.8 * position + 0.3 * torch.randn(count, atoms, 3, generator=made)
    distance = torch.cdist(position, position)
    # Two atoms in one place have no direction.
    distance[:, torch.arange(atoms), torch.arange(atoms)] = 1e9
    graph, i, j = ((distance < cutoff) & (distance > 0.2)).nonzero().T
    edge_index = torch.stack([graph * atoms + j, graph * atoms + i])
    kinds = torch.tensor([1, 6, 7, 8, 9])[torch.randint(0, 5, (count * atoms,), generator=made)]
    batch = torch.arange(count).repeat_interleave(atoms)
    return Atoms(kinds, position.reshape(-1, 3), batch, edge_index, count)


def triplets(edge_index: Tensor, nodes: int) -> tuple[Tensor, Tensor]:
    """Of pairs k → j → i, k ≠ i: the numbers of the edges (k → j) and (j → i), [T] each."""
    src, dst = edge_index
    order = dst.argsort(stable=True)
    degree = torch.bincount(dst, minlength=nodes)
    first = degree.cumsum(0) - degree
    ji = torch.arange(len(src)).repeat_interleave(degree[src])
    begin = degree[src].cumsum(0) - degree[src]
    kj = order[first[src[ji]] + torch.arange(len(ji)) - begin[ji]]
    kept = src[kj] != dst[ji]
    return kj[kept], ji[kept]


def clouds(count: int, points: int) -> Tensor:
    """Points [count, points, 3] on deformed spheres."""
    made = seeded()
    position = torch.randn(count, points, 3, generator=made)
    position = position / position.norm(dim=2, keepdim=True)
    return position * (0.5 + torch.rand(count, 1, 3, generator=made))


def nearest(owners: Tensor, others: Tensor, k: int) -> Tensor:
    """[2, clouds * owners * k] for clouds [clouds, owners, 3] and [clouds, others, 3]."""
    count, size = owners.shape[:2]
    found = torch.cat([torch.cdist(a[None], b[None]).topk(k, largest=False).indices for a, b in zip(owners, others)])
    src = (found + torch.arange(count).view(-1, 1, 1) * others.shape[1]).reshape(-1)
    return torch.stack([src, torch.arange(count * size).repeat_interleave(k)])
