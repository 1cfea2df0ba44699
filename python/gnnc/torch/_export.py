# Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
# See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""From a module and example inputs to an object: torch.export, then the compiler.

Which sizes may differ from call to call is not for the user to say. Dimension 0 of floats, truth values and lists of
integers is one, and dimension 1 of an index [2, E]. Each gets a name of its own; where torch finds that two must be
equal, or that one is fixed, it says so, and the export is tried again with that: of floats whose dimension 0 is fixed
the next one is tried (`_arranged.py` brings it to the front). `torch._dynamo.mark_dynamic(x, 1)` says which one it is.
"""

from __future__ import annotations

import contextlib
import inspect
import io
import logging
import math
import os
import re
import tempfile
import warnings
import weakref
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch._subclasses.fake_tensor import FakeTensor
from torch.export import Dim, ExportedProgram
from torch.export.graph_signature import InputKind, OutputKind, TensorArgument
from torch.utils import _pytree as pytree
from torch.utils.checkpoint import CheckpointFunction

from .. import _compiler
from .._errors import CompileError, Error
from ._arranged import Arranged, Arrangement, check_arrangement
from ._assigned import add_copies, assigning
from ._branches import ATTEMPTS, Branches, Sides, branches_of, settle_agreeing_sides, traced_sides
from ._checkpoints import without_checkpoints
from ._effects import (
    address_of,
    check_hooks,
    left_out,
    memory_of,
    own_error,
    unseen_writes,
    watched_trace,
    written_nodes,
)
from ._exportable import exportable_forms
from ._fused_cells import shapes_of_cells
from ._graph_results import GraphResults
from ._grids import Size, sizes_of_results
from ._guards import UNBOUNDED, Guard, guards_of, range_of_number
from ._integers import IntegerResults, take_integers
from ._kept import Keeping, Kept, KeptAxes, KeptTensors, check_kept_axes, keeping, reads_of_wrapped
from ._nothing import leave_out_nothing
from ._reach import reached_by_gradients
from ._reads import Reads, members_of
from ._reasons import about_sparse, deciding, reason_of
from ._result_names import name_results
from ._scripts import interpreted_scripts
from ._sparse import buffers_of, in_place_of
from ._thread_patches import ThreadPatch
from ._training import Training, make_functional

#: How often torch may ask for other sizes before we give up.
_ATTEMPTS = 6


@dataclass
class Artifact:
    """A compiled module: the object, and how a call's arguments and results go with it."""

    path: Path
    leaf_names: list[str | None]  #: of each leaf of (args, kwargs), the name in the program
    fixed: list[tuple[int, int, int]]  #: sizes that are compiled in: leaf, dimension, size
    bounds: list[tuple[int, int, int, float]]  #: of sizes that a branch depends on: leaf, dimension, least, largest
    outputs: list[int | None]  #: of each leaf of the result, the number of the model's output; None: it has none
    output_types: dict[int, torch.dtype]  #: of leaves of the result that have another type than the model's outputs
    output_tree: Any  #: torch's TreeSpec of the result
    given_back: dict[int, int]  #: leaves of the result that are leaves of the arguments; others without an output: None
    constants: dict[int, object]  #: leaves of the result that are the same in each call; others without an output: None
    graph_results: GraphResults | None  #: leaves of the result that PyTorch computes; others without an output: None
    reached: list[frozenset[str]]  #: of each output that the module returns, the operands that have a gradient from it
    #: Parameters and buffers of integers or truth values that are read, and sparse buffers: their numbers are compiled in.
    integers: list[str]
    guards: list[Guard]  #: of sizes that a branch compares with each other
    reads: Reads  #: what the trace has read of Python's state
    training: Training = field(default_factory=Training)  #: what a call does besides computing
    branches: Branches | None = None  #: on sizes that follow from numbers of the graph
    ranks: list[int] = field(default_factory=list)  #: of each leaf, its number of axes
    sizes: list[list[Size]] = field(default_factory=list)  #: of each leaf of the result
    #: Attributes that a call assigns. The program's result is the module's and a list of their values.
    kept: Kept = field(default_factory=Kept)


def dynamic_dimension(leaf: Any) -> int | None:
    """The dimension of a leaf that differs from call to call."""
    if not isinstance(leaf, Tensor) or leaf.dim() == 0:
        return None
    marked = getattr(leaf, "_dynamo_dynamic_indices", None)
    if marked and leaf.dtype.is_floating_point:
        return min(marked)
    is_index = not leaf.dtype.is_floating_point and leaf.dtype is not torch.bool
    return 1 if is_index and leaf.dim() == 2 and leaf.shape[0] == 2 else 0


def _is_grid(leaf: Any) -> bool:
    return isinstance(leaf, Tensor) and leaf.dtype.is_floating_point and leaf.dim() > 2


