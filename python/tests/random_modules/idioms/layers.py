# Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
# See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Products with weights, and loops over layers with parameters of their own or shared ones."""

from __future__ import annotations

from ..program import Impossible, Kind, Program, Statement, Value
from .registry import idiom
from .scatters import zeros


@idiom(2.5)
def linear(p: Program) -> None:
    v = p.pick(where=lambda v: v.kind.features != ())
    inputs, outputs = v.kind.features[-1], p.width()
    kind = Kind(v.kind.space, (*v.kind.features[:-1], outputs))
    form = p.rng.random()
    if form < 0.5:
        text = f"{p.linear(inputs, outputs)}({v.name})"
    elif form < 0.7:
        text = p.one_of(
            f"{v.name} @ {p.weight(inputs, outputs)}", f"torch.matmul({v.name}, {p.weight(inputs, outputs)})"
        )
    elif form < 0.85:
        text = f"F.linear({v.name}, {p.weight(outputs, inputs)}, {p.weight(outputs)})"
    else:
        text = f'torch.einsum("...i,io->...o", {v.name}, {p.weight(inputs, outputs)})'
    p.let(text, kind, max(v.bound, 1.0) * 2)


@idiom(1)
def perceptron(p: Program) -> None:
    v = p.pick_rows(1)
    inputs, hidden, outputs = v.kind.features[0], p.width(), p.width()
    act = p.one_of("nn.Tanh()", "nn.ReLU()", "nn.SiLU()", "nn.ELU()", "nn.Sigmoid()")
    mlp = p.member(f"nn.Sequential(nn.Linear({inputs}, {hidden}), {act}, nn.Linear({hidden}, {outputs}))", "mlp")
    p.let(f"{mlp}({v.name})", Kind(v.kind.space, (outputs,)), max(v.bound, 1.0) * 2)


@idiom(1)
def product_within_heads(p: Program) -> None:
    v = p.pick_rows(2)
    h, c = v.kind.features
    outputs = p.width()
    w = p.weight(h, c, outputs)
    text = p.one_of(
        f'torch.einsum("nhc,hco->nho", {v.name}, {w})',
        f"torch.matmul({v.name}.unsqueeze(-2), {w}).squeeze(-2)",
        f"torch.bmm({v.name}.transpose(0, 1), {w}).transpose(0, 1)",
        f"({v.name}.unsqueeze(-1) * {w}).sum(-2)",
    )
    p.let(text, Kind(v.kind.space, (h, outputs)), max(v.bound, 1.0) * 3)


@idiom(1)
def weights_of_types(p: Program) -> None:
    """A matrix for each type of edge or node, in one of the ways to write it."""
    r = p.relation(target="type")
    v = p.pick(r.source, 1)
    c, outputs = v.kind.features[0], p.rng.choice((1, 2, 3))
    w = p.weight(3, c, outputs)
    if p.chance(0.3):
        w = p.name(f'torch.einsum("tb,bio->tio", {p.weight(3, 2)}, {p.weight(2, c, outputs)})', "basis")
    text = p.one_of(
        f"torch.bmm({v.name}.unsqueeze(1), {w}[{r.name}]).squeeze(1)",
        f"({v.name}.unsqueeze(1) @ {w}[{r.name}]).squeeze(1)",
        f'torch.einsum("ei,eio->eo", {v.name}, {w}[{r.name}])',
        f"({v.name}.unsqueeze(-1) * {w}.index_select(0, {r.name})).sum(1)",
        f"sum(({r.name} == t).unsqueeze(-1) * ({v.name} @ {w}[t]) for t in range(3))",
        f"torch.stack([{v.name} @ {w}[t] for t in range(3)], dim=1).gather(1, {r.name}.view(-1, 1, 1).expand(-1, 1, {outputs})).squeeze(1)",
    )
    p.let(text, Kind(r.source, (outputs,)), max(v.bound, 1.0) * 3)


@idiom(1)
def loop_over_layers(p: Program) -> None:
    """Steps of message passing: with one layer for all steps, or one for each."""
    v = p.tame(p.pick("node", 1))
    c = v.kind.features[0]
    steps = p.rng.choice((2, 3))
    name = p.new_name()
    total = zeros(p, name, "node", (c,))
    aggregate = p.one_of(
        f"{total}.index_add(0, col, {name}[row])",
        f"torch.zeros_like({name}).index_add_(0, col, {name}[row])",
        f"torch.zeros_like({name}).scatter_add(0, col.unsqueeze(-1).expand_as({name}[row]), {name}[row])",
    )
    if p.chance(0.5):
        lin = p.linear(c, c)
        head, layer = f"for _ in range({steps}):", f"{lin}({aggregate})"
    else:
        layers = p.member(f"nn.ModuleList([nn.Linear({c}, {c}) for _ in range({steps})])", "layers")
        head, layer = f"for layer in {layers}:", f"layer({aggregate})"
    update = p.one_of(
        f"torch.tanh({layer} + {name})",
        f"{name} + F.elu({layer} * 0.2)",
        f"0.5 * {name} + torch.tanh({layer}) * 0.5",
        f"torch.relu({layer}) * 0.3 + {v.name}",
    )
    p.body.append(Statement(f"{name} = {v.name}\n{head}\n    {name} = {update}", {name: v.kind}))
    p.values.append(Value(name, v.kind, v.bound + 5, distinct="relu" not in update))


