# Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
# See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The name of the backend, `torch.compile(model, backend="gnnc")`, also where this package is not installed but found on
PYTHONPATH.

PyTorch asks the distributions of this Python which backends they have, when it first looks for one that it does not know.
Installed packages answer by their files; this answers in the place of such a file. It imports nothing of PyTorch.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import Any

_GROUP, _NAME, _VALUE = "torch_dynamo_backends", "gnnc", "gnnc.torch._backend:backend"


class _Finder:
    """One of `sys.meta_path`, for distributions only."""

    @staticmethod
    def find_spec(name: str, path: Any = None, target: Any = None) -> None:
        return None

    @staticmethod
    def find_distributions(context: Any = None) -> Iterable[Any]:
        from importlib.metadata import Distribution

        class Here(Distribution):
            def read_text(self, filename: str) -> str | None:
                from . import __version__

                if filename == "METADATA":
                    return f"Metadata-Version: 2.1\nName: {_NAME}\nVersion: {__version__}\n"
                return f"[{_GROUP}]\n{_NAME} = {_VALUE}\n" if filename == "entry_points.txt" else None

            def locate_file(self, path: Any) -> Any:
                from pathlib import Path

                return Path(__file__).parent.parent / path

        return [Here()] if getattr(context, "name", None) in (None, _NAME) else []


def make_known() -> None:
    """From now on PyTorch finds the backend."""
    if not any(type(each).__module__ == __name__ for each in sys.meta_path):
        sys.meta_path.append(_Finder())  # the last: an installed package is found before
    registry = sys.modules.get("torch._dynamo.backends.registry")
    if registry is not None:  # it may have asked already
        from importlib.metadata import EntryPoint

        registry._BACKENDS.setdefault(_NAME, EntryPoint(_NAME, _VALUE, _GROUP))
