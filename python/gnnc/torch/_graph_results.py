# Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
# See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Results of integers that follow from a graph alone, such as the edges with self loops that come with attention weights.
Compiled code gives floats, which hold large integers inexactly: PyTorch computes these, by the part of the exported
program that leads to them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, fx
from torch.export import ExportedProgram
from torch.export.graph_signature import ConstantArgument, InputKind

from ._reach import READ_SHAPES, bases_of, written_by

aten = torch.ops.aten


@dataclass
class GraphResults:
    """Leaves of a module's result, and what computes them from the leaves of its arguments."""

    places: list[int]
    module: fx.GraphModule

    def put(self, leaves: list[Any], given: list[Any]) -> None:
        """Writes them to the leaves of a result."""
        with torch.no_grad():
            for place, value in zip(self.places, self.module(*given)):
                leaves[place] = value


def leave_out_graph_results(program: ExportedProgram, exact: Callable[[object], bool]) -> GraphResults | None:
    """Replaces a program's results that follow from a graph alone by None, and returns what computes them. `exact`: whether
    floats hold a result's numbers, so that compiled code may give it. None: there are no such results."""
    graph, signature = program.graph, program.graph_signature
    output = next(node for node in graph.nodes if node.op == "output")
    results = list(output.args[0])
    places, wanted, others = [], [], 0
    for i, node in enumerate(results):
        value = node.meta.get("val") if isinstance(node, fx.Node) else None
        if not isinstance(value, Tensor):
            continue
        if value.is_floating_point() or value.is_complex() or exact(node):
            others += 1
            continue
        places.append(i)
        wanted.append(node)
    if not wanted or not others:
        return None
    needed = _needed(graph, wanted)
    if needed is None:
        return None
    module = _module(program, needed, wanted)
    for i in places:
        results[i], signature.output_specs[i].arg = None, ConstantArgument(name="", value=None)
    output.args = (tuple(results),)
    graph.eliminate_dead_code()
    program.graph_module.recompile()
    return GraphResults(places, module)


def _needed(graph: fx.Graph, wanted: list[fx.Node]) -> set[fx.Node] | None:
    """The nodes that lead to some; None where these read the numbers of floats, or random ones."""
    bases = bases_of(graph)
    needed, memory = set(wanted), {bases.get(node, node) for node in wanted}
    before = -1
    while before != len(needed):  # what is written late may be read early, by way of a view
        before = len(needed)
        for node in reversed(graph.nodes):
            if node.op == "output":
                continue
            if node not in needed and not any(bases.get(each, each) in memory for each in written_by(node)):
                continue
            shapes = getattr(node.target, "overloadpacket", None) in READ_SHAPES
            for each in (node, *node.all_input_nodes):
                needed.add(each)
                if not shapes or each is node:
                    memory.add(bases.get(each, each))
    for node in needed:
        if torch.Tag.nondeterministic_seeded in getattr(node.target, "tags", ()):
            return None
        value = node.meta.get("val")
        if node.op == "placeholder" and isinstance(value, Tensor) and value.is_floating_point():
            if any(getattr(u.target, "overloadpacket", None) not in READ_SHAPES for u in node.users if u in needed):
                return None
    return needed


def _module(program: ExportedProgram, needed: set[fx.Node], wanted: list[fx.Node]) -> fx.GraphModule:
    """The needed nodes with the leaves of the program's arguments as arguments."""
    specs = {spec.arg.name: spec for spec in program.graph_signature.input_specs}
    tensors = {**program.constants, **program.state_dict}
    root = torch.nn.Module()
    graph, copies = fx.Graph(root), dict[fx.Node, fx.Node]()
    for node in program.graph.nodes:
        spec = specs.get(node.name) if node.op == "placeholder" else None
        if spec is not None and spec.kind is not InputKind.USER_INPUT:
            if node in needed:
                name = f"stored_{len(copies)}"
                root.register_buffer(name, tensors[str(spec.target)].detach())
                copies[node] = graph.get_attr(name)
        elif node.op == "get_attr" and node in needed:
            name = f"body_{len(copies)}"
            setattr(root, name, getattr(program.graph_module, str(node.target)))
            copies[node] = graph.get_attr(name)
        elif node.op == "placeholder" or node in needed:
            copies[node] = graph.node_copy(node, copies.__getitem__)
    graph.output(tuple(copies[node] for node in wanted))
    return fx.GraphModule(root, graph)
