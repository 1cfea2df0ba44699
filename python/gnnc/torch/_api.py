# Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
# See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`gnnc.compile` and `gnnc.export`."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from torch import nn
from torch.utils import _pytree as pytree

from .. import _safetensors
from .._library import Library
from . import _export
from ._module import CompiledModule, Options, compiler_options


def _arguments(inputs: Any, kwargs: Mapping[str, Any] | None) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """A tensor alone is the only argument."""
    args = inputs if isinstance(inputs, tuple) else tuple(inputs) if isinstance(inputs, list) else (inputs,)
    return args, dict(kwargs or {})


def compile(
    model: nn.Module,
    inputs: Any = None,
    *,
    kwargs: Mapping[str, Any] | None = None,
    options: Sequence[str] = (),
    progress: bool | None = None,
) -> CompiledModule:
    """Compiles a module: the result has the same signature and the same parameters, and runs compiled code.

    `inputs`: example arguments of a call, a tuple or the only one, with `kwargs` by name. Their types, their numbers of
    features and everything that is no tensor are compiled in; nodes, edges and graphs may be any number (the example
    should have at least two of each). Without `inputs` it is compiled at its first call. `options`: further options of
    `gnnc compile`. `progress`: say on standard error what is going on; None: if that is a terminal.

    Raises `gnnc.Error` if torch cannot export the module, and `gnnc.CompileError` if the compiler refuses it: the message
    names the line of Python.
    """
    result = CompiledModule(model, Options(tuple(options), progress))
    if inputs is not None or kwargs:
        args, named = _arguments(() if inputs is None else inputs, kwargs)
        result._prepare(args, named)
    return result


def export(
    model: nn.Module,
    inputs: Any,
    path: str | os.PathLike[str],
    *,
    kwargs: Mapping[str, Any] | None = None,
    gradient: bool = False,
    options: Sequence[str] = (),
) -> Path:
    """Compiles a module into a shared object for C, C++ and `gnnc.load`.

    `inputs` and `kwargs`: as for `compile`. `gradient`: with the program `gradient`. Parameters that are not in the object
    are written beside it, as `model.safetensors` for `model.so`: `gnnc.load("model.so", parameters="model.safetensors")`.
    Returns the object's path.
    """
    args, named = _arguments(inputs, kwargs)
    flags = compiler_options(model, pytree.tree_leaves((args, named)), Options(tuple(options)))
    if not gradient:
        flags.remove("--gradient")
    result = _export.build(model, args, named, flags, output=Path(path)).path
    found = Library(result).description
    tensors = dict(model.named_parameters(remove_duplicate=False)) | dict(model.named_buffers(remove_duplicate=False))
    apart = {name: tensors[name] for name in (*found.params, *found.states) if name not in found.embedded}
    if apart:
        numbers = {name: tensor.detach().cpu().numpy() for name, tensor in apart.items()}
        _safetensors.save(result.with_suffix(".safetensors"), numbers)
    return result
