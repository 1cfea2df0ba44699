# Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
# See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compiled modules against the modules themselves, in eager mode."""

from __future__ import annotations

import copy
import gc
import math
import os
import pickle
import unittest
import warnings
import weakref
from unittest import mock

import torch
from torch import Tensor, nn

import gnnc
from gnnc import _cache, _compiler
from gnnc.torch import CompiledModule
from torch_modules import Conv, Pair, TorchTest, graph


class CallTest(TorchTest):
    def setUp(self) -> None:
        super().setUp()
        self.module = Conv()
        self.x, self.edges = graph(5, 9)
        self.fast = gnnc.compile(self.module, (self.x, self.edges))

    def test_outputs_of_any_size_without_another_compilation(self) -> None:
        with mock.patch.object(_compiler, "run_compiler", side_effect=AssertionError):
            for nodes, edges in ((5, 9), (2, 3), (40, 200), (7, 0), (1, 1), (0, 0)):
                x, index = graph(nodes, edges)
                self.assertClose(self.fast(x, index), self.module(x, index))

    def test_arguments_by_name(self) -> None:
        self.assertClose(self.fast(self.x, edge_index=self.edges), self.module(self.x, self.edges))
        self.assertClose(self.fast(edge_index=self.edges, x=self.x), self.module(self.x, self.edges))

    def test_compiled_at_the_first_call(self) -> None:
        fast = gnnc.compile(self.module)
        self.assertClose(fast(self.x, self.edges), self.module(self.x, self.edges))

    def test_layouts(self) -> None:
        expected = self.module(self.x, self.edges)
        self.assertClose(self.fast(self.x.t().contiguous().t(), self.edges), expected)
        self.assertClose(self.fast(self.x, self.edges.t().contiguous().t()), expected)
        self.assertClose(self.fast(torch.cat([self.x, self.x], 1)[:, :3], self.edges), expected)
        row = self.x[:1].expand(5, 3)
        self.assertClose(self.fast(row, self.edges), self.module(row, self.edges))

    def test_parts_of_wider_lists_bound_no_number_of_edges(self) -> None:
        fast = gnnc.compile(Conv())
        for nodes, count in ((6, 12), (9, 30), (20, 100)):
            x, edges = graph(nodes, 3 * count)
            for part in (edges[:, :count], edges[:, ::2], edges.t().contiguous().t()):
                self.assertClose(fast(x, part), fast(x, part.contiguous()))
        self.assertEqual(len(vars(fast)["_gnnc"].specializations), 1)

    def test_other_widths_are_compiled_and_refused_by_the_module(self) -> None:
        with self.assertRaises(gnnc.Error):
            self.fast(torch.randn(5, 4), self.edges)

    def test_indices_out_of_range(self) -> None:
        with self.assertRaises(gnnc.Error):
            self.fast(self.x, self.edges + 4)

    def test_tensors_that_are_negative_by_a_bit(self) -> None:
        """Such as the imaginary part of a conjugate: their memory has other numbers."""
        (x, edges), given = graph(6, 12), torch.randn(6, 2)
        results = []
        for run, negative in ((self.fast, torch._neg_view), (self.module, torch.neg)):
            leaf = negative(x).requires_grad_()
            output = run(leaf, edges)
            results.append([output, *torch.autograd.grad(output, [leaf, *run.parameters()], negative(given))])
        self.assertClose(*results)

    def test_what_is_no_module_and_no_option(self) -> None:
        given, module = graph(6, 12), self.module
        for model, found in ((3, "int"), (None, "NoneType"), (lambda x: x, "function"), (Conv, "the class Conv")):
            for function in (gnnc.compile, gnnc.optimize, lambda *each: gnnc.export(*each, "model.so")):
                with self.assertRaisesRegex(gnnc.Error, f"expected a module of PyTorch, found {found}"):
                    function(model, given)
        for dynamic in (3, ["x"], {"x": 1}):
            with self.assertRaisesRegex(gnnc.Error, "dynamic: expected truth values by the names of arguments"):
                gnnc.compile(module, given, dynamic=dynamic)
        with self.assertRaisesRegex(gnnc.Error, "dynamic: unknown argument 'y': expected one of x, edge_index"):
            gnnc.compile(module, given, dynamic={"y": False})
        for options in ("--dtype=f64", 3, [3]):
            with self.assertRaisesRegex(gnnc.Error, "options: expected a list of texts"):
                gnnc.compile(module, given, options=options)

    def test_float64(self) -> None:
        module = Conv(dtype=torch.float64)
        x = self.x.double()
        fast = gnnc.compile(module, (x, self.edges))
        torch.testing.assert_close(fast(x, self.edges), module(x, self.edges), rtol=1e-12, atol=1e-12)

    def test_half_is_refused(self) -> None:
        with self.assertRaisesRegex(gnnc.CompileError, "expected parameters of float32 or of float64, found float16"):
            gnnc.compile(Conv(dtype=torch.float16), (self.x.half(), self.edges))

    def test_autocast(self) -> None:
        with torch.autocast("cpu", dtype=torch.bfloat16):
            found = self.fast(self.x, self.edges)
            again = self.fast(self.x.bfloat16(), self.edges)
        self.assertEqual((found.dtype, again.dtype), (torch.float32, torch.float32))  # of the bias
        self.assertClose(found.float(), self.module(self.x, self.edges), 1e-2)
        found.float().sum().backward()
        self.assertEqual(self.module.bias.grad.dtype, torch.float32)

    def test_types_under_autocast(self) -> None:
        """Those of eager: of products 16 bits, of what a float32 comes into 32, and of integers their own."""

        class Types(nn.Module):
            def __init__(self) -> None:
                super().__init__()
                self.lin = nn.Linear(3, 4)

            def forward(self, x: Tensor, edge_index: Tensor, weight: Tensor) -> dict[str, Tensor]:
                h = self.lin(x)
                rows = h.index_select(0, edge_index[0])
                sums = torch.zeros(x.shape[0], 4).index_add(0, edge_index[1], (rows * weight).float())
                return {"rows": rows, "weighted": rows * weight, "sums": sums, "softmax": h.softmax(1), "best": h.argmax(1)}

        module, weight = Types().train(), torch.rand(self.edges.shape[1], 1)
        fast = gnnc.compile(module, (self.x, self.edges, weight))
        for dtype in (torch.bfloat16, torch.float16):
            for x in (self.x, self.x.to(dtype)):
                with torch.autocast("cpu", dtype=dtype):
                    expected = module(x, self.edges, weight)
                    for _ in range(2):
                        found = fast(x, self.edges, weight)
                        self.assertEqual({n: t.dtype for n, t in found.items()}, {n: t.dtype for n, t in expected.items()})
        sum(each.float().sum() for each in found.values() if each.requires_grad).backward()
        self.assertEqual(module.lin.weight.grad.dtype, torch.float32)

    def test_inference_mode(self) -> None:
        with torch.inference_mode():
            x, edges = graph(6, 12)
            before = len(_cache.graphs)
            self.assertClose(self.fast(x, edges), self.module(x, edges))
            edges[0, 0] = 5 - edges[0, 0]
            self.assertClose(self.fast(x, edges), self.module(x, edges))
            self.assertEqual(len(_cache.graphs), before)

    def test_no_grad(self) -> None:
        with torch.no_grad():
            self.assertFalse(self.fast(self.x, self.edges).requires_grad)


