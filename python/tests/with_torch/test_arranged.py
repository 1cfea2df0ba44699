# Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
# See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Modules whose arguments or results have the axis of nodes elsewhere than first."""

from __future__ import annotations

import copy
import pickle
import subprocess
import tempfile
import unittest
from pathlib import Path
from unittest import mock

import torch
from torch import Tensor, nn

import gnnc
from gnnc import _compiler
from torch_modules import TorchTest, graph


def sums(x: Tensor, edge_index: Tensor, dim: int) -> Tensor:
    """Over the edges into each node."""
    return torch.zeros_like(x).index_add(dim, edge_index[1], x.index_select(dim, edge_index[0]))


class Columns(nn.Module):
    """Nodes are columns, in arguments and results; a second result has them first."""

    def __init__(self) -> None:
        super().__init__()
        self.lin, self.drop = nn.Linear(3, 4), nn.Dropout(0.5)
        self.norm = nn.BatchNorm1d(4)

    def forward(self, x: Tensor, edge_index: Tensor) -> dict[str, Tensor]:
        h = self.norm(sums(self.lin(x.t()), edge_index, 0).tanh())
        return {"columns": self.drop(h).t(), "rows": h}


class Batched(nn.Module):
    """Several signals on one graph: [signals, nodes, features]."""

    def __init__(self) -> None:
        super().__init__()
        self.lin, self.own = nn.Linear(3, 4), nn.Linear(3, 4)

    def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
        return torch.sigmoid(sums(self.lin(x), edge_index, 1) + self.own(x))


class Weighted(nn.Module):
    """The same, where edges have weights: as many as there are edges."""

    def forward(self, x: Tensor, edge_index: Tensor, weight: Tensor) -> Tensor:
        messages = x.index_select(1, edge_index[0]) * weight[:, None]
        return torch.zeros_like(x).index_add(1, edge_index[1], messages)


class Steps(nn.Module):
    """A convolution over steps of time, then along edges: [features, steps, nodes] to [features, nodes]."""

    def __init__(self) -> None:
        super().__init__()
        self.over_time = nn.Parameter(torch.randn(4, 3, 5) / 4)

    def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
        h = torch.einsum("fsn,gfs->gn", x, self.over_time)
        return torch.relu(h + sums(h, edge_index, 1))


class Table(nn.Module):
    """A table of four rows, whose axes are both fixed."""

    def forward(self, x: Tensor, edge_index: Tensor, table: Tensor) -> Tensor:
        return sums(x, edge_index, 0) * table[2] + table.reshape(2, 2, 3).sum((0, 1))


