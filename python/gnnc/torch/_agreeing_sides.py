# Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
# See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Branches whose sides give the same: on whether values choose any element at all, or all of them, such as
`if kept.numel() == 0: return x` and `if not mask.all(): x = x[mask]`.

Which side a call takes is known when the model has run. Most of these branches are there to leave out work: the other
side gives the same for no elements, or for all. Whether that is so is tried out: both sides are traced, and run on
numbers for which nothing is chosen, or everything. Where results and gradients are equal, the side for some elements is
taken for both.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import sympy
import torch
from torch import Tensor, fx
from torch.export import ExportedProgram
from torch.export.graph_signature import InputKind, OutputKind
from torch.utils import _pytree as pytree

#: How often, with other numbers each time: those of the example, such that are near them, and others of these sizes.
_SIZES = (None, None, 0.3, 3.0, 30.0)


def is_on_emptiness(expression: Any, side: bool) -> bool:
    """Whether it tells no elements from any other number of them, and the side is that of the others."""
    if len(expression.free_symbols) != 1:
        return False
    (symbol,) = expression.free_symbols
    values = [expression.xreplace({symbol: sympy.Integer(size)}) for size in (0, 1, 2, 1_000_003)]
    return values == [sympy.false if side else sympy.true, *[sympy.true if side else sympy.false] * 3]


@dataclass
class TruthOfMask:
    """What a branch asks of a mask: whether all of its elements are true, or any is."""

    mask: fx.Node
    filled: bool  #: what all elements have in the special case
    is_special: bool  #: whether the side that was traced is that of the special case
    is_used: bool  #: whether something else is computed from the mask, such as the rows that it chooses


def truth_of_mask(expression: Any, side: bool, node: fx.Node) -> TruthOfMask | None:
    """`node`: gives the truth value of a branch as a number; None: it says something else."""
    is_turned, seen = False, {node}
    while (before := _argument(node)) is not None:
        is_same = node.target is torch.ops.aten.ne.Scalar and node.args[1] == 0
        if node.target not in _SAME_TRUTH and node.target not in _OTHER_TRUTH and not is_same:
            break
        is_turned ^= node.target in _OTHER_TRUTH
        node = before
        seen.add(node)
    if node.target not in (torch.ops.aten.all.default, torch.ops.aten.any.default):
        return None
    mask = _argument(node)
    (symbol,) = expression.free_symbols
    values = [expression.xreplace({symbol: sympy.Integer(truth)}) for truth in (0, 1)]
    if sorted(values, key=str) != [sympy.false, sympy.true] or mask is None or not _is_mask(mask):
        return None
    filled = node.target is torch.ops.aten.all.default
    is_special = bool(values[filled != is_turned]) == side
    seen.add(mask)
    while (before := _argument(mask)) is not None and _is_mask(before):
        is_zero = mask.target is torch.ops.aten.eq.Scalar and mask.args[1] == 0
        if not is_zero and mask.target not in _OTHER_TRUTH:
            break
        mask, filled = before, not filled
        seen.add(mask)
    used = any(user not in seen for each in seen if _is_mask(each) and each is not node for user in each.users)
    return TruthOfMask(mask, filled, is_special, used)


def _argument(node: fx.Node) -> fx.Node | None:
    return node.args[0] if node.args and isinstance(node.args[0], fx.Node) else None


def _is_mask(node: fx.Node) -> bool:
    value = node.meta.get("val")
    return isinstance(value, Tensor) and value.dtype is torch.bool and value.dim() > 0


_SAME_TRUTH = (
    torch.ops.aten._local_scalar_dense.default,
    torch.ops.aten.item.default,
    torch.ops.aten._to_copy.default,
    torch.ops.aten.to.dtype,
)
_OTHER_TRUTH = (torch.ops.aten.logical_not.default, torch.ops.aten.bitwise_not.default)


def agree(
    general: ExportedProgram,
    special: ExportedProgram,
    chosen: tuple[fx.Node, fx.Node],
    filled: bool,
    model: torch.nn.Module,
    leaves: Sequence[Any],
) -> bool:
    """Whether two traces of a model give the same results and gradients in the special case: where nothing is chosen, or
    (`filled`) everything. `chosen`: in each, the mask or the list of places that would say what is."""
    try:
        for run, size in enumerate(_SIZES):
            first, second = (
                _results(program, node, filled, model, leaves, run, size) for program, node in zip((general, special), chosen)
            )
            if len(first) != len(second) or not all(_is_equal(a, b) for a, b in zip(first, second)):
                return False
    except Exception:  # a side that cannot run for no elements, which is why there is another
        return False
    return True


