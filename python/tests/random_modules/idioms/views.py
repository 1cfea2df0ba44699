# Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
# See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Axes that are split, merged, exchanged, cut and spread."""

from __future__ import annotations

from ..program import Impossible, Kind, Program, Statement
from .registry import idiom


@idiom(1.2)
def split_into_heads(p: Program) -> None:
    v = p.pick_rows(1)
    width = v.kind.features[0]
    heads = [h for h in (1, 2, 3) if width % h == 0 and width > 1]
    if not heads:
        raise Impossible
    h = p.rng.choice(heads)
    c = width // h
    text = p.one_of(
        f".view(-1, {h}, {c})",
        f".reshape(-1, {h}, {c})",
        f".unflatten(1, ({h}, {c}))",
        f".reshape({p.size(v.kind.space)}, {h}, {c})",
        f".unflatten(-1, ({h}, -1))",
        f".reshape({v.name}.shape[0], {h}, {c})",
    )
    # Views of arguments may have other strides, for which there is only reshape.
    text = text.replace(".view", ".reshape") if v.name in p.signature else text
    p.let(
        v.name + (".contiguous()" if ".view" in text else "") + text,
        Kind(v.kind.space, (h, c)),
        v.bound,
        distinct=v.distinct,
    )


@idiom(1.2)
def merge_heads(p: Program) -> None:
    v = p.pick_rows(2)
    h, c = v.kind.features
    text = p.one_of(
        ".flatten(1)",
        f".reshape(-1, {h * c})",
        ".flatten(-2)",
        f".reshape({p.size(v.kind.space)}, {h * c})",
        f".contiguous().view(-1, {h * c})",
        ".flatten(start_dim=1)",
    )
    p.let(v.name + text, Kind(v.kind.space, (h * c,)), v.bound, distinct=v.distinct)


@idiom(0.7)
def exchange_axes(p: Program) -> None:
    v = p.pick_rows(2)
    h, c = v.kind.features
    text = p.one_of(
        ".transpose(1, 2)", ".permute(0, 2, 1)", ".mT", ".transpose(-1, -2)", ".movedim(1, 2)", ".swapaxes(1, 2)"
    )
    p.let(v.name + text, Kind(v.kind.space, (c, h)), v.bound, distinct=v.distinct)


@idiom(0.8)
def reduce_features(p: Program) -> None:
    v = p.pick_rows()
    if not v.kind.features:
        raise Impossible
    dim = p.rng.randrange(len(v.kind.features))
    kept = p.chance(0.3)
    features = tuple(1 if i == dim else f for i, f in enumerate(v.kind.features) if kept or i != dim)
    place = p.rng.choice((dim + 1, dim - len(v.kind.features)))
    how = p.rng.choice(("sum", "mean", "sum", "mean", "amax", "amin", "prod", "logsumexp"))
    if how in ("amax", "amin") and not v.distinct:
        how = "sum"
    if how in ("prod", "logsumexp"):
        v = p.tame(v)
    end = ", keepdim=True)" if kept else ")"
    bound = (
        v.bound * (v.kind.features[dim] if how == "sum" else 1) if how != "prod" else v.bound ** v.kind.features[dim]
    )
    text = (
        f"torch.{how}({v.name}, {place}{end}"
        if p.chance(0.3) and how in ("sum", "mean")
        else f"{v.name}.{how}(dim={place}{end}"
    )
    p.let(text, Kind(v.kind.space, features), bound, distinct=v.distinct)


