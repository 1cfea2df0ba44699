# Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
# See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The half of the package that needs PyTorch: `compile`, `export`, `optimize`, `Loader`."""

from __future__ import annotations

from ._api import compile, export
from ._compiled import CompiledModule
from ._loader import Loader
from ._module import Options
from ._optimize import optimize

__all__ = ["CompiledModule", "Loader", "Options", "compile", "export", "optimize"]
