"""Makes pages of files of the repository, under the paths that they have there.

Markdown files are pages as they are. A source file or a folder that one of them links to becomes a page of its own, so that
the site is complete in itself. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception"""

from __future__ import annotations

import os
import posixpath
import re
import subprocess
from pathlib import Path

from generated import ROOT, add, expanded
from gnnc_markdown import map_links
from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File, Files
from pygments.lexers import get_lexer_for_filename
from pygments.util import ClassNotFound

PAGES = re.compile(r"[A-Z]+\.md|(docs|examples|hosts|benchmarks|editors)/(?!site/|results/|peers/).*\.md")
#: Longer files, data mostly, are listed without a page.
LONGEST = 200_000
IMAGES = {".svg", ".png"}
SCHEME = re.compile(r"[a-z][a-z0-9+.-]*:")
#: Folders that another hook describes.
DESCRIBED = {"lib/Frontend/std"}

tracked: set[str] = set()  # files, and the folders that they are in
pages: dict[str, str] = {}  # by path in the repository, the path of its page


def on_files(files: Files, config, **_) -> Files:
    listing = subprocess.run(
        ["git", "-C", ROOT, "ls-files", "-co", "--exclude-standard"], capture_output=True, text=True, check=False
    )
    if listing.returncode:
        raise PluginError(f"{ROOT}: expected a checkout of git, found: {listing.stderr.strip()}")
    names = [name for name in listing.stdout.splitlines() if (ROOT / name).is_file()]
    tracked.clear()
    pages.clear()
    for name in names:
        tracked.update({name, *map(str, Path(name).parents)})
    for name in names:
        if PAGES.fullmatch(name):
            pages[name] = name
            files.append(File.generated(config, name, abs_src_path=str(ROOT / name)))
    config.nav = expanded(config.nav, list(pages))
    texts = {name: (ROOT / name).read_text() for name in pages}
    wanted = [target for name, text in texts.items() for target in targets(name, text)]
    while wanted:
        path = wanted.pop()
        if path in pages or path not in tracked:
            continue
        if f"{path}/README.md" in pages:
            pages[path] = f"{path}/README.md"
        elif (ROOT / path).is_dir():
            pages[path] = f"{path}/index.md"
            if path not in DESCRIBED:
                add(files, config, pages[path], folder_page(path, names))
            # The files of a folder have pages too.
            wanted += [name for name in names if name.startswith(path + "/") and is_text(name)]
        elif Path(path).suffix in IMAGES:
            pages[path] = path
            files.append(File.generated(config, path, abs_src_path=str(ROOT / path)))
        elif is_text(path):
            pages[path] = f"{path}.md"
            add(files, config, pages[path], source_page(path))
    return files


def targets(name: str, text: str) -> list[str]:
    """The targets of a page's links, as paths in the repository."""
    found = []
    map_links(text, lambda target: found.append(resolved(name, target)) or target)
    return [path for path in found if path]


def resolved(name: str, target: str) -> str | None:
    path = target.partition("#")[0]
    if not path or SCHEME.match(target) or path.startswith("/"):
        return None
    return posixpath.normpath(posixpath.join(posixpath.dirname(name), path))


def is_text(name: str) -> bool:
    path = ROOT / name
    return path.stat().st_size <= LONGEST and b"\0" not in path.read_bytes() and path.suffix not in IMAGES


def fenced(text: str, language: str) -> str:
    longest = max((len(ticks) for ticks in re.findall(r"`+", text)), default=0)
    ticks = "`" * max(3, longest + 1)
    return f"{ticks}{language}\n{text.rstrip()}\n{ticks}\n"


def source_page(name: str) -> str:
    try:
        language = get_lexer_for_filename(name).aliases[0]
    except ClassNotFound:
        language = "text"
    # Source text would crowd the documentation out of the search.
    head = f"---\ntitle: {name}\nsearch:\n  exclude: true\nhide: [toc]\n---\n\n# `{name}`\n\n"
    return head + fenced((ROOT / name).read_text(), language)


def folder_page(folder: str, names: list[str]) -> str:
    lines = [f"---\ntitle: {folder}\nsearch:\n  exclude: true\nhide: [toc]\n---\n\n# `{folder}`\n"]
    for name in names:
        if name.startswith(folder + "/"):
            shown = name.removeprefix(folder + "/")
            if is_text(name):
                lines.append(f"- [{shown}]({shown})")
            else:
                lines.append(f"- {shown} ({(ROOT / name).stat().st_size / 1e6:.1f} MB)")
    return "\n".join(lines) + "\n"


def on_page_markdown(markdown: str, page, files: Files, **_) -> str:
    """Lets links to files and folders lead to their pages."""
    name = page.file.src_uri

    def change(target: str) -> str:
        path = resolved(name, target)
        if path is None or path not in pages:
            return target
        anchor = target.partition("#")[2]
        relative = os.path.relpath(pages[path], posixpath.dirname(name) or ".")
        return relative + ("#" + anchor if anchor else "")

    return map_links(markdown, change)
