# Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
# See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Modules that stand for another while it is exported: with other arguments, or other results."""

from __future__ import annotations

import inspect
from typing import Any

from torch import nn


class Wrapper(nn.Module):
    """A module around another, which is `_gnnc_wrapped`. It has its parameters, buffers and submodules, the same objects."""

    def __init__(self, module: nn.Module) -> None:
        super().__init__()
        self.__dict__["_gnnc_wrapped"] = module  # no submodule: names of parameters stay as they are
        for kind in ("_parameters", "_buffers", "_modules", "_non_persistent_buffers_set"):
            self.__dict__[kind] = module.__dict__[kind]
        self.training = module.training


def named_as(module: nn.Module, kind: type[Wrapper], signature: inspect.Signature | None) -> type[Wrapper]:
    """A class of wrappers with the name of the module's, in what the compiler says of it. `signature`: of forward, without
    self; None: the wrapper's own."""

    def forward(self: Wrapper, *args: Any, **kwargs: Any) -> Any:
        return kind.forward(self, *args, **kwargs)

    if signature is not None:
        first = inspect.Parameter("self", inspect.Parameter.POSITIONAL_ONLY)
        own = signature.replace(parameters=[first, *signature.parameters.values()])
        forward.__signature__ = own  # type: ignore[attr-defined]
    return type(type(module).__name__, (kind,), {"forward": forward})
