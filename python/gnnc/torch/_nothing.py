# Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
# See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a program computes on the side of a branch where there are no elements: nothing. Writes of none are taken out,
and all that leads to them; the compiler has no spaces without elements."""

from __future__ import annotations

from typing import Any

import sympy
import torch
from torch import Tensor, fx
from torch.export import ExportedProgram

from ._branches import Branches

aten = torch.ops.aten

#: Operators that give their first argument, changed by others: by which.
_WRITES = {
    aten.index_put: 2,
    aten.index_put_: 2,
    aten.index_add: 3,
    aten.index_add_: 3,
    aten.scatter_add: 3,
    aten.scatter_add_: 3,
    aten.scatter_reduce: 3,
    aten.scatter_reduce_: 3,
}


def leave_out_nothing(program: ExportedProgram, branches: Branches) -> None:
    graph, zeros = program.graph, {symbol: sympy.Integer(0) for symbol in branches.zeros()}

    def is_empty(node: Any) -> bool:
        """Whether a tensor has no elements."""
        value = node.meta.get("val") if isinstance(node, fx.Node) else None
        sizes = value.shape if isinstance(value, Tensor) else ()
        return any((size if isinstance(size, int) else size.node.expr.xreplace(zeros)) == 0 for size in sizes)

    for node in list(graph.nodes):
        place = _WRITES.get(getattr(node.target, "overloadpacket", None))
        if place is None or not is_empty(node.args[place]):
            continue
        of = node.args[0]
        if node in _results(graph) or not isinstance(of, fx.Node):
            continue
        node.replace_all_uses_with(of)
        graph.erase_node(node)
    for node in reversed(list(graph.nodes)):
        if node.op == "call_function" and not node.users and is_empty(node):
            graph.erase_node(node)
    graph.eliminate_dead_code()
    program.graph_module.recompile()


def _results(graph: fx.Graph) -> list[Any]:
    return next(node for node in graph.nodes if node.op == "output").all_input_nodes
