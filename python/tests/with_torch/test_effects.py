# Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
# See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Arguments that the module has too, and what a module writes besides its results."""

from __future__ import annotations

import copy
import tempfile
import unittest
from pathlib import Path

import torch
from torch import Tensor, nn

import gnnc
from torch_modules import TorchTest, graph


class Owner(nn.Module):
    """Reads tensors of its own and given ones."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("factor", torch.tensor(2.0))
        self.first = nn.Parameter(torch.randn(1, 3))
        self.register_buffer("edges", graph(5, 9)[1])

    def forward(self, x: Tensor, edge_index: Tensor, factor: Tensor, first: Tensor) -> Tensor:
        h = torch.zeros_like(x).index_add(0, edge_index[1], x.index_select(0, edge_index[0]))
        return h * factor + self.factor - torch.tanh(first) * self.first


class Nothing(nn.Module):
    """How many sums there are depends on numbers, so that only Dynamo can trace it."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("mean", torch.zeros(3))
        self.lin = nn.Linear(3, 3)

    def sums(self, x: Tensor, batch: Tensor) -> Tensor:
        return torch.zeros(int(batch.max()) + 1, 3).index_add(0, batch, x)

    def forward(self, x: Tensor, batch: Tensor) -> Tensor:
        return self.lin(self.sums(x, batch))


class Normed(Nothing):
    def __init__(self) -> None:
        super().__init__()
        self.norm = nn.BatchNorm1d(3)

    def forward(self, x: Tensor, batch: Tensor) -> Tensor:
        return self.sums(self.norm(self.lin(x)), batch)


class Average(Nothing):
    def forward(self, x: Tensor, batch: Tensor) -> Tensor:
        sums = self.sums(x, batch)
        if self.training:
            self.mean = 0.9 * self.mean + 0.1 * sums.mean(0)
        return self.lin(sums)


class InPlace(Nothing):
    def forward(self, x: Tensor, batch: Tensor) -> Tensor:
        sums = self.sums(x, batch)
        if self.training:
            self.mean.mul_(0.9).add_(sums.mean(0), alpha=0.1)
        return self.lin(sums)


class Unread(Nothing):
    def forward(self, x: Tensor, batch: Tensor) -> Tensor:
        sums = self.sums(x, batch)
        self.mean = sums.mean(0)
        return self.lin(sums)


class WithoutGradient(Nothing):
    """As most running averages are written. The result depends on the new numbers."""

    def forward(self, x: Tensor, batch: Tensor) -> Tensor:
        with torch.no_grad():
            self.mean.copy_(0.9 * self.mean + 0.1 * x.mean(0))
        return self.lin(x) - self.mean


class Parts(Nothing):
    """Writes to parts of a buffer, after which it is read, in a member."""

    def __init__(self) -> None:
        super().__init__()
        self.inner = WithoutGradient()

    def forward(self, x: Tensor, batch: Tensor) -> Tensor:
        before = self.lin(x) - self.mean
        self.mean[1:] += x.mean(0)[:2]
        self.mean[:1].fill_(2.0)
        return before + self.mean + self.inner(x, batch)


