# Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
# See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Rows that are added up, or reduced otherwise, along a list of integers."""

from __future__ import annotations

from ..program import Kind, Program, Relation, Value
from .registry import idiom

MEMBERS = 6  #: of a node, about, for bounds


def zeros(p: Program, like: str, space: str, features: tuple[int, ...]) -> str:
    shape = ", ".join(map(str, (p.size(space), *features)))
    return p.one_of(
        f"{like}.new_zeros({shape})",
        f"torch.zeros({shape}, dtype={like}.dtype)",
        f"torch.zeros(({shape},), dtype={like}.dtype)",
        f"{like}.new_zeros(({shape},))",
    )


def spread(p: Program, index: str, value: Value) -> str:
    """An index as scatter_add wants it: as many axes as the rows have."""
    if not value.kind.features:
        return index
    ones = ", ".join("1" for _ in value.kind.features)
    return p.one_of(
        f"{index}.view(-1, {ones}).expand_as({value.name})",
        f"{index}{''.join('[..., None]' for _ in value.kind.features)}.expand_as({value.name})",
        f"{index}.view(-1, {ones}).expand({', '.join(map(str, (-1, *value.kind.features)))})",
    )


def added_up(p: Program, value: Value, relation: Relation, base: str | None = None) -> str:
    """The sum along a list. base: what is added to, else zeros."""
    target = base or zeros(p, value.name, relation.target, value.kind.features)
    return p.one_of(
        f"{target}.index_add(0, {relation.name}, {value.name})",
        f"torch.index_add({target}, 0, {relation.name}, {value.name})",
        f"{target}.scatter_add(0, {spread(p, relation.name, value)}, {value.name})",
        f"{target}.index_put(({relation.name},), {value.name}, accumulate=True)",
        f'{target}.scatter_reduce(0, {spread(p, relation.name, value)}, {value.name}, reduce="sum")',
        f'torch.scatter_reduce({target}, 0, {spread(p, relation.name, value)}, {value.name}, "sum", include_self=True)',
    )


def counted(p: Program, relation: Relation, like: str) -> str:
    """How many members each element has."""
    size = p.size(relation.target)
    ones = p.one_of(
        f"torch.ones_like({relation.name}, dtype={like}.dtype)",
        f"torch.ones({relation.name}.size(0), dtype={like}.dtype)",
        f"{like}.new_ones({relation.name}.numel())",
    )
    return p.one_of(
        f"torch.bincount({relation.name}, minlength={size}).to({like}.dtype)",
        f"torch.zeros({size}, dtype={like}.dtype).index_add(0, {relation.name}, {ones})",
        f"{like}.new_zeros({size}).scatter_add_(0, {relation.name}, {ones})",
    )


def targets(p: Program) -> tuple[Relation, Value]:
    relation = p.rng.choice([r for r in p.relations if r.target != "type"])
    return relation, p.pick(relation.source)


@idiom(3)
def sum_along(p: Program) -> None:
    r, v = targets(p)
    p.let(added_up(p, v, r), Kind(r.target, v.kind.features), v.bound * MEMBERS, distinct=v.distinct)


@idiom(0.7)
def sum_onto(p: Program) -> None:
    """To numbers that are there: a residual."""
    r, v = targets(p)
    base = p.pick(kind=Kind(r.target, v.kind.features))
    p.let(added_up(p, v, r, base.name), base.kind, v.bound * MEMBERS + base.bound, distinct=False)


@idiom(1)
def message_in_one_line(p: Program) -> None:
    """The whole step: rows of one end, weighted, added up at the other."""
    v = p.pick("node", 1)
    message = f"{v.name}[row]"
    weights = [w for w in p.values if w.kind == Kind("edge")]
    if weights and p.chance(0.6):
        message = f"{p.rng.choice(weights).name}.unsqueeze(-1) * {message}"
    text = p.one_of(
        f"torch.zeros_like({v.name}).index_add(0, col, {message})",
        f"torch.zeros_like({v.name}).index_add_(0, col, {message})",
        f"{v.name} + torch.zeros_like({v.name}).index_add_(0, col, {message})",
    )
    p.let(text, v.kind, v.bound * MEMBERS * 2, distinct=False)


