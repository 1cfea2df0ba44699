# Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
# See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What is refused says in one line where it stands in the user's source, why, and what to change."""

from __future__ import annotations

import unittest

import torch
from torch import Tensor, nn

import gnnc
from torch_modules import Of, TorchTest, graph


class Branch(nn.Module):
    def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
        return x * 2 if x.sum() > 0 else x


class Sorted(nn.Module):
    """The number of sums may depend on integers, and so may whether they are sorted; what floats are may decide nothing."""

    def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
        count = int(edge_index[1].max()) + 1
        if (x.diff(dim=0) < 0).any():
            x = x - x.min()
        return x.new_zeros(count, 3).index_add(0, edge_index[1], x[edge_index[0]])


class Slices(nn.Module):
    """Numbers say where a slice begins and ends."""

    def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
        out = torch.empty_like(x)
        ends = torch.bincount(edge_index[1], minlength=2).cumsum(0)
        for start, end in zip(ends[:-1], ends[1:]):
            out[start:end] = x[start:end] * 2
        return out


class Distances(nn.Module):
    def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
        return torch.cdist(x, x)


class Triples(nn.Module):
    def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
        pairs = x[:, None] - x[None]
        return (pairs[:, :, None] * pairs[:, None]).sum((1, 2))


class Gamma(nn.Module):
    def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
        return torch.lgamma(x[edge_index[0]])


class Fixed(nn.Module):
    def __init__(self, residues: int) -> None:
        super().__init__()
        self.place = nn.Parameter(torch.zeros(residues, 2))

    def forward(self, x: Tensor, table: Tensor) -> Tensor:
        flat = table.view(table.shape[0], -1).unsqueeze(-1).expand(-1, -1, 2)
        near = torch.gather(x + self.place, 1, flat)
        return near.view(list(table.shape) + [-1]).sum(2)


class Dense(nn.Module):
    def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
        matrix = x.new_zeros(x.shape[0], x.shape[0])
        matrix[edge_index[0], edge_index[1]] = 1.0
        return matrix @ x


class Forces(nn.Module):
    def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
        energy = (x[edge_index[0]] - x[edge_index[1]]).tanh().sum()
        return torch.autograd.grad(energy, x.requires_grad_(), create_graph=True)[0]


class Regrouping(nn.Module):
    def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
        return x.view(-1, 2, 3)[:, 0]


class Counted(nn.Module):
    def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
        return torch.zeros(torch.Size([edge_index.max() + 1, 3])).index_add(0, edge_index[1], x[edge_index[0]])


class Steps(nn.Module):
    """A recurrent layer over as many steps as there are nodes in the largest graph."""

    def __init__(self) -> None:
        super().__init__()
        self.steps = nn.GRU(3, 2, batch_first=True)

    def forward(self, x: Tensor, batch: Tensor) -> Tensor:
        rows = torch.zeros(len(x), int(torch.bincount(batch).max()), 3)
        return self.steps(rows)[0][:, -1]


