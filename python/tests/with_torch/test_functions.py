# Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
# See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operators that PyTorch keeps whole when it exports a module, beside eager PyTorch."""

from __future__ import annotations

import unittest
from collections.abc import Callable
from typing import Any
from unittest import mock

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch._decomp import decompositions
from torch._subclasses import FakeTensorMode

import gnnc
from gnnc.torch import _fused_cells
from gnnc.torch._fused_cells import shapes_of_cells
from torch_modules import Of, TorchTest, graph

FUNCTIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "joined": lambda x: torch.hstack([x, torch.column_stack([x, x[:, 0]]), x.tile(2), torch.fliplr(x)]),
    "stacked": lambda x: torch.dstack([x, torch.multiply(x, 2)]).flatten(1) + torch.atleast_2d(x).repeat(1, 2),
    "split": lambda x: torch.hsplit(x, 3)[1] * torch.tensor_split(x, 2, 1)[0],
    "running": lambda x: torch.cummax(x, 1).values + torch.cummin(x, 1)[0] * torch.logcumsumexp(x, 1),
    "places": lambda x: x * torch.cummax(x, 1).indices + torch.argsort(x, 1),
    "missing": lambda x: torch.nan_to_num(torch.where(x > 0.5, x / 0, x), posinf=3.0) + torch.isfinite(x) * x,
    "present": lambda x: torch.nansum((x - 0.5).log(), 1),
    "norms": lambda x: torch.linalg.norm(x, dim=1) + torch.linalg.norm(x, ord=1, dim=1) + torch.dist(x, x * 2),
    "neighbours": lambda x: torch.diff(x, dim=1).sum(1) + torch.trapezoid(x, dim=1) + x.unfold(1, 2, 1).prod(2).sum(1),
    "order": lambda x: torch.kthvalue(x, 2, 1).values + torch.quantile(x, 0.3, dim=1),
    "pairs": lambda x: torch.fmax(x, x.flip(1)) + torch.copysign(x, x - 0.5) + torch.logaddexp2(x, x * 3),
    "rare": lambda x: torch.sinc(x) + torch.special.ndtr(x) + torch.special.entr(x.abs() + 0.1),
    "padded": lambda x: torch.cat([F.pad(x[:, None], (1, 2), mode=m) for m in ("circular", "reflect", "replicate")], 2),
    "losses": lambda x: F.poisson_nll_loss(x, x.detach().abs() * 3, full=True) + F.hinge_embedding_loss(x, x.sign()),
    "diagonals": lambda x: torch.diagonal_scatter(x[:, :, None] * x[:, None], x.sin(), dim1=2, dim2=1).flatten(1),
    "matrices": lambda x: torch.linalg.vecdot(x, x)[:, None] * (x @ torch.kron(torch.eye(1), torch.ones(3, 3))),
}


class Summed(nn.Module):
    def __init__(self, function: Callable[[Tensor], Tensor]) -> None:
        super().__init__()
        self.function = function

    def forward(self, x: Tensor, edge_index: Tensor) -> tuple[Tensor, Tensor]:
        sums = torch.zeros_like(x).index_add(0, edge_index[1], x[edge_index[0]])
        return self.function(x), sums


