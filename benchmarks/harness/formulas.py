"""Random formulas: models as users write them, put together from what papers have, at any width.

    python3 benchmarks harness.formulas 7 8 9      # prints the texts of these seeds

A formula is one or two layers on nodes and edges, and what is read off at the end. Each layer draws how messages are made
(copies, weights, networks of what is joined at the ends of an edge, gates, filters, tensor products, attention of four
kinds), how they are summarised, and how nodes or edges go on from there. The same seed is the same text everywhere: those
of published tables keep theirs, since forms that were added later are drawn from LATER on.
"""

from __future__ import annotations

import argparse
import random
from collections.abc import Callable
from dataclasses import dataclass, field

TYPES = 8  # of edges
GRAPHS = ("citation", "social", "roads", "cloud", "molecules")
POWERS = (8, 16, 32, 64, 128, 256)
ROUND = (24, 40, 48, 56, 72, 80, 96, 112, 120, 144, 160, 192, 200, 224, 240)
ODD = (3, 5, 7, 9, 11, 13, 17, 19, 23, 27, 33, 37, 45, 50, 63, 65, 70, 75, 100, 111, 127, 129, 150, 177, 250, 255)
TINY = (1, 2, 4)
LATER = 2_000_000  # the first seed that draws products with rows of other places: Writer.between_places
ACTIVATIONS = ("relu", "relu", "silu", "gelu", "tanh", "elu", "leaky_relu", "sigmoid", "softplus")


@dataclass(frozen=True)
class Formula:
    name: str
    graph: str  # one of GRAPHS
    text: str
    parts: tuple[str, ...]  # what it is made from
    object: str  # the name of its object, which formulas on several graphs share


@dataclass(frozen=True)
class Value:
    """An expression, the space it resides on, and its axes."""

    text: str
    space: str
    axes: tuple[tuple[str, int], ...]

    @property
    def width(self) -> int:
        total = 1
        for _, size in self.axes:
            total *= size
        return total

    @property
    def last(self) -> str:
        return self.axes[-1][0]