def small_sizes(leaves: Sequence[Any]) -> list[int]:
    """Leaves with a size that may differ, which torch takes for a constant."""
    dimensions = [dynamic_dimension(leaf) for leaf in leaves]
    return [i for i, dimension in enumerate(dimensions) if dimension is not None and leaves[i].shape[dimension] < 2]


def _dimensions(
    leaves: Sequence[Any], inner: bool, held: frozenset[int], elements: frozenset[int] | None = None
) -> list[dict[int, Any] | None]:
    result: list[dict[int, Any] | None] = []
    for i, leaf in enumerate(leaves):
        dimension = None if i in held else dynamic_dimension(leaf)
        if inner and dimension == 0 and leaf.dtype.is_floating_point and leaf.dim() > 2:
            dimension = 1
        # torch takes sizes of 0 and 1 for constants: such a size is fixed here too, and said so where it matters.
        named = dimension is not None and leaf.shape[dimension] > 1
        result.append({dimension: Dim(f"size_{i}", min=2)} if named and dimension is not None else None)
    if elements is not None:
        _free(result, leaves, held, elements)
    return result


def _free(
    dimensions: list[dict[int, Any] | None], leaves: Sequence[Any], held: frozenset[int], elements: frozenset[int]
) -> None:
    """Frees further axes of elements: those whose sizes are known to be such, else the second of three."""
    tensors = {i: leaf for i, leaf in enumerate(leaves) if isinstance(leaf, Tensor) and i not in held}
    floats = [leaf for leaf in tensors.values() if leaf.dtype.is_floating_point and leaf.dim() > 2]
    sizes = elements or frozenset(leaf.shape[1] for leaf in floats)
    for i, leaf in tensors.items():
        is_edges = not leaf.dtype.is_floating_point and leaf.dim() == 2 and leaf.shape[0] == 2
        if leaf.dim() < 2 or is_edges:
            continue
        for d in range(1, leaf.dim()):
            is_feature = d + 1 == leaf.dim() and leaf.shape[d] in leaf.shape[:d]
            if leaf.shape[d] in sizes and leaf.shape[d] > 1 and not is_feature:
                dimensions[i] = {**(dimensions[i] or {}), d: Dim.AUTO}


def _marked(copy: Tensor, leaf: Tensor) -> Tensor:
    """With what is said of the other, besides its numbers."""
    for name in ("_dynamo_dynamic_indices", "_gnnc_is_size"):
        if hasattr(leaf, name):
            setattr(copy, name, getattr(leaf, name))
    return copy.requires_grad_(leaf.requires_grad)


def _apart(model: nn.Module, leaves: Sequence[Any]) -> list[Any]:
    """With a tensor of its own for each argument: torch.export treats aliased arguments as permanently aliased, and an
    argument that the module has too as the module's. Integers are contiguous: of part of a wider list it would bound the
    number of edges by that list's."""
    seen: set[int] = set()
    own = memory_of(model)
    result = []
    for leaf in leaves:
        if isinstance(leaf, Tensor):
            if address_of(leaf) in own:
                leaf = _marked(leaf.detach().clone(), leaf)
            elif leaf.layout is torch.strided and not leaf.is_floating_point() and not leaf.is_contiguous():
                leaf = _marked(leaf.detach().contiguous(), leaf)
            elif id(leaf) in seen:
                leaf = _marked(leaf.detach(), leaf)
        seen.add(id(leaf))
        result.append(leaf)
    return result


@contextlib.contextmanager
def _quietly() -> Iterator[None]:
    """torch.export logs and warns of what is tried again here."""
    loggers = [
        logging.getLogger(name)
        for name in (
            "torch.export",
            "torch._dynamo",
            "torch.fx.experimental",
            "torch._subclasses",
            "torch._export",
            "torch._guards",
        )
    ]
    levels = [logger.level for logger in loggers]
    # The graph up to what it could not trace goes to standard error by itself.
    with warnings.catch_warnings(), contextlib.redirect_stderr(io.StringIO()):
        warnings.simplefilter("ignore")
        try:
            for logger in loggers:
                logger.setLevel(logging.CRITICAL)
            yield
        finally:
            for logger, level in zip(loggers, levels):
                logger.setLevel(level)


_exports = 0


def is_exporting() -> bool:
    """Whether a module is being exported to be compiled: compiled modules in it are then what they were compiled from."""
    return _exports > 0


@contextlib.contextmanager
def _exporting() -> Iterator[None]:
    """Also without hooks on saved tensors: torch.utils.checkpoint, say, would count those of a trace."""
    global _exports
    hooks = []
    while hooks_of_caller := torch._C._autograd._top_saved_tensors_default_hooks(True):
        hooks.append(hooks_of_caller)
        torch._C._autograd._pop_saved_tensors_default_hooks()
    _exports += 1
    try:
        yield
    finally:
        _exports -= 1
        for each in reversed(hooks):
            torch._C._autograd._push_saved_tensors_default_hooks(*each)


