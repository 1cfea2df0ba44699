# Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
# See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Branches on sizes that follow from numbers of the graph."""

from __future__ import annotations

import copy
import tempfile
import unittest
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest import mock

import torch
from torch import Tensor, nn
from torch_geometric.nn import GATConv, LSTMAggregation, RGATConv, SetTransformerAggregation, SortAggregation

import gnnc
from gnnc import _compiler
from torch_modules import Of, TorchTest


class Kinds(nn.Module):
    """What is done for a kind depends on whether there are nodes of it."""

    def __init__(self) -> None:
        super().__init__()
        self.linear, self.weight = nn.Linear(3, 3), nn.Parameter(torch.randn(3, 3))

    def forward(self, x: Tensor, kind: Tensor) -> tuple[Tensor, Tensor]:
        out = torch.zeros_like(x)
        for k in range(3):
            mask = kind == k
            if x[mask].size(0) > 0:
                out = out.index_add(0, mask.nonzero().squeeze(1), self.linear(x[mask]) * self.weight[k])
            else:
                out = out + self.weight[k]
        return out, x.square()


class Sorted(nn.Module):
    def forward(self, x: Tensor, batch: Tensor) -> Tensor:
        if (batch[1:] < batch[:-1]).any():
            raise ValueError("expected a sorted batch")
        return torch.zeros_like(x).index_add(0, batch, x.tanh())


class Cut(nn.Module):
    """Edges with low scores are left out, and layers ask whether any are left. `otherwise`: what is there of none."""

    def __init__(self, otherwise: float | None = None) -> None:
        super().__init__()
        self.score, self.otherwise = nn.Linear(8, 1), otherwise
        self.layer, self.out = GATConv(4, 3, heads=2, add_self_loops=False), nn.Linear(6, 2)

    def forward(self, x: Tensor, edges: Tensor) -> Tensor:
        score = self.score(torch.cat([x[edges[0]], x[edges[1]]], -1)).squeeze(-1)
        kept = edges[:, score > 0.2]
        if self.otherwise is not None and kept.size(1) == 0:
            return x.new_full((x.size(0), 2), self.otherwise)
        return self.out(self.layer(x, kept).tanh())


class Weighted(nn.Module):
    """Sums of what a computed mask chooses, with less to do where it chooses all, or none. `otherwise`: a factor there."""

    def __init__(self, way: str, otherwise: float = 1.0) -> None:
        super().__init__()
        self.way, self.otherwise, self.lin = way, otherwise, nn.Linear(4, 3)

    def forward(self, x: Tensor, edges: Tensor) -> Tensor:
        h = self.lin(x).tanh()
        weight = (h[edges[0]] * h[edges[1]]).sum(1)
        mask = weight > -0.1
        src, dst = edges
        out = torch.zeros_like(h)
        if self.way == "not all":
            if not mask.all():
                src, dst, weight = src[mask], dst[mask], weight[mask]
            else:
                weight = weight * self.otherwise
        elif mask.any() if self.way == "any" else not (mask == 0).all():
            out = out.index_add(0, edges[1], torch.where(mask, weight, 0)[:, None] * h[edges[0]])
            return out + h
        else:
            return h * self.otherwise
        return out.index_add(0, dst, weight[:, None] * h[src])


def cut_graphs() -> list[tuple[Tensor, Tensor]]:
    found = [(torch.randn(n, 4), torch.randint(n, (2, 4 * n))) for n in (9, 15)]
    return [*found, (torch.zeros(6, 4) - 5, torch.randint(6, (2, 20))), (torch.randn(5, 4), torch.zeros(2, 0).long())]


class Checked(nn.Module):
    """An error where a check of the graph fails."""

    def __init__(self, check: Callable[[Tensor, Tensor], Any], by_assert: bool) -> None:
        super().__init__()
        self.check, self.by_assert = check, by_assert

    def forward(self, x: Tensor, batch: Tensor) -> Tensor:
        if self.by_assert:
            assert self.check(x, batch), "expected another batch"
        elif not self.check(x, batch):
            raise ValueError("expected another batch")
        return torch.zeros_like(x).index_add(0, batch, x.tanh())


class CheckedBySize(nn.Module):
    """A check in a member, and as many results as the numbers say, which only Dynamo can trace."""

    def __init__(self, by_any: bool) -> None:
        super().__init__()
        self.by_any, self.linear = by_any, nn.Linear(3, 3)

    def check(self, batch: Tensor | None) -> None:
        if self.by_any and (batch[1:] < batch[:-1]).any():
            raise ValueError("expected a sorted batch")
        if batch is not None and not torch.all(batch[:-1] <= batch[1:]):
            raise ValueError("expected a sorted batch")

    def forward(self, x: Tensor, batch: Tensor) -> Tensor:
        self.check(batch)
        return x.new_zeros(int(batch.max()) + 1, 3).index_add(0, batch, self.linear(x))


class SidesBySize(CheckedBySize):
    """Both sides of a branch have a result."""

    def forward(self, x: Tensor, batch: Tensor) -> Tensor:
        scale = 2.0 if torch.all(batch[:-1] <= batch[1:]) else 3.0
        return scale * x.new_zeros(int(batch.max()) + 1, 3).index_add(0, batch, self.linear(x))


