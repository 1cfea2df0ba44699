# Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
# See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Gradients of calls whose results are not all part of a loss.

A result without a cotangent is not differentiated: a cotangent of zeros would not do, since 0 times an infinite derivative
is NaN, and costs as much as any other. So each set of results that a backward pass was given cotangents for has an object
of its own, compiled when it is first seen. The next forward pass runs in the object that the last backward pass needed: a
loss that reads the same results at each step computes nothing twice.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from torch import Tensor

if TYPE_CHECKING:
    from ._executor import Bound, Executor

#: The numbers of the results that have cotangents.
Given = frozenset[int]


class Partials:
    """The executors of one specialization of a module. `build`: compiles one for results by their names in the model."""

    def __init__(self, whole: Executor, build: Callable[[Sequence[str]], Executor]) -> None:
        self.whole, self._build = whole, build
        #: What a derivative reads: truth values among the results, or those behind `detach`, have no part in it.
        self._read = frozenset(range(whole.num_outputs) if whole.second_half is None else whole.second_half.seeds)
        self._known: dict[Given, Executor] = {self._read: whole}
        #: What the next call runs in.
        self.usual = whole

    def of(self, given: Given) -> Executor:
        """The executor for cotangents of these results, which is the usual one from now on."""
        given &= self._read
        found = self._known.get(given)
        if found is None:
            found = self._known[given] = self._build([self.whole.output_names[i] for i in sorted(given)])
        self.usual = found
        return found


def partner(executor: Executor, bound: Bound, other: Executor, operands: Sequence[Tensor]) -> Bound:
    """The graph of a call of `executor`, prepared for `other`."""
    bound.check_unchanged()
    found = bound.partners.get(other)
    if found is None:
        leaves: list[Any] = list(bound.leaves)
        for k, (i, operand) in enumerate(zip(executor.value_leaves, operands)):
            leaves[i] = executor.leaf(bound, k, operand).detach()
        found = other.bind(leaves)
        bound.partners[other] = found
        found.partners[executor] = bound
    return found
