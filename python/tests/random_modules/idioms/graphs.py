# Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
# See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Other graphs made from the one that is given: self loops, both directions, some of the edges, some of the nodes."""

from __future__ import annotations

from ..program import Impossible, Kind, Program, Relation, Statement
from .registry import idiom


def _space(p: Program, name: str, size: str, source: str, target: str) -> None:
    p.sizes[name] = [size]
    p.relations += [Relation(source, name, "node"), Relation(target, name, "node")]


def _once(p: Program, name: str) -> None:
    if name in p.sizes or "graph_made" in p.sizes:
        raise Impossible


@idiom(0.8)
def self_loops(p: Program) -> None:
    _once(p, "looped")
    n = p.size("node")
    loops = p.name(f"torch.arange({n})", "loops")
    form = p.rng.random()
    source, target = p.new_name("row"), p.new_name("col")
    if form < 0.4 and "edge_index" in p.signature:
        index = p.name(f"torch.cat([edge_index, torch.stack([{loops}, {loops}])], dim=1)", "index")
        p.body.append(Statement(f"{source}, {target} = {index}", {source: None, target: None}))
    elif form < 0.6 and "edge_index" in p.signature:
        index = p.name(f"torch.cat([edge_index, {loops}.unsqueeze(0).expand(2, -1)], dim=1)", "index")
        p.body.append(Statement(f"{source}, {target} = {index}[0], {index}[1]", {source: None, target: None}))
    else:
        p.body.append(
            Statement(
                f"{source} = torch.cat([row, {loops}])\n{target} = torch.cat([col, {loops}])",
                {source: None, target: None},
            )
        )
    _space(p, "looped", f"{source}.size(0)", source, target)
    if p.chance(0.6):
        v = p.pick("edge")
        shape = ", ".join(map(str, (p.size("node"), *v.kind.features)))
        fill = p.one_of(
            f"{v.name}.new_ones({shape})",
            f"torch.zeros({shape}, dtype={v.name}.dtype)",
            f"torch.full(({shape},), 0.5, dtype={v.name}.dtype)",
        )
        p.let(
            f"torch.cat([{v.name}, {fill}], dim=0)", Kind("looped", v.kind.features), max(v.bound, 1.0), distinct=False
        )


@idiom(0.6)
def both_directions(p: Program) -> None:
    _once(p, "doubled")
    source, target = p.new_name("row"), p.new_name("col")
    if "edge_index" in p.signature and p.chance(0.5):
        index = p.name(
            p.one_of(
                "torch.cat([edge_index, edge_index.flip(0)], dim=1)",
                "torch.cat([edge_index, edge_index[[1, 0]]], dim=1)",
            ),
            "index",
        )
        p.body.append(Statement(f"{source}, {target} = {index}", {source: None, target: None}))
    else:
        p.body.append(
            Statement(
                f"{source}, {target} = torch.cat([row, col]), torch.cat([col, row])", {source: None, target: None}
            )
        )
    _space(p, "doubled", f"{source}.size(0)", source, target)
    if p.chance(0.7):
        v = p.pick("edge")
        p.let(
            p.one_of(
                f"torch.cat([{v.name}, {v.name}])",
                f"torch.cat([{v.name}, {v.name}], dim=0)",
                f"{v.name}.repeat(2{', 1' * len(v.kind.features)})",
            ),
            Kind("doubled", v.kind.features),
            v.bound,
            distinct=v.distinct,
        )


@idiom(0.7)
def some_edges(p: Program) -> None:
    """Those that a mask keeps."""
    _once(p, "kept")
    masks = [m for m in p.masks if m.space == "edge"]
    if masks and p.chance(0.6):
        mask = p.rng.choice(masks).name
    else:
        mask = p.name(p.one_of("row != col", "row < col"), "where")
    source, target = p.new_name("row"), p.new_name("col")
    if "edge_index" in p.signature and p.chance(0.5):
        p.body.append(Statement(f"{source}, {target} = edge_index[:, {mask}]", {source: None, target: None}))
    else:
        p.body.append(Statement(f"{source}, {target} = row[{mask}], col[{mask}]", {source: None, target: None}))
    _space(p, "kept", f"{source}.size(0)", source, target)
    if p.chance(0.7):
        v = p.pick("edge")
        p.let(f"{v.name}[{mask}]", Kind("kept", v.kind.features), v.bound, distinct=v.distinct)


@idiom(0.5)
def some_nodes(p: Program) -> None:
    """Rows that a mask keeps, for a loss or as another space."""
    masks = [m for m in p.masks if m.space == "node"]
    if not masks:
        raise Impossible
    mask = p.rng.choice(masks).name
    v = p.pick("node")
    _once(p, "chosen_" + mask)
    chosen = p.let(
        p.one_of(f"{v.name}[{mask}]", f"{v.name}[{mask}.nonzero().squeeze(-1)]"),
        Kind("chosen_" + mask, v.kind.features),
        v.bound,
        distinct=v.distinct,
    )
    p.sizes["chosen_" + mask] = [f"{chosen.name}.size(0)"]


@idiom(0.4)
def sorted_edges(p: Program) -> None:
    _once(p, "ordered")
    order = p.name(
        p.one_of(
            "torch.argsort(col, stable=True)",
            "col.argsort(stable=True)",
            "torch.sort(col, stable=True)[1]",
            "torch.sort(row, stable=True).indices",
        ),
        "order",
    )
    source, target = p.new_name("row"), p.new_name("col")
    p.body.append(Statement(f"{source}, {target} = row[{order}], col[{order}]", {source: None, target: None}))
    _space(p, "ordered", f"{source}.size(0)", source, target)
    v = p.pick("edge")
    p.let(f"{v.name}[{order}]", Kind("ordered", v.kind.features), v.bound, distinct=v.distinct)
