"""What models written in plain PyTorch share, as their authors write it."""

from __future__ import annotations

import torch
from torch import Tensor, nn


def mlp(*widths: int, act: type[nn.Module] = nn.ReLU, norm: bool = False) -> nn.Sequential:
    """Linear layers with activations between them, and a LayerNorm behind the last."""
    layers: list[nn.Module] = []
    for inputs, outputs in zip(widths, widths[1:]):
        layers += [nn.Linear(inputs, outputs), act()]
    layers.pop()
    return nn.Sequential(*layers, *([nn.LayerNorm(widths[-1])] if norm else []))


def scatter_sum(rows: Tensor, index: Tensor, count: int) -> Tensor:
    return rows.new_zeros(count, *rows.shape[1:]).index_add(0, index, rows)


def scatter_mean(rows: Tensor, index: Tensor, count: int) -> Tensor:
    members = rows.new_zeros(count).index_add(0, index, rows.new_ones(rows.shape[0]))
    return scatter_sum(rows, index, count) / members.clamp(min=1).view(-1, *[1] * (rows.dim() - 1))


class Radial(nn.Module):
    """Gaussians of distances."""

    def __init__(self, count: int, cutoff: float) -> None:
        super().__init__()
        self.register_buffer("centres", torch.linspace(0, cutoff, count))
        self.scale = -0.5 / (cutoff / (count - 1)) ** 2

    def forward(self, distance: Tensor) -> Tensor:
        return torch.exp(self.scale * (distance.unsqueeze(-1) - self.centres) ** 2)


class Bessel(nn.Module):
    """sin(n π d / c) / d."""

    def __init__(self, count: int, cutoff: float) -> None:
        super().__init__()
        self.register_buffer("frequencies", torch.arange(1, count + 1) * (torch.pi / cutoff))

    def forward(self, distance: Tensor) -> Tensor:
        distance = distance.unsqueeze(-1)
        return torch.sin(self.frequencies * distance) / distance