class Floats(nn.Module):
    def forward(self, x: Tensor, kind: Tensor) -> Tensor:
        return x * 2 if x[x[:, 0] > 0].size(0) > 2 else x


class BranchesTest(TorchTest):
    def gradients(self, run: nn.Module, x: Tensor, kind: Tensor) -> list[Tensor]:
        run.zero_grad()
        x = x.clone().requires_grad_()
        result = run(x, kind)
        result[0].square().sum().backward()
        given = [each.grad for each in run.parameters() if each.grad is not None]
        return [*[each.detach() for each in result], x.grad, *given]

    def test_each_side_is_compiled_when_it_is_taken(self) -> None:
        module = Kinds()
        eager = copy.deepcopy(module)
        cases = [[0, 1, 2, 0, 1], [0, 0, 1, 1], [2, 2, 2], [0, 1, 2, 2, 2, 2], [1, 0], [0, 1, 2, 0, 1]]
        for first in (0, 1):  # the example has all kinds, or lacks one
            fast = gnnc.compile(module, (torch.randn(len(cases[first]), 3), torch.tensor(cases[first])))
            for kinds in cases:
                x, kind = torch.randn(len(kinds), 3), torch.tensor(kinds)
                for _ in range(2):
                    self.assertClose(self.gradients(fast, x, kind), self.gradients(eager, x, kind), 1e-4)
        with mock.patch.object(_compiler, "run_compiler", side_effect=AssertionError):
            self.gradients(fast, x, kind)
            kind[:] = torch.tensor([1, 0, 2, 2, 2])  # in the same memory
            self.assertClose(self.gradients(fast, x, kind), self.gradients(eager, x, kind), 1e-4)
            kind[:] = 2
            self.assertClose(self.gradients(fast, x, kind), self.gradients(eager, x, kind), 1e-4)

    def test_attention_within_relations(self) -> None:
        """Each has a softmax of its own, of no edges where there are none."""
        module = RGATConv(8, 4, 3, attention_mechanism="within-relation")
        eager, edge_index = copy.deepcopy(module), torch.tensor([[0, 1, 2, 3, 3, 1], [1, 0, 3, 2, 3, 1]])
        fast = gnnc.compile(module, (torch.randn(4, 8), edge_index, torch.tensor([0, 1, 0, 0, 1, 0])))
        for kinds in ([0, 1, 0, 0, 1, 0], [1, 1, 0, 0, 1, 0], [0, 1, 2, 2, 2, 0]):
            x = torch.randn(4, 8)
            found = []
            for run in (fast, eager):
                run.zero_grad()
                given = x.clone().requires_grad_()
                result = run(given, edge_index, torch.tensor(kinds))
                result.square().sum().backward()
                found.append([result, given.grad, *[each.grad for each in run.parameters() if each.grad is not None]])
            self.assertClose(*found, 1e-4)
        self.assertEqual(len(vars(fast)["_gnnc"].specializations), 2)

    def test_checks_of_the_graph_are_made(self) -> None:
        module, x = Sorted(), torch.randn(5, 3)
        batch = torch.tensor([0, 0, 1, 1, 2])
        fast = gnnc.compile(module, (x, batch))
        for _ in range(2):
            self.assertClose(fast(x, batch), module(x, batch))
            with self.assertRaisesRegex(ValueError, "expected a sorted batch"):
                fast(x, batch.flip(0))

    def test_checks_that_hold(self) -> None:
        """The other side of each is an error, whichever is guessed first."""
        ways: dict[str, Callable[[Tensor, Tensor], Any]] = {
            "sorted": lambda x, batch: torch.all(batch[:-1] <= batch[1:]),
            "within": lambda x, batch: batch.min() >= 0 and batch.max() < x.size(0),
            "few": lambda x, batch: batch.max() < 4,
            "kinds": lambda x, batch: batch.unique().numel() <= 4,
        }
        graphs = [(torch.randn(n, 3), torch.arange(n) // 3) for n in (7, 9, 4)]
        for name, way in ways.items():
            for by_assert in (False, True):
                with self.subTest(name, by_assert=by_assert):
                    self.assertLikeEager(Checked(way, by_assert), graphs)
        module = Checked(ways["few"], False)
        fast, wrong = gnnc.compile(module, graphs[0]), (torch.randn(6, 3), torch.arange(6))
        for fails in (lambda: fast(*wrong), lambda: gnnc.compile(module, wrong)):
            with self.assertRaisesRegex((ValueError, gnnc.Error), "expected another batch"):
                fails()

    def test_branches_where_sizes_are_computed(self) -> None:
        batches = [torch.tensor(each) for each in ([0, 0, 1, 1, 2], [0, 1, 1, 1, 1, 2, 3], [0, 0, 0, 1, 1, 1])]
        graphs = [(torch.randn(len(batch), 3), batch) for batch in batches]
        wrong = torch.randn(6, 3), torch.tensor([0, 2, 1, 1, 2, 2])
        for by_any in (False, True):
            module = CheckedBySize(by_any)
            self.assertLikeEager(module, graphs)
            fast = gnnc.compile(module, graphs[0])
            for fails in (lambda: fast(*wrong), lambda: gnnc.compile(module, wrong)):
                with self.assertRaisesRegex((ValueError, gnnc.Error), "expected a sorted batch"):
                    fails()
            self.assertClose(fast(*graphs[1]), module(*graphs[1]))
        module = SidesBySize(False)
        fast = gnnc.compile(module, graphs[0])
        for given in (*graphs, wrong, graphs[1]):
            self.assertClose(fast(*given), module(*given))
        self.assertEqual(len(vars(fast)["_gnnc"].specializations), 2)

    def test_aggregations_of_sorted_elements(self) -> None:
        batches = [torch.tensor([0, 0, 1, 1, 1, 2, 2]), torch.tensor([0, 0, 0, 0, 1, 1, 1, 2, 2])]
        for aggregation in (SortAggregation(3), LSTMAggregation(4, 5), SetTransformerAggregation(4)):

            def run(x: Tensor, batch: Tensor, aggregation: nn.Module = aggregation) -> Tensor:
                return aggregation(x, batch, dim_size=3, max_num_elements=6)

            module = Of(run)
            module.aggregation = aggregation
            with self.subTest(type(aggregation).__name__):
                self.assertLikeEager(module, [(torch.randn(len(batch), 4), batch) for batch in batches])

    def test_computed_floats_decide_nothing(self) -> None:
        with self.assertRaisesRegex(gnnc.Error, r"depends on computed numbers, from .*test_branches\.py:\d+: return x"):
            gnnc.compile(Floats(), (torch.randn(5, 3), torch.zeros(5, dtype=torch.long)))

    def test_asking_whether_values_choose_anything(self) -> None:
        """Both sides are the same for none, so there is no branch."""
        module = Cut()
        nn.init.ones_(module.score.weight)
        self.assertLikeEager(module, cut_graphs())
        with tempfile.TemporaryDirectory() as folder:
            x, edges = cut_graphs()[1]
            gnnc.export(module, cut_graphs()[0], Path(folder) / "model.so")
            found = gnnc.load(Path(folder) / "model.so")(x, edges)
            self.assertClose(found, module(x, edges).detach())

    def test_asking_whether_a_mask_has_all_or_any(self) -> None:
        graphs = [*cut_graphs(), (torch.zeros(5, 4), torch.randint(5, (2, 9)))]
        graphs = [(x.double(), edges) for x, edges in graphs]
        for way in ("not all", "any", "not none"):
            with self.subTest(way):
                self.assertLikeEager(Weighted(way).double(), graphs)
                with self.assertRaisesRegex(gnnc.Error, "depends on computed numbers"):
                    gnnc.compile(Weighted(way, otherwise=2.0).double(), graphs[0])

    def test_masks_that_choose_nothing_decide_nothing(self) -> None:
        """The example may be one for which both sides are the same."""

        def saturated(x: Tensor, batch: Tensor) -> Tensor:
            return x.clamp(max=3) if (x > 5).any() else x

        def repaired(x: Tensor, batch: Tensor) -> Tensor:
            return torch.nan_to_num(x) if torch.isnan(x).any() else x

        def curved(x: Tensor, batch: Tensor) -> Tensor:
            return x if (x > 0).all() else torch.sin(x)

        def chosen_and_more(x: Tensor, batch: Tensor) -> Tensor:
            mask = x[:, 0] > 0
            return torch.where(mask[:, None], 2 * x, x).clamp(max=3) if mask.any() else x

        def stopped(x: Tensor, batch: Tensor) -> Tensor:
            if (x > 100).any():
                raise ValueError("diverged")
            return x

        for function in (saturated, repaired, curved, chosen_and_more, stopped):
            with self.subTest(function.__name__), self.assertRaisesRegex(gnnc.Error, "depends on computed numbers, from"):
                gnnc.compile(Of(function), (torch.zeros(5, 3), torch.tensor([0, 0, 1, 1, 2])))

    def test_what_is_different_for_none_is_refused(self) -> None:
        with self.assertRaisesRegex(gnnc.Error, r"depends on computed numbers, from .*test_branches\.py:\d+: if self"):
            gnnc.compile(Cut(otherwise=7.0), cut_graphs()[0])

    def test_objects_have_no_branches(self) -> None:
        with tempfile.TemporaryDirectory() as folder, self.assertRaisesRegex(gnnc.Error, "depends on computed numbers"):
            gnnc.export(Kinds(), (torch.randn(3, 3), torch.tensor([0, 1, 2])), Path(folder) / "model.so")

    def test_traces_have_no_branches(self) -> None:
        fast = gnnc.compile(Sorted(), (torch.randn(5, 3), torch.tensor([0, 0, 1, 1, 2])))
        with self.assertRaisesRegex(
            Exception, "branches on sizes that follow from numbers of the graph cannot be traced"
        ):
            torch.compile(fast, backend="eager", fullgraph=True)(torch.randn(5, 3), torch.tensor([0, 0, 1, 1, 2]))


if __name__ == "__main__":
    unittest.main()
