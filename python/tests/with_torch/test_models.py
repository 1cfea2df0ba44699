# Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
# See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Whole models: `optimize`, `export`, and torch.compile with the backend."""

from __future__ import annotations

import copy
import tempfile
import unittest
import warnings
from pathlib import Path
from typing import NamedTuple

import torch
from torch import Tensor, nn

import gnnc
from gnnc.torch import CompiledModule
from torch_modules import Conv, TorchTest, graph


class Gamma(nn.Module):
    """Has a function that the language has not, and is refused."""

    def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
        return torch.lgamma(1 + x.square()).index_add(0, edge_index[1], x[edge_index[0]])


class Mixed(nn.Module):
    """A layer that can be compiled, one that cannot, and a dense one."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.gamma, self.head = Conv(3, 2), Gamma(), nn.Linear(2, 2)

    def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
        return self.head(self.gamma(self.first(x, edge_index), edge_index))


class OptimizeTest(TorchTest):
    def test_what_cannot_be_compiled_is_left_with_a_reason(self) -> None:
        model = Mixed()
        x, edges = graph(6, 12)
        expected = model(x, edges)
        report = gnnc.optimize(model, (x, edges))
        self.assertIs(report.model, model)
        self.assertEqual(report.compiled, ["first"])
        self.assertIsInstance(model.first, CompiledModule)
        left = {outcome.path: outcome for outcome in report.outcomes if not outcome.compiled}
        self.assertEqual(list(left), ["", "gamma"])
        self.assertTrue(left["gamma"].reason)
        self.assertIn("compiled      first (Conv)", str(report))
        self.assertClose(model(x, edges), expected)
        self.assertEqual(len(list(model.parameters())), 4)

    def test_a_whole_model(self) -> None:
        model = Conv()
        x, edges = graph(6, 12)
        report = gnnc.optimize(model, (x, edges))
        self.assertIsInstance(report.model, CompiledModule)
        self.assertClose(report.model(x, edges), model(x, edges))


class Masked(nn.Module):
    """Softmax of the columns that a mask leaves, times numbers made in forward."""

    def __init__(self) -> None:
        super().__init__()
        self.lin = nn.Linear(3, 3)
        self.register_buffer("columns", torch.tensor([True, False, True]))

    def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
        x = self.lin(x).masked_fill(~self.columns, -float("inf"))
        return torch.softmax(x, 1).index_select(0, edge_index[0]) * torch.tensor([1.0, 2.0, 3.0])


class EffectsTest(TorchTest):
    """Modules that change something else than their results are refused, and never half right."""

    class Normalised(nn.Module):
        """Without a momentum, statistics are averages over all batches, which is refused in training."""

        def __init__(self) -> None:
            super().__init__()
            self.conv, self.norm = Conv(3, 2), nn.BatchNorm1d(2, momentum=None)

        def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
            return self.norm(self.conv(x, edge_index))

    def test_running_statistics(self) -> None:
        model = self.Normalised()
        x, edges = graph(6, 12)
        model(x, edges)
        before = model.norm.running_mean.clone()
        with self.assertRaises(gnnc.Error):
            gnnc.compile(model, (x, edges))
        self.assertClose(model.norm.running_mean, before)
        model.eval()
        fast = gnnc.compile(model, (x, edges))
        self.assertClose(fast(x, edges), model(x, edges))
        with self.assertRaises(gnnc.Error):
            fast.train()(x, edges)

    def test_optimize_falls_back_in_the_other_mode(self) -> None:
        model = self.Normalised().eval()
        x, edges = graph(6, 12)
        fast = gnnc.optimize(model, (x, edges)).model
        self.assertIsInstance(fast, CompiledModule)
        expected = copy.deepcopy(model).train()
        fast.train()
        with self.assertWarnsRegex(UserWarning, "leaves Normalised to PyTorch in training mode: .*compiled in it: conv$"):
            self.assertClose(fast(x, edges), expected(x, edges))
        self.assertIsInstance(model.conv, CompiledModule)
        self.assertClose(fast(x * 2, edges), expected(x * 2, edges))
        self.assertEqual(int(model.norm.num_batches_tracked), 2)
        fast.eval()
        expected.eval()
        self.assertClose(fast(x, edges), expected(x, edges))

    def test_compiled_parts_are_compiled_again_with_the_whole(self) -> None:
        model = self.Normalised()
        x, edges = graph(6, 12)
        gnnc.optimize(model, (x, edges))
        self.assertIsInstance(model.conv, CompiledModule)
        model.eval()
        fast = gnnc.compile(model, (x, edges))
        self.assertClose(fast(x, edges), model(x, edges))

    def test_changes_without_a_gradient(self) -> None:
        """PyTorch takes the gradient of what is changed within no_grad for that of what it was."""

        class Changed(nn.Module):
            def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
                y = x * 2
                with torch.no_grad():
                    y.mul_(3)
                return y.index_select(0, edge_index[0])

        with self.assertRaisesRegex(gnnc.CompileError, "in place within no_grad"):
            gnnc.compile(Changed(), graph(6, 12))

    def test_functions_with_derivatives_of_their_own(self) -> None:
        """torch.export would take their results as constants."""

        class Doubled(torch.autograd.Function):
            @staticmethod
            def forward(ctx: object, x: Tensor) -> Tensor:
                return 2 * x

            @staticmethod
            def backward(ctx: object, cotangent: Tensor) -> Tensor:
                return 3 * cotangent

        class Custom(nn.Module):
            def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
                return Doubled.apply(x).index_select(0, edge_index[0])

        with self.assertRaisesRegex(gnnc.Error, "'Doubled' is an autograd.Function"):
            gnnc.compile(Custom(), graph(6, 12))
        self.assertClose(Doubled.apply(torch.ones(2)), torch.full((2,), 2.0))

    def test_arguments_changed_in_place(self) -> None:
        class InPlace(nn.Module):
            def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
                x.mul_(2)
                return x.index_select(0, edge_index[0])

        with self.assertRaisesRegex(gnnc.CompileError, "changes its argument 'x' in place"):
            gnnc.compile(InPlace(), graph(6, 12))


class ExportTest(TorchTest):
    def test_an_object_with_its_parameters(self) -> None:
        module = Conv()
        x, edges = graph(5, 9)
        with tempfile.TemporaryDirectory() as folder:
            path = gnnc.export(module, (x, edges), Path(folder) / "model.so", gradient=True)
            beside = path.with_suffix(".safetensors")
            loaded = gnnc.load(path, parameters=beside if beside.exists() else None)
            expected = module(x, edges).detach()
            self.assertClose(torch.from_numpy(loaded(x=x.numpy(), edge_index=edges.numpy())), expected)
            self.assertClose(loaded(x=x, edge_index=edges), expected)

    def test_states_of_the_program(self) -> None:
        """Infinities, truth values of a buffer and tensors that forward makes are in the object."""
        module = Masked()
        x, edges = graph(5, 9)
        fast = gnnc.compile(module, (x, edges))
        self.assertClose(fast(x, edges), module(x, edges))
        module.columns.logical_not_()
        self.assertClose(fast(x, edges), module(x, edges))
        with tempfile.TemporaryDirectory() as folder:
            path = gnnc.export(module, (x, edges), Path(folder) / "model.so")
            beside = path.with_suffix(".safetensors")
            loaded = gnnc.load(path, parameters=beside if beside.exists() else None)
            self.assertClose(loaded(x=x, edge_index=edges), module(x, edges).detach())


class Batch(NamedTuple):
    x: Tensor
    edge_index: Tensor
    weight: Tensor | None = None


class ResultsTest(TorchTest):
    def test_integers_that_floats_do_not_hold_are_refused(self) -> None:
        class Ids(nn.Module):
            def forward(self, x: Tensor, edge_index: Tensor) -> tuple[Tensor, Tensor]:
                return x.index_select(0, edge_index[0]), edge_index[0] * 16777217

        with tempfile.TemporaryDirectory() as folder:
            with self.assertRaisesRegex(gnnc.CompileError, "output 'mul' has integers, .* return floats"):
                gnnc.export(Ids(), graph(5, 9), Path(folder) / "never.so")
        self.assertClose(gnnc.compile(Ids(), graph(5, 9))(*graph(6, 9)), Ids()(*graph(6, 9)))

    def test_integers_and_truth_values(self) -> None:
        """Classes, places and comparisons have PyTorch's types, beside results that have gradients."""

        class Classes(Conv):
            def forward(self, x: Tensor, edge_index: Tensor) -> dict[str, Tensor]:
                h = super().forward(x, edge_index)
                best, place = (h + x[:, :2]).max(-1)
                return {
                    "h": h,
                    "class": h.argmax(-1),
                    "place": place.unsqueeze(1),
                    "is_more": h > 0.5,
                    "rounded": (best * 10).round().int(),
                }

        for dtype in (torch.float32, torch.float64):
            module = Classes(dtype=dtype)
            fast = gnnc.compile(module, graph(6, 12, dtype=dtype))
            traced = torch.compile(fast, backend="aot_eager", fullgraph=True, dynamic=True)
            for nodes, edges in ((6, 12), (9, 20)):
                x, edge_index = graph(nodes, edges, dtype=dtype)
                expected = module(x.requires_grad_(), edge_index)
                (gradient,) = torch.autograd.grad(expected["h"].sin().sum(), x)
                for run in (fast, traced):
                    found = run(x, edge_index)
                    for name, value in expected.items():
                        self.assertEqual((found[name].dtype, found[name].requires_grad), (value.dtype, name == "h"))
                        self.assertClose(found[name], value)
                    self.assertClose(torch.autograd.grad(found["h"].sin().sum(), x)[0], gradient)

    def test_named_tuples(self) -> None:
        """As arguments and as results; torch itself saves no program that has them."""

        class Named(Conv):
            def forward(self, batch: Batch) -> Batch:
                weight = 1.0 if batch.weight is None else batch.weight
                return Batch(super().forward(batch.x, batch.edge_index), batch.x * weight)

        module = Named()
        for weight in (None, torch.rand(6, 1)):
            batch = Batch(*graph(6, 12), weight)
            fast = gnnc.compile(module, (batch,))
            found, expected = fast(batch), module(batch)
            self.assertIs(type(found), Batch)
            self.assertClose(list(found)[:2], list(expected)[:2])

    def test_rows_chosen_by_truth_values(self) -> None:
        class Marked(Conv):
            def __init__(self) -> None:
                super().__init__()
                self.marks = nn.Embedding(2, 3)

            def forward(self, x: Tensor, edge_index: Tensor, mask: Tensor) -> Tensor:
                return super().forward(x + self.marks(mask.long()), edge_index)

        module = Marked()
        fast = gnnc.compile(module, (*graph(6, 12), torch.arange(6) % 2 == 0))
        for dtype in (torch.bool, torch.uint8):
            x, edge_index = graph(9, 20)
            mask = (torch.rand(9) > 0.4).to(dtype)
            if dtype is not torch.bool:
                fast = gnnc.compile(module, (x, edge_index, mask))
            wanted = list(module.parameters())
            found, expected = fast(x, edge_index, mask), module(x, edge_index, mask)
            self.assertClose(found, expected)
            for given, by_pytorch in zip(
                torch.autograd.grad(found.sin().sum(), wanted), torch.autograd.grad(expected.sin().sum(), wanted)
            ):
                self.assertClose(given, by_pytorch)


