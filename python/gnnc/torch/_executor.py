# Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
# See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Programs of a compiled model on tensors of PyTorch, without derivatives.

`bind` checks the arguments of a call and finds the prepared graph; what it returns holds for all calls with the same
graph and the same shapes, so that a call on a known graph compares, allocates its outputs and calls C once.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache, reduce
from operator import attrgetter, or_
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from .. import _abi, _cache
from .._arguments import Arguments
from .._arrays import View
from .._description import Description, Program, Value
from .._errors import CompileError, Error
from .._exported import ExportedArguments, make_arguments
from .._graph import CallDescription, Prepared
from .._library import Lease, Library
from .._model import prepare_known
from . import _device, _threads
from ._grids import Leading, Restored, restore
from ._memory import Lane
from ._training import Draw, Draws

if TYPE_CHECKING:
    from ._partial import Partials
    from ._parts import PartGraphs
    from ._second import PullBack

TYPES = {"f32": torch.float32, "f64": torch.float64, "f16": torch.float16, "bf16": torch.bfloat16}


def same_constant(given: Any, known: Any) -> bool:
    """Whether an argument that is no tensor is what was compiled in: 1, 1.0 and True are equal, but three arguments."""
    return given is known or (type(given) is type(known) and not isinstance(given, Tensor) and bool(given == known))


class Plan:
    """A program as calls see it: which operand, cotangent or computed input goes to each of its bindings.

    `earlier`: the program that it goes on from. Its inputs are passed again: which of them are read may differ from graph
    to graph."""

    def __init__(self, executor: Executor, program: Program, earlier: Program | None = None) -> None:
        self.program = program
        self.name = program.name
        operands = {name: i for i, name in enumerate(executor.operand_names)}
        self.operands: list[int] = []
        self.cotangents: list[int] = []
        self.computed: list[str] = []
        order = []
        for name in dict.fromkeys([*(earlier.inputs if earlier else ()), *program.inputs]):
            if name in operands:
                self.operands.append(operands[name])
            elif name in executor.cotangent_names:
                self.cotangents.append(executor.cotangent_names.index(name))
            elif name in executor.computed_names:
                self.computed.append(name)
            elif name in executor.library.description.embedded or _is_optional(executor, name):
                continue
            else:
                raise Error(f"the compiled model needs '{name}', which the module does not have", 1)
            order.append(name)
        kinds = [operands.keys(), set(executor.cotangent_names), set(executor.computed_names)]
        # They may come in any order: operands as calls have them, then cotangents, then what was computed with the graph.
        self.operands.sort()
        order = [*(executor.operand_names[i] or "" for i in self.operands), *(n for n in order if n not in operands)]
        self.names = tuple(name for kind in kinds for name in order if name in kind)
        #: Whether all operands are passed.
        self.is_whole = self.operands == list(range(len(executor.operand_names)))
        #: Of each cotangent, the number of the output.
        self.seeds = [executor.output_names.index(executor.cotangent_names[i][len("grad.") :]) for i in self.cotangents]
        self.outputs = {value.name: value for value in program.outputs}


def _is_optional(executor: Executor, name: str) -> bool:
    found = executor.library.description.find(name)
    return found is not None and found.optional


class Shapes:
    """What some values are like, of which most are the same on any graph."""

    __slots__ = ("_fixed", "_templates", "_varying")

    def __init__(self, values: Sequence[Value]) -> None:
        types = [TYPES[value.dtype] for value in values]
        #: Shapes and types; None: it has a row for each element of a space.
        self._fixed = [None if value.space is not None else (value.dims, dtype) for value, dtype in zip(values, types)]
        self._varying = [
            (i, value.space, value.dims, types[i]) for i, value in enumerate(values) if value.space is not None
        ]
        self._templates: dict[torch.device, list[Any]] = {}

    def on(self, prepared: Prepared) -> list[tuple[tuple[int, ...], torch.dtype]]:
        """Shapes and types on a graph."""
        found: list[Any] = list(self._fixed)
        for i, space, dims, dtype in self._varying:
            found[i] = ((prepared.extent(space), *dims), dtype)
        return found

    def templates(self, prepared: Prepared, device: torch.device) -> list[Tensor]:
        """For each a tensor that is like it."""
        fixed = self._templates.get(device)
        if fixed is None:
            fixed = [None if each is None else _template(*each, device) for each in self._fixed]
            self._templates[device] = fixed
        found = list(fixed)
        for i, space, dims, dtype in self._varying:
            found[i] = _template((prepared.extent(space), *dims), dtype, device)
        return found