def _refuse_function(cls: type, *args: Any, **_: Any) -> Any:
    if cls is CheckpointFunction:  # memory is what it saves, and no more
        function, _, *rest = args
        return function(*rest)
    raise Error(f"'{cls.__name__}' is an autograd.Function, whose derivative is not exported")


#: Without Dynamo torch.export takes what an autograd.Function computes as a constant: its derivative would be lost.
_FUNCTIONS = ThreadPatch(torch.autograd.Function, "apply", _refuse_function)
#: torch writes down the modules that it meets, and what they say of themselves may format numbers, which are none then.
_WORDS = ThreadPatch(nn.Module, "__repr__", lambda module: module._get_name())


@contextlib.contextmanager
def _without_heuristics() -> Iterator[None]:
    """PyTorch Geometric chooses by sizes between two ways to multiply by each relation's weight."""
    try:
        import torch_geometric.backend as backend  # type: ignore[import-untyped]
    except ImportError:
        yield
        return
    before = backend.use_segment_matmul
    backend.use_segment_matmul = False
    try:
        yield
    finally:
        backend.use_segment_matmul = before


@contextlib.contextmanager
def _as_parameters(model: nn.Module) -> Iterator[None]:
    """torch.func.functional_call puts other tensors where parameters were, which torch.export does not take for such."""
    replaced = []
    for each in members_of(model):
        for name, tensor in each._parameters.items():
            if tensor is not None and not isinstance(tensor, nn.Parameter):
                replaced.append((each._parameters, name, tensor))
    made: dict[int, nn.Parameter] = {}
    for owner, name, tensor in replaced:
        owner[name] = made.setdefault(id(tensor), nn.Parameter(tensor.detach(), requires_grad=tensor.requires_grad))
    try:
        yield
    finally:
        for owner, name, tensor in replaced:
            owner[name] = tensor  # type: ignore[assignment]


def export_program(
    model: nn.Module,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    *,
    moves: bool = False,
    inner: bool = False,
    reads: Reads | None = None,
    held: frozenset[int] = frozenset(),
) -> ExportedProgram:
    """The module as an exported program with sizes that may differ: without Dynamo, and if that fails with it. `moves`:
    another dimension than the first may differ too. `inner`: of floats with three dimensions it is the second. `reads`: is
    told what the trace reads of Python's state. `held`: leaves whose sizes are all compiled in. Raises Error."""
    with interpreted_scripts(model):
        return _exported(model, args, kwargs, moves, Reads() if reads is None else reads, held, inner)[0]


@dataclass
class _Way:
    """How a module is exported."""

    strict: bool  #: with Dynamo
    #: Sizes that the module divides, as `x.view(-1, 4, 3)` does, are multiples, where torch suggests that; else any.
    multiples: bool = False
    has_multiples: bool = False  #: torch has suggested it


_WITHOUT, _WITH = _Way(False), _Way(True)


def _exported(
    model: nn.Module,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    moves: bool,
    reads: Reads,
    held: frozenset[int],
    inner: bool = False,
    ways: Sequence[_Way] = (_WITHOUT, _WITH),
    sides: Sides | None = None,
    elements: frozenset[int] | None = None,
) -> tuple[ExportedProgram, _Way]:
    """The same, and how. `ways`: what is tried, in this order. `sides`: of branches on sizes that depend on numbers,
    those to trace; None: such branches are refused."""
    check_hooks(model)
    failures: list[Exception] = []
    tries = [(replace(way), moves) for way in ways]
    while tries:
        way, moving = tries.pop(0)
        strict = way.strict
        if sides is not None:
            sides.turned = ()
        leaves, tree = pytree.tree_flatten((args, kwargs))
        leaves = _apart(model, leaves)
        args, kwargs = pytree.tree_unflatten(leaves, tree)
        dimensions = first = _tied(_dimensions(leaves, inner, held, elements), leaves, _ties_of(model, leaves))
        for attempt in range(_ATTEMPTS):
            shapes_args, shapes_kwargs = pytree.tree_unflatten(dimensions, tree)
            shapes = _by_name(model, shapes_args, shapes_kwargs)
            try:
                forms = exportable_forms(strict)
                functions = contextlib.nullcontext() if strict else _FUNCTIONS.active()
                watch = contextlib.nullcontext() if strict else watched_trace(model, reads, args, kwargs)
                ours = (
                    without_checkpoints(),
                    traced_sides(sides),
                    _as_parameters(model),
                    _keeping_tensors(model),
                    in_place_of(model),
                    _WORDS.active(),
                    shapes_of_cells(),
                )
                with _quietly(), _without_heuristics(), forms, _exporting(), functions, contextlib.ExitStack() as stack:
                    with watch as seen:
                        for each in ours:
                            stack.enter_context(each)
                        program = torch.export.export(model, args, kwargs or None, dynamic_shapes=shapes, strict=strict)
                    if strict:
                        reads.everything = True
                        assigned = unseen_writes(model, args, kwargs, program)
                    else:
                        assigned = left_out(model, seen, program)
                    if assigned:
                        more = assigning(model, assigned)
                        again = contextlib.nullcontext() if strict else watched_trace(model, Reads(), args, kwargs)
                        with again:
                            program = torch.export.export(
                                more, args, kwargs or None, dynamic_shapes=shapes, strict=strict
                            )
                        add_copies(program, assigned)
                return program, way
            except Error:
                raise  # Dynamo would take it
            except Exception as error:
                failures.append(error)
                refined = _refined(str(error), dimensions, leaves, moving, way)
                if refined is None:
                    if sides is None or not sides.turn():
                        break
                    failures.pop()  # of a side that the example does not take, or it raises that itself
                    continue
                _ties_of(model, leaves).update(_equalities(dimensions, refined))
                dimensions = refined
                if attempt + 1 < _ATTEMPTS:
                    failures.pop()
        if any(set(now or {}) - set(before or {}) for now, before in zip(dimensions, first)):
            tries.insert(0, (way, False))  # no other dimension may differ: all sizes of that argument are compiled in
    error = own_error(model, args, kwargs)
    # torch.export says the same in symbols; but a search that needs a library is none in the exported module.
    if isinstance(error, Error):
        raise Error(f"{type(model).__name__}: {error}") from error
    if error is not None and not isinstance(error, ImportError):
        raise Error(f"{type(model).__name__} itself raises {type(error).__name__}: {error}") from error
    failure = deciding(failures)
    reason = reason_of(failure) + about_sparse(model, pytree.tree_leaves((args, kwargs)))
    raise Error(f"torch.export cannot export {type(model).__name__}: {reason}") from failure