class FunctionsTest(TorchTest):
    def test_outputs_and_gradients(self) -> None:
        for name, function in FUNCTIONS.items():
            with self.subTest(name):
                module, fast = Summed(function), None
                for nodes, edges in ((6, 14), (15, 40)):
                    x, edge_index = graph(nodes, edges, seed=nodes)
                    fast = fast or gnnc.compile(module, (x, edge_index))
                    found = []
                    for run in (fast, module):
                        leaf = x.clone().requires_grad_()
                        y, sums = run(leaf, edge_index)
                        found.append([y, torch.autograd.grad(y.sin().sum() + sums.sum(), leaf)[0].nan_to_num()])
                    self.assertClose(*found)

    def test_what_is_no_number_or_infinite(self) -> None:
        """A diverged model must not look healthy: what is not a number stays so, and has a gradient where it has in eager
        mode."""
        functions: dict[str, Callable[[Tensor], Tensor]] = {
            "relu": F.relu,
            "threshold": lambda x: F.threshold(x, 0.5, 20.0),
            "hardshrink": F.hardshrink,
            "atan2": lambda x: torch.atan2(x, x.flip(0)),
            "logaddexp": lambda x: torch.logaddexp(x, x.flip(0)),
        }
        inf, nan = float("inf"), float("nan")
        rows = [[inf, -inf, nan], [-inf, -inf, inf], [nan, 0.2, 3.0], [inf, 4.0, 2.0], [3.0, -inf, -inf], [-1.0, nan, -inf]]
        edge_index = torch.tensor([[0, 1, 2, 3, 4, 5], [1, 2, 3, 4, 5, 0]])
        for name, function in functions.items():
            with self.subTest(name):
                found = []
                for run in (Summed(function), gnnc.compile(Summed(function))):
                    x = torch.tensor(rows, requires_grad=True)
                    y, _ = run(x, edge_index)
                    found.append((y.detach(), torch.autograd.grad(y.sum(), x)[0]))
                # Eager gradients of the others depend on how many numbers are computed at a time, or are of 0 / 0.
                compared = 2 if name in ("relu", "threshold", "logaddexp") else 1
                for expected, own in list(zip(*found))[:compared]:
                    torch.testing.assert_close(own, expected, equal_nan=True)

    def test_cells_on_a_gpu_have_shapes(self) -> None:
        """Where there is no GPU, in tensors without numbers, as torch.export has them."""
        name, key = "aten::_thnn_fused_gru_cell", "Meta"
        before = torch._C._dispatch_has_kernel_for_dispatch_key(name, key)
        with FakeTensorMode(), shapes_of_cells(), shapes_of_cells():
            x, h = torch.empty(5, 8, device="cuda"), torch.empty(5, 4, device="cuda")
            self.assertEqual(nn.GRUCell(8, 4, device="cuda")(x, h).shape, (5, 4))
            self.assertEqual(nn.LSTMCell(8, 4, device="cuda")(x, (h, h))[1].shape, (5, 4))
        self.assertEqual(torch._C._dispatch_has_kernel_for_dispatch_key(name, key), before)

    def test_last_states_have_shapes(self) -> None:
        """Where torch gives those of an LSTM's layer an axis too many."""
        layer = decompositions.one_layer_lstm

        def longer(*args: Any, **kwargs: Any) -> Any:
            out, last = layer(*args, **kwargs)
            return out, tuple(each.unsqueeze(0) for each in last)

        lstm = nn.LSTM(3, 2, bidirectional=True)
        module = Of(lambda x: lstm(torch.stack([x, x.sin()]))[1][0].sum(0))
        module.lstm = lstm
        x, _ = graph(7, 12)
        with mock.patch.object(_fused_cells, "_layer", longer):
            own = gnnc.compile(module)(x)
        torch.testing.assert_close(own, module(x))

    def test_angles_have_the_digits_of_their_type(self) -> None:
        module = Summed(lambda x: torch.atan2(x[:, :2], x[:, 1:]))
        for dtype, tolerance in ((torch.float32, 1e-6), (torch.float64, 1e-14)):
            with self.subTest(dtype):
                x, edges = graph(40, 60)
                leaf = (x * 10.0 ** torch.arange(-2, 1)).to(dtype).requires_grad_()
                found = []
                for run in (gnnc.compile(module, (leaf, edges)), module):
                    y, _ = run(leaf, edges)
                    found.append([y, torch.autograd.grad(y.sin().sum(), leaf)[0]])
                self.assertClose(*found, tolerance)


if __name__ == "__main__":
    unittest.main()
