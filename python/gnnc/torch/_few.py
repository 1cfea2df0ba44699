# Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
# See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Calls with hardly any elements.

torch.export takes sizes of 0 and 1 for constants, and of every other size it believes that it is neither: an axis of one
element that `squeeze` drops, a branch on `x.size(0) > 1`, or the mean over nothing, which is no number, are not in the
program. So the first call of each such kind is compared with the module's own. Where they differ, PyTorch runs calls of that
kind.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn
from torch.utils import _pytree as pytree

from ._effects import Rehearsal, rehearse
from ._export import dynamic_dimension
from ._guards import MANY

if TYPE_CHECKING:
    from ._module import Specialization

#: Of the free sizes of a call, those below MANY; others, which are alike: MANY.
Kind = tuple[int, ...]


def has_few(leaves: Sequence[Any]) -> bool:
    """Whether an argument has so few elements that torch.export may take them, or a part of them, for a constant."""
    dimensions = [(leaf, dynamic_dimension(leaf)) for leaf in leaves]
    return any(dimension is not None and leaf.shape[dimension] < MANY for leaf, dimension in dimensions)


def kind_of(leaves: Sequence[Any]) -> tuple[Any, ...]:
    """Of calls that are alike but for large sizes and numbers, the same."""
    return tuple(
        [
            (leaf.dtype, *[min(size, MANY) for size in leaf.shape]) if isinstance(leaf, Tensor) else repr(leaf)
            for leaf in leaves
        ]
    )


class Few:
    """Which calls of one specialization PyTorch runs."""

    def __init__(self, known: Specialization) -> None:
        fixed = {(i, dimension) for i, dimension, _ in known.artifact.fixed}
        shapes = known.example.shapes
        self._free = [
            (i, d)
            for i, shape in enumerate(shapes)
            if shape is not None
            for d in range(len(shape))
            if (i, d) not in fixed
        ]
        self._differs: dict[Kind, bool] = {}

    def kind(self, leaves: Sequence[Any]) -> Kind | None:
        """None: all sizes are large enough."""
        sizes = [leaves[i].shape[d] for i, d in self._free]
        return tuple([min(size, MANY) for size in sizes]) if sizes and min(sizes) < MANY else None

    def differs(
        self,
        known: Specialization,
        module: nn.Module,
        leaves: Sequence[Any],
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
    ) -> bool:
        """Whether PyTorch is to run such a call."""
        kind = self.kind(leaves)
        if kind is None:
            return False
        found = self._differs.get(kind)
        if found is None:
            found = self._compare(kind, known, module, leaves, args, kwargs)
        return found

    def _compare(
        self,
        kind: Kind,
        known: Specialization,
        module: nn.Module,
        leaves: Sequence[Any],
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
    ) -> bool:
        rehearsal = rehearse(module, args, kwargs, ways=(False,), grad=torch.is_grad_enabled())
        try:
            result = _result(known, leaves)
        except Exception:  # which may be due to the numbers of this call: other calls of the kind are compared again
            known.executor.forget()
            return rehearsal is not None
        differs = rehearsal is None or not _agree(result, _wanted(known, rehearsal), _rounding(known.flags))
        if differs:
            known.executor.forget()
        if rehearsal is not None:
            self._differs[kind] = differs
        return differs


def _wanted(known: Specialization, rehearsal: Rehearsal) -> Any:
    """What PyTorch gives, and what it has put into attributes that compiled code assigns."""
    kept = [rehearsal.attributes.get((id(owner), name)) for owner, name in known.kept]
    return rehearsal.result, [None if found is None else found[1] for found in kept]


def _result(known: Specialization, leaves: Sequence[Any]) -> Any:
    """What compiled code gives, without changing what PyTorch draws next."""
    devices = [leaf.device for leaf in leaves if isinstance(leaf, Tensor) and leaf.is_cuda]
    with torch.random.fork_rng(devices[:1]), torch.no_grad():
        bound = known.executor.bind(leaves)
        outputs = known.executor.run_forward(bound, known.executor.operands(bound, leaves, known.parameters()))
        return known.results(outputs, leaves, None)


def _rounding(flags: Sequence[str]) -> float:
    """How much of the largest number of a result products of fewer digits may change; 0: float32 or float64."""
    if "--autocast" in flags:
        return 0.1
    return 0.02 if "tf32" in flags else 0


def _agree(result: Any, wanted: Any, rounding: float = 0) -> bool:
    found, tree = pytree.tree_flatten(result)
    expected, expected_tree = pytree.tree_flatten(wanted)
    return tree == expected_tree and all(_equal(a, b, rounding) for a, b in zip(found, expected))


def _equal(found: Any, expected: Any, rounding: float) -> bool:
    if not isinstance(expected, Tensor):
        return type(found) is type(expected) and bool(found == expected)
    if not isinstance(found, Tensor) or found.dtype is not expected.dtype or found.shape != expected.shape:
        return False
    tolerance = 1e-3 if expected.dtype is not torch.float64 else 1e-6
    if rounding and expected.dtype.is_floating_point and expected.numel():
        largest = expected.detach().abs().nan_to_num(0, 0, 0).max()
        return torch.allclose(found, expected, rtol=tolerance, atol=float(largest) * rounding, equal_nan=True)
    return torch.allclose(found, expected, rtol=tolerance, atol=tolerance, equal_nan=True)