class _Filled(fx.Interpreter):
    """Runs a graph as if nothing were chosen, or everything."""

    def __init__(self, module: fx.GraphModule, chosen: fx.Node, filled: bool) -> None:
        super().__init__(module, garbage_collect_values=False)
        self.chosen, self.filled = chosen, filled

    def run_node(self, n: fx.Node) -> Any:
        if n.op == "call_function" and n.target in _CHECKS:
            return None
        result = super().run_node(n)
        if n is not self.chosen:
            return result
        if isinstance(result, Tensor) and result.dtype is torch.bool:
            return torch.full_like(result, self.filled)
        return pytree.tree_map(lambda places: places[:0], result)


_CHECKS = (
    torch.ops.aten._assert_scalar.default,
    torch.ops.aten._assert_async.msg,
    torch.ops.aten.sym_constrain_range_for_size.default,
    torch.ops.aten.sym_constrain_range.default,
)


def _results(
    program: ExportedProgram,
    chosen: fx.Node,
    filled: bool,
    model: torch.nn.Module,
    leaves: Sequence[Any],
    seed: int,
    size: float | None,
) -> list[Tensor]:
    """The results, the integers that are in buffers then, and the gradients of parameters, buffers and arguments. Writing to
    a buffer of floats is an error here, so both sides may differ in it. `size`: of random arguments; None: they are near
    those of the example."""
    noise = torch.Generator().manual_seed(seed)

    def another(x: Any, size: float | None = None) -> Any:
        if not isinstance(x, Tensor):
            return x
        if not x.is_floating_point():
            return x.detach().clone()
        if size is not None:
            return (size * torch.randn(x.shape, generator=noise, dtype=x.dtype).to(x.device)).requires_grad_()
        change = 1 + 0.1 * seed * torch.rand(x.shape, generator=noise, dtype=x.dtype).to(x.device)
        return (x.detach() * change).requires_grad_()

    known = {**dict(model.named_parameters(remove_duplicate=False)), **dict(model.named_buffers(remove_duplicate=False))}
    remaining = iter(leaves)
    given = []
    for spec in program.graph_signature.input_specs:
        if spec.kind is InputKind.USER_INPUT:
            given.append(another(next(remaining), size))
        else:
            target = str(spec.target)
            given.append(another(known[target] if target in known else program.constants[target]))
    with torch.enable_grad(), torch.random.fork_rng():
        torch.manual_seed(seed)
        outputs = _Filled(program.graph_module, chosen, filled).run(*given)
        results = [
            output
            for output, spec in zip(outputs, program.graph_signature.output_specs)
            if spec.kind is OutputKind.USER_OUTPUT and isinstance(output, Tensor)
        ]
        total: Any = 0
        for result in results:
            if result.is_floating_point() and result.requires_grad:
                total = total + (result * torch.rand(result.shape, generator=noise, dtype=result.dtype).to(result.device)).sum()
        wanted = [each for each in given if isinstance(each, Tensor) and each.requires_grad]
        slopes: Sequence[Any] = [None] * len(wanted)
        if isinstance(total, Tensor):
            slopes = torch.autograd.grad(total, wanted, allow_unused=True)
    counted = [each for each in given if isinstance(each, Tensor) and not each.is_floating_point()]
    return [*results, *counted, *(torch.zeros_like(x) if slope is None else slope for x, slope in zip(wanted, slopes))]


def _is_equal(a: Tensor, b: Tensor) -> bool:
    if a.shape != b.shape or a.dtype is not b.dtype:
        return False
    if not a.is_floating_point():
        return torch.equal(a, b)
    return torch.allclose(a, b, rtol=1e-4, atol=1e-6, equal_nan=True)


def with_agreed_sides(
    taken: dict[str, tuple[Any, bool, str]],
    needs_values: Callable[[Any], bool],
    agrees: Callable[[int], bool],
) -> dict[str, tuple[Any, bool, str]]:
    """The sides that were taken, with a constant for each of which the other side gives the same. `needs_values`: whether
    values decide an expression. `agrees`: whether the other side of the one at a place does."""
    found = {}
    for place, (name, (expression, side, where)) in enumerate(taken.items()):
        settled = needs_values(expression) and agrees(place)
        found[name] = (sympy.true if side else sympy.false, side, where) if settled else (expression, side, where)
    return found
