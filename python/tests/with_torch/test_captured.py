# Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
# See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What torch.compile(backend="gnnc") captures: numbers of Python, sizes of 0 and 1, and nothing to warn of."""

from __future__ import annotations

import unittest
import warnings
from collections.abc import Sequence
from typing import Any

import torch
import torch._dynamo
from torch import Tensor, nn

from gnnc.torch import _backend
from torch_modules import TorchTest, graph


class Dropping(nn.Module):
    """The probability is an attribute, which Dynamo would take for a number that may differ."""

    def __init__(self) -> None:
        super().__init__()
        self.lin, self.p = nn.Linear(3, 3), 0.5

    def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
        h = torch.zeros_like(x).index_add(0, edge_index[1], self.lin(x)[edge_index[0]])
        return torch.dropout(h, self.p, self.training)


class Bipartite(nn.Module):
    def forward(self, x: Tensor, edge_index: Tensor, targets: int, scale: float) -> tuple[Tensor, Tensor]:
        h = x.new_zeros(targets, x.size(1)).index_add(0, edge_index[1], x[edge_index[0]])
        return h * scale, h > 0


class CapturedTest(TorchTest):
    def setUp(self) -> None:
        super().setUp()
        torch._dynamo.reset()
        self.addCleanup(torch._dynamo.reset)

    def check(self, module: nn.Module, calls: Sequence[tuple[Any, ...]]) -> None:
        fast = torch.compile(module, backend=_backend.backend, dynamic=True)
        with warnings.catch_warnings():
            warnings.filterwarnings("error", message="gnnc")
            for x, *others in calls:
                given = [x.clone().requires_grad_() for _ in range(2)]
                found, expected = fast(given[0], *others), module(given[1], *others)
                self.assertClose(found, expected)
                for each in (found, expected):
                    (each[0] if isinstance(each, tuple) else each).sum().backward()
                torch.testing.assert_close(given[0].grad, given[1].grad)

    def test_floats_of_python(self) -> None:
        self.check(Dropping().eval(), [graph(6, 9), graph(8, 20)])

    def test_numbers_of_python(self) -> None:
        calls = []
        for nodes, targets, scale in ((6, 4, 0.5), (7, 9, 0.5), (5, 5, 2.0)):
            x, edge_index = graph(nodes, 8)
            calls.append((x, torch.stack([edge_index[0], edge_index[1] % targets]), targets, scale))
        self.check(Bipartite(), calls)

    def test_hardly_any_elements(self) -> None:
        sizes = ((0, 0), (6, 9), (1, 0), (5, 0), (1, 1), (4, 1))
        self.check(Dropping().eval(), [graph(nodes, edges) for nodes, edges in sizes])


if __name__ == "__main__":
    unittest.main()
