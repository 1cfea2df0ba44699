"""Pages that hooks write. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception"""

from __future__ import annotations

from fnmatch import fnmatch
from pathlib import Path

from mkdocs.structure.files import File, Files, InclusionLevel

ROOT = Path(__file__).resolve().parents[3]


def add(files: Files, config, path: str, content: str) -> None:
    """Adds a page, which may be left out of the navigation."""
    file = File.generated(config, path, content=content)
    file.inclusion = InclusionLevel.INCLUDED if path in mentioned(config.nav) else InclusionLevel.NOT_IN_NAV
    files.append(file)


def mentioned(nav) -> set[str]:
    if isinstance(nav, str):
        return {nav}
    return set().union(*map(mentioned, nav.values() if isinstance(nav, dict) else nav))


def expanded(nav, names: list[str]):
    """The navigation with files in the place of patterns with `*`, which stand for files that no other entry has.

    A pattern may be an entry of a list, or what a title stands for: then it is one page or a section.
    """
    left = sorted(set(names) - mentioned(nav))

    def found(pattern: str) -> list[str]:
        fit = [name for name in left if fnmatch(name, pattern)]
        left[:] = [name for name in left if name not in fit]
        return fit

    def change(entry):
        if isinstance(entry, dict):
            return {title: titled(each) for title, each in entry.items()}
        if isinstance(entry, list):
            return [one for each in entry for one in (found(each) if is_pattern(each) else [change(each)])]
        return entry

    def titled(entry):
        fit = found(entry) if is_pattern(entry) else change(entry)
        return fit[0] if is_pattern(entry) and len(fit) == 1 else fit

    return change(nav)


def is_pattern(entry) -> bool:
    return isinstance(entry, str) and "*" in entry
