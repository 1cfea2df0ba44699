# Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
# See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Derivatives of calls: an autograd.Function in eager mode."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from .._errors import Error
from ._executor import TYPES, Bound, Executor


def gradient_name(executor: Executor, operand: str) -> list[str]:
    return [f"grad.{operand}", f"grad.param.{operand}"]


class Call(torch.autograd.Function):
    """One call that may be differentiated. Forward runs the first half of the gradient and keeps its workspace; backward
    runs the second half in it. A second backward (`retain_graph`) computes everything again, since the first has
    overwritten what was kept."""

    @staticmethod
    def forward(ctx: Any, executor: Executor, bound: Bound, *operands: Tensor) -> tuple[Tensor, ...]:
        outputs, workspace = executor.run_first_half(bound, operands)
        again = executor.needed_again[1]
        names = executor.output_names
        ctx.executor, ctx.bound, ctx.workspace = executor, bound, workspace
        ctx.count = len(operands)
        ctx.save_for_backward(*operands, *[outputs[names.index(name)] for name in again])
        ctx.set_materialize_grads(False)
        return tuple(outputs)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *cotangents: Tensor | None) -> tuple[Any, ...]:
        executor, bound = ctx.executor, ctx.bound
        if all(cotangent is None for cotangent in cotangents):
            return (None,) * (2 + ctx.count)
        workspace, ctx.workspace = ctx.workspace, None
        saved = ctx.saved_tensors
        operands, outputs = saved[: ctx.count], dict(zip(executor.needed_again[1], saved[ctx.count :]))
        gradients = pull_back(executor, bound, operands, cotangents, outputs, workspace)
        wanted = ctx.needs_input_grad[2:]
        return (None, None, *[gradient if want else None for gradient, want in zip(gradients, wanted)])


def pull_back(
    executor: Executor,
    bound: Bound,
    operands: Sequence[Tensor],
    cotangents: Sequence[Tensor | None],
    outputs: dict[str, Tensor] | None = None,
    workspace: Any = None,
) -> list[Tensor | None]:
    """Gradients with respect to the operands (None: the model has no derivative there)."""
    if executor.gradient is None:
        raise Error("the model was compiled without gradients", 4)
    dense = []
    for cotangent, (shape, dtype) in zip(cotangents, bound.shapes):
        if cotangent is None:
            dense.append(torch.zeros(shape, dtype=dtype, device=bound.torch_device))
        else:  # sums have cotangents of stride 0
            dense.append(cotangent.to(dtype).contiguous())
    # By the order of the model's outputs to that of its inputs `grad.y`.
    order = {name: i for i, name in enumerate(executor.output_names)}
    arranged = [dense[order[name[len("grad.") :]]] for name in executor.cotangent_names]
    found = executor.run_second_half(bound, operands, arranged, outputs or {}, workspace)
    results: list[Tensor | None] = []
    for name in executor.operand_names:
        names = gradient_name(executor, name or "")
        results.append(next((found[known] for known in names if known in found), None))
    return results


def call(executor: Executor, bound: Bound, operands: Sequence[Tensor]) -> Sequence[Tensor]:
    """Outputs, differentiable if any operand is and gradients are enabled."""
    if torch.is_grad_enabled() and any(operand.requires_grad for operand in operands):
        return Call.apply(executor, bound, *operands)
    return executor.run_forward(bound, operands)


__all__ = ["TYPES", "Call", "call", "pull_back"]
