"""Makes Python-Markdown read pages as GitHub does: a second word after the language of a fenced block, bars in the code of
tables, lists in lists, `<` in prose, and formulas, which become MathML.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception"""

from __future__ import annotations

import re

from gnnc_markdown import CODE, FENCE, lines_of, outside_code
from latex2mathml.converter import convert
from markdown import Extension

FORMULA = re.compile(r"(\$\$)(.+?)\$\$|(?<![\w$\\])(\$)(?=\S)([^$\n]+?)(?<=\S)\$(?![\w$])")
#: A `<` that begins neither a tag, a comment nor an address.
NO_TAG = re.compile(
    r"<(?!/?[A-Za-z][A-Za-z0-9-]*(\s+[\w-]+(\s*=\s*(\"[^\"]*\"|'[^']*'|[^\s\"'=<>`]+))?)*\s*/?>|!--|[a-z]+:[^\s<>]*>)"
)
formulas: list[str] = []


def fence(line: str) -> str:
    """```gnn error -> ```{.gnn .error}"""
    indent, ticks, info = FENCE.match(line).groups()
    words = info.split()
    return line if len(words) < 2 else f"{indent}{ticks}{{{' '.join('.' + word for word in words)}}}"


def keep(match: re.Match) -> str:
    """A word in place of a formula, which on_page_content() replaces."""
    display = "block" if match[1] else "inline"
    formulas.append(convert(match[2] or match[4], display=display))
    return f"gnncformula{len(formulas) - 1}end"


def prose(line: str) -> str:
    if line.lstrip().startswith("|"):
        line = CODE.sub(lambda span: span[0].replace(r"\|", "|"), line)
    if "<" in line:
        line = outside_code(line, lambda text: NO_TAG.sub("&lt;", text))
    return outside_code(line, lambda text: FORMULA.sub(keep, text)) if "$" in line else line


def on_page_markdown(markdown: str, **_) -> str:
    change = {"open": fence, "prose": prose}
    lines: list[str] = []
    before = ""
    for kind, line in lines_of(markdown):
        if kind == "open" and before.strip():
            lines.append("")  # a block that follows a line of a paragraph directly
        lines.append(change.get(kind, str)(line))
        before = line if kind == "prose" else ""
    return "\n".join(lines)


def on_page_content(html: str, **_) -> str:
    return re.sub(r"gnncformula(\d+)end", lambda match: formulas[int(match[1])], html)


class TwoSpaces(Extension):
    """The blocks of a list item are indented by two spaces or more, not by four."""

    def extendMarkdown(self, md):  # noqa: N802  (Python-Markdown's name)
        md.tab_length = 2
        md.build_parser()  # its parts have copies of the length


def on_config(config, **_):
    config.markdown_extensions.insert(0, TwoSpaces())  # before the ones that add to the parser
    return config
