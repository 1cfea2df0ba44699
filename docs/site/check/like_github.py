"""Checks that the site's Markdown gives the same blocks as CommonMark with GitHub's tables, which pages are written for.

    like_github.py PYTHON_MARKDOWN_CONFIG [PAGE...]      # default: all pages; run by build.sh

Python-Markdown reads some texts otherwise: lists without an empty line before them, blocks in lists that are indented by two
spaces. The outlines of blocks (headings, paragraphs, lists, items, tables with their sizes, code) are compared.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception"""

from __future__ import annotations

import difflib
import sys
from html.parser import HTMLParser
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "hooks"))

import github  # noqa: E402  (a hook)
import markdown  # noqa: E402
import repository  # noqa: E402
from generated import ROOT  # noqa: E402
from markdown_it import MarkdownIt  # noqa: E402
from mkdocs.config import load_config  # noqa: E402

BLOCKS = {"h1", "h2", "h3", "h4", "h5", "h6", "p", "ul", "ol", "li", "tr", "pre", "blockquote"}


class Outline(HTMLParser):
    """Blocks in order, with the depth of lists; a table's row with its number of cells, a heading with its text."""

    def __init__(self):
        super().__init__()
        self.found: list[str] = []
        self.depth = self.cells = 0
        self.text = ""

    def handle_starttag(self, tag, attributes):
        if tag in ("td", "th"):
            self.cells += 1
        if tag == "tr":
            self.cells = 0
        if tag in ("ul", "ol"):
            self.depth += 1
        self.text = "" if tag in BLOCKS else self.text

    def handle_data(self, data):
        self.text += data

    def handle_endtag(self, tag):
        if tag in ("ul", "ol"):
            self.depth -= 1
        elif tag == "tr":
            self.found.append(f"row of {self.cells}")
        elif tag in BLOCKS:
            words = "".join(self.text.split())[:30]
            # Whether an item's text is a paragraph is a matter of space.
            kind = "text" if tag in ("p", "li") else tag
            if words:
                self.found.append(f"{'  ' * self.depth}{kind} {words}")
            self.text = ""


def outline(html: str) -> list[str]:
    parser = Outline()
    parser.feed(html)
    return parser.found


def main() -> int:
    config = load_config(str(Path(__file__).resolve().parents[1] / "mkdocs.yml"))
    github.on_config(config)
    ours = markdown.Markdown(extensions=config.markdown_extensions, extension_configs=config.mdx_configs)
    theirs = MarkdownIt("commonmark").enable("table").enable("strikethrough")
    names = sys.argv[1:] or [
        str(p.relative_to(ROOT)) for p in ROOT.rglob("*.md") if repository.PAGES.fullmatch(str(p.relative_to(ROOT)))
    ]
    different = 0
    for name in sorted(names):
        text = (ROOT / name).read_text()
        ours.reset()
        mine = outline(ours.convert(github.on_page_markdown(github.FORMULA.sub("", text))).replace("&para;", ""))
        wanted = outline(theirs.render(github.FORMULA.sub("", text)))
        lines = [line for line in difflib.unified_diff(wanted, mine, "GitHub", "site", lineterm="", n=0)][2:]
        if lines:
            different += 1
            print(f"{name}: expected the blocks that GitHub makes, found others")
            print("\n".join(f"  {line}" for line in lines[:20]))
    print(f"{len(names)} pages, {different} with other blocks than on GitHub")
    return 1 if different or not names else 0


if __name__ == "__main__":
    sys.exit(main())
