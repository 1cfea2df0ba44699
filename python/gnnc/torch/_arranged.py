# Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
# See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Modules whose arguments or results have the axis of nodes elsewhere than first, such as x of [features, nodes].

Compiled code has the axis whose size differs first. The module that is compiled in such a module's place takes its arguments
so, brings them into the module's order itself, and gives its results so; whoever calls it does the opposite.
"""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import Any

from torch import Tensor, fx, nn
from torch.export import ExportedProgram
from torch.utils import _pytree as pytree

from .._errors import CompileError
from ._wrapper import Wrapper


class Arrangement(Exception):
    """Of arguments and results, by their leaves: the number of the axis that comes to the front; 0: it is there."""

    def __init__(self, arguments: Sequence[int], results: Sequence[int]) -> None:
        super().__init__("the axis of nodes is not the first")
        self.arguments, self.results = list(arguments), list(results)
        #: Why the module is refused as it is, if that is the reason.
        self.refusal: CompileError | None = None


def check_arrangement(program: ExportedProgram) -> None:
    """Raises an Arrangement if an axis has to move."""
    placeholders = {node.name: node.meta.get("val") for node in program.graph.nodes if node.op == "placeholder"}
    arguments = [front_of(placeholders.get(name)) for name in program.graph_signature.user_inputs]
    output = next(node for node in program.graph.nodes if node.op == "output")
    values = [node.meta.get("val") if isinstance(node, fx.Node) else None for node in output.args[0]]
    count = len(program.graph_signature.user_outputs)
    results = [front_of(value) for value in values[len(values) - count :]]
    if any(arguments) or any(results):
        raise Arrangement(arguments, results)


def front_of(value: Any) -> int:
    """The only axis whose size is not fixed."""
    if not isinstance(value, Tensor) or not value.dtype.is_floating_point:
        return 0
    free = [dim for dim, size in enumerate(value.shape) if not isinstance(size, int)]
    return free[0] if len(free) == 1 else 0


def to_front(leaves: Sequence[Any], axes: Sequence[int]) -> list[Any]:
    return [_permuted(leaf, [axis, *range(axis)]).contiguous() if axis else leaf for leaf, axis in zip(leaves, axes)]


def from_front(leaves: Sequence[Any], axes: Sequence[int]) -> list[Any]:
    return [_permuted(leaf, [*range(1, axis + 1), 0]) if axis else leaf for leaf, axis in zip(leaves, axes)]


def _permuted(x: Tensor, first: Sequence[int]) -> Tensor:
    """The later axes stay where they are."""
    return x.permute(*first, *range(len(first), x.dim()))


class Arranged(Wrapper):
    """A module in the order of compiled code."""

    def __init__(self, module: nn.Module, arrangement: Arrangement, tree: Any) -> None:
        super().__init__(module)
        self.arrangement, self.tree = arrangement, tree

    def forward(self, *leaves: Any) -> Any:
        args, kwargs = pytree.tree_unflatten(from_front(leaves, self.arrangement.arguments), self.tree)
        results, tree = pytree.tree_flatten(self.__dict__["_gnnc_wrapped"](*args, **kwargs))
        return pytree.tree_unflatten(to_front(results, self.arrangement.results), tree)


def arranged(module: nn.Module, arrangement: Arrangement, tree: Any, *, keeps_signature: bool = False) -> nn.Module:
    """Called as the module is, in what the compiler says of it. It takes the leaves of its arguments, or, if it keeps the
    signature, arguments by the names that the module has for them."""

    def forward(self: Arranged, *args: Any, **kwargs: Any) -> Any:
        return Arranged.forward(self, *pytree.tree_leaves((args, kwargs)))

    members: dict[str, Any] = {}
    if keeps_signature:
        forward.__signature__ = inspect.signature(type(module).forward)  # type: ignore[attr-defined]
        members["forward"] = forward
    return type(type(module).__name__, (Arranged,), members)(module, arrangement, tree)
