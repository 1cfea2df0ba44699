# Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
# See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compiled graph neural networks in Python.

    model = gnnc.load("model.so")                   # arrays of NumPy, tensors of PyTorch, DLPack
    y = model(x=x, edge_index=edge_index)

With PyTorch, which is imported when one of these is first used:

    fast = gnnc.compile(model, (x, edge_index))     # any nn.Module: same signature, same parameters, autograd
    gnnc.optimize(model, (x, edge_index))           # what can be compiled of a model, in place
    gnnc.export(model, (x, edge_index), "model.so") # for C and C++
    gnnc.Loader(batches, fast)                      # prepares the next batch's graph meanwhile
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from . import _backend_name
from ._arguments import Rows
from ._cache import clear_graphs
from ._errors import CompileError, Error
from ._model import Graph, Model, load

if TYPE_CHECKING:
    from . import ops
    from .torch import Loader, compile, export, optimize

__version__ = "0.1.0"
__all__ = [
    "CompileError",
    "Error",
    "Graph",
    "Loader",
    "Model",
    "Rows",
    "clear_graphs",
    "compile",
    "export",
    "load",
    "ops",
    "optimize",
]

_backend_name.make_known()


def __getattr__(name: str) -> Any:
    if name in ("Loader", "compile", "export", "optimize"):
        from . import torch

        return getattr(torch, name)
    if name == "ops":
        return importlib.import_module("gnnc.ops")
    raise AttributeError(f"module 'gnnc' has no attribute '{name}'")
