# Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
# See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Which results of a module have a gradient, and with respect to what.

Compiled code has a derivative for each of its results; autograd has none behind `detach`, within `no_grad`, and of numbers
that were made from integers and truth values. Where this does not know, there is one.
"""

from __future__ import annotations

import operator
from typing import Any

import torch
from torch import Tensor, fx
from torch.export import ExportedProgram

aten = torch.ops.aten

#: These may give back the very tensor that they are given.
_SAME = {aten.to, aten.contiguous, aten.dropout, aten.feature_dropout, aten.type_as, aten.expand_as, aten.reshape}
_SAME |= {aten.lift_fresh, aten.alias, aten.clone}
#: Of their arguments these take no more than shapes, types and devices.
_NEW = {
    *(aten.zeros_like, aten.ones_like, aten.empty_like, aten.full_like, aten.rand_like, aten.randn_like),
    *(aten.new_zeros, aten.new_ones, aten.new_empty, aten.new_full, aten.new_empty_strided),
}

#: Of their arguments these read no numbers.
READ_SHAPES = {aten.sym_size, aten.sym_numel, *_NEW}


def _aliased(node: fx.Node) -> list[tuple[Any, fx.Node]]:
    """The arguments whose memory a call's result shares or that it writes to, and how."""
    schema = getattr(node.target, "_schema", None)
    return [
        (argument.alias_info, value)
        for argument, value in zip(schema.arguments if schema is not None else (), node.args)
        if argument.alias_info is not None and isinstance(value, fx.Node)
    ]


def reached_by_gradients(program: ExportedProgram) -> list[frozenset[str]]:
    """Of each result, the placeholders that may get a gradient from it."""
    reach = _Reach()
    for node in program.graph.nodes:
        if node.op == "placeholder":
            reach.found[node] = frozenset((node.name,)) if _has_floats(node) else frozenset()
        elif node.op == "call_function":
            reach.call(node)
        elif node.op == "output":
            return [reach.of(result) if isinstance(result, fx.Node) else frozenset() for result in node.args[0]]
    return []


class _Reach:
    def __init__(self) -> None:
        self.found: dict[fx.Node, frozenset[str]] = {}
        #: Of views the tensor whose memory they share, and of such a tensor what was written into it.
        self.bases: dict[fx.Node, fx.Node] = {}
        self.written: dict[fx.Node, frozenset[str]] = {}

    def of(self, node: fx.Node) -> frozenset[str]:
        return self.found.get(node, frozenset()) | self.written.get(self.base(node), frozenset())

    def base(self, node: fx.Node) -> fx.Node:
        return self.bases.get(node, node)

    def call(self, node: fx.Node) -> None:
        every = frozenset[str]().union(*map(self.of, node.all_input_nodes))
        schema = getattr(node.target, "_schema", None)
        packet = getattr(node.target, "overloadpacket", None)
        if packet is aten.detach or packet in _NEW:
            return
        if node.target is torch.ops.higher_order.wrap_with_set_grad_enabled and node.args[0] is False:
            # `no_grad` cuts off what is computed within it, and not a tensor that is given back as it was.
            body = node.graph.owning_module.get_submodule(node.args[1].target)
            given = [node.args[2:][i] for i in _given_back(body.graph)]
            self.found[node] = frozenset[str]().union(*[self.of(each) for each in given if isinstance(each, fx.Node)])
            return
        if schema is not None:
            for alias, value in _aliased(node):
                self.bases[node] = self.base(value)
                if alias.is_write:
                    self.write(value, every)
        elif node.target is operator.getitem:
            self.bases[node] = self.base(node.args[0])
        else:  # a body of its own, which may write too
            for value in node.all_input_nodes:
                self.write(value, every)
        if _has_floats(node):
            self.found[node] = every

    def write(self, node: fx.Node, what: frozenset[str]) -> None:
        base = self.base(node)
        self.written[base] = self.written.get(base, frozenset()) | what


def _given_back(graph: fx.Graph) -> set[int]:
    """The numbers of the arguments that a body may give back, whole or in part."""
    sources: dict[fx.Node, set[int]] = {}
    count = 0
    for node in graph.nodes:
        every = set[int]().union(*[sources.get(each, set()) for each in node.all_input_nodes])
        if node.op == "placeholder":
            sources[node], count = {count}, count + 1
        elif node.op == "output":
            return every
        elif node.op == "call_function":
            schema = getattr(node.target, "_schema", None)
            packet = getattr(node.target, "overloadpacket", None)
            views = schema is None or packet in _SAME or any(each.alias_info is not None for each in schema.returns)
            sources[node] = every if views else set()
    return set()


def _has_floats(node: fx.Node) -> bool:
    """Whether autograd differentiates it: integers, truth values and numbers of Python it does not."""
    value: Any = node.meta.get("val")
    parts = value if isinstance(value, (tuple, list)) else [value]
    return value is None or any(
        isinstance(part, Tensor) and (part.is_floating_point() or part.is_complex()) for part in parts
    )
