# Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
# See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Temporaries of the module's own that it changes in place."""

from __future__ import annotations

from ..program import Impossible, Kind, Program, Relation, Value
from .registry import idiom


def _temporary(p: Program, value: Value) -> Value:
    """One that nobody else has, and that autograd does not keep."""
    text = p.one_of(f"{value.name}.clone()", f"{value.name} + 1", f"{value.name} * 0.5", f"0.1 + {value.name}")
    return p.let(text, value.kind, value.bound + 1, distinct=value.distinct)


@idiom(1)
def updates(p: Program) -> None:
    v = p.pick()
    other = p.tame(p.pick(kind=v.kind))
    t = _temporary(p, v)
    for _ in range(p.rng.choice((1, 1, 2))):
        text = p.one_of(
            f"{t.name} += {other.name}",
            f"{t.name}.add_({other.name}, alpha=0.5)",
            f"{t.name}.mul_({other.name})",
            f"{t.name} *= 0.5",
            f"{t.name}.sub_({other.name})",
            f"{t.name}.relu_()",
            f"{t.name}.clamp_(min=0.1)",
            f"{t.name}.div_(2)",
            f"{t.name} -= 0.25",
            f"torch.tanh_({t.name})",
            f"F.leaky_relu_({t.name}, 0.1)",
        )
        p.do(text, t)
        if "relu_" in text or "tanh_" in text:  # autograd keeps what they make
            break
    t.distinct = False
    t.bound = (t.bound + other.bound) * max(1.0, other.bound)


@idiom(0.8)
def written_columns(p: Program) -> None:
    v = p.pick_rows(1)
    c = v.kind.features[0]
    if c < 2:
        raise Impossible
    t = _temporary(p, v)
    k = p.rng.randrange(c)
    values = [w for w in p.values if w.kind == Kind(v.kind.space) and w is not t]
    form = p.rng.random()
    if values and form < 0.4:
        p.do(f"{t.name}[:, {k}] = {p.rng.choice(values).name}", t)
    elif form < 0.7:
        p.do(
            p.one_of(
                f"{t.name}[:, {k}] = 0.5",
                f"{t.name}[..., {k}] += 1.0",
                f"{t.name}[:, {k}].mul_(0.3)",
                f"{t.name}[:, {k}:] *= 2",
                f"{t.name}.select(1, {k}).zero_()",
            ),
            t,
        )
    else:
        part = p.name(f"{t.name}[:, :{max(1, k)}]", "part")
        p.body[-1].results = {}
        p.body[-1].changes = t.name
        p.do(p.one_of(f"{part}.mul_(0.5)", f"{part} += {v.name}[:, :{max(1, k)}]", f"{part}.neg_()"), t)
    t.distinct = False


@idiom(0.6)
def written_rows(p: Program) -> None:
    masks = [m for m in p.masks if m.space in ("node", "edge")]
    if not masks:
        raise Impossible
    mask = p.rng.choice(masks)
    v = p.pick(mask.space)
    t = _temporary(p, v)
    column = mask.name + "".join(".unsqueeze(-1)" for _ in v.kind.features)
    p.do(
        p.one_of(
            f"{t.name}[{mask.name}] = 0.0",
            f"{t.name}.masked_fill_({column}, 0.25)",
            f"{t.name}[~{mask.name}] *= 0.5",
            f"{t.name}[{mask.name}] = {v.name}[{mask.name}] * 2",
            f"{t.name}.mul_({column})",
        ),
        t,
    )
    t.distinct = False


@idiom(1)
def added_in_place(p: Program) -> None:
    """Sums along a list into a tensor of zeros, or one that has something already."""
    r: Relation = p.rng.choice([r for r in p.relations if r.target != "type"])
    v = p.pick(r.source, where=lambda v: len(v.kind.features) < 2)
    kind = Kind(r.target, v.kind.features)
    shape = ", ".join(map(str, (p.size(r.target), *v.kind.features)))
    t = p.let(
        p.one_of(
            f"torch.zeros({shape}, dtype={v.name}.dtype)",
            f"{v.name}.new_zeros({shape})",
            f"torch.full(({shape},), 0.5, dtype={v.name}.dtype)",
        ),
        kind,
        v.bound * 6,
    )
    for _ in range(p.rng.choice((1, 1, 2))):
        index = f"{r.name}.unsqueeze(-1).expand_as({v.name})" if v.kind.features else r.name
        text = p.one_of(
            f"{t.name}.index_add_(0, {r.name}, {v.name})",
            f"{t.name}.scatter_add_(0, {index}, {v.name})",
            f"{t.name}.index_put_(({r.name},), {v.name}, accumulate=True)",
            f'{t.name}.scatter_reduce_(0, {index}, {v.name}, "sum")',
        )
        p.do(text, t)
        if "scatter_reduce_" in text:  # autograd keeps what it makes
            break
    t.distinct = False


@idiom(0.4)
def filled_list(p: Program) -> None:
    """Results of a loop that are written into one tensor, head by head."""
    v = p.pick_rows(1)
    c = v.kind.features[0]
    t = p.let(
        p.one_of(
            f"torch.zeros({p.size(v.kind.space)}, 2, {c}, dtype={v.name}.dtype)",
            f"{v.name}.new_empty({p.size(v.kind.space)}, 2, {c})",
            f"torch.empty({p.size(v.kind.space)}, 2, {c}, dtype={v.name}.dtype)",
        ),
        Kind(v.kind.space, (2, c)),
        v.bound,
    )
    p.do(f"for i in range(2):\n    {t.name}[:, i] = {v.name} * (i + 1)", t)
    t.distinct = False
