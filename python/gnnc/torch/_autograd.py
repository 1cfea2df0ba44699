# Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
# See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Derivatives of calls: an autograd.Function in eager mode."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from ._executor import Bound, Executor


class Call(torch.autograd.Function):
    """One call that may be differentiated. Forward runs the first half of the gradient and keeps its workspace; backward
    runs the second half in it. A second backward (`retain_graph`) computes everything again, since the first has
    overwritten what was kept."""

    @staticmethod
    def forward(ctx: Any, executor: Executor, bound: Bound, *operands: Tensor) -> tuple[Tensor, ...]:
        outputs, ctx.lease = executor.run_first_half(bound, operands)
        ctx.executor, ctx.bound, ctx.count = executor, bound, len(operands)
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
        return _backward_once(ctx, *cotangents) if ctx.executor.pull_back is None else _backward_again(ctx, *cotangents)


def _backward(ctx: Any, *cotangents: Tensor | None) -> tuple[Any, ...]:
    executor, count = ctx.executor, ctx.count
    if all([cotangent is None for cotangent in cotangents]):
        return (None,) * (2 + count)
    saved = ctx.saved_tensors
    lease, ctx.lease = ctx.lease, None
    outputs = dict(zip(executor.again, saved[count:]))
    gradients = pull_back(executor, ctx.bound, saved[:count], cotangents, outputs, lease)
    results: list[Any] = [None, None]
    for gradient, wanted in zip(gradients, ctx.needs_input_grad[2:]):
        results.append(gradient if wanted else None)
    return tuple(results)


def _backward_again(ctx: Any, *cotangents: Tensor | None) -> tuple[Any, ...]:
    """With gradients that can be differentiated."""
    operands, bound = ctx.saved_tensors[: ctx.count], ctx.bound
    bound.check_unchanged()
    gradients = ctx.executor.pull_back(ctx.executor, bound, operands, cotangents)
    wanted = ctx.needs_input_grad[2:]
    return (None, None, *[gradient if want else None for gradient, want in zip(gradients, wanted)])


_backward_once = once_differentiable(_backward)


def pull_back(
    executor: Executor,
    bound: Bound,
    operands: Sequence[Tensor],
    cotangents: Sequence[Tensor | None],
    outputs: dict[str, Tensor] | None = None,
    lease: Any = None,
) -> list[Tensor | None]:
    """Gradients with respect to the operands (None: the model has no derivative there)."""
    dense = []
    for cotangent, (shape, dtype) in zip(cotangents, bound.site(executor.forward).shapes):
        if cotangent is None:
            cotangent = torch.zeros(shape, dtype=dtype, device=bound.torch_device)
        else:  # sums have cotangents of stride 0, concatenations such that begin anywhere
            cotangent = bound.dense(cotangent if cotangent.dtype is dtype else cotangent.to(dtype))
        dense.append(cotangent)
    found = executor.run_second_half(bound, operands, [dense[i] for i in executor.seeds], outputs or {}, lease)
    return [found[name] if name is not None else None for name in executor.gradient_names]


def call(executor: Executor, bound: Bound, operands: Sequence[Tensor]) -> Sequence[Tensor]:
    """Outputs, differentiable if any operand is and gradients are enabled."""
    if torch.is_grad_enabled():
        for operand in operands:
            if operand.requires_grad:
                return Call.apply(executor, bound, *operands)
    return executor.run_forward(bound, operands)
