# Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
# See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What is done along the features of each element: orders, sums up to a place, attention, chosen columns."""

from __future__ import annotations

from ..program import Impossible, Kind, Program
from .registry import idiom
from .scatters import zeros


@idiom(0.5)
def sums_up_to_each_place(p: Program) -> None:
    v = p.tame(p.pick_rows(1))
    text = p.one_of(
        f"{v.name}.cumsum(-1)",
        f"torch.cumsum({v.name}, dim=1)",
        f"{v.name}.logcumsumexp(-1)",
        f"({v.name} * 0.1 + 1).cumprod(-1)",
        f"{v.name}.flip(-1).cumsum(-1).flip(-1)",
    )
    p.let(text, v.kind, v.bound * v.kind.features[0] + 2)


@idiom(0.5)
def order_of_features(p: Program) -> None:
    v = p.pick(dims=1, where=lambda v: v.kind.space != "" and v.distinct and v.kind.features[0] > 1)
    c = v.kind.features[0]
    text, width = p.rng.choice(
        (
            (f"{v.name}.sort(dim=-1).values", c),
            (f"torch.sort({v.name}, dim=-1, descending=True)[0]", c),
            (f"{v.name}.topk(1, dim=-1).values", 1),
            (f"{v.name}.topk({c - 1}, dim=-1)[0]", c - 1),
            (f"{v.name}.max(dim=-1, keepdim=True)[0]", 1),
            (f"{v.name}.max(-1, keepdim=True).values - {v.name}", c),
            (f"{v.name}.cummax(-1).values", c),
        )
    )
    p.let(text, Kind(v.kind.space, (width,)), v.bound * 2, distinct=False)


@idiom(0.5)
def chosen_columns(p: Program) -> None:
    v = p.pick_rows(1)
    c = v.kind.features[0]
    places = [p.rng.randrange(c) for _ in range(p.rng.choice((1, 2, 3)))]
    listed = f"[{', '.join(map(str, places))}]"
    buffer = p.buffer(f"torch.tensor({listed})", "places") if p.chance(0.5) else f"torch.tensor({listed})"
    text = p.one_of(f"{v.name}[:, {buffer}]", f"{v.name}.index_select(1, {buffer})", f"{v.name}[:, {listed}]")
    p.let(text, Kind(v.kind.space, (len(places),)), v.bound, distinct=False)


@idiom(0.5)
def attention_among_heads(p: Program) -> None:
    v = p.tame(p.pick_rows(2))
    text = p.one_of(
        f"F.scaled_dot_product_attention({v.name}, {v.name}, {v.name})",
        f"torch.softmax({v.name} @ {v.name}.transpose(1, 2), dim=-1) @ {v.name}",
        f"torch.bmm(torch.softmax(torch.bmm({v.name}, {v.name}.mT), -1), {v.name})",
    )
    p.let(text, v.kind, v.bound)


@idiom(0.5)
def modules_of_features(p: Program) -> None:
    v = p.tame(p.pick_rows(1))
    c = v.kind.features[0]
    form = p.rng.random()
    if form < 0.25:
        p.let(f"{p.member('nn.PReLU()', 'act')}({v.name})", v.kind, v.bound, distinct=False)
    elif form < 0.5:
        width = p.width()
        p.let(
            f"{p.member(f'nn.Bilinear({c}, {c}, {width})', 'form')}({v.name}, {v.name})",
            Kind(v.kind.space, (width,)),
            9.0,
        )
    elif form < 0.75 and c % 2 == 0:
        p.let(f"F.glu({v.name}, dim=-1)", Kind(v.kind.space, (c // 2,)), v.bound)
    else:
        conv = p.member("nn.Conv1d(1, 2, 3, padding=1)", "conv")
        p.let(f"{conv}({v.name}.unsqueeze(1))", Kind(v.kind.space, (2, c)), v.bound * 2)


@idiom(0.5)
def spread_of_features(p: Program) -> None:
    v = p.tame(p.pick(dims=1, where=lambda v: v.kind.space != "" and v.kind.features[0] > 1))
    text = p.one_of(
        f"{v.name}.var(-1)",
        f"({v.name}.var(dim=-1, unbiased=False) + 0.1).sqrt()",
        f"({v.name}.square().sum(-1) + 0.1).sqrt()",
        f"torch.linalg.vector_norm({v.name}, dim=-1) ** 2",
        f"({v.name} + 3).norm(p=2, dim=-1)",
    )
    p.let(text, Kind(v.kind.space), v.bound * v.kind.features[0])


@idiom(0.5)
def sums_of_columns_first(p: Program) -> None:
    """Along the second axis: features in rows, nodes in columns."""
    r = p.rng.choice([r for r in p.relations if r.target != "type"])
    v = p.pick(r.source, 1)
    c = v.kind.features[0]
    t = p.name(f"{v.name}.t()")
    base = f"{v.name}.new_zeros({c}, {p.size(r.target)})"
    text = p.one_of(
        f"{base}.index_add(1, {r.name}, {t}).t()",
        f"{base}.scatter_add(1, {r.name}.unsqueeze(0).expand({c}, -1), {t}).t()",
        f"{base}.index_add_(-1, {r.name}, {t}).transpose(0, 1)",
    )
    p.let(text, Kind(r.target, v.kind.features), v.bound * 6)


@idiom(0.4)
def counted_pairs(p: Program) -> None:
    """How many neighbours of each type a node has, times a table."""
    if "node_type" not in p.signature:
        raise Impossible
    types = p.name("F.one_hot(node_type, 3).to(x.dtype)", "types")
    sums = p.let(
        f"{zeros(p, 'x', 'node', (3,))}.index_add(0, col, {types}[row])", Kind("node", (3,)), 8.0, distinct=False
    )
    width = p.width()
    p.let(f"{sums.name} @ {p.weight(3, width)}", Kind("node", (width,)), 9.0, distinct=False)


@idiom(0.4)
def repeated_rows_of_graphs(p: Program) -> None:
    if "ptr" not in p.signature:
        raise Impossible
    v = p.pick("graph", 1)
    p.let(f"{v.name}.repeat_interleave(ptr[1:] - ptr[:-1], dim=0)", Kind("node", v.kind.features), v.bound)


@idiom(0.4)
def first_and_last(p: Program) -> None:
    """Single rows, beside those of all."""
    v = p.pick("node", 1)
    row = p.one_of(f"{v.name}[0]", f"{v.name}[-1]", f"{v.name}[:1]", f"{v.name}.select(0, 0)")
    p.let(p.one_of(f"{v.name} - {row}", f"{v.name} * {row}"), v.kind, v.bound**2, distinct=False)


@idiom(0.4)
def nodes_with_neighbours(p: Program) -> None:
    """Rows only where something arrives."""
    v = p.pick("node", 1)
    n = p.size("node")
    arrives = p.name(
        p.one_of(
            f"torch.bincount(col, minlength={n}) > 0",
            f"torch.zeros({n}, dtype=torch.bool).index_fill(0, col, True)",
            f"torch.zeros({n}).index_add(0, col, torch.ones(col.size(0))) > 0.5",
        ),
        "arrives",
    )
    p.let(
        p.one_of(f"torch.where({arrives}.unsqueeze(-1), {v.name}, 0.0)", f"{v.name} * {arrives}[:, None]"),
        v.kind,
        v.bound,
        distinct=False,
    )
