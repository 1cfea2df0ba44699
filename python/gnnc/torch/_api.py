# Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
# See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`gnnc.compile` and `gnnc.export`."""

from __future__ import annotations

import inspect
import os
import re
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from torch import nn
from torch.utils import _pytree as pytree

from .. import _safetensors
from .._errors import CompileError, Error
from .._library import Library
from . import _arranged, _containers, _export, _force_field, _lazy
from ._alone import alone
from ._compiled import CompiledModule
from ._made import FirstCallFills
from ._module import Options, compiler_options


def _arguments(inputs: Any, kwargs: Mapping[str, Any] | None) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """A tensor alone is the only argument."""
    args = inputs if isinstance(inputs, tuple) else tuple(inputs) if isinstance(inputs, list) else (inputs,)
    return args, dict(kwargs or {})


def check_module(model: Any) -> None:
    if isinstance(model, nn.Module):
        return
    found = f"the class {model.__name__}: pass an object of it" if isinstance(model, type) else type(model).__name__
    raise Error(f"expected a module of PyTorch, found {found}", 1)


def _check_options(options: Any) -> None:
    is_list = isinstance(options, Sequence) and not isinstance(options, str)
    if not is_list or not all(isinstance(each, str) for each in options):
        raise Error(f"options: expected a list of texts, as in ['--dtype', 'f64'], found {options!r}", 1)


def _check_dynamic(model: nn.Module, dynamic: Any) -> None:
    if not isinstance(dynamic, Mapping) or not all(isinstance(each, bool) for each in dynamic.values()):
        wanted = "truth values by the names of arguments, as in {'x': False}"
        raise Error(f"dynamic: expected {wanted}, found {dynamic!r}", 1)
    parameters = inspect.signature(model.forward).parameters.values()
    if any(each.kind is each.VAR_KEYWORD for each in parameters):
        return
    names = [each.name for each in parameters if each.kind is not each.VAR_POSITIONAL]
    # What containers have in them is called `data_x`, and what a signature does not name `argument 3`.
    known = re.compile("|".join([r"argument \d+", *[rf"{re.escape(name)}(_\w+)?" for name in names]]))
    for name in dynamic:
        if not known.fullmatch(str(name)):
            raise Error(f"dynamic: unknown argument '{name}': expected one of {', '.join(names)}", 1)


def compile(
    model: nn.Module,
    inputs: Any = None,
    *,
    kwargs: Mapping[str, Any] | None = None,
    options: Sequence[str] = (),
    progress: bool | None = None,
    dynamic: Mapping[str, bool] | None = None,
    memory_limit: int | str | None = None,
) -> CompiledModule:
    """Compiles a module: the result has the same signature and the same parameters, and runs compiled code.

    `inputs`: example arguments of a call, a tuple or the only one, with `kwargs` by name. Their types, their numbers of
    features and everything that is no tensor are compiled in; nodes, edges and graphs may be any number (the example
    should have at least two of each). Without `inputs` it is compiled at its first call; where that call computes what is
    kept for all others (`cached=True` of features), at the second. `options`: further options of
    `gnnc compile`. `progress`: say on standard error what is going on; None: if that is a terminal. `dynamic`: of arguments
    by their names, whether their sizes, and integers of Python that they are or have, may differ: {"x": False, "nodes": True}.
    Of others sizes may differ, and integers from the second value on. `memory_limit`: most bytes that a training step takes
    on a graph of the example's size, such as "12GiB": parameters, inputs, outputs, gradients and intermediate values, not
    what PyTorch keeps besides. As much of the forward pass is computed again in the backward pass as that needs.

    Raises `gnnc.Error` if torch cannot export the module, and `gnnc.CompileError` if the compiler refuses it: the message
    names the line of Python.
    """
    check_module(model)
    _check_options(options)
    _check_dynamic(model, {} if dynamic is None else dynamic)
    if not isinstance(memory_limit, (int, str, type(None))):
        raise TypeError(f"memory_limit: expected bytes as an integer or a text such as '12GiB', found {memory_limit!r}")
    result = CompiledModule(
        model,
        Options(
            tuple(options),
            progress,
            dynamic=dict(dynamic or {}),
            memory_limit=None if memory_limit is None else str(memory_limit),
        ),
    )
    if inputs is not None or kwargs:
        args, named = _arguments(() if inputs is None else inputs, kwargs)
        try:
            vars(result)["_gnnc"].prepare(args, named)
        except FirstCallFills:
            pass  # compiled after that call
    return result


