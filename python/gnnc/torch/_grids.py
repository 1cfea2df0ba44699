# Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
# See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Arguments and results with several axes of elements, such as x of [batch, nodes, features].

Compiled code has one axis of elements, whose rows are those of all these axes in row-major order. So the leading axes of
such an argument are flattened, and those of a result are given back.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from torch import Tensor, fx
from torch.export import ExportedProgram

from .._errors import CompileError

#: A number, the dimension of a leaf (the leaf's number and its own), or what is neither.
Size = int | tuple[int, int] | None


def sizes_of_results(program: ExportedProgram, leaves: Sequence[Any]) -> list[list[Size]]:
    """Of each result of a program its sizes; empty where it is no tensor. `leaves`: what the arguments are in it."""
    known: dict[str, tuple[int, int]] = {}
    for i, leaf in enumerate(leaves):
        for dim, size in enumerate(leaf.shape if isinstance(leaf, Tensor) else ()):
            if not isinstance(size, int):
                known.setdefault(str(size), (i, dim))
    output = next(node for node in program.graph.nodes if node.op == "output")
    values = [node.meta.get("val") if isinstance(node, fx.Node) else None for node in output.args[0]]
    return [
        [size if isinstance(size, int) else known.get(str(size)) for size in value.shape]
        if isinstance(value, Tensor)
        else []
        for value in values
    ]


class Leading:
    """The leading axes of some arguments, which are one axis in compiled code. `ranks`: of each of the operands that are
    leaves the number of axes in the model; `given`: in the call."""

    def __init__(self, ranks: Sequence[int], given: Sequence[int]) -> None:
        #: Operands, and the last of their leading axes.
        self.axes = [(k, of - rank) for k, (rank, of) in enumerate(zip(ranks, given)) if 0 < rank < of]

    def flatten(self, operands: list[Any]) -> list[Any]:
        for k, last in self.axes:
            operands[k] = operands[k].flatten(0, last)
        return operands

    def sizes(self, operands: Sequence[Tensor]) -> dict[int, tuple[int, ...]]:
        return {k: tuple(operands[k].shape[: last + 1]) for k, last in self.axes}


def restore(operand: Tensor, sizes: tuple[int, ...] | None) -> Tensor:
    return operand if sizes is None else operand.reshape(*sizes, *operand.shape[1:])


class Restored:
    """Results whose leading axes are given back. `ranks`: of each result the number of axes in the model, by its leaf."""

    def __init__(self, ranks: Mapping[int, int], sizes: Sequence[Sequence[Size]]) -> None:
        self.leading: dict[int, list[Size]] = {}
        for i, rank in ranks.items():
            if i < len(sizes) and len(sizes[i]) > rank:
                self.leading[i] = list(sizes[i][: len(sizes[i]) - rank + 1])
                if self.leading[i].count(None) > 1:
                    raise CompileError(f"result {i} has two axes whose sizes are none of an argument's")

    def put(self, results: list[Any], leaves: Sequence[Any]) -> None:
        """Of results by their leaves, those of the model are replaced by those of the module. `leaves`: of the call."""
        for i, leading in self.leading.items():
            if results[i] is None:
                continue
            sizes = [
                size if isinstance(size, int) else -1 if size is None else leaves[size[0]].shape[size[1]]
                for size in leading
            ]
            results[i] = results[i].reshape(*sizes, *results[i].shape[1:])
