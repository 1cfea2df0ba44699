"""Whether the compiler's own sources are valid for aarch64, on another machine: `aarch64_sources.py BUILD [PART...]`.

Each file of a configured and built BUILD that goes into the programs (of PARTs: whose path has one of them) is parsed and
instantiated for aarch64-linux-gnu, with the headers of g++-aarch64-linux-gnu. No code is generated, and nothing linked:
there is no LLVM for aarch64 here. All files take an hour on one processor; `--every N` takes one of N.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception"""

from __future__ import annotations

import argparse
import json
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

TARGET = "--target=aarch64-linux-gnu"


def own(entry: dict, root: Path) -> bool:
    """Of the programs: no tests, and no plugins, which other compilers build."""
    file = Path(entry["file"])
    parts = file.relative_to(root).parts if file.is_relative_to(root) else ()
    return parts[:1] in (("lib",), ("tools",), ("dialects",)) and file.suffix == ".cpp"


class Parser:
    def __init__(self, entries: list[dict], place: Path) -> None:
        self.place, self.headers = place, {}
        # Precompiled headers are made once more, for the other architecture.
        self.making = {}
        for entry in entries:
            if entry["file"].endswith("cmake_pch.hxx.cxx"):
                command = shlex.split(entry["command"])
                self.making[str(Path(entry["directory"], command[command.index("-o") + 1]))] = entry

    def header(self, path: str) -> str:
        if path not in self.headers:
            entry, made = self.making[path], str(self.place / f"{len(self.headers)}.pch")
            command = shlex.split(entry["command"])
            command[command.index("-o") + 1] = made
            subprocess.run([*command, TARGET], cwd=entry["directory"], check=True)
            self.headers[path] = made
        return self.headers[path]

    def parse(self, entry: dict) -> bool:
        command = shlex.split(entry["command"])
        at = command.index("-o")
        del command[at : at + 2]
        command = [self.header(word) if word.endswith(".pch") else word for word in command]
        command[command.index("-c")] = "-fsyntax-only"
        return not subprocess.run([*command, "-Werror", TARGET], cwd=entry["directory"]).returncode


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=Path)
    parser.add_argument("parts", nargs="*")
    parser.add_argument("--every", type=int, default=1)
    options = parser.parse_args()
    root = Path(__file__).resolve().parent.parent.parent
    entries = json.loads((options.build / "compile_commands.json").read_text())
    files = [each for each in entries if own(each, root)]
    files = [each for each in files if not options.parts or any(part in each["file"] for part in options.parts)]
    files = files[:: options.every]
    if not files:
        raise SystemExit("aarch64_sources.py: error: no such files")
    with tempfile.TemporaryDirectory() as place:
        parsing = Parser(entries, Path(place))
        wrong = [each["file"] for each in files if not parsing.parse(each)]
    print(f"{len(files)} files, {len(wrong)} not valid for aarch64", *wrong, sep="\n")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
