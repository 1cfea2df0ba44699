# Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
# See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compiled modules as operators of PyTorch, for what traces Python: torch.compile, torch.export, make_fx.

`gnnc::call` runs a module by its number, on all leaves of its arguments that are tensors and on its parameters. It saves
nothing for its derivative `gnnc::pull_back`, which computes forward values again: an operator cannot keep a workspace.
"""

from __future__ import annotations

import itertools
import weakref
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from .._errors import Error
from . import _autograd

if TYPE_CHECKING:
    from ._module import Runner, Specialization

_modules: weakref.WeakValueDictionary[int, Runner] = weakref.WeakValueDictionary()
_numbers = itertools.count(1)


_CHANGED = "a traced program calls a compiled module that has changed since: trace it again"


def register(module: Runner) -> str:
    """The number by which operators find a module, as text: Dynamo takes an attribute that is an integer for one that
    varies, and text for a constant."""
    number = next(_numbers)
    _modules[number] = module
    return str(number)


def _find(number: int, place: int) -> Specialization:
    module = _modules.get(number)
    if module is None:
        raise Error("a traced program calls a compiled module that is gone")
    found = next((each for each in module.specializations if each.place == place), None)
    if found is None:
        raise Error(_CHANGED)
    return found


def _split(known: Specialization, tensors: Sequence[Tensor]) -> tuple[list[Any], list[Tensor]]:
    """Leaves with constants at their places, and parameters."""
    given = iter(tensors)
    leaves = [next(given) if dtype is not None else constant for dtype, constant in zip(known.types, known.constants)]
    return leaves, list(given)


@torch.library.custom_op("gnnc::call", mutates_args=())
def call(number: int, place: int, tensors: Sequence[Tensor]) -> list[Tensor]:
    known = _find(number, place)
    if not known.state.is_current():
        raise Error(_CHANGED)
    leaves, params = _split(known, tensors)
    bound = known.executor.bind(leaves)
    return known.executor.run_forward(bound, known.executor.operands(bound, leaves, params))


@torch.library.custom_op("gnnc::pull_back", mutates_args=())
def pull_back(
    number: int, place: int, tensors: Sequence[Tensor], cotangents: Sequence[Tensor], given: Sequence[int]
) -> list[Tensor]:
    """Gradients of all tensors that have one in the model; those of the others are empty. `given`: the numbers of the
    results that the cotangents are of."""
    known = _find(number, place)
    leaves, params = _split(known, tensors)
    executor = known.executor
    if executor.partials is not None:
        executor = executor.partials.of(frozenset(given))
    bound = executor.bind(leaves)
    operands = executor.operands(bound, leaves, params)
    halves = executor.halves(bound, [True] * len(operands))
    seeds: list[Tensor | None] = [None] * executor.num_outputs
    for i, cotangent in zip(given, cotangents):
        seeds[i] = cotangent
    gradients = _autograd.pull_back(executor, bound, halves, operands, seeds)
    found = dict(zip(_operand_places(known), gradients))
    result = []
    for i, tensor in enumerate(tensors):
        gradient = found.get(i)
        result.append(tensor.new_empty(0) if gradient is None else gradient.to(tensor.dtype).reshape(tensor.shape))
    return result


def _operand_places(known: Specialization) -> list[int]:
    """Of each operand its number in `tensors`."""
    places = {leaf: i for i, leaf in enumerate(i for i, dtype in enumerate(known.types) if dtype is not None)}
    values = [places[leaf] for leaf in known.executor.value_leaves]
    return values + list(range(len(places), len(places) + len(known.params)))


@call.register_fake
def _(number: int, place: int, tensors: Sequence[Tensor]) -> list[Tensor]:
    known = _find(number, place)
    leaves, _ = _split(known, tensors)
    device = next(tensor.device for tensor in tensors)
    extents = _symbolic_extents(known, leaves)
    result = []
    from ._executor import TYPES

    for value in known.executor.forward.outputs.values():
        shape: list[Any] = list(value.dims)
        if value.space is not None:
            extent = extents.get(value.space)
            shape.insert(0, extent if extent is not None else torch.library.get_ctx().new_dynamic_size())
        result.append(torch.empty(shape, dtype=TYPES[value.dtype], device=device))
    return result


def _symbolic_extents(known: Specialization, leaves: Sequence[Any]) -> dict[str, Any]:
    """Extents of the spaces that a leaf is on, as sizes of that leaf, which may be symbols."""
    executor = known.executor
    found: dict[str, Any] = {}
    leading = dict(zip(executor.value_leaves, executor.inputs(leaves)))
    for i in executor.value_leaves:
        value = executor.library.description.inputs[executor.leaf_names[i] or ""]
        if value.space is not None:
            found.setdefault(value.space, leading[i].shape[0])
    return executor.arguments.symbolic_extents(
        {name: leaf for name, leaf in zip(executor.leaf_names, leaves) if name}, found
    )


@pull_back.register_fake
def _(
    number: int, place: int, tensors: Sequence[Tensor], cotangents: Sequence[Tensor], given: Sequence[int]
) -> list[Tensor]:
    known = _find(number, place)
    result = [tensor.new_empty(0) for tensor in tensors]
    for i, name in zip(_operand_places(known), known.executor.gradient_names):
        if name is not None:
            result[i] = torch.empty_like(tensors[i], memory_format=torch.contiguous_format)
    return result


def _setup(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
    ctx.number, ctx.place, tensors = inputs
    ctx.set_materialize_grads(False)
    ctx.save_for_backward(*tensors)
    known = _find(ctx.number, ctx.place)
    wanted = [tensors[place].requires_grad for place in _operand_places(known)]
    ctx.mark_non_differentiable(*[output[i] for i in known.executor.constant_outputs(wanted)])


def _backward(ctx: Any, cotangents: Sequence[Tensor | None]) -> tuple[Any, ...]:
    given = [i for i, cotangent in enumerate(cotangents) if cotangent is not None]
    tensors = ctx.saved_tensors
    gradients = pull_back(
        ctx.number, ctx.place, tensors, [cotangent for cotangent in cotangents if cotangent is not None], given
    )
    known = _find(ctx.number, ctx.place)
    places = set(_operand_places(known))
    wanted = [i in places and tensor.requires_grad for i, tensor in enumerate(tensors)]
    return None, None, [gradient if want else None for gradient, want in zip(gradients, wanted)]


call.register_autograd(_backward, setup_context=_setup)


def traced(module: Runner, leaves: Sequence[Any], tree: Any) -> Any:
    """What a tracer sees of a call."""
    known = find(module, leaves, tree)
    if known.artifact.training:
        raise Error("dropout and buffers that change in training mode cannot be traced: call eval() first")
    if known.artifact.branches is not None:
        raise Error("branches on sizes that follow from numbers of the graph cannot be traced: call the module outside")
    if known.kept and not torch.compiler.is_dynamo_compiling():  # nothing but Dynamo traces what is assigned
        raise Error("tensors that a module keeps in attributes cannot be traced: return them")
    tensors = [leaf for leaf in leaves if isinstance(leaf, Tensor)] + known.parameters()
    result, values = known.results(call(int(module.handle), known.place, tensors), leaves, None)
    for (owner, name), value in zip(known.kept, values):
        setattr(owner, name, value)
    return result


@torch.compiler.assume_constant_result
def _is_current(number: int, place: int) -> bool:
    """For Dynamo, which cannot trace the comparison. Each call of the operator makes it again."""
    return _find(number, place).state.is_current()


def find(module: Runner, leaves: Sequence[Any], tree: Any) -> Specialization:
    for known in module.specializations:
        if known.accepts(leaves, tree) and known.state.is_in_mode():
            if _is_current(int(module.handle), known.place):
                return known
    raise Error("call the compiled module once, or compile it with example inputs, before it is traced")