class Request:
    """A program that is asked for certain outputs, on any graph. `later`: the outputs that the program which goes on from
    it will be asked for; None: all."""

    __slots__ = ("description", "plan", "shapes")

    def __init__(self, plan: Plan, names: Sequence[str], later: Sequence[str] | None = None) -> None:
        self.plan = plan
        self.shapes = Shapes([plan.outputs[name] for name in names])
        self.description = CallDescription(plan.name, plan.names, names, later)


class Site:
    """A request on a prepared graph: everything about a call that is the same each time."""

    __slots__ = ("call", "computed", "plan", "templates", "workspace_bytes")

    def __init__(self, request: Request, bound: Bound) -> None:
        prepared = bound.prepared
        self.plan = request.plan
        self.computed = [bound.computed[name].pointer for name in self.plan.computed] if self.plan.computed else ()
        self.templates = request.shapes.templates(prepared, bound.torch_device)
        self.call = prepared.call(request.description)
        self.workspace_bytes = self.call.workspace_bytes

    def data(self, operands: Sequence[Tensor], cotangents: Sequence[Tensor], outputs: Sequence[Tensor]) -> bytes:
        """Addresses in the order of the call. `cotangents`: of each output of the model."""
        plan = self.plan
        given = operands if plan.is_whole else [operands[i] for i in plan.operands]
        if plan.seeds:
            given = [*given, *[cotangents[i] for i in plan.seeds]]
        if self.computed:
            return self.call.pack(*map(_data_ptr, given), *self.computed, *map(_data_ptr, outputs))
        return self.call.pack(*map(_data_ptr, given), *map(_data_ptr, outputs))


@lru_cache(maxsize=1024)
def _template(shape: tuple[int, ...], dtype: torch.dtype, device: torch.device) -> Tensor:
    """Of a shape, a type and a device, with hardly any memory: `empty_like` is the quickest way to a tensor."""
    if math.prod(shape) <= 1:  # strides of what is expanded would be 0
        return torch.empty(shape, dtype=dtype, device=device)
    return torch.empty((), dtype=dtype, device=device).expand(shape)


_data_ptr, _get_device, _is_contiguous = Tensor.data_ptr, Tensor.get_device, Tensor.is_contiguous
_is_neg = Tensor.is_neg
_layout = attrgetter("shape", "dtype")
_empty_like, _get_num_threads = torch.empty_like, torch.get_num_threads
# Without CUDA, torch may have neither. The stream as an object of torch.cuda would cost a microsecond more.
_current_stream: Any = getattr(torch._C, "_cuda_getCurrentRawStream", None)
_is_capturing: Any = getattr(torch._C, "_cuda_isCurrentStreamCapturing", None)

# What Dynamo compares tensors with, at a fifth of what it takes in Python. It says no where types, sizes, strides, devices or
# whether a gradient is required differ; then Python looks.
_TensorGuards: Any = getattr(getattr(getattr(torch._C, "_dynamo", None), "guards", None), "TensorGuards", None)


def _guards(operands: Sequence[Tensor]) -> Any:
    sizes, strides = [list(each.shape) for each in operands], [list(each.stride()) for each in operands]
    try:
        made = _TensorGuards(*operands, dynamic_dims_sizes=sizes, dynamic_dims_strides=strides)
        return made if made.check(*operands) else None
    except Exception:  # of another version of PyTorch
        return None


#: Graphs that are prepared for calls to come and were not asked for yet; those before them are forgotten.
_MOST_AHEAD = 8


