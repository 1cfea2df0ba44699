# Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
# See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Results of integers: arguments that are given back, and what follows from the graph alone."""

from __future__ import annotations

import copy
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

import gnnc
from torch_modules import Conv, TorchTest, graph


class ArgumentsTest(TorchTest):
    def test_arguments_of_integers_and_truth_values_that_are_returned(self) -> None:
        class Returned(nn.Module):
            """As attention weights of PyTorch Geometric come: with the edges that they are of."""

            def forward(self, x: Tensor, edge_index: Tensor, more: dict[str, Tensor]) -> dict[str, object]:
                sums = torch.zeros_like(x).index_add(0, edge_index[1], x.index_select(0, edge_index[0]))
                weights = x.index_select(0, edge_index[0]).sum(1)
                edges = (edge_index, [weights, more["batch"]])
                return {"sums": sums, "edges": edges, "mask": more["mask"], "none": None}

        class Alone(nn.Module):
            def forward(self, x: Tensor, edge_index: Tensor) -> tuple[Tensor, Tensor]:
                return x.index_select(0, edge_index[0]), edge_index

        fast, alone = None, gnnc.compile(Alone(), graph(6, 12))
        for nodes, edges in ((6, 12), (9, 30), (5, 0)):
            x, index = graph(nodes, edges)
            more = {"batch": torch.arange(nodes), "mask": torch.arange(edges) % 2 > 0}
            fast = gnnc.compile(Returned(), (x, index, more)) if fast is None else fast
            for _ in range(2):
                found, expected = fast(x, index, more), Returned()(x, index, more)
                self.assertClose(found, expected)
                self.assertIs(found["edges"][0], index)
                self.assertIs(found["edges"][1][1], more["batch"])
                self.assertIs(found["mask"], more["mask"])
                self.assertIs(alone(x, index)[1], index)
            other = index.clone()
            self.assertIs(alone(x, other)[1], other)
        with tempfile.TemporaryDirectory() as folder:
            fast.report(Path(folder) / "page.html", open_page=False)
            with self.assertRaisesRegex(gnnc.CompileError, "output 'edge_index' has integers"):
                gnnc.export(Alone(), graph(6, 12), Path(folder) / "never.so")

    def test_returned_arguments_beside_an_axis_that_is_moved(self) -> None:
        class Transposed(Conv):
            def forward(self, x: Tensor, edge_index: Tensor) -> tuple[Tensor, ...]:
                return super().forward(x.t(), edge_index).t(), edge_index, x.detach() * 2

        module = Transposed()
        x, edges = graph(6, 12)
        fast = gnnc.compile(module, (x.t().contiguous(), edges))
        x, edges = graph(9, 30)
        x = x.t().contiguous().requires_grad_()
        found, expected = fast(x, edges), module(x, edges)
        self.assertClose(found, expected)
        self.assertIs(found[1], edges)
        self.assertEqual(*[[each.requires_grad for each in result] for result in (found, expected)])

    def test_second_derivatives_beside_returned_arguments(self) -> None:
        class Returned(Conv):
            def forward(self, x: Tensor, edge_index: Tensor) -> tuple[Tensor, Tensor]:
                return edge_index, super().forward(x, edge_index)

        module = Returned()
        x, edges = graph(6, 12)
        fast = gnnc.compile(module, (x, edges))
        x.requires_grad_()
        found = []
        with warnings.catch_warnings():
            warnings.simplefilter("error", UserWarning)
            for run in (fast, module):
                (first,) = torch.autograd.grad(run(x, edges)[1].square().sum(), x, create_graph=True)
                found.append(torch.autograd.grad(first.square().sum(), x)[0])
        self.assertClose(*found)