class GraphsTest(TorchTest):
    def setUp(self) -> None:
        super().setUp()
        self.module = Conv()
        self.x, self.edges = graph(5, 9)
        self.fast = gnnc.compile(self.module, (self.x, self.edges))

    def check(self) -> None:
        self.assertClose(self.fast(self.x, self.edges), self.module(self.x, self.edges))

    def test_changes_of_indices_are_seen(self) -> None:
        self.check()
        self.edges[:, 0] = torch.tensor([4, 2])
        self.check()
        self.edges.copy_(graph(5, 9, seed=3)[1])
        self.check()
        self.edges.data = graph(5, 9, seed=4)[1]
        self.check()

    def test_a_known_graph_is_not_prepared_again(self) -> None:
        self.check()
        misses = _cache.graphs.misses
        self.check()
        self.fast(self.x, self.edges.view(2, 9))
        self.assertEqual(_cache.graphs.misses, misses)

    def test_a_captured_graph_stays_when_its_indices_change(self) -> None:
        """A CUDA graph reads it whatever becomes of its entry."""
        self.check()
        (prepared,) = [entry.prepared for entry in _cache.graphs._entries.values()]
        _cache.graphs.pin(prepared)
        self.edges.zero_()
        self.check()
        gnnc.clear_graphs()
        self.assertTrue(prepared._free.alive)
        alive = weakref.ref(prepared)
        del prepared
        vars(self.fast)["_gnnc"].last.executor._last = None
        gc.collect()
        self.assertIsNotNone(alive())

    def test_hidden_changes_are_found_by_the_debug_switch(self) -> None:
        with mock.patch.dict(os.environ, {"GNNC_CHECK_GRAPHS": "1"}):
            fast = gnnc.compile(self.module, (self.x, self.edges))
            fast(self.x, self.edges)
            self.edges.numpy()[0, 0] = 4 - self.edges[0, 0]
            with self.assertRaisesRegex(gnnc.Error, "without PyTorch's knowledge"):
                fast(self.x, self.edges)

    def test_many_batches_neither_compile_nor_leak(self) -> None:
        limit = _cache.graphs.limit
        self.addCleanup(setattr, _cache.graphs, "limit", limit)
        _cache.graphs.limit = 1 << 20

        def resident() -> int:
            with open("/proc/self/statm") as file:
                return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")

        sizes = []
        with mock.patch.object(_compiler, "run_compiler", side_effect=AssertionError):
            for step in range(1000):
                x, edges = graph(50 + step * 37 % 300, 200 + step * 91 % 1500, seed=step)
                self.fast(x, edges).sum().backward()
                if step % 100 == 99:
                    sizes.append(resident())
        self.assertLess(sizes[-1] - sizes[2], 8 << 20)


