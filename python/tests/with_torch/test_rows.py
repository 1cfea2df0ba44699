# Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
# See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Rows of classes beside those of nodes, rows of several tensors in one list, halves, rolls and convolutions at each place,
beside eager: as PyTorch exports them, and in its core operators."""

from __future__ import annotations

import unittest

import torch
from torch import Tensor, nn

import gnnc
from torch_modules import Of, TorchTest, graphs

CHOSEN = torch.tensor([True, False, True, True])


def of_classes(x: Tensor, classes: Tensor) -> Tensor:
    return torch.zeros(3, 4).index_add(0, classes, x)


def sums_of(x: Tensor, edges: Tensor) -> Tensor:
    return torch.zeros_like(x).index_add(0, edges[1], x[edges[0]])


def products(x: Tensor, edges: Tensor, classes: Tensor, types: Tensor) -> Tensor:
    return sums_of(x, edges) @ of_classes(x, classes).t()


def differences(x: Tensor, edges: Tensor, classes: Tensor, types: Tensor) -> Tensor:
    count = torch.zeros(3).index_add(0, classes, torch.ones(x.size(0))).clamp(min=1)
    return (x[:, None] - (of_classes(x, classes) / count[:, None])[None]).pow(2).sum(-1)


def by_letters(x: Tensor, edges: Tensor, classes: Tensor, types: Tensor) -> Tensor:
    return torch.einsum("nf,kf->nk", x, of_classes(x.sin(), classes))


def of_all_classes(x: Tensor, edges: Tensor, classes: Tensor, types: Tensor) -> Tensor:
    rows = of_classes(x, classes)
    return x + (rows[:, None] - rows[None]).pow(2).sum(-1).neg().exp().mean()


def there_and_back(x: Tensor, edges: Tensor, classes: Tensor, types: Tensor) -> Tensor:
    rows = of_classes(x, classes)
    return (x * rows[classes]).sum(-1) + torch.logsumexp(x @ rows.t() / 8, -1)


def distances(x: Tensor, edges: Tensor, classes: Tensor, types: Tensor) -> tuple[Tensor, Tensor]:
    return torch.cdist(x, of_classes(x, classes)), torch.cdist(x, torch.arange(8.0).view(2, 4), p=1.0)


def of_types(x: Tensor, edges: Tensor, classes: Tensor, types: Tensor) -> Tensor:
    return torch.zeros(x.size(0), 2).index_add(0, edges[1], x.view(-1, 2, 2).reshape(-1, 2)[edges[0] * 2 + types])


def types_first(x: Tensor, edges: Tensor, classes: Tensor, types: Tensor) -> Tensor:
    rows = torch.stack([x, x.sin()]).view(-1, 4)
    return torch.zeros_like(x).index_add(0, edges[1], rows[types * x.size(0) + edges[0]])


def any_place(x: Tensor, edges: Tensor, classes: Tensor, types: Tensor) -> Tensor:
    return x.view(-1, 2)[(edges[0] * 2 + types + 1) % (2 * x.size(0))]


def both_ends(x: Tensor, edges: Tensor, classes: Tensor, types: Tensor) -> Tensor:
    sources, targets = x[edges.view(-1)].view(2, -1, 4)
    return torch.zeros_like(x).index_add(0, edges[1], sources * targets.sin())


def half(x: Tensor, edges: Tensor, classes: Tensor, types: Tensor) -> tuple[Tensor, Tensor]:
    return x[: x.size(0) // 2] * 2, x[x.size(0) // 3 :].sum(0) + x


def along_columns(x: Tensor, edges: Tensor, classes: Tensor, types: Tensor) -> Tensor:
    return torch.zeros(4, x.size(0)).index_add(1, edges[1], x[edges[0]].t()).t()


def into_one(x: Tensor, edges: Tensor, classes: Tensor, types: Tensor) -> Tensor:
    return torch.zeros(1, 4).index_add(0, torch.zeros(1, dtype=torch.long), x.sum(0)[None])


def rolled(x: Tensor, edges: Tensor, classes: Tensor, types: Tensor) -> tuple[Tensor, Tensor]:
    targets, rows = edges[1].roll(1), x.view(-1, 2, 2).roll((1, -1), (1, 0)).flatten(1)
    return torch.zeros_like(x).index_add(0, targets, x[edges[0]].roll(-2, 0)), rows


def towards_zero(x: Tensor, edges: Tensor, classes: Tensor, types: Tensor) -> Tensor:
    places = torch.div(edges[0] - 3, 2, rounding_mode="trunc").abs(), torch.fmod(edges[1] - 4, 3).abs()
    return x[places[0]] * x[places[1]].sin()


def in_order(x: Tensor, edges: Tensor, classes: Tensor, types: Tensor) -> Tensor:
    targets, order = torch.sort(edges[1])
    return torch.zeros_like(x).index_add(0, targets, x[edges[0][order]])


def written_columns(x: Tensor, edges: Tensor, classes: Tensor, types: Tensor) -> Tensor:
    y = sums_of(x, edges)
    y[:, CHOSEN] = x[:, :1] * 2
    y[:, [1, -1]] += x.sin()[:, 1:3]
    y[:, torch.arange(4) % 3 == 1] = 0.5
    return y.index_copy(1, torch.tensor([3, 0]), x[:, 2:]).cos()


def copied_places(x: Tensor, edges: Tensor, classes: Tensor, types: Tensor) -> Tensor:
    return x[:, None].expand(-1, 2, -1).reshape(-1, 4)[edges[0] * 2 + edges[1] % 4 - (edges[1] % 4 > 1) * 2]


def negative_columns(x: Tensor, edges: Tensor, classes: Tensor, types: Tensor) -> tuple[Tensor, Tensor]:
    kept, inverse = torch.unique(edges % 5 - 2, dim=1, return_inverse=True)
    return x[kept[0] + 2] * x[(kept[1] + 2).clamp(max=x.size(0) - 1)].sin(), torch.zeros(kept.size(1)).index_add(0, inverse, x[edges[0], 0])


def missing(x: Tensor, edges: Tensor, classes: Tensor, types: Tensor) -> Tensor:
    x = torch.where(x > 1, x / x, x)
    return torch.where(torch.isnan(x), torch.nan, x * 2) + x.masked_fill(x != x, torch.nan)


def written_from_the_end(x: Tensor, edges: Tensor, classes: Tensor, types: Tensor) -> Tensor:
    y = x * 2
    y[[-1, 0]] = 5.0
    y[torch.tensor([-2])] = x[:1]
    return y.sin()


def without_copies(x: Tensor, edges: Tensor, classes: Tensor, types: Tensor) -> tuple[Tensor, Tensor]:
    kept, inverse, counts = torch.unique(edges, dim=1, return_inverse=True, return_counts=True)
    weights = torch.zeros(counts.size(0)).index_add(0, inverse, x[edges[0], 0]) / counts
    return torch.zeros_like(x).index_add(0, kept[1], x[kept[0]]), weights


def columns(x: Tensor, edges: Tensor, classes: Tensor, types: Tensor) -> tuple[Tensor, Tensor]:
    return x[:, CHOSEN] * 2, x.view(-1, 2, 2).repeat_interleave(3, dim=1)


CASES = (products, differences, by_letters, of_all_classes, there_and_back, distances, of_types, types_first, any_place)
CASES += (both_ends, half, along_columns, into_one, rolled, towards_zero, in_order, columns, without_copies)
CASES += (written_columns, copied_places, negative_columns, missing, written_from_the_end)


class Layers(nn.Module):
    """Convolutions at each place and along one of two axes, and a form of two vectors."""

    def __init__(self) -> None:
        super().__init__()
        self.place, self.form = nn.Conv2d(2, 3, 1), nn.Bilinear(4, 4, 2)
        self.steps, self.rows = nn.Conv2d(2, 4, (1, 2), groups=2, padding=(0, 1)), nn.Conv2d(2, 3, (2, 1), stride=(2, 1))

    def forward(self, x: Tensor, edges: Tensor, classes: Tensor, types: Tensor) -> tuple[Tensor, ...]:
        places = x.view(-1, 2, 2, 1)
        found = [self.place(places), self.steps(places.transpose(2, 3)), self.rows(places)]
        return *[each.flatten(1) for each in found], self.form(x[edges[0]], x[edges[1]])


class RowsTest(TorchTest):
    def test_cases(self) -> None:
        for module in (*map(Of, CASES), Layers()):
            with self.subTest(module.function.__name__ if isinstance(module, Of) else "layers"):
                self.assertLikeEager(module, graphs(((9, 20), (14, 31), (5, 12), (2, 0)), 3, 2))

    def test_cases_in_core_operators(self) -> None:
        for module in (*map(Of, CASES), Layers()):
            with self.subTest(module.function.__name__ if isinstance(module, Of) else "layers"):
                self.assertLikeEagerInCore(module, graphs(((9, 20), (14, 31), (5, 12), (2, 0)), 3, 2))

    def test_as_many_bins_as_the_largest_number_says(self) -> None:
        def bins_last(x: Tensor, batch: Tensor) -> Tensor:
            sums = torch.zeros(int(batch.max()) + 1, 4).index_add(0, batch, x)
            return sums / torch.bincount(batch)[:, None]

        def bins_first(x: Tensor, batch: Tensor) -> Tensor:
            count = torch.bincount(batch)
            return torch.zeros(int(batch.max()) + 1, 4).index_add(0, batch, x) / count[:, None]

        for function in (bins_last, bins_first):
            self.assertLikeEager(Of(function), ((torch.randn(n, 4), torch.arange(n) * 3 // n) for n in (9, 14, 5)))

    def test_self_loops_in_matrices_of_a_fixed_size(self) -> None:
        def propagated(x: Tensor, adjacency: Tensor) -> Tensor:
            adjacency = adjacency.clone()
            every = torch.arange(5)
            adjacency[:, every, every] = 1
            adjacency[:, [0, -1], [2, 3]] = 0.5
            scale = adjacency.sum(-1).clamp(min=1).pow(-0.5)
            return scale[..., None] * adjacency * scale[:, None] @ x

        given = [(torch.randn(n, 5, 4), (torch.rand(n, 5, 5) < 0.4).float()) for n in (4, 2, 9)]
        self.assertLikeEager(Of(propagated), given)
        self.assertLikeEagerInCore(Of(propagated), given)

    def test_known_pairs_that_are_no_two_lists_are_refused(self) -> None:
        chosen, two = torch.tensor([True, False, True, False]), torch.arange(2)

        def by_masks(x: Tensor) -> Tensor:
            x = x.clone()
            x[:, chosen, chosen] = 7.0
            return x

        def by_rows_and_columns(x: Tensor) -> Tensor:
            x = x.clone()
            x[:, two[:, None], two[None, :]] = 7.0
            return x

        for function in (by_masks, by_rows_and_columns):
            with self.assertRaises(gnnc.CompileError):
                gnnc.compile(Of(function), (torch.randn(5, 4, 4),))

    def test_rows_of_two_kinds(self) -> None:
        def pairs(x: Tensor, y: Tensor) -> Tensor:
            return (x @ y.t()).sum(1)

        given = torch.randn(5, 4), torch.randn(7, 4)
        torch.testing.assert_close(gnnc.compile(Of(pairs), given)(*given), pairs(*given))


    def test_bilinear_forms_of_one_batch(self) -> None:
        class Discriminator(nn.Module):
            def __init__(self) -> None:
                super().__init__()
                self.form, self.lin = nn.Bilinear(4, 4, 1), nn.Linear(4, 4)

            def forward(self, x: Tensor, edges: Tensor) -> Tensor:
                rows = sums_of(self.lin(x), edges)[None]
                whole = torch.sigmoid(rows.mean(1))
                return self.form(rows, whole[:, None].expand_as(rows)).squeeze(2)

        self.compare(Discriminator())

    def test_parts_of_a_table_of_parameters(self) -> None:
        """Of users and items, as LightGCN has them; an axis of all rows would be a product of the table with itself."""

        class Tables(nn.Module):
            def __init__(self) -> None:
                super().__init__()
                self.users, self.items = nn.Parameter(torch.randn(70, 4)), nn.Parameter(torch.randn(90, 4))

            def forward(self, x: Tensor, edges: Tensor, users: Tensor, items: Tensor) -> Tensor:
                h = torch.cat([self.users, self.items])
                h = h + torch.zeros_like(h).index_add(0, edges[1], h[edges[0]])
                u, i = torch.split(h, [70, 90])
                return (u[users] * i[items]).sum(-1) + x

        def given(count: int) -> tuple[Tensor, ...]:
            return torch.randn(count), torch.randint(160, (2, 5 * count)), torch.randint(70, (count,)), torch.randint(90, (count,))

        self.assertLikeEager(Tables(), [given(30), given(41)], 1e-5)

    def test_rows_of_parameters_as_often_as_numbers_say(self) -> None:
        """Of a table of few rows each is repeated as often as there are graphs, or as often as its number says."""

        class Repeated(nn.Module):
            def __init__(self, each: bool) -> None:
                super().__init__()
                self.each, self.table = each, nn.Embedding(3, 4)

            def forward(self, x: Tensor, counts: Tensor, batch: Tensor) -> Tensor:
                times = counts.long() if self.each else counts.size(0)
                rows = torch.cat([x, self.table.weight.repeat_interleave(times, 0)])
                return x.square() * rows[x.size(0) + batch]

        for each in (False, True):
            torch.manual_seed(0)
            module = Repeated(each)
            fast = gnnc.compile(module)
            for nodes, counts in ((9, [2, 1, 3]), (7, [300, 0, 1]), (12, [1, 1, 4])):
                if not each:
                    counts = counts[:1] * (nodes - 5)
                arguments = torch.randn(nodes, 4), torch.tensor(counts), torch.arange(nodes) % 4
                found = []
                for run in (fast, module):
                    module.zero_grad()
                    result = run(*arguments)
                    result.sum().backward()
                    found.append([result, module.table.weight.grad])
                self.assertClose(found[0], found[1], 1e-5)

    def test_rows_that_are_zeros_at_first(self) -> None:
        class Steps(nn.Module):
            """Of each element the states of three others, by a flat list of their numbers."""

            def __init__(self) -> None:
                super().__init__()
                self.lin = nn.Linear(4, 4)

            def forward(self, x: Tensor, edges: Tensor) -> Tensor:
                table = torch.stack([edges[0], edges[1], edges[0]], 1)
                state = torch.zeros(edges.size(1), 4)
                for _ in range(2):
                    others = state.index_select(0, (table % edges.size(1)).view(-1)).view(edges.size(1), 3, 4)
                    state = torch.tanh(x[edges[0]] + self.lin(others).sum(1))
                return state

        self.compare(Steps())

    def compare(self, module: nn.Module) -> None:
        for nodes, edges in ((9, 20), (12, 31)):
            arguments = torch.randn(nodes, 4), torch.randint(0, nodes, (2, edges))
            compiled = gnnc.compile(module, arguments)
            expected, found = module(*arguments), compiled(*arguments)
            torch.testing.assert_close(found, expected)
            wanted = torch.autograd.grad(expected.sin().sum(), list(module.parameters()))
            grads = torch.autograd.grad(found.sin().sum(), list(module.parameters()))
            torch.testing.assert_close(grads, wanted, rtol=1e-4, atol=1e-5)


if __name__ == "__main__":
    unittest.main()
