# Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
# See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Branches on whether values choose any element at all, or all of them, such as `if kept.numel() == 0: return x` and
`if not mask.all(): x = x[mask]`.

Which side a call takes is known when the model has run. Most of these branches are there to leave out work: the other
side gives the same for no elements, or for all. Whether that is so is tried out: both sides are traced, and run on
numbers for which nothing is chosen, or everything. Where results and gradients are equal, the side for some elements is
taken for both.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import sympy
import torch
from torch import Tensor, fx
from torch.export import ExportedProgram
from torch.export.graph_signature import InputKind, OutputKind
from torch.utils import _pytree as pytree

#: How often, with other numbers each time.
_RUNS = 2


def is_on_emptiness(expression: Any, side: bool) -> bool:
    """Whether it tells no elements from any other number of them, and the side is that of the others."""
    if len(expression.free_symbols) != 1:
        return False
    (symbol,) = expression.free_symbols
    values = [expression.xreplace({symbol: sympy.Integer(size)}) for size in (0, 1, 2, 1_000_003)]
    return values == [sympy.false if side else sympy.true, *[sympy.true if side else sympy.false] * 3]


def mask_of_truth(expression: Any, side: bool, node: fx.Node) -> tuple[fx.Node, bool, bool] | None:
    """Of whether all elements of a mask are true, or any is: the mask, what it has where that tells it from other masks,
    and whether the side is that of such masks. `node`: gives the truth value as a number."""
    is_turned = False
    while isinstance(node.args[0], fx.Node):
        is_same = node.target is torch.ops.aten.ne.Scalar and node.args[1] == 0
        if node.target not in _SAME_TRUTH and node.target not in _OTHER_TRUTH and not is_same:
            break
        is_turned ^= node.target in _OTHER_TRUTH
        node = node.args[0]
    if node.target not in (torch.ops.aten.all.default, torch.ops.aten.any.default):
        return None
    mask = node.args[0]
    (symbol,) = expression.free_symbols
    values = [expression.xreplace({symbol: sympy.Integer(truth)}) for truth in (0, 1)]
    is_known = sorted(values, key=str) == [sympy.false, sympy.true]
    if not is_known or not isinstance(mask, fx.Node) or mask.meta["val"].dtype is not torch.bool:
        return None
    filled = node.target is torch.ops.aten.all.default
    is_side = bool(values[filled != is_turned]) == side
    while isinstance(mask.args[0], fx.Node) and mask.args[0].meta["val"].dtype is torch.bool:
        is_zero = mask.target is torch.ops.aten.eq.Scalar and mask.args[1] == 0
        if not is_zero and mask.target not in _OTHER_TRUTH:
            break
        mask, filled = mask.args[0], not filled
    return mask, filled, is_side


_SAME_TRUTH = (
    torch.ops.aten._local_scalar_dense.default,
    torch.ops.aten.item.default,
    torch.ops.aten._to_copy.default,
    torch.ops.aten.to.dtype,
)
_OTHER_TRUTH = (torch.ops.aten.logical_not.default, torch.ops.aten.bitwise_not.default)


def agree(
    some: ExportedProgram,
    none: ExportedProgram,
    chosen: tuple[fx.Node, fx.Node],
    filled: bool,
    model: torch.nn.Module,
    leaves: Sequence[Any],
) -> bool:
    """Whether two traces of a model give the same results and gradients where nothing is chosen, or (`filled`) everything.
    `chosen`: in each, the mask or the list of places that would say what is."""
    try:
        for run in range(_RUNS):
            first, second = (
                _results(program, node, filled, model, leaves, seed=run) for program, node in zip((some, none), chosen)
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
    program: ExportedProgram, chosen: fx.Node, filled: bool, model: torch.nn.Module, leaves: Sequence[Any], seed: int
) -> list[Tensor]:
    """The results, the integers that are in buffers then, and the gradients of parameters, buffers and arguments. Writing to
    a buffer of floats is an error here, so both sides may differ in it."""
    noise = torch.Generator().manual_seed(seed)

    def another(x: Any) -> Any:
        if not isinstance(x, Tensor):
            return x
        if not x.is_floating_point():
            return x.detach().clone()
        change = 1 + 0.1 * seed * torch.rand(x.shape, generator=noise, dtype=x.dtype).to(x.device)
        return (x.detach() * change).requires_grad_()

    known = {**dict(model.named_parameters(remove_duplicate=False)), **dict(model.named_buffers(remove_duplicate=False))}
    remaining = iter(leaves)
    given = []
    for spec in program.graph_signature.input_specs:
        if spec.kind is InputKind.USER_INPUT:
            given.append(another(next(remaining)))
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