class ModuleTest(TorchTest):
    def setUp(self) -> None:
        super().setUp()
        self.module = Conv()
        self.x, self.edges = graph(5, 9)
        self.fast = gnnc.compile(self.module, (self.x, self.edges))

    def check(self, fast: nn.Module, module: nn.Module) -> None:
        self.assertClose(fast(self.x, self.edges), module(self.x, self.edges))

    def test_the_same_parameters(self) -> None:
        self.assertEqual(list(self.fast.state_dict()), list(self.module.state_dict()))
        for found, expected in zip(self.fast.parameters(), self.module.parameters()):
            self.assertIs(found, expected)
        self.assertIs(self.fast.lin, self.module.lin)

    def test_changed_parameters_count(self) -> None:
        with torch.no_grad():
            self.module.bias.add_(1)
        self.check(self.fast, self.module)
        self.module.lin.weight = nn.Parameter(torch.randn(2, 3))
        self.check(self.fast, self.module)
        self.fast.load_state_dict(Conv().state_dict())
        self.check(self.fast, self.module)
        self.module.bias = nn.Parameter(torch.zeros(3))
        with self.assertRaisesRegex(gnnc.Error, "Conv itself raises RuntimeError: The size of tensor a"):
            self.fast(self.x, self.edges)

    def test_deepcopy_has_parameters_of_its_own(self) -> None:
        with mock.patch.object(_compiler, "run_compiler", side_effect=AssertionError):
            other = copy.deepcopy(self.fast)
            self.check(other, self.module)
            with torch.no_grad():
                other.bias.add_(1)
            self.check(self.fast, self.module)
            self.assertFalse(torch.allclose(other(self.x, self.edges), self.fast(self.x, self.edges)))

    def test_pickle(self) -> None:
        other = pickle.loads(pickle.dumps(self.fast))
        self.assertIsInstance(other, CompiledModule)
        with mock.patch.object(_compiler, "run_compiler", side_effect=AssertionError):  # found in the cache
            self.check(other, self.module)
        with torch.no_grad():
            other.bias.add_(1)
        self.check(self.fast, self.module)

    def test_as_a_part_of_another_module(self) -> None:
        outer = nn.ModuleDict({"conv": self.fast})
        self.assertEqual(list(outer.state_dict()), ["conv.bias", "conv.lin.weight"])
        outer.double()
        self.assertEqual(self.module.bias.dtype, torch.float64)

    def test_train_and_eval_are_two_compilations(self) -> None:
        self.fast.eval()
        self.assertFalse(self.module.training)
        self.check(self.fast, self.module)
        self.assertEqual(len(vars(self.fast)["_gnnc"].specializations), 2)
        self.fast.train()
        self.check(self.fast, self.module)
        self.assertEqual(len(vars(self.fast)["_gnnc"].specializations), 2)

    def test_print(self) -> None:
        self.assertRegex(
            repr(self.fast), r"gnnc.compile\(Conv\)\n  training: \d+ kernels forward, \d+ backward, \d+ KiB"
        )

    def test_trained_like_the_module(self) -> None:
        other = copy.deepcopy(self.module)
        target = torch.randn(5, 2)
        losses = []
        for module, run in ((self.module, self.fast), (other, other)):
            optimizer = torch.optim.Adam(module.parameters(), 0.05)
            losses.append([])
            for _ in range(50):
                optimizer.zero_grad()
                loss = (run(self.x, self.edges) - target).square().mean()
                loss.backward()
                optimizer.step()
                losses[-1].append(loss.item())
        self.assertClose(torch.tensor(losses[0]), torch.tensor(losses[1]), 1e-4)
        self.assertLess(losses[0][-1], losses[0][0])


