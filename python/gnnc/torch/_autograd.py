# Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
# See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Derivatives of calls: an autograd.Function in eager mode."""

from __future__ import annotations

from collections.abc import Sequence
from operator import attrgetter
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from ._executor import Bound, Executor, Halves


class Call(torch.autograd.Function):
    """One call that may be differentiated. Forward runs the first half of the gradient and keeps its workspace; backward
    runs the second half in it. A second backward (`retain_graph`) computes everything again, since the first has
    overwritten what was kept."""

    @staticmethod
    def forward(ctx: Any, executor: Executor, bound: Bound, halves: Halves, *operands: Tensor) -> tuple[Tensor, ...]:
        outputs, ctx.lease = executor.run_first_half(bound, halves, operands)
        ctx.known = executor, bound, halves, len(operands)
        again = executor.again
        if again:
            names = executor.output_names
            ctx.save_for_backward(*operands, *[outputs[names.index(name)] for name in again])
        else:
            ctx.save_for_backward(*operands)
        ctx.set_materialize_grads(False)
        return tuple(outputs)

    @staticmethod
    def backward(ctx: Any, *cotangents: Tensor | None) -> tuple[Any, ...]:
        if not torch.is_grad_enabled():
            return _backward(ctx, *cotangents)
        # A graph of the derivative is made.
        return _backward_once(ctx, *cotangents) if ctx.known[0].pull_back is None else _backward_again(ctx, *cotangents)


def _backward(ctx: Any, *cotangents: Tensor | None) -> tuple[Any, ...]:
    executor, bound, halves, count = ctx.known
    if all([cotangent is None for cotangent in cotangents]):
        return (None,) * (3 + count)
    saved = ctx.saved_tensors
    lease, ctx.lease = ctx.lease, None
    gradients = pull_back(executor, bound, halves, saved[:count], cotangents, saved[count:], lease)
    return (None, None, None, *gradients)


def _backward_again(ctx: Any, *cotangents: Tensor | None) -> tuple[Any, ...]:
    """With gradients that can be differentiated."""
    executor, bound, _, count = ctx.known
    bound.check_unchanged()
    gradients = executor.pull_back(executor, bound, ctx.saved_tensors[:count], cotangents)
    wanted = ctx.needs_input_grad[3:]
    return (None, None, None, *[gradient if want else None for gradient, want in zip(gradients, wanted)])


_backward_once = once_differentiable(_backward)


def pull_back(
    executor: Executor,
    bound: Bound,
    halves: Halves,
    operands: Sequence[Tensor],
    cotangents: Sequence[Tensor | None],
    outputs: Sequence[Tensor] = (),
    lease: Any = None,
) -> list[Tensor | None]:
    """Gradients with respect to the operands (None: it is not wanted, or the model has no derivative there)."""
    dense = []
    for cotangent, template in zip(cotangents, bound.forward.templates):
        if cotangent is None:
            cotangent = torch.zeros_like(template)
        else:  # sums have cotangents of stride 0, concatenations such that begin anywhere
            cotangent = bound.dense(cotangent if cotangent.dtype is template.dtype else cotangent.to(template.dtype))
        dense.append(cotangent)
    gradients: list[Tensor | None] = [None] * len(operands)
    if halves.wanted:
        found = executor.run_second_half(bound, halves, operands, [dense[i] for i in executor.seeds], outputs, lease)
        gradients = [None if place is None else found[place] for place in halves.places]
    for i in halves.zeros:
        gradients[i] = torch.zeros_like(operands[i])
    return gradients


_requires_grad = attrgetter("requires_grad")
#: Without what torch.autograd.Function.apply does for functions with defaults and for transforms of torch.func.
_apply = super(torch.autograd.Function, Call).apply


def call(executor: Executor, bound: Bound, operands: Sequence[Tensor]) -> Sequence[Tensor]:
    """Outputs, differentiable if any operand is and gradients are enabled."""
    if torch.is_grad_enabled():
        mask = tuple(map(_requires_grad, operands))
        if True in mask:
            halves = bound.halves.get(mask) or executor.halves(bound, mask)
            apply = Call.apply if torch._C._are_functorch_transforms_active() else _apply
            return apply(executor, bound, halves, *operands)
    return executor.run_forward(bound, operands)
