# Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
# See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Results that are no floats of the type that the module computes in. Compiled code gives those, which are turned back after
a call: that is exact for truth values, for places along an axis whose size is compiled in, for what was rounded from floats,
and for narrower floats. Arguments that are returned as they are need no code, nor do numbers of Python, and PyTorch computes
what follows from the graph alone (`_graph_results.py`). Other integers may be larger than floats hold exactly, and are
refused."""

from __future__ import annotations

import operator
from dataclasses import dataclass

import torch
from torch import fx
from torch.export import ExportedProgram
from torch.export.graph_signature import ConstantArgument, InputKind, TensorArgument

from .._errors import CompileError
from ._graph_results import GraphResults, leave_out_graph_results

aten = torch.ops.aten

#: Give places along an axis: alone, or as their second result.
_PLACES = {aten.argmax, aten.argmin, aten.argsort}
_WITH_PLACES = {aten.max, aten.min, aten.sort, aten.topk, aten.median, aten.mode, aten.kthvalue}
#: Give the numbers of their first argument.
_VIEWS = {
    *(aten.view, aten.reshape, aten.squeeze, aten.unsqueeze, aten.permute, aten.transpose, aten.t, aten.expand),
    *(aten.select, aten.slice, aten.index, aten.index_select, aten.clone, aten.contiguous, aten.detach, aten.alias),
    *(aten.flatten, aten.unflatten),
}
_CONVERSIONS = {aten.to, aten._to_copy}


@dataclass
class IntegerResults:
    """Leaves of a module's result that are integers or truth values, and where a call has them from."""

    given_back: dict[int, int]  #: leaves of the arguments; compiled code has no output for these
    constants: dict[int, object]  #: numbers of Python and the like that are the same in each call
    from_graph: GraphResults | None  #: what PyTorch computes; compiled code has no output for these
    types: list[torch.dtype | None]  #: of each result, what its floats are turned into; None: they are right as they are


def take_integers(program: ExportedProgram, *, by_calls: bool) -> IntegerResults:
    """Leaves a program with results of floats, and None. `by_calls`: Python's calls have the others from elsewhere if they
    can; objects by themselves have floats or none. Raises CompileError."""
    given_back = _leave_out_arguments(program) if by_calls else {}
    from_graph = leave_out_graph_results(program, _is_exact) if by_calls else None
    output = next(node for node in program.graph.nodes if node.op == "output")
    constants = {i: value for i, value in enumerate(output.args[0]) if not isinstance(value, fx.Node) and value is not None}
    return IntegerResults(given_back, constants if by_calls else {}, from_graph, _give_floats(program))


def _leave_out_arguments(program: ExportedProgram) -> dict[int, int]:
    """Replaces a program's results that are arguments of integers or truth values by None. Returns which they were:
    numbers of leaves of the result, and of leaves of the arguments."""
    output = next(node for node in program.graph.nodes if node.op == "output")
    specs = program.graph_signature.input_specs
    leaves = {spec.arg.name: i for i, spec in enumerate(spec for spec in specs if spec.kind is InputKind.USER_INPUT)}
    results = list(output.args[0])
    found: dict[int, int] = {}
    for i, (node, spec) in enumerate(zip(results, program.graph_signature.output_specs, strict=True)):
        if not isinstance(node, fx.Node) or node.op != "placeholder" or node.name not in leaves:
            continue
        value = node.meta.get("val")
        if isinstance(value, torch.Tensor) and not value.is_floating_point() and not value.is_complex():
            found[i] = leaves[node.name]
            results[i], spec.arg = None, ConstantArgument(name="", value=None)
    if found:
        output.args = (tuple(results),)
        program.graph_module.recompile()
    return found


def _give_floats(program: ExportedProgram) -> list[torch.dtype | None]:
    """Makes a program's results floats of the type that it computes in. Returns what each result was; None: that. Raises
    CompileError."""
    graph, signature = program.graph, program.graph_signature
    output = next(node for node in graph.nodes if node.op == "output")
    floats = torch.float32
    for node in graph.nodes:
        if node.op == "placeholder" and getattr(node.meta.get("val"), "dtype", None) is torch.float64:
            floats = torch.float64
    found: list[torch.dtype | None] = []
    results = list(output.args[0])
    for i, (node, spec) in enumerate(zip(results, signature.output_specs, strict=True)):
        value = node.meta.get("val") if isinstance(node, fx.Node) else None
        if not isinstance(value, torch.Tensor) or value.dtype is floats or value.is_complex():
            found.append(None)
            continue
        if not _is_exact(node):
            raise CompileError(
                f"output '{node.name}' has integers, which compiled code cannot give exactly if they are large: return "
                "floats, as '.float()' gives, or compute it outside of the module"
            )
        with graph.inserting_before(output):
            results[i] = graph.call_function(aten.to.dtype, (node, floats))
        results[i].meta = {key: node.meta[key] for key in ("stack_trace", "nn_module_stack") if key in node.meta}
        results[i].meta["val"] = value.to(floats)
        spec.arg = TensorArgument(results[i].name)
        found.append(value.dtype)
    if any(dtype is not None for dtype in found):
        output.args = (tuple(results),)
        program.graph_module.recompile()
    return found


def _is_exact(node: object) -> bool:
    """Whether floats hold its numbers."""
    value = node.meta.get("val") if isinstance(node, fx.Node) else None
    if not isinstance(node, fx.Node) or not isinstance(value, torch.Tensor):
        return False
    if value.dtype is torch.bool or value.is_floating_point():
        return True
    if node.target is operator.getitem:
        of = node.args[0]
        return (
            isinstance(of, fx.Node) and getattr(of.target, "overloadpacket", None) in _WITH_PLACES and node.args[1] == 1
        )
    packet = getattr(node.target, "overloadpacket", None)
    return packet in _PLACES or (packet in _VIEWS | _CONVERSIONS and _is_exact(node.args[0]))
