# Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
# See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A program while it is drawn: values with kinds, statements that make them, and the text of it all.

Nothing here runs PyTorch: a program is text, which a person can paste (`Program.source`).
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

NAME = re.compile(r"\b[a-z_]\w*\b")
HEADER = "import torch\nfrom torch import nn\nfrom torch.nn import functional as F\n"


class Impossible(Exception):
    """Nothing that an idiom needs has been drawn so far."""


@dataclass(frozen=True)
class Kind:
    """Floating-point numbers: a row for each element of a space ("" for one row without an axis of its own)."""

    space: str
    features: tuple[int, ...] = ()


@dataclass
class Value:
    """`bound`: about the largest magnitude. `low`: what it is at least, where it is positive. `distinct`: computed
    without kinks of random numbers, so that equal ones have the same origin, and sharing a gradient among them changes
    nothing.
    `owned`: nobody else has it, nor does autograd keep it, so it may be changed in place."""

    name: str
    kind: Kind
    bound: float = 3.0
    low: float | None = None
    distinct: bool = True
    owned: bool = False


@dataclass(frozen=True)
class Relation:
    """A list of integers: for each element of `source` one of `target`. `is_sorted`: they do not decrease."""

    name: str
    source: str
    target: str
    is_sorted: bool = False


@dataclass(frozen=True)
class Mask:
    """A truth value for each element of a space."""

    name: str
    space: str


@dataclass
class Statement:
    """`results`: names that it makes, with the kinds of those that others of the kind may take the place of. `changes`:
    what it writes to in place."""

    text: str
    results: dict[str, Kind | None]
    changes: str | None = None

    def reads(self) -> set[str]:
        return set(NAME.findall(self.text)) - set(self.results)


