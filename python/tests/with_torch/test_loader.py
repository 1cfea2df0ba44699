# Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
# See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Graphs that are prepared for calls to come."""

from __future__ import annotations

import threading
import unittest
import unittest.mock
from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor, nn

import gnnc
from gnnc import _model
from torch_modules import TorchTest, graph


class Sums(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.lin = nn.Linear(3, 3)

    def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
        return torch.zeros_like(x).index_add(0, edge_index[1], self.lin(x).tanh().index_select(0, edge_index[0]))


class LoaderTest(TorchTest):
    def setUp(self) -> None:
        super().setUp()
        self.batches = [graph(5 + i, 9 + 2 * i) for i in range(6)]
        self.module = Sums()
        self.fast = gnnc.compile(self.module, self.batches[0])

    def check(self, batch: tuple[Tensor, ...]) -> None:
        found = []
        for run in (self.fast, self.module):
            self.module.zero_grad()
            result = run(*batch)
            result.square().sum().backward()
            found.append((result, *[each.grad for each in self.module.parameters()]))
        self.assertClose(found[0], found[1])

    def test_batches_come_in_order_with_their_graphs(self) -> None:
        self.check(self.batches[0])
        seen = 0
        for batch, expected in zip(gnnc.Loader(self.batches[1:], self.fast), self.batches[1:], strict=True):
            self.assertIs(batch, expected)
            executor = vars(self.fast)["_gnnc"].last.executor
            ahead = [bound for bound in executor._ahead if bound.matches(list(batch))]
            self.assertEqual(len(ahead), 1)
            self.check(batch)
            self.assertIs(executor._last, ahead[0])
            seen += 1
        self.assertEqual(seen, 5)

    def test_changed_between(self) -> None:
        """An index tensor that is changed after its graph was prepared."""
        self.check(self.batches[0])
        x, edges = self.batches[1]
        self.fast.prefetch(x, edges)
        edges[1] = edges[1].flip(0)
        self.check((x, edges))

    def test_changed_while_it_is_prepared(self) -> None:
        """What another thread reads is what was there, or is prepared again."""
        self.check(self.batches[0])
        x, edges = self.batches[1]
        prepare = _model.Prepared

        def slow(*given: Any) -> Any:
            prepared = prepare(*given)
            edges[1] = edges[1].flip(0)
            return prepared

        with unittest.mock.patch.object(_model, "Prepared", slow):
            self.fast.prefetch(x, edges)
        self.check((x, edges))

    def test_prefetched_in_another_order(self) -> None:
        self.check(self.batches[0])
        for batch in self.batches[1:4]:
            self.fast.prefetch(*batch)
        for batch in (self.batches[3], self.batches[1], self.batches[5], self.batches[2]):
            self.check(batch)

    def test_prefetched_for_other_numbers_of_nodes(self) -> None:
        self.check(self.batches[0])
        x, edges = self.batches[1]
        self.fast.prefetch(x, edges)
        self.check((torch.randn(x.shape[0] + 3, 3), edges))
        self.check((x, edges))

    def test_keywords_and_other_parts_of_batches(self) -> None:
        batches = [{"number": i, "x": x, "edges": edges} for i, (x, edges) in enumerate(self.batches)]
        arguments = lambda batch: {"x": batch["x"], "edge_index": batch["edges"]}  # noqa: E731
        self.fast(**arguments(batches[0]))
        for batch in gnnc.Loader(batches, self.fast, arguments=arguments):
            result = self.fast(**arguments(batch))
            self.assertClose(result, self.module(batch["x"], batch["edges"]))

    def test_what_was_not_compiled_for_is_passed_on(self) -> None:
        x, edges = self.batches[1]
        others = [(x.double(), edges), (x, edges)]
        self.assertEqual([batch[0].dtype for batch in gnnc.Loader(others, self.fast)], [torch.float64, torch.float32])

    def test_wrong_graphs_are_said_by_the_call(self) -> None:
        x, edges = self.batches[1]
        wrong = torch.full_like(edges, 1000)
        for batch in gnnc.Loader([(x, wrong)], self.fast):
            with self.assertRaisesRegex(gnnc.Error, "1000"):
                self.fast(*batch)

    def test_errors_of_the_loader(self) -> None:
        def broken() -> Iterator[tuple[Tensor, ...]]:
            yield self.batches[1]
            raise OSError("no such file")

        loader = iter(gnnc.Loader(broken(), self.fast))
        next(loader)
        with self.assertRaisesRegex(OSError, "no such file"):
            next(loader)

    def test_a_loop_that_ends_early(self) -> None:
        for _ in gnnc.Loader(self.batches * 20, self.fast, ahead=3):
            break
        for thread in threading.enumerate():
            if thread.name == "gnnc.Loader":
                thread.join(10)
                self.assertFalse(thread.is_alive())

    def test_lengths_and_bad_arguments(self) -> None:
        self.assertEqual(len(gnnc.Loader(self.batches, self.fast)), 6)
        with self.assertRaisesRegex(TypeError, "does not say"):
            len(gnnc.Loader(iter(self.batches), self.fast))
        with self.assertRaisesRegex(gnnc.Error, "gnnc.compile"):
            gnnc.Loader(self.batches, self.module)
        with self.assertRaisesRegex(gnnc.Error, "ahead"):
            gnnc.Loader(self.batches, self.fast, ahead=0)


if __name__ == "__main__":
    unittest.main()
