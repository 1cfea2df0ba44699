# Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
# See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Parameters whose shape is that of the first call's arguments, such as those of `nn.LazyLinear`."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn
from torch.nn.parameter import is_lazy

from .._errors import Error
from ._alone import alone


def _uninitialised(module: nn.Module) -> str | None:
    tensors = [*module.named_parameters(), *module.named_buffers()]
    return next((name for name, tensor in tensors if is_lazy(tensor)), None)


def initialise(module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """Gives lazy parameters their shapes and numbers, as a first call of the module would: by one, in evaluation mode
    so that it changes nothing else. Raises Error."""
    if _uninitialised(module) is None:
        return
    with alone():  # another thread may have given them meanwhile
        if _uninitialised(module) is not None:
            _initialise(module, args, kwargs)


def _initialise(module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    modes = [(each, each.training) for each in module.modules()]
    try:
        for each, _ in modes:
            each.training = False
        with torch.no_grad():
            module(*args, **kwargs)
    except Exception as error:
        raise Error(f"a call that would initialise the lazy parameters of {type(module).__name__}: {error}") from error
    finally:
        for each, mode in modes:
            each.training = mode
    name = _uninitialised(module)
    if name is not None:
        raise Error(f"uninitialised lazy parameter '{name}', which a call of the module leaves so: nothing uses it")
