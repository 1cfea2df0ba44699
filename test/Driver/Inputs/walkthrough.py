# ===- walkthrough.py - Does what a page of documentation says ---------------===#
#
# Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
# See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
#
# Follows a page in an empty directory that has the repository's examples and include folders in it:
#
# * A `gnn` block is written to the file that its first line names (`// gated.gnn`). Without a name it is compiled where
#   it has a model, and else analysed with a model that uses nothing of it; a `gnn error` block must be refused.
# * A `json` block is written likewise, to the file named by the last `name.json` in the text before it.
# * A `console` block has commands after `$ ` and what they print. Times, byte rates and digests may differ, numbers may
#   by a hundredth; a line `…` stands for any lines, and a line that ends in ` …` has been cut.
# * An `mlir` block right after a `console` block without output is an excerpt of what the command prints: its operations
#   must occur there, in order.
#
#   python3 walkthrough.py REPOSITORY PAGE.md           exits with 1 and says where the page is wrong
#   python3 walkthrough.py REPOSITORY PAGE.md --update  writes what commands print now into the page
#
# ===----------------------------------------------------------------------===#

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

MODEL_OF_NOTHING = """
model Nothing(width_of_nothing: int = 1) {
  input nothing: node[width_of_nothing]
  output same = nothing
}
"""
VARYING = re.compile(r"\d[\d. ]*(?:ns|us|ms|s)\b|digest [0-9a-f]{16}|median of [\d ]+|ABI version \d+")
NUMBER = re.compile(r"-?\d+\.\d+(?:e[+-]?\d+)?")
KINDS = "sum|mean|max|softmax|leaky_relu|sigmoid|relu|exp|add|mul"
OPERATION = re.compile(rf"\b(?:mpk|mpdfg)\.(?!on\b|access\b)[a-z_]+(?: (?:{KINDS})\b)?")


def blocks(lines):
    """(kind, index of the first line, lines) of each fenced block."""
    start = None
    for index, line in enumerate(lines):
        if line.startswith("```"):
            if start is None:
                start = index
            else:
                yield lines[start][3:].strip(), start + 1, lines[start + 1 : index]
                start = None


def same_line(said, found):
    if said.endswith(" …"):
        said, found = said[:-2], found[: len(said) - 2]
    said, found = (re.sub(r"\s+", " ", VARYING.sub("~", text)).strip() for text in (said, found))
    if NUMBER.sub("#", said) != NUMBER.sub("#", found):
        return False
    pairs = zip(map(float, NUMBER.findall(said)), map(float, NUMBER.findall(found)))
    return all(abs(a - b) <= 0.01 * max(abs(a), abs(b), 1e-3) for a, b in pairs)


def same(said, found):
    if not said:
        return not found
    if said[0].strip() == "…":
        return any(same(said[1:], found[skip:]) for skip in range(len(found) + 1))
    return bool(found) and same_line(said[0], found[0]) and same(said[1:], found[1:])


def has_in_order(wanted, there):
    rest = iter(there)
    return all(operation in rest for operation in wanted)


class Walkthrough:
    def __init__(self, page, place):
        self.page, self.place = page, place
        self.lines = page.read_text(encoding="utf-8").split("\n")
        self.wrong, self.replacements, self.last_output = [], [], []

    def run(self, command):
        done = subprocess.run(["bash", "-c", command], cwd=self.place, capture_output=True, encoding="utf-8")
        printed = (done.stdout + done.stderr).rstrip("\n")
        return [line.rstrip() for line in printed.split("\n")] if printed else []

    def complain(self, line, what):
        self.wrong.append(f"{self.page.name}:{line}: {what}")

    def console(self, first, body):
        steps = []  # [line, command, what is said to be printed]
        for offset, line in enumerate(body):
            if line.startswith("$ "):
                steps.append([first + offset + 1, line[2:], []])
            elif steps and steps[-1][1].endswith("\\"):
                steps[-1][1] = steps[-1][1][:-1] + line.strip()
            elif steps:
                steps[-1][2].append(line.rstrip())
        excerpt = first + len(body) + 1 < len(self.lines) and "```mlir" in self.lines[first + len(body) + 1 :][:3]
        for line, command, said in steps:
            found = self.run(command)
            self.last_output = found
            if excerpt and not said:
                continue
            while said and not said[-1]:
                said.pop()
            if not same(said, found):
                self.complain(line, f"`{command}` prints\n" + "\n".join("    " + text for text in found))
                self.replacements.append((said, found, line))

    def model(self, first, body, wrong):
        text = "\n".join(body) + "\n"
        named = re.match(r"// (\S+\.gnn)", body[0])
        if named:
            (self.place / named[1]).write_text(text, encoding="utf-8")
            return
        if not re.search(r"^model ", text, re.M):
            text += MODEL_OF_NOTHING
        (self.place / "block.gnn").write_text(text, encoding="utf-8")
        printed = self.run("gnnc compile block.gnn -o block.so")
        if bool(printed) != wrong:
            what = "this is no error" if wrong else "this does not compile"
            self.complain(first, what + "".join("\n    " + line for line in printed))

    def walk(self):
        for kind, first, body in blocks(self.lines):
            if kind in ("gnn", "gnn error"):
                self.model(first, body, wrong=kind != "gnn")
            elif kind == "json":
                names = re.findall(r"`(\S+\.json)`", "\n".join(self.lines[:first]))
                (self.place / names[-1]).write_text("\n".join(body) + "\n")
            elif kind == "console":
                self.console(first, body)
            elif kind == "mlir":
                wanted = OPERATION.findall("\n".join(body))
                if not has_in_order(wanted, OPERATION.findall("\n".join(self.last_output))):
                    self.complain(first, "these operations do not occur in this order")

    def update(self):
        for said, found, line in reversed(self.replacements):
            begin = line
            while self.lines[begin - 1].endswith("\\"):
                begin += 1
            cut = [text[:116].rstrip() + " …" if len(text) > 118 and "mpdfg." in text else text for text in found]
            self.lines[begin : begin + len(said)] = cut
        self.page.write_text("\n".join(self.lines), encoding="utf-8")


def main():
    repository, page = Path(sys.argv[1]).resolve(), Path(sys.argv[2]).resolve()
    with tempfile.TemporaryDirectory() as place:
        for name in ("examples", "include"):
            os.symlink(repository / name, Path(place) / name)
        walkthrough = Walkthrough(page, Path(place))
        walkthrough.walk()
    print("\n".join(walkthrough.wrong))
    if "--update" in sys.argv:
        walkthrough.update()
        return 0
    return 1 if walkthrough.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
