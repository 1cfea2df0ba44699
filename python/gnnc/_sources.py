# Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
# See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the graph's data of an exported model are computed from: `size(x, 0)`, `edge_index[0]`, `cat(src, arange(n))`.

    SOURCE = [-] INTEGER | NAME [ ( SOURCE, ... ) ] { `[` INTEGER `]` } | `[` SOURCE, ... `]`

NAME alone is an argument of the model. Arrays stay where they are: of NumPy, or tensors of PyTorch on any device.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ._arrays import is_tensor
from ._errors import Error
from ._graph_functions import FUNCTIONS

_TOKEN = re.compile(r"\s*([A-Za-z_][\w.]*|\d+|[-,()\[\]])")


@dataclass(frozen=True)
class Name:
    name: str


@dataclass(frozen=True)
class Apply:
    function: str
    arguments: tuple[Source, ...]


@dataclass(frozen=True)
class Row:
    of: Source
    number: int


@dataclass(frozen=True)
class Items:
    items: tuple[Source, ...]


Source = int | Name | Apply | Row | Items


class _Parser:
    def __init__(self, text: str) -> None:
        self.text, self.tokens, position = text, [], 0
        while position < len(text.rstrip()):
            match = _TOKEN.match(text, position)
            if match is None:
                raise Error(f"the description has a source that cannot be read: '{text}'", 5)
            self.tokens.append(match[1])
            position = match.end()
        self.next = 0

    def peek(self) -> str:
        return self.tokens[self.next] if self.next < len(self.tokens) else ""

    def take(self, expected: str | None = None) -> str:
        token = self.peek()
        if not token or (expected is not None and token != expected):
            raise Error(f"the description has a source that cannot be read: '{self.text}'", 5)
        self.next += 1
        return token

    def items(self, end: str) -> tuple[Source, ...]:
        found: list[Source] = []
        while self.peek() != end:
            if found:
                self.take(",")
            found.append(self.source())
        self.take(end)
        return tuple(found)

    def source(self) -> Source:
        token = self.take()
        if token == "[":
            return Items(self.items("]"))
        if token == "-":
            return -int(self.take())
        if token.isdigit():
            return int(token)
        result: Source = Name(token)
        if self.peek() == "(":
            self.take()
            result = Apply(token, self.items(")"))
        while self.peek() == "[":
            self.take()
            result = Row(result, int(self.take()))
            self.take("]")
        return result


def parse(text: str) -> Source:
    parser = _Parser(text)
    result = parser.source()
    if parser.peek():
        raise Error(f"the description has a source that cannot be read: '{text}'", 5)
    return result


def names(source: Source, known: Collection[Source] = ()) -> set[str]:
    """The arguments of the model that it reads, be it only their sizes; but for those within what is `known`."""
    if source in known:
        return set()
    if isinstance(source, Name):
        return {source.name}
    if isinstance(source, Row):
        return names(source.of, known)
    parts = source.arguments if isinstance(source, Apply) else source.items if isinstance(source, Items) else ()
    return set().union(*[names(part, known) for part in parts])


def contents(source: Source) -> set[str]:
    """The arguments whose numbers it reads."""
    if isinstance(source, Apply) and source.function == "size":
        return set()
    if isinstance(source, Apply):
        return set().union(*map(contents, source.arguments)) if source.arguments else set()
    if isinstance(source, Row):
        return contents(source.of)
    if isinstance(source, Items):
        return set().union(*map(contents, source.items)) if source.items else set()
    return names(source)


def apply_function(source: Apply, values: list[Any]) -> Any:
    return FUNCTIONS[source.function](*values)


def evaluate(
    source: Source,
    arguments: Mapping[str, Any],
    known: dict[Source, Any] | None = None,
    apply: Callable[[Apply, list[Any]], Any] = apply_function,
) -> Any:
    """Its value: an integer or an array. `known` keeps the values of parts, so that equal ones are computed once. `apply`
    gives the value of a function of FUNCTIONS."""
    if isinstance(source, int):
        return source
    known = {} if known is None else known
    if source not in known:
        known[source] = _evaluate(source, arguments, known, apply)
    return known[source]


def _evaluate(
    source: Source,
    arguments: Mapping[str, Any],
    known: dict[Source, Any],
    apply: Callable[[Apply, list[Any]], Any],
) -> Any:
    if isinstance(source, Name):
        if arguments.get(source.name) is None:
            raise Error(f"argument '{source.name}' is missing", 1)
        return arguments[source.name]
    if isinstance(source, Row):
        rows = evaluate(source.of, arguments, known, apply)
        if len(rows.shape) == 0 or source.number >= rows.shape[0]:
            raise Error(f"expected more than {source.number} rows, found shape {list(rows.shape)}", 2)
        row = rows[source.number]
        return row if len(rows.shape) > 1 else int(row)
    if isinstance(source, Items):
        return np.array([evaluate(item, arguments, known, apply) for item in source.items], np.int64)
    assert isinstance(source, Apply)
    if source.function in ("at_least", "at_most"):
        return _bounded(source, evaluate(source.arguments[0], arguments, known, apply))
    if source.function not in FUNCTIONS:
        raise Error(
            f"the object was compiled by a newer gnnc: this package has no graph function '{source.function}'", 5
        )
    values = [evaluate(argument, arguments, known, apply) for argument in source.arguments]
    device = next((value.device for value in values if is_tensor(value)), None)
    if device is not None:  # what was made of numbers alone follows the others
        torch = sys.modules["torch"]
        values = [torch.as_tensor(value, device=device) if isinstance(value, np.ndarray) else value for value in values]
    return apply(source, values)


def _bounded(source: Apply, found: int) -> int:
    """A number that must be within a bound."""
    of, bound = source.arguments
    is_least = source.function == "at_least"
    assert isinstance(bound, int)
    if found < bound if is_least else found > bound:
        expected = f"{bound} or {'more' if is_least else 'less'}"
        while isinstance(of, Apply) and of.function in ("at_least", "at_most"):
            of = of.arguments[0]
        raise Error(f"{text(of)}: expected {expected}, as the program was exported for, found {found}", 2)
    return found


def text(source: Source) -> str:
    """As the description has it."""
    if isinstance(source, Apply):
        return f"{source.function}({', '.join(map(text, source.arguments))})"
    if isinstance(source, Row):
        return f"{text(source.of)}[{source.number}]"
    if isinstance(source, Items):
        return f"[{', '.join(map(text, source.items))}]"
    return source.name if isinstance(source, Name) else str(source)
