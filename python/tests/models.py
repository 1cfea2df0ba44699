# Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
# See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Models that the tests compile, once for all of them."""

from __future__ import annotations

import atexit
import shutil
import tempfile
from pathlib import Path

from gnnc import _compiler

GCN = """
import std
model Net(in: int = 3, classes: int = 2) {
  input x: node[in]
  output logits = GCN(x, out: classes) as c1
}
"""

SPARSE = """
import std
model Net(words: int = 5, out: int = 2) {
  input x: node[words] sparse
  param W[words, out]
  output y = x @ W
}
"""

TWO_OUTPUTS = """
model Net(in: int = 3) {
  input x: node[in]
  output total = sum(x.src)
  output most = max(x.src)
}
"""

_folder = Path(tempfile.mkdtemp(prefix="gnnc-tests-"))
atexit.register(shutil.rmtree, _folder, ignore_errors=True)


def compiled(text: str, *options: str) -> Path:
    """The object of a model text."""
    path = _folder / f"{abs(hash((text, options))):x}"
    output = path.with_suffix(".so")
    if not output.exists():
        path.with_suffix(".gnn").write_text(text)
        _compiler.run_compiler(path.with_suffix(".gnn"), output, options)
    return output
