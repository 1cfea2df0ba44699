"""Writes the page of the standard library from lib/Frontend/std: each layer with its signature and the comment before it.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception"""

from __future__ import annotations

import re

from generated import ROOT, add

FOLDER = ROOT / "lib/Frontend/std"
#: The comment lines directly before a declaration, and the declaration up to its body.
DECLARATION = re.compile(r"((?:^//[^\n]*\n)*)^(layer|relation) (\w+)(\(.*?) \{$", re.M | re.S)
HEAD = re.compile(r"//===- \S+ - (.*?) -*===//\n.*?//===-+===//\n//\n(.*?)//\n//===-+===//\n", re.S)


def prose(comment: str) -> str:
    return " ".join(line.removeprefix("//").strip() for line in comment.splitlines())


def on_files(files, config, **_):
    imports = re.findall(r"^import (\w+)$", (FOLDER / "std.gnn").read_text(), re.M)
    lines = [
        "# Standard library",
        "",
        "The layers that `import std` makes visible, and the prelude. All of them are written in the "
        "[language](../../../docs/Language.md) itself; each section links to its source. A layer's parameters are "
        "described [there](../../../docs/Language.md#layers).",
    ]
    for name in [*imports, "prelude"]:
        text = (FOLDER / f"{name}.gnn").read_text()
        head = HEAD.search(text)
        title, about = (head[1], prose(head[2])) if head else ("The prelude", "Declarations visible in every file.")
        lines += ["", f"## {title}", "", f"{about} [Source]({name}.gnn)."]
        declarations = list(DECLARATION.finditer(text[head.end() if head else 0 :]))
        if not declarations:
            raise SystemExit(f"{FOLDER / name}.gnn: expected layers or relations, found none")
        for comment, kind, declared, signature in (match.groups() for match in declarations):
            lines += ["", f"### {declared}", ""]
            lines += [prose(comment), ""] if comment else []
            lines += ["```gnn", f"{kind} {declared}{signature}", "```"]
    add(files, config, "lib/Frontend/std/index.md", "\n".join(lines) + "\n")
    return files
