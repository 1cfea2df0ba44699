"""Writes the references of this folder from the .td files: ./dev docs.

    generate.py [--check] [--llvm /usr/lib/llvm-22]

With --check nothing is written; the exit status is 1 where a file is not what it would be.
"""

import argparse
import re
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
DIALECT = "--gen-dialect-doc"
# File, title of its own (the dialects' have one), source, and what mlir-tblgen is told.
REFERENCES = [
    ("mpdfg.md", "", "dialects/mpdfg/IR/MPDFGOps.td", [DIALECT, "--dialect=mpdfg"]),
    ("mpk.md", "", "dialects/mpk/IR/MPKOps.td", [DIALECT, "--dialect=mpk"]),
    (
        "interfaces.md",
        "# Interfaces of operations",
        "dialects/mpdfg/Interfaces/MPDFGInterfaces.td",
        ["--gen-op-interface-docs"],
    ),
    ("passes.md", "# Passes", "include/gnnc/Transforms/Passes.td", ["--gen-pass-doc"]),
]


def tblgen(llvm: Path, source: str, options: list[str]) -> str:
    places = [ROOT, ROOT / "include", (ROOT / source).parent, ROOT / "dialects/mpdfg/IR", llvm / "include"]
    command = [str(llvm / "bin/mlir-tblgen"), *options, *(f"-I{place}" for place in places), str(ROOT / source)]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def sections(text: str) -> list[str]:
    """The text before the first heading of level 3, and each such heading with what follows."""
    return re.split(r"(?m)^(?=### )", text)


def tidy(text: str, title: str, source: str, known: set[str]) -> str:
    """`known`: enums that another reference has; a dialect that includes another one's file lists them again."""
    lines = text.splitlines()[1:]  # without mlir-tblgen's own remark
    text = "\n".join(line.rstrip() for line in lines if line != "[TOC]")
    text = text.replace("# OpInterface definitions\n", "")
    before, mark, enums = text.partition("\n## Enums\n")
    own = [part for part in sections(enums) if part.splitlines()[:1] != [] and part.splitlines()[0] not in known]
    known.update(part.splitlines()[0] for part in own if part.startswith("### "))
    if mark and any(part.startswith("### ") for part in own):
        before += mark + "\n" + "".join(own)
    text = (
        f"<!-- Generated from {source} by ./dev docs. Edit that file. -->\n\n"
        + (f"{title}\n\n" if title else "")
        + before
    )
    return re.sub(r"\n{3,}", "\n\n", text).strip() + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="only say which files are not current")
    parser.add_argument(
        "--llvm", type=Path, default=Path("/usr/lib/llvm-22"), help="where LLVM and MLIR 22 are installed"
    )
    arguments = parser.parse_args()
    known: set[str] = set()
    status = 0
    for name, title, source, options in REFERENCES:
        text = tidy(tblgen(arguments.llvm, source, options), title, source, known)
        path = HERE / name
        if path.exists() and path.read_text() == text:
            continue
        if arguments.check:
            print(f"docs/reference/{name} is not what {source} says: run ./dev docs")
            status = 1
        else:
            path.write_text(text)
            print(f"wrote docs/reference/{name}")
    return status


if __name__ == "__main__":
    sys.exit(main())
