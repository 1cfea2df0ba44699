# ===- english.py - Does the documentation keep to plain English? -----------===#
#
# Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
# See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
#
# Counts turns of phrase that a native engineer would not write, in every hand-written Markdown file. A
# file may have as many as english.txt, beside this script, records for it (none where it has no line). These numbers
# may only fall.
#
#   python3 english.py REPOSITORY             exits with 1 where a file has more, and says line, pattern and wording
#   python3 english.py REPOSITORY --update    the same, and lowers the recorded counts of files that have fewer
#   python3 english.py --list FILE...         every finding in these files, of any kind (sources too)
#
# Code is left out: fenced blocks and text in backquotes. A few uses are good English; they stay in the count.
#
# ===----------------------------------------------------------------------===#

import re
import sys
from pathlib import Path

RECORD = Path(__file__).with_suffix(".txt")
FOLDERS = ("benchmarks", "docs", "editors", "examples", "hosts", "python", "test", "tools")
GENERATED = ("benchmarks/RESULTS.md", "docs/reference/")

# Name, pattern, and the wording that is usually better.
PATTERNS = [
    (
        "'What' opens a statement",
        r"\bWhat\b(?![^.?!|]*\?)",
        "begin with the subject: 'Values that ...', 'The result ...'",
    ),
    ("a preposition before 'what'", r"\b(?:of|from|by|than|with|into|beside|after|before) what\b", "name the thing"),
    ("'Of' opens a sentence", r"(?<![\w-])Of (?!course\b)", "begin with the subject"),
    ("'Whose' opens a statement", r"\bWhose\b(?![^.?!|]*\?)", "'Ownership', 'Which rank owns ...'"),
    ("so many, so few", r"\b[Ss]o (?:many|few)\b", "'N', 'that number of', 'few enough'"),
    ("nobody, no one", r"\b(?:[Nn]obody|[Nn]o one)\b", "'unused', 'not', 'has no users'"),
    ("goes along", r"\b(?:go(?:es|ing)?|went|gone) along\b", "'follows', 'is partitioned along'"),
    ("but for", r"\b[Bb]ut for\b(?! now)", "'except for', 'apart from'"),
    ("by way of", r"\bby way of\b", "'through', 'via'"),
    ("at hand", r"\bat hand\b", "'available'"),
    (
        "by itself, by themselves",
        r"\bby (?:it|him|her)self\b|\bby themselves\b",
        "'alone', 'on its own', 'stand-alone'",
    ),
    ("mend", r"\b[Mm]end(?:s|ed|ing)?\b", "'fix'"),
    (
        "made of, made from",
        r"\b(?:is|are|was|were|be|being|been|made) made (?:of|from)\b|\b[Mm]ade of\b",
        "'computed from'",
    ),
    ("becomes of, comes of", r"\b(?:become|becomes|became|come|comes|came) of\b", "'the result', 'comes from'"),
    ("without which", r"\bwithout which\b", "rephrase: 'which needs ...'"),
    ("for want of", r"\bfor want of\b", "'for lack of'"),
    ("to the letter", r"\bto the letter\b", "'exactly'"),
    (
        "make again, dear to make",
        r"\bma(?:ke|kes|de|king) again\b|\bdear to\b",
        "'recompute', 'expensive to recompute'",
    ),
    ("on its way", r"\bon (?:its|their|the) way\b", "'in transit', 'while the transfer runs'"),
    ("can be had", r"\b(?:can|could|may) be had\b|\b(?:is|are) to be had\b", "'is available', 'is possible'"),
]
PATTERNS = [(name, re.compile(pattern), better) for name, pattern, better in PATTERNS]


def prose(text):
    """The text with code blanked out, at the same places."""

    def blank(match):
        return re.sub(r"[^\n]", " ", match[0])

    text = re.sub(r"^([ \t]*)(```|~~~).*?^[ \t]*\2", blank, text, flags=re.M | re.S)
    return re.sub(r"`[^`\n]*`|\]\([^)\s]*\)", blank, text)


def findings(text):
    """(line, what was found, pattern, better wording), in order."""
    text = prose(text)
    found = []
    for name, pattern, better in PATTERNS:
        for match in pattern.finditer(text):
            shown = " ".join(text[match.start() : match.end() + 40].split())
            found.append((text.count("\n", 0, match.start()) + 1, shown, name, better))
    return sorted(found)


def pages(root):
    found = [*root.glob("*.md"), *(page for folder in FOLDERS for page in (root / folder).rglob("*.md"))]
    names = sorted(str(page.relative_to(root)) for page in found)
    return [name for name in names if not name.startswith(GENERATED)]


def recorded():
    lines = (line.split() for line in RECORD.read_text().splitlines() if line and not line.startswith("#"))
    return {name: int(count) for count, name in lines}


def main():
    options = [argument for argument in sys.argv[1:] if argument.startswith("--")]
    arguments = [argument for argument in sys.argv[1:] if not argument.startswith("--")]
    if "--list" in options:
        for name in arguments:
            for line, shown, pattern, _ in findings(Path(name).read_text(errors="replace")):
                print(f"{name}:{line}: {pattern}: {shown}")
        return 0
    root = Path(arguments[0]).resolve()
    allowed, counts, wrong = recorded(), {}, 0
    for name in pages(root):
        found = findings((root / name).read_text())
        limit = allowed.get(name, 0)
        counts[name] = min(len(found), limit)
        if len(found) > limit:
            wrong += 1
            print(f"{name}: {len(found)} turns of phrase to avoid, {limit} are recorded in {RECORD.name}")
            for line, shown, pattern, better in found:
                print(f"{name}:{line}: {pattern}: '{shown}': rather {better}")
    if "--update" in options:
        head = [line for line in RECORD.read_text().splitlines() if line.startswith("#")]
        lines = [f"{count:4} {name}" for name, count in counts.items() if count]
        RECORD.write_text("\n".join([*head, *lines]) + "\n")
    print(f"{len(counts)} pages, {sum(counts.values())} recorded, {wrong} pages have more than that")
    return 1 if wrong or not counts else 0


if __name__ == "__main__":
    sys.exit(main())
