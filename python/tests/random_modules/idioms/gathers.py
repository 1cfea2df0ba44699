# Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
# See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Rows that a list of integers chooses."""

from __future__ import annotations

from ..program import Impossible, Kind, Mask, Program, Relation
from .registry import idiom


def gathered(p: Program, name: str, features: tuple[int, ...], index: str) -> str:
    """The rows of a tensor that a list names, as users write it."""
    forms = [
        f"{name}[{index}]",
        f"{name}[{index}]",
        f"{name}.index_select(0, {index})",
        f"torch.index_select({name}, 0, {index})",
    ]
    if len(features) == 1:
        forms.append(f"{name}.gather(0, {index}.unsqueeze(-1).expand(-1, {features[0]}))")
        forms.append(f"torch.gather({name}, 0, {index}.view(-1, 1).expand(-1, {name}.size(1)))")
        forms.append(f"F.embedding({index}, {name})")
    if not features:
        forms.append(f"{name}.gather(0, {index})")
    else:
        forms.append(f"{name}[{index}, :]")
    return p.one_of(*forms)


@idiom(3)
def rows_along_edges(p: Program) -> None:
    r = p.relation()
    v = p.pick(r.target)
    p.let(gathered(p, v.name, v.kind.features, r.name), Kind(r.source, v.kind.features), v.bound, distinct=v.distinct)


@idiom(0.7)
def rows_of_both_ends(p: Program) -> None:
    """One gather with the whole index: [2, E, C]."""
    if "edge_index" not in p.signature:
        raise Impossible
    v = p.pick("node", 1)
    t = p.name(f"{v.name}[edge_index]")
    kind = Kind("edge", v.kind.features)
    text = p.one_of(f"{t}[0] - {t}[1]", f"{t}.sum(0)", f"{t}[1]", f"{t}.prod(dim=0)", f"{t}.mean(dim=0)")
    p.let(text, kind, v.bound**2)


@idiom(1)
def difference_of_ends(p: Program) -> None:
    v = p.pick("node")
    kind = Kind("edge", v.kind.features)
    text = p.one_of(
        f"{v.name}[row] - {v.name}[col]", f"{v.name}[col] * {v.name}[row]", f"({v.name}[row] + {v.name}[col]) * 0.5"
    )
    p.let(text, kind, v.bound**2)


@idiom(0.7)
def squared_length(p: Program) -> None:
    v = p.pick("node", 1)
    d = p.name(f"{v.name}[row] - {v.name}[col]")
    text = p.one_of(
        f"({d} ** 2).sum(-1)", f"({d} * {d}).sum(dim=1)", f"{d}.square().sum(-1)", f"{d}.pow(2).sum(-1, keepdim=True)"
    )
    kind = Kind("edge", (1,) if "keepdim" in text else ())
    p.let(text, kind, v.bound**2)


@idiom(0.5)
def rows_in_a_table(p: Program) -> None:
    """An embedding of types."""
    r = p.relation(target="type")
    width = p.width()
    if p.chance(0.5):
        text = f"{p.member(f'nn.Embedding(3, {width})', 'table')}({r.name})"
    else:
        text = gathered(p, p.weight(3, width, prefix="table"), (width,), r.name)
    p.let(text, Kind(r.source, (width,)), 3.0, distinct=False)


@idiom(0.4)
def one_hot(p: Program) -> None:
    r = p.relation(target="type")
    text = p.one_of(
        f"F.one_hot({r.name}, 3).to(x.dtype)",
        f"({r.name}.unsqueeze(-1) == torch.arange(3)).to(x.dtype)",
        f"torch.eye(3, dtype=x.dtype)[{r.name}]",
    )
    p.let(text, Kind(r.source, (3,)), 1.0, distinct=False)


@idiom(0.4)
def two_steps(p: Program) -> None:
    """A list through a list: the graph of an edge's end, the type of a node at an end."""
    first = p.relation()
    second = p.relation(source=first.target)
    name = p.name(p.one_of(f"{second.name}[{first.name}]", f"{second.name}.index_select(0, {first.name})"), "list")
    p.relations.append(Relation(name, first.source, second.target))


@idiom(0.5)
def mask_of_a_condition(p: Program) -> None:
    text, space = p.rng.choice(
        (
            ("row != col", "edge"),
            ("row < col", "edge"),
            ("node_type == 1", "node"),
            ("edge_type == 0", "edge"),
            ("mask[row]", "edge"),
            ("~mask", "node"),
            ("edge_type > 0", "edge"),
            ("(node_type == 0) | mask", "node"),
            ("mask[row] & mask[col]", "edge"),
        )
    )
    for need in ("node_type", "edge_type", "mask"):
        if need in text and need not in p.signature:
            raise Impossible
    p.masks.append(Mask(p.name(text, "where"), space))
