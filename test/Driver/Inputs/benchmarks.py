"""Imports every module of the benchmarks and asks every program for help, from a copy of their folder alone.

    benchmarks.py FOLDER COPY

What is not installed here (PyTorch, MKL, ...) is replaced by a stand-in that has every name.
"""

import ast
import importlib.machinery
import os
import shutil
import subprocess
import sys
from pathlib import Path
from unittest.mock import MagicMock

OWN = ("cpu", "gpu", "harness", "peers", "whole")


class StandIns:
    """Finds what nothing before it has found, but for the benchmarks' own modules: a room's name belongs in front."""

    def __init__(self, folder: Path):
        self.own = {*OWN, *(path.stem for room in OWN for path in (folder / room).glob("*.py"))}

    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in self.own:
            return None
        return importlib.machinery.ModuleSpec(name, self, is_package=True)

    def create_module(self, spec):
        module = MagicMock(name=spec.name)
        module.__path__ = []
        module.nn.Module = object  # classes derive from it
        return module

    def exec_module(self, module):
        pass


def import_all(folder: Path) -> int:
    sys.path.insert(0, str(folder))
    sys.meta_path.append(StandIns(folder))
    names = sorted(f"{path.parent.name}.{path.stem}" for room in OWN for path in (folder / room).glob("*.py"))
    for name in names:
        importlib.import_module(name)
        check_imports(folder / (name.replace(".", "/") + ".py"))
    return len(names)


def check_imports(path: Path) -> None:
    """Also what functions import from the benchmarks when they are called."""
    for node in ast.walk(ast.parse(path.read_text())):
        if not isinstance(node, ast.ImportFrom) or node.module.split(".")[0] not in OWN:
            continue
        for alias in node.names:
            module = importlib.import_module(node.module)
            if not hasattr(module, alias.name):
                importlib.import_module(f"{node.module}.{alias.name}")


def main() -> None:
    source, copy = Path(sys.argv[1]), Path(sys.argv[2])
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(source, copy, ignore=shutil.ignore_patterns("__pycache__", "history"))
    print(f"{import_all(copy)} modules imported")
    sys.path.insert(0, str(copy.parent))
    listed = subprocess.run([sys.executable, str(copy)], check=True, capture_output=True, text=True).stdout
    runner = f"import sys; sys.path.insert(0, {str(Path(__file__).parent)!r}); sys.argv = sys.argv[1:]; "
    runner += (
        "import benchmarks, pathlib, runpy; sys.meta_path.append(benchmarks.StandIns(pathlib.Path(sys.argv[0]))); "
    )
    runner += "runpy.run_path(sys.argv[0], run_name='__main__')"
    for program in (line.split()[0] for line in listed.splitlines() if line.startswith("  ")):
        command = [sys.executable, "-c", runner, str(copy), program, "--help"]
        done = subprocess.run(command, capture_output=True, text=True, env=os.environ | {"COLUMNS": "120"})
        if done.returncode != 0 or not done.stdout.startswith("usage: "):
            sys.exit(f"{program} --help: status {done.returncode}\n{done.stdout}{done.stderr}")
        print(f"{program}: {done.stdout.splitlines()[0]}")


if __name__ == "__main__":
    main()