class ArrangedTest(TorchTest):
    def compare(self, module: nn.Module, fast: nn.Module, *given: Tensor, tolerance: float = 1e-5) -> None:
        found = []
        for run in (fast, module):
            torch.manual_seed(1)
            leaf = given[0].detach().clone().requires_grad_()
            output = run(leaf, *given[1:])
            values = list(output.values()) if isinstance(output, dict) else [output]
            total = sum(value.sin().sum() for value in values)
            found.append([*values, *torch.autograd.grad(total, [leaf, *module.parameters()])])
        self.assertClose(*found, tolerance)
        self.assertEqual([each.stride() for each in found[0][-1:]], [each.stride() for each in found[1][-1:]])

    def at_any_size(self, module: nn.Module, shape: tuple[int, ...], *more: Tensor) -> gnnc.torch.CompiledModule:
        """-1 in a shape is the number of nodes. Compiled once."""
        fast = None
        for nodes, edges in ((7, 20), (11, 30), (5, 9)):
            x = torch.randn([nodes if size < 0 else size for size in shape])
            edge_index = graph(nodes, edges, seed=nodes)[1]
            if fast is None:
                fast = gnnc.compile(module, (x, edge_index, *more))
                before = mock.patch.object(_compiler, "run_compiler", side_effect=AssertionError("compiled again"))
                before.start()
                self.addCleanup(before.stop)
            self.compare(module, fast, x, edge_index, *more)
        before.stop()
        return fast

    def test_what_an_export_found_is_known_to_the_next(self) -> None:
        """An export that fails, since two sizes are one, takes as long as one that succeeds."""
        x, edge_index = torch.randn(2, 6, 3), graph(6, 9)[1]
        with mock.patch.object(torch.export, "export", wraps=torch.export.export) as export:
            compiled = gnnc.compile(Weighted(), (x, edge_index, torch.rand(9)))
        self.assertEqual(export.call_count, 3)  # two sizes are one; that; with the nodes' axis, as it is compiled
        x, edge_index, weight = torch.randn(2, 8, 3), graph(8, 20)[1], torch.rand(20)
        self.assertClose(compiled(x, edge_index, weight), Weighted()(x, edge_index, weight))

    def test_columns(self) -> None:
        module = Columns().eval()
        fast = self.at_any_size(module, (3, -1))
        self.assertIn("evaluation: ", repr(fast))

    def test_sizes_that_a_moved_one_fixes(self) -> None:
        """Weights of nodes are as many as x has columns, which torch takes for fixed until that axis may differ."""

        class Weighted(Columns):
            def forward(self, x: Tensor, edge_index: Tensor, weight: Tensor) -> dict[str, Tensor]:
                return super().forward(x * weight, edge_index)

        module = Weighted().eval()
        fast = gnnc.compile(module, (torch.randn(3, 7), graph(7, 20)[1], torch.rand(7)))
        with mock.patch.object(_compiler, "run_compiler", side_effect=AssertionError("compiled again")):
            for nodes in (5, 11):
                self.compare(module, fast, torch.randn(3, nodes), graph(nodes, 30)[1], torch.rand(nodes))

    def test_exported(self) -> None:
        """Objects have the axis first, under the module's names for its arguments."""

        class Keyword(Columns):
            def forward(self, x: Tensor, *, edge_index: Tensor) -> Tensor:
                return super().forward(x, edge_index)["columns"]

        module = Keyword().eval()
        with tempfile.TemporaryDirectory() as folder:
            with self.assertWarnsRegex(UserWarning, r"comes first in '.*model.so', in 'x' \(axis 1\)"):
                path = gnnc.export(
                    module, torch.randn(3, 7), Path(folder) / "model.so", kwargs={"edge_index": graph(7, 20)[1]}
                )
            loaded = gnnc.load(path)
            x, edge_index = torch.randn(3, 11), graph(11, 30)[1]
            found = loaded(x=x.t().contiguous(), edge_index=edge_index)
        self.assertClose(found.t(), module(x, edge_index=edge_index).detach(), 1e-5)

    def test_files_of_exported_programs(self) -> None:
        """`gnnc compile` brings the axis to the front, and says so, unless it is told not to."""
        nodes, edges = torch.export.Dim("nodes"), torch.export.Dim("edges")
        index = graph(9, 25)[1]
        for module, shape, axes in (
            (Columns().eval(), (3, -1), (1, 1, 0)),
            (Batched(), (2, -1, 3), (1, 1)),
            (Steps(), (3, 5, -1), (2, 1)),
        ):
            x = torch.randn([9 if size < 0 else size for size in shape])
            program = torch.export.export(
                module, (torch.randn([7 if size < 0 else size for size in shape]), graph(7, 20)[1]),
                dynamic_shapes={"x": {axes[0]: nodes}, "edge_index": {1: edges}}, strict=False,
            )  # fmt: skip
            with tempfile.TemporaryDirectory() as folder:
                file, path = Path(folder) / "model.pt2", Path(folder) / "model.so"
                torch.export.save(program, file)
                command = [_compiler.find_compiler(), "compile", file, "--gradient", "-o", path]
                with self.subTest(type(module).__name__):
                    said = subprocess.run(command, capture_output=True, text=True, check=True).stderr
                    moved = f"comes first in the model, in input 'x' (axis {axes[0]}), result 0 (axis 1) too"
                    self.assertIn(moved, said)
                    refused = subprocess.run([*command, "--keep-axes"], capture_output=True, text=True)
                    self.assertIn("expected the axis whose size is not fixed to be the first", refused.stderr)
                    leaf = x.clone().requires_grad_()
                    results = module(leaf, index)
                    results = list(results.values()) if isinstance(results, dict) else [results]
                    seeds = [torch.randn_like(result) for result in results]
                    (wanted,) = torch.autograd.grad(results, leaf, seeds)
                    model = gnnc.load(path)
                    arguments = {"x": x.movedim(axes[0], 0).contiguous(), "edge_index": index}
                    found = model.run("forward", **arguments)
                    expected = [result.detach().movedim(axis, 0) for result, axis in zip(results, axes[1:])]
                    self.assertClose(list(found.values()), expected, 1e-5)
                    fronts = [seed.movedim(axis, 0).contiguous() for seed, axis in zip(seeds, axes[1:])]
                    given = {f"grad.{name}": front for name, front in zip(found, fronts)}
                    gradients = model.gradient(**arguments, **given)
                    self.assertClose(gradients["grad.x"], wanted.movedim(axes[0], 0), 1e-5)

    def test_training(self) -> None:
        module = Columns()
        module.drop.p = 0.0
        fast = gnnc.compile(copy.deepcopy(module), (torch.randn(3, 7), graph(7, 20)[1]))
        for nodes in (7, 12):
            x, edge_index = torch.randn(3, nodes), graph(nodes, 30)[1]
            self.assertClose(fast(x, edge_index), module(x, edge_index), 1e-4)
        self.assertClose(dict(fast.named_buffers()), dict(module.named_buffers()), 1e-5)
        fast.eval(), module.eval()
        self.assertClose(fast(x, edge_index), module(x, edge_index), 1e-4)
        fast.train(), module.train()
        self.assertClose(fast(x, edge_index), module(x, edge_index), 1e-4)

    def test_several_signals_on_a_graph(self) -> None:
        self.at_any_size(Batched(), (2, -1, 3))

    def test_several_signals_and_integers(self) -> None:
        class Scored(Batched):
            def forward(self, x: torch.Tensor, edge_index: torch.Tensor) -> tuple[torch.Tensor, ...]:
                y = super().forward(x, edge_index)
                return y, y > 0, y.argmax(-1)

        module = Scored()
        fast = gnnc.compile(module, (torch.randn(2, 7, 3), graph(7, 20)[1]))
        arguments = torch.randn(2, 9, 3), graph(9, 20)[1]
        for own, other in zip(fast(*arguments), module(*arguments), strict=True):
            self.assertEqual(own.dtype, other.dtype)
            self.assertClose(own.float(), other.float())

    def test_a_dimension_that_is_marked(self) -> None:
        x, edge_index = torch.randn(2, 7, 3), graph(7, 20)[1]
        torch._dynamo.mark_dynamic(x, 1)
        module = Batched()
        fast = gnnc.compile(module, (x, edge_index))
        self.compare(module, fast, torch.randn(2, 9, 3), graph(9, 20)[1])

    def test_nodes_last(self) -> None:
        self.at_any_size(Steps(), (3, 5, -1))

    def test_fixed_tables_stay(self) -> None:
        self.at_any_size(Table(), (-1, 3), torch.randn(4, 3))

    def test_second_derivatives_and_copies(self) -> None:
        module = Steps()
        fast = gnnc.compile(module, (torch.randn(3, 5, 7), graph(7, 20)[1]))
        edge_index = graph(6, 14)[1]
        x = torch.randn(3, 5, 6)
        found = []
        for run in (fast, module, copy.deepcopy(fast), pickle.loads(pickle.dumps(fast))):
            leaf = x.clone().requires_grad_()
            (force,) = torch.autograd.grad(run(leaf, edge_index).square().sum(), leaf, create_graph=True)
            found.append(torch.autograd.grad(force.square().sum(), list(run.parameters())))
        for each in found:
            self.assertClose(each, found[1], 1e-4)

    def test_within_another_compilation(self) -> None:
        module = Steps()
        x, edge_index = torch.randn(3, 5, 7), graph(7, 20)[1]
        fast = gnnc.compile(module, (x, edge_index))
        outer = torch.compile(lambda x, edge_index: fast(x, edge_index) * 2, fullgraph=True, backend="eager")
        self.assertClose(outer(x, edge_index), module(x, edge_index) * 2)

    def test_refused_for_the_first_reason(self) -> None:
        class Running(nn.Module):
            def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
                return sums(x, edge_index, 1) + x.cumsum(1)

        with self.assertRaisesRegex(gnnc.CompileError, "index_select.*along a feature axis"):
            gnnc.compile(Running(), (torch.randn(2, 7, 3), graph(7, 20)[1]))


if __name__ == "__main__":
    unittest.main()
