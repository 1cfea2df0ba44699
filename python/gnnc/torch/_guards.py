# Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
# See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Branches on sizes: which sizes an exported program is right for. torch.export says of each symbol within which bounds it
may be, and in the guards of its shapes what else holds: of two sizes (`if n > x.size(0)`), and of one (`if n % 2 == 0`)."""

from __future__ import annotations

import itertools
import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

import sympy  # type: ignore[import-untyped]
import torch
from torch import Tensor
from torch.export import ExportedProgram
from torch.utils._sympy.functions import CleanDiv, FloorDiv, Mod
from torch.utils._sympy.printers import PythonPrinter

from ._expressions import function_of

#: torch tells sizes below this apart by itself.
MANY = 4

#: From here on an upper bound is torch's word for none.
UNBOUNDED = 2**62


@dataclass
class Guard:
    """Something that holds of sizes, by the leaves and the dimensions that have them."""

    expression: Any
    sizes: list[tuple[Any, int, int]]  #: symbols, leaves and dimensions

    def __post_init__(self) -> None:
        self._function = function_of(self.expression, [symbol for symbol, *_ in self.sizes], bool)

    def holds(self, leaves: Sequence[Any]) -> bool:
        return bool(self._function(*[leaves[leaf].shape[dimension] for _, leaf, dimension in self.sizes]))

    def text(self, names: Sequence[str | None]) -> str:
        """In the words of a module whose leaves are called so."""
        words = {symbol: sympy.Symbol(f"{names[leaf]}.size({dimension})") for symbol, leaf, dimension in self.sizes}
        return str(PythonPrinter().doprint(self.expression.xreplace(words)))

    def decides(self) -> bool:
        """Whether it does not hold for some sizes: torch notes many that hold for all, as of parts of a list."""
        symbols = [symbol for symbol, *_ in self.sizes]
        tried = itertools.islice(itertools.product(range(MANY, 40), repeat=len(symbols)), 2000)
        return not all(self._function(*each) for each in tried)


def guards_of(program: ExportedProgram, leaves: Sequence[Any]) -> list[Guard]:
    """What relates sizes of arguments. `leaves`: of each leaf of the arguments its example in the program, or None."""
    places = {}
    environment = None
    for i, value in enumerate(leaves):
        for dimension, size in enumerate(value.shape if isinstance(value, Tensor) else ()):
            if isinstance(size, torch.SymInt):
                environment = size.node.shape_env
                if size.node.expr.is_Symbol:
                    places.setdefault(size.node.expr, (i, dimension))
    result = _multiples(leaves, places.keys())
    for guard in environment.guards if environment is not None else ():
        symbols = guard.expr.free_symbols
        if symbols and symbols <= places.keys() and not _is_bound(guard.expr):
            result.append(Guard(guard.expr, [(symbol, *places[symbol]) for symbol in symbols]))
    return result


def _multiples(leaves: Sequence[Any], known: Collection[Any]) -> list[Guard]:
    """Sizes that are multiples of one that no argument has by itself: those of `x.view(-1, 4, 3)`."""
    result = []
    for i, value in enumerate(leaves):
        for dimension, size in enumerate(value.shape if isinstance(value, Tensor) else ()):
            if isinstance(size, int) or size.node.expr.is_Symbol or len(size.node.expr.free_symbols) != 1:
                continue
            (symbol,) = size.node.expr.free_symbols
            factor = size.node.expr.coeff(symbol)
            if symbol not in known and factor.is_Integer and factor > 1:
                whole = sympy.Symbol(f"size_{i}_{dimension}", integer=True, positive=True)
                rest = whole - size.node.expr.subs(symbol, 0)
                result.append(Guard(sympy.Eq(Mod(rest, factor), 0), [(whole, i, dimension)]))
    return result


def _is_bound(expression: Any) -> bool:
    """Whether the bounds of a size say it, or it only tells 0 and 1 from more, as torch does itself with whatever is computed
    from sizes. (Bounds say nothing of a remainder, `n % 2`, or a quotient.)"""
    if not isinstance(expression, sympy.core.relational.Relational):
        return False
    if expression.lhs.is_Integer:
        expression = expression.reversed
    size, number = expression.args
    if not number.is_Integer:
        return False
    if size.is_Symbol:
        return True
    least = {sympy.Ne: 1, sympy.Gt: 1, sympy.Ge: 2}.get(type(expression), -1)
    return number <= least and not size.atoms(sympy.Function) - size.atoms(CleanDiv, FloorDiv)


def range_of_number(program: ExportedProgram, size: torch.SymInt) -> tuple[int, float] | None:
    """The values of an integer of Python that the program is right for. A branch that asks for it may mean anything, so all
    that torch says counts. None: only this one, since it follows from a size or a size follows from it."""
    values = [node.meta.get("val") for node in program.graph.nodes if node.op == "placeholder"]
    sizes = [each for value in values if isinstance(value, Tensor) for each in value.shape if not isinstance(each, int)]
    expression = size.node.expr
    uses = sum(not expression.free_symbols.isdisjoint(each.node.expr.free_symbols) for each in sizes)
    known = program.range_constraints.get(expression)
    if uses > 1 or known is None:
        return None
    largest = int(known.upper) if known.upper.is_Integer and known.upper < UNBOUNDED else math.inf
    return int(known.lower), largest