@dataclass
class Program:
    seed: int
    rng: random.Random
    members: list[Statement] = field(default_factory=list)  #: of __init__; their results are attributes
    arguments: list[Statement] = field(default_factory=list)  #: how arguments are made, from n, e, b and a generator g
    signature: list[str] = field(default_factory=list)
    passed: list[str] = field(default_factory=list)  #: what is passed for each argument
    leaves: list[str] = field(default_factory=list)  #: tensors that require a gradient, of which arguments may be views
    body: list[Statement] = field(default_factory=list)
    results: list[str] = field(default_factory=list)  #: what forward returns
    used: list[int] = field(default_factory=list)  #: the results that the loss uses
    values: list[Value] = field(default_factory=list)
    relations: list[Relation] = field(default_factory=list)
    masks: list[Mask] = field(default_factory=list)
    sizes: dict[str, list[str]] = field(default_factory=dict)  #: how forward writes the size of a space
    idioms: list[str] = field(default_factory=list)  #: which were drawn, in order
    least_nodes: int = 1
    fixed_edges: int | None = None
    count: int = 0

    # Drawing ----------------------------------------------------------------------------------------------------------

    def chance(self, probability: float) -> bool:
        return self.rng.random() < probability

    def one_of(self, *texts: str) -> str:
        return self.rng.choice(texts)

    def width(self) -> int:
        return self.rng.choice((1, 2, 3, 3, 4, 4, 6))

    def size(self, space: str) -> str:
        return self.rng.choice(self.sizes[space])

    def new_name(self, prefix: str = "v") -> str:
        self.count += 1
        return f"{prefix}{self.count}"

    def pick(
        self,
        space: str | None = None,
        dims: int | None = None,
        kind: Kind | None = None,
        where: Callable[[Value], bool] = lambda value: True,
    ) -> Value:
        """A value; more often one that nothing has read, and one of the last."""
        found = [
            value
            for value in self.values
            if (space is None or value.kind.space == space)
            and (dims is None or len(value.kind.features) == dims)
            and (kind is None or value.kind == kind)
            and where(value)
        ]
        if not found:
            raise Impossible
        read = {name for statement in self.body for name in statement.reads()}
        weights = [(1.0 if v.name in read else 5.0) * (1 + 3 * (i + 1) / len(found)) for i, v in enumerate(found)]
        return self.rng.choices(found, weights)[0]

    def pick_rows(self, dims: int | None = None) -> Value:
        """A value with a row for each element of some space."""
        return self.pick(dims=dims, where=lambda value: value.kind.space != "")

    def relation(self, source: str | None = None, target: str | None = None) -> Relation:
        found = [
            each
            for each in self.relations
            if (source is None or each.source == source) and (target is None or each.target == target)
        ]
        if not found:
            raise Impossible
        return self.rng.choice(found)

    # Writing ----------------------------------------------------------------------------------------------------------

    def let(self, text: str, kind: Kind, bound: float, **properties: object) -> Value:
        """A new value that an expression computes."""
        name = self.new_name()
        self.body.append(Statement(f"{name} = {text}", {name: kind}))
        value = Value(name, kind, bound, **properties)  # type: ignore[arg-type]
        self.values.append(value)
        return value

    def name(self, text: str, prefix: str = "t") -> str:
        """A name for what other idioms do not take."""
        name = self.new_name(prefix)
        self.body.append(Statement(f"{name} = {text}", {name: None}))
        return name

    def do(self, text: str, changes: Value) -> None:
        """A statement that changes a value in place."""
        self.body.append(Statement(text, {}, changes.name))

    def member(self, text: str, prefix: str) -> str:
        """An attribute of the module: what reads it in forward."""
        name = self.new_name(prefix)
        self.members.append(Statement(f"self.{name} = {text}", {name: None}))
        return f"self.{name}"

    def buffer(self, text: str, prefix: str = "buffer") -> str:
        name = self.new_name(prefix)
        self.members.append(Statement(f'self.register_buffer("{name}", {text})', {name: None}))
        return f"self.{name}"

    def weight(self, *shape: int, prefix: str = "weight") -> str:
        """A parameter of numbers of about 1 over the root of how many are added up; now and then it is frozen, or
        one that was drawn before."""
        known = [
            statement
            for statement in self.members
            if re.search(rf"nn\.Parameter\(torch\.randn\({', '.join(map(str, shape))}\)", statement.text)
        ]
        if known and self.chance(0.3):
            return f"self.{next(iter(self.rng.choice(known).results))}"
        scale = f" * {1 / max(1, shape[0]) ** 0.5:.2f}" if len(shape) > 1 else ""
        frozen = ", requires_grad=False" if self.chance(0.08) else ""
        return self.member(f"nn.Parameter(torch.randn({', '.join(map(str, shape))}){scale}{frozen})", prefix)

    def linear(self, inputs: int, outputs: int, bias: bool | None = None) -> str:
        bias = self.chance(0.7) if bias is None else bias
        known = [s for s in self.members if re.search(rf" = nn\.Linear\({inputs}, {outputs}[,)]", s.text)]
        if known and self.chance(0.3):
            return f"self.{next(iter(self.rng.choice(known).results))}"
        return self.member(f"nn.Linear({inputs}, {outputs}{'' if bias else ', bias=False'})", "lin")

    def tame(self, value: Value, limit: float = 3.0) -> Value:
        """The value, or one of its kind that is small enough for exponentials and long chains."""
        if value.bound <= limit:
            return value
        if self.chance(0.5):
            return self.let(f"torch.tanh({value.name} * {limit / value.bound:.2g})", value.kind, 1.0)
        return self.let(f"{value.name} / (1 + {value.name}.abs())", value.kind, 1.0, distinct=False)

    def positive(self, value: Value) -> Value:
        """One of its kind that is at least 0.1."""
        if value.low is not None and value.low >= 0.1:
            return value
        value = self.tame(value)
        text = self.one_of(
            f"F.softplus({value.name}) + 0.1",
            f"torch.sigmoid({value.name}) + 0.2",
            f"{value.name}.square() + 0.5",
            f"{value.name} ** 2 + 1",
        )
        return self.let(text, value.kind, value.bound**2 + 1.0, low=0.1, distinct=value.distinct)

    def copy(self) -> Program:
        return replace(
            self,
            members=list(self.members),
            arguments=list(self.arguments),
            body=list(self.body),
            results=list(self.results),
            used=list(self.used),
        )

    # The text ---------------------------------------------------------------------------------------------------------

    def live(self) -> Program:
        """Without what no result depends on."""
        wanted = set(self.results)
        body = []
        for statement in reversed(self.body):
            if wanted & set(statement.results) or statement.changes in wanted:
                wanted |= statement.reads()
                body.append(statement)
        result = self.copy()
        result.body = body[::-1]
        result.members = []
        for statement in reversed(self.members):
            if wanted & set(statement.results):
                wanted |= statement.reads()
                result.members.append(statement)
        result.members.reverse()
        return result

    def source(self) -> str:
        """The whole program: imports, the module, and how its arguments are made."""
        members = [line for statement in self.members for line in statement.text.splitlines()]
        body = [line for statement in self.body for line in statement.text.splitlines()]
        returned = self.results[0] if len(self.results) == 1 else ", ".join(self.results)
        lines = [
            *HEADER.splitlines(),
            "",
            "",
            "class Module(nn.Module):",
            "    def __init__(self):",
            "        super().__init__()",
            *indented(members, 8),
            "",
            f"    def forward(self, {', '.join(self.signature)}):",
            *indented(body, 8),
            f"        return {returned}",
            "",
            "",
            "def arguments(n, e, b, dtype=torch.float64, seed=0):",
            "    g = torch.Generator().manual_seed(seed)",
            *indented([line for statement in self.arguments for line in statement.text.splitlines()], 4),
            f"    return [{', '.join(self.leaves)}], ({', '.join(self.passed)},)",
        ]
        return "\n".join(lines) + "\n"


def indented(lines: Sequence[str], spaces: int) -> list[str]:
    return [" " * spaces + line if line else "" for line in lines]
