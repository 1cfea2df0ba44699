# Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
# See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Arguments that the module has too, and what a module writes besides its results."""

from __future__ import annotations

import copy
import tempfile
import unittest
import unittest.mock
import weakref
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


class Normalised(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("mean", torch.zeros(3))

    def forward(self, x: Tensor) -> Tensor:
        self.mean = 0.9 * self.mean + 0.1 * x.mean(0)
        return x - self.mean


class OfSubmodules(Nothing):
    """Two modules assign, and the outermost one too."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = Normalised(), Normalised()

    def forward(self, x: Tensor, batch: Tensor) -> Tensor:
        self.mean = 0.5 * self.mean + x.mean(0)
        return self.lin(self.sums(self.second(self.first(x).tanh()), batch)) + self.mean.sum()


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


class Attention(nn.Module):
    """Keeps weights of its edges to be looked at, as many layers do."""

    def __init__(self, detached: bool = False) -> None:
        super().__init__()
        self.lin, self.detached, self.alpha = nn.Linear(3, 3), detached, None

    def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
        y = self.lin(x)
        alpha = torch.sigmoid((y[edge_index[0]] * y[edge_index[1]]).sum(1))
        self.alpha = alpha.detach() if self.detached else alpha
        return torch.zeros_like(y).index_add(0, edge_index[1], y[edge_index[0]] * self.alpha.unsqueeze(1))


class TwoLayers(nn.Module):
    """Both keep theirs; the second layer reads what the first has kept, and the loss what all together keep."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = Attention(), Attention()
        self.aux_loss = 0.0

    def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
        x = torch.tanh(self.first(x, edge_index))
        x = self.second(x, edge_index) + self.first.alpha.mean()
        self.aux_loss = self.first.alpha.square().mean() + self.second.alpha.square().mean()
        return x


class EdgesOnTheWay(nn.Module):
    """Stores features of its edges where messages are computed, and takes them away again."""

    def __init__(self) -> None:
        super().__init__()
        self.lin = nn.Linear(3, 3)

    def message(self, x_i: Tensor, x_j: Tensor, e: Tensor) -> Tensor:
        self.e = x_i + x_j + e
        return torch.sigmoid(self.e) * x_j

    def forward(self, x: Tensor, edge_index: Tensor, e: Tensor) -> tuple[Tensor, Tensor]:
        y = self.lin(x)
        sums = torch.zeros_like(y).index_add(0, edge_index[1], self.message(y[edge_index[1]], y[edge_index[0]], e))
        e = self.e
        del self.e
        return sums, e


class Several(nn.Module):
    """Containers, integers of the graph, an argument, and what is returned as well."""

    def __init__(self) -> None:
        super().__init__()
        self.lin = nn.Linear(3, 3)

    def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
        self.layers = [x]
        y = torch.tanh(self.lin(x))
        self.layers.append(y)
        self.found = {"sources": edge_index[0], "norm": (y.norm(dim=1), 2)}
        self.last = torch.zeros_like(y).index_add(0, edge_index[1], y[edge_index[0]])
        return self.last


class Rows(nn.Module):
    """Keeps a table with the nodes in its second axis."""

    def __init__(self) -> None:
        super().__init__()
        self.lin = nn.Linear(3, 4)

    def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
        y = torch.tanh(self.lin(x))
        self.table = y.t() * 2
        return torch.zeros_like(y).index_add(0, edge_index[1], y[edge_index[0]])


class Columns(nn.Module):
    """The nodes are in the second axis of all that it is given and gives."""

    def __init__(self) -> None:
        super().__init__()
        self.lin = nn.Linear(3, 4)

    def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
        y = torch.tanh(self.lin(x.t())).t()
        self.table = y * 2
        return torch.zeros_like(y).index_add(1, edge_index[1], y[:, edge_index[0]])


class Momentum(nn.Module):
    """What one call stores the next one reads."""

    def __init__(self) -> None:
        super().__init__()
        self.lin, self.before = nn.Linear(3, 3), 0.0

    def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
        y = self.lin(x)
        self.before = self.before + y.mean()
        return torch.zeros_like(y).index_add(0, edge_index[1], y[edge_index[0]]) - self.before


def kept_by(module: nn.Module) -> dict[str, object]:
    """What modules have in attributes of the user's, where that is tensors."""
    names = ("alpha", "aux_loss", "e", "layers", "found", "last", "table")
    return {
        f"{path}.{name}": getattr(each, name)
        for path, each in module.named_modules()
        for name in names
        if hasattr(each, name)
    }


class KeptTensorsTest(TorchTest):
    """Tensors that forward stores in attributes."""

    def check(self, module: nn.Module, sizes: list[tuple[int, int]], columns: bool = False) -> nn.Module:
        """Results, what is kept, and gradients through both, on several graphs."""
        eager = copy.deepcopy(module)
        fast = None
        for nodes, edges in sizes:
            x, edge_index = graph(nodes, edges, seed=nodes)
            given = (x.t().contiguous() if columns else x, edge_index)
            fast = fast or gnnc.compile(module, given)
            for _ in range(2):
                found = []
                for run, owner in ((fast, module), (eager, eager)):
                    owner.zero_grad()
                    result = run(*given)
                    kept = kept_by(owner)
                    floats = [each for each in torch.utils._pytree.tree_leaves(kept) if isinstance(each, Tensor)]
                    loss = sum(each.square().mean() for each in floats if each.requires_grad)
                    (result.square().mean() + loss).backward()
                    found.append([result, kept, [each.grad for each in owner.parameters()]])
                self.assertClose(*found)
        assert fast is not None
        self.assertEqual(len(vars(fast)["_gnnc"].specializations), 1)
        return fast

    def test_values_and_gradients(self) -> None:
        for module in (Attention(), Attention(detached=True), TwoLayers(), Several()):
            fast = self.check(module, [(6, 11), (9, 14), (7, 11)])
            x, edge_index = graph(8, 13)
            with torch.no_grad():
                fast(x, edge_index)
            leaves = torch.utils._pytree.tree_leaves(kept_by(module))
            self.assertFalse(any(isinstance(each, Tensor) and each.requires_grad for each in leaves))

    def test_axes(self) -> None:
        self.check(Rows(), [(6, 11), (9, 14)])
        module = Columns()
        x, edge_index = graph(6, 11)
        fast = gnnc.compile(module, (x.t().contiguous(), edge_index))
        for nodes, edges in ((6, 11), (9, 14)):
            x, edge_index = graph(nodes, edges)
            found = fast(x.t().contiguous(), edge_index), module.table
            self.assertClose(found, (module(x.t().contiguous(), edge_index), module.table))

    def test_what_is_read_in_the_same_call(self) -> None:
        module = EdgesOnTheWay()
        eager, fast = copy.deepcopy(module), gnnc.compile(module)
        for nodes, edges in ((6, 11), (9, 14)):
            given = (*graph(nodes, edges), torch.randn(edges, 3))
            self.assertClose(fast(*given), eager(*given))
            self.assertFalse(hasattr(module, "e"))

    def test_losses_of_the_result_alone(self) -> None:
        module = TwoLayers()
        eager, fast = copy.deepcopy(module), gnnc.compile(module)
        x, edge_index = graph(6, 11)
        for _ in range(2):
            gradients = []
            for run, owner in ((fast, module), (eager, eager)):
                owner.zero_grad()
                run(x, edge_index).square().sum().backward()
                gradients.append([each.grad for each in owner.parameters()])
            self.assertClose(*gradients)
        for owner, run in ((module, fast), (eager, eager)):
            owner.zero_grad()
            run(x, edge_index)
            owner.aux_loss.backward()
        self.assertClose(module.first.lin.weight.grad, eager.first.lin.weight.grad)

    def test_second_derivatives(self) -> None:
        module = Attention()
        x, edge_index = graph(6, 11)
        found = []
        for run in (gnnc.compile(module), module):
            leaf = x.clone().requires_grad_()
            loss = run(leaf, edge_index).square().sum() + module.alpha.square().sum()
            (gradient,) = torch.autograd.grad(loss, [leaf], create_graph=True)
            kept = module.alpha
            gradient.square().sum().backward()
            self.assertIs(module.alpha, kept)
            found.append([gradient.detach(), leaf.grad])
        self.assertClose(*found, 1e-4)

    def test_attributes_that_have_something_already(self) -> None:
        """Of a call before the module was compiled, of another mode, and what the user puts there."""
        module = Attention()
        x, edge_index = graph(6, 11)
        eager = copy.deepcopy(module)
        module(x, edge_index)
        fast = gnnc.compile(module)
        for mode in (True, False, True):
            fast.train(mode)
            for _ in range(2):
                self.assertClose(fast(x, edge_index), eager(x, edge_index))
                self.assertClose(fast.alpha, eager.alpha)
        self.assertEqual(len(vars(fast)["_gnnc"].specializations), 2)
        module.alpha = None
        fast(x, edge_index)
        self.assertClose(module.alpha, eager.alpha)
        self.assertEqual(len(vars(fast)["_gnnc"].specializations), 2)
        before = module.lin
        module.lin = nn.Linear(3, 3)  # is noticed still
        self.assertClose(fast(x, edge_index), module(x, edge_index))
        module.lin, module.detached = before, True
        fast(x, edge_index)
        self.assertFalse(module.alpha.requires_grad)

    def test_nothing_is_looked_at_again(self) -> None:
        """A call assigns, and the next one takes the way of known graphs."""
        module = TwoLayers()
        fast = gnnc.compile(module)
        x, edge_index = graph(6, 11)
        fast(x, edge_index)
        fast(x, edge_index)
        state = vars(fast)["_gnnc"].specializations[0].state
        with unittest.mock.patch.object(state, "_has_structure", side_effect=AssertionError):
            for _ in range(3):
                fast(x, edge_index)

    def test_nothing_but_the_attribute_holds_them(self) -> None:
        module = Attention()
        fast = gnnc.compile(module)
        x, edge_index = graph(6, 11)
        fast(x, edge_index)
        kept = weakref.ref(module.alpha)
        fast(x, edge_index)
        self.assertIsNone(kept())

    def test_copies(self) -> None:
        module = TwoLayers()
        x, edge_index = graph(6, 11)
        fast = gnnc.compile(module, (x, edge_index))
        with torch.no_grad():
            fast(x, edge_index)
            other = copy.deepcopy(fast)
            first = module.aux_loss
            self.assertIsNot(other.aux_loss, first)
            self.assertClose(other(2 * x, edge_index), module(2 * x, edge_index))
            found = kept_by(other)
            module(2 * x, edge_index)
            self.assertClose(found, kept_by(module))
        self.assertEqual(len(vars(other)["_gnnc"].specializations), 1)

    def test_torch_compile_around(self) -> None:
        module = Attention()
        x, edge_index = graph(6, 11)
        eager, fast = copy.deepcopy(module), gnnc.compile(module, (x, edge_index))
        around = torch.compile(lambda *given: 2 * fast(*given), backend="eager", fullgraph=True)
        for given in ((x, edge_index), (2 * x, edge_index), graph(9, 14)):
            self.assertClose(around(*given), 2 * eager(*given))
            self.assertClose(module.alpha, eager.alpha)

    def test_calls_that_pytorch_runs(self) -> None:
        module = Attention()
        fast = gnnc.compile(module, graph(6, 11))
        eager = copy.deepcopy(module)
        for nodes, edges in ((1, 1), (3, 0), (2, 5)):
            x, edge_index = graph(nodes, edges)
            for _ in range(2):
                self.assertClose(fast(x, edge_index), eager(x, edge_index))
                self.assertClose(module.alpha, eager.alpha)

    def test_what_is_refused(self) -> None:
        x, edge_index = graph(6, 11)
        module = Momentum()
        with self.assertRaisesRegex(gnnc.Error, "'Momentum' keeps a tensor in 'before' for later.*next call"):
            gnnc.compile(module, (x, edge_index))
        self.assertEqual(module.before, 0.0)
        with tempfile.TemporaryDirectory() as folder:
            with self.assertRaisesRegex(gnnc.Error, "keeps a tensor in 'alpha' for later.*an object has no attributes"):
                gnnc.export(Attention(), (x, edge_index), Path(folder) / "model.so")
        module = Attention()
        fast = gnnc.compile(module)
        fast(x, edge_index)
        with self.assertRaisesRegex(Exception, "keeps in attributes cannot be traced: return them"):
            torch.export.export(fast, (x, edge_index), strict=False)
        self.assertClose(fast(x, edge_index), module(x, edge_index))


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

        for kind in (Average, OfSubmodules, InPlace, Unread, WithoutGradient, Parts):
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
        module = Counted().train()
        before = copy.deepcopy(module.state_dict())
        with self.assertRaisesRegex(gnnc.Error, "changes its buffer 'seen'"):
            gnnc.compile(module, (x, batch))
        self.assertClose(dict(module.state_dict()), dict(before))
        module = Kept()
        for mode in (True, False):
            fast = gnnc.compile(module.train(mode), (x, batch))
            self.assertFalse(hasattr(module, "last"))
            self.assertClose(fast(x, batch), module(x, batch))
            if mode:
                result, kept = fast(x, batch), module.last
                self.assertClose((result, kept), (module(x, batch), module.last))
                del module.last

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
            self.assertEqual(len(vars(fast)["_gnnc"].specializations), 1)
            module.kept = eager.kept = None
            module.scale = eager.scale = 2.0
            for values in (other, x):
                self.assertClose(fast(values, batch), eager(values, batch))
        for module in (Filled(again=True), Filled(learnt=True)):
            with self.assertRaisesRegex(gnnc.Error, "keeps a tensor in 'kept' for later"):
                gnnc.compile(module, (x, batch))

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