class WithLoops(nn.Module):
    """As attention weights of PyTorch Geometric come: with the edges that they are of, self loops among them."""

    def __init__(self) -> None:
        super().__init__()
        self.conv = Conv()
        self.register_buffer("first", torch.tensor([0, 1]))

    def forward(self, x: Tensor, edge_index: Tensor) -> tuple[Any, ...]:
        kept = edge_index[:, edge_index[0] != edge_index[1]]
        loops = torch.arange(x.size(0)).expand(2, -1)
        edges = torch.cat([kept, loops], 1)
        first = edges.clone()
        first[0] += 1  # what is written later counts
        return self.conv(x, edges), (edges, x[edges[0]].sum(1)), first, self.first.repeat(2), edges[0] > 2


class FromTheGraphTest(TorchTest):
    def test_on_graphs_of_any_size(self) -> None:
        module = WithLoops()
        fast = gnnc.compile(module, graph(6, 12))
        for nodes, edges in ((6, 12), (9, 30), (5, 0), (2, 7)):
            x, index = graph(nodes, edges)
            for _ in range(2):
                found, expected = fast(x, index), module(x, index)
                self.assertClose(found, expected)
                self.assertEqual(found[1][0].dtype, torch.int64)
                found[1][0].zero_()  # is the caller's own

    def test_the_same_tensors_with_other_numbers(self) -> None:
        module = WithLoops()
        x, index = graph(6, 12)
        fast = gnnc.compile(module, (x, index))
        fast(x, index)
        index.copy_(index.flip(1))
        self.assertClose(fast(x, index), module(x, index))

    def test_gradients(self) -> None:
        module = WithLoops()
        fast = gnnc.compile(module, graph(6, 12))
        x, index = graph(9, 30)
        x.requires_grad_()
        found = []
        for run in (fast, module):
            result = run(x, index)
            (first,) = torch.autograd.grad(result[0].square().sum() + result[1][1].sum(), x, create_graph=True)
            found.append([first, torch.autograd.grad(first.square().sum(), x)[0]])
        self.assertClose(*found)

    def test_traced(self) -> None:
        module = WithLoops()
        fast = gnnc.compile(module, graph(6, 12))
        x, index = graph(9, 30)
        traced = torch.compile(lambda *given: fast(*given)[0] * 2, backend="aot_eager", dynamic=True)
        self.assertClose(traced(x, index), module(x, index)[0] * 2)

    def test_what_is_written_late(self) -> None:
        """By way of views, of results that schemas do not call views, of `out`, and within `no_grad`."""

        def by_view(edges: Tensor, copy: Tensor) -> Tensor:
            copy[0].copy_(edges[1])
            return copy

        def by_type_as(edges: Tensor, copy: Tensor) -> Tensor:
            copy[0].type_as(edges).add_(1)
            return copy

        def by_broadcast(edges: Tensor, copy: Tensor) -> Tensor:
            torch.broadcast_tensors(copy[0], edges[0])[0].add_(1)
            return copy

        def into_out(edges: Tensor, copy: Tensor) -> Tensor:
            torch.add(edges[0], 1, out=copy[0])
            return copy

        def whole_within_no_grad(edges: Tensor, copy: Tensor) -> Tensor:
            row = copy[0]
            with torch.no_grad():
                copy.add_(1)
            return row

        def row_within_no_grad(edges: Tensor, copy: Tensor) -> Tensor:
            row = copy[0]
            with torch.no_grad():
                row.add_(1)
            return copy

        class Written(Conv):
            def __init__(self, write: Callable[[Tensor, Tensor], Tensor]) -> None:
                super().__init__()
                self.write = write

            def forward(self, x: Tensor, edge_index: Tensor) -> tuple[Tensor, Tensor]:
                return super().forward(x, edge_index), self.write(edge_index, edge_index.clone())

        for write in (by_view, by_type_as, by_broadcast, into_out, whole_within_no_grad, row_within_no_grad):
            with self.subTest(write.__name__):
                module = Written(write)
                fast = gnnc.compile(module, graph(6, 12))
                for nodes, edges in ((6, 12), (9, 30)):
                    x, index = graph(nodes, edges)
                    self.assertClose(fast(x, index), module(x, index))

    def test_buffers_as_they_are_now(self) -> None:
        module = WithLoops()
        x, index = graph(6, 12)
        fast = gnnc.compile(module, (x, index))
        copied = copy.deepcopy(fast)
        copied.first.add_(5)
        for _ in range(2):
            self.assertEqual(fast(x, index)[3].tolist(), module.first.tolist() * 2)
            self.assertEqual(copied(x, index)[3].tolist(), [5, 6, 5, 6])
            module.first = torch.tensor([7, 8])

    def test_what_follows_from_floats_is_refused(self) -> None:
        class Chosen(Conv):
            def forward(self, x: Tensor, edge_index: Tensor) -> tuple[Tensor, Tensor]:
                return super().forward(x, edge_index), edge_index * x.argmax(1)[edge_index]

        class Random(Conv):
            def forward(self, x: Tensor, edge_index: Tensor) -> tuple[Tensor, Tensor]:
                return super().forward(x, edge_index), torch.randint_like(edge_index, 9)

        for module in (Chosen(), Random()):
            with self.assertRaisesRegex(gnnc.CompileError, "has integers"):
                gnnc.compile(module, graph(6, 12))


