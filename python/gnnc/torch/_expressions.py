# Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
# See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Expressions of sizes as functions. They are asked at each call with a new graph, and to interpret one would take as long
as to prepare the graph."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any

import sympy  # type: ignore[import-untyped]
import torch
from torch.utils._sympy.interp import sympy_interp
from torch.utils._sympy.printers import PythonPrinter
from torch.utils._sympy.reference import PythonReferenceAnalysis

#: Sizes for which a function is compared with its expression.
_TRIED = (4, 7, 12)


def function_of(expression: Any, symbols: Sequence[Any], result: Callable[[Any], Any]) -> Callable[..., Any]:
    """An expression as a function of its symbols. `result`: the type of what it gives, `bool` or `int`."""
    names = {symbol: sympy.Symbol(f"s{i}", integer=True) for i, symbol in enumerate(symbols)}
    text = PythonPrinter().doprint(expression.xreplace(names))

    def interpreted(*values: int) -> Any:
        return result(sympy_interp(PythonReferenceAnalysis, dict(zip(symbols, values)), expression))

    try:
        arguments = ", ".join(map(str, names.values()))
        function = eval(f"lambda {arguments}: result({text})", {"math": math, "torch": torch, "result": result})
        for each in itertools.islice(itertools.product(_TRIED, repeat=len(symbols)), 100):
            if function(*each) != interpreted(*each):
                raise ValueError
        return function  # type: ignore[no-any-return]
    except Exception:  # of what the printer has no Python for
        return interpreted
