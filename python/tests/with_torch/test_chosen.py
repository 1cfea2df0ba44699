# Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
# See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Places that a module computes, of axes of fixed size: classes, codebooks, gates, beside eager PyTorch."""

from __future__ import annotations

import unittest

import torch
import torch.nn.functional as F
from torch import Tensor, nn

import gnnc
from torch_modules import TorchTest, graph


def sums(x: Tensor, edge_index: Tensor) -> Tensor:
    return torch.zeros_like(x).index_add(0, edge_index[1], x[edge_index[0]])


class Classes(nn.Module):
    """Counts of the neighbours' best classes, and of rounded scores."""

    def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
        best = F.one_hot(x.argmax(1), 3).to(x.dtype)
        rounded = F.one_hot((x[:, 0].sigmoid() * 3).long(), 3)
        return sums(best * x, edge_index) + rounded * x.exp()


class Codebook(nn.Module):
    """Vectors are replaced by the nearest of eight, with the gradient passed straight through."""

    def __init__(self) -> None:
        super().__init__()
        self.book = nn.Embedding(8, 3)

    def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
        x = x + sums(x, edge_index).tanh()
        distance = (x.unsqueeze(1) - self.book.weight).square().sum(-1)
        code = self.book(distance.argmin(1))
        return x + (code - x).detach() + 0.25 * (code - x.detach()).square()


class Gates(nn.Module):
    """The two best of five experts by edge: masked softmax, and what they score chosen by place."""

    def __init__(self) -> None:
        super().__init__()
        self.gate, self.experts = nn.Linear(3, 5), nn.Parameter(torch.randn(5, 3))

    def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
        score = self.gate(x[edge_index[0]])
        best, place = score.topk(2, dim=-1)
        gates = torch.full_like(score, -1e9).scatter(-1, place, best).softmax(-1)
        chosen = (score.sigmoid().gather(-1, place).unsqueeze(-1) * self.experts[place]).sum(1)
        return x.new_zeros(x.shape).index_add(0, edge_index[1], gates @ self.experts + chosen)


class Orders(nn.Module):
    """Places of rows that may hold NaN, which PyTorch takes for the largest and for the smallest."""

    def forward(self, x: Tensor) -> tuple[Tensor, ...]:
        return x.argmax(1), x.argmin(1), x.max(1)[1], x.sort(1)[1], x.topk(2, 1)[1], x.argsort(1, descending=True)


class Bins(nn.Module):
    """A parameter for each bin of an edge's length; places from the end."""

    def __init__(self) -> None:
        super().__init__()
        self.table = nn.Parameter(torch.randn(2, 5))

    def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
        length = (x[edge_index[0]] - x[edge_index[1]]).square().sum(1).add(1e-3).sqrt()
        place = (2 * length).long().clamp(max=4)
        weight = self.table[0][place - 5] + self.table.index_select(1, place)[1]
        return torch.zeros_like(x).index_add(0, edge_index[1], weight.unsqueeze(1) * x[edge_index[0]])


class Ordered(nn.Module):
    """Features in order, weighted by where they were; one written where the smallest is."""

    def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
        values, places = x.sort(1, descending=True)
        y = x.scatter(1, x.argmin(1, keepdim=True), 1.0)
        return sums(values * (1 + places), edge_index) + y.square()


class Intervals(nn.Module):
    """Tables by the interval that a number is in; axes on their way to a product and back."""

    def __init__(self) -> None:
        super().__init__()
        self.table, self.lin = nn.Parameter(torch.randn(5, 3)), nn.Linear(3, 8)
        self.weight = nn.Parameter(torch.randn(2, 4, 5))
        self.register_buffer("bounds", torch.tensor([-1.0, -0.3, 0.3, 1.0]))

    def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
        inside = self.table[torch.bucketize(x, self.bounds)].sum(1)
        inside = inside + self.table[torch.searchsorted(self.bounds, x[:, 1].contiguous(), side="right")]
        heads = torch.bmm(self.lin(inside).view(-1, 2, 4).movedim(1, 0), self.weight)
        heads = heads.moveaxis(0, -1).swapaxes(1, 2).mT.movedim((1, 2), (2, 1)).swapdims(-1, -2)
        return sums(heads.reshape(x.shape[0], -1), edge_index) * x.sum(1, keepdim=True) / 64


class Kinds(nn.Module):
    """Edges of each kind into each node, counted and added up in a matrix of nodes and kinds."""

    def __init__(self) -> None:
        super().__init__()
        self.lin = nn.Linear(3, 1)

    def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
        source, target = edge_index
        kind = (source + target) % 3
        counts = x.new_zeros(x.shape).index_put((target, kind), x.new_ones(()), accumulate=True)
        weight = self.lin(x)[source, 0] / counts[target, kind].clamp(min=1)
        total = torch.zeros(x.shape[0], 3).index_put_((target, kind), weight, accumulate=True)
        vectors = torch.ones(x.shape[0], 3, 3).index_put((target, kind), x[source], accumulate=True)
        return total * vectors.sum(2) + vectors[:, 1]


