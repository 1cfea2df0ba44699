# Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
# See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Numbers that decide how many rows a result has, in a pull-back.

`global_add_pool(energies, batch)` has as many rows as `batch.max() + 1` says. A pull-back need not read that number from
a tensor: the cotangent of such a result has those rows already, so its size says it. Then no size depends on a tensor's
values, and the pull-back can be traced.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor, fx
from torch.export import ExportedProgram

_READS = (torch.ops.aten.item.default, torch.ops.aten._local_scalar_dense.default)


class Count(NamedTuple):
    """A number that is `less` less than a size of a result."""

    symbol: Any
    result: int  #: its number among the results
    dim: int
    less: int


def counts(values: Sequence[Tensor], given: Sequence[int]) -> dict[Any, Count]:
    """The numbers behind sizes of the given results that are read from tensors, by their symbols."""
    found: dict[Any, Count] = {}
    for result in given:
        for dim, size in enumerate(values[result].shape):
            if isinstance(size, int):
                continue
            expression = size.node.expr
            for symbol in expression.free_symbols:
                less = expression - symbol
                if str(symbol).startswith("u") and less.is_Integer:
                    found.setdefault(symbol, Count(symbol, result, dim, int(less)))
    return found


class _Cotangents(threading.local):
    of: Sequence[Tensor] = ()


_cotangents = _Cotangents()


def read_from_cotangent(number: int, dim: int, less: int) -> Any:
    """Stands in a traced program for what it reads from a tensor."""
    return _cotangents.of[number].size(dim) - less


@contextlib.contextmanager
def cotangents(of: Sequence[Tensor]) -> Iterator[None]:
    """While a program is traced, those of its given results."""
    before, _cotangents.of = _cotangents.of, of
    try:
        yield
    finally:
        _cotangents.of = before


def take_from_cotangents(
    program: ExportedProgram, module: fx.GraphModule, found: dict[Any, Count], given: Sequence[int]
) -> None:
    """Lets a program's module take from cotangents what it reads from tensors."""
    symbols = {}
    for node in program.graph.nodes:
        value = node.meta.get("val")
        if node.target in _READS and isinstance(value, torch.SymInt) and value.node.expr in found:
            symbols[node.name] = value.node.expr
    for node in list(module.graph.nodes):
        if node.target in _READS and node.name in symbols:
            count = found[symbols[node.name]]
            with module.graph.inserting_before(node):
                arguments = (given.index(count.result), count.dim, count.less)
                node.replace_all_uses_with(module.graph.call_function(read_from_cotangent, arguments))
            module.graph.erase_node(node)
    module.recompile()
