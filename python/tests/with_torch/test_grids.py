# Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
# See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Several axes of elements: x of [batch, nodes, features], with any number of both."""

from __future__ import annotations

import random
import tempfile
import unittest
from collections.abc import Callable, Sequence
from pathlib import Path

import torch
from torch import Tensor, nn
from torch.export import Dim

import gnnc
from gnnc import _compiler

F64 = torch.float64


def rows(*sizes: int) -> Tensor:
    return torch.randn(*sizes, dtype=F64)


class Grid(nn.Module):
    def __init__(self, function: Callable[..., Tensor], width: int = 6) -> None:
        super().__init__()
        self.function, self.linear = function, nn.Linear(4, width, dtype=F64)

    def forward(self, x: Tensor, *rest: Tensor) -> Tensor:
        return self.function(self.linear(x), *rest)


def edges(h: Tensor, index: Tensor) -> Tensor:
    return h + torch.zeros_like(h).index_add(1, index[1], torch.tanh(h[:, index[0]] - h[:, index[1]]))


def flat_edges(h: Tensor, index: Tensor) -> Tensor:
    """One disjoint graph, as PyTorch Geometric batches them."""
    batch, nodes, width = h.shape
    first = (torch.arange(batch) * nodes).repeat_interleave(index.shape[1])
    source, target = index[0].repeat(batch) + first, index[1].repeat(batch) + first
    flat = h.reshape(batch * nodes, width)
    return (flat + torch.zeros_like(flat).index_add(0, target, flat[source].relu())).view(batch, nodes, width)


def scattered(h: Tensor, index: Tensor) -> Tensor:
    places = index[1].view(1, -1, 1).expand(h.shape[0], -1, h.shape[2])
    return torch.zeros_like(h).scatter_reduce(1, places, h[:, index[0]], "amax", include_self=False)


def pooled(h: Tensor) -> Tensor:
    return torch.cat([h.mean(1), h.amax(1)], -1)


def heads(h: Tensor) -> Tensor:
    q = h.view(h.shape[0], h.shape[1], 2, -1).transpose(1, 2)
    return (torch.softmax(q @ q.mT / 2, -1) @ q).transpose(1, 2).flatten(2)


def masked(h: Tensor, mask: Tensor) -> Tensor:
    scores = torch.einsum("bnd,bmd->bnm", h, h).masked_fill(~mask[:, None], float("-inf"))
    return scores.softmax(-1) @ h * mask[..., None]


def recurrent(h: Tensor) -> Tensor:
    """Weights of pairs and sums by them as einsums, beside the mean of each graph, into rows of all graphs."""
    weight = torch.einsum("bid,bjd->bij", h, h).sub((h[:, :, None] - h[:, None]).square().sum(-1)).softmax(-1)
    both = torch.cat([torch.einsum("bij,bjd->bid", weight, h), h.mean(1, keepdim=True).expand_as(h)], -1)
    return (both.flatten(0, 1)[:, : h.shape[2]] * h.flatten(0, 1)).view(h.shape)


def all_pairs(h: Tensor, p: Tensor) -> Tensor:
    near = torch.exp(-((p[:, :, None] - p[:, None]) ** 2).sum(-1, keepdim=True))
    count = h.shape[1]
    both = torch.cat([h[:, :, None].expand(-1, -1, count, -1), h[:, None].expand(-1, count, -1, -1), near], -1)
    return (torch.tanh(both).sum(-1, keepdim=True) * near).sum(2) + h


def joined_pairs(h: Tensor) -> Tensor:
    """Numbers for pairs, of which none is computed from both before they are side by side."""
    a, b = torch.broadcast_tensors(h[..., :, None, :], h[..., None, :, :])
    return torch.cat((a, b), -1).relu().sum(-1, keepdim=True).sum(-2) + h


def repeated_pairs(h: Tensor) -> Tensor:
    count = h.shape[1]
    both = torch.cat((h[:, :, None].repeat(1, 1, count, 1), h[:, None].repeat(1, count, 1, 1)), -1)
    return both.relu().sum(-1, keepdim=True).sum(2) + h