class Labels(nn.Module):
    """Cross entropies of classes that the model computes, and of probabilities."""

    def __init__(self) -> None:
        super().__init__()
        self.lin = nn.Linear(3, 4)
        self.register_buffer("weight", torch.tensor([1.0, 2.0, 0.5, 3.0]))

    def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
        z = self.lin(sums(x, edge_index))
        own = F.cross_entropy(z, z.argmax(1), weight=self.weight, label_smoothing=0.1)
        others = F.nll_loss(z.log_softmax(1), x.argmax(1), ignore_index=2, reduction="sum")
        t = F.softmax(F.pad(x, (0, 1)), 1)
        return own + others + F.cross_entropy(z, t, self.weight, label_smoothing=0.2) + F.cross_entropy(z, t)


class Counted(nn.Module):
    """Means by the bins of bincount: as many as there are nodes, or as the largest target needs."""

    def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
        source, target = edge_index
        counts, fewer = torch.bincount(target, minlength=x.shape[0]), torch.bincount(target)
        return sums(x, edge_index) / counts.clamp(min=1)[:, None] + (x[source] / fewer[target][:, None]).mean()


class ChosenTest(TorchTest):
    def test_outputs_and_gradients(self) -> None:
        for make in (Classes, Codebook, Gates, Bins, Ordered, Intervals, Kinds, Labels, Counted):
            with self.subTest(make.__name__):
                module, fast = make(), None
                for nodes, edges in ((6, 14), (15, 40), (4, 5)):
                    x, edge_index = graph(nodes, edges, seed=nodes)
                    fast = fast or gnnc.compile(module, (x, edge_index))
                    found = []
                    for run in (fast, module):
                        leaf = x.clone().requires_grad_()
                        output = run(leaf, edge_index)
                        gradients = torch.autograd.grad(output.sin().sum(), [leaf, *module.parameters()])
                        found.append([output, *gradients])
                    self.assertClose(*found)

    def test_nan_is_the_largest_and_the_smallest(self) -> None:
        nan, inf = float("nan"), float("inf")
        x = torch.tensor([[1.0, nan, 2.0], [nan, nan, nan], [3.0, 3.0, 1.0], [-inf, -inf, -inf], [2.0, 5.0, nan]])
        found, wanted = gnnc.compile(Orders(), (torch.randn(5, 3),))(x), Orders()(x)
        for number, (own, other) in enumerate(zip(found, wanted, strict=True)):
            self.assertEqual(own.tolist(), other.tolist(), number)

    def test_pairs_both_ways(self) -> None:
        """Lists that torch gives sizes of their own."""

        class Both(nn.Module):
            def forward(self, x: Tensor, a: Tensor, b: Tensor, w: Tensor) -> tuple[Tensor, Tensor]:
                zeros = torch.zeros(x.shape[0], 4)
                there = zeros.index_put((a, b), w, accumulate=True)
                back = zeros.index_put((b, a), torch.tensor(1.0), accumulate=True)
                fixed = zeros.index_put((a, torch.tensor([2])), w, accumulate=True)
                return there * x + back + fixed, x[a]

        module, fast = Both(), None
        for nodes, pairs in ((5, 6), (7, 3), (4, 0)):
            a, b = (torch.randint(4, (pairs,)) for _ in range(2))
            arguments = torch.randn(nodes, 4), a, b, torch.randn(pairs)
            fast = fast or gnnc.compile(module, arguments)
            self.assertClose(fast(*arguments), module(*arguments))

    def test_extrema_that_were_masked(self) -> None:
        class Masked(nn.Module):
            def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
                score = x.masked_fill(x < 0.5, -float("inf"))
                place = score.topk(3, dim=1).indices
                return sums(torch.ones_like(x).scatter(1, place[:, :2], 0.0).cumsum(1), edge_index)

        x, edge_index = graph(9, 20)
        x[:, 0] = 1.0  # one at least is left
        x[:, 1:] = torch.tensor([0.1, 2.0])
        self.assertClose(gnnc.compile(Masked(), (x, edge_index))(x, edge_index), Masked()(x, edge_index))

    def test_rows_of_nodes_are_refused(self) -> None:
        class Nearest(nn.Module):
            def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
                return x[x.abs().sum(1).long()] + sums(x, edge_index)

        with self.assertRaisesRegex(gnnc.CompileError, "depends on computed numbers"):
            gnnc.compile(Nearest(), graph(6, 14))


class ColumnsTest(TorchTest):
    """A column for each row, x[rows, columns], of one and of several; places that are not there are an error."""

    def test_a_column_for_each_row(self) -> None:
        class Column(nn.Module):
            def forward(self, x: Tensor, columns: Tensor, edges: Tensor) -> Tensor:
                total = torch.zeros_like(x).index_add(0, edges[1], x[edges[0]])
                return total[torch.arange(x.shape[0]), columns]

        for width in (1, 3):
            x, columns = torch.randn(9, width).double(), torch.randint(0, width, (9,))
            edges = torch.randint(0, 9, (2, 20))
            fast = gnnc.compile(Column(), (x, columns, edges))
            self.assertTrue(torch.equal(fast(x, columns, edges), Column()(x, columns, edges)))
            with self.assertRaisesRegex(gnnc.Error, f"points to .*, but space .* has {width} elements"):
                fast(x, columns + width, edges)


if __name__ == "__main__":
    unittest.main()
