# Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
# See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Normalisations: over features, over rows, within graphs."""

from __future__ import annotations

from ..program import Impossible, Kind, Program, Relation
from .registry import idiom
from .scatters import added_up, counted


@idiom(1)
def over_features(p: Program) -> None:
    # A norm of one number is a step, and one of equal numbers is as steep as its epsilon is small.
    v = p.tame(p.pick(where=lambda v: v.kind.space != "" and v.kind.features != () and v.kind.features[-1] > 1))
    width = v.kind.features[-1]
    member = p.member(
        p.one_of(f"nn.LayerNorm({width}, eps=0.1)", f"nn.LayerNorm({width}, eps=0.1, elementwise_affine=False)"), "norm"
    )
    text = p.one_of(
        f"{member}({v.name})",
        f"F.layer_norm({v.name}, ({width},), eps=0.1)",
        f"({v.name} - {v.name}.mean(-1, keepdim=True)) / ({v.name}.var(-1, unbiased=False, keepdim=True) + 0.1).sqrt()",
        f"{v.name} * torch.rsqrt({v.name}.pow(2).mean(-1, keepdim=True) + 0.1)",
        f"F.normalize({v.name}, dim=-1, eps=0.5)",
        f"{v.name} / ({v.name}.norm(dim=-1, keepdim=True) + 1)",
        f"F.rms_norm({v.name}, ({width},), eps=0.1)",
        f"F.softmax({v.name}, dim=-1)",
        f"{v.name}.log_softmax(dim=-1)",
    )
    p.let(text, v.kind, 3.0)


@idiom(0.8)
def batch_norm(p: Program) -> None:
    """With running statistics in evaluation mode: what training mode writes is for other tests."""
    v = p.pick_rows(1)
    width = v.kind.features[0]
    member = p.member(f"nn.BatchNorm1d({width}).eval()", "norm")
    p.let(f"{member}({v.name})", v.kind, v.bound * 2, distinct=v.distinct)


@idiom(0.6)
def over_rows(p: Program) -> None:
    v = p.tame(p.pick("node", 1))
    text = p.one_of(
        f"({v.name} - {v.name}.mean(0)) / ({v.name}.var(0, unbiased=False) + 0.5).sqrt()",
        f"{v.name} - {v.name}.mean(dim=0, keepdim=True)",
        f"F.batch_norm({v.name}, None, None, training=True, eps=0.5)",
        f"{v.name} / (1 + {v.name}.square().sum(0))",
        f"{v.name} / (0.5 + {v.name}.pow(2).sum(-1).mean()).sqrt()",
    )
    if "batch_norm" in text:
        p.least_nodes = max(p.least_nodes, 2)  # eager mode refuses one row
    p.let(text, v.kind, 3.0)


@idiom(0.8)
def within_graphs(p: Program) -> None:
    r = p.relation(target="graph")
    v = p.tame(p.pick(r.source, 1))
    count = p.name(f"{counted(p, r, v.name)}.clamp(min=1).unsqueeze(-1)", "count")
    mean = p.name(f"{added_up(p, v, r)} / {count}", "mean")
    centred = p.let(
        f"{v.name} - {mean}[{r.name}]" + (f" * {p.weight(v.kind.features[0])}" if p.chance(0.5) else ""),
        v.kind,
        v.bound * 2,
    )
    square = p.let(p.one_of(f"{centred.name} ** 2", f"{centred.name} * {centred.name}"), v.kind, centred.bound**2)
    variance = p.name(f"{added_up(p, square, r)} / {count}", "variance")
    p.let(f"{centred.name} / ({variance} + 0.1).sqrt()[{r.name}]", v.kind, 3.0)


@idiom(0.3)
def by_groups(p: Program) -> None:
    v = p.tame(
        p.pick(where=lambda v: v.kind.space == "node" and len(v.kind.features) == 1 and v.kind.features[0] in (4, 6))
    )
    member = p.member(f"nn.GroupNorm(2, {v.kind.features[0]}, eps=0.1)", "norm")
    p.let(f"{member}({v.name})", v.kind, 3.0)


@idiom(0.5)
def by_degree(p: Program) -> None:
    """Rows over one more than their in-degree."""
    r = p.relation("edge", "node")
    v = p.pick("node")
    degree = p.name(f"{counted(p, r, v.name)} + 1", "deg")
    p.let(f"{v.name} / {degree}{''.join('.unsqueeze(-1)' for _ in v.kind.features)}", v.kind, v.bound)


@idiom(0.4)
def by_the_sum_at_an_end(p: Program) -> None:
    """Weights of edges, so that those into a node add up to about one."""
    candidates = [v for v in p.values if v.kind == Kind("edge")]
    if not candidates:
        raise Impossible
    w = p.positive(p.rng.choice(candidates))
    r = Relation("col", "edge", "node")
    total = p.name(added_up(p, w, r), "total")
    p.let(f"{w.name} / ({total}[col] + 1e-3)", w.kind, 1.0)
