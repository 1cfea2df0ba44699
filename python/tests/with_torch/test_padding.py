# Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
# See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Folds along rows of equal length that see padding, such as linear attention within graphs, and dense adjacency matrices of
edges, beside eager."""

from __future__ import annotations

import copy
import unittest
from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch_geometric import nn as geometric
from torch_geometric.utils import to_dense_adj, to_dense_batch

import gnnc
from torch_modules import TorchTest


def batches(width: int = 4) -> list[tuple[Tensor, Tensor]]:
    """Rows of different lengths, of one length, and a graph without nodes."""
    found = []
    for sizes in ((3, 5, 2), (4, 4), (6, 0, 1, 2)):
        batch = torch.repeat_interleave(torch.arange(len(sizes)), torch.tensor(sizes))
        found.append((torch.randn(len(batch), width, dtype=torch.float64), batch))
    return found


class Folded(nn.Module):
    """Folds of what a layer with a bias makes of the rows."""

    def __init__(self, *folds: Callable[[Tensor, Tensor], Tensor], fill: float = 0.0) -> None:
        super().__init__()
        self.folds, self.fill, self.linear = folds, fill, nn.Linear(4, 6)

    def forward(self, x: Tensor, batch: Tensor) -> tuple[Tensor, ...]:
        rows, mask = to_dense_batch(x, batch, fill_value=self.fill)
        rows = self.linear(rows).tanh()
        return tuple(fold(rows, mask) for fold in self.folds)


FOLDS: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "sum": lambda rows, mask: rows.sum(1),
    "mean": lambda rows, mask: rows.mean(dim=1, keepdim=True).squeeze(1),
    "largest": lambda rows, mask: rows.amax(1),
    "smallest": lambda rows, mask: rows.min(1).values,
    "all": lambda rows, mask: rows.square().sum((0, 1)),
    "features too": lambda rows, mask: rows.sum((1, 2)),
    "masked": lambda rows, mask: (rows * mask[..., None]).sum(1) / mask.sum(1, keepdim=True).clamp(min=1),
    "filled": lambda rows, mask: rows.masked_fill(~mask[..., None], 0.5).exp().sum(1),
    "least where none": lambda rows, mask: rows.masked_fill(~mask[..., None], -1e9).amax(1).clamp(min=-2),
    "where": lambda rows, mask: torch.where(mask[..., None], rows, rows.square() + 1).sum(1),
    "parts": lambda rows, mask: torch.cat([rows[..., :2], rows.view(*rows.shape[:2], 2, 3).sum(-1)], -1).sum(1),
    "centred": lambda rows, mask: (rows - rows.mean(1, keepdim=True)).square().mean(1),
    "norms": lambda rows, mask: (rows / rows.norm(dim=-1, keepdim=True)).sum(1),
    "stacked": lambda rows, mask: torch.stack([rows, rows.square()], -1).sum((1, 3)),
    "spread": lambda rows, mask: rows.var(1) + rows.std(1, unbiased=False),
    "tiny": lambda rows, mask: 1e7 * rows.masked_fill(~mask[..., None], 1e-7).sum(1)
    - 2e7 * rows.masked_fill(~mask[..., None], 3e-7).sum(1),
    "back": lambda rows, mask: (rows * rows.sum(1, keepdim=True))[mask],
    "written": lambda rows, mask: _written(rows).sum(1),
    "ones": lambda rows, mask: torch.einsum("blf,bl->bf", rows, torch.ones(rows.shape[:2], dtype=rows.dtype)),
}


def _written(rows: Tensor) -> Tensor:
    rows = rows.clone()
    rows[rows > 0.3] = -1.0
    return rows


class Linear(nn.Module):
    """phi(q) (phi(k)^T v); `masks`: keys too, and not values alone."""

    def __init__(self, width: int, heads: int, masks: bool) -> None:
        super().__init__()
        self.heads, self.masks = heads, masks
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, 3)

    def forward(self, x: Tensor, batch: Tensor) -> Tensor:
        rows, mask = to_dense_batch(x, batch)
        B, N, D = rows.shape
        q, k, v = self.qkv(rows).view(B, N, 3, self.heads, D // self.heads).permute(2, 0, 3, 1, 4)
        q, k = F.elu(q) + 1, F.elu(k) + 1
        taken = mask[:, None, :, None].to(k.dtype)
        v = v * taken
        if self.masks:
            k = k * taken
        sums = torch.einsum("bhnd,bhne->bhde", k, v)
        scale = 1 / (torch.einsum("bhnd,bhd->bhn", q, k.sum(2)) + N)
        rows = torch.einsum("bhnd,bhde,bhn->bhne", q, sums, scale).transpose(1, 2).reshape(B, N, D)
        return self.out(rows[mask])


def of_graphs() -> list[tuple[Tensor, ...]]:
    """With edges, of which some are twice, and values of them."""
    found = []
    for x, batch in batches():
        start = torch.randint(len(batch), (5 * len(batch),))
        same = [(batch == batch[i]).nonzero().squeeze(1) for i in start]
        edges = torch.stack([start, torch.stack([each[torch.randint(len(each), ())] for each in same])])
        found.append((x, edges, batch, torch.rand(edges.size(1), 2, dtype=x.dtype)))
    return found


class Dense(nn.Module):
    """`use` of matrices of edges, and of rows."""

    def __init__(self, *uses: Callable[[Tensor, Tensor], Tensor], values: int | None = None) -> None:
        super().__init__()
        self.uses, self.values, self.linear = uses, values, nn.Linear(4, 3)

    def forward(self, x: Tensor, edges: Tensor, batch: Tensor, values: Tensor) -> tuple[Tensor, ...]:
        rows, mask = to_dense_batch(self.linear(x), batch)
        weights = None if self.values is None else values if self.values else values[:, 0]
        matrix = to_dense_adj(edges, batch, weights).to(x.dtype)
        found = [use(matrix, rows * mask[..., None]) for use in self.uses]
        return tuple(each[mask] if each.shape[:2] == mask.shape else each for each in found)


USES: tuple[Callable[[Tensor, Tensor], Tensor], ...] = (
    lambda matrix, rows: matrix @ rows,
    lambda matrix, rows: matrix.transpose(1, 2) @ rows.tanh(),
    lambda matrix, rows: rows.transpose(1, 2) @ matrix @ rows,
    lambda matrix, rows: matrix.sum(-1),
    lambda matrix, rows: matrix.sum(1),
    lambda matrix, rows: matrix.sum((1, 2)),
    lambda matrix, rows: torch.einsum("bij,bjf->bif", -matrix / 3, rows),
    lambda matrix, rows: (matrix * rows[..., :1]) @ rows,
    lambda matrix, rows: (matrix / matrix.sum(-1, keepdim=True).clamp(min=1)) @ rows,
    lambda matrix, rows: ((matrix + matrix.transpose(1, 2).transpose(1, 2)) @ rows).sum(1),
    lambda matrix, rows: (torch.eye(rows.size(1), dtype=rows.dtype) * rows[..., :1]) @ rows,
)


class Padding(TorchTest):
    def test_sums_of_exponentials(self) -> None:
        """Of graphs that have nodes: PyTorch's softmax of none is not a number."""
        folds = (
            lambda rows, mask: rows.masked_fill(~mask[..., None], -torch.inf).logsumexp(1),
            lambda rows, mask: (rows.masked_fill(~mask[..., None], -torch.inf).softmax(1) * rows).sum(1),
        )
        graphs = [graph for graph in batches() if graph[1].bincount().min() > 0]
        self.assertLikeEager(Folded(*folds).double(), graphs, 1e-9)

    def test_fillings_that_differ_a_little(self) -> None:
        class Two(nn.Module):
            def forward(self, x: Tensor, batch: Tensor) -> Tensor:
                first, second = (to_dense_batch(x, batch, fill_value=fill)[0] for fill in (1e-7, 3e-7))
                return 1e7 * (first.sum(1) + 2 * second.sum(1)) + x.sum()

        self.assertLikeEager(Two(), batches(), 1e-6)

    def test_statistics_of_batches(self) -> None:
        """As PyTorch Geometric's dense networks have them; running statistics too."""

        class Net(nn.Module):
            def __init__(self) -> None:
                super().__init__()
                self.linear, self.norm, self.other = nn.Linear(4, 6), nn.BatchNorm1d(6), nn.BatchNorm1d(6)

            def forward(self, x: Tensor, batch: Tensor) -> Tensor:
                rows, mask = to_dense_batch(x, batch)
                rows = self.norm(self.linear(rows).view(-1, 6)).view(*mask.shape, 6).relu()
                return self.other(rows.transpose(1, 2)).transpose(1, 2)[mask]

        module = Net().double().train()
        eager = copy.deepcopy(module)
        fast = gnnc.compile(module, batches()[0])
        for x, batch in batches():
            self.assertClose(fast(x, batch).detach(), eager(x, batch).detach(), 1e-9)
            self.assertClose(list(module.buffers()), list(eager.buffers()), 1e-9)

    def test_matrices_of_edges(self) -> None:
        for values in (None, 0):
            with self.subTest(values=values):
                self.assertLikeEager(Dense(*USES, values=values).double(), of_graphs(), 1e-9)
        ofSeveral = Dense(lambda matrix, rows: torch.einsum("bijk,bjf->bifk", matrix, rows), values=1)
        self.assertLikeEager(ofSeveral.double(), of_graphs(), 1e-9)

    def test_pooling_of_dense_graphs(self) -> None:
        class Net(nn.Module):
            def __init__(self, dmon: bool) -> None:
                super().__init__()
                self.dmon, self.assign = dmon, nn.Linear(4, 3)
                self.pool, self.conv = geometric.DMoNPooling([4, 5], 3), geometric.DenseGraphConv(4, 2)

            def forward(self, x: Tensor, edges: Tensor, batch: Tensor, values: Tensor) -> tuple[Tensor, Tensor]:
                rows, mask = to_dense_batch(x, batch)
                matrix = to_dense_adj(edges, batch).to(x.dtype)
                if self.dmon:
                    _, rows, matrix, *losses = self.pool(rows, matrix, mask)
                else:
                    rows, matrix, *losses = geometric.dense_mincut_pool(rows, matrix, self.assign(rows), mask)
                return self.conv(rows, matrix).mean(1), sum(losses)

        graphs = [graph for graph in of_graphs() if graph[2].bincount().min() > 0]
        for dmon in (True, False):
            with self.subTest(dmon=dmon):
                self.assertLikeEager(Net(dmon).eval().double(), graphs, 1e-8)

    def test_biases_and_masks_of_attention(self) -> None:
        """Matrices of edges, of which some are twice, meet the scores of all pairs."""

        class Attending(nn.Module):
            def __init__(self, how: str) -> None:
                super().__init__()
                self.how, self.qkv, self.bias = how, nn.Linear(4, 12), nn.Linear(2, 2)

            def forward(self, x: Tensor, edges: Tensor, batch: Tensor, values: Tensor) -> Tensor:
                rows, mask = to_dense_batch(x, batch)
                q, k, v = self.qkv(rows).unflatten(-1, (3, 2, 2)).permute(2, 0, 3, 1, 4)
                scores, keys = q @ k.transpose(-1, -2), ~mask[:, None, None]
                if self.how == "of edges":
                    scores = scores + to_dense_adj(edges, batch, self.bias(values)).permute(0, 3, 1, 2)
                elif self.how == "after the mask":
                    bias = to_dense_adj(edges, batch, values[:, 0])[:, None]
                    return self.taken((scores.masked_fill(keys, -torch.inf) + bias).softmax(-1) @ v, mask)
                elif self.how == "where there is an edge":
                    matrix = to_dense_adj(edges, batch)[:, None]
                    scores = torch.where(matrix > 1, scores.tanh(), scores).masked_fill(matrix == 0, -5.0)
                else:
                    bias = to_dense_adj(edges, batch, self.bias(values)).permute(0, 3, 1, 2)
                    bias = bias.masked_fill(keys, -torch.inf)
                    return self.taken(F.scaled_dot_product_attention(q, k, v, bias), mask)
                return self.taken(scores.masked_fill(keys, -torch.inf).softmax(-1) @ v, mask)

            @staticmethod
            def taken(rows: Tensor, mask: Tensor) -> Tensor:
                return rows.transpose(1, 2).flatten(2)[mask]

        graphs = [graph for graph in of_graphs() if graph[2].bincount().min() > 0]  # PyTorch's softmax of none is no number
        for how in ("of edges", "after the mask", "where there is an edge", "of attention"):
            with self.subTest(how):
                self.assertLikeEager(Attending(how).double(), graphs, 1e-9)

    def test_what_knows_pairs_without_edges_is_refused(self) -> None:
        for use in (
            lambda matrix, rows: (matrix + 1) @ rows,
            lambda matrix, rows: matrix.exp().sum(-1),
            lambda matrix, rows: matrix @ matrix @ rows,
            lambda matrix, rows: (matrix * matrix).sum((1, 2)),
            lambda matrix, rows: (matrix - rows @ rows.transpose(1, 2)).square().sum((1, 2)),
            lambda matrix, rows: (matrix > 0).to(rows.dtype) @ rows,
            lambda matrix, rows: matrix.amax(-1),
            lambda matrix, rows: matrix.softmax(-1) @ rows,
        ):
            with self.assertRaisesRegex(gnnc.CompileError, "dense adjacency matrix|behind their elements"):
                gnnc.compile(Dense(use).double(), of_graphs()[0])


    def test_folds(self) -> None:
        for fill in (0.0, 0.7):
            with self.subTest(fill=fill):
                self.assertLikeEager(Folded(*FOLDS.values(), fill=fill).double(), batches(), 1e-9)

    def test_linear_attention(self) -> None:
        """Also with matrices that are large enough to be multiplied as such (32 and more)."""
        for width, heads in ((8, 2), (64, 2)):
            for masks in (True, False):
                with self.subTest(width=width, masks=masks):
                    self.assertLikeEager(Linear(width, heads, masks).double(), batches(width), 1e-9)

    def test_attention_of_other_authors(self) -> None:
        class Net(nn.Module):
            def __init__(self, attention: nn.Module) -> None:
                super().__init__()
                self.attention = attention

            def forward(self, x: Tensor, batch: Tensor) -> Tensor:
                rows, mask = to_dense_batch(x, batch)
                return self.attention(rows, mask)[mask]

        for attention in (
            geometric.attention.PolynormerAttention(8, 2, 4, qk_shared=False),
            geometric.attention.PerformerAttention(8, 2, 4, qkv_bias=True),
        ):
            with self.subTest(type(attention).__name__):
                self.assertLikeEager(Net(attention.eval()).double(), batches(8), 1e-9)
        # It makes ones of 32 bits.
        self.assertLikeEager(Net(geometric.attention.SGFormerAttention(8, 2, 4, qkv_bias=True)), batches_of_32_bits(), 1e-4)

    def test_what_would_see_padding_is_refused(self) -> None:
        for fold in (
            lambda rows, mask: rows.softmax(1).sum(1),
            lambda rows, mask: rows.cumsum(1)[mask],
            lambda rows, mask: rows.sum(0).sum(0),
            lambda rows, mask: rows.logsumexp(1),
        ):
            with self.assertRaisesRegex(gnnc.CompileError, "rows of equal length"):
                gnnc.compile(Folded(fold).double(), batches()[0])


def batches_of_32_bits() -> list[tuple[Tensor, Tensor]]:
    return [(x.float(), batch) for x, batch in batches(8)]


if __name__ == "__main__":
    unittest.main()
