# Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
# See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Reductions of segments, which row pointers or lengths give, beside eager PyTorch."""

from __future__ import annotations

import unittest

import torch
from torch import Tensor, nn

import gnnc
from torch_modules import TorchTest


def pointers(rows: int, segments: int, generator: torch.Generator) -> Tensor:
    """Of segments of random lengths, some of them 0."""
    ends = torch.randint(0, rows + 1, (segments - 1,), generator=generator).sort().values
    return torch.cat([torch.zeros(1, dtype=torch.long), ends, torch.tensor([rows])])


class Segments(nn.Module):
    def __init__(self, reduce: str, initial: float | None, by_lengths: bool) -> None:
        super().__init__()
        self.lin = nn.Linear(3, 4)
        self.reduce, self.initial, self.by_lengths = reduce, initial, by_lengths

    def forward(self, x: Tensor, places: Tensor) -> Tensor:
        x = self.lin(x)
        if self.by_lengths:
            return torch.segment_reduce(x, self.reduce, lengths=places, initial=self.initial)
        return torch.segment_reduce(x, self.reduce, offsets=places, initial=self.initial)


class Rows(nn.Module):
    """A graph by rows: weighted means of the neighbours' features, and a softmax of what they score."""

    def __init__(self) -> None:
        super().__init__()
        self.score, self.lin = nn.Linear(3, 1), nn.Linear(6, 2)

    def forward(self, x: Tensor, pointers: Tensor, columns: Tensor, weight: Tensor) -> Tensor:
        lengths = pointers.diff()
        rows = torch.repeat_interleave(torch.arange(x.shape[0]), lengths, output_size=columns.shape[0])
        score = self.score(x)[columns]
        score = (score - torch.segment_reduce(score, "max", offsets=pointers)[rows]).exp()
        share = score / torch.segment_reduce(score, "sum", offsets=pointers)[rows]
        attended = torch.segment_reduce(share * x[columns], "sum", lengths=lengths)
        means = torch.segment_reduce(weight.unsqueeze(-1) * x[columns], "mean", offsets=pointers, initial=0)
        return self.lin(torch.cat([attended, means], 1))


class SegmentsTest(TorchTest):
    def compare(self, module: nn.Module, fast: nn.Module, x: Tensor, *others: Tensor) -> None:
        """Outputs, which may have infinities and no numbers, and gradients where they have numbers."""
        found, given = [], [x.clone().requires_grad_() for _ in range(2)]
        for run, leaf in zip((fast, module), given):
            output = run(leaf, *others)
            total = torch.where(output.isfinite(), output, 0).square().sum()
            found.append([output.detach(), *torch.autograd.grad(total, [leaf, *module.parameters()])])
        torch.testing.assert_close(*found, rtol=1e-5, atol=1e-5, equal_nan=True)

    def test_reductions(self) -> None:
        for reduce in ("sum", "mean", "max", "min", "prod"):
            for initial, by_lengths in ((None, False), (None, True), (0.5, False)):
                with self.subTest(reduce, initial=initial, by_lengths=by_lengths):
                    generator = torch.Generator().manual_seed(0)
                    module = Segments(reduce, initial, by_lengths)
                    fast = None
                    for rows, count in ((7, 3), (20, 6), (33, 5), (4, 1)):
                        x, places = torch.randn(rows, 3, generator=generator), pointers(rows, count, generator)
                        places = places.diff() if by_lengths else places
                        fast = fast or gnnc.compile(module, (x, places))
                        self.compare(module, fast, x, places)

    def test_a_graph_by_rows(self) -> None:
        module, fast = Rows(), None
        for nodes, edges in ((5, 12), (9, 40), (17, 30)):
            generator = torch.Generator().manual_seed(nodes)
            given = torch.randn(nodes, 3, generator=generator), pointers(edges, nodes, generator)
            given += torch.randint(0, nodes, (edges,), generator=generator), torch.rand(edges, generator=generator)
            fast = fast or gnnc.compile(module, given)
            self.compare(module, fast, *given)
        # There is a pointer more than nodes, however many these are.
        self.assertEqual(len(vars(fast)["_gnnc"].specializations), 1)

    def test_rows_without_a_segment_are_refused(self) -> None:
        # PyTorch leaves such rows out without a word.
        fast = gnnc.compile(Segments("sum", None, False), (torch.randn(7, 3), torch.tensor([0, 2, 4, 5, 7])))
        with self.assertRaisesRegex(gnnc.Error, "expected 7 elements, .*, found 5"):
            fast(torch.randn(7, 3), torch.tensor([0, 2, 3, 4, 5]))


if __name__ == "__main__":
    unittest.main()