class Tokens(nn.Module):
    """Rows of a table for integers of [batch, nodes] and [batch, nodes, 2], beside pairs of nodes."""

    def __init__(self) -> None:
        super().__init__()
        self.table = nn.Embedding(7, 4, padding_idx=2, dtype=F64)

    def forward(self, x: Tensor, kinds: Tensor, both: Tensor) -> Tensor:
        near = torch.exp(-(x[:, :, None] - x[:, None]).square().sum(-1, keepdim=True))
        return (self.table(kinds)[:, None] * near).sum(2) + self.table(both).prod(2)


class GridsTest(unittest.TestCase):
    def compare(self, module: nn.Module, fast: nn.Module, given: Sequence[Tensor], name: str) -> None:
        found = []
        for call in (module, fast):
            x = given[0].clone().requires_grad_()
            module.zero_grad()
            y = call(x, *given[1:])
            (y * torch.linspace(1, 2, y.numel(), dtype=F64).view_as(y)).sum().backward()
            found.append([y.detach(), x.grad, *[p.grad.clone() for p in module.parameters()]])
        for expected, other in zip(*found, strict=True):
            self.assertEqual(expected.shape, other.shape, name)
            if expected.numel():
                self.assertLess(float((expected - other).abs().max()), 1e-9 * (1 + float(expected.abs().max())), name)

    def check(self, module: nn.Module, arguments: Callable[[int, int], tuple[Tensor, ...]], objects: int = 1) -> None:
        """One object is for all batches and numbers of nodes."""
        torch.manual_seed(0)
        fast = gnnc.compile(module, arguments(3, 20))
        for batch, nodes in ((5, 20), (2, 20), (3, 70), (4, 70), (3, 9)):
            self.compare(module, fast, arguments(batch, nodes), getattr(module, "function", heads).__name__)
        self.assertLessEqual(len(vars(fast)["_gnnc"].specializations), objects)

    def test_edges(self) -> None:
        for function in (edges, flat_edges, scattered):
            self.check(Grid(function), lambda b, n: (rows(b, n, 4), torch.randint(n, (2, 3 * n))))

    def test_no_edges(self) -> None:
        module = Grid(edges)
        fast = gnnc.compile(module, (rows(3, 20, 4), torch.randint(20, (2, 60))))
        self.compare(module, fast, (rows(2, 20, 4), torch.randint(20, (2, 0))), "edges")

    def test_sums_along_each_axis(self) -> None:
        self.check(Grid(pooled), lambda b, n: (rows(b, n, 4),), objects=3)  # nothing says that nodes are elements
        self.check(
            Grid(lambda h, i: (h[:, i] - h.mean((0, 1))) * h.sum((1, 2), keepdim=True)),
            lambda b, n: (rows(b, n, 4), torch.randint(n, (2 * n,))),
        )
        self.check(Grid(lambda h, i: h[:, i].softmax(1)), lambda b, n: (rows(b, n, 4), torch.randint(n, (2 * n,))))

    def test_attention_within_each_graph(self) -> None:
        self.check(Grid(heads), lambda b, n: (rows(b, n, 4),))
        self.check(Grid(masked), lambda b, n: (rows(b, n, 4), torch.arange(n) < torch.randint(1, n + 1, (b, 1))))
        self.check(Grid(recurrent), lambda b, n: (rows(b, n, 4),))
        self.check(Grid(all_pairs), lambda b, n: (rows(b, n, 4), rows(b, n, 3)))
        layer = nn.TransformerEncoderLayer(4, 2, 8, dropout=0.0, batch_first=True, dtype=F64)
        self.check(layer, lambda b, n: (rows(b, n, 4),))

    def test_pairs_of_nodes_side_by_side(self) -> None:
        for function in (joined_pairs, repeated_pairs):
            self.check(Grid(function), lambda batch, nodes: (rows(batch, nodes, 4),))

    def test_rows_of_a_table(self) -> None:
        self.check(
            Tokens(),
            lambda b, n: (rows(b, n, 3), torch.randint(7, (b, n)), torch.randint(7, (b, n, 2))),
        )

    def test_states_that_are_zeros_at_first_by_tables_of_neighbours(self) -> None:
        """As message passing networks for proteins begin: rows of zeros are taken by each residue's neighbours."""

        class Layers(nn.Module):
            def __init__(self) -> None:
                super().__init__()
                self.given, self.lin = nn.Linear(4, 6, dtype=F64), nn.Linear(18, 6, dtype=F64)

            def forward(self, x: Tensor, table: Tensor) -> Tensor:
                given = self.given(x)
                state = torch.zeros(x.shape[0], x.shape[1], 6, dtype=x.dtype)
                flat = table.view(table.shape[0], -1).unsqueeze(-1).expand(-1, -1, 6)
                for _ in range(2):
                    near = torch.gather(state, 1, flat).view(list(table.shape) + [-1])
                    other = torch.gather(given, 1, flat).view(list(table.shape) + [-1])
                    own = state.unsqueeze(-2).expand(-1, -1, table.size(-1), -1)
                    state = state + self.lin(torch.cat([own, near, other], -1)).tanh().sum(-2)
                return state

        self.check(Layers(), lambda batch, nodes: (rows(batch, nodes, 4), torch.randint(nodes, (batch, nodes, 3))))

    def test_a_fixed_graph_with_parameters_of_its_nodes(self) -> None:
        class Sensors(nn.Module):
            def __init__(self) -> None:
                super().__init__()
                self.register_buffer("index", torch.randint(90, (2, 300)))
                self.places = nn.Parameter(rows(90, 3))
                self.inner, self.outer = nn.Linear(8 + 3, 6, dtype=F64), nn.Linear(6, 5, dtype=F64)

            def forward(self, x: Tensor) -> Tensor:
                batch, steps, nodes, width = x.shape
                h = x.permute(0, 2, 1, 3).reshape(batch, nodes, steps * width)
                h = self.inner(torch.cat([h, self.places.expand(batch, -1, -1)], -1))
                return self.outer(edges(h, self.index)).permute(0, 2, 1)

        module = Sensors()
        fast = gnnc.compile(module, (rows(3, 4, 90, 2),))
        for batch in (5, 2):
            self.compare(module, fast, (rows(batch, 4, 90, 2),), "sensors")
        self.assertEqual(len(vars(fast)["_gnnc"].specializations), 1)

    def test_as_many_elements_in_other_rows(self) -> None:
        """3 graphs of 20 nodes, then 6 of 10: the same number of rows, and the same list of edges."""
        index = torch.randint(10, (2, 30))
        for module, rest in ((Grid(heads), ()), (Grid(edges), (index,))):
            fast = gnnc.compile(module, (rows(3, 20, 4), *rest))
            for sizes in ((3, 20), (6, 10), (3, 20), (2, 30), (4, 15), (4, 15)):
                self.compare(module, fast, (rows(*sizes, 4), *rest), f"{sizes}")
            fast.prefetch(rows(5, 12, 4), *rest)
            self.compare(module, fast, (rows(3, 20, 4), *rest), "prefetched for others")

    def test_forces_in_the_loss(self) -> None:
        class Energy(nn.Module):
            def __init__(self) -> None:
                super().__init__()
                self.linear = nn.Linear(3, 4, dtype=F64)

            def forward(self, x: Tensor, index: Tensor) -> tuple[Tensor, Tensor]:
                h = self.linear(x).tanh()
                h = edges(h, index)
                return h.square().sum((1, 2)), h

        torch.manual_seed(3)
        module = Energy()
        index = torch.randint(20, (2, 50))
        fast = gnnc.compile(module, (rows(3, 20, 3), index))
        for batch in (3, 4):
            x, found = rows(batch, 20, 3), []
            for call in (module, fast):
                leaf = x.clone().requires_grad_()
                energy, h = call(leaf, index)
                (force,) = torch.autograd.grad(energy.sum() + h.sin().sum(), leaf, create_graph=True)
                found.append([force, *torch.autograd.grad(force.square().sum(), [leaf, *module.parameters()])])
            for expected, other in zip(*found, strict=True):
                self.assertLess(float((expected - other).abs().max()), 1e-8)

    def test_sizes_that_are_equal_by_chance(self) -> None:
        torch.manual_seed(1)
        for batch, nodes, width in ((20, 20, 20), (20, 24, 20), (24, 20, 20), (17, 17, 4)):
            module = Grid(edges, width)
            fast = gnnc.compile(module, (rows(batch, nodes, 4), torch.randint(nodes, (2, 60))))
            self.compare(module, fast, (rows(batch, nodes, 4), torch.randint(nodes, (2, 40))), "equal")

    def test_both_sizes_free(self) -> None:
        """An exported program, called as its object is."""
        torch.manual_seed(2)
        sizes = {0: Dim("batch"), 1: Dim("nodes")}
        cases = [(edges, lambda b, n: (torch.randint(n, (2, 40)),), {1: Dim("edges")}), (pooled, lambda b, n: (), None),
                 (heads, lambda b, n: (), None), (all_pairs, lambda b, n: (rows(b, n, 3),), sizes)]  # fmt: skip
        with tempfile.TemporaryDirectory() as folder:
            for function, more, shapes in cases:
                module = Grid(function).eval()
                rest = ((shapes,),) if shapes else ()
                program = torch.export.export(
                    module, (rows(3, 8, 4), *more(3, 8)), dynamic_shapes=(sizes, *rest), strict=False
                )
                source, target = Path(folder) / f"{function.__name__}.pt2", Path(folder) / f"{function.__name__}.so"
                torch.export.save(program, source)
                _compiler.run_compiler(source, target, ["--dtype", "f64"])
                model = gnnc.load(target)
                for batch, nodes in ((3, 8), (2, 50), (6, 5)):
                    given = (rows(batch, nodes, 4), *more(batch, nodes))
                    found = model(*given)
                    expected = module(*given).detach()
                    self.assertLess(float((found.view_as(expected) - expected).abs().max()), 1e-9, function.__name__)

    def test_convolutions_between_sums_over_edges(self) -> None:
        """Of [batch, time, nodes, channels], along time: STGCN's blocks."""

        class Block(nn.Module):
            def __init__(self) -> None:
                super().__init__()
                self.first = nn.Conv2d(4, 6, (1, 3))
                self.second = nn.Conv2d(6, 4, (1, 2), stride=(1, 2), padding=(0, 1), groups=2, bias=False)
                self.third = nn.Conv2d(4, 4, (3, 1), dilation=(2, 1))

            def sums(self, x: Tensor, edges: Tensor) -> Tensor:
                return torch.zeros_like(x).index_add(2, edges[1], x[:, :, edges[0]]).tanh()

            def forward(self, x: Tensor, edges: Tensor) -> Tensor:
                h = self.first(self.sums(x, edges).permute(0, 3, 2, 1)).permute(0, 3, 2, 1)
                h = self.second(self.sums(h, edges).permute(0, 3, 2, 1)).permute(0, 3, 2, 1)
                return self.third(self.sums(h, edges).transpose(1, 3).transpose(2, 3)).mean(2)

        module = Block().double()
        fast = gnnc.compile(module, (rows(3, 12, 20, 4), torch.randint(20, (2, 50))))
        for batch in (3, 4):
            self.compare(module, fast, (rows(batch, 12, 20, 4), torch.randint(20, (2, 30))), f"batch {batch}")

    def test_random_chains(self) -> None:
        steps: list[Callable[[Tensor, Tensor, Tensor], Tensor]] = [
            lambda h, x, i: h.tanh(),
            lambda h, x, i: h + x,
            lambda h, x, i: h * x.mean(1, keepdim=True),
            lambda h, x, i: h - x.mean(0),
            lambda h, x, i: h.transpose(0, 1).sigmoid().transpose(0, 1) * x,
            lambda h, x, i: h.index_add(1, i[1], x[:, i[0]]),
            lambda h, x, i: h.flatten(0, 1)[i[0]].sum(0) + h,
            lambda h, x, i: h.flatten(0, 1).view(x.shape).flip(1),
            lambda h, x, i: torch.cat([h[..., :1], h[..., 1:] * 2], -1),
            lambda h, x, i: h[:, :1] + h[:, -1:] + x,
            lambda h, x, i: torch.where(h > x, h, x.amax(1, keepdim=True)),
            lambda h, x, i: h.softmax(1) + x,
            lambda h, x, i: h.softmax(2) * x,
            lambda h, x, i: (h @ x.mT).mean(-1, keepdim=True) * x,
        ]
        for seed in range(12):
            chosen = random.Random(seed)
            chain = [chosen.choice(steps) for _ in range(4)]

            def function(h: Tensor, i: Tensor, chain: Sequence[Callable[..., Tensor]] = chain) -> Tensor:
                x = h
                for step in chain:
                    h = step(h, x, i)
                return h

            torch.manual_seed(seed)
            module = Grid(function)
            fast = gnnc.compile(module, (rows(3, 20, 4), torch.randint(20, (2, 50))))
            for batch in (4, 2):
                given = (rows(batch, 20, 4), torch.randint(20, (2, 30)))
                self.compare(module, fast, given, f"seed {seed}")


if __name__ == "__main__":
    unittest.main()
