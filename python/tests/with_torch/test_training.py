# Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
# See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Dropout and running statistics in training mode."""

from __future__ import annotations

import copy
import itertools
import unittest

import torch
import torch.nn.functional as F
from torch import Tensor, nn

import gnnc
from torch_modules import TorchTest, graph


class Layer(nn.Module):
    """Sums along edges and self loops, with dropout of what goes along them."""

    def __init__(self, inputs: int, outputs: int, dropout: float) -> None:
        super().__init__()
        self.lin, self.dropout = nn.Linear(inputs, outputs), dropout

    def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
        edge_index = edge_index[:, edge_index[0] != edge_index[1]]
        loops = torch.arange(x.shape[0], device=x.device)
        edge_index = torch.cat([edge_index, loops.repeat(2, 1)], 1)
        messages = self.lin(x).index_select(0, edge_index[0])
        messages = F.dropout(messages, self.dropout, self.training)
        return torch.zeros(x.shape[0], messages.shape[1]).index_add(0, edge_index[1], messages)


class Network(nn.Module):
    def __init__(self, nodes: float = 0.0, edges: float = 0.0, norm: bool = True) -> None:
        super().__init__()
        self.first, self.second = Layer(3, 4, edges), Layer(4, 2, edges)
        self.norm, self.drop = nn.BatchNorm1d(4) if norm else nn.Identity(), nn.Dropout(nodes)

    def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
        return self.second(self.drop(self.norm(self.first(x, edge_index)).relu()), edge_index)


