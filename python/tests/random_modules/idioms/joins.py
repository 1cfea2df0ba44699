# Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
# See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tensors that are concatenated and stacked."""

from __future__ import annotations

from ..program import Kind, Program, Value
from .registry import idiom


def several(p: Program, first: Value, same: bool) -> list[Value]:
    """Values of one space, of one kind or with as many axes."""
    found = [first]
    for _ in range(p.rng.choice((1, 1, 2))):
        if same:
            found.append(p.pick(kind=first.kind))
        else:
            found.append(
                p.pick(
                    first.kind.space,
                    len(first.kind.features),
                    where=lambda v: v.kind.features[:-1] == first.kind.features[:-1],
                )
            )
    return found


@idiom(2)
def concatenated_features(p: Program) -> None:
    parts = several(p, p.pick(where=lambda v: v.kind.space != "" and v.kind.features != ()), same=False)
    width = sum(v.kind.features[-1] for v in parts)
    names = ", ".join(v.name for v in parts)
    text = p.one_of(
        f"torch.cat([{names}], dim=-1)",
        f"torch.cat(({names}), {len(parts[0].kind.features)})",
        f"torch.concat([{names}], -1)",
    )
    p.let(
        text,
        Kind(parts[0].kind.space, (*parts[0].kind.features[:-1], width)),
        max(v.bound for v in parts),
        distinct=len(set(names.split(", "))) == len(parts) and all(v.distinct for v in parts),
    )


@idiom(1)
def features_of_an_edge(p: Program) -> None:
    """Both ends, and what the edge has itself."""
    v = p.pick("node", 1)
    parts = p.rng.choice(([f"{v.name}[row]", f"{v.name}[col]"], [f"{v.name}[col]", f"{v.name}[row] - {v.name}[col]"]))
    width = 2 * v.kind.features[0]
    own = [w for w in p.values if w.kind.space == "edge" and len(w.kind.features) < 2]
    if own and p.chance(0.7):
        w = p.rng.choice(own)
        parts.append(
            w.name
            if w.kind.features
            else f"{w.name}.view(-1, 1)"
            if w.name not in p.signature
            else f"{w.name}.unsqueeze(-1)"
        )
        width += w.kind.features[0] if w.kind.features else 1
    p.let(f"torch.cat([{', '.join(parts)}], dim=-1)", Kind("edge", (width,)), v.bound * 2)


@idiom(1)
def stacked(p: Program) -> None:
    """Stacked, and then reduced or kept: sums over layers, the largest of them, one more axis."""
    parts = several(p, p.pick_rows(1), same=True)
    names = ", ".join(v.name for v in parts)
    kind = parts[0].kind
    bound = sum(v.bound for v in parts)
    generic = all(v.distinct for v in parts) and len({v.name for v in parts}) == len(parts)
    form = p.rng.random()
    if form < 0.4:
        reduction = p.one_of(
            ".sum(0)", ".mean(dim=0)", *((".amax(0)", ".max(dim=0).values", ".max(dim=0)[0]") if generic else ())
        )
        p.let(f"torch.stack([{names}]){reduction}", kind, bound, distinct="a" not in reduction)
    elif form < 0.8:
        p.let(
            f"torch.stack([{names}], dim=1)", Kind(kind.space, (len(parts), kind.features[0])), bound, distinct=generic
        )
    else:
        p.let(
            f"torch.stack([{names}], dim=-1)", Kind(kind.space, (kind.features[0], len(parts))), bound, distinct=generic
        )


@idiom(0.7)
def joined_rows_and_cut(p: Program) -> None:
    """Rows of several tensors through one function, and apart again."""
    a = p.pick_rows(1)
    b = p.pick(kind=a.kind)
    n = p.size(a.kind.space)
    joined = p.name(f"torch.cat([{a.name}, {b.name}], dim=0)")
    mapped = p.name(f"torch.tanh({joined} @ {p.weight(a.kind.features[0], a.kind.features[0])})")
    text = p.one_of(
        f"{mapped}[:{n}]",
        f"{mapped}[{n}:]",
        f"{mapped}[:{n}] + {mapped}[{n}:]",
        f"{mapped}.split([{n}, {n}])[1]",
        f"{mapped}.chunk(2)[0]",
        f"{mapped}.view(2, -1, {a.kind.features[0]}).sum(0)",
        f"{mapped}.narrow(0, 0, {n})",
    )
    p.let(text, a.kind, 2.0)


@idiom(0.5)
def spread_to_all(p: Program) -> None:
    """One row for everything, concatenated to each."""
    v = p.pick_rows(1)
    g = p.pick("", 1)
    n = p.size(v.kind.space)
    spread = p.one_of(
        f"{g.name}.expand({n}, -1)",
        f"{g.name}.unsqueeze(0).expand({n}, {g.kind.features[0]})",
        f"{g.name}.repeat({n}, 1)",
    )
    p.let(
        f"torch.cat([{v.name}, {spread}], dim=-1)",
        Kind(v.kind.space, (v.kind.features[0] + g.kind.features[0],)),
        max(v.bound, g.bound),
        distinct=False,
    )