class Counted(Nothing):
    """Floats do not hold all integers."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("seen", torch.ones(3, dtype=torch.long))

    def forward(self, x: Tensor, batch: Tensor) -> Tensor:
        self.seen.mul_(3)
        return self.lin(x)


class Kept(Nothing):
    def forward(self, x: Tensor, batch: Tensor) -> Tensor:
        sums = self.sums(x, batch)
        if self.training:
            self.last = sums
        return self.lin(sums)


class OwnTensorsTest(TorchTest):
    def test_examples_that_are_the_modules_own(self) -> None:
        x, edges = graph(5, 9)
        for view in (lambda tensor: tensor, lambda tensor: tensor.view_as(tensor), lambda tensor: tensor.detach()):
            module = Owner()
            own = (x, view(module.edges), view(module.factor), view(module.first))
            fast = gnnc.compile(module, own)
            other = (*graph(7, 12, seed=1), torch.tensor(7.0), torch.randn(1, 3))
            for given in (own, other, own):
                found = []
                for run in (fast, module):
                    module.zero_grad()
                    result = run(*given)
                    result.square().sum().backward()
                    found.append([result, module.first.grad])
                self.assertClose(*found)


class CachedDegree(nn.Module):
    """Keeps what follows from the graph alone."""

    def __init__(self) -> None:
        super().__init__()
        self.linear, self.degree = nn.Linear(3, 3), None

    def forward(self, x: Tensor, batch: Tensor) -> Tensor:
        if self.degree is None:
            self.degree = torch.zeros(x.size(0)).index_add(0, batch, torch.ones(batch.size(0))).clamp(min=1)
        return self.linear(x) / self.degree[batch].unsqueeze(1)


class Filled(nn.Module):
    """Sums over groups that the first call keeps; `again`: that every call does, `learnt`: that have a gradient."""

    def __init__(self, again: bool = False, learnt: bool = False) -> None:
        super().__init__()
        self.lin, self.again, self.learnt = nn.Linear(3, 2), again, learnt
        self.kept, self.scale = None, 1.0

    def forward(self, x: Tensor, batch: Tensor) -> Tensor:
        if self.kept is None or self.again:
            sums = torch.zeros_like(x).index_add(0, batch, x)
            self.kept = sums * self.lin.weight.sum() if self.learnt else sums
        return self.lin(self.kept) * self.scale


class EffectsTest(TorchTest):
    def test_tensors_that_follow_from_the_graph_may_be_kept(self) -> None:
        x, batch = graph(6, 9)[0][:, :1].repeat(1, 3), torch.tensor([0, 0, 1, 1, 2, 2])
        module = CachedDegree()
        state = torch.random.get_rng_state()
        fast = gnnc.compile(module, (x, batch))
        self.assertTrue(torch.equal(torch.random.get_rng_state(), state))
        self.assertIsNone(module.degree)
        self.assertClose(fast(x, batch), copy.deepcopy(module)(x, batch))

    def test_gradients_of_tensors_on_the_way(self) -> None:
        class Hooked(nn.Module):
            def __init__(self, name: str, *given: object) -> None:
                super().__init__()
                self.name, self.given = name, given

            def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
                y = x * 2
                if y.requires_grad:
                    getattr(y, self.name)(*self.given)
                return torch.zeros_like(x).index_add(0, edge_index[1], y[edge_index[0]])

        x, edge_index = graph(5, 9)
        x.requires_grad_()
        for module in (Hooked("register_hook", torch.neg), Hooked("retain_grad")):
            before = getattr(Tensor, module.name)
            with self.assertRaisesRegex(gnnc.Error, f"forward calls '{module.name}'"):
                gnnc.compile(module)(x, edge_index)
            self.assertIs(getattr(Tensor, module.name), before)

    def test_buffers_that_are_assigned(self) -> None:
        def given(nodes: int) -> tuple[Tensor, Tensor]:
            return torch.randn(nodes, 3), torch.arange(nodes) // 2

        for kind in (Average, InPlace, Unread, WithoutGradient, Parts):
            module = kind().train()
            eager, buffers = copy.deepcopy(module), dict(module.named_buffers())
            fast = gnnc.compile(module, given(6))
            for nodes in (6, 8, 7):
                example = given(nodes)
                found = []
                for run, owner in ((fast, module), (eager, eager)):
                    owner.zero_grad()
                    result = run(*example)
                    result.square().sum().backward()
                    found.append([result, [each.grad for each in owner.parameters() if each.grad is not None]])
                    found[-1] += [each.detach().clone() for each in owner.buffers()]
                self.assertClose(*found)
                for each in eager.modules():  # which keeps the graph of what it assigns
                    each._buffers.update({name: buffer.detach() for name, buffer in each._buffers.items()})
            self.assertTrue(all(buffer is buffers[name] for name, buffer in module.named_buffers()), kind)
            self.assertFalse(any(buffer.requires_grad for buffer in module.buffers()), kind)

    def test_what_compiled_code_cannot_keep(self) -> None:
        x, batch = graph(6, 9)[0], torch.tensor([0, 0, 1, 1, 2, 2])
        for kind, message in (
            (Counted, "changes its buffer 'seen'"),
            (Kept, "keeps a tensor in 'last' for later"),
        ):
            module = kind().train()
            before = copy.deepcopy(module.state_dict())
            with self.assertRaisesRegex(gnnc.Error, message):
                gnnc.compile(module, (x, batch))
            self.assertClose(dict(module.state_dict()), dict(before))
            self.assertFalse(hasattr(module, "last"))
        module.eval()
        self.assertClose(gnnc.compile(module, (x, batch))(x, batch), module(x, batch))

    def test_what_the_first_call_keeps_for_all(self) -> None:
        x, batch = graph(6, 9)[0], torch.tensor([0, 0, 1, 1, 2, 2])
        other = torch.randn_like(x)
        for given in (None, (x, batch)):
            module = Filled()
            eager = copy.deepcopy(module)
            fast = gnnc.compile(module, given)
            self.assertIsNone(module.kept)
            for values in (x, other, x):  # later calls take what the first has kept
                found = []
                for run, owner in ((fast, module), (eager, eager)):
                    owner.zero_grad()
                    result = run(values, batch)
                    result.square().sum().backward()
                    found.append([result, owner.lin.weight.grad.clone()])
                self.assertClose(*found)
            self.assertEqual(len(fast._specializations), 1)
            module.kept = eager.kept = None
            module.scale = eager.scale = 2.0
            for values in (other, x):
                self.assertClose(fast(values, batch), eager(values, batch))
        with self.assertRaisesRegex(gnnc.Error, "keeps a tensor in 'kept' for later"):
            gnnc.compile(Filled(again=True), (x, batch))
        with self.assertRaisesRegex(gnnc.Error, "keeps a tensor in 'kept' for later"):
            gnnc.compile(Filled(learnt=True), (x, batch))

    def test_objects_change_no_buffers(self) -> None:
        x, batch = graph(6, 9)[0], torch.tensor([0, 0, 1, 1, 2, 2])
        for kind in (Average, InPlace, WithoutGradient):
            with tempfile.TemporaryDirectory() as folder:
                with self.assertRaisesRegex(gnnc.Error, "changes its buffer 'mean'"):
                    gnnc.export(kind().train(), (x, batch), Path(folder) / "model.so")

    def test_buffers_that_the_program_updates(self) -> None:
        x, batch = graph(6, 9)[0], torch.tensor([0, 0, 1, 1, 2, 2])
        module = Normed().train()
        eager = copy.deepcopy(module)
        fast = gnnc.compile(module, (x, batch))
        for _ in range(2):
            self.assertClose(fast(x, batch), eager(x, batch))
        self.assertClose(dict(module.state_dict()), dict(eager.state_dict()))


if __name__ == "__main__":
    unittest.main()