@dataclass
class Writer:
    """The text of one model as it grows."""

    rng: random.Random
    later: bool = False  # draws from all forms
    inputs: list[str] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)
    parts: list[str] = field(default_factory=list)
    counts: dict[str, int] = field(default_factory=dict)
    given: dict[str, Value] = field(default_factory=dict)
    widest: int = 256

    # Names and sizes

    def fresh(self, stem: str) -> str:
        self.counts[stem] = self.counts.get(stem, 0) + 1
        return f"{stem}{self.counts[stem]}"

    def size(self, most: int = 256) -> int:
        draw = self.rng.random()
        sizes = POWERS if draw < 0.45 else ROUND if draw < 0.65 else ODD if draw < 0.95 else TINY
        return self.rng.choice([size for size in sizes if size <= min(most, self.widest)])

    def chance(self, share: float) -> bool:
        return self.rng.random() < share

    def pick(self, *choices: Callable):
        return self.rng.choice(choices)

    def part(self, name: str) -> None:
        if name not in self.parts:
            self.parts.append(name)

    # What everything is made from

    def input(self, name: str, space: str, size: int | None) -> Value:
        if name not in self.given:
            axes = ((self.fresh("c"), size),) if size else ()
            inner = ", ".join(f"{axis} = {size}" for axis, size in axes)
            self.inputs.append(f"  input {name}: {space}[{inner}]")
            self.given[name] = Value(name, space, axes)
        return self.given[name]

    def param(self, *axes: tuple[str, int]) -> str:
        name = self.fresh("W" if len(axes) > 1 else "b")
        self.lines.append(f"  param {name}[{', '.join(f'{axis} = {size}' for axis, size in axes)}]")
        return name

    def let(self, text: str, space: str, axes: tuple[tuple[str, int], ...]) -> Value:
        name = self.fresh("h")
        self.lines.append(f"  let {name} = {text}")
        return Value(name, space, axes)

    def named(self, value: Value) -> Value:
        return value if value.text.isidentifier() else self.let(value.text, value.space, value.axes)

    def maybe_named(self, value: Value) -> Value:
        """Some write each step on a line of its own, others nest."""
        return self.named(value) if self.chance(0.5) else value

    def like(self, value: Value, other: Value) -> Value:
        """The same numbers under the axis names of `other`."""
        pairs = [(own, name) for (own, _), (name, _) in zip(value.axes, other.axes) if own != name]
        if not pairs:
            return value
        renames = ", ".join(f"{own}: {name}" for own, name in pairs)
        return Value(f"rename({value.text}, {renames})", value.space, other.axes)

    def move(self, value: Value, along: str, space: str) -> Value:
        text = value.text if value.text.replace(".", "").isalnum() else f"({value.text})"
        return Value(f"{text}.{along}", space, value.axes)

    def src(self, value: Value) -> Value:
        return self.move(value, "src", "edge")

    def dst(self, value: Value) -> Value:
        return self.move(value, "dst", "edge")

    def act(self, value: Value) -> Value:
        return Value(f"{self.rng.choice(ACTIVATIONS)}({value.text})", value.space, value.axes)

    def linear(self, value: Value, size: int, bias: bool = True) -> Value:
        """A product with a parameter, over the last axis."""
        axis = (self.fresh("a"), size)
        if bias and self.chance(0.3):
            text = f"rename(Linear({value.text}, out: {size}) as {self.fresh('lin')}, out: {axis[0]})"
            return self.let(text, value.space, (*value.axes[:-1], axis))
        operand = value.text if value.text.replace(".", "").isalnum() else f"({value.text})"
        text = f"({operand} @ {self.param(value.axes[-1], axis)}"
        text += f" + {self.param(axis)})" if bias else ")"
        return self.maybe_named(Value(text, value.space, (*value.axes[:-1], axis)))

    def heads(self, value: Value, heads: int, size: int) -> Value:
        axes = ((self.fresh("n"), heads), (self.fresh("a"), size))
        text = f"({value.text}) @ {self.param(value.axes[-1], *axes)}"
        if self.chance(0.4):
            text += f" + {self.param(*axes)}"
        return self.let(text, value.space, axes)

    def network(self, value: Value, hidden: int, out: int) -> Value:
        self.part("network")
        inner = self.act(self.linear(value, hidden))
        if self.chance(0.2):
            inner = self.layer_norm(self.named(inner))
        return self.linear(inner, out, bias=self.chance(0.7))

    def joined(self, values: list[Value]) -> Value:
        if len(values) == 1:
            return values[0]
        axis = (self.fresh("j"), sum(value.axes[-1][1] for value in values))
        return Value(f"concat({', '.join(v.text for v in values)}, axis: {axis[0]})", values[0].space, (axis,))

    def layer_norm(self, value: Value) -> Value:
        self.part("norm")
        axis = value.axes[-1]
        if self.chance(0.5):
            return self.let(f"LayerNorm({value.text})", value.space, value.axes)
        centred = self.let(f"{value.text} - mean({value.text}, over: {axis[0]})", value.space, value.axes)
        return self.let(
            f"{centred.text} * rsqrt(mean(square({centred.text}), over: {axis[0]}) + 1e-5) * {self.param(axis)}",
            value.space,
            value.axes,
        )

    # Messages: a value on edges from one on nodes

    def edge_features(self) -> Value:
        return self.input("e", "edge", self.size(64))

    def distance(self) -> Value:
        """Of the two ends, as a value on edges without axes."""
        pos = self.input("pos", "node", 3)
        delta = self.let(f"{pos.text}.src - {pos.text}.dst", "edge", pos.axes)
        return self.let(f"sum(square({delta.text}), over: {pos.last})", "edge", ())

    def radial(self) -> Value:
        """Gaussians of the distance."""
        self.part("radial")
        squared = self.distance()
        axis = (self.fresh("r"), self.rng.choice((8, 16, 20, 25, 50)))
        centre = self.param(axis)
        return self.let(f"exp(-4 * square(sqrt({squared.text} + 1e-6) - {centre}))", "edge", (axis,))

    def on_edges(self) -> Value:
        """Features of edges, given or from coordinates."""
        return self.radial() if self.chance(0.3) else self.edge_features()

    def copies(self, h: Value) -> Value:
        self.part("copies")
        out = self.size()
        if self.chance(0.3):
            return self.src(h)
        if self.chance(0.5):
            return self.linear(self.src(h), out, bias=False)  # on edges, as frameworks without fusion have it
        return self.src(self.linear(h, out, bias=False))

    def weighted(self, h: Value) -> Value:
        self.part("weights")
        message = self.copies(h)
        draw = self.rng.random()
        if draw < 0.35:
            scale = self.let("rsqrt(maximum(degree(dst), 1))", "node", ())
            return Value(f"{message.text} * {scale.text}.src * {scale.text}.dst", "edge", message.axes)
        if draw < 0.6:
            weight = self.input("w", "edge", None)
            return Value(f"{weight.text} * {message.text}", "edge", message.axes)
        if draw < 0.8:
            weight = self.linear(self.on_edges(), 1)
            return Value(f"sum({weight.text}, over: {weight.last}) * {message.text}", "edge", message.axes)
        similar = self.let(f"sum({h.text}.src * {h.text}.dst, over: {h.last})", "edge", ())
        return Value(f"sigmoid({similar.text}) * {message.text}", "edge", message.axes)

    def ends(self, h: Value) -> Value:
        """What is joined for a network on edges."""
        parts = [self.src(h)]
        if self.chance(0.8):
            parts.append(self.dst(h))
        if self.chance(0.6):
            parts.append(self.on_edges())
        if self.chance(0.2):
            parts.append(Value(f"{h.text}.src * {h.text}.dst", "edge", h.axes))
        if self.chance(0.2):
            parts.append(Value(f"{h.text}.src - {h.text}.dst", "edge", h.axes))
        return self.joined(parts)

    def edge_network(self, h: Value) -> Value:
        self.part("edge network")
        ends = self.maybe_named(self.ends(h))
        if self.chance(0.35):
            return self.act(self.linear(ends, self.size()))
        return self.network(ends, self.size(128), self.size(128))

    def split_sum(self, h: Value) -> Value:
        """The same as a sum of products, one for each operand."""
        self.part("sum of products")
        out = self.size(192)
        first = self.linear(h, out)
        terms = [self.src(first), self.like(self.dst(self.linear(h, out, bias=False)), first)]
        if self.chance(0.6):
            terms.append(self.like(self.linear(self.on_edges(), out, bias=False), first))
        total = Value(" + ".join(term.text for term in terms), "edge", first.axes)
        return self.act(total) if self.chance(0.6) else self.linear(self.act(total), self.size(128))

    def gated(self, h: Value) -> Value:
        self.part("gates")
        value = self.linear(h, self.size(192))
        if self.chance(0.5):
            ends = self.named(self.ends(h))
            gate, other = self.linear(ends, value.width), self.linear(ends, value.width)
            other = self.like(other, gate)
            return Value(f"sigmoid({gate.text}) * softplus({other.text})", "edge", gate.axes)
        one, two = self.linear(h, value.width), self.linear(h, value.width, bias=False)
        one, two = self.like(one, value), self.like(two, value)
        gate = f"{self.dst(one).text} + {self.src(two).text}"
        if self.chance(0.4):
            gate += f" + {self.like(self.linear(self.on_edges(), value.width, bias=False), value).text}"
        return Value(f"sigmoid({gate}) * {self.src(value).text}", "edge", value.axes)

    def filtered(self, h: Value) -> Value:
        """A network of an edge's features times what the source sends."""
        self.part("filter")
        value = self.linear(h, self.size(192), bias=False)
        weights = self.like(self.network(self.on_edges(), self.size(128), value.width), value)
        return Value(f"{self.src(value).text} * {weights.text}", "edge", value.axes)

    def tensor(self, h: Value) -> Value:
        """A matrix for each edge, or an outer product with few features of it."""
        self.part("tensor product")
        small = self.linear(h, self.size(24), bias=False)
        if self.chance(0.5):
            out = (self.fresh("a"), self.size(24))
            edge = self.edge_features()
            matrix = f"({edge.text} @ {self.param(edge.axes[0], small.axes[0], out)})"
            return Value(f"dot({self.src(small).text}, {matrix}, over: {small.last})", "edge", (out,))
        few = self.input("sh", "edge", self.rng.choice((3, 4, 5, 9)))
        out = (self.fresh("a"), self.size(48))
        product = self.let(f"outer({self.src(small).text}, {few.text})", "edge", (*small.axes, *few.axes))
        weight = self.param(small.axes[0], few.axes[0], out)
        return Value(f"dot({product.text}, {weight}, over: ({small.last}, {few.last}))", "edge", (out,))

    def difference(self, h: Value) -> Value:
        self.part("difference")
        delta = self.let(f"{h.text}.src - {h.text}.dst", "edge", h.axes)
        if self.chance(0.5):
            return self.network(delta, self.size(128), self.size(128))
        return self.act(self.linear(self.joined([self.dst(h), delta]), self.size(128)))

    def between_places(self, h: Value) -> Value:
        """A product of an edge's features with a weight that rows of nodes meet: which is multiplied first is left open."""
        out = self.size(128)
        form = self.pick("factors", "inner product", "outer product", "matrix of an edge")
        self.part(form)
        if form in ("factors", "inner product"):
            rows = self.linear(h, out, bias=False)
            projected = self.like(self.linear(self.edge_features(), out, bias=False), rows)
        if form == "factors":  # of single numbers, of rows, or both
            text = projected.text
            if self.chance(0.6):
                text = f"{self.input('w', 'edge', None).text} * {text}"
            if self.chance(0.6):
                gate = self.let(f"sigmoid(dot({h.text}, {self.param(h.axes[0])}, over: {h.last}))", "node", ())
                text = f"{self.pick(self.src, self.dst)(gate).text} * {text}"
            return Value(f"{self.src(rows).text} * {text}", "edge", rows.axes)
        if form == "inner product":
            keys = f"({self.src(rows).text} + {projected.text})" if self.chance(0.5) else projected.text
            score = self.let(f"sum({self.dst(rows).text} * {keys}, over: {rows.last})", "edge", ())
            value = self.like(self.linear(h, out, bias=False), rows)
            return Value(f"{score.text} * {self.src(value).text}", "edge", rows.axes)
        few = self.linear(h, self.size(24), bias=False)
        if form == "outer product":
            axis = (self.fresh("a"), out)
            narrow = self.input("sh", "edge", self.rng.choice((3, 4, 5, 9)))
            weight = self.param(narrow.axes[0], few.axes[0], axis)
            joined = f"dot(outer({self.src(few).text}, {narrow.text}), {weight}, over: ({few.last}, {narrow.last}))"
            if self.chance(0.5):
                joined = f"{self.input('w', 'edge', None).text} * {joined}"
            return Value(joined, "edge", (axis,))
        rows_of = (self.fresh("a"), self.rng.choice((3, 4, 8)))
        matrix = self.fresh("m")
        self.inputs.append(f"  input {matrix}: edge[{rows_of[0]} = {rows_of[1]}, {few.last}_ = {few.width}]")
        turned = f"dot(rename({self.src(few).text}, {few.last}: {few.last}_), {matrix}, over: {few.last}_)"
        return self.linear(Value(turned, "edge", (rows_of,)), out, bias=False)

    def message(self, h: Value) -> Value:
        if self.later and self.chance(0.4):
            return self.named(self.between_places(h))
        made = self.pick(
            self.copies,
            self.weighted,
            self.weighted,
            self.edge_network,
            self.edge_network,
            self.split_sum,
            self.gated,
            self.filtered,
            self.tensor,
            self.difference,
        )(h)
        return self.named(made)

    # Summaries: a value on nodes from one on edges

    def summary(self, m: Value) -> Value:
        along = ", along: src" if self.chance(0.08) else ""
        draw = self.rng.random()
        if draw < 0.4:
            text = f"sum({m.text}{along})"
        elif draw < 0.7:
            text = f"{self.rng.choice(('mean', 'max'))}({m.text}{along})"
        elif draw < 0.8:
            self.part("several summaries")
            kinds = self.rng.sample(("sum", "mean", "max", "min", "std"), self.rng.choice((2, 3, 4)))
            parts = [Value(f"{kind}({m.text}{along})", "node", m.axes) for kind in kinds]
            joined = self.joined(parts)
            return self.let(joined.text, "node", joined.axes)
        elif draw < 0.9:
            self.part("softmax of messages")
            scale = self.fresh("t")
            self.lines.append(f"  param {scale}[]")
            text = f"sum(softmax({m.text} * {scale}) * {m.text})"
        else:
            text = f"{self.rng.choice(('std', 'min', 'logsumexp'))}({m.text}{along})"
        return self.let(text, "node", m.axes)

    # Attention

    def attention(self, h: Value) -> Value:
        self.part("attention")
        heads = self.rng.choice((1, 1, 2, 3, 4, 4, 5, 8))
        size = self.size(max(8, min(128, 384 // heads)))
        v = self.heads(h, heads, size)
        head, axis = v.axes[0][0], v.last
        extra = None
        if self.chance(0.35):
            self.part("edge features in attention")
            extra = self.like(self.heads(self.on_edges(), heads, size), v)
        kind = self.rng.randrange(4)
        if kind == 0:  # additive, of single numbers
            terms = [f"dot({v.text}, {self.param(*v.axes)}, over: {axis}).{end}" for end in ("src", "dst")]
            if extra:
                terms.append(f"dot({extra.text}, {self.param(*v.axes)}, over: {axis})")
            score = f"leaky_relu({' + '.join(terms)}, 0.2)"
        elif kind == 1:  # of what is added at the two ends
            r = self.like(self.heads(h, heads, size), v)
            inner = f"{v.text}.src + {self.dst(r).text}" + (f" + {extra.text}" if extra else "")
            score = f"dot(leaky_relu({inner}, 0.2), {self.param(*v.axes)}, over: {axis})"
        elif kind == 2:  # queries and keys
            q, k = (self.like(self.heads(h, heads, size), v) for _ in range(2))
            keys = f"({self.src(k).text} + {extra.text})" if extra else self.src(k).text
            score = f"dot({self.dst(q).text}, {keys}, over: {axis}) / {size**0.5:.6g}"
        else:  # a network for each head
            self.part("score network")
            inner = self.network(self.ends(h), self.size(64), heads)
            score = self.like(inner, Value("", "edge", ((head, heads),))).text
        score = self.let(score, "edge", ((head, heads),))
        alpha = self.let(f"softmax({score.text})", "edge", score.axes)
        values = f"({v.text}.src + {extra.text})" if extra and self.chance(0.7) else f"{v.text}.src"
        y = self.let(f"sum({alpha.text} * {values})", "node", v.axes)
        if heads > 1 and self.chance(0.25):
            return self.let(f"mean({y.text}, over: {head})", "node", v.axes[1:])
        flat = (self.fresh("a"), heads * size)
        return self.let(f"flatten({y.text}, {flat[0]})", "node", (flat,))

    # What nodes and edges go on with

    def update(self, h: Value, m: Value) -> Value:
        draw = self.rng.random()
        if draw < 0.2:
            return m
        if draw < 0.4:
            out = self.linear(m, self.size())
            skip = self.like(self.linear(h, out.width, bias=False), out)
            return self.let(f"{self.rng.choice(ACTIVATIONS)}({out.text} + {skip.text})", "node", out.axes)
        if draw < 0.6:
            self.part("joined update")
            return self.network(self.joined([h, m]), self.size(128), self.size(128))
        if draw < 0.72:
            self.part("recurrent")
            m = self.like(self.linear(m, h.width), h)
            gates = [self.like(self.linear(self.joined([h, m]), h.width), h) for _ in range(2)]
            gates = [self.let(f"sigmoid({gate.text})", "node", h.axes) for gate in gates]
            new = self.like(self.linear(Value(f"{gates[0].text} * {h.text}", "node", h.axes), h.width), h)
            new = self.let(f"tanh({new.text} + {m.text})", "node", h.axes)
            return self.let(f"(1 - {gates[1].text}) * {new.text} + {gates[1].text} * {h.text}", "node", h.axes)
        if draw < 0.86:
            self.part("residual")
            m = self.like(self.linear(m, h.width), h)
            return self.layer_norm(self.let(f"{h.text} + {m.text}", "node", h.axes))
        self.part("norm")
        made = self.named(self.act(self.linear(m, self.size())))
        kind = self.rng.choice(("L2Normalize", "GraphNorm", "BatchNorm"))
        return self.let(f"{kind}({made.text})", "node", made.axes)

    def edge_update(self, h: Value) -> Value:
        """The features of edges of the next layer."""
        self.part("edge update")
        e = self.edge_features()
        made = self.network(self.joined([e, self.src(h), self.dst(h)]), self.size(128), e.width)
        made = self.let(f"{e.text} + {self.like(made, e).text}", "edge", e.axes)
        self.given["e"] = made
        return made

    def typed(self, h: Value) -> Value:
        """A weight for each type of edge."""
        self.part("types")
        out = (self.fresh("a"), self.size(128))
        weight = self.fresh("W")
        self.lines.append(f"  param {weight}: edge_type[{h.last} = {h.width}, {out[0]} = {out[1]}]")
        space = self.fresh("pair")
        self.lines.append(f"  space {space} = distinct(dst, etype)")
        kind = self.rng.choice(("mean", "sum"))
        text = f"sum({kind}({h.text}.src, along: {space}) @ {weight}.{space}, along: {space}.dst)"
        return self.let(text, "node", (out,))

    # The whole

    def layer(self, h: Value) -> Value:
        if self.chance(0.12):
            h = self.named(self.linear(h, self.size()))
        draw = self.rng.random()
        if draw < 0.3:
            m = self.attention(h)
        elif draw < 0.36:
            m = self.typed(h)
        else:
            if self.chance(0.15):
                self.edge_update(h)
            m = self.summary(self.message(h))
        return self.named(self.update(h, m))

    def read(self, h: Value, graph: str) -> list[str]:
        outputs = []
        draw = self.rng.random()
        if graph == "molecules" and draw < 0.7:
            self.part("pooling")
            kind = self.rng.choice(("sum", "mean", "max", "attention", "two"))
            if kind == "attention":
                score = f"dot({h.text}, {self.param(h.axes[0])}, over: {h.last})"
                pooled = Value(f"sum(softmax({score}, along: batch) * {h.text}, along: batch)", "graph", h.axes)
            elif kind == "two":
                parts = [Value(f"{one}({h.text}, along: batch)", "graph", h.axes) for one in ("mean", "max")]
                pooled = self.joined(parts)
            else:
                pooled = Value(f"{kind}({h.text}, along: batch)", "graph", h.axes)
            outputs.append(self.network(pooled, self.size(128), self.rng.choice((1, 2, 10, 12))).text)
        elif draw < 0.2:
            self.part("scores of edges")
            if self.chance(0.5):
                outputs.append(f"sum({h.text}.src * {h.text}.dst, over: {h.last})")
            else:
                ends = self.joined([self.src(h), self.dst(h)])
                outputs.append(self.network(ends, self.size(128), self.rng.choice((1, 2, 5))).text)
        elif draw < 0.45:
            outputs.append(self.linear(h, self.rng.choice((1, 2, 7, 10, 40, 47))).text)
        else:
            outputs.append(h.text)
        if "edge update" in self.parts and self.chance(0.5):
            outputs.append(self.given["e"].text)
        return outputs


def formula(seed: int) -> Formula:
    rng = random.Random(seed)
    writer = Writer(rng, later=seed >= LATER)
    graph = rng.choice(GRAPHS)
    h = writer.input("x", "node", writer.size())
    for _ in range(rng.choice((1, 1, 2))):
        h = writer.layer(h)
    outputs = writer.read(h, graph)
    sizes = f"(edge_type: int = {TYPES})" if "types" in writer.parts else ""
    lines = ["import std", "", f"model F{seed}{sizes} {{", *writer.inputs, *writer.lines]
    lines += [f"  output y{number} = {text}" for number, text in enumerate(outputs)]
    return Formula(f"F{seed}", graph, "\n".join([*lines, "}"]) + "\n", tuple(writer.parts), f"F{seed}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("seeds", type=int, nargs="+", metavar="SEED")
    for seed in parser.parse_args().seeds:
        made = formula(seed)
        print(f"// On a graph of kind {made.graph}: {', '.join(made.parts)}.\n{made.text}")
