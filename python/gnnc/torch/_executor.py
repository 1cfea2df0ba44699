# Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
# See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Programs of a compiled model on tensors of PyTorch, without derivatives.

`bind` checks the arguments of a call and finds the prepared graph; what it returns holds for all calls with the same
graph and the same shapes, so that a call on a known graph compares, allocates its outputs and calls C once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from .. import _abi, _cache
from .._arguments import Arguments
from .._description import Program, Value
from .._errors import Error
from .._exported import ExportedArguments, make_arguments
from .._graph import Prepared
from .._library import Library
from .._model import prepare_known
from . import _device

TYPES = {"f32": torch.float32, "f64": torch.float64, "f16": torch.float16, "bf16": torch.bfloat16}


class Plan:
    """A program as calls see it: which operand, cotangent, output or computed input goes to each of its bindings."""

    def __init__(self, executor: Executor, program: Program) -> None:
        self.program = program
        self.name = program.name
        operands = {name: i for i, name in enumerate(executor.operand_names)}
        self.operands: list[int] = []
        self.cotangents: list[int] = []
        self.computed: list[str] = []
        order = []
        for name in program.inputs:
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


@dataclass
class Bound:
    """A prepared graph, and what calls on it are checked against and allocate."""

    prepared: Prepared
    device: tuple[int, int]
    torch_device: torch.device
    #: Index tensors, by the number of the leaf: the tensor, its version, address, shape and strides.
    guards: list[tuple[int, Tensor, int, int, torch.Size, tuple[int, ...]]]
    #: Inputs: shape and type.
    values: list[tuple[int, torch.Size, torch.dtype]]
    #: What is no tensor.
    others: list[tuple[int, Any]]
    #: Shapes of inputs and parameters, and of outputs with their types.
    operands: list[tuple[int, ...]]
    shapes: list[tuple[tuple[int, ...], torch.dtype]]
    #: Inputs that were computed with the graph.
    computed: dict[str, Tensor]
    #: Aliases of the index tensors: their own memory could be exchanged through `.data`.
    kept: list[Tensor]

    def matches(self, leaves: Sequence[Any]) -> bool:
        """Whether these are arguments of the same graph and the same shapes. All that a known graph costs."""
        for i, held, version, pointer, shape, stride in self.guards:
            leaf = leaves[i]
            if leaf is not held or leaf._version != version or leaf.data_ptr() != pointer:
                return False
            if leaf.shape != shape or leaf.stride() != stride:
                return False
        for i, shape, dtype in self.values:
            leaf = leaves[i]
            if leaf.shape != shape or leaf.dtype is not dtype or leaf.device != self.torch_device:
                return False
        for i, known in self.others:
            if leaves[i] != known:
                return False
        return True


