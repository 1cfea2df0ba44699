# Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
# See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The checks, in the order in which they run: functions that raise what is wrong, and may return what to print."""

from __future__ import annotations

from collections.abc import Callable

Check = Callable[[], "str | None"]
CHECKS: dict[str, Check] = {}
device = "cuda"
data = ""


def check(name: str) -> Callable[[Check], Check]:
    def add(function: Check) -> Check:
        CHECKS[name] = function
        return function

    return add
