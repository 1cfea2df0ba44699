# Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
# See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes through another name of a tensor's memory: conversions that have nothing to do, `detach`, `Variable`."""

from __future__ import annotations

import unittest
from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.autograd import Variable

import gnnc


class Writes(nn.Module):
    def __init__(self, alias: Callable[[Tensor, Tensor], Tensor], write: Callable[[Tensor, Tensor], Tensor]) -> None:
        super().__init__()
        self.lin, self.alias, self.write = nn.Linear(4, 4), alias, write

    def forward(self, x: Tensor, index: Tensor) -> Tensor:
        rows = self.lin(x)[index]
        return self.write(self.alias(torch.zeros_like(rows), rows), rows)


def into_slice(out: Tensor, rows: Tensor) -> Tensor:
    out[:, 0::2] = rows[:, 0::2]
    return out[:, :3] * 2


def into_column(out: Tensor, rows: Tensor) -> Tensor:
    out[:, 0] = rows[:, 0]
    return out[:, :3]


def through_view(out: Tensor, rows: Tensor) -> Tensor:
    out.view(-1, 2, 2)[:, 0][:, 1] = rows[:, 1]
    return out + out[:, :1]


def whole(out: Tensor, rows: Tensor) -> Tensor:
    out.copy_(rows)
    return out[:, 1:]


ALIASES: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "to a device": lambda zeros, rows: zeros.to(rows.device),
    "to a type": lambda zeros, rows: zeros.to(rows.dtype),
    "float": lambda zeros, rows: zeros.float(),
    "type_as": lambda zeros, rows: zeros.type_as(rows),
    "detach": lambda zeros, rows: zeros.detach(),
    "Variable": lambda zeros, rows: Variable(zeros),
    "slice of all": lambda zeros, rows: zeros[:],
    "two of them": lambda zeros, rows: Variable(zeros.to(rows.device)).float(),
    "copy": lambda zeros, rows: zeros.to(rows.device, copy=True),
    "another type and back": lambda zeros, rows: zeros.double().float(),
}


class AliasesTest(unittest.TestCase):
    def test_a_write_is_seen_through_every_name(self) -> None:
        for name, alias in ALIASES.items():
            for write in (into_slice, into_column, through_view, whole):
                with self.subTest(name, write=write.__name__):
                    torch.manual_seed(0)
                    module, arguments = Writes(alias, write), (torch.randn(9, 4), torch.randint(0, 9, (20,)))
                    compiled = gnnc.compile(module, arguments)
                    expected, found = module(*arguments), compiled(*arguments)
                    torch.testing.assert_close(found, expected)
                    wanted = torch.autograd.grad(expected.square().sum(), list(module.parameters()))
                    grads = torch.autograd.grad(found.square().sum(), list(module.parameters()))
                    torch.testing.assert_close(grads, wanted)

    def test_what_is_converted_is_a_copy(self) -> None:
        class Converted(nn.Module):
            def forward(self, x: Tensor, index: Tensor) -> Tensor:
                rows = x[index] * 2
                wide = rows.double()
                wide[:, 0] = 0
                return rows + wide.float()

        arguments = torch.randn(9, 4), torch.randint(0, 9, (20,))
        torch.testing.assert_close(gnnc.compile(Converted(), arguments)(*arguments), Converted()(*arguments))

    def test_a_tensor_that_was_written_through_a_detached_one_is_refused(self) -> None:
        class Detached(nn.Module):
            def forward(self, x: Tensor, index: Tensor) -> Tensor:
                rows = x[index] * 2
                out = rows.detach()
                out[:, 0] = 0
                return rows[:, :3] + out[:, :3]

        with self.assertRaisesRegex(gnnc.Error, "wrote to its memory in place through another tensor"):
            gnnc.compile(Detached(), (torch.randn(9, 4), torch.randint(0, 9, (20,))))


if __name__ == "__main__":
    unittest.main()