class BackendTest(TorchTest):
    def setUp(self) -> None:
        super().setUp()
        from gnnc.torch._backend import backend

        torch._dynamo.reset()
        self.backend = backend

    def test_equal_to_eager_at_any_size(self) -> None:
        module = Conv()
        fast = torch.compile(module, backend=self.backend, dynamic=True)
        wanted = list(module.parameters())
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            for nodes, edges in ((5, 9), (30, 100)):
                x, index = graph(nodes, edges)
                found, expected = fast(x, index), module(x, index)
                self.assertClose(found, expected)
                self.assertClose(torch.autograd.grad(found.sum(), wanted), torch.autograd.grad(expected.sum(), wanted))

    def test_changes_in_place_whose_results_are_not_used(self) -> None:
        class Mean(nn.Module):
            def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
                messages = x.index_select(0, edge_index[0])
                counts = messages.new_zeros(x.shape[0])
                counts.scatter_add_(0, edge_index[1], messages.new_ones(edge_index.shape[1]))
                sums = torch.zeros_like(x).index_add(0, edge_index[1], messages)
                return sums / counts.clamp(min=1).view(-1, 1)

        module = Mean()
        fast = torch.compile(module, backend=self.backend, dynamic=True)
        with warnings.catch_warnings():
            warnings.simplefilter("error", UserWarning)
            for nodes, edges in ((5, 19), (30, 100)):
                x, index = graph(nodes, edges)
                self.assertClose(fast(x, index), module(x, index))

    def test_refused_graphs_run_in_pytorch(self) -> None:
        module = Gamma()
        fast = torch.compile(module, backend=self.backend, dynamic=True)
        x, edges = graph(6, 12)
        with self.assertWarnsRegex(UserWarning, "gnnc leaves a graph to PyTorch"):
            self.assertClose(fast(x, edges), module(x, edges))

    def test_graphs_without_an_index_are_not_touched(self) -> None:
        module = nn.Sequential(nn.Linear(3, 2), nn.ReLU())
        x = torch.randn(4, 3)
        self.assertClose(torch.compile(module, backend=self.backend, dynamic=True)(x), module(x))


if __name__ == "__main__":
    unittest.main()