class Executor:
    """One object, given the leaves of a module's arguments.

    `leaf_names`: the name in the model of each leaf (None: not used by it). `param_names`: of parameters and buffers, in
    the order in which calls give them.
    """

    def __init__(self, library: Library, leaf_names: Sequence[str | None], param_names: Sequence[str]) -> None:
        self.library = library
        found = library.description
        self.leaf_names = list(leaf_names)
        self.arguments: Arguments | ExportedArguments = make_arguments(found)
        self.value_leaves = [
            i for i, name in enumerate(leaf_names) if name in found.inputs and not found.inputs[name].source
        ]
        self.operand_names = [leaf_names[i] for i in self.value_leaves] + list(param_names)
        self.operand_values: list[Value | None] = [found.find(name or "") for name in self.operand_names]
        self.computed_names = [name for name, value in found.inputs.items() if value.source]
        self.cotangent_names = [value.name for value in found.inputs.values() if value.gradient]
        forward = found.programs["forward"]
        self.num_outputs = len(forward.outputs)
        self.output_names = [value.name for value in forward.outputs]
        self.forward = Plan(self, forward)
        self.gradient = self._plan("gradient")
        self.first_half = self._plan("gradient.forward")
        self.second_half = self._plan("gradient.backward")
        self.param_types = [TYPES[value.dtype] for value in self.operand_values[len(self.value_leaves) :] if value]
        self._last: Bound | None = None
        self._checks = _cache.checks_contents()

    def _plan(self, name: str) -> Plan | None:
        program = self.library.description.programs.get(name)
        return Plan(self, program) if program is not None else None

    def bind(self, leaves: Sequence[Any]) -> Bound:
        """The graph of these leaves (tensors, numbers, None), prepared if it is not known. Raises Error."""
        last = self._last
        if last is not None and not self._checks and last.matches(leaves):
            return last
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
        if device[0] == _abi.CUDA:
            _device.before_preparing()
        prepared = prepare_known(self.library, resolved, device)
        return self._bound(leaves, prepared, device)

    def _bound(self, leaves: Sequence[Any], prepared: Prepared, device: tuple[int, int]) -> Bound:
        extent = prepared.extent
        bound = Bound(
            prepared=prepared,
            device=device,
            torch_device=torch.device("cpu") if device[0] == _abi.CPU else torch.device("cuda", device[1]),
            guards=[],
            values=[],
            others=[],
            operands=[value.shape(extent) if value is not None else () for value in self.operand_values],
            shapes=[(value.shape(extent), TYPES[value.dtype]) for value in self.forward.outputs],
            kept=[],
            computed={name: given.owner for name, given in prepared.values.items()},
        )
        values = set(self.value_leaves)
        inference = False
        for i, leaf in enumerate(leaves):
            if not isinstance(leaf, Tensor):
                bound.others.append((i, leaf))
            elif i in values:
                self._check(self.library.description.inputs[self.leaf_names[i] or ""], leaf, bound)
                bound.values.append((i, leaf.shape, leaf.dtype))
            elif leaf.is_inference():
                inference = True
            elif self.leaf_names[i] is not None:
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
        for i, (tensor, shape) in enumerate(zip(result, bound.operands)):
            if tensor.shape != shape:
                name = self.operand_names[i]
                raise Error(f"'{name}': expected shape {list(shape)}, found {list(tensor.shape)}", 1)
            if not tensor.is_contiguous():
                result[i] = tensor.contiguous()
            value = self.operand_values[i]
            if value is not None and tensor.dtype is not TYPES[value.dtype]:
                result[i] = _converted(result[i], value)
            if tensor.device != bound.torch_device:
                raise Error(
                    f"'{self.operand_names[i]}': expected a tensor on {bound.torch_device}, found {tensor.device}", 1
                )
        return result

    def run_forward(self, bound: Bound, operands: Sequence[Tensor]) -> list[Tensor]:
        """The outputs, in the model's order."""
        outputs = self._empty(bound, self.forward.outputs)
        self._run(self.forward, bound, operands, (), outputs, None)
        return outputs

    def run_first_half(self, bound: Bound, operands: Sequence[Tensor]) -> tuple[list[Tensor], Any]:
        """The outputs, and the workspace that `run_second_half` goes on with."""
        if self.first_half is None or self.second_half is None:
            return self.run_forward(bound, operands), None
        outputs = self._empty(bound, self.first_half.outputs)
        workspace = self._workspace(bound, self.first_half)
        self._run(self.first_half, bound, operands, (), outputs, workspace)
        return outputs, workspace

    def run_second_half(
        self,
        bound: Bound,
        operands: Sequence[Tensor | None],
        cotangents: Sequence[Tensor],
        outputs: dict[str, Tensor],
        workspace: Any,
    ) -> dict[str, Tensor]:
        """Gradients by their names in the model. `outputs`: those of the first half that the second reads. Without a
        workspace everything is computed again, from all operands."""
        if workspace is not None:
            plan, known = self.second_half, outputs
        else:
            plan, known = self.gradient, {}
        assert plan is not None
        fresh = self._empty(bound, [value for value in plan.outputs if value.name not in known])
        rest = iter(fresh)
        targets = [known[value.name] if value.name in known else next(rest) for value in plan.outputs]
        self._run(plan, bound, operands, cotangents, targets, workspace)
        return {value.name: tensor for value, tensor in zip(plan.outputs, targets)}

    @property
    def needed_again(self) -> tuple[list[int], list[str]]:
        """The operands, by number, and the outputs, by name, that `run_second_half` reads."""
        if self.second_half is None:
            assert self.gradient is not None
            return sorted(self.gradient.operands), []
        known = [value.name for value in self.second_half.outputs if value.name in self.output_names]
        return sorted(self.second_half.operands), known

    def _empty(self, bound: Bound, values: Sequence[Value]) -> list[Tensor]:
        extent, device = bound.prepared.extent, bound.torch_device
        return [torch.empty(value.shape(extent), dtype=TYPES[value.dtype], device=device) for value in values]

    def _workspace(self, bound: Bound, plan: Plan) -> Any:
        size = bound.prepared.workspace_bytes(plan.name)
        if bound.device[0] == _abi.CPU:
            return self.library.workspace(size)
        return _device.Workspace(size, bound.torch_device)

    def _run(
        self,
        plan: Plan,
        bound: Bound,
        operands: Sequence[Any],
        cotangents: Sequence[Tensor],
        outputs: Sequence[Tensor],
        workspace: Any,
    ) -> None:
        prepared = bound.prepared
        if workspace is None:
            workspace = self._workspace(bound, plan)
        inputs = [operands[i].data_ptr() for i in plan.operands]
        inputs += [cotangents[i].data_ptr() for i in plan.cotangents]
        inputs += [bound.computed[name].data_ptr() for name in plan.computed]
        pointers = [tensor.data_ptr() for tensor in outputs]
        call = prepared.take(plan.name, plan.names)
        try:
            if bound.device[0] == _abi.CPU:
                context = self.library.context(bound.device, torch.get_num_threads())
                call(context, inputs, pointers, workspace.pointer, workspace.size)
            else:
                _device.launch(call, prepared, self.library.context(bound.device), inputs, pointers, workspace)
        finally:
            prepared.give(plan.name, plan.names, call)


def _converted(tensor: Tensor, value: Value) -> Tensor:
    """Under autocast numbers come in 16 bits; booleans and integers are numbers here."""
    if tensor.dtype in (torch.float64,) and value.dtype != "f64":
        raise Error(f"'{value.name}': expected float32, found float64", 1)
    return tensor.to(TYPES[value.dtype])