class Wanted:
    """A gradient with respect to some operands alone, on any graph."""

    __slots__ = ("constant", "first", "gradient", "num_wanted", "places", "second", "zeros")

    def __init__(self, executor: Executor, mask: Sequence[bool]) -> None:
        names = [name if want else None for name, want in zip(executor.gradient_names, mask)]
        #: Operands whose gradients depend on no cotangent, as behind `round`: they are 0, and no result of the second half.
        half = executor.second_half
        self.zeros = [i for i, name in enumerate(names) if name is not None and half and name not in half.outputs]
        for i in self.zeros:
            names[i] = None
        #: Outputs that depend on none of the operands.
        self.constant = executor.constant_outputs(mask)
        wanted = [name for name in names if name is not None]
        self.num_wanted = len(wanted)
        #: Of each operand, the number of its gradient among those that are computed.
        places = {name: i for i, name in reversed([*enumerate(wanted)])}
        self.places = [None if name is None else places[name] for name in names]
        self.first: Request | None = None
        self.second: Request | None = None
        #: Of both together.
        self.gradient = None if executor.gradient is None else Request(executor.gradient, wanted)
        if executor.first_half is not None and executor.second_half is not None:
            self.first = Request(executor.first_half, executor.output_names, wanted)
            self.second = Request(executor.second_half, [*wanted, *executor.again])


class Halves:
    """The two halves of such a gradient on a graph."""

    __slots__ = ("first", "gradient", "second", "targets", "wanted", "workspace_bytes")

    def __init__(self, wanted: Wanted, bound: Bound) -> None:
        self.wanted = wanted
        self.first: Site | None = None
        self.second: Site | None = None
        self.gradient: Site | None = None  #: of both together, made when it is needed
        self.workspace_bytes = 0
        self.targets: list[Tensor] = []  #: what the second half's gradients are like
        if wanted.first is not None and wanted.second is not None:
            self.first, self.second = Site(wanted.first, bound), Site(wanted.second, bound)
            self.workspace_bytes = max(self.first.workspace_bytes, self.second.workspace_bytes)
            self.targets = self.second.templates[: wanted.num_wanted]