def export(
    model: nn.Module,
    inputs: Any,
    path: str | os.PathLike[str],
    *,
    kwargs: Mapping[str, Any] | None = None,
    gradient: bool = False,
    forces: str | None = None,
    stress: bool = False,
    cutoff: float | None = None,
    elements: Sequence[str | int] | None = None,
    metadata: Mapping[str, str] | None = None,
    options: Sequence[str] = (),
) -> Path:
    """Compiles a module into a shared object for C, C++ and `gnnc.load`.

    `inputs` and `kwargs`: as for `compile`. `gradient`: with the program `gradient`. Parameters that are not in the object
    are written beside it, as `model.safetensors` for `model.so`: `gnnc.load("model.so", parameters="model.safetensors")`.
    Objects have the axis of nodes first: where the module has it elsewhere, as in x of [features, nodes], a warning says
    which arguments and results have it first in the object. Results that the module returns in a dict go by its keys.
    `metadata`: texts that the object carries, by name.

    `forces`: the module computes an energy, and this argument of its forward has the positions: the object's outputs are
    `energy`, `energies` (if the module returns one for each atom), `forces` and with `stress` also `virial`, and hosts
    that simulate molecules can use it. What forward's other arguments may be, and what a host has to know with `cutoff`
    (in the unit of the positions) and `elements`, says docs/ForceFields.md.

    Raises as `compile`, and `gnnc.Error` where `forces` does not fit the module.
    """
    check_module(model)
    _check_options(options)
    args, named = _arguments(inputs, kwargs)
    options = [*options, *(word for each in (metadata or {}).items() for word in ("--metadata", "=".join(each)))]
    if forces is None and (stress or cutoff is not None or elements is not None):
        raise TypeError("stress, cutoff and elements are of force fields: say which argument has positions with forces=")
    if forces is not None:
        field = _force_field.force_field(
            model, args, named, positions=forces, stress=stress, cutoff=cutoff, elements=elements
        )
        model, args, named = field.model, (), field.kwargs
        options = [*options, *field.options()]
    if _containers.has_containers(args, named):
        layout = _containers.layout_of(args, named)
        model, args, named = (
            _containers.spreading(model, args, named, layout),
            tuple(_containers.spread(args, named, layout)),
            {},
        )
    _lazy.initialise(model, args, named)
    flags = compiler_options(model, pytree.tree_leaves((args, named)), Options(tuple(options)))
    if not gradient:
        flags.remove("--gradient")
    with alone():
        try:
            artifact = _export.build(model, args, named, flags, output=Path(path), arranges=True)
        except _arranged.Arrangement as found:
            artifact = _export_arranged(model, args, named, flags, Path(path), found)
    result = artifact.path
    conditions = [guard.text(artifact.leaf_names) for guard in artifact.guards if guard.decides()]
    if conditions:
        warnings.warn(
            f"'{path}' is right only for sizes as the example's, which decide branches of {type(model).__name__}: "
            f"{' and '.join(conditions)}",
            stacklevel=2,
        )
    found = Library(result).description
    tensors = dict(model.named_parameters(remove_duplicate=False)) | dict(model.named_buffers(remove_duplicate=False))
    apart = {name: tensors[name] for name in (*found.params, *found.states) if name not in found.embedded}
    if apart:
        numbers = {name: tensor.detach().cpu().numpy() for name, tensor in apart.items()}
        _safetensors.save(result.with_suffix(".safetensors"), numbers)
    return result


def _export_arranged(
    model: nn.Module,
    args: tuple[Any, ...],
    named: dict[str, Any],
    flags: Sequence[str],
    path: Path,
    found: _arranged.Arrangement,
) -> _export.Artifact:
    leaves, tree = pytree.tree_flatten((args, named))
    inner = _arranged.arranged(model, found, tree, keeps_signature=True)
    args, named = pytree.tree_unflatten(_arranged.to_front(leaves, found.arguments), tree)
    try:
        artifact = _export.build(inner, args, named, flags, output=path)
    except CompileError:
        return _export.build(model, *pytree.tree_unflatten(leaves, tree), flags, output=path)
    moved = [f"'{name}' (axis {axis})" for name, axis in zip(artifact.leaf_names, found.arguments) if axis]
    moved += [f"result {i} (axis {axis})" for i, axis in enumerate(found.results) if axis]
    warnings.warn(f"the axis of nodes comes first in '{path}', in {', '.join(moved)} too", stacklevel=3)
    return artifact
