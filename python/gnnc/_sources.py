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


#: What a step computes from the values before it and from the arguments.
_Step = Callable[[list[Any], Mapping[str, Any]], Any]


class Steps:
    """Sources as steps in a row: equal parts are computed once, and nothing is looked for while they run.

    `sources`: by what each is the source of, which messages begin with. `known`: parts whose values are given. `apply`
    gives the value of a function of FUNCTIONS; None: the function does.
    """

    def __init__(
        self,
        sources: Mapping[str, Source],
        known: Mapping[Source, Any] | None = None,
        apply: Callable[[Apply, list[Any]], Any] | None = None,
    ) -> None:
        self._known, self._apply = known or {}, apply
        self._steps: list[_Step] = []
        self._places: dict[Source, int] = {}
        #: Of each source its name, the number of steps up to it, and which step has its value.
        self._sources: list[tuple[str, int, int]] = []
        for name, source in sources.items():
            place = self._place(source)
            self._sources.append((name, len(self._steps), place))

    def run(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """The values: integers and arrays."""
        values: list[Any] = []
        try:
            for step in self._steps:
                values.append(step(values, arguments))
        except Error as error:
            name = next(name for name, end, _ in self._sources if len(values) < end)
            raise type(error)(f"{name}: {error}", error.status) from error
        return {name: values[place] for name, _, place in self._sources}

    def _place(self, source: Source) -> int:
        """The step that computes it."""
        found = self._places.get(source)
        if found is None:
            step = self._step(source)
            found = self._places[source] = len(self._steps)
            self._steps.append(step)
        return found

    def _step(self, source: Source) -> _Step:
        if isinstance(source, int):
            return lambda values, arguments: source
        if source in self._known:
            given = self._known[source]
            return lambda values, arguments: given
        if isinstance(source, Name):
            return _argument(source.name)
        if isinstance(source, Row):
            return _row(self._place(source.of), source.number)
        if isinstance(source, Items):
            places = [self._place(item) for item in source.items]
            return lambda values, arguments: np.array([values[place] for place in places], np.int64)
        if source.function in ("at_least", "at_most"):
            of = self._place(source.arguments[0])
            return lambda values, arguments: _bounded(source, values[of])
        return self._function(source, [self._place(argument) for argument in source.arguments])

    def _function(self, source: Apply, places: list[int]) -> _Step:
        function, apply = FUNCTIONS.get(source.function), self._apply

        def step(values: list[Any], arguments: Mapping[str, Any]) -> Any:
            if function is None:
                raise Error(
                    f"the object was compiled by a newer gnnc: this package has no graph function '{source.function}'", 5
                )
            given = [values[place] for place in places]
            for each in given:
                if isinstance(each, np.ndarray):  # what was made of numbers alone follows the others
                    given = _on_one_device(given)
                    break
            return function(*given) if apply is None else apply(source, given)

        return step


def _argument(name: str) -> _Step:
    def step(values: list[Any], arguments: Mapping[str, Any]) -> Any:
        found = arguments.get(name)
        if found is None:
            raise Error(f"argument '{name}' is missing", 1)
        return found

    return step


def _row(of: int, number: int) -> _Step:
    def step(values: list[Any], arguments: Mapping[str, Any]) -> Any:
        rows = values[of]
        shape = rows.shape
        if len(shape) == 0 or number >= shape[0]:
            raise Error(f"expected more than {number} rows, found shape {list(shape)}", 2)
        row = rows[number]
        return row if len(shape) > 1 else int(row)

    return step


def _on_one_device(values: list[Any]) -> list[Any]:
    device = next((value.device for value in values if is_tensor(value)), None)
    if device is None:
        return values
    torch = sys.modules["torch"]
    return [torch.as_tensor(value, device=device) if isinstance(value, np.ndarray) else value for value in values]


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
