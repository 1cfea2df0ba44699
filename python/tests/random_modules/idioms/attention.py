# Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
# See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Attention along edges, written by hand."""

from __future__ import annotations

from ..program import Kind, Program, Relation, Value
from .registry import idiom
from .scatters import added_up, spread, zeros


def softmax_along(p: Program, scores: Value, r: Relation) -> Value:
    """exp(s - max s) / sum exp, in one of the ways that people write it."""
    features = scores.kind.features
    like = zeros(p, scores.name, r.target, features)
    form = p.rng.random()
    if form < 0.15:
        shifted = p.tame(scores).name
    elif form < 0.3:
        low = f"torch.full(({', '.join(map(str, (p.size(r.target), *features)))},), float('-inf'), dtype={scores.name}.dtype)"
        top = p.name(f'{low}.scatter_reduce(0, {spread(p, r.name, scores)}, {scores.name}.detach(), "amax")', "top")
        shifted = f"{scores.name} - {top}[{r.name}]"
    else:
        of = p.one_of(scores.name, f"{scores.name}.detach()") if scores.distinct else f"{scores.name}.detach()"
        top = p.name(f'{like}.scatter_reduce(0, {spread(p, r.name, scores)}, {of}, "amax", include_self=False)', "top")
        shifted = p.one_of(f"{scores.name} - {top}[{r.name}]", f"{scores.name} - {top}.index_select(0, {r.name})")
    e = p.let(p.one_of(f"torch.exp({shifted})", f"({shifted}).exp()"), scores.kind, 20.0)
    total = p.name(added_up(p, e, r), "total")
    p.values.remove(e)
    return p.let(
        p.one_of(
            f"{e.name} / ({total}[{r.name}] + 1e-16)",
            f"{e.name} / {total}[{r.name}]",
            f"{e.name} / ({total}.index_select(0, {r.name}) + 1e-16)",
        ),
        scores.kind,
        1.0,
    )


def _ends(p: Program) -> tuple[Relation, Relation]:
    row, col = Relation("row", "edge", "node"), Relation("col", "edge", "node")
    return (row, col) if p.chance(0.8) else (col, row)


@idiom(1.5)
def additive_attention(p: Program) -> None:
    """Of GAT, with one head or several."""
    v = p.tame(p.pick("node", 1))
    heads, width = p.rng.choice((1, 2, 3)), p.rng.choice((1, 2, 3))
    lin = p.linear(v.kind.features[0], heads * width, bias=False)
    h = p.let(f"{lin}({v.name}).view(-1, {heads}, {width})", Kind("node", (heads, width)), 3.0)
    source, target = _ends(p)
    a, b = p.weight(heads, width, prefix="att"), p.weight(heads, width, prefix="att")
    if p.chance(0.3):
        scores = p.name(
            f"(torch.cat([{h.name}[{source.name}], {h.name}[{target.name}]], dim=-1) * torch.cat([{a}, {b}], dim=-1)).sum(-1)",
            "scores",
        )
    else:
        left, right = p.name(f"({h.name} * {a}).sum(dim=-1)"), p.name(f"({h.name} * {b}).sum(-1)")
        scores = p.name(f"{left}[{source.name}] + {right}[{target.name}]", "scores")
    scores = p.let(p.one_of(f"F.leaky_relu({scores}, 0.2)", f"torch.tanh({scores})"), Kind("edge", (heads,)), 5.0)
    alpha = softmax_along(p, scores, target)
    _attend(p, h, alpha, source, target)


def _attend(p: Program, h: Value, alpha: Value, source: Relation, target: Relation) -> None:
    heads, width = h.kind.features
    message = p.let(f"{h.name}[{source.name}] * {alpha.name}.unsqueeze(-1)", Kind("edge", (heads, width)), h.bound)
    out = p.let(added_up(p, message, target), h.kind, h.bound)
    form = p.rng.random()
    if form < 0.4:
        p.let(f"{out.name}.flatten(1)", Kind("node", (heads * width,)), h.bound)
    elif form < 0.7:
        p.let(f"{out.name}.mean(dim=1)", Kind("node", (width,)), h.bound)


@idiom(1)
def dot_product_attention(p: Program) -> None:
    v = p.tame(p.pick("node", 1))
    heads, width = p.rng.choice((1, 2)), p.rng.choice((2, 3))
    parts = []
    if p.chance(0.3):
        joined = p.name(f"{p.linear(v.kind.features[0], 3 * heads * width)}({v.name})")
        parts = [
            f"{joined}[:, {i * heads * width}:{(i + 1) * heads * width}].reshape(-1, {heads}, {width})"
            for i in range(3)
        ]
        if p.chance(0.4):
            split = p.name(f"{joined}.view(-1, 3, {heads}, {width})")
            parts = [f"{split}[:, {i}]" for i in range(3)]
    else:
        parts = [
            f"{p.linear(v.kind.features[0], heads * width)}({v.name}).view(-1, {heads}, {width})" for _ in range(3)
        ]
    q, k, value = (p.let(part, Kind("node", (heads, width)), 3.0) for part in parts)
    source, target = _ends(p)
    score = p.let(
        p.one_of(
            f"({q.name}[{target.name}] * {k.name}[{source.name}]).sum(-1) / {width} ** 0.5",
            f'torch.einsum("ehc,ehc->eh", {q.name}[{target.name}], {k.name}[{source.name}]) * {width**-0.5:.4f}',
            f"({q.name}[{target.name}] * {k.name}[{source.name}]).sum(dim=-1)",
        ),
        Kind("edge", (heads,)),
        6.0,
    )
    alpha = softmax_along(p, score, target)
    _attend(p, value, alpha, source, target)


@idiom(0.8)
def softmax_of_scores(p: Program) -> None:
    """Of whatever scores there are, along edges or over the nodes of a graph."""
    r = p.rng.choice([r for r in p.relations if r.target in ("node", "graph")])
    scores = p.tame(p.pick(r.source, where=lambda v: len(v.kind.features) < 2))
    softmax_along(p, scores, r)


@idiom(0.5)
def gated_messages(p: Program) -> None:
    v = p.pick("node", 1)
    c = v.kind.features[0]
    gate = p.name(f"torch.sigmoid({p.linear(c, c)}({v.name})[row] + {p.linear(c, c)}({v.name})[col])", "gate")
    message = p.let(f"{gate} * {v.name}[row]", Kind("edge", (c,)), v.bound)
    p.let(added_up(p, message, Relation("col", "edge", "node")), v.kind, v.bound * 4)
