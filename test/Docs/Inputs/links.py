# ===- links.py - Do links and paths of the documentation lead somewhere? ----===#
#
# Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
# See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
#
# In every Markdown file of the repository:
#
# * a relative link must lead to a file or folder, and its anchor to a heading;
# * a path in backquotes that begins with a folder of the repository must exist, possibly with an extension or a wildcard.
#
#   python3 links.py REPOSITORY           exits with 1 and says where a page is wrong
#
# ===----------------------------------------------------------------------===#

import re
import sys
from pathlib import Path

FOLDERS = ("benchmarks", "cmake", "dialects", "docs", "editors", "examples", "include", "lib", "test", "tools")
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
PATH = re.compile(rf"`((?:{'|'.join(FOLDERS)})/[\w./*-]+)`")


def slug(heading):
    return re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-")


def prose(text):
    """The text without fenced blocks, line for line."""
    inside = False
    for line in text.splitlines():
        fence = line.lstrip().startswith("```")
        yield "" if inside or fence else line
        inside ^= fence


def exists(root, path):
    return any(root.glob(path)) or any(root.glob(path.rstrip("/") + ".*"))


def check(root, page):
    lines = list(prose(page.read_text()))
    for number, line in enumerate(lines, 1):
        for target in LINK.findall(line):
            if re.match(r"[a-z]+:", target):
                continue
            path, _, anchor = target.partition("#")
            other = (page.parent / path).resolve() if path else page
            if not other.exists():
                yield number, f"there is no '{target}'"
            elif anchor:
                headings = [line.lstrip("#") for line in prose(other.read_text()) if re.match(r"#+ ", line)]
                if anchor not in [slug(heading.strip()) for heading in headings]:
                    yield number, f"'{path or page.name}' has no heading '#{anchor}'"
        for path in PATH.findall(line):
            if not exists(root, path):
                yield number, f"there is no '{path}'"


def main():
    root = Path(sys.argv[1]).resolve()
    pages = [*root.glob("*.md"), *(page for folder in FOLDERS for page in sorted((root / folder).rglob("*.md")))]
    wrong = 0
    for page in pages:
        for number, message in check(root, page):
            print(f"{page.relative_to(root)}:{number}: {message}")
            wrong += 1
    print(f"{len(pages)} pages, {wrong} dead ends")
    return 1 if wrong or not pages else 0


if __name__ == "__main__":
    sys.exit(main())
