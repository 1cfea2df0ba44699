# Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
# See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Functions of PyTorch that torch.export cannot follow, or follows for one size only, in forms that it can."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterator

import torch
from torch import Tensor
from torch.nn import functional as F

_take_along_dim = torch.take_along_dim


def take_along_dim(input: Tensor, indices: Tensor, dim: int | None = None) -> Tensor:
    """PyTorch's fixes all sizes."""
    if dim is None or input.dim() != indices.dim():
        return _take_along_dim(input, indices, dim)
    dim = dim % input.dim()
    # A size of 1 is one that is compiled in: the other's is taken for it.
    sizes = list(zip(input.shape, indices.shape))
    given = [b if d != dim and isinstance(a, int) and a == 1 else a for d, (a, b) in enumerate(sizes)]
    own = [b if d == dim else size for d, (size, (_, b)) in enumerate(zip(given, sizes))]
    return input.expand(given).gather(dim, indices.expand(own))


def gaussian_nll_loss(
    input: Tensor,
    target: Tensor,
    var: Tensor | float,
    full: bool = False,
    eps: float = 1e-6,
    reduction: str = "mean",
) -> Tensor:
    """PyTorch's branches on whether a variance is negative, which here is not checked."""
    if not isinstance(var, Tensor):
        var = var * torch.ones_like(input)
    if var.dim() + 1 == input.dim():
        var = var.unsqueeze(-1)
    if reduction not in ("none", "mean", "sum"):
        raise ValueError(reduction + " is not valid")
    # The least variance has the gradient of what it takes the place of.
    var = torch.where(var < eps, var - var.detach() + eps, var)
    loss = 0.5 * (torch.log(var) + (input - target) ** 2 / var)
    if full:
        loss = loss + 0.5 * math.log(2 * math.pi)
    return loss.mean() if reduction == "mean" else loss.sum() if reduction == "sum" else loss


_FORMS = (
    (torch, "take_along_dim", take_along_dim),
    (Tensor, "take_along_dim", take_along_dim),
    (F, "gaussian_nll_loss", gaussian_nll_loss),
)


@contextlib.contextmanager
def exportable_forms() -> Iterator[None]:
    """These in the place of PyTorch's."""
    before = [(owner, name, getattr(owner, name)) for owner, name, _ in _FORMS]
    try:
        for owner, name, form in _FORMS:
            setattr(owner, name, form)
        yield
    finally:
        for owner, name, original in before:
            setattr(owner, name, original)
