# Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
# See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What compiles a module for its calls, and runs them."""

from __future__ import annotations

import os
import tempfile
import warnings
import webbrowser
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from operator import getitem
from pathlib import Path
from types import MethodType, SimpleNamespace
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn
from torch._subclasses import FakeTensor
from torch.utils import _pytree as pytree

from .._errors import CompileError, EmptyListError, Error
from .._library import Library
from . import (
    _alone,
    _arranged,
    _autograd,
    _containers,
    _effects,
    _export,
    _lazy,
    _numbers,
    _operator,
    _repeats,
    _second,
    _small,
)
from ._branches import Sides
from ._executor import Bound, Executor, same_constant
from ._few import Few, has_few, kind_of
from ._grids import Restored
from ._hooked import hooked_weights
from ._made import FirstCallFills
from ._partial import Partials
from ._parts import PartGraphs
from ._reads import members_of, variables_of
from ._state import State, modes_of, owner_of
from ._training import Buffers

if TYPE_CHECKING:
    from ..ranks import PartFile


#: As many specializations of one module are kept.
MOST_KEPT = 16


#: Whether this is within a transform of torch.func, whose tensors have no memory.
_has_transforms = torch._C._are_functorch_transforms_active

#: What decides how GPUs multiply float32 matrices.
_PRECISION = "get_float32_matmul_precision"


@dataclass
class Options:
    """How a module is compiled."""

    compiler: tuple[str, ...] = ()  #: further options of `gnnc compile`
    progress: bool | None = None
    fall_back: bool = False  #: run the module itself, with a warning, in a mode or on arguments that are refused
    part: PartGraphs | None = None  #: of a graph that ranks have parts of
    #: Of arguments by their names: whether sizes and integers may differ. Of others sizes may, and integers once they have.
    dynamic: Mapping[str, bool] = field(default_factory=dict)
    memory_limit: str | None = None  #: most bytes of a training step on a graph of the example's size, as in "12GiB"