class StructureTest(TorchTest):
    def test_arguments_that_are_not_used(self) -> None:
        class Unused(nn.Module):
            def forward(self, x: torch.Tensor, edge_index: torch.Tensor, batch: torch.Tensor) -> torch.Tensor:
                return x.index_select(0, edge_index[0])

        x, edges = graph(6, 12)
        fast = gnnc.compile(Unused(), (x, edges, torch.zeros(6, dtype=torch.int64)))
        other, edges = graph(9, 30)
        self.assertClose(fast(other, edges, torch.ones(9, dtype=torch.int64)), other[edges[0]])

    def test_optional_arguments_and_dicts(self) -> None:
        module = Pair()
        x, edges = graph(5, 9)
        fast = gnnc.compile(module)
        self.assertClose(fast(x, edges), module(x, edges))
        weight = torch.randn(9)
        self.assertClose(fast(x, edges, weight), module(x, edges, weight))
        self.assertClose(fast(x, edges, edge_weight=weight), module(x, edges, weight))
        self.assertClose(fast(x, edges, None), module(x, edges))

    def test_dicts_and_keywords_in_another_order(self) -> None:
        class Both(nn.Module):
            def forward(self, edge_index: Tensor, x: dict[str, Tensor]) -> Tensor:
                return x["a"].index_select(0, edge_index[0]) * 2 + x["b"].index_select(0, edge_index[1])

        class Named(nn.Module):
            def forward(self, edge_index: Tensor, u: Tensor, v: Tensor) -> Tensor:
                return u.index_select(0, edge_index[0]) * 2 + v.index_select(0, edge_index[1])

        (a, edges), b = graph(5, 9), torch.randn(5, 3)
        module: nn.Module = Both()
        fast = gnnc.compile(module, (edges, {"a": a, "b": b}))
        for given in ({"a": a, "b": b}, {"b": b, "a": a}, {"a": a, "b": b}):
            self.assertClose(fast(edges, given), module(edges, given))
        module = Named()
        fast = gnnc.compile(module, (edges,), kwargs={"u": a, "v": b})
        self.assertClose(fast(edges, v=b, u=a), module(edges, a, b))
        self.assertClose(fast(edges, u=a, v=b), module(edges, a, b))
        self.assertClose(fast(edges, a, v=b), module(edges, a, b))

    def test_one_tensor_for_two_arguments_of_the_example(self) -> None:
        class Two(nn.Module):
            def forward(self, edge_index: Tensor, u: Tensor, v: Tensor) -> Tensor:
                return u.index_select(0, edge_index[0]) * 2 + v.index_select(0, edge_index[1])

        (a, edges), b = graph(5, 9), torch.randn(5, 3)
        fast = gnnc.compile(Two(), (edges, a, a))
        self.assertClose(fast(edges, a, a), Two()(edges, a, a))
        self.assertClose(fast(edges, a, b), Two()(edges, a, b))

    def test_arguments_that_are_called_like_parameters_and_buffers(self) -> None:
        class Named(nn.Module):
            def __init__(self) -> None:
                super().__init__()
                self.w = nn.Parameter(torch.randn(3))
                self.register_buffer("scale", torch.randn(3))
                self.w_input = nn.Parameter(torch.randn(3))

            def forward(self, scale: Tensor, edge_index: Tensor, w: Tensor) -> Tensor:
                sums = torch.zeros_like(scale).index_add(0, edge_index[1], (scale * self.w)[edge_index[0]] * w[:, None])
                return sums * self.scale + self.w_input

        module = Named()
        (x, edges), w = graph(5, 9), torch.rand(9)
        fast = gnnc.compile(module, (x, edges, w))
        found = []
        for run in (fast, module):
            inputs = [x.clone().requires_grad_(), w.clone().requires_grad_()]
            y = run(inputs[0], edges, inputs[1])
            found.append([y, *torch.autograd.grad(y.sin().sum(), [*inputs, *module.parameters()])])
        self.assertClose(*found)

    def test_constants_of_other_types(self) -> None:
        class Scaled(nn.Module):
            def forward(self, x: Tensor, edge_index: Tensor, flag: object) -> Tensor:
                return x.index_select(0, edge_index[0]) * (3 if flag is True else 1)

        module = Scaled()
        x, edges = graph(5, 9)
        fast = gnnc.compile(module, (x, edges, True))
        for flag in (True, 1, True, 1.0, None, 1):
            self.assertClose(fast(x, edges, flag), module(x, edges, flag))

    def test_sizes_that_the_module_fixes(self) -> None:
        class Fixed(nn.Module):
            def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
                sums = torch.zeros_like(x).index_add(0, edge_index[1], x.index_select(0, edge_index[0]))
                return sums / math.sqrt(x.size(0))

        class Free(nn.Module):
            def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
                sums = torch.zeros_like(x).index_add(0, edge_index[1], x.index_select(0, edge_index[0]))
                return sums / x.size(0) ** 0.5

        fixed, free = gnnc.compile(Fixed(), graph(5, 9)), gnnc.compile(Free(), graph(5, 9))
        with warnings.catch_warnings():
            warnings.simplefilter("error", UserWarning)
            fixed(*graph(5, 12))
            for nodes, edges in ((8, 9), (1, 1), (0, 0), (40, 50)):
                self.assertClose(free(*graph(nodes, edges)), Free()(*graph(nodes, edges)))
        message = r"Fixed for each size of argument 'x' in dimension 0 \(5 before, now 8\)"
        with self.assertWarnsRegex(UserWarning, message):
            self.assertClose(fixed(*graph(8, 9)), Fixed()(*graph(8, 9)))
        with warnings.catch_warnings():
            warnings.simplefilter("error", UserWarning)
            fixed(*graph(7, 9))
            self.assertClose(fixed(*graph(6, 0)), Fixed()(*graph(6, 0)))
            with self.assertRaisesRegex(gnnc.CompileError, r"\[6, 3\], \[2, 0\] would be compiled in: .*math.sqrt"):
                gnnc.compile(Fixed(), graph(6, 0))

    def test_a_branch_on_a_size_is_compiled_on_both_sides(self) -> None:
        class Branch(nn.Module):
            def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
                sums = torch.zeros_like(x).index_add(0, edge_index[1], x.index_select(0, edge_index[0]))
                return sums / x.size(0) if x.size(0) > 40 else sums * 2

        module = Branch()
        for first, other in ((30, 41), (41, 30)):
            fast = gnnc.compile(module, graph(first, 9))
            for nodes in (first, other, 40, 41, 3, 2, 400):
                x, edges = graph(nodes, 9)
                self.assertClose(fast(x, edges), module(x, edges))


if __name__ == "__main__":
    unittest.main()
