# Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
# See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compiled models on arrays: `load`, `Model` and `Graph`."""

from __future__ import annotations

import os
from collections.abc import Mapping
from math import prod
from typing import Any

from . import _abi, _cache, _safetensors
from ._arguments import Resolved, elements_of
from ._arrays import View, as_floats, empty_like, view
from ._description import Program, Value
from ._errors import Error
from ._exported import make_arguments
from ._graph import Description, Prepared, describe_call
from ._library import Library


class Graph:
    """A graph that is prepared by hand, ahead of time: `model(x=x, graph=graph)`.

    `arguments`: the model's index arrays, as in a call (`edge_index=` [2, E], and so on; see `Model.graph_arguments`).
    `extents`: elements of root spaces, such as `{"node": 2708}`; those that an index array is as long as need not be
    given. `capacities`: the largest extents that `update` may give later. `tuning`: the contents of a file that
    `gnnc tune` wrote. `part`: of a rank of several, with `gnnc.ranks`. Raises `Error` where an index is out of range or
    an extent is missing.
    """

    def __init__(
        self,
        model: Model,
        *,
        extents: Mapping[str, int] | None = None,
        capacities: Mapping[str, int] | None = None,
        tuning: str | None = None,
        part: Any = None,
        **arguments: Any,
    ) -> None:
        self.model = model
        #: Inputs that came with the graph.
        self.inputs: dict[str, Any] = {}
        resolved = model._arguments.resolve(arguments, extents)
        data = resolved.data()
        capacities = elements_of(capacities, model._description.roots, "capacities")
        device = resolved.device or (_abi.CPU, 0)
        description = Description(data.extents, data.indices, capacities, tuning, _stream(device))
        self.prepared = Prepared(model._library, device, description, part)
        self.prepared.values = dict(data.values)

    def update(self, *, extents: Mapping[str, int] | None = None, **arguments: Any) -> None:
        """Replaces the graph by another one, within the capacities. All runs on it must have finished."""
        data = self.model._arguments.resolve(arguments, extents).data()
        self.prepared.update(Description(data.extents, data.indices, stream=_stream(self.prepared.device)))
        self.prepared.values = dict(data.values)

    def extent(self, space: str) -> int:
        """Elements of any space of the model, derived ones too; -1 for an unknown name."""
        return self.prepared.extent(space)

    @property
    def nbytes(self) -> int:
        """Memory that it holds, on the host and on the device."""
        return self.prepared.nbytes

    def workspace_bytes(self, program: str = "forward") -> int:
        """Memory that one run of a program needs on this graph."""
        return self.prepared.workspace_bytes(program)

    def describe(self) -> dict[str, Any]:
        """What was chosen for this graph, and why."""
        return self.prepared.describe()


