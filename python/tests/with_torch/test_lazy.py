# Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
# See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Lazy parameters, whose shapes come from the first call."""

from __future__ import annotations

import copy
import tempfile
import unittest
from pathlib import Path

import torch
from torch import Tensor, nn

import gnnc
from torch_modules import TorchTest, graph


class Lazy(nn.Module):
    def __init__(self, unused: bool = False) -> None:
        super().__init__()
        self.first, self.norm, self.second = nn.LazyLinear(4), nn.BatchNorm1d(4), nn.LazyLinear(2)
        if unused:
            self.third = nn.LazyLinear(2)

    def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
        x = self.norm(self.first(x)).relu()
        return self.second(torch.zeros_like(x).index_add(0, edge_index[1], x[edge_index[0]]))


class Made(nn.Module):
    """Makes a layer and a parameter in its first call, or in each."""

    def __init__(self, each: bool = False) -> None:
        super().__init__()
        self.lin: nn.Linear | None = None
        self.each = each

    def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
        if self.lin is None or self.each:
            self.lin = nn.Linear(x.shape[1], 2).to(x.device)
            self.scale = nn.Parameter(torch.ones(2))
        return self.lin(torch.zeros_like(x).index_add(0, edge_index[1], x[edge_index[0]])) * self.scale


class LazyTest(TorchTest):
    def test_the_example_initialises_them(self) -> None:
        for example in (graph(5, 9), None):
            module = Lazy()
            fast = gnnc.compile(module, example)
            if example is None:
                fast(*graph(5, 9))
            self.assertTrue(module.training and module.norm.training)
            eager = copy.deepcopy(module)
            for nodes, edges in ((5, 9), (8, 20)):
                self.assertClose(fast(*graph(nodes, edges)), eager(*graph(nodes, edges)))
            self.assertClose(dict(module.named_buffers()), dict(eager.named_buffers()))

    def test_nothing_but_parameters_is_changed(self) -> None:
        module = Lazy()
        gnnc.compile(module, graph(5, 9))
        self.assertEqual(int(module.norm.num_batches_tracked), 0)

    def test_objects(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            module = Lazy().eval()
            x, edge_index = graph(5, 9)
            loaded = gnnc.load(gnnc.export(module, (x, edge_index), Path(folder) / "model.so"))
            self.assertClose(loaded(x=x, edge_index=edge_index), module(x, edge_index))

    def test_layers_of_the_first_call(self) -> None:
        for example in (graph(5, 9), None):
            module = Made()
            fast = gnnc.compile(module, example)
            self.assertFalse(list(module.parameters()))
            fast(*graph(5, 9))
            self.assertEqual(len(list(fast.parameters())), 3)
            self.assertFalse(vars(fast)["_gnnc"].specializations)
            self.assertClose(fast(*graph(8, 20)), module(*graph(8, 20)))
            self.assertEqual(len(vars(fast)["_gnnc"].specializations), 1)
        with tempfile.TemporaryDirectory() as folder:
            with self.assertRaisesRegex(gnnc.Error, "'Made' makes 'lin' in its first call: call the module once before"):
                gnnc.export(Made(), graph(5, 9), Path(folder) / "model.so")
        with self.assertRaisesRegex(gnnc.Error, "'Made' makes 'lin' in each call.*make it in __init__"):
            gnnc.compile(Made(each=True), graph(5, 9))

    def test_those_that_nothing_uses_are_refused(self) -> None:
        with self.assertRaisesRegex(gnnc.Error, "uninitialised lazy parameter 'third.weight'"):
            gnnc.compile(Lazy(unused=True), graph(5, 9))

    def test_examples_that_do_not_fit(self) -> None:
        with self.assertRaisesRegex(gnnc.Error, "lazy parameters of Lazy: index 7 is out of bounds"):
            gnnc.compile(Lazy(), (torch.randn(5, 3), torch.full((2, 4), 7)))


if __name__ == "__main__":
    unittest.main()