@idiom(1)
def mean_along(p: Program) -> None:
    r, v = targets(p)
    kind = Kind(r.target, v.kind.features)
    if p.chance(0.3):
        like = zeros(p, v.name, r.target, v.kind.features)
        p.let(f'{like}.scatter_reduce(0, {spread(p, r.name, v)}, {v.name}, "mean", include_self=False)', kind, v.bound)
        return
    total = p.name(added_up(p, v, r))
    count = p.name(counted(p, r, v.name) + p.one_of(".clamp(min=1)", ".clamp_min(1)"))
    column = count + "".join(".unsqueeze(-1)" for _ in v.kind.features)
    p.let(f"{total} / {column}", kind, v.bound)


@idiom(1)
def extremum_along(p: Program) -> None:
    relation = p.rng.choice([r for r in p.relations if r.target != "type"])
    v = p.pick(relation.source, where=lambda v: v.distinct)
    like = zeros(p, v.name, relation.target, v.kind.features)
    how = p.one_of("amax", "amin")
    index = spread(p, relation.name, v)
    text = p.one_of(
        f'{like}.scatter_reduce(0, {index}, {v.name}, "{how}", include_self=False)',
        f'{like}.scatter_reduce(0, {index}, {v.name}, reduce="{how}", include_self=False)',
        f'{like}.index_reduce(0, {relation.name}, {v.name}, "{how}", include_self=False)',
    )
    p.let(text, Kind(relation.target, v.kind.features), v.bound, distinct=False)


@idiom(0.4)
def extremum_with_a_bound(p: Program) -> None:
    relation = p.rng.choice([r for r in p.relations if r.target != "type"])
    v = p.tame(p.pick(relation.source, where=lambda v: v.distinct))
    shape = ", ".join(map(str, (p.size(relation.target), *v.kind.features)))
    text = f'torch.full(({shape},), -0.75, dtype={v.name}.dtype).scatter_reduce(0, {spread(p, relation.name, v)}, {v.name}, "amax")'
    p.let(text, Kind(relation.target, v.kind.features), v.bound, distinct=False)


@idiom(0.4)
def variance_along(p: Program) -> None:
    r, v = targets(p)
    v = p.tame(v)
    count = p.name(counted(p, r, v.name) + ".clamp(min=1)")
    column = count + "".join(".unsqueeze(-1)" for _ in v.kind.features)
    mean = p.name(f"{added_up(p, v, r)} / {column}")
    square = p.let(f"{v.name} * {v.name}", v.kind, v.bound**2)
    text = f"{added_up(p, square, r)} / {column} - {mean} * {mean}"
    if p.chance(0.5):
        text = f"(({text}).clamp(min=0) + 1e-2).sqrt()" if p.chance(0.3) else f"(({text}).relu() + 0.01).sqrt()"
    p.let(text, Kind(r.target, v.kind.features), v.bound**2, distinct=False)


@idiom(0.3)
def product_along(p: Program) -> None:
    r, v = targets(p)
    v = p.let(f"1 + torch.tanh({v.name}) * 0.5", v.kind, 1.5)
    shape = ", ".join(map(str, (p.size(r.target), *v.kind.features)))
    text = f'torch.ones({shape}, dtype={v.name}.dtype).scatter_reduce(0, {spread(p, r.name, v)}, {v.name}, "prod")'
    p.let(text, Kind(r.target, v.kind.features), 10.0, distinct=False)


@idiom(0.7)
def degrees(p: Program) -> None:
    r = p.rng.choice([r for r in p.relations if r.target != "type"])
    p.let(counted(p, r, "x"), Kind(r.target), 10.0, distinct=False, low=None)


@idiom(1)
def symmetric_norm(p: Program) -> None:
    """Of GCN: roots of degrees, infinite ones replaced."""
    v = p.pick("node", 1)
    r = p.relation("edge", "node")
    degree = p.name(counted(p, r, "x"), "deg")
    inverse = p.one_of(
        f"{degree}.clamp(min=1).pow(-0.5)",
        f"{degree}.pow(-0.5).masked_fill({degree} == 0, 0.0)",
        f"torch.where({degree} > 0, {degree}.clamp(min=1).rsqrt(), torch.zeros_like({degree}))",
        f"({degree} + 1).rsqrt()",
        f"1 / ({degree} + 1).sqrt()",
    )
    norm = p.name(inverse, "norm")
    coefficient = p.name(p.one_of(f"{norm}[row] * {norm}[col]", f"{norm}.index_select(0, col)"), "coefficient")
    message = p.let(f"{v.name}[row] * {coefficient}.unsqueeze(-1)", Kind("edge", v.kind.features), v.bound)
    p.let(added_up(p, message, Relation("col", "edge", "node")), v.kind, v.bound * 2)
