"""Markdown as GitHub reads it, line by line. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

LINK = re.compile(r"(\[[^\]]*\]\()([^)\s]+)\)")
CODE = re.compile(r"(`+)(?!`).+?(?<!`)\1(?!`)")
FENCE = re.compile(r"^( *)(`{3,}|~{3,})(.*)$")


def slug(heading: str, separator: str = "-") -> str:
    """The anchor of a heading, as test/Docs/Inputs/links.py and GitHub have it."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", separator)


def lines_of(text: str) -> Iterator[tuple[str, str]]:
    """Each line as ("prose" or "code" or "open" or "close", line): `open` begins a fenced block."""
    fence = ""
    for line in text.split("\n"):
        match = FENCE.match(line)
        if fence:
            closes = match and match[2].startswith(fence) and not match[3].strip()
            yield ("close" if closes else "code"), line
            fence = "" if closes else fence
        elif match:
            fence = match[2]
            yield "open", line
        else:
            yield "prose", line


def outside_code(line: str, change: Callable[[str], str]) -> str:
    """The line with change() applied between its code spans."""
    parts, end = [], 0
    for span in CODE.finditer(line):
        parts += [change(line[end : span.start()]), span[0]]
        end = span.end()
    return "".join([*parts, change(line[end:])])


def map_links(text: str, change: Callable[[str], str]) -> str:
    """The text with the target of each link replaced by change(target); code spans and fenced blocks stay as they are."""
    found = []
    for kind, line in lines_of(text):
        if kind == "prose":
            masked = CODE.sub(lambda span: "\0" * len(span[0]), line)
            for match in reversed(list(LINK.finditer(masked))):
                line = line[: match.start(2)] + change(match[2]) + line[match.end(2) :]
        found.append(line)
    return "\n".join(found)
