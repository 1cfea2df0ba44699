# Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
# See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Programs of a compiled model on tensors of PyTorch, without derivatives.

`bind` checks the arguments of a call and finds the prepared graph; what it returns holds for all calls with the same
graph and the same shapes, so that a call on a known graph compares, allocates its outputs and calls C once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from .. import _abi, _cache
from .._arguments import Arguments
from .._arrays import View
from .._description import Description, Program, Value
from .._errors import Error
from .._exported import ExportedArguments, make_arguments
from .._graph import Call, Prepared
from .._library import Lease, Library
from .._model import prepare_known
from . import _device

if TYPE_CHECKING:
    from ._second import PullBack

TYPES = {"f32": torch.float32, "f64": torch.float64, "f16": torch.float16, "bf16": torch.bfloat16}


def same_constant(given: Any, known: Any) -> bool:
    """Whether an argument that is no tensor is what was compiled in: 1, 1.0 and True are equal, but three arguments."""
    return given is known or (type(given) is type(known) and not isinstance(given, Tensor) and bool(given == known))


class Plan:
    """A program as calls see it: which operand, cotangent, output or computed input goes to each of its bindings.

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
        # Bindings may come in any order: operands, then cotangents, then what was computed with the graph.
        self.names = tuple(name for kind in kinds for name in order if name in kind)
        self.outputs = [value for value in program.outputs]


def _is_optional(executor: Executor, name: str) -> bool:
    found = executor.library.description.find(name)
    return found is not None and found.optional


class Site:
    """A program on a prepared graph: everything about a call that is the same each time."""

    __slots__ = ("calls", "computed", "plan", "prepared", "shapes", "workspace_bytes")

    def __init__(self, plan: Plan, prepared: Prepared, computed: dict[str, View]) -> None:
        self.plan, self.prepared = plan, prepared
        self.computed = [computed[name].pointer for name in plan.computed]
        self.shapes = [(value.shape(prepared.extent), TYPES[value.dtype]) for value in plan.outputs]
        self.workspace_bytes = prepared.workspace_bytes(plan.name)
        self.calls = prepared.calls(plan.name, plan.names)

    def take(self) -> Call:
        try:
            return self.calls.pop()
        except IndexError:
            return self.prepared.new_call(self.plan.name, self.plan.names)


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
    sites: dict[str, Site]

    def matches(self, leaves: Sequence[Any]) -> bool:
        """Whether these are the index tensors of this graph, unchanged. Shapes of inputs are not looked at."""
        for i, held, version, pointer, shape, stride in self.guards:
            leaf = leaves[i]
            if leaf is not held or leaf._version != version or leaf.data_ptr() != pointer:
                return False
            if leaf.shape != shape or leaf.stride() != stride:
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

    def site(self, plan: Plan) -> Site:
        found = self.sites.get(plan.name)
        if found is None:
            found = self.sites[plan.name] = Site(plan, self.prepared, self.computed)
        return found

    def fits(self, operands: Sequence[Tensor]) -> bool:
        """Whether inputs and parameters can be passed as they are."""
        number = self.number
        for tensor, (shape, dtype) in zip(operands, self.operands):
            if tensor.shape != shape or tensor.dtype is not dtype or tensor.get_device() != number:
                return False
            if not tensor.is_contiguous() or (number >= 0 and tensor.data_ptr() % _device.ALIGNMENT):
                return False
        return True

    def dense(self, tensor: Tensor) -> Tensor:
        """The tensor, or a copy that is as the model reads it: without gaps, and on a GPU at an aligned address."""
        if not tensor.is_contiguous():
            return tensor.contiguous()
        return tensor.clone() if self.number >= 0 and tensor.data_ptr() % _device.ALIGNMENT else tensor


class Executor:
    """One object, given the leaves of a module's arguments.

    `leaf_names`: the name in the model of each leaf (None: not used by it). `param_names`: of parameters and buffers, in
    the order in which calls give them.
    """

    def __init__(self, library: Library, leaf_names: Sequence[str | None], param_names: Sequence[str]) -> None:
        self.library = library
        found = library.description
        self.arguments: Arguments | ExportedArguments = make_arguments(found)
        #: Of leaves that the model does not use, None.
        leaf_names = self.leaf_names = [name if name in self.arguments.names else None for name in leaf_names]
        self.value_leaves = [
            i for i, name in enumerate(leaf_names) if name in found.inputs and not found.inputs[name].source
        ]
        self.operand_names = [leaf_names[i] for i in self.value_leaves] + list(param_names)
        self.operand_values = [_find(found, name or "") for name in self.operand_names]
        self.computed_names = [name for name, value in found.inputs.items() if value.source]
        self.cotangent_names = [value.name for value in found.inputs.values() if value.gradient]
        forward = found.programs["forward"]
        self.num_outputs = len(forward.outputs)
        self.output_names = [value.name for value in forward.outputs]
        self.forward = Plan(self, forward)
        self.gradient = self._plan("gradient")
        self.first_half = self._plan("gradient.forward")
        self.second_half = self._plan("gradient.backward", after="gradient.forward")
        self.again = self._needed_again()
        #: Of each operand, what its gradient is called in the model.
        self.gradient_names = [self._gradient_name(name or "") for name in self.operand_names]
        #: Of each `grad.y` of the model, the number of output y.
        self.seeds = [self.output_names.index(name[len("grad.") :]) for name in self.cotangent_names]
        #: The derivative as something that can be differentiated again; None: it cannot.
        self.pull_back: PullBack | None = None
        self._last: Bound | None = None
        self._checks = _cache.checks_contents()

    def _plan(self, name: str, after: str = "") -> Plan | None:
        programs = self.library.description.programs
        return Plan(self, programs[name], programs.get(after)) if name in programs else None

    def _gradient_name(self, name: str) -> str | None:
        found = [] if self.gradient is None else [value.name for value in self.gradient.outputs]
        return f"grad.{name}" if f"grad.{name}" in found else None

    def _needed_again(self) -> list[str]:
        """The outputs that the second half of the gradient reads."""
        if self.second_half is None or self.first_half is None:
            return []
        return [value.name for value in self.second_half.outputs if value.name in self.output_names]

    def known(self, leaves: Sequence[Any], params: Sequence[Tensor]) -> tuple[Bound, list[Tensor]] | None:
        """`bind` and `operands` where nothing but numbers has changed since the last call; else None. This is all that a
        call on a known graph costs before it runs."""
        last = self._last
        if last is None or self._checks or not last.matches(leaves):
            return None
        operands = [leaves[i] for i in self.value_leaves]
        operands += params
        return (last, operands) if last.fits(operands) else None

    def bind(self, leaves: Sequence[Any]) -> Bound:
        """The graph of these leaves (tensors, numbers, None), prepared if it is not known. Raises Error."""
        arguments = {
            name: leaf for name, leaf in zip(self.leaf_names, leaves) if name is not None and isinstance(leaf, Tensor)
        }
        resolved = self.arguments.resolve(
            {name: leaf.detach() if leaf.requires_grad else leaf for name, leaf in arguments.items()}
        )
        space = resolved.missing(
            [name for name in self.forward.program.needs if name in self.library.description.roots]
        )
        if space is not None:
            raise Error(f"the number of elements of space '{space}' is not known", 1)
        device = resolved.device or (_abi.CPU, 0)
        prepared = prepare_known(self.library, resolved, device)
        return self._bound(leaves, prepared, device)

    def _bound(self, leaves: Sequence[Any], prepared: Prepared, device: tuple[int, int]) -> Bound:
        extent = prepared.extent
        bound = Bound(
            prepared=prepared,
            device=device,
            torch_device=torch.device("cpu") if device[0] == _abi.CPU else torch.device("cuda", device[1]),
            on_cpu=device[0] == _abi.CPU,
            number=-1 if device[0] == _abi.CPU else device[1],
            guards=[],
            others=[],
            unused=[],
            operands=[(value.shape(extent), TYPES[value.dtype]) for value in self.operand_values],
            leaves=list(leaves),
            kept=[],
            sites={},
            computed=prepared.values,
        )
        values = set(self.value_leaves)
        inference = False
        for i in values:
            bound.leaves[i] = None
        for i, leaf in enumerate(leaves):
            if not isinstance(leaf, Tensor):
                bound.others.append((i, leaf))
            elif i in values:
                self._check(self.library.description.inputs[self.leaf_names[i] or ""], leaf, bound)
            elif self.leaf_names[i] is None:
                bound.unused.append((i, leaf.dtype, leaf.shape))
            elif leaf.is_inference():
                inference = True
            else:
                bound.kept.append(leaf.detach())
                bound.guards.append((i, leaf, leaf._version, leaf.data_ptr(), leaf.shape, leaf.stride()))
        if not inference:
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
        result = [leaves[i] for i in self.value_leaves]
        result.extend(params)
        for i, (tensor, (shape, dtype)) in enumerate(zip(result, bound.operands)):
            name = self.operand_names[i]
            if tensor.shape != shape:
                raise Error(f"'{name}': expected shape {list(shape)}, found {list(tensor.shape)}", 1)
            if tensor.device != bound.torch_device:
                raise Error(f"'{name}': expected a tensor on {bound.torch_device}, found {tensor.device}", 1)
            if tensor.dtype is not dtype:
                tensor = _converted(tensor, self.operand_values[i])
            result[i] = bound.dense(tensor)
        return result

    def run_forward(self, bound: Bound, operands: Sequence[Tensor]) -> list[Tensor]:
        """The outputs, in the model's order."""
        site = bound.site(self.forward)
        device = bound.torch_device
        outputs = [torch.empty(shape, dtype=dtype, device=device) for shape, dtype in site.shapes]
        workspace = self._workspace(bound, site)
        try:
            self._run(site, bound, operands, (), outputs, workspace)
        finally:
            workspace.release()
        return outputs

    def run_first_half(self, bound: Bound, operands: Sequence[Tensor]) -> tuple[list[Tensor], Any]:
        """The outputs, and the workspace that `run_second_half` goes on with."""
        if self.first_half is None or self.second_half is None:
            return self.run_forward(bound, operands), None
        site = bound.site(self.first_half)
        device = bound.torch_device
        outputs = [torch.empty(shape, dtype=dtype, device=device) for shape, dtype in site.shapes]
        workspace = self._workspace(bound, site)
        lease = Lease(workspace)
        self._run(site, bound, operands, (), outputs, workspace)
        return outputs, lease

    def run_second_half(
        self,
        bound: Bound,
        operands: Sequence[Tensor],
        cotangents: Sequence[Tensor],
        outputs: dict[str, Tensor],
        lease: Any,
    ) -> dict[str, Tensor]:
        """Gradients by their names in the model. `outputs`: those of the first half that the second reads. Without the
        first half's workspace everything is computed again."""
        plan = self.second_half if lease is not None else self.gradient
        if plan is None:
            raise Error("the model was compiled without gradients", 4)
        site = bound.site(plan)
        device = bound.torch_device
        known = outputs if lease is not None else {}
        targets = [
            known[value.name] if value.name in known else torch.empty(shape, dtype=dtype, device=device)
            for value, (shape, dtype) in zip(plan.outputs, site.shapes)
        ]
        own = Lease(self._workspace(bound, site)) if lease is None else lease
        self._run(site, bound, operands, cotangents, targets, own.workspace)
        return {value.name: tensor for value, tensor in zip(plan.outputs, targets)}

    def _workspace(self, bound: Bound, site: Site) -> Any:
        if bound.on_cpu:
            return self.library.workspace(site.workspace_bytes)
        return _device.Workspace(site.workspace_bytes, bound.torch_device)

    def _run(
        self,
        site: Site,
        bound: Bound,
        operands: Sequence[Tensor],
        cotangents: Sequence[Tensor],
        outputs: Sequence[Tensor],
        workspace: Any,
    ) -> None:
        plan = site.plan
        inputs = [operands[i].data_ptr() for i in plan.operands]
        if plan.cotangents:
            inputs += [cotangents[i].data_ptr() for i in plan.cotangents]
        inputs += site.computed
        pointers = [tensor.data_ptr() for tensor in outputs]
        call = site.take()
        try:
            if bound.on_cpu:
                context = self.library.context(bound.device, torch.get_num_threads())
                call(context, inputs, pointers, workspace.pointer, workspace.size)
            else:
                _device.launch(call, bound.prepared, self.library.context(bound.device), inputs, pointers, workspace)
        finally:
            site.calls.append(call)


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
