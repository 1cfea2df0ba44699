"""Runs a program of the benchmarks, which lie in rooms by what they measure:

    python3 benchmarks                               # lists them
    python3 benchmarks gpu.grid run objects          # benchmarks/gpu/grid.py with its arguments

The folder can be carried to another machine alone and under another name.
"""

from __future__ import annotations

import ast
import importlib
import sys
from pathlib import Path

ROOMS = ("cpu", "gpu", "harness")


def programs() -> dict[str, str]:
    """By name; with the first line of what they say about themselves. Nothing is imported."""
    found = {}
    for room in ROOMS:
        for path in sorted((Path(__file__).parent / room).glob("*.py")):
            tree = ast.parse(path.read_text())
            if any(isinstance(node, ast.FunctionDef) and node.name == "main" for node in tree.body):
                found[f"{room}.{path.stem}"] = (ast.get_docstring(tree) or "").splitlines()[0]
    return found


def main() -> int:
    known = programs()
    name = sys.argv[1] if len(sys.argv) > 1 else "--help"
    if name in ("-h", "--help"):
        print("usage: python3 benchmarks PROGRAM [ARGUMENT...]\n")
        width = max(map(len, known))
        print("\n".join(f"  {program.ljust(width)}  {what}" for program, what in known.items()))
        return 0
    if name not in known:
        print(f"benchmarks: error: expected one of {', '.join(known)}, found '{name}'", file=sys.stderr)
        return 2
    sys.argv = [f"python3 benchmarks {name}", *sys.argv[2:]]  # as argparse shows it
    return importlib.import_module(name).main() or 0


if __name__ == "__main__":
    sys.exit(main())
