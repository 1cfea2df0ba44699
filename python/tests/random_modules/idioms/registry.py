# Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
# See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The list of idioms: functions that add to a program, or raise Impossible."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ..program import Program

IDIOMS: list[Idiom] = []


@dataclass(frozen=True)
class Idiom:
    function: Callable[[Program], object]
    weight: float


def idiom(weight: float = 1.0) -> Callable[[Callable[[Program], object]], Callable[[Program], object]]:
    """Registers a function, which is drawn as often as its weight says."""

    def register(function: Callable[[Program], object]) -> Callable[[Program], object]:
        IDIOMS.append(Idiom(function, weight))
        return function

    return register
