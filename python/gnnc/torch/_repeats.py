# Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
# See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Why a module is compiled again and again, in the words of its user."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from torch import Tensor

from . import _export

if TYPE_CHECKING:
    from ._module import Specialization

#: What a module can do so that a size is compiled in, and what it should do.
FIXES_SIZES = (
    "sizes are fixed by Python code such as `len(x)`, `math.sqrt(x.size(0))` or `float(x.size(0))`; `x.shape[0]` and "
    "`x.size(0) ** 0.5` leave them free"
)

#: The number of compilations for one thing at which it is said.
_MANY = 3


def reason(
    known: Sequence[Specialization],
    new: Specialization,
    leaves: Sequence[Any],
    names: Sequence[tuple[str, str]],
    dynamic: Mapping[str, bool],
) -> str | None:
    """What has just cost another compilation and will cost more: a size that may differ otherwise, at once; values of an
    argument or an attribute, with the third. `names`: of the argument that each leaf is of, and its own."""
    alike = [each for each in known if each.example.modes == new.example.modes and each.example.tree == new.example.tree]
    return (
        _sizes(alike, new, leaves, names, dynamic)
        or _constants(alike, new, leaves, names, dynamic)
        or _attributes([each for each in alike if each.accepts(leaves, new.example.tree)])
    )


def _sizes(
    known: Sequence[Specialization],
    new: Specialization,
    leaves: Sequence[Any],
    names: Sequence[tuple[str, str]],
    dynamic: Mapping[str, bool],
) -> str | None:
    for each in known:
        before = {(leaf, dim): size for leaf, dim, size in each.artifact.fixed if size > 1}
        for leaf, dim, size in new.artifact.fixed:
            # torch itself takes sizes of 0 and 1 for constants.
            is_other = size > 1 and before.get((leaf, dim), size) != size and dynamic.get(names[leaf][0], True)
            if is_other and hasattr(leaves[leaf], "_gnnc_is_size"):
                return f"each value of argument '{names[leaf][1]}' ({before[leaf, dim]} before, now {size})"
            if is_other and _export.dynamic_dimension(leaves[leaf]) == dim:
                return (
                    f"each size of argument '{new.artifact.leaf_names[leaf]}' in dimension {dim} ({before[leaf, dim]} before, "
                    f"now {size}): {FIXES_SIZES}"
                )
    return None


def _constants(
    known: Sequence[Specialization],
    new: Specialization,
    leaves: Sequence[Any],
    names: Sequence[tuple[str, str]],
    dynamic: Mapping[str, bool],
) -> str | None:
    for i, leaf in enumerate(leaves):
        if isinstance(leaf, Tensor) or not dynamic.get(names[i][0], True):
            continue
        values = [each.constants[i] for each in known if each.types[i] is None]
        different = dict.fromkeys(repr(value) for value in [*values, leaf])
        if len(different) >= _MANY:
            *before, last = different
            return (
                f"each value of argument '{names[i][1]}' ({', '.join(before)}, now {last}): numbers and other objects of Python "
                "are compiled in, tensors are not"
            )
    return None


def _attributes(known: Sequence[Specialization]) -> str | None:
    changed = [each.state.changes() for each in known]
    common = [each for each in (changed[0] if changed else []) if all(each in other for other in changed)]
    if len(changed) + 1 < _MANY or not common:
        return None
    return f"each value of {common[0]}, which its forward reads: attributes are compiled in, tensors and parameters are not"