@contextlib.contextmanager
def _keeping_tensors(model: nn.Module) -> Iterator[None]:
    """A module's own tensors afterwards, where torch leaves those without numbers that it traces with: it exchanges them
    under each of their names, and puts back what it found under the second where two modules have one dict of parameters, as
    a wrapper and what it wraps have."""
    dicts = [own for module in model.modules() for own in (module._parameters, module._buffers)]
    before = [dict(own) for own in dicts]
    try:
        yield
    finally:
        for own, tensors in zip(dicts, before):
            for name, tensor in tensors.items():
                if isinstance(own.get(name), FakeTensor) and not isinstance(tensor, FakeTensor):
                    own[name] = tensor


#: Sizes of a module's arguments that are equal, as pairs of a leaf and a dimension: found by a failure of torch.export,
#: which takes as long as an export that succeeds, and true for every way to export it with such arguments.
_Ties = dict[tuple[int, int], tuple[int, int]]
_ties: weakref.WeakKeyDictionary[nn.Module, dict[Any, _Ties]] = weakref.WeakKeyDictionary()


def _ties_of(model: nn.Module, leaves: Sequence[Any]) -> _Ties:
    module = model
    while isinstance(module, (Arranged, Keeping)):  # whose leaves are in the same places
        module = module.__dict__["_gnnc_wrapped"]
    kinds = [(leaf.dtype, leaf.dim()) if isinstance(leaf, Tensor) else None for leaf in leaves]
    return _ties.setdefault(module, {}).setdefault(tuple(kinds), {})


def _equalities(before: Sequence[dict[int, Any] | None], after: Sequence[dict[int, Any] | None]) -> _Ties:
    """Sizes that have the name of another's since."""
    own = {dim.__name__: (i, d) for i, dims in enumerate(before) for d, dim in (dims or {}).items() if dim is not Dim.AUTO}
    found = {}
    for i, dims in enumerate(after):
        for d, dim in (dims or {}).items():
            other = own.get(getattr(dim, "__name__", ""), (i, d))
            if other != (i, d) and d in (before[i] or {}):
                found[i, d] = other
    return found


def _tied(
    dimensions: list[dict[int, Any] | None], leaves: Sequence[Any], ties: _Ties
) -> list[dict[int, Any] | None]:
    """Other arguments of the same kinds may be given in the places of those that were tied: they differ in size."""
    for (i, d), (j, e) in ties.items():
        own, other = dimensions[i], dimensions[j]
        if own and other and d in own and e in other and leaves[i].shape[d] == leaves[j].shape[e]:
            own[d] = other[e]
    return dimensions


