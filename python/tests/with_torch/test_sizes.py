# Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
# See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Sizes that follow from others, from numbers of a tensor, or from nothing; and graphs without elements."""

from __future__ import annotations

import unittest
from collections.abc import Callable, Sequence
from typing import Any
from unittest import mock

import torch
from torch import Tensor, nn
from torch.nn import functional as F

import gnnc
from torch_modules import Of, graph


class Readout(nn.Module):
    """`len` makes a size a constant where torch.export does without Dynamo; the largest number is a size as well."""

    def forward(self, x: Tensor, edge_index: Tensor, batch: Tensor) -> Tensor:
        h = torch.zeros(len(x), x.shape[1]).index_add(0, edge_index[1], x[edge_index[0]])
        index = batch.unsqueeze(1).repeat(1, h.shape[1])
        result = torch.zeros(batch.max() + 1, h.shape[1])
        return result.scatter_reduce(0, index, h, reduce="mean", include_self=False)


class Pooled(nn.Module):
    """As many graphs as the largest number says, and none where there are no nodes."""

    def forward(self, x: Tensor, batch: Tensor) -> Tensor:
        count = int(batch.max()) + 1 if batch.numel() > 0 else 0
        return torch.zeros(count, x.size(1)).index_add(0, batch, x * x)


class Unguarded(nn.Module):
    def forward(self, x: Tensor, batch: Tensor) -> Tensor:
        return torch.zeros(int(batch.max()) + 1, x.size(1)).index_add(0, batch, x)


class NormalisedGraphs(nn.Module):
    """Batch normalisation of as many rows as the module computes: graphs in a batch, or edges that are no self loops."""

    def __init__(self) -> None:
        super().__init__()
        self.norm, self.of_edges, self.lin = nn.BatchNorm1d(3), nn.BatchNorm1d(3), nn.Linear(3, 2)
        nn.init.normal_(self.norm.running_mean)

    def forward(self, x: Tensor, row: Tensor, batch: Tensor) -> Tensor:
        graphs = int(batch.max()) + 1
        differs = row != row.flip(0)
        edges = self.of_edges(x[row[differs]])
        nodes = torch.zeros_like(x).index_add(0, row[differs], edges)
        return self.lin(self.norm(torch.zeros(graphs, 3).index_add(0, batch, x + nodes)))


def _gradients(module: nn.Module, x: Tensor, *others: Tensor) -> tuple[Tensor, Tensor | None]:
    x = x.clone().requires_grad_()
    result = module(x, *others)
    (result * torch.arange(1.0, result.numel() + 1).view(result.shape)).sum().backward()
    return result.detach(), x.grad


class Coupled(nn.Module):
    """A sum of products of three operands, for which PyTorch looks for the best order of products."""

    def __init__(self) -> None:
        super().__init__()
        self.coupling = nn.Parameter(torch.randn(3, 3, 4))

    def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
        row, col = edge_index
        messages = torch.einsum("ei,ej,ijk->ek", x[row], x[col], self.coupling)
        return x.new_zeros(x.size(0), 4).index_add(0, col, messages)


class Optional(nn.Module):
    """Weights of edges or of nodes, both of one axis."""

    def forward(self, x: Tensor, edge_index: Tensor, edge: Tensor | None = None, node: Tensor | None = None) -> Tensor:
        messages = x[edge_index[0]] if edge is None else x[edge_index[0]] * edge[:, None]
        sums = torch.zeros_like(x).index_add(0, edge_index[1], messages)
        return sums if node is None else sums * node[:, None]


class FirstThenRest:
    """In the place of opt_einsum, where that is not installed: it looks at sizes as numbers, too."""

    @staticmethod
    def contract_path(_: str, *operands: Any, shapes: bool = False, optimize: str = "auto") -> tuple[list[Any], None]:
        for operand in operands:
            [int(size) for size in (operand if shapes else operand.shape)]
        return [(0, 1)] * (len(operands) - 1), None


