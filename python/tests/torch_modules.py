# Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
# See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Modules that the tests compile, in plain PyTorch."""

from __future__ import annotations

import tempfile
import unittest
from pathlib import Path
from unittest import mock

import torch
from torch import Tensor, nn

from gnnc import _cache, _compiler


class Conv(nn.Module):
    """relu of the sum over the edges into each node of W x, plus b."""

    def __init__(self, inputs: int = 3, outputs: int = 2, dtype: torch.dtype | None = None) -> None:
        super().__init__()
        self.lin = nn.Linear(inputs, outputs, bias=False, dtype=dtype)
        self.bias = nn.Parameter(torch.randn(outputs, dtype=dtype))

    def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
        messages = self.lin(x).index_select(0, edge_index[0])
        sums = messages.new_zeros(x.shape[0], messages.shape[1]).index_add(0, edge_index[1], messages)
        return torch.sigmoid(sums + self.bias)


class Pair(nn.Module):
    """Two outputs, of which one is linear in the edges' weights, and one is a dict's value."""

    def __init__(self) -> None:
        super().__init__()
        self.scale = nn.Parameter(torch.tensor([1.0, 2.0, 3.0]))

    def forward(self, x: Tensor, edge_index: Tensor, edge_weight: Tensor | None = None) -> dict[str, Tensor]:
        messages = x.index_select(0, edge_index[0])
        if edge_weight is not None:
            messages = messages * edge_weight.view(-1, 1)
        sums = torch.zeros_like(x).index_add(0, edge_index[1], messages)
        return {"sums": sums, "scaled": sums * self.scale}


def graph(
    nodes: int, edges: int, width: int = 3, seed: int = 0, dtype: torch.dtype | None = None
) -> tuple[Tensor, Tensor]:
    """Features and an edge list, both random."""
    generator = torch.Generator().manual_seed(seed)
    x = torch.randn(nodes, width, generator=generator, dtype=dtype)
    return x, torch.randint(0, max(nodes, 1), (2, edges), generator=generator)


class TorchTest(unittest.TestCase):
    """Compiles into a cache of its own."""

    folder: tempfile.TemporaryDirectory[str]

    @classmethod
    def setUpClass(cls) -> None:
        cls.folder = tempfile.TemporaryDirectory()
        cls.patch = mock.patch.object(_compiler, "cache_folder", lambda: Path(cls.folder.name))
        cls.patch.start()

    @classmethod
    def tearDownClass(cls) -> None:
        cls.patch.stop()
        cls.folder.cleanup()

    def setUp(self) -> None:
        torch.manual_seed(0)
        _cache.graphs.clear()

    def assertClose(self, found: object, expected: object, tolerance: float = 1e-5) -> None:
        torch.testing.assert_close(found, expected, rtol=tolerance, atol=tolerance)
