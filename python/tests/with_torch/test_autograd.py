# Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
# See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Derivatives of compiled modules."""

from __future__ import annotations

import copy
import itertools
import unittest
import warnings
from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.utils import _pytree as pytree

import gnnc
from torch_modules import Conv, Pair, TorchTest, graph


class AutogradTest(TorchTest):
    def setUp(self) -> None:
        super().setUp()
        self.module = Conv()
        self.x, self.edges = graph(5, 9)
        self.x.requires_grad_()
        self.fast = gnnc.compile(self.module, (self.x, self.edges))
        self.wanted = [self.x, *self.module.parameters()]

    def gradients(self, output: Tensor, cotangent: Tensor | None = None, **arguments: object) -> tuple[Tensor, ...]:
        cotangent = torch.ones_like(output) if cotangent is None else cotangent
        return torch.autograd.grad(output, self.wanted, cotangent, **arguments)

    def test_equal_to_eager(self) -> None:
        cotangent = torch.randn(5, 2)
        expected = self.gradients(self.module(self.x, self.edges), cotangent)
        self.assertClose(self.gradients(self.fast(self.x, self.edges), cotangent), expected)

    def test_gradients_that_are_zero_everywhere(self) -> None:
        class Rounded(Conv):
            def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
                return super().forward(x.round(), edge_index)

        module = Rounded()
        fast = gnnc.compile(module, (self.x, self.edges))
        self.wanted = [self.x, *module.parameters()]
        expected = self.gradients(module(self.x, self.edges))
        self.assertFalse(expected[0].any())
        output = fast(self.x, self.edges)
        self.assertClose(self.gradients(output, retain_graph=True), expected)
        self.assertClose(self.gradients(output), expected)
        (alone,) = torch.autograd.grad(fast(self.x, self.edges).sum(), self.x)
        self.assertClose(alone, expected[0])

    def test_cotangents_of_stride_zero(self) -> None:
        self.fast(self.x, self.edges).sum().backward()
        expected = self.gradients(self.module(self.x, self.edges))
        self.assertClose(tuple(tensor.grad for tensor in self.wanted), expected)

    def test_two_forwards_before_a_backward(self) -> None:
        other, edges = graph(8, 20, seed=1)
        first, second = self.fast(self.x, self.edges), self.fast(other, edges)
        third = self.fast(self.x * 2, self.edges)
        expected = self.gradients(self.module(self.x, self.edges))
        self.assertClose(self.gradients(first), expected)
        expected = self.gradients(self.module(self.x * 2, self.edges))
        self.assertClose(self.gradients(third), expected)
        params = list(self.module.parameters())
        expected = torch.autograd.grad(self.module(other, edges).sum(), params)
        self.assertClose(torch.autograd.grad(second.sum(), params), expected)

    def test_several_cotangents_at_once(self) -> None:
        output, cotangents = self.fast(self.x, self.edges), torch.randn(3, 5, 2)
        with self.assertRaisesRegex(gnnc.Error, "expected one cotangent, found a batch of them"):
            self.gradients(output, cotangents, is_grads_batched=True)
        output = self.fast(self.x, self.edges)
        self.assertClose(self.gradients(output), self.gradients(self.module(self.x, self.edges)))

    def test_retain_graph(self) -> None:
        output = self.fast(self.x, self.edges)
        expected = self.gradients(self.module(self.x, self.edges))
        self.assertClose(self.gradients(output, retain_graph=True), expected)
        self.assertClose(self.gradients(output, retain_graph=True), expected)
        self.assertClose(self.gradients(output), expected)
        with self.assertRaisesRegex(RuntimeError, "second time"):
            self.gradients(output)

    def test_only_what_is_asked_for(self) -> None:
        for parameter in self.module.parameters():
            parameter.requires_grad_(False)
        output = self.fast(self.x, self.edges)
        output.sum().backward()
        self.assertIsNone(self.module.bias.grad)
        expected = torch.autograd.grad(self.module(self.x, self.edges).sum(), self.x)[0]
        self.assertClose(self.x.grad, expected)
        self.assertFalse(self.fast(self.x.detach(), self.edges).requires_grad)

    def test_inputs_changed_in_place_are_refused(self) -> None:
        x = self.x.detach().clone()
        output = self.fast(x, self.edges)
        x.add_(1)
        with self.assertRaisesRegex(RuntimeError, "modified by an inplace operation"):
            output.sum().backward()

    def test_outputs_changed_in_place_are_refused_where_they_are_read_again(self) -> None:
        output = self.fast(self.x, self.edges)
        output.detach().add_(1)
        with self.assertRaisesRegex(RuntimeError, "modified by an inplace operation"):
            output.sum().backward()

    def test_outputs_without_a_cotangent(self) -> None:
        module = Pair()
        fast = gnnc.compile(module, (self.x, self.edges))
        for name in ("sums", "scaled"):
            expected = torch.autograd.grad(module(self.x, self.edges)[name].sum(), self.x)
            self.assertClose(torch.autograd.grad(fast(self.x, self.edges)[name].sum(), self.x), expected)

    def test_outputs_that_keep_their_gradient(self) -> None:
        class Tied(nn.Module):
            def __init__(self) -> None:
                super().__init__()
                self.first, self.second = nn.Linear(3, 3, bias=False), nn.Linear(3, 3, bias=False)
                self.second.weight = self.first.weight

            def forward(self, x: Tensor, edge_index: Tensor) -> tuple[Tensor, Tensor]:
                sums = torch.zeros_like(x).index_add(0, edge_index[1], x[edge_index[0]])
                return self.second(sums), sums * 2

        class Same(nn.Module):
            def forward(self, x: Tensor, edge_index: Tensor) -> tuple[Tensor, Tensor, Tensor]:
                sums = torch.zeros_like(x).index_add(0, edge_index[1], x[edge_index[0]])
                with torch.no_grad():
                    same, mean = sums.float(), sums.mean(0)  # the tensor itself, and another one
                return same * 1.0, sums, mean * 2

        edges = torch.tensor([[0, 1, 2, 3], [1, 2, 3, 4]])
        for module, wanted in ((Tied(), False), (Same(), True)):
            x = torch.randn(5, 3, requires_grad=wanted)
            expected = [output.requires_grad for output in module(x, edges)]
            found = [output.requires_grad for output in gnnc.compile(module, (x, edges))(x, edges)]
            with self.subTest(type(module).__name__):
                # What has none in PyTorch may claim one here, and not the other way round.
                self.assertTrue(all(own or not theirs for own, theirs in zip(found, expected)), (found, expected))

    def test_outputs_without_a_gradient(self) -> None:
        """As many require one as in eager mode, whatever operands do."""

        class Measured(Conv):
            def forward(self, x: Tensor, edge_index: Tensor, labels: Tensor) -> dict[str, object]:
                y = super().forward(x, edge_index)
                written = torch.zeros(x.shape[0], 2)
                written[:, 0] = x[:, 1]
                added = torch.zeros_like(x).index_add_(0, edge_index[1], x[edge_index[0]])
                with torch.no_grad():
                    degree = torch.zeros(x.shape[0]).index_add_(0, edge_index[1], torch.ones(edge_index.shape[1]))
                    scaled = y * 2
                return {
                    "y": y,
                    "accuracy": (y.argmax(-1) == labels).float().mean(),
                    "best": y.argmax(-1),
                    "detached": (y.detach(), added.detach() * 2, y.detach() + self.bias),
                    "constant": (degree, scaled, torch.ones_like(y) * degree[:, None]),
                    "of x": (x * 2, written, added, x.round(), x.max(1).values),
                    "bias": self.bias * 2,
                }

        module = Measured()
        labels = torch.randint(0, 2, (5,))
        fast = gnnc.compile(module, (self.x, self.edges, labels))
        tensors = [self.x, *module.parameters()]
        for mask in itertools.product((False, True), repeat=len(tensors)):
            for tensor, want in zip(tensors, mask):
                tensor.requires_grad_(want)
            for _ in range(2):
                found, expected = [run(self.x, self.edges, labels) for run in (fast, module)]
                self.assertClose(found, expected)
                requires = [[leaf.requires_grad for leaf in pytree.tree_leaves(result)] for result in (found, expected)]
                self.assertEqual(*requires)
        self.x.requires_grad_()
        found, expected = [run(self.x, self.edges, labels) for run in (fast, module)]
        found["accuracy"].numpy()
        wanted = [self.x, *module.parameters()]
        gradients = [
            torch.autograd.grad(result["y"].sum() + sum(part.square().sum() for part in result["of x"]), wanted)
            for result in (found, expected)
        ]
        self.assertClose(*gradients)
        with self.assertRaisesRegex(RuntimeError, "does not require grad"):
            found["detached"][0].sum().backward()

    def test_gradcheck(self) -> None:
        module = Conv(dtype=torch.float64)
        x, edges = graph(4, 7, dtype=torch.float64)
        x.requires_grad_()
        fast = gnnc.compile(module, (x, edges))

        def run(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
            return torch.func.functional_call(fast, {"lin.weight": weight, "bias": bias}, (x, edges))

        weight = module.lin.weight.detach().requires_grad_()
        bias = module.bias.detach().requires_grad_()
        self.assertTrue(torch.autograd.gradcheck(run, (x, weight, bias)))

    def test_inputs_of_the_first_half_are_passed_to_the_second(self) -> None:
        """Which of them it reads differs from graph to graph: here the mean is taken before or after the product."""

        class Bipartite(nn.Module):
            def __init__(self) -> None:
                super().__init__()
                self.left, self.right = nn.Linear(8, 4), nn.Linear(8, 4, bias=False)

            def forward(self, sources: Tensor, targets: Tensor, edge_index: Tensor) -> Tensor:
                messages = sources.index_select(0, edge_index[0])
                sums = messages.new_zeros(targets.shape[0], 8).index_add(0, edge_index[1], messages)
                ones = messages.new_ones(messages.shape[0])
                counts = messages.new_zeros(targets.shape[0]).index_add(0, edge_index[1], ones)
                return self.left(sums / counts.clamp(min=1).view(-1, 1)) + self.right(targets)

        module = Bipartite()
        fast = None
        for sources, targets, count in ((9, 12, 30), (300, 303, 2000), (20, 400, 50)):
            edges = torch.stack([torch.randint(0, sources, (count,)), torch.randint(0, targets, (count,))])
            inputs = (torch.randn(sources, 8).requires_grad_(), torch.randn(targets, 8).requires_grad_())
            fast = gnnc.compile(module, (*inputs, edges)) if fast is None else fast
            wanted = [*inputs, *module.parameters()]
            found = torch.autograd.grad(fast(*inputs, edges).square().sum(), wanted)
            expected = torch.autograd.grad(module(*inputs, edges).square().sum(), wanted)
            self.assertClose(found, expected, 1e-3)


class EdgesOfDomainsTest(TorchTest):
    def test_infinite_derivatives(self) -> None:
        """At the ends of where a function is defined, its derivative may be infinite."""

        class Ends(nn.Module):
            def __init__(self, function: Callable[[Tensor], Tensor]) -> None:
                super().__init__()
                self.function = function

            def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
                return self.function(x).index_select(0, edge_index[0])

        numbers = {
            torch.acosh: [1.0, 1.0 + 2**-20, 1.5, 3.0, 1e4, 1e30, 0.5],
            torch.atanh: [1.0, -1.0, 0.999, -0.75, 0.5, 1e-6, 0.0, -0.3, 1.5],
        }
        for function, given in numbers.items():
            x = torch.tensor(given).view(-1, 1).requires_grad_()
            edges = torch.arange(len(given)).repeat(2, 1)
            module = Ends(function)
            fast = gnnc.compile(module, (x, edges))
            found, expected = fast(x, edges), module(x, edges)
            torch.testing.assert_close(found, expected, rtol=2e-6, atol=0, equal_nan=True)
            cotangent = torch.full_like(expected, 2.0)
            gradients = [torch.autograd.grad(output, x, cotangent)[0] for output in (found, expected)]
            self.assertTrue(gradients[1].isinf().any())
            torch.testing.assert_close(*gradients, rtol=1e-4, atol=1e-20, equal_nan=True)


class Detached(nn.Module):
    """Sums of products with numbers that count as constants: a part that a trace of derivatives would not know."""

    def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
        messages = (x * x * x.detach()).index_select(0, edge_index[0])
        return torch.zeros_like(x).index_add(0, edge_index[1], messages)


class Pairs(nn.Module):
    """An energy: a sum over edges of a function of the distance of its ends."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(2, 4), nn.Tanh(), nn.Linear(4, 1))

    def forward(self, pos: Tensor, edge_index: Tensor) -> Tensor:
        distance = ((pos[edge_index[0]] - pos[edge_index[1]]) ** 2).sum(-1, keepdim=True).add(0.1).sqrt()
        return self.layers(torch.cat([distance, 1 / distance], -1)).sum()


class Energies(Pairs):
    """One number for each graph of a batch, as many as the numbers of `batch` say; where `counts`, what they were too."""

    def __init__(self, counts: bool) -> None:
        super().__init__()
        self.counts = counts

    def forward(self, pos: Tensor, edge_index: Tensor, batch: Tensor) -> tuple[Tensor, ...]:  # type: ignore[override]
        distance = ((pos[edge_index[0]] - pos[edge_index[1]]) ** 2).sum(-1, keepdim=True).add(0.1).sqrt()
        edges = self.layers(torch.cat([distance, 1 / distance], -1)).tanh()
        atoms = edges.new_zeros(len(pos), edges.shape[1]).index_add(0, edge_index[1], edges)
        graphs = int(batch.max()) + 1
        energy = atoms.new_zeros(graphs, atoms.shape[1]).index_add(0, batch, atoms)
        if not self.counts:
            return (energy,)
        return energy, pos.new_zeros(graphs, 1).index_add(0, batch, pos.square().sum(1, keepdim=True))


class SecondDerivativesTest(TorchTest):
    def check(self, module: nn.Module, fast: nn.Module, third: bool = False) -> None:
        for nodes, count in ((5, 9), (8, 20)):
            x, edges = graph(nodes, count, seed=count)
            x.requires_grad_()
            wanted = [x, *module.parameters()]
            results = []
            for run in (module, fast):
                first = torch.autograd.grad(run(x, edges).square().sum(), wanted, create_graph=True)
                loss = sum((gradient.square().sum() for gradient in first), torch.zeros(()))
                second = torch.autograd.grad(loss, wanted, create_graph=third)
                results.append([*first, *second])
                if third:
                    loss = sum((gradient.square().sum() for gradient in second), torch.zeros(()))
                    results[-1] += torch.autograd.grad(loss, x)
            for found, expected in zip(results[1], results[0]):
                self.assertClose(found / expected.abs().max(), expected / expected.abs().max())

    def test_compiled(self) -> None:
        for make in (Conv, Pairs):
            with self.subTest(make.__name__), warnings.catch_warnings():
                warnings.simplefilter("error", UserWarning)
                module = make()
                self.check(module, gnnc.compile(module, graph(6, 12)))

    def test_by_pytorch(self) -> None:
        module = Detached()
        fast = gnnc.compile(module, graph(6, 12))
        with self.assertWarnsRegex(UserWarning, "second derivatives of Detached to PyTorch: parts of it are detached"):
            self.check(module, fast, third=True)

    def test_third_derivatives(self) -> None:
        """They are an error for who asks for them, and not before."""
        module = Conv()
        x, edges = graph(6, 12)
        fast = gnnc.compile(module, (x, edges))
        x.requires_grad_()
        (first,) = torch.autograd.grad(fast(x, edges).square().sum(), x, create_graph=True)
        (second,) = torch.autograd.grad(first.square().sum(), x, create_graph=True)
        (expected,) = torch.autograd.grad(module(x, edges).square().sum(), x, create_graph=True)
        self.assertClose(second, torch.autograd.grad(expected.square().sum(), x)[0], 1e-4)
        with self.assertRaisesRegex(gnnc.Error, "gnnc does not compute third derivatives"):
            torch.autograd.grad(second.square().sum(), x)

    def test_second_derivatives_beside_integers(self) -> None:
        class Scored(Conv):
            def forward(self, x: torch.Tensor, edge_index: torch.Tensor) -> tuple[torch.Tensor, ...]:
                y = super().forward(x, edge_index).tanh()
                return y, y > 0, y.argmax(1)

        module = Scored()
        x, edges = graph(6, 12)
        fast = gnnc.compile(module, (x, edges))
        x.requires_grad_()
        found = []
        for run in (fast, module):
            y, positive, best = run(x, edges)
            (first,) = torch.autograd.grad(y.square().sum(), x, create_graph=True)
            (second,) = torch.autograd.grad(first.square().sum(), x)
            found.append((positive, best, first.detach(), second))
        for own, other in zip(*found, strict=True):
            self.assertEqual(own.dtype, other.dtype)
            self.assertClose(own.float(), other.float(), 1e-4)

    def test_forces_are_trained(self) -> None:
        """Parameters get the gradient of a loss of forces by `backward`."""
        module = Pairs()
        x, edges = graph(6, 12)
        fast = gnnc.compile(module, (x, edges))
        found = []
        for run in (module, fast):
            pos = x.clone().requires_grad_()
            module.zero_grad()
            (forces,) = torch.autograd.grad(run(pos, edges), pos, create_graph=True)
            (forces - 1).square().mean().backward()
            found.append([pos.grad, *[parameter.grad for parameter in module.parameters()]])
        for gradient, expected in zip(found[1], found[0]):
            self.assertEqual(gradient is None, expected is None)
            if expected is not None:
                self.assertClose(gradient, expected)

    def test_forces_of_as_many_graphs_as_numbers_say(self) -> None:
        """The cotangents have as many rows, so a pull-back reads no number; graphs without atoms are among them."""
        for counts in (False, True):
            module = Energies(counts)
            fast = gnnc.compile(module)
            for nodes, batch in ((6, [0, 0, 1, 1, 2, 2]), (9, [0, 0, 0, 1, 1, 1, 4, 4, 4]), (5, [0] * 5)):
                x, edges = graph(nodes, 3 * nodes, seed=nodes)
                found = []
                for run in (module, fast):
                    pos = x.clone().requires_grad_()
                    module.zero_grad()
                    with warnings.catch_warnings():
                        warnings.simplefilter("error")
                        energies = run(pos, edges, torch.tensor(batch))
                        total = sum((each.T * (1 + torch.arange(len(each)))).sum() for each in energies)
                        (forces,) = torch.autograd.grad(total, pos, create_graph=True)
                        (energies[0].square().sum() + forces.square().sum()).backward()
                    found.append([forces.detach(), *[each.grad for each in module.parameters()], pos.grad])
                for own, other in zip(*found):
                    self.assertClose(other, own, 1e-4)

    def test_running_statistics(self) -> None:
        """Statistics of a batch are differentiated in training mode, running ones never; a call changes these once, however
        its derivatives are computed."""

        class Normed(nn.Module):
            def __init__(self, norm: nn.Module, detaches: bool) -> None:
                super().__init__()
                self.first, self.norm, self.last = nn.Linear(3, 4), norm, nn.Linear(4, 1)
                self.detaches = detaches

            def forward(self, pos: Tensor, edge_index: Tensor) -> Tensor:
                source, target = edge_index
                far = torch.tanh(self.norm(self.first(pos[source] - pos[target])))
                return self.last(far - far.detach() * 0.5 if self.detaches else far).sum()

        def step(run: Callable[..., Tensor], module: nn.Module, nodes: int) -> list[Tensor]:
            x, edges = graph(nodes, 3 * nodes)
            pos = torch.cat([x, x[:, :1].square()], 1)[:, :3].double().requires_grad_()
            (force,) = torch.autograd.grad(run(pos, edges), pos, create_graph=True)
            params = list(module.parameters())
            gradients = torch.autograd.grad(force.square().sum(), params, allow_unused=True)
            return [force, *[each for each in gradients if each is not None], *module.buffers()]

        for detaches, tracks in ((False, True), (False, False), (True, True)):
            for trains in (True, False):
                with self.subTest(detaches=detaches, tracks=tracks, trains=trains), warnings.catch_warnings():
                    warnings.simplefilter("ignore" if detaches else "error")
                    norm = nn.BatchNorm1d(4, track_running_stats=tracks)
                    module = Normed(norm, detaches).double().train(trains)
                    eager = copy.deepcopy(module)
                    fast = gnnc.compile(module)
                    for nodes in (6, 9):
                        found, expected = step(fast, module, nodes), step(eager, eager, nodes)
                        self.assertEqual(len(found), len(expected))
                        self.assertClose(found, expected, 1e-10)

    def test_forces_of_normalised_rows(self) -> None:
        """Norms' own means and deviations are in their second derivatives. Energies are summed by lists that are arguments
        of their own, whose lengths the trace compares with those of others."""

        class Energies(torch.nn.Module):
            def __init__(self, norm: torch.nn.Module) -> None:
                super().__init__()
                self.lin, self.norm, self.out = torch.nn.Linear(2, 8), norm, torch.nn.Linear(8, 1)

            def forward(
                self, x: torch.Tensor, pos: torch.Tensor, edges: torch.Tensor, batch: torch.Tensor, graphs: torch.Tensor
            ) -> torch.Tensor:
                square = (pos[edges[0]] - pos[edges[1]]).square().sum(1, keepdim=True)
                h = self.norm(self.lin(x[edges[0]] * torch.exp(-square))).tanh()
                h = h.new_zeros(len(pos), 8).index_add(0, edges[1], h)
                return h.new_zeros(len(graphs), 1).scatter_add(0, batch[:, None], self.out(h))

        x, edges = graph(7, 12, dtype=torch.float64)
        x, batch, graphs = x[:, :2].contiguous(), torch.tensor([0, 0, 0, 1, 1, 1, 1]), torch.zeros(2)
        for norm in (torch.nn.LayerNorm(8), torch.nn.GroupNorm(2, 8)):
            module = Energies(norm).double()
            found = []
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                for run in (module, gnnc.compile(module)):
                    pos = torch.linspace(-1, 1, 21, dtype=torch.float64).reshape(7, 3).requires_grad_()
                    energy = run(x, pos, edges, batch, graphs).sum()
                    (forces,) = torch.autograd.grad(energy, pos, create_graph=True)
                    found.append([forces, *torch.autograd.grad(forces.square().sum() + energy, list(module.parameters()))])
            for own, expected in zip(*found, strict=True):
                self.assertClose(own, expected, 1e-12)

    def test_gradgradcheck(self) -> None:
        module = Conv(dtype=torch.float64)
        x, edges = graph(4, 7, dtype=torch.float64)
        fast = gnnc.compile(module, (x, edges))
        self.assertTrue(torch.autograd.gradgradcheck(lambda x: fast(x, edges), x.requires_grad_()))

    def test_changed_indices_are_refused(self) -> None:
        module = Pairs()
        x, edges = graph(6, 12)
        fast = gnnc.compile(module, (x, edges))
        x.requires_grad_()
        output = fast(x, edges)
        edges.zero_()
        with self.assertRaisesRegex(gnnc.Error, "an index tensor was changed in place"):
            torch.autograd.grad(output, x, create_graph=True)


if __name__ == "__main__":
    unittest.main()