class SizesTest(unittest.TestCase):
    def check(self, module: nn.Module, compiled: nn.Module, *arguments: Tensor) -> None:
        for mine, eager in zip(_gradients(compiled, *arguments), _gradients(module, *arguments)):
            torch.testing.assert_close(mine, eager, rtol=1e-5, atol=1e-4)

    def test_equal_sizes_of_one_call_are_not_those_of_another(self) -> None:
        module = Optional()
        compiled = gnnc.compile(module)
        for nodes, edges in ((6, 9), (8, 20)):
            x, edge_index = graph(nodes, edges)[:2]
            for given in ({"edge": torch.rand(edges)}, {"node": torch.rand(nodes)}):
                self.assertTrue(torch.allclose(compiled(x, edge_index, **given), module(x, edge_index, **given)))
        self.assertEqual(len(vars(compiled)["_gnnc"].specializations), 2)

    def test_orders_of_products_fix_no_size(self) -> None:
        search = torch.backends.opt_einsum
        with mock.patch.object(search, "_opt_einsum", search.get_opt_einsum() or FirstThenRest):
            module = Coupled()
            compiled = gnnc.compile(module, graph(6, 9)[:2])
        for nodes, edges in ((6, 9), (5, 20), (9, 14)):
            x, edge_index = graph(nodes, edges)[:2]
            self.assertLess(float((compiled(x, edge_index) - module(x, edge_index)).abs().max().detach()), 1e-5)
        self.assertEqual(len(vars(compiled)["_gnnc"].specializations), 1)

    def test_what_cannot_be_imported_is_exported_the_other_way(self) -> None:
        def arguments(nodes: int, edges: int, graphs: int) -> tuple[Tensor, ...]:
            return torch.randn(nodes, 4), torch.randint(0, nodes, (2, edges)), torch.arange(nodes) * graphs // nodes

        module = Readout()
        compiled = gnnc.compile(module, arguments(7, 10, 2))
        for sizes in ((7, 10, 2), (9, 14, 3), (20, 5, 4)):
            self.check(module, compiled, *arguments(*sizes))

    def test_a_module_that_changes_a_buffer_is_not_exported_the_other_way(self) -> None:
        class Counted(nn.Module):
            def __init__(self) -> None:
                super().__init__()
                self.register_buffer("seen", torch.ones(3, dtype=torch.long))

            def forward(self, x: Tensor) -> Tensor:
                self.seen.mul_(3)
                return x + self.seen

        with self.assertRaisesRegex(gnnc.CompileError, "changes its buffer 'seen'"):
            gnnc.compile(Counted(), (torch.randn(5, 3),))

    def test_no_elements_are_what_the_module_makes_of_them(self) -> None:
        module = Pooled()
        compiled = gnnc.compile(module, (torch.randn(5, 3), torch.tensor([0, 0, 1, 1, 1])))
        for batch in (torch.tensor([0, 0, 1, 1, 1]), torch.tensor([0, 2]), torch.zeros(0, dtype=torch.long)):
            self.check(module, compiled, torch.randn(len(batch), 3), batch)

    def test_lists_are_as_long_as_what_goes_along_them(self) -> None:
        """PyTorch does not say so where rows may be one for all, or are written one by one."""

        class Lists(nn.Module):
            def __init__(self, way: str) -> None:
                super().__init__()
                self.way = way

            def forward(self, x: Tensor, given: Tensor) -> Tensor:
                sums = torch.zeros(9, 3)
                if self.way == "index_put":
                    return sums.index_put((given,), x, accumulate=True)
                return sums.index_reduce(0, given, x, "amax", include_self=False)

        for way in ("index_put", "index_reduce"):
            with self.subTest(way=way):
                module = Lists(way)
                compiled = gnnc.compile(module, (torch.randn(6, 3), torch.arange(6) % 4))
                for rows in (6, 11, 0):
                    self.check(module, compiled, torch.randn(rows, 3), torch.arange(rows) % 5)

    def test_halves_of_what_was_joined(self) -> None:
        """How many parts there are must not fix how many rows there are."""

        class Both(nn.Module):
            def __init__(self, cut: Callable[[Tensor], Sequence[Tensor]]) -> None:
                super().__init__()
                self.lin, self.cut = nn.Linear(3, 4), cut

            def forward(self, x: Tensor, y: Tensor) -> Tensor:
                first, second = self.cut(self.lin(torch.cat([x, y * x])).tanh())
                return first * second

        ways: dict[str, Callable[[Tensor], Sequence[Tensor]]] = {
            "chunk": lambda both: both.chunk(2),
            "chunk of the module": lambda both: torch.chunk(both, chunks=2, dim=0),
            "tensor_split": lambda both: both.tensor_split(2),
            "tensor_split of the module": lambda both: torch.tensor_split(both, 2, dim=-2),
        }
        for name, way in ways.items():
            with self.subTest(name):
                module = Both(way)
                compiled = gnnc.compile(module, (torch.randn(5, 3), torch.randn(5, 3)))
                for rows in (5, 8, 1, 0):
                    self.check(module, compiled, torch.randn(rows, 3), torch.randn(rows, 3))
                self.assertEqual(len(vars(compiled)["_gnnc"].specializations), 1)

    def test_batch_norm_of_rows_that_are_counted(self) -> None:
        torch.manual_seed(0)  # two rows that are nearly equal would have a variance of hardly anything

        def arguments(nodes: int, edges: int, graphs: int) -> tuple[Tensor, ...]:
            return torch.randn(nodes, 3), torch.randint(0, nodes, (edges,)), torch.arange(nodes) * graphs // nodes

        for mode in (False, True):
            module = NormalisedGraphs().train(mode)
            compiled = gnnc.compile(module, arguments(8, 11, 3))
            for sizes in ((8, 11, 3), (20, 30, 6), (9, 7, 2)):
                given = arguments(*sizes)
                before = {name: each.clone() for name, each in module.state_dict().items()}
                self.check(module, compiled, *given)
                mine = {name: each.clone() for name, each in module.state_dict().items()}
                module.load_state_dict(before)
                module(*given), module(*given)
                torch.testing.assert_close(mine, dict(module.state_dict()), rtol=1e-5, atol=1e-5)

    def test_no_elements_are_an_error_where_they_are_one_of_the_module(self) -> None:
        compiled = gnnc.compile(Unguarded(), (torch.randn(5, 3), torch.tensor([0, 0, 1, 1, 1])))
        with self.assertRaises(RuntimeError) as eager:
            Unguarded()(torch.zeros(0, 3), torch.zeros(0, dtype=torch.long))
        with self.assertRaises(RuntimeError) as mine:
            compiled(torch.zeros(0, 3), torch.zeros(0, dtype=torch.long))
        self.assertEqual(str(mine.exception), str(eager.exception))


