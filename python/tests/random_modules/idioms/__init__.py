# Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
# See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What programs are drawn from: one small function for each idiom, by topic."""

from . import (  # noqa: F401
    attention,
    elementwise,
    features,
    gathers,
    graphs,
    in_place,
    joins,
    layers,
    norms,
    pooling,
    scatters,
    views,
)
from .registry import IDIOMS

__all__ = ["IDIOMS"]
