# Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
# See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Derivatives of calls: an autograd.Function in eager mode."""

from __future__ import annotations

from collections.abc import Sequence
from operator import attrgetter
from typing import Any

import torch
from torch import Tensor

from .._errors import Error
from ._executor import Bound, Executor, Halves
from ._partial import partner


class Call(torch.autograd.Function):
    """One call that may be differentiated. Forward runs the first half of the gradient and keeps its workspace; backward
    runs the second half in it. A second backward (`retain_graph`) computes everything again, since the first has
    overwritten what was kept."""

    @staticmethod
    def forward(ctx: Any, known: tuple[Executor, Bound, Halves], *operands: Tensor) -> tuple[Tensor, ...]:
        ctx.known = executor, bound, halves = known
        outputs, ctx.lease = executor.run_first_half(bound, halves, operands)
        again = executor.again
        if again:
            names = executor.output_names
            ctx.save_for_backward(*operands, *[outputs[names.index(name)] for name in again])
        else:
            ctx.save_for_backward(*operands)
        if halves.wanted.constant:
            ctx.mark_non_differentiable(*[outputs[i] for i in halves.wanted.constant])
        ctx.set_materialize_grads(False)
        return tuple(outputs)

    @staticmethod
    def backward(ctx: Any, *cotangents: Tensor | None) -> tuple[Any, ...]:
        try:
            if not torch.is_grad_enabled():
                return _backward(ctx, *cotangents)
            # A graph of the derivative is made.
            again = ctx.known[0].pull_back is not None
            return _backward_again(ctx, *cotangents) if again else _backward_once(ctx, *cotangents)
        except RuntimeError as error:
            if any(map(_is_batch, cotangents)):
                raise Error(
                    "gradients of a compiled module: expected one cotangent, found a batch of them "
                    "(is_grads_batched=True, vectorize=True): take them one after another, or with torch.func.jacrev",
                    4,
                ) from error
            raise


def _is_batch(cotangent: Tensor | None) -> bool:
    """Whether it stands for several, and has no memory of its own."""
    if cotangent is None:
        return False
    keys = torch._C._dispatch_keys(cotangent)
    return any(keys.has(torch._C._dispatch_key_parse(name)) for name in ("Batched", "FuncTorchBatched"))


def _backward(ctx: Any, *cotangents: Tensor | None) -> tuple[Any, ...]:
    executor, bound, halves = ctx.known
    count = len(halves.wanted.places)
    if cotangents[0] is None and all([cotangent is None for cotangent in cotangents]):  # `in` would compare tensors
        return (None,) * (1 + count)
    saved: tuple[Tensor, ...] = ctx.saved_tensors
    outputs: tuple[Tensor, ...] = ()
    if executor.again:
        saved, outputs = saved[:count], saved[count:]
    lease, ctx.lease = ctx.lease, None
    if executor.partials is None:
        return (None, *pull_back(executor, bound, halves, saved, cotangents, outputs, lease))
    given = frozenset([i for i, cotangent in enumerate(cotangents) if cotangent is not None])
    other = executor.partials.of(given)
    if other is not executor:  # It has no use for what this one has kept, and computes everything anew.
        bound, outputs, lease = partner(executor, bound, other, saved), (), None
        halves = other.halves(bound, ctx.needs_input_grad[1:])
    gradients = pull_back(other, bound, halves, saved, cotangents, outputs, lease)
    reached = executor.reached_from(given) if len(given) < executor.num_outputs else None
    if reached is not None:  # In eager mode, what no part of a loss depends on has no gradient.
        gradients = [each if name in reached else None for each, name in zip(gradients, executor.operand_names)]
    return (None, *gradients)


def _backward_again(ctx: Any, *cotangents: Tensor | None) -> tuple[Any, ...]:
    """With gradients that can be differentiated."""
    executor, bound, halves = ctx.known
    bound.check_unchanged()
    gradients = executor.pull_back(executor, bound, ctx.saved_tensors[: len(halves.wanted.places)], cotangents)
    wanted = ctx.needs_input_grad[1:]
    return (None, *[gradient if want else None for gradient, want in zip(gradients, wanted)])


class _Underivable(torch.autograd.Function):
    """Gradients that depend on `sources`, which is an error for who asks how."""

    @staticmethod
    def forward(ctx: Any, what: str, gradients: Sequence[Tensor], *sources: Tensor | None) -> tuple[Tensor, ...]:
        ctx.what = what
        return tuple([gradient.detach() for gradient in gradients])

    @staticmethod
    def backward(ctx: Any, *cotangents: Tensor | None) -> tuple[Any, ...]:
        raise Error(f"gnnc does not compute {ctx.what}", 4)


def _backward_once(ctx: Any, *cotangents: Tensor | None) -> tuple[Any, ...]:
    """With gradients whose derivatives are an error."""
    executor, _, halves = ctx.known
    with torch.no_grad():
        gradients = _backward(ctx, *cotangents)
    found = [gradient for gradient in gradients if gradient is not None]
    sources = ctx.saved_tensors[: len(halves.wanted.places)]
    given = iter(_Underivable.apply(executor.not_computed, found, *sources, *cotangents))
    return tuple([None if gradient is None else next(given) for gradient in gradients])


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
    for cotangent, template in zip(cotangents, bound.results):
        if (
            cotangent is not None
            and cotangent.dtype is template.dtype
            and bound.on_cpu
            and cotangent.is_contiguous()
            and not cotangent.is_neg()
        ):
            pass
        elif cotangent is None:  # not read where there is an executor without it
            cotangent = template if executor.partials is not None else torch.zeros_like(template)
        else:  # sums have cotangents of stride 0, concatenations such that begin anywhere
            cotangent = bound.dense(cotangent if cotangent.dtype is template.dtype else cotangent.to(template.dtype))
        dense.append(cotangent)
    found: list[Tensor] = []
    wanted = halves.wanted
    if wanted.num_wanted:
        found = executor.run_second_half(bound, halves, operands, dense, outputs, lease)
    gradients: list[Tensor | None] = [None if place is None else found[place] for place in wanted.places]
    for i in wanted.zeros:
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
            if executor.partials is not None and executor.partials.usual is not executor:
                usual = executor.partials.usual
                bound, executor = partner(executor, bound, usual, operands), usual
            halves = bound.halves.get(mask) or executor.halves(bound, mask)
            apply = Call.apply if torch._C._are_functorch_transforms_active() else _apply
            return apply((executor, bound, halves), *operands)
    return executor.run_forward(bound, operands)
