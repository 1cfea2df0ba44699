# Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
# See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Buffers that `forward` assigns, `self.mean = 0.9 * self.mean + 0.1 * x.mean(0)`, in programs that Dynamo traces.

Without Dynamo torch.export ends the program with a copy into the buffer. With it the assignment is left out. What is
exported then is a module that returns these buffers too, and the copies are added to its program.
"""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import Any

import torch
from torch import fx, nn
from torch.export import ExportedProgram
from torch.export.graph_signature import InputKind, InputSpec, TensorArgument

from ._wrapper import Wrapper, named_as


class Assigning(Wrapper):
    """A module that returns some of its buffers too, as they are after the call."""

    def __init__(self, module: nn.Module, names: Sequence[str]) -> None:
        super().__init__(module)
        paths = [name.rpartition(".") for name in names]
        self.__dict__["_owners"] = [(module.get_submodule(path), name) for path, _, name in paths]

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        result = self.__dict__["_gnnc_wrapped"](*args, **kwargs)
        return result, [getattr(owner, name) for owner, name in self.__dict__["_owners"]]


def assigning(module: nn.Module, names: Sequence[str]) -> nn.Module:
    """In what the compiler says of it, it is called as the module is."""
    return named_as(module, Assigning, inspect.signature(module.forward))(module, names)  # type: ignore[call-arg]


def add_copies(program: ExportedProgram, names: Sequence[str]) -> None:
    """Copies the last results of a program into buffers instead of returning them."""
    graph, signature = program.graph, program.graph_signature
    output = next(node for node in graph.nodes if node.op == "output")
    results = list(output.args[0])
    count = len(results) - len(names)
    nodes = {node.name: node for node in graph.nodes if node.op == "placeholder"}
    buffers = {spec.target: nodes[spec.arg.name] for spec in signature.input_specs if spec.kind is InputKind.BUFFER}
    for name, value in zip(names, results[count:]):
        buffer = buffers[name] if name in buffers else _unread(program, name, value)
        with graph.inserting_before(output):
            copied = graph.call_function(torch.ops.aten.copy_.default, (buffer, value))
        copied.meta = dict(value.meta)
    output.args = (tuple(results[:count]),)
    del signature.output_specs[count:]
    for entry in program.module_call_graph:
        if entry.fqn == "" and entry.signature is not None:
            entry.signature.out_spec = entry.signature.out_spec.children_specs[0]
            del entry.signature.outputs[count:]
    program.graph_module.recompile()


def _unread(program: ExportedProgram, name: str, value: fx.Node) -> fx.Node:
    """A buffer that is assigned and nothing else, which the program has not yet."""
    first = next(iter(program.graph.nodes))
    with program.graph.inserting_before(first):
        result = program.graph.placeholder("b_" + name.replace(".", "_"))
    result.meta["val"] = value.meta["val"].detach()
    spec = InputSpec(InputKind.BUFFER, TensorArgument(result.name), name, persistent=name in program.state_dict)
    program.graph_signature.input_specs.insert(0, spec)
    return result
