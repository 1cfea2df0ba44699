# Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
# See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What goes wrong, as exceptions."""

from __future__ import annotations

STATUS_NAMES = {
    1: "invalid argument",
    2: "invalid graph",
    3: "out of memory",
    4: "unsupported",
    5: "version mismatch",
    6: "device error",
}


class Error(RuntimeError):
    """A call that failed, with the runtime's or the compiler's own message.

    `status`: the code of `gnnc_status` in gnnc.h, or None where the error did not come from a compiled model.
    """

    def __init__(self, message: str, status: int | None = None) -> None:
        super().__init__(message)
        self.status = status


class EmptyListError(Error):
    """A graph without elements, where the model's sizes are the largest or least number of a list."""


class CompileError(Error):
    """The compiler refused a model. `details` is everything that it printed."""

    def __init__(self, message: str, details: str = "") -> None:
        super().__init__(message)
        self.details = details
