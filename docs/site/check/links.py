"""Checks a built site: every link, image, style and script leads to a file of the site, and every anchor to an element.

    links.py SITE [--external]

With --external addresses of other hosts that pages link to are asked as well. No page may load anything from another host.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception"""

from __future__ import annotations

import argparse
import sys
import urllib.error
import urllib.request
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urldefrag, urlsplit

#: Attributes that make a browser load something at once.
LOADED = {("script", "src"), ("img", "src"), ("link", "href"), ("iframe", "src"), ("source", "src")}


class Page(HTMLParser):
    def __init__(self, text: str):
        super().__init__()
        self.ids: set[str] = set()
        self.twice: set[str] = set()
        self.links: list[tuple[int, str, bool]] = []  # line, target, whether it is loaded
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        for name in {attributes.get("id"), attributes.get("name") if tag == "a" else None} - {None}:
            (self.twice if name in self.ids else self.ids).add(name)
        for name in ("href", "src"):
            target = attributes.get(name)
            if target and attributes.get("rel") != "canonical":
                loaded = (tag, name) in LOADED and attributes.get("rel") not in ("next", "prev")
                self.links.append((self.getpos()[0], target, loaded))


def file_of(site: Path, page: Path, path: str) -> Path:
    path = unquote(path)
    file = site / path.lstrip("/") if path.startswith("/") else page.parent / path
    return (file / "index.html" if path.endswith("/") or file.is_dir() else file).resolve() if path else page


def check(site: Path) -> tuple[list[str], dict[str, str]]:
    """Faults, and the addresses of other hosts, each with a page that links to it."""
    pages = {file.resolve(): Page(file.read_text()) for file in sorted(site.rglob("*.html"))}
    wrong, external = [], {}
    for file, page in pages.items():
        where = file.relative_to(site.resolve())
        wrong += [f"{where}: expected one element with the id '{name}', found two" for name in sorted(page.twice)]
        for line, target, loaded in page.links:
            parts = urlsplit(target)
            if parts.scheme in ("http", "https") or target.startswith("//"):
                if loaded:
                    wrong.append(f"{where}:{line}: expected nothing that is loaded from other hosts, found '{target}'")
                external.setdefault(urldefrag(target)[0], f"{where}:{line}")
                continue
            if parts.scheme in ("mailto", "data", "javascript"):
                continue
            other = file_of(site.resolve(), file, parts.path)
            if not other.is_file():
                wrong.append(f"{where}:{line}: there is no '{target}'")
            elif parts.fragment and other in pages and unquote(parts.fragment) not in pages[other].ids:
                wrong.append(f"{where}:{line}: '{parts.path or where}' has no '#{parts.fragment}'")
    if not pages:
        wrong.append(f"{site}: expected a site, found no page")
    print(f"{len(pages)} pages, {sum(len(page.links) for page in pages.values())} links, {len(wrong)} wrong")
    return wrong, external


def answers(address: str) -> str:
    """Empty, or why there is no answer."""
    agent = {"User-Agent": "Mozilla/5.0 (link check)"}
    try:
        with urllib.request.urlopen(urllib.request.Request(address, headers=agent), timeout=20) as reply:
            return "" if reply.status < 400 else f"status {reply.status}"
    except (urllib.error.URLError, TimeoutError, ValueError) as error:
        return str(getattr(error, "reason", error))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("site", type=Path)
    parser.add_argument("--external", action="store_true", help="ask addresses of other hosts, too")
    arguments = parser.parse_args()
    wrong, external = check(arguments.site)
    if arguments.external:
        for address, where in sorted(external.items()):
            if reason := answers(address):
                wrong.append(f"{where}: '{address}' does not answer: {reason}")
        print(f"{len(external)} addresses of other hosts")
    print(*wrong, sep="\n", end="\n" if wrong else "")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