@dataclass
class Bound:
    """A prepared graph, and what calls on it are checked against and allocate."""

    prepared: Prepared
    device: tuple[int, int]
    torch_device: torch.device
    on_cpu: bool
    number: int  #: of the CUDA device; -1 for the CPU
    #: Index tensors, by the number of the leaf: the tensor, its version, address, shape and strides.
    guards: list[tuple[int, Tensor, int, int, torch.Size, tuple[int, ...]]]
    #: What is no tensor.
    others: list[tuple[int, Any]]
    #: Tensors that the model does not use.
    unused: list[tuple[int, torch.dtype, torch.Size]]
    #: Shapes and types of inputs and parameters.
    operands: list[tuple[tuple[int, ...], torch.dtype]]
    #: Inputs that were computed with the graph.
    computed: dict[str, View]
    #: Leaves that are no inputs; None where one is.
    leaves: list[Any]
    #: Aliases of the index tensors: their own memory could be exchanged through `.data`.
    kept: list[Tensor]
    #: Shapes and types of inputs and parameters as tensors say them, and their devices.
    layouts: list[tuple[torch.Size, torch.dtype]]
    numbers: list[int]
    #: By which operands require a gradient.
    halves: dict[tuple[bool, ...], Halves]
    #: The CUDA streams that it was run on.
    lanes: dict[int, Lane]
    #: Those of the leaves and dimensions that batch norm takes the variance along which have no elements.
    empty: frozenset[tuple[int, int]]
    #: What the outputs are like.
    results: list[Tensor] = field(default_factory=list)
    forward: Site | None = None  #: of calls without a gradient, made when it is needed
    draws: Draws | None = None
    #: Of inputs with several axes of elements, the sizes of these.
    leading: dict[int, tuple[int, ...]] = field(default_factory=dict)
    #: The same graph for executors of other sets of differentiated results.
    partners: dict[Executor, Bound] = field(default_factory=dict)
    #: PyTorch's own comparison of operands and index tensors with some that fitted, and how often it may still be made.
    quick: Any = None
    quick_left: int = 4

    def matches(self, leaves: Sequence[Any], operands: Sequence[Tensor] = ()) -> bool:
        """Whether these are the index tensors of this graph, unchanged. Shapes of inputs are not looked at, or, where
        `operands` are given, whether they can be passed as they are."""
        held_leaves = []
        for i, held, version, pointer, _, _ in self.guards:
            leaf = leaves[i]
            if leaf is not held or leaf._version != version or leaf.data_ptr() != pointer:
                return False
            held_leaves.append(leaf)
        if not operands or self.quick is None or not self.quick.check(*operands, *held_leaves):
            for leaf, (_, _, _, _, shape, stride) in zip(held_leaves, self.guards):
                if leaf.shape != shape or leaf.stride() != stride:
                    return False
            if operands and not self.fits(operands):
                return False
        elif self.number >= 0 and reduce(or_, map(_data_ptr, operands), 0) % _device.ALIGNMENT:
            return False
        for i, known in self.others:
            if not same_constant(leaves[i], known):
                return False
        for i, dtype, shape in self.unused:
            if leaves[i].dtype is not dtype or leaves[i].shape != shape:
                return False
        return True

    def check_unchanged(self) -> None:
        """Raises Error if an index tensor is not what the graph was prepared from any longer."""
        if any(held._version != version for _, held, version, *_ in self.guards):
            raise Error("an index tensor was changed in place between a forward and a backward pass")

    def fits(self, operands: Sequence[Tensor]) -> bool:
        """Whether inputs and parameters can be passed as they are."""
        if not self.suits(operands):
            return False
        if self.quick_left and _TensorGuards is not None:
            self.quick_left -= 1
            self.quick = _guards([*operands, *[held for _, held, *_ in self.guards]])
        return self.number < 0 or reduce(or_, map(_data_ptr, operands), 0) % _device.ALIGNMENT == 0

    def suits(self, operands: Sequence[Tensor]) -> bool:
        """Whether inputs and parameters have the shapes, types and devices of this graph's, without gaps, and are in memory
        what they say."""
        return (
            list(map(_layout, operands)) == self.layouts
            and list(map(_get_device, operands)) == self.numbers
            and all(map(_is_contiguous, operands))
            and not any(map(_is_neg, operands))
        )

    def dense(self, tensor: Tensor) -> Tensor:
        """The tensor, or a copy that is as the model reads it: without gaps, and on a GPU at an aligned address."""
        tensor = tensor.resolve_neg()  # such as the imaginary part of a conjugate
        if not tensor.is_contiguous():
            return tensor.contiguous()
        return tensor.clone() if self.number >= 0 and tensor.data_ptr() % _device.ALIGNMENT else tensor