def _by_name(model: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
    """The form that torch takes for any signature: by the names of parameters, those with a star too."""
    return dict(inspect.signature(model.forward).bind(*args, **kwargs).arguments)


def _refined(
    message: str, dimensions: list[dict[int, Any] | None], leaves: Sequence[Any], moves: bool, way: _Way
) -> list[dict[int, Any] | None] | None:
    """Sizes as torch suggests: `size_1 = size_0`, `size_1 = size_0 + 1`, `size_2 = 16` for a size that is fixed, or bounds,
    as of row pointers, of which there are two at least for any segment. `moves`: another dimension may differ then.
    None: no suggestion."""
    moving = leaves if moves else None
    _, found, suggestions = message.partition("Suggested fixes:")
    changes: dict[str, str] = {}
    for line in suggestions.splitlines():
        name, equals, value = line.strip().partition(" = ")
        if equals and name.startswith("size_"):
            changes[name] = value.strip()
    known = {dim.__name__: dim for each in dimensions for dim in (each or {}).values() if dim is not Dim.AUTO}
    for number, divisor, name in re.findall(r"for (\d+)/(\d+) <= (size_\d+)", message):  # a bound that torch cannot write
        changes[name] = f"Dim('{name}', min={math.ceil(int(number) / int(divisor))})"
    if not found:  # a guard that excludes a size, for which torch suggests nothing: that and all on its other side
        examples = {
            dim.__name__: leaves[i].shape[d]
            for i, each in enumerate(dimensions)
            for d, dim in (each or {}).items()
            if dim is not Dim.AUTO
        }
        excluded = r"Not all values of (size_\d+) = .* the generated guard L\[[^/%*+]*\]\.size\(\)\[\d+\] != (\d+)"
        for name, number in re.findall(excluded, message):
            size = int(number)
            least, most = known[name].min, known[name].max
            if name in examples and examples[name] < size:
                most = min(most, size - 1)
            else:
                least = max(least, size) + 1
            changes[name] = f"Dim('{name}', min={least}, max={most})"
    result: list[dict[int, Any] | None] = []
    changed = False
    for name, value in changes.items():
        if value.startswith("Dim(") and name in known:
            bounds = {kind: int(number) for kind, number in re.findall(r"\b(min|max)=(\d+)", value)}
            bounds["min"] = max(bounds.get("min", 2), known[name].min)
            if bounds.get("max", bounds["min"] + 1) <= bounds["min"]:  # one size is left
                changes[name] = str(bounds["min"])
                continue
            new_dim = Dim(name, **bounds)
            changed |= (new_dim.min, new_dim.max) != (known[name].min, known[name].max)
            known[name] = new_dim

    def later(i: int, dimension: int) -> list[int]:
        """The dimension of a leaf that may differ instead of one that is fixed."""
        if moving is None or not moving[i].dtype.is_floating_point:
            return []
        return [d for d in range(dimension + 1, moving[i].dim()) if moving[i].shape[d] > 1][:1]

    fixed = [
        (i, dimension)
        for i, dims in enumerate(dimensions)
        for dimension, dim in (dims or {}).items()
        if dim is not Dim.AUTO and changes.get(dim.__name__, "").isdigit()
    ]
    # What is fixed by a dimension that may differ from now on is free again: torch says so if it is not.
    moves = any(later(i, dimension) for i, dimension in fixed)
    for i, dims in enumerate(dimensions):
        new: dict[int, Any] = {}
        for dimension, dim in (dims or {}).items():
            if dim is Dim.AUTO:
                new[dimension] = dim
                continue
            value = changes.get(dim.__name__, "Dim()")
            if value.startswith("Dim(") or (moves and value.isdigit() and not later(i, dimension)):
                new[dimension] = known[dim.__name__]
                continue
            changed = True
            related = re.fullmatch(r"(?:(\d+) ?\* ?)?([A-Za-z_]\w*)(?: ([+-]) (\d+))?", value)
            if related and related[2] == f"_{dim.__name__}" and not way.multiples:
                # Sizes as odd or even as the example's, where half of them are taken. Left alone, torch asks for less.
                way.has_multiples = True
                new[dimension] = Dim.AUTO
            elif value.isidentifier():
                new[dimension] = known.setdefault(value, Dim(value, min=2))
            elif related:  # the row pointers of size_0 rows: size_0 + 1
                factor, name, sign, number = related.groups()
                new[dimension] = int(factor or 1) * known.setdefault(name, Dim(name, min=2))
                if number:
                    new[dimension] += int(sign + number)
            elif value.isdigit():
                new |= {d: Dim(f"size_{i}", min=2) for d in later(i, dimension)}
            # Otherwise it is a number: no name, so the example's size is compiled in.
        result.append(new or None)
    if changed:
        return result
    # What torch has no words for, such as `n % 2 != 0` or `n * n <= 50`: left alone it asks for less, and guards say it.
    refused = set(re.findall(r"Not all values of (size_\d+) ", message))
    result = [
        dims and {d: Dim.AUTO if getattr(dim, "__name__", "") in refused else dim for d, dim in dims.items()}
        for dims in dimensions
    ]
    return result if result != dimensions else None


def build(
    model: nn.Module,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    options: Sequence[str],
    *,
    output: Path | None = None,
    progress: bool | None = None,
    trains: bool = False,
    arranges: bool = False,
    held: frozenset[int] = frozenset(),
    sides: Sides | None = None,
    keeps: bool = False,
) -> Artifact:
    """Exports and compiles. Without `output` the object is one of the cache's, which has no weights that count. `trains`:
    whoever calls it draws random numbers and updates running statistics. `arranges`: and brings axes to the front, if an Arrangement
    is raised. `held`: leaves whose sizes are all compiled in. `sides`: whoever calls it looks which sides branches
    take; those that are known already are not the example's. `keeps`: and assigns what the module keeps in attributes."""
    given = (args, kwargs, options, output, progress, trains, arranges, held, sides)
    try:
        return _build_with_axes(model, *given)
    except KeptTensors as found:
        if not keeps and not trains:
            raise Error(f"{found.what}, where an object has no attributes: return it") from None
        if not keeps:
            raise
        kept = Kept(found.places)
    try:
        result = _build_with_axes(keeping(model, kept), *given)
    except KeptAxes as moved:
        kept.axes = moved.axes
        result = _build_with_axes(keeping(model, kept), *given)
    result.kept = kept
    return result


def _build_with_axes(
    model: nn.Module,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    options: Sequence[str],
    output: Path | None,
    progress: bool | None,
    trains: bool,
    arranges: bool,
    held: frozenset[int],
    sides: Sides | None,
) -> Artifact:
    """Tries which axes of arguments are of elements, and then how a module is traced."""
    given = (model, args, kwargs, options, output, progress, trains, arranges, held, sides)
    if any(_is_grid(leaf) for leaf in pytree.tree_leaves((args, kwargs))):
        try:
            return _build(model, args, kwargs, [*options, "--one-axis"], *given[4:])
        except CompileError as refusal:
            found = re.search("note: axes of elements: ([0-9, ]*)", refusal.details)
            elements = frozenset(map(int, found[1].split(","))) if found else frozenset()
            try:
                return _build(*given, elements=elements)
            except Error:
                pass  # with one axis of elements, or for the first reason
    try:
        return _build(*given)
    except CompileError as refusal:
        if arranges:
            _find_arrangement(model, args, kwargs, held, refusal)
        if not isinstance(refusal, _NotImported):
            raise
        # Dynamo leaves sizes free that torch.export takes for constants without it, such as `len(x)`.
        others = [_Way(False, multiples=True)] if refusal.way.has_multiples else []
        for way in (*others, _WITH):
            try:
                return _build(*given, ways=(way,))
            except Error:
                pass
        raise CompileError(str(refusal), refusal.details) from None


def _find_arrangement(
    model: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any], held: frozenset[int], refusal: CompileError
) -> None:
    """Several graphs of the same nodes, x of [batch, nodes, features], are refused if the batch is what differs: raises an
    Arrangement if it may be the nodes."""
    if not any(isinstance(leaf, Tensor) and leaf.dim() > 2 for leaf in pytree.tree_leaves((args, kwargs))):
        return
    try:
        program = export_program(model, args, kwargs, moves=True, inner=True, held=held)
        take_integers(program, by_calls=True)
        check_arrangement(program)
    except Arrangement as found:
        found.refusal = refusal
        raise
    except Error:
        pass


