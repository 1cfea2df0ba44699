# Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
# See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Shapes of recurrent cells where torch before 2.15 (2.11 for instance) lacks them or has wrong ones.

The last state of an LSTM has an axis too many in its tracing, [layers, 1, batch, features], wherever the LSTM is not one
of oneDNN's: on GPUs, and in training. Exported programs have `lstm` itself, so that the shape is all that is mended.

`torch.gru_cell` on a CUDA device calls a fused kernel that these versions cannot trace without numbers, unlike that of
LSTM cells: torch.export fails. Exported programs have `gru_cell` itself, so shapes are all that is needed, and only while
a module is exported: `torch.compile` decides by them whether it takes the kernel, whose derivative it lacks as well."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor
from torch._decomp import decompositions

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


_layer = getattr(decompositions, "one_layer_lstm", None)


def _lstm_layer(inp: Tensor, hidden: Any, *args: Any, **kwargs: Any) -> tuple[Tensor, tuple[Tensor, ...]]:
    out, last = _layer(inp, hidden, *args, **kwargs)  # type: ignore[misc]
    return out, tuple(each.squeeze(0) if each.dim() > hidden[0].dim() else each for each in last)


@contextlib.contextmanager
def shapes_of_cells() -> Iterator[None]:
    """Where torch lacks them."""
    if _layer is None or decompositions.one_layer_lstm is _lstm_layer:  # nested
        with _shapes_of_gru_cells():
            yield
        return
    decompositions.one_layer_lstm = _lstm_layer
    try:
        with _shapes_of_gru_cells():
            yield
    finally:
        decompositions.one_layer_lstm = _layer


@contextlib.contextmanager
def _shapes_of_gru_cells() -> Iterator[None]:
    if not _IS_MISSING or torch._C._dispatch_has_kernel_for_dispatch_key(_NAME, _KEY):  # nested, or by another thread
        yield
        return
    with torch.library._scoped_library("aten", "IMPL", _KEY) as library:
        library.impl("_thnn_fused_gru_cell", _shapes)
        yield
