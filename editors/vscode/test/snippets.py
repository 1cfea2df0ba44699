"""Checks that what the snippets insert is accepted by the compiler: snippets.py GNNC

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path

SNIPPETS = Path(__file__).resolve().parents[1] / "snippets/gnn.json"
#: The text around snippets that are not declarations.
AROUND = {
    "Training": "import std\nmodel M(class: int = 3) {{\n  input x: node[in = 4]\n  output logits = GCN(x, out: class)\n{}\n}}\n",
    "Attention": "layer L(z: node[heads, out]) -> node[heads, out] {{\n"
    "  param a_src[heads, out], a_dst[heads, out]\n{}\n}}\n"
    "model M {{\n  input x: node[heads = 2, out = 3]\n  output y = L(x)\n}}\n",
}


def main() -> int:
    gnnc = Path(sys.argv[1]).resolve()
    snippets, wrong = json.loads(SNIPPETS.read_text()), 0
    with tempfile.TemporaryDirectory() as folder:
        for name, snippet in snippets.items():
            text = re.sub(r"\$\{\d+:([^}]*)\}|\$\d+", lambda match: match[1] or "", "\n".join(snippet["body"]))
            file = Path(folder) / f"{name}.gnn"
            file.write_text(AROUND.get(name, "{}\n").format(text))
            run = subprocess.run([gnnc, "check", "--werror", file], capture_output=True, text=True, check=False)
            if run.returncode:
                wrong += 1
                print(f"{SNIPPETS.name}: '{name}': expected a text that the compiler accepts, found\n{run.stderr}")
    print(f"{len(snippets)} snippets, {wrong} faults")
    return 1 if wrong or not snippets else 0


if __name__ == "__main__":
    sys.exit(main())