class _NotImported(CompileError):
    """The compiler refused what was exported without Dynamo."""

    way = _WITHOUT


def _build(
    model: nn.Module,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    options: Sequence[str],
    output: Path | None,
    progress: bool | None,
    trains: bool,
    arranges: bool,
    held: frozenset[int],
    sides: Sides | None,
    ways: Sequence[_Way] = (_WITHOUT, _WITH),
    elements: frozenset[int] | None = None,
) -> Artifact:
    program, way, reads, branches = _with_branches(model, args, kwargs, arranges, held, sides, ways, elements)
    if branches is not None:
        leave_out_nothing(program, branches)
    integers = take_integers(program, by_calls=trains)
    if isinstance(model, Keeping):
        check_kept_axes(program)
    if arranges:
        check_arrangement(program)
    training = make_functional(program) if trains else Training()
    check_effects(program, trains)
    if not any(isinstance(each, torch.fx.Node) for each in program.graph.output_node().args[0]):
        raise CompileError("forward returns nothing that compiled code would compute")
    options = [*options, "--keep-axes"]  # whoever calls it knows which have moved
    folder = tempfile.mkdtemp(prefix="gnnc-")
    source = Path(folder) / f"{type(model).__name__}.pt2"
    try:
        if output is not None:
            name_results(program)
        with _quietly():
            program._example_inputs = None  # they may be large, and nobody reads them
            try:
                with _flat(program):
                    torch.export.save(program, source)
            except Exception as error:
                name = type(model).__name__
                reason = reason_of(error) + about_sparse(model, pytree.tree_leaves((args, kwargs)))
                raise Error(f"torch.export cannot save {name}: {reason}") from error
        if output is None:
            path = _compiler.compile_cached(source, options, numbers=_numbers(program), progress=progress)
        else:
            _compiler.run_compiler(source, output, options)
            path = output
    except CompileError as error:
        # The file is gone when anybody reads this.
        refusal = (CompileError if way.strict else _NotImported)(str(error).replace(f"'{source}': ", "", 1), error.details)
        if isinstance(refusal, _NotImported):
            refusal.way = way
        raise refusal from None
    finally:
        source.unlink(missing_ok=True)
        os.rmdir(folder)
    sized = {i for i, leaf in enumerate(pytree.tree_leaves((args, kwargs))) if hasattr(leaf, "_gnnc_is_size")}
    if isinstance(model, Keeping):
        reads = reads_of_wrapped(reads, model)
    artifact = describe(program, path, training, integers, reads, sized)
    artifact.branches = branches
    artifact.integers += buffers_of(model)
    return artifact


