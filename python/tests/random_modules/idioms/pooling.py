# Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
# See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Graphs as a whole: their nodes pooled, and what comes of it given back to nodes."""

from __future__ import annotations

from ..program import Impossible, Kind, Program, Relation
from .attention import softmax_along
from .gathers import gathered
from .registry import idiom
from .scatters import added_up, counted, spread, zeros


@idiom(1.5)
def pooled(p: Program) -> None:
    r = p.relation(target="graph")
    v = p.pick(r.source)
    kind = Kind("graph", v.kind.features)
    form = p.rng.random()
    if form < 0.4:
        p.let(added_up(p, v, r), kind, v.bound * 6, distinct=v.distinct)
    elif form < 0.7:
        count = p.name(counted(p, r, v.name) + ".clamp(min=1)", "count")
        total = p.name(added_up(p, v, r))
        p.let(f"{total} / {count}{''.join('.unsqueeze(-1)' for _ in v.kind.features)}", kind, v.bound)
    elif v.distinct:
        like = zeros(p, v.name, "graph", v.kind.features)
        p.let(
            f'{like}.scatter_reduce(0, {spread(p, r.name, v)}, {v.name}, "amax", include_self=False)',
            kind,
            v.bound,
            distinct=False,
        )
    else:
        raise Impossible


@idiom(0.7)
def pooled_by_pointers(p: Program) -> None:
    if "ptr" not in p.signature:
        raise Impossible
    v = p.pick("node", 1)
    how = p.one_of("sum", "mean", *(("max",) if v.distinct else ()))
    # The mean of no rows is NaN, and the largest of none infinite.
    empty = ".masked_fill((ptr[1:] == ptr[:-1]).unsqueeze(-1), 0.0)" if how != "sum" else ""
    if how == "sum" or p.chance(0.3):
        text = (
            f'torch.segment_reduce({v.name}, "{how}", offsets=ptr, initial=0)'
            if how != "max"
            else f'torch.segment_reduce({v.name}, "max", offsets=ptr){empty}'
        )
        if how == "mean":
            text = f'torch.segment_reduce({v.name}, "mean", offsets=ptr){empty}'
    else:
        text = f'torch.segment_reduce({v.name}, "{how}", lengths=ptr[1:] - ptr[:-1]){empty}'
    p.let(text, Kind("graph", v.kind.features), v.bound * 6, distinct=False)


@idiom(0.8)
def lists_of_pointers(p: Program) -> None:
    """Which graph each node belongs to, from row pointers."""
    if "ptr" not in p.signature:
        raise Impossible
    count = "(ptr.numel() - 1)"
    text = p.one_of(
        f"torch.repeat_interleave(torch.arange({count}), ptr[1:] - ptr[:-1])",
        f"torch.arange({count}).repeat_interleave(ptr.diff())",
    )
    p.relations.append(Relation(p.name(text, "list"), "node", "graph", is_sorted=True))


@idiom(1)
def given_back(p: Program) -> None:
    """Graphs' rows beside those of their nodes."""
    r = p.relation(target="graph")
    g = p.pick("graph", 1)
    v = p.pick(r.source, 1)
    rows = gathered(p, g.name, g.kind.features, r.name)
    p.let(
        f"torch.cat([{v.name}, {rows}], dim=-1)",
        Kind(r.source, (v.kind.features[0] + g.kind.features[0],)),
        max(v.bound, g.bound),
    )


@idiom(0.8)
def weighted_pooling(p: Program) -> None:
    """A softmax over the nodes of each graph."""
    r = p.relation("node", "graph")
    v = p.tame(p.pick("node", 1))
    score = p.let(f"{p.linear(v.kind.features[0], 1)}({v.name})" + p.one_of("", ".tanh()"), Kind("node", (1,)), 3.0)
    alpha = softmax_along(p, score, r)
    weighted = p.let(f"{alpha.name} * {v.name}", v.kind, v.bound)
    p.let(added_up(p, weighted, r), Kind("graph", v.kind.features), v.bound)


@idiom(0.8)
def over_all_nodes(p: Program) -> None:
    v = p.pick("node", where=lambda v: len(v.kind.features) < 3)
    text = p.one_of(
        ".sum(0)",
        ".mean(0)",
        ".sum(dim=0)",
        ".mean(dim=0)",
        *((".amax(0)", ".max(dim=0).values", ".min(0)[0]") if v.distinct else ()),
    )
    p.let(v.name + text, Kind("", v.kind.features), v.bound * (12 if "sum" in text else 1), distinct=False)


@idiom(0.4)
def over_all_edges(p: Program) -> None:
    """A sum only: the mean of no edges is another number in eager mode."""
    v = p.pick("edge", where=lambda v: len(v.kind.features) < 3)
    p.let(v.name + p.one_of(".sum(0)", ".sum(dim=0)"), Kind("", v.kind.features), v.bound * 15, distinct=False)


@idiom(0.6)
def one_for_all(p: Program) -> None:
    """One row of features that every element gets."""
    v = p.pick_rows(1)
    g = p.pick("", where=lambda g: g.kind.features in ((), (1,), v.kind.features))
    g = p.tame(g)
    p.let(
        p.one_of(f"{v.name} + {g.name}", f"{v.name} * {g.name}", f"{v.name} - {g.name}.expand_as({v.name})"),
        v.kind,
        v.bound * 2,
        distinct=False,
    )


@idiom(0.4)
def number_for_all(p: Program) -> None:
    """A loss: one number."""
    v = p.tame(p.pick("node"))
    dims = f"dim={tuple(range(len(v.kind.features) + 1))}"
    p.let(
        p.one_of(
            f"{v.name}.sum()",
            f"{v.name}.mean()",
            f"{v.name}.square().mean()",
            f"{v.name}.pow(2).sum({dims})",
            f"F.mse_loss({v.name}, torch.ones_like({v.name}))",
        ),
        Kind(""),
        v.bound**2 * 20,
        distinct=False,
    )


@idiom(0.8)
def loss_of_classes(p: Program) -> None:
    if "node_type" not in p.signature:
        raise Impossible
    v = p.tame(p.pick(kind=Kind("node", (3,))))
    p.let(
        p.one_of(
            f"F.cross_entropy({v.name}, node_type)",
            f"F.nll_loss(F.log_softmax({v.name}, dim=-1), node_type)",
            f"-{v.name}.log_softmax(-1).gather(1, node_type.unsqueeze(-1)).mean()",
        ),
        Kind(""),
        5.0,
        distinct=False,
    )