class OtherResultsTest(TorchTest):
    """Results that are no tensors, or of another type than what the module computes in."""

    def test_numbers_of_python(self) -> None:
        class Numbers(nn.Module):
            def forward(self, x: Tensor, edge_index: Tensor, graphs: Tensor) -> dict[str, Any]:
                sums = torch.zeros_like(x).index_add(0, edge_index[1], x[edge_index[0]])
                nodes, edges = x.size(0), edge_index.size(1)
                sizes = [nodes, edges // 2, nodes / 2, nodes > 5, graphs.size(0) - 1]
                return {"sums": sums, "sizes": sizes, "constants": (3, True, 2.5, None, "mean")}

        fast = gnnc.compile(Numbers())
        for nodes, edges, graphs in ((6, 9, 3), (7, 4, 2), (5, 9, 1), (2, 3, 4)):
            x, edge_index = graph(nodes, edges)
            found, expected = [each(x, edge_index, torch.zeros(graphs, dtype=torch.long)) for each in (fast, Numbers())]
            self.assertEqual(found.keys(), expected.keys())
            self.assertClose(found["sums"], expected["sums"])
            for name in ("sizes", "constants"):
                self.assertEqual(found[name], expected[name])
                self.assertEqual(list(map(type, found[name])), list(map(type, expected[name])))

    def test_types_of_floats(self) -> None:
        class Narrow(nn.Module):
            def __init__(self) -> None:
                super().__init__()
                self.lin = nn.Linear(3, 3)

            def forward(self, x: Tensor, edge_index: Tensor, mask: Tensor) -> tuple[Tensor, ...]:
                sums = torch.zeros_like(x).index_add(0, edge_index[1], self.lin(x)[edge_index[0]])
                return sums, sums.float(), mask.float().mean(), torch.zeros(3), x.new_ones(2)

        module = Narrow().double()
        fast = gnnc.compile(module)
        for nodes, edges in ((6, 9), (4, 8)):
            x, edge_index = graph(nodes, edges)
            results = []
            for each in (fast, module):
                given = x.double().requires_grad_()
                found = each(given, edge_index, x[:, 0] > 0)
                (found[0].sum() + found[1].square().sum().double()).backward()
                again = each(given, edge_index, x[:, 0] > 0)[1].square().sum()
                (first,) = torch.autograd.grad(again, module.lin.weight, create_graph=True)
                (second,) = torch.autograd.grad(first.sum(), given)
                results.append([*found, given.grad, first, second])
            for mine, eager in zip(*results, strict=True):
                self.assertIs(mine.dtype, eager.dtype)
                self.assertEqual(mine.requires_grad, eager.requires_grad)
                torch.testing.assert_close(mine, eager, rtol=1e-5, atol=1e-6)