class Model:
    """A compiled model. `load` makes one.

    Calling it runs `forward`: `model(x=x, edge_index=edge_index)`. Arguments are arrays of NumPy, tensors of PyTorch or
    whatever has `__dlpack__`, dense ones of the right type without a copy; `arguments` lists their names. Graphs are
    prepared when their index arrays are first seen, and kept (`gnnc.Graph` prepares one by hand).
    """

    def __init__(self, path: str | os.PathLike[str], threads: int = 0) -> None:
        self._library = Library(path)
        self._threads = threads
        self._description = self._library.description
        self._arguments = make_arguments(self._description)
        #: Parameters and states that calls use unless they are given others, by their names in the model.
        self.parameters: dict[str, Any] = {}

    def __repr__(self) -> str:
        found = self._description
        lines = [f"model {found.name} ({self._library.path})"]
        lines += [f"  input {value}" for value in found.inputs.values() if not value.gradient]
        lines += [f"  sparse input {name}" for name in found.sparse]
        lines += [f"  graph {name}" for name in self.graph_arguments]
        lines += [f"  parameter {value}" for value in found.params.values()]
        lines += [f"  output {value}" for value in found.outputs.values()]
        lines.append(f"  programs {', '.join(found.programs)}")
        return "\n".join(lines)

    @property
    def name(self) -> str:
        return self._description.name

    @property
    def path(self) -> str:
        return str(self._library.path)

    @property
    def description(self) -> dict[str, Any]:
        """Everything that the object says of itself: spaces, maps, kernels, memory plan."""
        return self._description.document

    @property
    def programs(self) -> list[str]:
        return list(self._description.programs)

    @property
    def arguments(self) -> list[str]:
        """Names of inputs and index arrays."""
        return self._arguments.names

    @property
    def graph_arguments(self) -> list[str]:
        """Names of index arrays alone."""
        return [name for name in self._arguments.names if name not in self._description.inputs]

    def load_parameters(self, parameters: str | os.PathLike[str] | Mapping[str, Any]) -> None:
        """Takes parameters and states from a safetensors file, or from arrays by name. What the model does not have is
        an error; what is missing is asked for when a program needs it."""
        if not isinstance(parameters, Mapping):
            parameters = _safetensors.load(parameters)
        known = self._description.params | self._description.states
        for name, value in parameters.items():
            if name not in known:
                raise Error(f"unknown parameter '{name}': expected one of {', '.join(known)}", 1)
            self.parameters[name] = as_floats(view(value, name), known[name].dtype, name).owner

    def __call__(self, *positional: Any, graph: Graph | None = None, **arguments: Any) -> Any:
        """Runs `forward`.

        Positional arguments are in the order of `arguments`. `extents={"graph": 8}` gives the elements of spaces that
        no array is as long as. Returns the output, or a dict of outputs if there are several: tensors of PyTorch if an
        input is one, else arrays of NumPy. Raises `Error` with the runtime's message.
        """
        outputs = self.run("forward", *positional, graph=graph, **arguments)
        return next(iter(outputs.values())) if len(outputs) == 1 else outputs

    def gradient(self, *positional: Any, graph: Graph | None = None, **arguments: Any) -> dict[str, Any]:
        """Runs `gradient`: outputs, and `grad.x` for each input and parameter x, from the gradients of the outputs, which
        are arguments `grad.y` (pass them as `**{"grad.y": array}`)."""
        return self.run("gradient", *positional, graph=graph, **arguments)

    def run(
        self,
        program: str,
        *positional: Any,
        graph: Graph | None = None,
        extents: Mapping[str, int] | None = None,
        **arguments: Any,
    ) -> dict[str, Any]:
        """Runs a program, and returns its outputs by name. Parameters and states that it updates are written in place."""
        found = self._description.programs.get(program)
        if found is None:
            raise Error(f"unknown program '{program}': expected one of {', '.join(self.programs)}", 1)
        for name, value in zip(self._arguments.names, positional):
            if name in arguments:
                raise Error(f"argument '{name}' is given twice", 1)
            arguments[name] = value
        if len(positional) > len(self._arguments.names):
            raise Error(
                f"expected at most {len(self._arguments.names)} positional arguments, found {len(positional)}", 1
            )
        arguments = {**{name: self.parameters[name] for name in found.inputs if name in self.parameters}, **arguments}
        resolved = self._arguments.resolve(arguments, extents)
        for name in found.updates:
            if name in resolved.values and resolved.values[name].owner is not arguments[name]:
                raise Error(f"'{name}' is updated in place: expected a dense array of its type", 1)
        if graph is not None:
            self._check_beside(graph, arguments, extents)
        device = resolved.device or (graph.prepared.device if graph is not None else (_abi.CPU, 0))
        prepared = graph.prepared if graph is not None else self._prepare(resolved, device, found)
        return self._run(found, prepared, resolved, device)

    def _check_beside(self, graph: Graph, arguments: Mapping[str, Any], extents: Mapping[str, int] | None) -> None:
        """Nothing that is given beside a graph is passed over."""
        if not isinstance(graph, Graph):
            raise Error(f"graph: expected a gnnc.Graph, found {type(graph).__name__}", 1)
        if graph.prepared.library.path != self._library.path:
            raise Error(f"graph: expected one of '{self.path}', found one of '{graph.model.path}'", 1)
        found = [name for name, value in arguments.items() if value is not None and not self._arguments.is_value(name)]
        if found or extents:
            named = f"argument '{found[0]}'" if found else "extents"
            raise Error(f"{named}: expected none beside graph=, which was prepared with its own", 1)

    def _prepare(self, resolved: Resolved, device: tuple[int, int], program: Program) -> Prepared:
        space = resolved.missing([name for name in program.needs if name in self._description.roots])
        if space is not None:
            raise Error(f"the number of elements of space '{space}' is not known: pass extents={{'{space}': N}}", 1)
        return prepare_known(self._library, resolved, device)

    def _run(self, program: Program, prepared: Prepared, resolved: Resolved, device: tuple[int, int]) -> dict[str, Any]:
        values = {**resolved.values, **prepared.values}
        values = {name: value for name, value in values.items() if name in program.inputs}
        names = tuple(values)
        for name, value in values.items():
            self._check(self._description.find(name), value, prepared, device)
        first = next((value for value in values.values() if value.is_torch), next(iter(values.values()), None))
        outputs = {
            value.name: empty_like(first, value.shape(prepared.extent), value.dtype) for value in program.outputs
        }
        pointers = [value.pointer for value in values.values()]
        pointers += [view(output, "").pointer for output in outputs.values()]
        context = self._library.context(device, self._threads)
        call = prepared.call(describe_call(program.name, names, tuple(outputs)))
        if device[0] == _abi.CPU:
            workspace = self._library.workspace(call.workspace_bytes)
            try:
                call(context, pointers, workspace.pointer, workspace.size)
            finally:
                workspace.release()
        else:
            from .torch._device import run

            run(call, prepared, context, pointers)
        return outputs

    def _check(self, value: Value | None, given: View, prepared: Prepared, device: tuple[int, int]) -> None:
        assert value is not None
        expected = value.shape(prepared.extent)
        # Elements may have several axes, as x of [batch, nodes, features] has in an exported model.
        more = len(given.shape) - len(expected) if value.space is not None else 0
        shape = given.shape
        if more > 0:
            shape = (prod(shape[: more + 1]), *shape[more + 1 :])
        if shape != expected:
            raise Error(f"'{value.name}': expected shape {list(expected)}, found {list(given.shape)}", 1)
        if given.device != device:
            raise Error(
                f"'{value.name}': expected an array on {_place(device)}, found one on {_place(given.device)}", 1
            )