class TrainingTest(TorchTest):
    def pair(self, *arguments: float, **named: bool) -> tuple[nn.Module, nn.Module]:
        """A module, and a copy of it that is compiled."""
        torch.manual_seed(0)
        module = Network(*arguments, **named)
        return module, gnnc.compile(copy.deepcopy(module), graph(6, 14))

    def results(self, run: nn.Module, x: Tensor, edges: Tensor, seed: int) -> list[Tensor]:
        torch.manual_seed(seed)
        output = run(x, edges)
        return [output, *torch.autograd.grad(output.square().sum(), [x, *run.parameters()])]

    def assertSameBuffers(self, found: nn.Module, expected: nn.Module) -> None:
        self.assertClose(dict(found.named_buffers()), dict(expected.named_buffers()), 1e-6)

    def test_running_statistics(self) -> None:
        module, fast = self.pair()
        for nodes, count in ((6, 14), (9, 30), (6, 14), (40, 200)):
            x, edges = graph(nodes, count, seed=count)
            x.requires_grad_()
            self.assertClose(self.results(fast, x, edges, 0), self.results(module, x, edges, 0), 1e-4)
            self.assertSameBuffers(fast, module)
            with torch.no_grad():
                self.assertClose(fast(x, edges), module(x, edges), 1e-4)
            self.assertSameBuffers(fast, module)
        self.assertEqual(int(fast.norm.num_batches_tracked), 8)
        fast.eval(), module.eval()
        self.assertClose(fast(x, edges), module(x, edges), 1e-4)
        self.assertSameBuffers(fast, module)

    def test_targets_without_gradients(self) -> None:
        """The norm and dropout of a target network, which `no_grad` surrounds, twice."""

        class Bootstrapped(Network):
            def __init__(self) -> None:
                super().__init__(0.5)
                self.target, self.other = Layer(3, 2, 0.0), nn.BatchNorm1d(2)

            def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
                own = super().forward(x, edge_index)
                with torch.no_grad():
                    target = self.other(self.target(self.drop(x), edge_index))
                    scale = target.abs().mean()
                with torch.no_grad():
                    target = target + self.other(self.target(2 * x, edge_index))
                return (own - target) * scale

        torch.manual_seed(0)
        module = Bootstrapped()
        fast = gnnc.compile(copy.deepcopy(module))
        for nodes, count in ((6, 14), (9, 30)):
            x, edges = graph(nodes, count, seed=count)
            found = []
            for run in (fast, module):
                torch.manual_seed(1)
                own = x.clone().requires_grad_()
                run.zero_grad()
                output = run(own, edges)
                output.square().sum().backward()
                found.append([output, own.grad, *[each.grad for each in run.parameters() if each.grad is not None]])
            self.assertClose(found[0], found[1], 1e-4)
            self.assertSameBuffers(fast, module)
        self.assertEqual(int(fast.other.num_batches_tracked), 4)

    def test_running_statistics_of_instances(self) -> None:
        class OfNodes(nn.InstanceNorm1d):
            """All nodes are one instance, [1, features, nodes]."""

            def forward(self, x: Tensor) -> Tensor:
                return super().forward(x.t().unsqueeze(0)).squeeze(0).t()

        how = {"affine": True, "track_running_stats": True, "momentum": 0.3}
        for module, shape in ((OfNodes(3, **how), ()), (nn.InstanceNorm2d(3, **how), (5, 2))):
            fast = gnnc.compile(copy.deepcopy(module), torch.randn(4, 3, *shape))
            for rows in (4, 6, 5):
                x = torch.randn(rows, 3, *shape, requires_grad=True)
                found, expected = fast(x), module(x)
                self.assertClose(found, expected)
                weights = torch.arange(1.0, found.numel() + 1).view(found.shape)
                gradients = [torch.autograd.grad((y * weights).sum(), x) for y in (found, expected)]
                self.assertClose(*gradients, 1e-4)
                self.assertSameBuffers(fast, module)

    def test_one_row_has_no_variance(self) -> None:
        module, fast = self.pair()
        x, edges = graph(1, 3)
        for run in (module, fast):
            with self.assertRaises((ValueError, gnnc.Error)):
                run(x, edges)
            self.assertFalse(run.norm.running_var.isnan().any())

    def test_no_rows_leave_running_statistics_as_they_are(self) -> None:
        class Edges(nn.Module):
            """Normalises features of nodes, of edges, and of edges in both directions."""

            def __init__(self) -> None:
                super().__init__()
                self.nodes, self.once = nn.BatchNorm1d(3), nn.BatchNorm1d(3)
                self.twice = nn.BatchNorm1d(3, momentum=0.7)

            def forward(self, x: Tensor, edge_index: Tensor, edge_attr: Tensor) -> Tensor:
                x = self.nodes(x)
                once = self.once(edge_attr) * x.index_select(0, edge_index[0])
                edges = torch.cat([edge_index, edge_index.flip(0)], 1)
                twice = self.twice(torch.cat([edge_attr, edge_attr.sin()])) * x.index_select(0, edges[0])
                return torch.zeros_like(x).index_add(0, edge_index[1], once).index_add(0, edges[1], twice)

        module = Edges()
        fast = gnnc.compile(copy.deepcopy(module), (*graph(6, 14), torch.randn(14, 3)))
        for nodes, count in ((6, 14), (5, 0), (9, 20), (5, 0)):
            x, edges = graph(nodes, count, seed=count)
            x, features = x.requires_grad_(), torch.randn(count, 3, requires_grad=True)
            found = []
            for run in (fast, module):
                output = run(x, edges, features)
                wanted = [x, features, *run.parameters()]
                found.append([output, *torch.autograd.grad(output.square().sum(), wanted)])
            self.assertClose(*found, 1e-4)
            self.assertSameBuffers(fast, module)
        self.assertEqual(int(fast.once.num_batches_tracked), 4)
        with self.assertRaisesRegex(gnnc.Error, "expected more than one element"):
            fast(*graph(5, 1), torch.randn(1, 3))
        self.assertSameBuffers(fast, module)

    def test_a_norm_that_is_called_twice_moves_twice(self) -> None:
        class Twice(nn.Module):
            """Of nodes, whose number is known, and of edges in both directions."""

            def __init__(self) -> None:
                super().__init__()
                self.norm, self.other = nn.BatchNorm1d(3, momentum=0.4), nn.BatchNorm1d(3, momentum=0.4)

            def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
                source, target = torch.cat([edge_index, edge_index.flip(0)], 1)
                messages = self.norm(self.other(x[source]).tanh())
                return self.norm(self.norm(x).sin()) + torch.zeros_like(x).index_add(0, target, messages)

        module = Twice()
        fast = gnnc.compile(copy.deepcopy(module), graph(6, 14))
        for nodes, count in ((6, 14), (9, 20), (5, 0), (7, 30)):
            x, edges = graph(nodes, count, seed=count)
            self.assertClose([fast(x, edges)], [module(x, edges)], 1e-5)
            self.assertSameBuffers(fast, module)
        self.assertEqual(int(fast.norm.num_batches_tracked), 12)

    def test_a_copy_has_statistics_of_its_own(self) -> None:
        _, fast = self.pair()
        x, edges = graph(6, 14)
        other = copy.deepcopy(fast)
        fast(x, edges)
        self.assertEqual([int(each.norm.num_batches_tracked) for each in (fast, other)], [1, 0])
        other(x, edges)
        self.assertSameBuffers(other, fast)

    def test_statistics_without_buffers(self) -> None:
        torch.manual_seed(0)
        module = Network()
        module.norm = nn.BatchNorm1d(4, track_running_stats=False)
        x, edges = graph(6, 14)
        fast = gnnc.compile(module, (x, edges))
        self.assertClose(fast(x, edges), module(x, edges))

    def test_the_same_numbers_are_dropped_as_by_pytorch(self) -> None:
        for nodes, edges in ((0.4, 0.0), (0.0, 0.3), (0.5, 0.25), (1.0, 0.0)):
            with self.subTest(nodes=nodes, edges=edges):
                module, fast = self.pair(nodes, edges, norm=False)
                for count in (14, 30):
                    x, index = graph(9, count, seed=count)
                    x.requires_grad_()
                    found = [self.results(fast, x, index, seed) for seed in (1, 2, 1)]
                    expected = [self.results(module, x, index, seed) for seed in (1, 2, 1)]
                    self.assertClose(found, expected, 1e-4)
                    self.assertEqual(nodes == 1, bool((found[0][0] == found[1][0]).all()))
                fast.eval(), module.eval()
                self.assertClose(fast(x, index), module(x, index), 1e-4)

    def test_calls_in_turn_draw_what_pytorch_would(self) -> None:
        module, fast = self.pair(0.4, 0.2)
        x, edges = graph(6, 14)
        for run in (module, fast):
            torch.manual_seed(3)
            run.outputs = [run(x, edges).detach() for _ in range(3)]
        self.assertClose(fast.outputs, module.outputs, 1e-4)

    def test_a_second_backward_has_the_same_mask(self) -> None:
        module, fast = self.pair(0.5, 0.5, norm=False)
        x, edges = graph(6, 14)
        torch.manual_seed(5)
        output = fast(x, edges)
        wanted = list(fast.parameters())
        first = torch.autograd.grad(output.sum(), wanted, retain_graph=True)
        self.assertClose(torch.autograd.grad(output.sum(), wanted), first)

    def test_losses_of_training(self) -> None:
        """Fifty steps, after the same seed: without dropout, and with it."""
        for arguments in ((0.0, 0.0), (0.5, 0.2)):
            module, fast = self.pair(*arguments)
            x, edges = graph(12, 40)
            target = torch.randint(0, 2, (12,))
            losses = []
            for run in (module, fast):
                torch.manual_seed(11)
                optimizer = torch.optim.Adam(run.parameters(), lr=0.01)
                losses.append([])
                for _ in range(50):
                    optimizer.zero_grad()
                    loss = F.cross_entropy(run(x, edges), target)
                    loss.backward()
                    optimizer.step()
                    losses[-1].append(loss.item())
            self.assertLess(max(abs(a - b) for a, b in zip(*losses)), 1e-4)
            self.assertLess(losses[0][-1], losses[0][0])
            self.assertClose(dict(fast.named_buffers()), dict(module.named_buffers()), 1e-3)

    def test_second_derivatives_are_refused(self) -> None:
        _, fast = self.pair(0.5)
        x, edges = graph(6, 14)
        x.requires_grad_()
        (gradient,) = torch.autograd.grad(fast(x, edges).square().sum(), x, create_graph=True)
        with self.assertRaisesRegex(gnnc.Error, "second derivatives with dropout"):
            gradient.sum().backward()

    def test_traces_are_refused(self) -> None:
        _, fast = self.pair(0.5)
        with self.assertRaisesRegex(Exception, "training mode cannot be traced"):
            torch.compile(fast, backend="eager", fullgraph=True)(*graph(6, 14))

    def test_exports_are_refused(self) -> None:
        for module in (Network(0.5, norm=False), Network()):
            with self.assertRaisesRegex(gnnc.Error, "training mode"):
                gnnc.export(module, graph(6, 14), "never.so")


class WantedTest(TorchTest):
    def test_every_choice_of_what_requires_a_gradient(self) -> None:
        torch.manual_seed(0)
        module = Network(norm=False)
        x, edges = graph(6, 14)
        fast = gnnc.compile(module, (x, edges))
        tensors = [x, *module.parameters()]
        for mask in itertools.product((False, True), repeat=len(tensors)):
            for tensor, want in zip(tensors, mask):
                tensor.requires_grad_(want)
            wanted = [tensor for tensor, want in zip(tensors, mask) if want]
            if not wanted:
                self.assertFalse(fast(x, edges).requires_grad)
                continue
            expected = torch.autograd.grad(module(x, edges).square().sum(), wanted)
            output = fast(x, edges)
            loss = output.square().sum()
            self.assertClose(torch.autograd.grad(loss, wanted, retain_graph=True), expected)
            self.assertClose(torch.autograd.grad(loss, wanted), expected)
        executor = vars(fast)["_gnnc"].last.executor
        self.assertEqual(len(executor._last.halves), 2 ** len(tensors) - 1)


if __name__ == "__main__":
    unittest.main()