class RefusalsTest(TorchTest):
    def refusal(self, module: nn.Module) -> str:
        with self.assertRaises(gnnc.Error) as caught:
            gnnc.compile(module, graph(5, 9))
        text = str(caught.exception)
        self.assertNotIn("\n", text)
        self.assertNotIn(".pt2", text)  # a file of which the user knows nothing
        self.assertRegex(text, r"test_refusals\.py:\d+: ")
        return text

    def test_branches_on_computed_numbers(self) -> None:
        text = self.refusal(Branch())
        self.assertIn("return x * 2 if x.sum() > 0 else x", text)
        self.assertIn("choose with torch.where", text)

    def test_what_the_module_refuses_itself(self) -> None:
        with self.assertRaises(RuntimeError) as eager:
            Regrouping()(*graph(5, 9))
        with self.assertRaises(gnnc.Error) as caught:
            gnnc.compile(Regrouping())(*graph(5, 9))
        self.assertEqual(str(caught.exception), f"Regrouping itself raises RuntimeError: {eager.exception}")

    def test_what_cannot_be_traced(self) -> None:
        text = self.refusal(Counted())
        self.assertIn("return torch.zeros(torch.Size([edge_index.max() + 1, 3]))", text)
        self.assertNotIn("FakeTensor", text)

    def test_the_branch_that_decides(self) -> None:
        text = self.refusal(Sorted())
        self.assertIn(": if (x.diff(dim=0) < 0).any(): choose with torch.where", text)
        self.assertNotRegex(text, r"int\(|\bu\d+\b|GuardOn|branching")

    def test_sizes_are_not_called_what_torch_calls_them(self) -> None:
        with self.assertRaises(gnnc.Error) as caught:
            gnnc.compile(Slices(), graph(5, 9))
        self.assertIn("depends on computed numbers", str(caught.exception))
        self.assertNotRegex(str(caught.exception), r"\bu\d+\b|Symbol|FakeTensor")

    def test_sizes_that_are_numbers_of_a_graph(self) -> None:
        """Two lists may have other largest numbers, which is an error when they have; one that no argument says is no number
        of features."""

        def pooled(x: Tensor, batch: Tensor) -> Tensor:
            return x.new_zeros(int(batch.max()) + 1, 3).index_add(0, batch, x)

        def both(x: Tensor, first: Tensor, second: Tensor) -> Tensor:
            return pooled(x, first) + pooled(x, second)

        def classes(x: Tensor, kind: Tensor) -> Tensor:
            return x.sum() * x.new_zeros(x.size(0), int(kind.max()) + 1).scatter(1, kind.view(-1, 1), 1.0)

        x, first, second = torch.randn(5, 3), torch.tensor([0, 0, 1, 1, 2]), torch.tensor([2, 1, 0, 0, 0])
        compiled = gnnc.compile(Of(both), (x, first, second))
        torch.testing.assert_close(compiled(x, first, second), both(x, first, second))
        with self.assertRaises((gnnc.Error, RuntimeError)):
            compiled(x, first, second.clamp(max=1))
        with self.assertRaisesRegex(gnnc.Error, r"rows of given_1\.max\(\) \+ 1 numbers.*give the number of classes"):
            gnnc.compile(Of(classes), (x, first))

    def test_sizes_of_two_axes(self) -> None:
        """A matrix of rows for each graph, as many as the largest has; with as many as a number says it is compiled."""

        def rows(x: Tensor, batch: Tensor, places: Tensor, most: int | None = None) -> Tensor:
            graphs, most = int(batch.max()) + 1, int(places.max()) + 1 if most is None else most
            out = x.new_zeros(graphs * most, 3).index_copy(0, batch * most + places, x)
            return out.view(graphs, most, 3).sum(1)

        given = torch.randn(5, 3), torch.tensor([0, 0, 1, 1, 1]), torch.tensor([0, 1, 0, 1, 2])
        with self.assertRaisesRegex(gnnc.Error, "view of shape .* has several axes whose sizes differ from graph to graph"):
            gnnc.compile(Of(rows), given)
        of_three = Of(lambda *tensors: rows(*tensors, most=3))
        self.assertClose(gnnc.compile(of_three, given)(*given), of_three(*given))

    def test_nothing_to_compute(self) -> None:
        with self.assertRaisesRegex(gnnc.Error, "forward returns nothing that compiled code would compute"):
            gnnc.compile(Of(lambda x: (3, None)), torch.randn(5, 3))

    def test_random_integers(self) -> None:
        with self.assertRaisesRegex(gnnc.Error, "'randperm' draws random integers; give them to the model as an input"):
            gnnc.compile(Of(lambda x: x[torch.randperm(x.size(0))]), torch.randn(5, 3))

    def test_operators_without_a_meaning(self) -> None:
        self.assertRegex(self.refusal(Gamma()), "lgamma.*keep it out of what is compiled")

    def test_steps_that_numbers_of_a_graph_say(self) -> None:
        with self.assertRaisesRegex(gnnc.Error, "torch.gru over as many steps as values of the graph say: expected a number"):
            gnnc.compile(Steps(), (torch.randn(6, 3), torch.tensor([0, 0, 1, 1, 1, 2])))

    def test_pairs_and_triples(self) -> None:
        with self.assertRaisesRegex(gnnc.Error, "output 0, of shape .*, has a number for every pair of elements"):
            gnnc.compile(Distances(), graph(5, 9))
        self.assertRegex(self.refusal(Triples()), "a number for every triple of elements")

    def test_gradients_that_forward_takes(self) -> None:
        """Versions of torch that can export them are welcome."""
        x, edges = graph(5, 9)
        try:
            forces = gnnc.compile(Forces(), (x.requires_grad_(), edges))(x, edges)
        except gnnc.Error as refused:
            self.assertRegex(str(refused), "take the gradient of the compiled module")
        else:
            self.assertClose([forces], [Forces()(x, edges)], 1e-5)

    def test_matrices_of_all_pairs(self) -> None:
        self.assertRegex(self.refusal(Dense()), "two axes at once.*along edges")

    def test_many_places_along_a_fixed_axis(self) -> None:
        """Parameters fix how many residues there are, and each neighbour would be looked for among all of them."""
        batch, residues, near = 3, 220, 3
        module = Fixed(residues)
        x, table = torch.randn(batch, residues, 2), torch.randint(residues, (batch, residues, near))
        with self.assertRaisesRegex(gnnc.Error, r"660 places along an axis of fixed size 220.*found 145200"):
            gnnc.compile(module, (x, table))(x, table)


if __name__ == "__main__":
    unittest.main()
