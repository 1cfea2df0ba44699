# Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
# See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Shapes of GRU cells on GPUs.

`torch.gru_cell` on a CUDA device calls a fused kernel that torch before 2.15 (2.11 for instance) cannot trace without
numbers, unlike that of LSTM cells: torch.export fails. Exported programs have `gru_cell` itself, so shapes are all that
is needed, and only while a module is exported: `torch.compile` decides by them whether it takes the kernel, whose
derivative it lacks as well."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import torch
from torch import Tensor

_NAME, _KEY = "aten::_thnn_fused_gru_cell", "Meta"
_IS_MISSING = not torch._C._dispatch_has_kernel_for_dispatch_key(_NAME, _KEY)


def _shapes(
    input_gates: Tensor,
    hidden_gates: Tensor,
    hx: Tensor,
    input_bias: Tensor | None = None,
    hidden_bias: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    """The new state, and what the derivative keeps: five numbers for each of the state's."""
    return torch.empty_like(hx, memory_format=torch.contiguous_format), hx.new_empty((hx.size(0), 5 * hx.size(1)))


@contextlib.contextmanager
def shapes_of_cells() -> Iterator[None]:
    """Where torch lacks them."""
    if not _IS_MISSING or torch._C._dispatch_has_kernel_for_dispatch_key(_NAME, _KEY):  # nested, or by another thread
        yield
        return
    with torch.library._scoped_library("aten", "IMPL", _KEY) as library:
        library.impl("_thnn_fused_gru_cell", _shapes)
        yield
