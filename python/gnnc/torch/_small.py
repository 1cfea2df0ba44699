# Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
# See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Arguments to compile for, where a call has none or one of something: nodes, edges or graphs.

torch.export takes sizes of 0 and 1 for constants, and a program with sizes compiled in is often none that can be imported.
A module that is compiled again (for another integer of Python, or another mode) has arguments already that it was compiled
for. What is exported has no numbers of theirs, so others of their sizes do as well.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

if TYPE_CHECKING:
    from ._module import Specialization


def enlarged(leaves: Sequence[Any], tree: Any, known: Sequence[Specialization]) -> list[Any] | None:
    """Leaves that differ from these in sizes and numbers alone, with the sizes of what the module was compiled for before.
    None: no size of these is 0 or 1 that was larger then. `tree`: of (args, kwargs)."""
    if not any(isinstance(leaf, Tensor) and any(size < 2 for size in leaf.shape) for leaf in leaves):
        return None
    for each in reversed(known):
        if each.example.tree == tree and _is_larger(each, leaves):
            zeros = each.example.leaves()
            return [_like(zero, leaf) if isinstance(leaf, Tensor) else leaf for zero, leaf in zip(zeros, leaves)]
    return None


def _is_larger(known: Specialization, leaves: Sequence[Any]) -> bool:
    """Whether a module was compiled for tensors like these of two elements or more."""
    example, grows = known.example, False
    held = {(i, dimension) for i, dimension, _ in known.artifact.fixed}
    for i, (leaf, dtype, shape) in enumerate(zip(leaves, example.types, example.shapes)):
        if not isinstance(leaf, Tensor):
            if dtype is not None:
                return False
            continue
        if (
            dtype is not leaf.dtype
            or shape is None
            or len(shape) != leaf.dim()
            or leaf.device.type != known.device_type
        ):
            return False
        if hasattr(leaf, "_dynamo_dynamic_indices"):  # torch._dynamo.mark_dynamic: of this tensor alone
            return False
        for dimension, (size, other) in enumerate(zip(leaf.shape, shape)):
            if (i, dimension) in held and size != other:
                return False
            if (i, dimension) not in held and other < 2:
                return False
            grows |= size < 2 <= other
    # The sides of branches on sizes are those of the arguments.
    return grows and all(
        least <= leaves[i].shape[dimension] <= largest
        for i, dimension, least, largest in known.artifact.bounds
        if isinstance(leaves[i], Tensor)
    )


def _like(zero: Tensor, leaf: Tensor) -> Tensor:
    with torch.inference_mode(False):
        return zero.requires_grad_(leaf.requires_grad)
