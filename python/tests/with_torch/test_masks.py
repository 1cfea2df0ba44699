# Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
# See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Masks that an explanation puts on the layers of a module that has been compiled."""

from __future__ import annotations

import unittest

import torch
from torch import Tensor, nn

import gnnc
from torch_modules import TorchTest, graph

try:
    from torch_geometric.explain.algorithm.utils import clear_masks, set_masks
    from torch_geometric.nn import GCNConv, SAGEConv
except ImportError:
    raise unittest.SkipTest("PyTorch Geometric is not installed") from None


class Net(nn.Module):
    def __init__(self, conv: nn.Module) -> None:
        super().__init__()
        self.conv = conv

    def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
        return self.conv(x, edge_index).tanh()


class MasksTest(TorchTest):
    def test_masks_of_edges(self) -> None:
        x, edges = graph(7, 20)
        for conv in (SAGEConv(3, 2), GCNConv(3, 2, add_self_loops=False)):
            module = Net(conv).eval()
            fast = gnnc.compile(module, (x, edges))
            plain = fast(x, edges)
            mask = nn.Parameter(torch.randn(20))
            set_masks(module, mask, edges)
            for _ in range(3):
                found = []
                for run in (fast, module):
                    result = run(x, edges)
                    found.append([result, *torch.autograd.grad(result.square().sum(), [mask])])
                self.assertClose(*found)
                with torch.no_grad():
                    mask.sub_(found[0][1])
            self.assertGreater(float((found[0][0] - plain).abs().max()), 1e-3)
            self.assertEqual(len(vars(fast)["_gnnc"].specializations), 2)
            clear_masks(module)
            self.assertClose(fast(x, edges), plain)

    def test_masks_that_are_refused_are_named(self) -> None:
        """Where layers add loops of their own, numbers say which mask is whose."""
        x, edges = graph(7, 20)
        module = Net(GCNConv(3, 2)).eval()
        fast = gnnc.compile(module, (x, edges))
        plain = fast(x, edges)
        set_masks(module, torch.zeros(20), edges)
        try:
            self.assertClose(fast(x, edges), module(x, edges))
        except gnnc.Error as refused:
            self.assertRegex(str(refused), "has changed since it was compiled, in '.*' of 'conv'")
        clear_masks(module)
        self.assertClose(fast(x, edges), plain)


if __name__ == "__main__":
    unittest.main()