def _with_branches(
    model: nn.Module,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    arranges: bool,
    held: frozenset[int],
    sides: Sides | None,
    ways: Sequence[_Way],
    elements: frozenset[int] | None,
) -> tuple[ExportedProgram, _Way, Reads, Branches | None]:
    """The program, how it was traced, what it reads of Python, and its branches: those of the example, unless
    other sides are known. `sides`: None refuses them."""
    name, leaves = type(model).__name__, pytree.tree_leaves((args, kwargs))
    wanted = Sides(() if sides is None else sides.known)
    before: Sides | None = None  # those of special cases, in the place of which others are tried
    attempt = 0
    while attempt < ATTEMPTS:
        reads = Reads()
        try:
            with interpreted_scripts(model):
                program, way = _exported(
                    model, args, kwargs, arranges, reads, held, ways=ways, sides=wanted, elements=elements
                )
        except Error:  # the module raises it on the other side
            if before is None:
                raise
            raise before.refusal(name) from None
        if wanted.taken:

            def other(turned: Sides) -> ExportedProgram:
                with interpreted_scripts(model):
                    return _exported(
                        model, args, kwargs, arranges, Reads(), held, ways=[way], sides=turned, elements=elements
                    )[0]

            general = settle_agreeing_sides(program, wanted, model, leaves, other)
            if general is not None:
                before, wanted = wanted, general
                continue
        attempt += 1
        branches = branches_of(program, wanted, name)
        if branches is not None and sides is None:
            break
        if branches is None or (sides is not None and sides.known):
            return program, way, reads, branches
        buffers = dict(model.named_buffers(remove_duplicate=False))
        found = branches.sides(leaves, [buffers[buffer] for buffer in branches.buffers])
        taken = tuple(side for _, side in branches.expressions)
        if found == taken:
            return program, way, reads, branches
        if found is None:
            break
        first = next(i for i, (one, other) in enumerate(zip(found, taken)) if one != other)
        # Behind a side that was not taken others may follow, but mostly they are the same.
        wanted = Sides(found if attempt < 3 else found[: first + 1])
    raise wanted.refusal(name)


def sides_of(artifact: Artifact) -> Sides | None:
    """To export a module again for arguments without numbers."""
    branches = artifact.branches
    return None if branches is None else Sides([side for _, side in branches.expressions])


@contextlib.contextmanager
def _flat(program: ExportedProgram) -> Iterator[None]:
    """A program whose arguments and results are lists: torch saves no named tuples, and the compiler reads leaves."""
    signatures = [entry.signature for entry in program.module_call_graph if entry.fqn == "" and entry.signature]
    before = [(signature, signature.in_spec, signature.out_spec) for signature in signatures]
    for signature in signatures:
        leaves = [0] * signature.in_spec.num_leaves
        signature.in_spec = pytree.tree_structure((tuple(leaves), {}))
        signature.out_spec = pytree.tree_structure([0] * signature.out_spec.num_leaves)
    try:
        yield
    finally:
        for signature, in_spec, out_spec in before:
            signature.in_spec, signature.out_spec = in_spec, out_spec


def check_effects(program: ExportedProgram, trains: bool) -> None:
    """Refuses modules that change their arguments, and buffers that have not become results: compiled code gives
    results and nothing else."""
    signature = program.graph_signature
    names = {spec.arg.name: spec.target for spec in signature.input_specs if isinstance(spec.arg, TensorArgument)}
    for value in written_nodes(program.graph.nodes):
        if value.op != "placeholder":
            continue
        target = names.get(value.name)
        if target is not None:
            why = "integers, of which compiled code makes floats" if trains else "which an exported object does not"
            raise CompileError(
                f"the module changes its buffer '{target}' (running statistics in training mode, for example), {why}: "
                "compile it after eval(), or use gnnc.optimize, which leaves such modules to PyTorch"
            )
        raise CompileError(f"the module changes its argument '{value.name}' in place: change a clone instead")