def _stream(device: tuple[int, int]) -> int | None:
    """Of a CUDA device: the one in whose order graphs are prepared."""
    if device[0] == _abi.CPU:
        return None
    from .torch._device import stream_for_preparing

    return stream_for_preparing(device[1])


def _place(device: tuple[int, int]) -> str:
    return "the CPU" if device[0] == _abi.CPU else f"CUDA device {device[1]}"


def prepare_known(library: Library, resolved: Resolved, device: tuple[int, int]) -> Prepared:
    """The graph of these arguments; prepared unless its index arrays are known."""

    def make() -> Prepared:
        stream = _stream(device)
        data = resolved.data()
        prepared = Prepared(library, device, Description(data.extents, data.indices, stream=stream))
        prepared.values = dict(data.values)
        return prepared

    return _cache.graphs.find((id(library), device, resolved.key), resolved.arrays, make)


def load(
    path: str | os.PathLike[str],
    *,
    parameters: str | os.PathLike[str] | Mapping[str, Any] | None = None,
    threads: int = 0,
) -> Model:
    """Loads a shared object that `gnnc compile` wrote.

    `parameters`: a safetensors file, or arrays by name; not needed where they are in the object. `threads`: of the CPU,
    0 for one each processor. Raises `Error` if the file is no compiled model, or one of another version.
    """
    model = Model(path, threads)
    if parameters is not None:
        model.load_parameters(parameters)
    return model