class Fixed(nn.Module):
    """One graph for all calls."""

    def __init__(self, edge_index: Tensor, rows: bool = True) -> None:
        super().__init__()
        self.register_buffer("edge_index", edge_index if rows else edge_index.t().contiguous())
        self.rows, self.lin = rows, nn.Linear(3, 3)

    def forward(self, x: Tensor) -> Tensor:
        src, dst = self.edge_index if self.rows else self.edge_index.t()
        return torch.zeros_like(x).scatter_add(0, dst.view(-1, 1).expand(-1, x.size(1)), self.lin(x)[src])


class Grid(nn.Module):
    """A row for each node fixes all sizes."""

    def __init__(self) -> None:
        super().__init__()
        self.node, self.lin = nn.Parameter(torch.randn(9, 4)), nn.Linear(4, 4)
        self.register_buffer("src", torch.randint(0, 9, (20,)))
        self.register_buffer("dst", torch.randint(0, 9, (20,)))

    def forward(self, x: Tensor) -> Tensor:
        return torch.zeros_like(x).index_add(0, self.dst, self.lin(x + self.node)[self.src]) + x


class OwnGraphTest(unittest.TestCase):
    check = SizesTest.check

    def test_a_graph_that_is_a_buffer(self) -> None:
        for edges in (4, 70, 3000):
            for rows in (True, False):
                with self.subTest(edges=edges, rows=rows):
                    module = Fixed(torch.randint(0, 6, (2, edges)), rows)
                    compiled = gnnc.compile(module, (torch.randn(6, 3),))
                    for nodes in (6, 11, 30):
                        self.check(module, compiled, torch.randn(nodes, 3))
                    module.edge_index.copy_(module.edge_index.flip(0))
                    self.check(module, compiled, torch.randn(6, 3))

    def test_as_many_weights_as_a_graph_that_is_a_buffer_has_edges(self) -> None:
        """A scatter may have more rows than places in PyTorch, so that torch.export does not say how many there are."""

        class Weighted(nn.Module):
            def __init__(self, way: str) -> None:
                super().__init__()
                self.register_buffer("col", torch.tensor([1, 1, 3, 2]))
                self.way = way

            def forward(self, x: Tensor, weight: Tensor) -> Tensor:
                zeros = x.new_zeros(x.size(0))
                if self.way == "index_put":
                    sums = zeros.index_put((self.col,), weight, accumulate=True)
                elif self.way == "scatter_add":
                    sums = zeros.scatter_add(0, self.col, weight)
                else:
                    sums = zeros.scatter_reduce(0, self.col, weight, "amax", include_self=False)
                return sums.unsqueeze(-1) * x

        for way in ("index_put", "scatter_add", "scatter_reduce"):
            with self.subTest(way=way):
                module = Weighted(way)
                compiled = gnnc.compile(module, (torch.randn(5, 2), torch.randn(4)))
                for nodes in (5, 9):
                    x, found = torch.randn(nodes, 2), torch.randn(4, requires_grad=True)
                    expected = found.detach().clone().requires_grad_()
                    results = compiled(x, found), module(x, expected)
                    for result in results:
                        result.square().sum().backward()
                    torch.testing.assert_close(*results)
                    torch.testing.assert_close(found.grad, expected.grad)
                with self.assertRaisesRegex(gnnc.Error, r"'weight': expected shape \[4\], found \[6\]"):
                    compiled(torch.randn(7, 2), torch.randn(6))

    def test_features_of_the_edges_of_a_graph_that_is_a_buffer(self) -> None:
        """There are as many as edges, and how wide they are is fixed by what follows: neither may differ."""

        class Joined(nn.Module):
            def __init__(self) -> None:
                super().__init__()
                self.register_buffer("edge_index", torch.tensor([[0, 2, 1, 1], [1, 1, 3, 2]]))

            def forward(self, x: Tensor, edge_attr: Tensor) -> Tensor:
                row, col = self.edge_index
                joined = torch.cat([x[row], x[col] - x[row], edge_attr], dim=-1)
                return nn.functional.leaky_relu(joined[..., -8:], 0.2)[torch.sort(col, stable=True)[1]]

        module = Joined()
        compiled = gnnc.compile(module, (torch.randn(7, 2), torch.randn(4, 6)))
        for nodes in (7, 9):
            given = torch.randn(nodes, 2), torch.randn(4, 6)
            torch.testing.assert_close(compiled(*given), module(*given))
        self.assertEqual(len(vars(compiled)["_gnnc"].specializations), 1)

    def test_all_sizes_are_fixed(self) -> None:
        module = Grid()
        self.check(module, gnnc.compile(module, (torch.randn(9, 4),)), torch.randn(9, 4))

    def test_a_size_that_is_a_quotient(self) -> None:
        class Pool(nn.Module):
            def forward(self, x: Tensor, row: Tensor, column: Tensor) -> Tensor:
                return torch.zeros(row.size(0) // 3, x.size(1)).index_add(0, row, x[column])

        def arguments(nodes: int, rows: int) -> tuple[Tensor, ...]:
            return torch.randn(nodes, 5), torch.arange(3 * rows) // 3, torch.randint(0, nodes, (3 * rows,))

        module = Pool()
        compiled = gnnc.compile(module, arguments(9, 4))
        for sizes in ((9, 4), (11, 6), (5, 20)):
            self.check(module, compiled, *arguments(*sizes))

    def test_sums_of_quotients(self) -> None:
        """Halves and remainders are sizes in sums, and say which row is taken and how many are put around others."""
        ways: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
            "half": lambda x, y: torch.cat([x[1:], y[: y.size(0) // 2]]),
            "rest": lambda x, y: torch.cat([x, x, y[: y.size(0) % 4]])[: x.size(0) + y.size(0) // 4 - 1],
            "parts": lambda x, y: torch.cat([x[::2], y[1::2]]),
            "largest": lambda x, y: torch.cat([x.new_ones(max(x.size(0), y.size(0)), 3), x * y.size(0)]),
            "row": lambda x, y: x * x[x.size(0) // 2] + y[y.size(0) - 2],
            "row from the end": lambda x, y: x * x[-(x.size(0) // 2)] + x[y.size(0) // 5 - 1],
            "padding": lambda x, y: F.pad(x, (0, 0, y.size(0), 1 + y.size(0) // 2), value=2.0),
        }
        for name, way in ways.items():
            with self.subTest(name):
                module = Of(way)
                compiled = gnnc.compile(module, (torch.randn(12, 3), torch.randn(6, 3)))
                for sizes in ((12, 6), (7, 9), (9, 5), (2, 8), (3, 11)):
                    self.check(module, compiled, *[torch.randn(size, 3) for size in sizes])

    def test_parts_without_elements(self) -> None:
        ways: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
            "rows": lambda x, y: torch.cat([x, x.new_zeros(0, 3), y]) * 2,
            "features": lambda x, y: torch.cat([x, x.new_zeros(x.size(0), 0)], 1) * y.sum(),
            "of fixed rows": lambda x, y: x * torch.cat([x.new_zeros(0, 3), x.new_ones(2, 3)]).sum() + y.sum(),
        }
        for name, way in ways.items():
            with self.subTest(name):
                module = Of(way)
                compiled = gnnc.compile(module, (torch.randn(5, 3), torch.randn(6, 3)))
                for sizes in ((5, 6), (4, 3)):
                    self.check(module, compiled, *[torch.randn(size, 3) for size in sizes])

    def test_padding_up_to_a_size(self) -> None:
        module = Of(lambda x, y: F.pad(x, (0, 0, 0, y.size(0) - x.size(0))))
        compiled = gnnc.compile(module, (torch.randn(5, 3), torch.randn(9, 2)))
        for rows, more in ((5, 9), (4, 11), (7, 7)):
            self.check(module, compiled, torch.randn(rows, 3), torch.randn(more, 2))
        with self.assertRaisesRegex(gnnc.Error, "expected an extent of 0 or more, found -2"):
            compiled(torch.randn(6, 3), torch.randn(4, 2))

    def test_sizes_are_written_as_in_python(self) -> None:
        """In what is refused, too."""
        for way, text in (
            (lambda x, y: x[: x.size(0) // 2 + y.size(0) - 1].cumsum(0), "given_0.size(0) // 2 + given_1.size(0) - 1"),
            (lambda x, y: x[: 2 * (x.size(0) % 3)].cumsum(0), "2 * (given_0.size(0) % 3)"),
        ):
            with self.assertRaises(gnnc.Error) as caught:
                gnnc.compile(Of(way), (torch.randn(8, 3), torch.randn(3, 3)))
            self.assertIn(f"expected an axis of fixed size, found one of {text} elements", str(caught.exception))

    def test_out_is_written_into_a_part(self) -> None:
        class Firsts(nn.Module):
            def forward(self, x: Tensor, length: Tensor, batch: Tensor) -> Tensor:
                pointers = length.new_empty(length.size(0) + 1)
                pointers[:1].zero_()
                torch.cumsum(length, 0, out=pointers[1:])
                return x - x[pointers[batch]]

        def arguments(*length: int) -> tuple[Tensor, ...]:
            count = torch.tensor(length)
            return torch.randn(sum(length), 3), count, torch.arange(len(length)).repeat_interleave(count)

        module = Firsts()
        compiled = gnnc.compile(module, arguments(2, 3))
        for lengths in ((2, 3), (1, 4, 5), (7, 1)):
            self.check(module, compiled, *arguments(*lengths))


class GraphResultsTest(unittest.TestCase):
    def test_a_new_tensor_shares_no_memory_with_what_gives_its_size(self) -> None:
        class Edges(nn.Module):
            def forward(self, x: Tensor, edge_index: Tensor) -> tuple[Tensor, Tensor]:
                loops = torch.arange(x.size(0))
                both = torch.cat([edge_index, torch.stack([loops, loops])], 1)
                h = x.new_zeros(x.size(0), x.size(1))
                h.scatter_add_(0, both[1].view(-1, 1).expand(-1, x.size(1)), x[both[0]])
                return h, both

        compiled = gnnc.compile(Edges(), (torch.randn(5, 3), torch.randint(0, 5, (2, 8))))
        for nodes, edges in ((5, 8), (9, 20)):
            given = torch.randn(nodes, 3), torch.randint(0, nodes, (2, edges))
            for mine, eager in zip(compiled(*given), Edges()(*given)):
                torch.testing.assert_close(mine, eager)


if __name__ == "__main__":
    unittest.main()