def _integers(program: ExportedProgram) -> list[str]:
    """Parameters and buffers of integers or truth values that the program reads."""
    read = {node.name: node.meta["val"] for node in program.graph.nodes if node.op == "placeholder" and node.users}
    return [
        str(spec.target)
        for spec in program.graph_signature.input_specs
        if spec.kind in (InputKind.PARAMETER, InputKind.BUFFER)
        and spec.arg.name in read
        and not read[spec.arg.name].is_floating_point()
    ]


def _numbers(program: ExportedProgram) -> bytes:
    """The numbers of these."""
    tensors = {**program.constants, **program.state_dict}
    return b"".join(tensors[name].detach().cpu().contiguous().numpy().tobytes() for name in _integers(program))


def _bound(program: ExportedProgram, size: torch.SymInt) -> tuple[int, float] | None:
    """The least and the largest size for which the module takes the branches that were exported; None: any. torch says
    of every size that it is not 0 or 1, and so of row pointers that they are more than two: those bounds are not the
    module's."""
    known = program.range_constraints.get(size.node.expr)
    if known is None:
        return None
    least = int(known.lower) if known.lower.is_Integer and known.lower > 3 else 0
    largest = int(known.upper) if known.upper.is_Integer and known.upper < UNBOUNDED else math.inf
    return None if least == 0 and largest == math.inf else (least, largest)


def _name_of_input(program: ExportedProgram, name: str) -> str:
    """What the compiler calls an argument: another name where a parameter or buffer of floats is called so."""
    specs = program.graph_signature.input_specs
    tensors = {**program.constants, **program.state_dict}
    stored = {spec.target for spec in specs if spec.target in tensors and tensors[spec.target].is_floating_point()}
    if name not in stored:
        return name
    given = {spec.arg.name for spec in specs}
    name += "_input"
    while name in stored or name in given:
        name += "_input"
    return name


def _is_float(dtype: torch.dtype | None) -> bool:
    return dtype is None or dtype.is_floating_point


def describe(
    program: ExportedProgram,
    path: Path,
    training: Training,
    integers: IntegerResults,
    reads: Reads,
    sized: set[int],
) -> Artifact:
    """What goes where, from the program's signature. `sized`: leaves that stand for integers of Python."""
    leaf_names: list[str | None] = []
    fixed: list[tuple[int, int, int]] = []
    bounds: list[tuple[int, int, int, float]] = []
    names: dict[str, str] = {}  # of what the program is given, as the model has them
    given: list[Any] = []  # of each leaf, its example
    values = {node.name: node.meta.get("val") for node in program.graph.nodes}
    for spec in program.graph_signature.input_specs:
        if spec.kind in (InputKind.PARAMETER, InputKind.BUFFER):
            names[spec.arg.name] = str(spec.target)
        if spec.kind is not InputKind.USER_INPUT or spec.arg.name in training.draws:
            continue
        if isinstance(spec.arg, TensorArgument):
            tensor = values[spec.arg.name]
            for d, size in enumerate(tensor.shape):
                if isinstance(size, int):
                    fixed.append((len(leaf_names), d, size))
                elif len(leaf_names) in sized:
                    found = range_of_number(program, size)
                    if found is None:
                        fixed.append((len(leaf_names), d, size.node.hint))
                    else:
                        bounds.append((len(leaf_names), d, *found))
                elif (bound := _bound(program, size)) is not None:
                    bounds.append((len(leaf_names), d, *bound))
            names[spec.arg.name] = _name_of_input(program, spec.arg.name)
            leaf_names.append(names[spec.arg.name])
            given.append(tensor)
        else:
            leaf_names.append(None)
            given.append(None)
    outputs: list[int | None] = []
    count = 0
    for output in program.graph_signature.output_specs:
        if output.kind is OutputKind.USER_OUTPUT:
            is_tensor = isinstance(output.arg, TensorArgument)
            outputs.append(count if is_tensor else None)
            count += is_tensor
        else:
            raise CompileError(f"the module changes '{output.target}': return it instead")
    del outputs[len(outputs) - training.num_outputs :]
    tree = program.call_spec.out_spec
    types = {i: dtype for i, dtype in enumerate(integers.types) if dtype is not None}
    reached = [
        frozenset(names[each] for each in found if each in names) if _is_float(types.get(i)) else frozenset()
        for i, found in enumerate(reached_by_gradients(program)[: len(outputs)])
        if outputs[i] is not None
    ]
    return Artifact(
        path,
        leaf_names,
        fixed,
        bounds,
        outputs,
        types,
        tree,
        integers.given_back,
        integers.constants,
        integers.from_graph,
        reached,
        _integers(program),
        guards_of(program, given),
        reads,
        training,
        ranks=[leaf.dim() if isinstance(leaf, Tensor) else 0 for leaf in given],
        sizes=sizes_of_results(program, given)[: len(outputs)],
    )
