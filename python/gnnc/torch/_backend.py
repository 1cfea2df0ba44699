# Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
# See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`torch.compile(model, backend="gnnc", dynamic=True)`.

Importing this module (PyTorch does when the backend is named) sets options of torch._dynamo, without which models with
self loops or computed sizes fall apart into several graphs: `capture_dynamic_output_shape_ops`, `capture_scalar_outputs`,
and with the latter `specialize_float`.

A graph is compiled at its first call. One that is given no index tensor, or no elements, or that the compiler refuses, is
run by PyTorch; refusals are said once, as a warning.
"""

from __future__ import annotations

import copy
import operator
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import torch
import torch._dynamo
from torch import Tensor, fx, nn

from .._errors import Error
from ._module import Runner

torch._dynamo.config.capture_dynamic_output_shape_ops = True
torch._dynamo.config.capture_scalar_outputs = True
# With the option before, floats of Python such as the probability of a dropout would be numbers that are read of a tensor.
torch._dynamo.config.specialize_float = True


_OF_SIZES = {getattr(operator, name) for name in ("eq", "ne", "ge", "gt", "le", "lt", "and_", "add", "sub", "mul", "mod")}
_OF_SIZES |= {torch.sym_not, torch.sym_sum, torch.sym_max, torch.sym_min}


def _plain(graph: fx.GraphModule) -> fx.GraphModule:
    """Without assertions about sizes, and with sums of sizes as additions, which torch.export can save."""
    for node in list(graph.graph.nodes):
        if node.target is torch.ops.aten._assert_scalar.default:
            _erase(graph.graph, node)
        elif node.target is torch.sym_sum:
            with graph.graph.inserting_before(node):
                total, *rest = node.args[0]
                for term in rest:
                    total = graph.graph.call_function(operator.add, (total, term))
            node.replace_all_uses_with(total)
            graph.graph.erase_node(node)
    graph.recompile()
    _ = graph.code  # which is made at the first call else: forward would set it
    return graph


def _erase(graph: fx.Graph, node: fx.Node) -> None:
    """With the comparisons of sizes that only it reads. (torch.fx's own elimination of dead code also takes methods that
    change a tensor in place, such as `scatter_add_`.)"""
    read = node.all_input_nodes
    graph.erase_node(node)
    for other in read:
        if not other.users and other.op == "call_function" and other.target in _OF_SIZES:
            _erase(graph, other)


class _Captured(nn.Module):
    """A captured graph with its parameters as parameters, and with sizes taken from the tensors that have them."""

    def __init__(self, graph: fx.GraphModule, example: Sequence[Any]) -> None:
        super().__init__()
        self.graph = _plain(copy.deepcopy(graph))
        #: What each placeholder of the graph gets: ("argument", n), ("size", n, dimension) or ("parameter", name).
        self.sources: list[tuple[Any, ...]] = []
        #: Of each argument of the captured function: its number here, or the parameter's name, or neither.
        self.places: list[int | str | None] = []
        placeholders = [node for node in graph.graph.nodes if node.op == "placeholder"]
        sizes: dict[str, tuple[int, int]] = {}
        tensors = 0
        for node, given in zip(placeholders, example):
            if isinstance(given, nn.Parameter):
                self.register_parameter(node.name, given)
                self.places.append(node.name)
            elif isinstance(given, Tensor):
                for dimension, size in enumerate(node.meta["example_value"].shape):
                    sizes.setdefault(str(size), (tensors, dimension))
                self.places.append(tensors)
                tensors += 1
            else:
                self.places.append(None)
        for i, (node, place) in enumerate(zip(placeholders, self.places)):
            if place is None and str(node.meta["example_value"]) not in sizes:  # a number of Python
                self.places[i] = tensors
                tensors += 1
        for node, place in zip(placeholders, self.places):
            if isinstance(place, str):
                self.sources.append(("parameter", place))
            elif place is not None:
                self.sources.append(("argument", place))
            else:
                self.sources.append(("size", *sizes[str(node.meta["example_value"])]))

    def forward(self, *given: Any) -> Any:
        arguments = []
        for source in self.sources:
            if source[0] == "argument":
                arguments.append(given[source[1]])
            elif source[0] == "size":
                arguments.append(given[source[1]].shape[source[2]])
            else:
                arguments.append(self._parameters[source[1]])
        return self.graph(*arguments)


def _has_indices(example: Sequence[Any]) -> bool:
    return any(
        isinstance(given, Tensor) and given.dtype in (torch.int32, torch.int64) and given.dim() for given in example
    )


def backend(graph: fx.GraphModule, example: Sequence[Any]) -> Callable[..., Any]:
    """What torch.compile calls with each graph that it captures."""
    # Dynamo captures another graph where a size is 0.
    if not _has_indices(example) or any(isinstance(given, Tensor) and 0 in given.shape for given in example):
        return graph.forward
    captured = _Captured(graph, example)
    compiled: Runner | None = Runner(captured)

    def run(*arguments: Any) -> Any:
        nonlocal compiled
        if compiled is None:
            return graph(*arguments)
        given = [None] * sum(isinstance(place, int) for place in captured.places)
        for place, argument in zip(captured.places, arguments):
            if isinstance(place, str):
                captured._parameters[place] = argument
            elif place is not None:
                given[place] = argument
        try:
            return compiled(*given)
        except Error as error:
            if compiled.specializations:
                raise  # it ran before: this is about the arguments
            warnings.warn(f"gnnc leaves a graph to PyTorch: {error}", stacklevel=2)
            compiled = None
            return graph(*arguments)

    return run