@idiom(0.7)
def propagation(p: Program) -> None:
    """The same step several times without parameters, as in APPNP and SGC; results of steps may be kept."""
    v = p.tame(p.pick("node", 1))
    name, kept = p.new_name(), p.new_name("kept")
    keep = p.chance(0.4)
    lines = [f"{name} = {v.name}"] + ([f"{kept} = [{name}]"] if keep else [])
    lines += ["for _ in range(2):", f"    {name} = torch.zeros_like({name}).index_add(0, col, {name}[row]) * 0.3"]
    lines += [f"    {name} = {name} + 0.1 * {v.name}"] if p.chance(0.6) else []
    lines += [f"    {kept}.append({name})"] if keep else []
    p.body.append(Statement("\n".join(lines), {name: v.kind, **({kept: None} if keep else {})}))
    p.values.append(Value(name, v.kind, v.bound * 2))
    if keep and p.chance(0.5):
        p.let(f"torch.cat({kept}, dim=-1)", Kind("node", (v.kind.features[0] * 3,)), v.bound * 2)
    elif keep:
        p.let(f"sum({kept})", v.kind, v.bound * 3)


@idiom(0.7)
def recurrent_update(p: Program) -> None:
    a = p.tame(p.pick("node", 1))
    b = p.tame(p.pick(kind=a.kind))
    c = a.kind.features[0]
    cell = p.member(p.one_of(f"nn.GRUCell({c}, {c})", f"nn.RNNCell({c}, {c})"), "cell")
    p.let(f"{cell}({a.name}, {b.name})", a.kind, b.bound)


@idiom(0.5)
def residual(p: Program) -> None:
    v = p.pick_rows(1)
    w = p.pick(kind=v.kind)
    p.let(
        p.one_of(
            f"{v.name} + F.relu({w.name})", f"({v.name} + {w.name}) * 0.5", f"{v.name} * {p.weight(1)} + {w.name}"
        ),
        v.kind,
        v.bound + w.bound,
        distinct=False,
    )


@idiom(0.5)
def bilinear_scores(p: Program) -> None:
    """Of pairs of nodes that edges name: decoders."""
    v = p.tame(p.pick("node", 1))
    c = v.kind.features[0]
    text = p.one_of(
        f"({v.name}[row] * {v.name}[col]).sum(-1)",
        f"({v.name}[row] @ {p.weight(c, c)} * {v.name}[col]).sum(-1)",
        f'torch.einsum("ei,ij,ej->e", {v.name}[row], {p.weight(c, c)}, {v.name}[col])',
        f"F.cosine_similarity({v.name}[row] + 2, {v.name}[col] * {v.name}[col] + 1, dim=-1)",
        f"torch.linalg.vecdot({v.name}[row], {v.name}[col])",
    )
    p.let(text, Kind("edge"), 10.0)


@idiom(0.4)
def filters_of_distances(p: Program) -> None:
    """Radial functions with learnt or fixed centres."""
    candidates = [v for v in p.values if v.kind == Kind("edge")]
    if not candidates:
        raise Impossible
    d = p.tame(p.rng.choice(candidates))
    centres = p.buffer("torch.linspace(-1, 2, 4)") if p.chance(0.6) else p.weight(4, prefix="centres")
    p.let(
        p.one_of(
            f"torch.exp(-({d.name}.unsqueeze(-1) - {centres}) ** 2)",
            f"({d.name}.view(-1, 1) - {centres}.view(1, -1)).square().mul(-0.5).exp()"
            if d.name not in p.signature
            else f"torch.exp(-0.5 * ({d.name}[:, None] - {centres}).pow(2))",
        ),
        Kind("edge", (4,)),
        1.0,
    )


@idiom(0.4)
def frozen_mask_of_features(p: Program) -> None:
    v = p.pick_rows(1)
    c = v.kind.features[0]
    mask = p.buffer(f"torch.tensor([{', '.join(str(p.chance(0.6)) for _ in range(c))}])", "keep")
    p.let(
        p.one_of(f"{v.name} * {mask}", f"torch.where({mask}, {v.name}, 0.5)", f"{v.name}.masked_fill({mask}, 0.0)"),
        v.kind,
        v.bound,
        distinct=False,
    )