@dataclass
class Example:
    """The arguments that a module was compiled for, without their numbers."""

    modes: list[bool]  #: `training` of each of its modules, the first of which is itself
    types: list[torch.dtype | None]  #: of each leaf; None: it is no tensor
    shapes: list[torch.Size | None]
    constants: list[Any]  #: leaves that are no tensors
    tree: Any  #: of (args, kwargs)
    device: torch.device

    @staticmethod
    def of(module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Example:
        leaves, tree = pytree.tree_flatten((args, kwargs))
        tensors = [leaf if isinstance(leaf, Tensor) else None for leaf in leaves]
        return Example(
            modes=modes_of(module),
            types=[None if tensor is None else tensor.dtype for tensor in tensors],
            shapes=[None if tensor is None else tensor.shape for tensor in tensors],
            constants=[None if isinstance(leaf, Tensor) else leaf for leaf in leaves],
            tree=tree,
            device=next((tensor.device for tensor in tensors if tensor is not None), torch.device("cpu")),
        )

    def is_like(self, leaves: Sequence[Any], tree: Any) -> bool:
        """Whether arguments differ from these in numbers and sizes alone."""
        return tree == self.tree and all(
            leaf.dtype is dtype and leaf.dim() == len(shape or ()) and leaf.device.type == self.device.type
            if isinstance(leaf, Tensor)
            else dtype is None and same_constant(leaf, constant)
            for leaf, dtype, shape, constant in zip(leaves, self.types, self.shapes, self.constants)
        )

    def leaves(self) -> list[Any]:
        """Leaves of arguments like these, all zero."""
        return [
            constant if dtype is None else torch.zeros(shape or (), dtype=dtype, device=self.device)
            for dtype, shape, constant in zip(self.types, self.shapes, self.constants)
        ]

    def arguments(self) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Arguments like these, all zero."""
        return pytree.tree_unflatten(self.leaves(), self.tree)


class Specialization:
    """A module compiled for one mode, one structure of arguments and one set of sizes that are compiled in."""

    def __init__(
        self,
        module: nn.Module,
        example: Example,
        artifact: _export.Artifact,
        library: Library,
        options: Options,
        place: int = 0,
    ) -> None:
        self.place = place  #: its number among those of its module
        self.flags: list[str] = []  #: options that it was compiled with; empty: those of its module
        switches = (_PRECISION,) if example.device.type == "cuda" else ()
        #: Attributes that hooks assign before a layer is called.
        self.hooked = hooked_weights(members_of(module))
        assigned = [*artifact.kept.places, *[(each.number, each.name) for each in self.hooked]]
        self.state = State(module, example.modes, artifact.integers, artifact.reads, switches, assigned)
        #: Attributes that a call assigns.
        self.kept = [(self.state.members[number], name) for number, name in artifact.kept.places]
        self.example, self.artifact = example, artifact
        self.types, self.constants = example.types, example.constants
        self.on_device = example.device.type == "cuda"
        self.device_type = example.device.type
        training = artifact.training
        #: The only output is the result; nothing else comes of a call.
        self.single = artifact.outputs == [0] and artifact.output_tree.is_leaf()
        self.single = self.single and not training and not artifact.output_types and not artifact.kept
        self.single = self.single and not self.hooked
        #: The number of arguments, where all are positional and none is a list or a dict; else -1.
        args, kwargs = pytree.tree_unflatten(list(range(len(example.types))), example.tree)
        flat = not kwargs and list(args) == list(range(len(args)))
        self.positional = len(args) if flat else -1
        found = library.description
        self.params: list[tuple[dict[str, Any], str]] = []
        names = []
        tensors = dict(module.named_parameters(remove_duplicate=False)) | dict(
            module.named_buffers(remove_duplicate=False)
        )
        for name in (*found.params, *found.states):
            if name in found.embedded and name in artifact.integers:
                continue
            if name not in tensors:
                if name in found.embedded:
                    continue
                raise CompileError(f"the compiled model needs '{name}', which {type(module).__name__} does not have")
            self.params.append(owner_of(module, name))
            names.append(name)
        from_graph = artifact.graph_results
        self.graph_buffers = [owner_of(module, name) for name in from_graph.buffers] if from_graph else []
        taken = artifact.branches
        self.branch_buffers = [owner_of(module, name) for name in taken.buffers] if taken is not None else []
        #: The same, as columns: `map` is quick with them.
        self._places = [owner for owner, _ in self.params], [name for _, name in self.params]
        #: Of these, those that a call writes to: its derivative reads what was there before.
        self._changing = [place for place, name in enumerate(names) if name in training.assigned]
        self.executor = Executor(library, artifact.leaf_names, names, training.draws, options.part, artifact.ranks)
        self.executor.reached = artifact.reached
        made = list(self.executor.forward.outputs.values())
        ranks = {
            i: len(made[number].dims) + (made[number].space is not None)
            for i, number in enumerate(artifact.outputs)
            if number is not None
        }
        self.restored = self.executor.restored = Restored(ranks, artifact.sizes)
        self.single = self.single and not self.restored.leading
        if options.part is None:  # else they are of all ranks together
            self.executor.batches = training.batches
        self.buffers: Buffers | None = None
        if training.statistics or training.counters or training.assigned:
            changed = [*[each.buffer for each in training.statistics], *training.counters, *training.assigned]
            self.buffers = Buffers(training, {name: owner_of(module, name) for name in changed})
        changes = bool(training.statistics or training.counters)
        # To run it a second time would draw again, or read what it has assigned.
        if not training.draws and not training.assigned and options.part is None:
            self.executor.pull_back = _second.PullBack(module, example, artifact, options, changes)
        kind = "with dropout or random numbers" if training.draws else "of a module that changes its buffers"
        self.few = Few(self)
        self.executor.not_computed = f"second derivatives {kind if training else 'on a part of a graph'}"

    def accepts(self, leaves: Sequence[Any], tree: Any) -> bool:
        """Whether these arguments differ from the example's only in sizes that may differ, and take the same sides of
        branches. `tree`: of (args, kwargs)."""
        return self._accepts_but_for_branches(leaves, tree) and self._takes_branches(leaves)

    def _accepts_but_for_branches(self, leaves: Sequence[Any], tree: Any) -> bool:
        if tree != self.example.tree:
            return False
        for leaf, dtype, constant in zip(leaves, self.types, self.constants):
            if dtype is None:
                if not same_constant(leaf, constant):
                    return False
            elif not isinstance(leaf, Tensor) or leaf.dtype is not dtype or leaf.is_cuda != self.on_device:
                return False
        for i, dimension, size in self.artifact.fixed:
            if leaves[i].dim() <= dimension or leaves[i].shape[dimension] != size:
                return False
        return all(
            leaves[i].dim() > dimension and least <= leaves[i].shape[dimension] <= largest
            for i, dimension, least, largest in self.artifact.bounds
        ) and all(guard.holds(leaves) for guard in self.artifact.guards)

    def _takes_branches(self, leaves: Sequence[Any]) -> bool:
        branches = self.artifact.branches
        if branches is None or _alone.is_compiling():  # in a trace there are no numbers
            return True
        if any(isinstance(leaf, FakeTensor) for leaf in leaves):
            return True
        return branches.hold(leaves, self._branch_buffers())

    def _branch_buffers(self) -> list[Tensor]:
        return _alone.settled(lambda: [tensors[name] for tensors, name in self.branch_buffers])

    def other_side(self, leaves: Sequence[Any], tree: Any) -> tuple[Any, ...] | None:
        """Of arguments that this is right for but for sides of branches: what tells their sides apart; else None."""
        branches = self.artifact.branches
        if branches is None or not self.state.is_in_mode():
            return None
        found = branches.sides(leaves, self._branch_buffers()) if self._accepts_but_for_branches(leaves, tree) else ()
        return None if found == () else (self.place, found)

    def is_for(self, leaves: Sequence[Any], tree: Any) -> bool:
        """Whether it computes what the module, as it is now, does with these arguments."""
        return self.accepts(leaves, tree) and self.state.is_right()

    def parameters(self) -> list[Tensor]:
        """Parameters and buffers as they are now."""
        result = _alone.settled(lambda: list(map(getitem, *self._places)))
        for place in self._changing:
            result[place] = result[place].detach().clone()
        return result

    def known(self, args: tuple[Any, ...]) -> tuple[Bound, list[Tensor]] | None:
        """The graph and the operands of a call that differs from the last in numbers only; else None."""
        if not self.executor.has_seen(args):
            return None
        try:
            if self.artifact.branches is not None and not self.artifact.branches.is_same(args):
                return None
            return self.executor.known(args, self.parameters()) if self.state.is_same() else None
        except (AttributeError, KeyError, TypeError):  # something else where a tensor was
            return None

    def result(self, outputs: Sequence[Tensor], given: Sequence[Any], bound: Bound | None) -> Any:
        """Outputs as the module returns them. Brings its buffers up to date, and its attributes. `given`: the leaves of the
        call; `bound`: its graph, which is not known in a trace."""
        if self.single:
            return outputs[0]
        result, values = self.results(outputs, given, bound)
        if bound is not None:
            for (owner, name), value in zip(self.kept, values):
                vars(owner)[name] = value
            for each in self.hooked:
                each.renew()
        return result

    def results(self, outputs: Sequence[Tensor], given: Sequence[Any], bound: Bound | None) -> tuple[Any, list[Any]]:
        """The same, and what attributes are to be. Brings its buffers up to date."""
        if self.buffers is not None and bound is not None:
            self.buffers.update(outputs, bound.empty)
        leaves = [None if number is None else outputs[number] for number in self.artifact.outputs]
        for i, dtype in self.artifact.output_types.items():
            leaves[i] = leaves[i].to(dtype)
        self.restored.put(leaves, given)
        for i, constant in self.artifact.constants.items():
            leaves[i] = constant
        for i, argument in self.artifact.given_back.items():
            leaves[i] = given[argument]
        if self.artifact.graph_results is not None:
            buffers = _alone.settled(lambda: [tensors[name] for tensors, name in self.graph_buffers])
            self.artifact.graph_results.put(leaves, given, buffers)
        results = pytree.tree_unflatten(leaves, self.artifact.output_tree)
        return self.artifact.kept.split(results) if self.kept else (results, [])


class Runner:
    """Runs the calls of a module in compiled code. It compiles for a mode and a kind of arguments when they first come."""

    def __init__(self, module: nn.Module, options: Options | None = None) -> None:
        self.module, self.options = module, options or Options()
        self.examples: list[Example] = []  #: what it is compiled for instead of arguments like these
        self.specializations: list[Specialization] = []
        self.last: Specialization | None = None  #: what ran last
        self.uncompiled: set[tuple[Any, ...]] = set()  #: sides of branches that are refused
        self.handle = _operator.register(self)
        self._refused: set[tuple[Any, ...]] = set()
        self._few: set[tuple[Any, ...]] = set()  # calls with hardly any elements that are refused
        self._others: dict[Any, Runner] = {}  # those with an axis moved, by what this one is called with
        self._by_layout: dict[Any, Runner] = {}  # those that are given what containers have in them
        self._by_numbers: dict[Any, tuple[frozenset[int], Runner]] = {}  # those to which some integers are sizes, and which
        self._constant: set[tuple[Any, ...]] = set()  # where that is refused
        self._types: dict[Any, list[torch.dtype | None] | None] = {}  # of results under autocast
        self._by_precision: dict[torch.dtype, Runner] = {}  # those for autocast, by its type
        self._mixed: Runner | None = None  # which ran the last call under autocast
        self._unmoved: set[tuple[Any, ...]] = set()  # arguments whose axes cannot be moved
        self._warned = False  # that sizes are compiled in

    @property
    def training(self) -> bool:
        return self.module.training

    def copied(self, module: nn.Module) -> Runner:
        """The same of a copy of the module. Objects are shared: they hold no parameters."""
        result = Runner(module, self.options)
        for known in self.specializations:
            if known.state.is_current():
                library = known.executor.library
                made = Specialization(module, known.example, known.artifact, library, self.options, known.place)
                result.specializations.append(made)
        return result

    def lines(self) -> list[str]:
        """What has been compiled, a line for each."""
        return [summary(known) for each in self._all() for known in each.specializations]

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.call(args, kwargs)

    def call(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        # As a part of what this thread compiles, or under torch.func.vmap.
        if (_export.is_exporting() and not _alone.is_another()) or _has_transforms():
            return self.module(*args, **kwargs)
        if _alone.is_compiling():
            if _containers.has_containers(args, kwargs):
                other, given = self._of_containers(args, kwargs)
                return other(*given)
            leaves, tree = pytree.tree_flatten((args, kwargs))
            other = self._other(leaves, tree)
            return _operator.traced(self, leaves, tree) if other is None else self._call_other(other, leaves)
        last = self.last
        # The way of a training loop: the same graph again.
        if last is not None and not kwargs and len(args) == last.positional:
            if not torch.is_autocast_enabled(last.device_type):
                known = last.known(args)
                if known is not None:
                    outputs = _autograd.call(last.executor, *known)
                    return outputs[0] if last.single else last.result(outputs, args, known[0])
        return self._call(args, kwargs)

    def _call(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if _containers.has_containers(args, kwargs):
            other, given = self._of_containers(args, kwargs)
            return other(*given)
        last = self.last
        leaves: Sequence[Any]
        if last is not None and len(args) == last.positional and not kwargs and all(map(_is_tensor, args)):
            leaves, tree = args, last.example.tree
        else:
            leaves, tree = pytree.tree_flatten((args, kwargs))
        device = _device_of(leaves)
        if torch.is_autocast_enabled(device):
            return self._under_autocast(device, args, kwargs)
        self._mixed = None  # calls to come are like this one
        refused = self._refused
        if refused and (*modes_of(self.module), len(leaves)) in refused:
            return self.module(*args, **kwargs)
        other = self._other(leaves, tree)
        if other is not None:
            return self._call_other(other, leaves)
        if self._by_numbers:
            places, other = self._sized(leaves, tree)
            if other is not None:
                try:
                    return self._call_sized(other, leaves, tree, places)
                except Error:  # such as a slice that ends behind the end: compiled in
                    pass
        whole = self.options.part is None
        if last is None or not last.is_for(leaves, tree):
            if self._is_refused_few(leaves, tree) or self._runs_itself_on_a_side(leaves, tree):
                return self.module(*args, **kwargs)
            try:
                found = self.prepare(args, kwargs)
                if isinstance(found, Runner):
                    return self._call(args, kwargs)  # which knows it now
                last = found
            except FirstCallFills:
                return self.module(*args, **kwargs)
            except Error as error:
                if whole and has_few(leaves):
                    if not self._few and not self.specializations:
                        name = type(self.module).__name__
                        message = f"gnnc leaves calls of {name} with hardly any elements to PyTorch: {error}"
                        warnings.warn(message, stacklevel=2)
                    self._few.add((*modes_of(self.module), tree, *kind_of(leaves)))
                    return self.module(*args, **kwargs)
                other = self._sides(leaves, tree)
                if other:
                    self.uncompiled.update(other)
                    return self.module(*args, **kwargs)
                if not self.options.fall_back:
                    raise
                module, mode = self.module, "training" if self.training else "evaluation"
                message = f"gnnc leaves {type(module).__name__} to PyTorch in {mode} mode: {error}"
                result, compiled = self._by_parts(args, kwargs)
                refused.add((*modes_of(module), len(leaves)))
                message += f"; compiled in it: {', '.join(compiled)}" if compiled else ""
                warnings.warn(message, stacklevel=2)
                return result
            self.last = last
        if whole and self._differs(last, leaves, args, kwargs):
            return self.module(*args, **kwargs)
        try:
            bound = last.executor.bind(leaves)
        except EmptyListError:  # a branch for empty graphs, or the module's own error
            if not whole:
                raise
            return self.module(*args, **kwargs)
        operands = last.executor.operands(bound, leaves, last.parameters())
        return last.result(_autograd.call(last.executor, bound, operands), leaves, bound)

    def _differs(
        self, last: Specialization, leaves: Sequence[Any], args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> bool:
        """Whether PyTorch is to run a call, which has hardly any elements."""
        if last.few.kind(leaves) is None:
            return False
        with _alone.alone():  # the module may be run on copies of its buffers
            return last.few.differs(last, self.module, leaves, args, kwargs)

    def prefetch(self, *args: Any, **kwargs: Any) -> None:
        """As CompiledModule has it."""
        # No state is looked at or written: another thread may be calling, under an autocast that this one is not under.
        mixed = self._mixed
        if mixed is not None and mixed is not self:
            return mixed.prefetch(*args, **kwargs)
        if _containers.has_containers(args, kwargs):
            layout = _containers.layout_of(args, kwargs)
            other = self._by_layout.get(layout)
            if other is not None and other.training == self.training:
                other.prefetch(*_containers.spread(args, kwargs, layout))
            return
        leaves, tree = pytree.tree_flatten((args, kwargs))
        other = self._other(leaves, tree)
        if other is not None:
            other.prefetch(*_arranged.to_front(leaves, other.module.arrangement.arguments))
            return
        places, sized = self._sized(leaves, tree) if self._by_numbers else (frozenset(), None)
        if sized is not None:
            given, named = pytree.tree_unflatten(_numbers.as_sizes(leaves, places), tree)
            sized.prefetch(*given, **named)
            return
        last: Specialization | None = self.last
        known = self.specializations if last is None else [last, *self.specializations]
        found = next((each for each in known if each.accepts(leaves, tree)), None)
        if found is not None and not has_few(leaves):
            try:
                found.executor.prefetch(leaves)
            except Error:
                pass

    def _is_refused_few(self, leaves: Sequence[Any], tree: Any) -> bool:
        """Whether nothing could be compiled for such a call, which has hardly any elements."""
        few = self._few
        if not few or (*modes_of(self.module), tree, *kind_of(leaves)) not in few:
            return False
        return not any(each.is_for(leaves, tree) for each in self.specializations)

    def _sides(self, leaves: Sequence[Any], tree: Any) -> list[tuple[Any, ...]]:
        """Of what was compiled for other sides of branches than these arguments take: which these take."""
        known = self.specializations
        found = [each.other_side(leaves, tree) for each in known if each.artifact.branches is not None]
        return [each for each in found if each is not None]

    def _runs_itself_on_a_side(self, leaves: Sequence[Any], tree: Any) -> bool:
        """Whether branches take a side that is refused."""
        refused = self.uncompiled
        return bool(refused) and not refused.isdisjoint(self._sides(leaves, tree))

    def _sized(self, leaves: Sequence[Any], tree: Any) -> tuple[frozenset[int], Runner | None]:
        """The compiled module for arguments like these to which some integers are sizes, and which."""
        places, other = self._by_numbers.get(_kinds(leaves, tree), (frozenset(), None))
        return places, other if all(_numbers.is_number(leaves[place]) for place in places) else None

    def _all(self) -> Iterator[Runner]:
        """This, and those that run some of its calls."""
        yield self
        sized = [other for _, other in self._by_numbers.values()]
        for each in (*self._others.values(), *self._by_layout.values(), *self._by_precision.values(), *sized):
            yield from each._all()

    def _call_sized(self, other: Runner, leaves: Sequence[Any], tree: Any, places: frozenset[int]) -> Any:
        other.module.training = self.module.training
        args, kwargs = pytree.tree_unflatten(_numbers.as_sizes(leaves, places), tree)
        return other(*args, **kwargs)

    def _prepare_sized(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Runner | None:
        """What runs arguments like these, where integers are sizes that may differ: those that the user says, or, of an
        argument that has differed in nothing else, all. None: there are none, or they have to be compiled in."""
        leaves, tree = pytree.tree_flatten((args, kwargs))
        kinds, module, options = _kinds(leaves, tree), self.module, self.options
        if kinds in self._constant or kinds in self._by_numbers:
            return None
        if not any(map(_numbers.is_number, leaves)):
            return None
        names = [name for name, _ in _numbers.names_of(module, args, kwargs)]
        varying = {name for name, may in options.dynamic.items() if may}
        for each in self.specializations:
            example = each.example
            if example.modes != modes_of(module) or _kinds(example.leaves(), example.tree) != kinds:
                continue
            differing = [i for i, leaf in enumerate(leaves) if each.types[i] is None and leaf != each.constants[i]]
            if all(_numbers.is_number(leaves[i]) and _numbers.is_number(each.constants[i]) for i in differing):
                varying |= {names[i] for i in differing if options.dynamic.get(names[i], True)}
        places = frozenset(
            i for i, leaf in enumerate(leaves) if _numbers.is_number(leaf) and leaf > 1 and names[i] in varying
        )
        if not places:
            return None
        other = Runner(_numbers.sized(module, places), options)
        larger = _small.enlarged(leaves, tree, self.specializations) or leaves
        given, named = pytree.tree_unflatten(_numbers.as_sizes(larger, places, example=True), tree)
        try:
            found = other.prepare(given, named)
        except FirstCallFills:
            raise
        except Error:
            found = None
        fixed = found.artifact.fixed if isinstance(found, Specialization) else []
        if found is None or places <= {leaf for leaf, *_ in fixed}:
            self._constant.add(kinds)
            return None
        self._by_numbers[kinds] = places, other
        return other

    def _of_containers(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Runner, list[Any]]:
        """The compiled module that is given what containers have in them, and that."""
        layout = _containers.layout_of(args, kwargs)
        module, others = self.module, self._by_layout
        other = others.get(layout)
        if other is None:
            inner = _containers.spreading(module, args, kwargs, layout)
            other = others[layout] = Runner(inner, self.options)
        other.module.training = module.training
        return other, _containers.spread(args, kwargs, layout)

    def prepare(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Specialization | Runner:
        """What runs arguments like these, compiled now if need be: a specialization, or, where the axis of nodes is not the
        first, another module. Raises Error."""
        if _containers.has_containers(args, kwargs):
            other, given = self._of_containers(args, kwargs)
            other.prepare(tuple(given), {})
            return other
        leaves = pytree.tree_leaves((args, kwargs))
        device = _device_of(leaves)
        if torch.is_autocast_enabled(device):
            mixed = self._under_precision(device, leaves)
            with torch.autocast(device, enabled=False):
                return mixed.prepare(args, kwargs)
        _lazy.initialise(self.module, args, kwargs)
        other = self._prepare_sized(args, kwargs)
        if other is not None:
            return other
        try:
            return self._specialization(args, kwargs)
        except _arranged.Arrangement as found:
            leaves, tree = pytree.tree_flatten((args, kwargs))
            inner = _arranged.arranged(self.module, found, tree)
            # Its other axes are none of elements.
            options: Options = self.options
            other = Runner(inner, replace(options, compiler=(*options.compiler, "--one-axis")))
            try:
                other._specialization(tuple(_arranged.to_front(leaves, found.arguments)), {})
            except CompileError:
                # Then all sizes of that argument are compiled in, or the module is refused for the first reason.
                self._unmoved.add(_ranks(leaves, tree))
                return self._specialization(args, kwargs)
            self._others[_ranks(leaves, tree)] = other
            return other

    def _other(self, leaves: Sequence[Any], tree: Any) -> Runner | None:
        others = self._others
        return others.get(_ranks(leaves, tree)) if others else None

    def _call_other(self, other: Runner, leaves: Sequence[Any]) -> Any:
        inner = other.module
        inner.training = self.training
        result = other(*_arranged.to_front(leaves, inner.arrangement.arguments))
        results, tree = pytree.tree_flatten(result)
        return pytree.tree_unflatten(_arranged.from_front(results, inner.arrangement.results), tree)

    def _by_parts(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, list[str]]:
        """The module's own result, and the submodules that have been compiled in their places for the calls to come."""
        from ._optimize import Parts, recorded_calls

        module = self.module
        with recorded_calls(module) as calls:
            result = module(*args, **kwargs)
        parts = Parts(calls, self.options.progress)
        parts.descend(module)
        return result, parts.report.compiled

    def _under_autocast(self, device: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Computed in mixed precision on a GPU and in float32 on a CPU; outputs in the types that PyTorch gives them."""

        def widen(leaf: Any) -> Any:
            return leaf.float() if isinstance(leaf, Tensor) and leaf.dtype in (torch.float16, torch.bfloat16) else leaf

        dtype = torch.get_autocast_dtype(device)
        mixed = self._mixed = self._under_precision(device, pytree.tree_leaves((args, kwargs)))
        with torch.autocast(device, enabled=False):
            result = mixed(*pytree.tree_map(widen, args), **pytree.tree_map(widen, kwargs))
        leaves, tree = pytree.tree_flatten(result)
        types = self._types_under_autocast(device, dtype, mixed.last, args, kwargs)
        if types is None or len(types) != len(leaves):
            types = [dtype] * len(leaves)
        for i, (leaf, wanted) in enumerate(zip(leaves, types)):
            if wanted is not None and isinstance(leaf, Tensor) and leaf.is_floating_point():
                leaves[i] = leaf.to(wanted)
        return pytree.tree_unflatten(leaves, tree)

    def _under_precision(self, device: str, leaves: Sequence[Any]) -> Runner:
        """What runs calls under autocast on this device: of the same module, on GPUs with products and rows between
        kernels in autocast's type."""
        dtype = torch.get_autocast_dtype(device)
        name = {torch.bfloat16: "bf16", torch.float16: "f16"}.get(dtype) if device == "cuda" else None
        options: Options = self.options
        whole = torch.float64 in float_types(self.module, leaves)
        if (
            name is None
            or whole
            or any(each.partition("=")[0] in ("--autocast", "--dtype") for each in options.compiler)
        ):
            return self
        found = self._by_precision.get(dtype)
        if found is None:
            options = replace(options, compiler=(*options.compiler, "--autocast", name))
            found = self._by_precision[dtype] = Runner(self.module, options)
        return found

    def _types_under_autocast(
        self,
        device: str,
        dtype: torch.dtype,
        last: Specialization | None,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
    ) -> list[torch.dtype | None] | None:
        """Of each leaf of the result, as PyTorch has them. None: it does not say."""
        leaves, tree = pytree.tree_flatten((args, kwargs))
        module, known = self.module, self._types
        given = [leaf.dtype if isinstance(leaf, Tensor) else repr(leaf) for leaf in leaves]
        key = (device, dtype, str(tree), *given, *modes_of(module), -1 if last is None else last.place)
        if key not in known:
            with _alone.alone(), torch.autocast(device, dtype=dtype, cache_enabled=False):
                rehearsal = _effects.rehearse(module, args, kwargs)
            results = None if rehearsal is None else pytree.tree_leaves(rehearsal.result)
            known[key] = results and [leaf.dtype if isinstance(leaf, Tensor) else None for leaf in results]
        return known[key]

    def _specialization(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Specialization:
        leaves, tree = pytree.tree_flatten((args, kwargs))
        known: list[Specialization] = self.specializations
        found = next((each for each in known if each.is_for(leaves, tree)), None)
        if found is not None:
            return found
        with _alone.alone():
            found = next((each for each in known if each.is_for(leaves, tree)), None)
            if found is None:
                try:
                    found = self._compile(leaves, args, kwargs, known[-1].place + 1 if known else 0)
                except FirstCallFills:
                    raise
                except Error as error:
                    changed = [each.state.changes() for each in known if each.accepts(leaves, tree)]
                    if changed and all(changed):
                        name = type(self.module).__name__
                        message = f"{name} has changed since it was compiled, in {', '.join(changed[-1])}: {error}"
                        if isinstance(error, CompileError):
                            raise CompileError(message, error.details) from error
                        raise Error(message, error.status) from error
                    raise
                self._warn_of_repeats(known, found, args, kwargs)
                known[:] = [*[each for each in known if each.state.has_structure()][-MOST_KEPT:], found]
            return found

    def _warn_of_repeats(
        self, known: Sequence[Specialization], new: Specialization, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> None:
        """Says once what has cost another compilation, and will cost more."""
        if self._warned or not known:
            return
        module, dynamic = self.module, self.options.dynamic
        names = _numbers.names_of(module, args, kwargs)
        reason = _repeats.reason(known, new, pytree.tree_leaves((args, kwargs)), names, dynamic)
        if reason is not None:
            self._warned = True
            warnings.warn(f"gnnc compiles {type(module).__name__} for {reason}", stacklevel=2)

    def _compile(
        self, leaves: Sequence[Any], args: tuple[Any, ...], kwargs: dict[str, Any], place: int
    ) -> Specialization:
        tree = pytree.tree_structure((args, kwargs))
        larger = _small.enlarged(leaves, tree, self.specializations)
        if larger is not None:
            try:
                found = self._compile_for(larger, *pytree.tree_unflatten(larger, tree), place)
                if found.accepts(leaves, tree):
                    return found
            except Error:  # what is refused for most sizes may be none for these
                pass
        return self._compile_for(leaves, args, kwargs, place)

    def _compile_for(
        self, leaves: Sequence[Any], args: tuple[Any, ...], kwargs: dict[str, Any], place: int
    ) -> Specialization:
        module, options = self.module, self.options
        # Ranks have parts of different sizes, of which torch would take those of 0 and 1 for constants.
        for example in self.examples:
            if example.is_like(leaves, pytree.tree_flatten((args, kwargs))[1]):
                args, kwargs = example.arguments()
                leaves = pytree.tree_leaves((args, kwargs))
                break
        flags = compiler_options(module, leaves, options)
        with torch.no_grad() if torch.is_inference_mode_enabled() else torch.enable_grad():
            artifact = self._build(module, args, kwargs, flags)
        asked = variables_of(members_of(module), artifact.reads).switches
        if "is_grad_enabled" in asked and not torch.is_grad_enabled():
            artifact = self._build(module, args, kwargs, flags)
        if options.memory_limit is not None:
            unlimited = flags
            flags = [
                *flags,
                "--memory-limit",
                options.memory_limit,
                "--extents",
                self._extents(artifact, leaves, args, kwargs),
            ]
            with torch.no_grad() if torch.is_inference_mode_enabled() else torch.enable_grad():
                artifact = self._build(module, args, kwargs, flags)
            plans = Library(artifact.path).description.document.get("plans", ())
            segments = next(plan["segments"] for plan in plans if plan["chosen"])
            # What is compiled of it later has as many, and is not planned against the limit again.
            flags = [*unlimited, *(["--checkpoints", str(segments)] if segments > 1 else [])]
        with torch.no_grad() if torch.is_inference_mode_enabled() else torch.enable_grad():
            library = Library(artifact.path)
            along = [] if options.part is None else options.part.alongs(library.description)
            if along:
                artifact = self._build(module, args, kwargs, [*flags, "--along", ",".join(along)])
                library = Library(artifact.path)
        example = Example.of(module, args, kwargs)
        made = Specialization(module, example, artifact, library, options, place)
        made.flags = flags
        if made.executor.num_outputs > 1 and options.part is None and not along:
            # Not this itself, which may be gone when a backward pass of its asks for this.
            own: Any = SimpleNamespace(module=module, options=options, _unmoved=self._unmoved)
            own._build = MethodType(Runner._build, own)

            def build(names: Sequence[str]) -> Executor:
                return Runner._build_partial(own, made, flags, names)

            made.executor.partials = Partials(made.executor, build)
        return made

    def _extents(
        self, artifact: _export.Artifact, leaves: Sequence[Any], args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> str:
        """How many elements each space has in these arguments, as --extents has it."""
        module, library = self.module, Library(artifact.path)
        example = Example.of(module, args, kwargs)
        probe = Specialization(module, example, artifact, library, self.options)
        prepared = probe.executor.bind(leaves).prepared
        names = (space["name"] for space in library.description.document["spaces"])
        return ",".join(f"{name}={prepared.extent(name)}" for name in names)

    def _build_partial(self, known: Specialization, flags: Sequence[str], names: Sequence[str]) -> Executor:
        """An executor whose gradients are those of some results alone."""
        args, kwargs = known.example.arguments()
        module = self.module
        alone, mode = _alone.alone(by_autograd=known.on_device), _second.in_mode(module, known.example.modes)
        with alone, mode, torch.enable_grad():
            sides = _export.sides_of(known.artifact)
            artifact = self._build(module, args, kwargs, [*flags, "--cotangents", ",".join(names)], sides)
        whole = known.executor
        params = [name or "" for name in whole.operand_names[len(whole.value_leaves) : whole.num_given]]
        result = Executor(Library(artifact.path), artifact.leaf_names, params, whole.draws, leaf_ranks=whole.leaf_ranks)
        if result.operand_names != whole.operand_names:
            raise Error("the module has changed since the forward pass")
        result.reached, result.batches, result.restored = whole.reached, whole.batches, whole.restored
        result.pull_back, result.not_computed, result.partials = whole.pull_back, whole.not_computed, whole.partials
        return result

    def _build(
        self,
        module: nn.Module,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        flags: list[str],
        sides: Sides | None = None,
    ) -> _export.Artifact:
        """`sides`: of branches, if they are not those of the arguments."""
        leaves, tree = pytree.tree_flatten((args, kwargs))
        progress = self.options.progress
        arranges = not isinstance(module, _arranged.Arranged) and _ranks(leaves, tree) not in self._unmoved
        dynamic = self.options.dynamic
        if sides is None and self.options.part is None:  # ranks would take different sides
            sides = Sides()
        names = _numbers.names_of(module, args, kwargs) if dynamic else []
        held = frozenset(i for i, (name, _) in enumerate(names) if not dynamic.get(name, True))
        try:
            return _export.build(
                module,
                args,
                kwargs,
                flags,
                progress=progress,
                trains=True,
                arranges=arranges,
                held=held,
                sides=sides,
                keeps=self.options.part is None,
            )
        except CompileError as error:
            reason, of_sizes, _ = str(error).partition("; the sizes of all inputs are fixed")
            if not of_sizes:
                small = _export.small_sizes(leaves)
                if not small:
                    raise
                names = _numbers.names_of(module, args, kwargs)
                found = ", ".join(f"'{names[i][1]}' {list(leaves[i].shape)}" for i in small)
                message = f"of the example {found} torch takes sizes of 0 and 1 for constants: give it more rows"
                message = f"{error}; {message}"
                raise CompileError(message, error.details) from error
            found = ", ".join(str(list(leaf.shape)) for leaf in leaves if isinstance(leaf, Tensor))
            message = (
                f"{reason}; all sizes of the arguments {found} would be compiled in: torch takes sizes of 0 and 1 for "
                f"constants, and {_repeats.FIXES_SIZES}"
            )
            raise CompileError(message, error.details) from error

    def partitioned(self, part: PartFile) -> Runner:
        """As CompiledModule has it."""
        options = self.options
        compiler = (*options.compiler, *(["--distributed"] if "--distributed" not in options.compiler else []))
        if options.memory_limit is not None:
            raise Error("memory_limit: expected none for a rank's part of a graph, found " + options.memory_limit, 1)
        graphs = PartGraphs(part)
        result = Runner(self.module, Options(compiler, options.progress, False, graphs))
        made = self.specializations
        result.examples = [known.example for known in made if known.state.is_current()]
        for example in result.examples:
            if example.modes == modes_of(self.module):
                result.prepare(*example.arguments())
        return result

    def report(self, path: str | os.PathLike[str] | None, *, open_page: bool) -> Path:
        """As CompiledModule has it."""
        made = self.specializations
        known = next((each for each in made if each.state.is_in_mode() and each.state.is_current()), None)
        if known is None:
            raise Error("nothing is compiled yet: call the module, or compile it with example inputs")
        module = self.module
        page = (
            Path(path) if path is not None else Path(tempfile.mkdtemp(prefix="gnnc-")) / f"{type(module).__name__}.html"
        )
        args, kwargs = known.example.arguments()
        leaves = pytree.tree_leaves((args, kwargs))
        options = known.flags or compiler_options(module, leaves, self.options)
        with tempfile.TemporaryDirectory() as folder, _alone.alone():
            output = Path(folder) / "model.so"
            options, sides = [*options, "--report", str(page)], _export.sides_of(known.artifact)
            _export.build(module, args, kwargs, options, output=output, trains=True, sides=sides, keeps=True)
        if open_page:
            webbrowser.open(page.absolute().as_uri())
        return page


def _is_tensor(value: Any) -> bool:
    return isinstance(value, Tensor)


def _device_of(leaves: Sequence[Any]) -> str:
    for leaf in leaves:
        if isinstance(leaf, Tensor) and leaf.is_cuda:
            return "cuda"
    return "cpu"


def _kinds(leaves: Sequence[Any], tree: Any) -> tuple[Any, ...]:
    """Of arguments that differ in numbers and sizes alone, the same."""
    return (tree, *((leaf.dtype, leaf.dim()) if isinstance(leaf, Tensor) else type(leaf) for leaf in leaves))


def _ranks(leaves: Sequence[Any], tree: Any) -> tuple[Any, ...]:
    return (tree, *(leaf.dim() if isinstance(leaf, Tensor) else -1 for leaf in leaves))


def float_types(module: nn.Module, leaves: Sequence[Any]) -> set[torch.dtype]:
    """Those of parameters, or of arguments where there are none."""
    floats = {p.dtype for p in module.parameters() if p.is_floating_point()}
    return floats or {leaf.dtype for leaf in leaves if isinstance(leaf, Tensor) and leaf.is_floating_point()}


def compiler_options(module: nn.Module, leaves: Sequence[Any], options: Options) -> list[str]:
    """Options of `gnnc compile` for these arguments. Raises CompileError for types that are not compiled."""
    floats = float_types(module, leaves)
    if not floats <= {torch.float32, torch.float64} or len(floats) > 1:
        found = ", ".join(sorted(str(dtype).rpartition(".")[2] for dtype in floats))
        raise CompileError(f"expected parameters of float32 or of float64, found {found}")
    result = ["--gradient", *options.compiler]
    if torch.float64 in floats:
        result += ["--dtype", "f64"]
    if any(isinstance(leaf, Tensor) and leaf.is_cuda for leaf in leaves):
        major, minor = torch.cuda.get_device_capability()
        result += ["--target", "cpu,cuda", "--arch", f"sm_{major}{minor}"]
        if torch.get_float32_matmul_precision() != "highest" and not any(
            each.partition("=")[0] == "--products" for each in options.compiler
        ):
            result += ["--products", "tf32"]
    return result


def summary(known: Specialization) -> str:
    """Kernels and bytes of an object, in a line."""
    found = known.executor.library
    kernels = [
        kernel for kernel in found.description.document.get("kernels", ()) if kernel.get("function") == "forward"
    ]
    backward = [kernel for kernel in found.description.document.get("kernels", ()) if kernel.get("half") == "backward"]
    mode = "training" if known.example.modes[0] else "evaluation"
    size = found.path.stat().st_size / 1024
    return f"{mode}: {len(kernels)} kernels forward, {len(backward)} backward, {size:.0f} KiB ({found.path.name[:12]})"
