"""The words of the language, read from the compiler's sources: what editors and the site compare their lists with.

    python3 editors/words.py        # prints them

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception"""

from __future__ import annotations

import re
from pathlib import Path

FRONTEND = Path(__file__).resolve().parents[1] / "lib/Frontend"


def _found(file: str, pattern: str, at_least: int) -> list[str]:
    text = (FRONTEND / file).read_text()
    found = re.findall(pattern, text, re.S)
    if len(found) < at_least:
        raise SystemExit(f"{FRONTEND / file}: expected {at_least} words or more by /{pattern}/, found {len(found)}")
    return found


def reserved() -> set[str]:
    """Words that cannot name anything."""
    return set(re.findall(r'"(\w+)"', _found("Syntax/Lexer.cpp", r"bool isKeyword\(.*?\n}", 1)[0]))


def contextual() -> set[str]:
    """Words that are keywords only where the grammar expects them."""
    words: set[str] = set()
    for file in ("Syntax/Parser.cpp", "Syntax/ParseStatement.cpp"):
        words |= set(_found(file, r'consumeWord\("(\w+)"\)', 2))
    # Statements and values that the next token tells apart from names.
    words |= set(_found("Syntax/ParseStatement.cpp", r'token\.text == "(\w+)" && (?:named|peek)', 5))
    words |= set(_found("Syntax/Parser.cpp", r'Kind::Name && peek\(\)\.text == "(\w+)"', 2))
    words |= set(_found("Syntax/Parser.cpp", r'name\.text != "(shared)"', 1))
    return words


def builtins() -> set[str]:
    """Functions."""
    return set(_found("Sema/Builtins.cpp", r'\{"(\w+)", \{&B::', 30))


if __name__ == "__main__":
    for kind in (reserved, contextual, builtins):
        print(f"{kind.__name__}: {' '.join(sorted(kind()))}")
