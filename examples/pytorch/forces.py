"""Energies like SchNet's, whose forces are trained: second derivatives, with one line added.

    python3 examples/pytorch/forces.py [--eager] [--epochs 20] [--device cuda]

Schütt et al., "SchNet". Atoms at random places; the energy to be learned is a Morse potential between near ones. Forces
are the energy's derivative, so a loss of forces needs derivatives of derivatives.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception"""

from __future__ import annotations

import time

import torch
import torch.nn.functional as F
import training
from torch import Tensor, nn

import gnnc

CUTOFF = 2.5


class Energy(nn.Module):
    """Interactions through filters that are made from distances, and an energy for each atom."""

    def __init__(self, width: int = 32, radial: int = 16, interactions: int = 2) -> None:
        super().__init__()
        self.embedding = nn.Embedding(4, width)
        self.filters = nn.ModuleList(
            nn.Sequential(nn.Linear(radial, width), nn.SiLU(), nn.Linear(width, width)) for _ in range(interactions)
        )
        self.updates = nn.ModuleList(
            nn.Sequential(nn.Linear(width, width), nn.SiLU(), nn.Linear(width, width)) for _ in range(interactions)
        )
        self.head = nn.Sequential(nn.Linear(width, width), nn.SiLU(), nn.Linear(width, 1))
        self.register_buffer("centers", torch.linspace(0, CUTOFF, radial))

    def forward(self, kinds: Tensor, positions: Tensor, edge_index: Tensor) -> Tensor:
        source, target = edge_index[0], edge_index[1]
        distance = ((positions[source] - positions[target]) ** 2).sum(-1, keepdim=True).sqrt()
        envelope = 0.5 * (torch.cos(distance * (torch.pi / CUTOFF)) + 1)
        radial = torch.exp(-10 * (distance - self.centers) ** 2)
        h = self.embedding(kinds)
        for filters, update in zip(self.filters, self.updates):
            messages = h[source] * filters(radial) * envelope
            h = h + update(torch.zeros_like(h).index_add(0, target, messages))
        return self.head(h).sum()


def near(positions: Tensor) -> Tensor:
    distance = torch.cdist(positions, positions) + 10 * CUTOFF * torch.eye(len(positions), device=positions.device)
    return (distance < CUTOFF).nonzero().t().contiguous()


def morse(positions: Tensor, edge_index: Tensor) -> Tensor:
    distance = (positions[edge_index[0]] - positions[edge_index[1]]).norm(dim=-1)
    return 0.1 * ((1 - torch.exp(1 - distance)) ** 2 * (CUTOFF - distance) ** 2).sum()


def forces(energy: Tensor, positions: Tensor, create_graph: bool = False) -> Tensor:
    return -torch.autograd.grad(energy, positions, create_graph=create_graph)[0]


def main() -> None:
    args = training.parser(epochs=20).parse_args()
    torch.manual_seed(0)
    samples = []
    for _ in range(20):
        positions = (5 * torch.rand(64, 3)).to(args.device).requires_grad_()
        edge_index = near(positions.detach())
        expected = forces(morse(positions, edge_index), positions)
        samples.append((torch.randint(0, 4, (64,), device=args.device), positions, edge_index, expected))
    model: nn.Module = Energy().to(args.device)
    if not args.eager:
        model = gnnc.compile(model, samples[0][:3])  # the line that was added
    optimizer = torch.optim.Adam(model.parameters(), lr=0.002)
    for epoch in range(args.epochs):
        started, total = time.perf_counter(), 0.0
        for kinds, positions, edge_index, expected in samples:
            optimizer.zero_grad()
            found = forces(model(kinds, positions, edge_index), positions, create_graph=True)
            loss = F.mse_loss(found, expected)
            loss.backward()
            optimizer.step()
            total += loss.item() / len(samples)
        spent = time.perf_counter() - started
        if epoch in (0, 1, args.epochs - 1):
            print(f"epoch {epoch}: loss of forces {total:.4f}, {spent:.3f} s")


if __name__ == "__main__":
    main()
