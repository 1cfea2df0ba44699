# Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
# See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Counts of the calls that the plugin compared: by folders of tests, and refusals by what they say."""

from __future__ import annotations

import re
import textwrap
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field

import torch
import torch_geometric

#: Outcomes, in the order of the table's columns.
OUTCOMES = ("equal", "documented", "refused", "differs", "crash", "time", "not applicable")


@dataclass
class Call:
    test: str
    module: str
    outcome: str
    message: str
    seconds: float
    graph: str = ""  #: where it was found
    checked: list[str] = field(default_factory=list)  #: graphs that were equal


def failures(calls: Sequence[Call]) -> list[Call]:
    return [call for call in calls if call.outcome in ("differs", "crash")]


def reason(message: str) -> str:
    """A message without names, numbers and places, which differ from module to module."""
    text = re.sub(r", from \S+?:\d+: .*?: (?=[a-z'])", ": ", message)
    text = re.sub(r"; (torch says|compute|return|choose|export|compile) .*", "", text)
    text = re.sub(r"torch\.export cannot export \w+: (\w+: )?", "torch.export: ", text)
    text = re.sub(r"^node '[^']*' ", "", text)
    text = re.sub(r"[\w']*'[^']*'", "'…'", text)
    text = re.sub(r"\[[^\]]*\]", "[…]", text)
    text = re.sub(r"\b\d+(\.\d+)?(e-?\d+)?\b", "N", text)
    return text.replace("|", "\\|")[:160]


def _folder(test: str) -> str:
    path = test.partition("::")[0].split("/")
    return "/".join(path[:-1])


def _table(rows: Sequence[Sequence[object]]) -> str:
    head, *body = [f"| {' | '.join(map(str, row))} |" for row in rows]
    return "\n".join([head, "|" + " --- |" * len(rows[0]), *body])


def _by_folder(calls: Sequence[Call]) -> str:
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for call in calls:
        counts[_folder(call.test)][call.outcome] += 1
        counts["all"][call.outcome] += 1
    total = counts.pop("all", Counter())
    rows = [(name, *[each[outcome] for outcome in OUTCOMES]) for name, each in sorted(counts.items())]
    return _table([("tests", *OUTCOMES), *rows, ("all", *[total[outcome] for outcome in OUTCOMES])])


def _by_reason(calls: Sequence[Call]) -> str:
    found: dict[str, Counter[str]] = defaultdict(Counter)
    for call in calls:
        if call.outcome in ("refused", "differs", "crash", "time"):
            found[f"{call.outcome}: {reason(call.message)}"][call.module] += 1
    rows = [("calls", "modules", "why")]
    for text, modules in sorted(found.items(), key=lambda each: -each[1].total()):
        names = ", ".join(name for name, _ in modules.most_common(4)) + (", …" if len(modules) > 4 else "")
        rows.append((str(modules.total()), names, text))
    return _table(rows)


_HEAD = """
Written by `python3 python/tests/geometric --source pytorch_geometric {tests}` with PyTorch {torch} and PyTorch
Geometric {geometric}. While these tests run, each outermost call of a module is compared with its compiled copy, in
float64 if the module can be run so: results, buffers and gradients, on the test's arguments, on another graph, and
without edges or rows. *Documented*: gradients differ only where several numbers are the largest or a node has several
self loops, as [PyTorch.md](PyTorch.md#what-pytorch-does-otherwise) says. *Not applicable*: there is no tensor, or a
sparse one (PyTorch Geometric's `SparseTensor` too), or PyTorch cannot run the call again.
"""


def document(calls: Sequence[Call], tests: str) -> str:
    torch_version = torch.__version__.partition("+")[0]
    head = _HEAD.format(tests=tests, torch=torch_version, geometric=torch_geometric.__version__)
    head = textwrap.fill(" ".join(head.split()), 120, break_long_words=False, break_on_hyphens=False)
    return f"""# PyTorch Geometric's own tests

{head}

{_by_folder(calls)}

## Refusals, differences and crashes

{_by_reason(calls)}
"""
