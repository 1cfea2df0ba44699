# Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
# See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Results of integers that follow from a graph alone, such as the edges with self loops that come with attention weights, and
sizes. Compiled code gives floats, which hold large integers inexactly: PyTorch computes these, by the part of the exported
program that leads to them."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, fx
from torch.export import ExportedProgram
from torch.export.graph_signature import ConstantArgument, InputKind

from ._reach import READ_SHAPES


@dataclass
class GraphResults:
    """Leaves of a module's result, and what computes them from the leaves of its arguments and some of its buffers."""

    places: list[int]
    buffers: list[str]  #: their names in the module; what they hold when it is called counts
    module: fx.GraphModule

    def put(self, leaves: list[Any], given: Sequence[Any], buffers: Sequence[Tensor]) -> None:
        """Writes them to the leaves of a result."""
        with torch.no_grad():
            for place, value in zip(self.places, self.module(*given, *buffers)):
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
        if isinstance(value, (torch.SymInt, torch.SymFloat, torch.SymBool)):
            places.append(i)
            wanted.append(node)
            continue
        if not isinstance(value, Tensor):
            continue
        if value.is_floating_point() or value.is_complex() or exact(node):
            others += 1
            continue
        places.append(i)
        wanted.append(node)
    if not wanted or not others:
        return None
    needed = needed_nodes(graph, wanted)
    if needed is None:
        return None
    buffers, module = part_of(program, needed, wanted)
    for i in places:
        results[i], signature.output_specs[i].arg = None, ConstantArgument(name="", value=None)
    output.args = (tuple(results),)
    graph.eliminate_dead_code()
    program.graph_module.recompile()
    return GraphResults(places, buffers, module)


def needed_nodes(graph: fx.Graph, wanted: list[fx.Node]) -> set[fx.Node] | None:
    """The nodes that lead to some; None where these read the numbers of floats, or random ones."""
    needed = set(wanted)
    before = -1
    while before != len(needed):  # what is written late may be read early, by way of a view
        before = len(needed)
        for node in reversed(graph.nodes):
            if node.op == "output":
                continue
            if node in needed or any(not needed.isdisjoint(_sharing(each)) for each in _written(node)):
                needed.update((node, *node.all_input_nodes))
    for node in needed:
        if torch.Tag.nondeterministic_seeded in getattr(node.target, "tags", ()):
            return None
        value = node.meta.get("val")
        if node.op == "placeholder" and isinstance(value, Tensor) and value.is_floating_point():
            if any(getattr(u.target, "overloadpacket", None) not in READ_SHAPES for u in node.users if u in needed):
                return None
    return needed


def _written(node: fx.Node) -> list[fx.Node]:
    """What a call may write to: a body of its own, such as that of `no_grad`, anything that it is given."""
    schema = getattr(node.target, "_schema", None)
    if node.op != "call_function" or getattr(operator, getattr(node.target, "__name__", ""), None) is node.target:
        return []
    if schema is None:
        return [each for each in node.all_input_nodes if each.op != "get_attr"]
    names = [argument.name for argument in schema.arguments if argument.alias_info and argument.alias_info.is_write]
    given = dict(zip([argument.name for argument in schema.arguments], node.args)) | node.kwargs
    return [given[name] for name in names if isinstance(given.get(name), fx.Node)]


def _sharing(node: fx.Node) -> set[fx.Node]:
    """All whose memory it may share: what it is made of, as long as types are the same. Schemas do not say it of all."""
    found, left = {node}, [node]
    while left:
        one = left.pop()
        if getattr(one.target, "overloadpacket", None) in READ_SHAPES:  # memory of its own
            continue
        for each in one.all_input_nodes:
            if each not in found and each.op != "get_attr" and _have_one_type(one, each):
                found.add(each)
                left.append(each)
    return found


def _have_one_type(a: fx.Node, b: fx.Node) -> bool:
    first, second = a.meta.get("val"), b.meta.get("val")
    if isinstance(first, Tensor) and isinstance(second, Tensor):
        return first.dtype is second.dtype
    # Several results, of which one may be a view.
    return isinstance(first, (tuple, list)) or isinstance(second, (tuple, list))


def part_of(program: ExportedProgram, needed: set[fx.Node], wanted: list[fx.Node]) -> tuple[list[str], fx.GraphModule]:
    """The needed nodes, with the leaves of the program's arguments and then some buffers as arguments."""
    specs = {spec.arg.name: spec for spec in program.graph_signature.input_specs}
    root = torch.nn.Module()
    graph, copies = fx.Graph(root), dict[fx.Node, fx.Node]()
    for node in program.graph.nodes:
        if node.op == "placeholder" and specs[node.name].kind is InputKind.USER_INPUT:
            copies[node] = graph.node_copy(node, copies.__getitem__)
    buffers = []
    for node in program.graph.nodes:
        if node not in needed or node in copies:
            continue
        if node.op == "placeholder" and specs[node.name].kind is InputKind.BUFFER:
            buffers.append(str(specs[node.name].target))
            copies[node] = graph.placeholder(f"buffer_{len(buffers)}")
    for node in program.graph.nodes:
        if node not in needed or node in copies:
            continue
        if node.op in ("placeholder", "get_attr"):  # a constant, or the body of another node
            name = f"part_{len(copies)}"
            part = program.constants.get(str(specs[node.name].target)) if node.op == "placeholder" else None
            setattr(root, name, getattr(program.graph_module, str(node.target)) if part is None else part)
            copies[node] = graph.get_attr(name)
        else:
            copies[node] = graph.node_copy(node, copies.__getitem__)
    graph.output(tuple(copies[node] for node in wanted))
    return buffers, fx.GraphModule(root, graph)
