# Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
# See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Makes a failing program smaller while it fails in the same way."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator

from .program import NAME, Program, Statement


def minimised(program: Program, fails: Callable[[Program], bool], seconds: float) -> Program:
    """fails: whether a smaller program still does. Ends after so many seconds at the latest."""
    end = time.monotonic() + seconds
    smaller = True
    while smaller and time.monotonic() < end:
        smaller = False
        for candidate in _smaller(program):
            if time.monotonic() > end:
                break
            if fails(candidate):
                program, smaller = candidate, True
                break
    return program


def _smaller(program: Program) -> Iterator[Program]:
    yield from _with_fewer_results(program)
    yield from _with_fewer_statements(program)
    yield from _with_fewer_arguments(program)


def _with_fewer_results(program: Program) -> Iterator[Program]:
    if len(program.results) == 1:
        return
    for i in range(len(program.results)):
        result = program.copy()
        del result.results[i]
        result.used = [j - (j > i) for j in program.used if j != i]
        yield result.live()
    for i in program.used:
        if len(program.used) > 1:
            result = program.copy()
            result.used = [j for j in program.used if j != i]
            yield result


def _with_fewer_statements(program: Program) -> Iterator[Program]:
    """Without what changes a tensor; with an earlier value, or an argument, where there was a later one."""
    arguments = {value.name: value.kind for value in program.values if value.name in program.signature}
    for i in reversed(range(len(program.body))):
        statement = program.body[i]
        if not statement.results:
            result = program.copy()
            del result.body[i]
            yield result.live()
            continue
        for name, kind in statement.results.items():
            if kind is None:
                continue
            known = dict(arguments)
            for before in program.body[:i]:
                known.update({other: k for other, k in before.results.items() if k is not None})
            for other in [other for other, k in known.items() if k == kind and other != name][:4]:
                yield _renamed(program, i, name, other).live()


def _renamed(program: Program, at: int, name: str, other: str) -> Program:
    result = program.copy()
    word = re.compile(rf"\b{name}\b")
    result.body = program.body[:at]
    for statement in program.body[at + 1 :]:
        if statement.changes == name:
            continue
        changed = Statement(word.sub(other, statement.text), dict(statement.results), statement.changes)
        result.body.append(changed)
    result.results = list(dict.fromkeys(other if each == name else each for each in program.results))
    if len(result.results) < len(program.results):
        result.used = [0]
    return result


def _with_fewer_arguments(program: Program) -> Iterator[Program]:
    read = {word for statement in program.body for word in NAME.findall(statement.text)}
    for i, name in enumerate(program.signature):
        if name in read or name in program.results or len(program.signature) == 1:
            continue
        result = program.copy()
        result.signature = [each for each in program.signature if each != name]
        result.passed = [each for j, each in enumerate(program.passed) if j != i]
        result.leaves = [each for each in program.leaves if each != name]
        yield result
        return