@idiom(1)
def columns(p: Program) -> None:
    v = p.pick_rows()
    if not v.kind.features or v.kind.features[-1] < 2:
        raise Impossible
    width = v.kind.features[-1]
    k = p.rng.randrange(1, width)
    colons = ", ".join(":" for _ in v.kind.features)
    text, left = p.rng.choice(
        (
            (f"{v.name}[{colons}, :{k}]", k),
            (f"{v.name}[{colons}, {k}:]", width - k),
            (f"{v.name}[..., -{k}:]", k),
            (f"{v.name}[..., ::2]", (width + 1) // 2),
            (f"{v.name}.narrow(-1, {width - k}, {k})", k),
            (f"{v.name}[..., {k}]", 0),
            (f"{v.name}.select(-1, 0)", 0),
            (f"torch.split({v.name}, [{k}, {width - k}], dim=-1)[1]", width - k),
            (f"{v.name}.flip(-1)", width),
            (f"{v.name}.roll({k}, -1)", width),
        )
    )
    p.let(text, Kind(v.kind.space, (*v.kind.features[:-1], *((left,) if left else ()))), v.bound, distinct=v.distinct)


@idiom(0.8)
def halves(p: Program) -> None:
    """Gates: one half of the features decides about the other."""
    v = p.pick_rows()
    if not v.kind.features or v.kind.features[-1] % 2:
        raise Impossible
    half = v.kind.features[-1] // 2
    text = p.one_of(
        f"{v.name}.chunk(2, dim=-1)",
        f"{v.name}.split({half}, dim=-1)",
        f"torch.tensor_split({v.name}, 2, dim=-1)",
        f"{v.name}[..., :{half}], {v.name}[..., {half}:]",
        f"torch.split({v.name}, [{half}, {half}], dim=-1)",
    )
    a, b = p.new_name("part"), p.new_name("part")
    p.body.append(Statement(f"{a}, {b} = {text}", {a: None, b: None}))
    kind = Kind(v.kind.space, (*v.kind.features[:-1], half))
    p.let(
        p.one_of(f"{a} * torch.sigmoid({b})", f"torch.tanh({a}) * {b}", f"{a} + {b} * 0.5", f"{a} - {b}"),
        kind,
        v.bound * 1.5,
    )


@idiom(0.6)
def one_more_axis(p: Program) -> None:
    v = p.pick_rows(1)
    c = v.kind.features[0]
    text, features = p.rng.choice(
        (
            (".unsqueeze(1)", (1, c)),
            ("[:, None]", (1, c)),
            (".unsqueeze(-1)", (c, 1)),
            (".unsqueeze(1).expand(-1, 2, -1)", (2, c)),
            (".unsqueeze(1).repeat(1, 2, 1)", (2, c)),
            (f"[:, None, :].expand({p.size(v.kind.space)}, 2, {c})", (2, c)),
            (".unsqueeze(-1).expand(-1, -1, 2)", (c, 2)),
        )
    )
    p.let(v.name + text, Kind(v.kind.space, features), v.bound, distinct=v.distinct and 2 not in features)


@idiom(0.5)
def one_axis_less(p: Program) -> None:
    v = p.pick(where=lambda v: v.kind.space != "" and 1 in v.kind.features)
    place = v.kind.features.index(1)
    features = tuple(f for i, f in enumerate(v.kind.features) if i != place)
    p.let(
        p.one_of(
            f"{v.name}.squeeze({place + 1})",
            f"{v.name}.squeeze({place - len(v.kind.features)})",
            f"{v.name}.select({place + 1}, 0)",
        ),
        Kind(v.kind.space, features),
        v.bound,
        distinct=v.distinct,
    )


@idiom(0.5)
def product_of_features(p: Program) -> None:
    """All pairs of two lists of features of an element."""
    a = p.pick_rows(1)
    b = p.pick(a.kind.space, 1, where=lambda v: v.kind.features[0] <= 3)
    f, g = a.kind.features[0], b.kind.features[0]
    text, features = p.rng.choice(
        (
            (f"{a.name}.unsqueeze(-1) * {b.name}.unsqueeze(1)", (f, g)),
            (f'torch.einsum("ni,nj->nij", {a.name}, {b.name})', (f, g)),
            (f"({a.name}.unsqueeze(2) @ {b.name}.unsqueeze(1)).flatten(1)", (f * g,)),
            (f"torch.bmm({a.name}.unsqueeze(-1), {b.name}.unsqueeze(1))", (f, g)),
        )
    )
    p.let(text, Kind(a.kind.space, features), a.bound * b.bound)


@idiom(0.5)
def columns_first(p: Program) -> None:
    """As users do who keep features in rows: transposed, multiplied, and back."""
    v = p.pick_rows(1)
    width = p.width()
    w = p.weight(width, v.kind.features[0])
    text = p.one_of(
        f"({w} @ {v.name}.t()).t()",
        f"torch.mm({w}, {v.name}.T).T",
        f"({v.name}.t().unsqueeze(0) * {w}.unsqueeze(-1)).sum(1).t()",
    )
    p.let(text, Kind(v.kind.space, (width,)), v.bound * 2)