class Executor:
    """One object, given the leaves of a module's arguments.

    `leaf_names`: the name in the model of each leaf (None: not used by it). `param_names`: of parameters and buffers, in
    the order in which calls give them. `draws`: inputs that each call draws. `part`: what ranks have
    of a graph, where this is one of them. `leaf_ranks`: of each leaf the number of axes.
    """

    def __init__(
        self,
        library: Library,
        leaf_names: Sequence[str | None],
        param_names: Sequence[str],
        draws: Mapping[str, Draw] | None = None,
        part: PartGraphs | None = None,
        leaf_ranks: Sequence[int] = (),
    ) -> None:
        self.library, self.part = library, part
        found = library.description
        self.arguments: Arguments | ExportedArguments = make_arguments(found)
        #: Of leaves that the model does not use, None.
        leaf_names = self.leaf_names = [name if name in self.arguments.names else None for name in leaf_names]
        self.value_leaves = [
            i for i, name in enumerate(leaf_names) if name in found.inputs and not found.inputs[name].source
        ]
        self.leaf_ranks = list(leaf_ranks)
        inputs = [found.inputs[leaf_names[i] or ""] for i in self.value_leaves]
        given = [leaf_ranks[i] for i in self.value_leaves] if leaf_ranks else []
        self.leading = Leading([len(value.dims) + (value.space is not None) for value in inputs], given)
        self.draws = dict(draws or {})
        taken = [name for name in self.draws if name in found.inputs]
        self.operand_names = [leaf_names[i] for i in self.value_leaves] + list(param_names) + taken
        self.num_given = len(self.operand_names) - len(taken)
        self.operand_values = [_find(found, name or "") for name in self.operand_names]
        if isinstance(self.arguments, ExportedArguments):
            if (self.arguments.graph_names | self.arguments.sized) & set(self.draws):
                raise CompileError(
                    "dropout, or a tensor of random numbers, whose size is known from nothing else: it would have to be drawn first"
                )
        self.computed_names = [name for name, value in found.inputs.items() if value.source or (part and value.numbers)]
        self.cotangent_names = [value.name for value in found.inputs.values() if value.gradient]
        forward = found.programs["forward"]
        self.num_outputs = len(forward.outputs)
        self.output_names = [value.name for value in forward.outputs]
        self.forward = Plan(self, forward)
        self.gradient = self._plan("gradient")
        self.first_half = self._plan("gradient.forward")
        self.second_half = self._plan("gradient.backward", after="gradient.forward")
        self.again = self._needed_again()
        self._outputs = Request(self.forward, self.output_names)
        self._operands = Shapes(self.operand_values)
        #: Of each operand, what its gradient is called in the model.
        self.gradient_names = [self._gradient_name(name or "") for name in self.operand_names]
        #: How results have the shapes that the module gives them; None: that is not known.
        self.restored: Restored | None = None
        #: The derivative as something that can be differentiated again; None: it cannot.
        self.pull_back: PullBack | None = None
        #: Executors for backward passes with cotangents of some results alone; None: missing ones are zeros.
        self.partials: Partials | None = None
        #: Of each output that may have a gradient with respect to some operands alone, these by their names.
        self.reached: list[frozenset[str]] = []
        #: Leaves and dimensions that batch norm in training mode takes the variance along.
        self.batches: list[tuple[int, int]] = []
        self._last: Bound | None = None
        #: Graphs that were prepared for calls to come.
        self._ahead: list[Bound] = []
        self._wanted: dict[tuple[bool, ...], Wanted] = {}  # the gradients that were asked for
        self._checks = _cache.checks_contents()
        self._lanes: dict[tuple[int, int], Lane] = {}

    def _plan(self, name: str, after: str = "") -> Plan | None:
        programs = self.library.description.programs
        return Plan(self, programs[name], programs.get(after)) if name in programs else None

    def _gradient_name(self, name: str) -> str | None:
        found = {} if self.gradient is None else self.gradient.outputs
        return f"grad.{name}" if f"grad.{name}" in found else None

    def constant_outputs(self, mask: Sequence[bool]) -> list[int]:
        """The outputs without a gradient with respect to the operands that `mask` says."""
        names = {name for name, want in zip(self.operand_names, mask) if want}
        # A parameter with several names has one here, and torch.export may call it by another.
        known = set(self.operand_names)
        return [i for i, reached in enumerate(self.reached) if names.isdisjoint(reached) and reached <= known]

    def reached_from(self, outputs: Iterable[int]) -> frozenset[str] | None:
        """The operands that some outputs depend on, by their names; None: that is not known."""
        if not self.reached:
            return None
        result = frozenset[str]().union(*[self.reached[i] for i in outputs])
        return result if result <= set(self.operand_names) else None

    def _needed_again(self) -> list[str]:
        """The outputs that the second half of the gradient reads."""
        if self.second_half is None or self.first_half is None:
            return []
        return [name for name in self.second_half.outputs if name in self.output_names]

    def known(self, leaves: Sequence[Any], params: Sequence[Tensor]) -> tuple[Bound, list[Tensor]] | None:
        """`bind` and `operands` where nothing but numbers has changed since the last call; else None. This is all that a
        call on a known graph costs before it runs."""
        last = self._last
        if last is None or self._checks:
            return None
        operands = self.inputs(leaves)
        operands += params
        if not self._are_leading(last, leaves) or not last.matches(leaves, operands):
            return None
        if last.draws is not None:
            operands += last.draws.draw()
        return last, operands

    def has_seen(self, leaves: Sequence[Any]) -> bool:
        """Whether these index tensors are the last call's: a quick no for new graphs."""
        return self._last is not None and all([leaves[guard[0]] is guard[1] for guard in self._last.guards])

    def inputs(self, leaves: Sequence[Any]) -> list[Any]:
        """The leaves that are inputs, as the model has them."""
        return self.leading.flatten([leaves[i] for i in self.value_leaves])

    def _are_leading(self, bound: Bound, leaves: Sequence[Any]) -> bool:
        """Whether several axes of elements have the sizes of this graph: 3 rows of 20 are not 6 rows of 10."""
        axes = self.leading.axes
        return not axes or self.leading.sizes([leaves[i] for i in self.value_leaves]) == bound.leading

    def leaf(self, bound: Bound, k: int, operand: Tensor) -> Tensor:
        """The leaf that input number `k` is."""
        return restore(operand, bound.leading.get(k))

    def forget(self) -> None:
        """The next call is no call on a known graph."""
        self._last = None

    def prefetch(self, leaves: Sequence[Any]) -> None:
        """Prepares the graph of these leaves for a call to come, and what such calls need. Raises Error."""
        if self._checks or any(isinstance(leaf, Tensor) and leaf.is_inference() for leaf in leaves):
            return
        last = self._last
        bound = self._prepared(leaves, ahead=True)
        for mask in list(self._wanted):
            self.halves(bound, mask)
        if not self._wanted:
            bound.forward = Site(self._outputs, bound)
        if last is not None and self.part is None:
            self._ahead = [*self._ahead[1 - _MOST_AHEAD :], bound]

    def bind(self, leaves: Sequence[Any]) -> Bound:
        """The graph of these leaves (tensors, numbers, None), prepared if it is not known. Raises Error."""
        for bound in self._ahead:
            shapes = (each.shape for each in self.inputs(leaves))
            if (
                self._are_leading(bound, leaves)
                and bound.matches(leaves)
                and all(a == b for a, (b, _) in zip(shapes, bound.operands))
            ):
                self._ahead = [each for each in self._ahead if each is not bound]
                self._last = bound
                return bound
        return self._prepared(leaves)

    def _prepared(self, leaves: Sequence[Any], ahead: bool = False) -> Bound:
        for i, dim in self.batches:
            if leaves[i].shape[dim] == 1:
                raise Error("batch norm in training mode: expected more than one element, whose variance it takes", 2)
        # What another thread changes from now on, while the graph is prepared, is not in it.
        versions = [leaf._version if isinstance(leaf, Tensor) and not leaf.is_inference() else 0 for leaf in leaves]
        arguments = {
            name: leaf for name, leaf in zip(self.leaf_names, leaves) if name is not None and isinstance(leaf, Tensor)
        }
        resolved = self.arguments.resolve(
            {name: leaf.detach() if leaf.requires_grad else leaf for name, leaf in arguments.items()}, values=False
        )
        space = resolved.missing(
            [name for name in self.forward.program.needs if name in self.library.description.roots]
        )
        if space is not None:
            raise Error(f"the number of elements of space '{space}' is not known", 1)
        device = resolved.device or (_abi.CPU, 0)
        prepare = prepare_known if self.part is None else self.part.prepare
        prepared = prepare(self.library, resolved, device)
        return self._bound(leaves, versions, prepared, device, ahead)

    def _bound(
        self,
        leaves: Sequence[Any],
        versions: Sequence[int],
        prepared: Prepared,
        device: tuple[int, int],
        ahead: bool,
    ) -> Bound:
        operands = self._operands.on(prepared)
        bound = Bound(
            prepared=prepared,
            device=device,
            torch_device=torch.device("cpu") if device[0] == _abi.CPU else torch.device("cuda", device[1]),
            on_cpu=device[0] == _abi.CPU,
            number=-1 if device[0] == _abi.CPU else device[1],
            guards=[],
            others=[],
            unused=[],
            operands=operands,
            leaves=list(leaves),
            kept=[],
            computed=prepared.values,
            layouts=[],
            numbers=[-1 if device[0] == _abi.CPU else device[1]] * self.num_given,
            halves={},
            lanes={},
            empty=frozenset((i, dim) for i, dim in self.batches if leaves[i].shape[dim] == 0),
        )
        if self.draws:
            taken = dict(zip(self.operand_names[self.num_given :], operands[self.num_given :]))
            given = [(draw, taken.get(name)) for name, draw in self.draws.items()]
            bound.draws = Draws(given, leaves, bound.torch_device)
        bound.layouts = operands[: self.num_given]
        bound.results = self._outputs.shapes.templates(prepared, bound.torch_device)
        inputs = dict(zip(self.value_leaves, self.inputs(leaves)))
        bound.leading = self.leading.sizes([leaves[i] for i in self.value_leaves])
        values = set(self.value_leaves)
        inference = False
        for i in values:
            bound.leaves[i] = None
        for i, leaf in enumerate(leaves):
            if not isinstance(leaf, Tensor):
                bound.others.append((i, leaf))
            elif i in values:
                self._check(self.library.description.inputs[self.leaf_names[i] or ""], inputs[i], bound)
            elif self.leaf_names[i] is None:
                bound.unused.append((i, leaf.dtype, leaf.shape))
            elif leaf.is_inference():
                inference = True
            else:
                bound.kept.append(leaf.detach())
                bound.guards.append((i, leaf, versions[i], leaf.data_ptr(), leaf.shape, leaf.stride()))
        if not inference and not ahead:
            self._last = bound
        return bound

    def _check(self, value: Value, leaf: Tensor, bound: Bound) -> None:
        expected = value.shape(bound.prepared.extent)
        if tuple(leaf.shape) != expected:
            raise Error(f"argument '{value.name}': expected shape {list(expected)}, found {list(leaf.shape)}", 1)
        if leaf.device != bound.torch_device:
            raise Error(f"argument '{value.name}': expected a tensor on {bound.torch_device}, found {leaf.device}", 1)

    def operands(self, bound: Bound, leaves: Sequence[Any], params: Sequence[Tensor]) -> list[Tensor]:
        """Inputs and parameters, dense and of the right type, in the order of `operand_names`. Differentiable."""
        result = self.inputs(leaves)
        result.extend(params)
        if bound.number < 0 and bound.suits(result):
            if bound.draws is not None:
                result += bound.draws.draw()
            return result
        for i, (tensor, (shape, dtype)) in enumerate(zip(result, bound.operands[: self.num_given], strict=True)):
            name = self.operand_names[i]
            if tensor.shape != shape:
                raise Error(f"'{name}': expected shape {list(shape)}, found {list(tensor.shape)}", 1)
            if tensor.device != bound.torch_device:
                raise Error(f"'{name}': expected a tensor on {bound.torch_device}, found {tensor.device}", 1)
            if tensor.dtype is not dtype:
                tensor = _converted(tensor, self.operand_values[i])
            result[i] = bound.dense(tensor)
        if bound.draws is not None:
            result += bound.draws.draw()
        return result

    def halves(self, bound: Bound, mask: Sequence[bool]) -> Halves:
        """Of gradients with respect to the operands that `mask` says."""
        mask = tuple(mask)
        found = bound.halves.get(mask)
        if found is None:
            wanted = self._wanted.get(mask)
            if wanted is None:
                wanted = self._wanted[mask] = Wanted(self, mask)
            found = bound.halves[mask] = Halves(wanted, bound)
        return found

    def run_forward(self, bound: Bound, operands: Sequence[Tensor]) -> list[Tensor]:
        """The outputs, in the model's order."""
        site = bound.forward
        if site is None:
            site = bound.forward = Site(self._outputs, bound)
        outputs = list(map(_empty_like, site.templates))
        self._run(site, bound, site.data(operands, (), outputs), site.workspace_bytes).release()
        return outputs

    def run_first_half(self, bound: Bound, halves: Halves, operands: Sequence[Tensor]) -> tuple[list[Tensor], Any]:
        """The outputs, and the workspace that `run_second_half` goes on with."""
        site = halves.first
        if site is None:
            return self.run_forward(bound, operands), None
        outputs = list(map(_empty_like, site.templates))
        return outputs, Lease(self._run(site, bound, site.data(operands, (), outputs), halves.workspace_bytes))

    def run_second_half(
        self,
        bound: Bound,
        halves: Halves,
        operands: Sequence[Tensor],
        cotangents: Sequence[Tensor],
        outputs: Sequence[Tensor],
        lease: Lease | None,
    ) -> list[Tensor]:
        """The gradients that are wanted. `outputs`: those of the first half that the second reads. Without the first half's
        workspace everything is computed again."""
        if lease is not None and halves.second is not None:
            site = halves.second
            targets = list(map(_empty_like, halves.targets))
            data = site.data(operands, cotangents, [*targets, *outputs] if outputs else targets)
            self._run(site, bound, data, site.workspace_bytes, lease.workspace)
            return targets
        if halves.wanted.gradient is None:
            raise Error("the model was compiled without gradients", 4)
        if halves.gradient is None:
            halves.gradient = Site(halves.wanted.gradient, bound)
        site = halves.gradient
        targets = list(map(_empty_like, site.templates))
        self._run(site, bound, site.data(operands, cotangents, targets), site.workspace_bytes).release()
        return targets

    def _run(self, site: Site, bound: Bound, data: bytes, size: int, workspace: Any = None) -> Any:
        """Runs it in a workspace of at least `size` bytes, which is returned, for the caller to release."""
        if bound.on_cpu:
            if workspace is None:
                workspace = self.library.workspace(size)
            threads = _get_num_threads()
            context = self.library.torch_contexts.get(threads) or _threads.context(self.library, threads)
            site.call.run(context, data, workspace.pointer, workspace.size)
            return workspace
        stream = _current_stream(bound.number)
        lane = bound.lanes.get(stream) or self._lane(bound, stream)
        if _is_capturing():
            _device.pin(bound.prepared)
            if workspace is None:
                workspace = lane.take_for_capture(size)
            workspace.leave(stream)
        elif workspace is None:
            workspace = lane.take(size)
        elif workspace.stream != stream:
            workspace.leave(stream)
        site.call.run(lane.context, data, workspace.pointer, workspace.size, lane.pointer)
        return workspace

    def _lane(self, bound: Bound, stream: int) -> Lane:
        """A stream that this graph is run on from now on."""
        key = (bound.number, stream)
        found = self._lanes.get(key)
        if found is None:
            found = self._lanes.setdefault(key, Lane(self.library.context(bound.device), bound.number, stream))
        bound.prepared.streams.add(stream)
        for computed in bound.computed.values():  # perhaps on the stream of a loader
            if computed.is_torch:
                computed.owner.record_stream(torch.cuda.ExternalStream(stream, device=bound.torch_device))
        bound.lanes[stream] = found
        return found


def _find(description: Description, name: str) -> Value:
    found = description.find(name)
    if found is None:
        raise Error(f"the compiled model has no '{name}'", 1)
    return found


def _converted(tensor: Tensor, value: Value) -> Tensor:
    """Under autocast numbers come in 16 bits; booleans and integers are numbers here."""
    if tensor.dtype in (torch.float64,) and value.dtype != "f64":
        raise Error(f"'{value.name}': expected float32, found float64", 1)
    return tensor.to(TYPES[value.dtype])
