# Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
# See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Matrices of torch.sparse, as arguments and of the module."""

from __future__ import annotations

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

import gnnc
from torch_modules import TorchTest


def matrix(rows: int, columns: int, entries: int, seed: int = 0) -> Tensor:
    """Some of the entries have one place."""
    g = torch.Generator().manual_seed(seed)
    places = [torch.randint(size, (entries,), generator=g) for size in (rows, columns)]
    return torch.sparse_coo_tensor(torch.stack(places), torch.rand(entries, generator=g), (rows, columns))


class Convolutions(nn.Module):
    """As the authors of the GCN publish it."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Parameter(torch.randn(8, 16) * 0.3), nn.Parameter(torch.randn(16, 4) * 0.3)

    def forward(self, x: Tensor, adjacency: Tensor) -> Tensor:
        h = torch.spmm(adjacency, torch.mm(x, self.first)).relu()
        h = F.dropout(h, 0.5, self.training)
        return F.log_softmax(adjacency @ (h @ self.second), dim=1)


class Forms(nn.Module):
    def forward(self, a: Tensor, x: Tensor) -> Tensor:
        y = torch.sparse.mm(a.t(), x) + torch.sparse.addmm(x, a, x, beta=0.5) + a.mm(x) * 2 + (a * 3) @ x
        return y + torch.mv(a, x[:, 0])[:, None] + torch.addmm(x, a.coalesce(), x, alpha=2.0)


class Embeddings(nn.Module):
    """A matrix that the module has: as an attribute, as a buffer, or in a list."""

    def __init__(self, how: str) -> None:
        super().__init__()
        self.table = nn.Embedding(40, 8)
        if how == "buffer":
            self.register_buffer("adjacency", matrix(40, 40, 200))
        else:
            self.adjacency = [matrix(40, 40, 200)] if how == "list" else matrix(40, 40, 200)

    def forward(self, users: Tensor, items: Tensor) -> Tensor:
        h = self.table.weight
        layers = [h]
        for _ in range(2):
            h = torch.sparse.mm(self.adjacency[0] if isinstance(self.adjacency, list) else self.adjacency, h)
            layers.append(h)
        h = torch.stack(layers, 1).mean(1)
        return (h[users] * h[items]).sum(1)


class SparseTest(TorchTest):
    def compare(self, module: nn.Module, fast: nn.Module, *given: Tensor) -> None:
        found = []
        for run in (module, fast):
            torch.manual_seed(0)
            y = run(*given)
            parameters = list(module.parameters())
            found.append([y, *torch.autograd.grad(y.sin().sum(), parameters)] if parameters else [y])
        for expected, own in zip(*found):
            torch.testing.assert_close(own, expected, rtol=1e-4, atol=1e-4)

    def test_arguments(self) -> None:
        module = Convolutions()
        fast = gnnc.compile(module)
        for nodes in (20, 30, 30):
            adjacency = matrix(nodes, nodes, 4 * nodes)
            for each in (adjacency, adjacency.coalesce(), adjacency.to_sparse_csr()):
                self.compare(module, fast, torch.randn(nodes, 8), each)
        self.assertEqual(repr(fast).count("kernels"), 1)

    def test_forms(self) -> None:
        fast = gnnc.compile(Forms())
        for nodes in (20, 25):
            self.compare(Forms(), fast, matrix(nodes, nodes, 60), torch.randn(nodes, 5))
        product: Callable[..., Tensor] = torch.matmul
        module = self.of(product)
        fast = gnnc.compile(module)
        for rows in (20, 25):
            self.compare(module, fast, matrix(rows, 2 * rows, 70), torch.randn(2 * rows, 5))
        self.assertEqual(repr(fast).count("kernels"), 1)

    def test_of_the_module(self) -> None:
        for how in ("attribute", "buffer", "list"):
            with self.subTest(how):
                module = Embeddings(how)
                fast = gnnc.compile(module)
                names = list(module.state_dict())
                given = torch.randint(40, (2, 17))
                self.compare(module, fast, *given)
                self.compare(module, fast, *torch.randint(40, (2, 9)))
                other = matrix(40, 40, 100, seed=5)
                module.adjacency = [other] if how == "list" else other
                self.compare(module, fast, *given)
                other._values().mul_(2)
                self.compare(module, fast, *given)
                self.assertEqual(list(module.state_dict()), names)
                own = module.adjacency[0] if how == "list" else module.adjacency
                self.assertIs(own, other)

    def test_what_is_refused(self) -> None:
        fast = gnnc.compile(self.of(torch.mm))
        fast(matrix(7, 7, 9), torch.ones(7, 3))
        with self.assertRaisesRegex(gnnc.Error, r"'x': expected shape \[5, 3\], found \[7, 3\]"):
            fast(matrix(5, 5, 9), torch.ones(7, 3))
        with self.assertRaisesRegex(gnnc.Error, "a sparse matrix of 5 columns is multiplied with 7 rows"):
            fast(matrix(7, 5, 9), torch.ones(7, 3))
        with self.assertRaisesRegex(gnnc.Error, "'to_dense' of a sparse matrix is not supported"):
            gnnc.compile(self.of(lambda a, x: a.to_dense() @ x), (matrix(6, 6, 9), torch.ones(6, 3)))
        with self.assertRaisesRegex(gnnc.Error, "an argument is a sparse matrix, which gnnc does not take"):
            gnnc.compile(self.of(torch.mm), (matrix(6, 6, 9).requires_grad_(), torch.ones(6, 3)))

    @staticmethod
    def of(function: Callable[..., Tensor]) -> nn.Module:
        class Function(nn.Module):
            def forward(self, a: Tensor, x: Tensor) -> Tensor:
                return function(a, x)

        return Function()
