# Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
# See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A training loop over mini-batches, each of sizes and tensors of its own: nothing is compiled again, nothing leaks."""

from __future__ import annotations

import copy
import gc
import os
import unittest
from unittest import mock

import torch
from torch import Tensor, nn

import gnnc
from gnnc import _cache, _compiler
from gnnc._graph import Prepared
from torch_modules import Conv, TorchTest

STEPS = 1000
SETTLED = 300  #: steps after which memory must not grow
LIMIT = 1 << 20  #: bytes of prepared graphs that are kept
KEPT_BY_LEAK = 8 << 20  #: less than the batches after SETTLED have, and more than allocators move about


class Classifier(nn.Module):
    """Of whole graphs: two layers, the means of each graph's nodes, and a linear layer."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second, self.head = Conv(3, 8), Conv(8, 8), nn.Linear(8, 2)

    def forward(self, x: Tensor, edge_index: Tensor, batch: Tensor, graphs: Tensor) -> Tensor:
        x = self.second(self.first(x, edge_index), edge_index)
        sums = x.new_zeros(graphs.shape[0], x.shape[1]).index_add(0, batch, x)
        counts = x.new_zeros(graphs.shape[0]).index_add(0, batch, x.new_ones(x.shape[0]))
        return self.head(sums / counts.clamp(min=1).unsqueeze(1)) + graphs


def mini_batch(step: int) -> tuple[Tensor, ...]:
    """Features, edges, the graph of each node, and a number for each graph: new tensors, of sizes seen once or seldom."""
    generator = torch.Generator().manual_seed(step)
    nodes, edges, graphs = (int(torch.randint(*each, (), generator=generator)) for each in ((50, 400), (500, 3000), (2, 40)))
    x = torch.randn(nodes, 3, generator=generator)
    edge_index = torch.randint(0, nodes, (2, edges), generator=generator)
    batch = torch.randint(0, graphs, (nodes,), generator=generator).sort().values
    return x, edge_index, batch, torch.randn(graphs, 2, generator=generator)


def resident() -> int:
    """Bytes of memory that this process has."""
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def alive() -> int:
    """How many prepared graphs there are."""
    gc.collect()
    return sum(isinstance(each, Prepared) for each in gc.get_objects())


def step(run: nn.Module, arguments: tuple[Tensor, ...]) -> list[Tensor]:
    """The loss of a batch and its gradients."""
    loss = run(*arguments).square().mean()
    return [loss, *torch.autograd.grad(loss, list(run.parameters()))]


class BatchesTest(TorchTest):
    def test_mini_batches_neither_compile_nor_leak(self) -> None:
        module = Classifier()
        fast = gnnc.compile(copy.deepcopy(module), mini_batch(0))
        prepared, others = _cache.graphs.misses, alive()
        with (
            mock.patch.object(_compiler, "run_compiler", side_effect=AssertionError("compiled again")),
            mock.patch.object(torch.export, "export", side_effect=AssertionError("exported again")),
            mock.patch.object(_cache.graphs, "limit", LIMIT),
        ):
            for number in range(STEPS):
                arguments = mini_batch(1 + number)
                results = step(fast, arguments)
                if number % 50 == 0:
                    self.assertClose(results, step(module, arguments), 1e-4)
                self.assertLessEqual(_cache.graphs.nbytes, LIMIT)
                if number == SETTLED:
                    gc.collect()
                    before = resident()
        gc.collect()
        self.assertLess(resident() - before, KEPT_BY_LEAK)
        self.assertEqual(_cache.graphs.misses - prepared, STEPS)  # each was prepared, and once
        self.assertLessEqual(alive() - others, len(_cache.graphs) + 1)  # the last call's

    def test_the_check_sees_graphs_that_are_kept(self) -> None:
        fast = gnnc.compile(Classifier(), mini_batch(0))
        before = resident()
        with mock.patch.object(_cache.graphs, "limit", 1 << 30):
            for number in range(STEPS - SETTLED):
                step(fast, mini_batch(1 + number))
        self.assertGreater(_cache.graphs.nbytes, KEPT_BY_LEAK)
        self.assertGreater(resident() - before, KEPT_BY_LEAK)


if __name__ == "__main__":
    unittest.main()
