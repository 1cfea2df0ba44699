# Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
# See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Functions of single numbers, and of numbers that are in the same place."""

from __future__ import annotations

from ..program import Impossible, Program, Statement
from .registry import idiom


@idiom(1.5)
def smooth_function(p: Program) -> None:
    v = p.tame(p.pick())
    text, bound = p.rng.choice(
        (
            ("torch.tanh({})", 1),
            ("{}.sigmoid()", 1),
            ("F.silu({})", v.bound),
            ("F.gelu({})", v.bound),
            ("F.softplus({})", v.bound + 1),
            ("{}.sin()", 1),
            ("{} * torch.sigmoid({})", v.bound),
            ("{}.square()", v.bound**2),
            ("F.logsigmoid({})", v.bound + 1),
            ("torch.exp({} * 0.5)", 5),
            ("1 / (1 + {} ** 2)", 1),
            ("torch.expm1({} * 0.3)", 2),
            ("{}.atan()", 2),
        )
    )
    p.let(text.replace("{}", v.name), v.kind, bound)


@idiom(1.5)
def function_with_a_kink(p: Program) -> None:
    v = p.pick()
    text = p.one_of(
        "{}.relu()",
        "F.relu({})",
        "F.leaky_relu({}, 0.2)",
        "F.leaky_relu({})",
        "F.elu({})",
        "{}.abs()",
        "{}.clamp(min=0)",
        "{}.clamp(-1.5, 1.5)",
        "torch.clamp({}, max=1)",
        "F.relu6({})",
        "F.hardtanh({})",
        "F.selu({})",
    )
    p.let(text.replace("{}", v.name), v.kind, 2 * v.bound, distinct=False)


@idiom(0.8)
def function_of_positive_numbers(p: Program) -> None:
    v = p.positive(p.pick())
    text = p.one_of(
        "{}.log()",
        "torch.sqrt({})",
        "{}.rsqrt()",
        "1 / {}",
        "torch.log1p({})",
        "{} ** 0.5",
        "{}.pow(-0.5)",
        "{}.reciprocal()",
    )
    p.let(text.replace("{}", v.name), v.kind, max(v.bound**0.5, 10.0))


@idiom(2)
def two_operands(p: Program) -> None:
    a = p.pick()
    b = p.pick(kind=a.kind)
    text = p.one_of(
        "{} + {}",
        "{} - {}",
        "{} * {}",
        "torch.add({}, {}, alpha=0.5)",
        "0.3 * {} + 0.7 * {}",
        "torch.lerp({}, {}, 0.25)",
    )
    bound = a.bound * b.bound if "*" in text and "0." not in text else a.bound + b.bound
    is_zero = a.name == b.name and text == "{} - {}"  # and then a norm's biases are the largest of several
    p.let(text.format(a.name, b.name), a.kind, bound, distinct=a.distinct and b.distinct and not is_zero)


@idiom(0.6)
def quotient(p: Program) -> None:
    a = p.pick()
    b = p.positive(p.pick(kind=a.kind))
    p.let(f"{a.name} / {b.name}", a.kind, a.bound * 10)


@idiom(0.5)
def larger_of_two(p: Program) -> None:
    a = p.pick(where=lambda v: v.distinct)
    b = p.pick(kind=a.kind, where=lambda v: v.distinct and v.name != a.name)
    # Both may be 0 where nothing was added up, or equal at self loops: PyTorch halves the gradient of equal numbers.
    shifted = p.let(f"{b.name} * 0.9 + 0.05", b.kind, b.bound)
    p.let(
        p.one_of("torch.maximum({}, {})", "torch.minimum({}, {})").format(a.name, shifted.name),
        a.kind,
        a.bound + b.bound,
    )


@idiom(1)
def times_a_column(p: Program) -> None:
    """A number for each element, or for each head of it, times its features."""
    a = p.pick_rows()
    if not a.kind.features:
        raise Impossible
    b = p.pick(a.kind.space, len(a.kind.features) - 1, where=lambda v: v.kind.features == a.kind.features[:-1])
    column = p.one_of(f"{b.name}.unsqueeze(-1)", f"{b.name}[..., None]")
    if not b.kind.features:
        column = p.one_of(column, f"{b.name}.view(-1, *[1] * {len(a.kind.features)})", f"{b.name}[:, None]")
    p.let(p.one_of(f"{a.name} * {column}", f"{column} * {a.name}"), a.kind, a.bound * b.bound)


@idiom(1.2)
def scale_and_shift(p: Program) -> None:
    v = p.pick()
    if v.kind.features:
        scale, shift = p.weight(v.kind.features[-1]), p.weight(v.kind.features[-1])
    else:
        scale, shift = p.weight(1), p.weight(1)
        if v.kind.space == "":
            raise Impossible
    p.let(
        p.one_of(
            f"{v.name} * {scale} + {shift}",
            f"torch.addcmul({shift}, {v.name}, {scale})",
            f"{v.name} * (1 + {scale})",
            f"{v.name} + {shift}",
        ),
        v.kind,
        v.bound * 3,
    )


@idiom(0.8)
def choice_by_a_condition(p: Program) -> None:
    v = p.pick()
    text = p.one_of(
        "torch.where({0} > 0.1, {0}, {0} * 0.5)",
        "torch.where({0} > 0, {0}, torch.zeros_like({0}))",
        "{0}.masked_fill({0} < -0.5, -1.0)",
        "{0} * ({0} > 0).to({0}.dtype)",
        "torch.where({0}.abs() < 1, {0} ** 2 * 0.5, {0}.abs() - 0.5)",
    )
    p.let(text.format(v.name), v.kind, v.bound + 1, distinct=False)


@idiom(0.6)
def masked_rows(p: Program) -> None:
    """A mask of nodes or of edges over rows of features."""
    if not p.masks:
        raise Impossible
    mask = p.rng.choice(p.masks)
    v = p.pick(mask.space)
    m = mask.name + "".join(".unsqueeze(-1)" for _ in v.kind.features)
    text = p.one_of(
        f"torch.where({m}, {v.name}, 0.0)",
        f"{v.name} * {m}",
        f"{v.name}.masked_fill(~{m}, 0.0)",
        f"{v.name} * {m}.to({v.name}.dtype)",
        f"torch.where({m}, {v.name}, -{v.name})",
    )
    p.let(text, v.kind, v.bound, distinct=False)


@idiom(0.3)
def stopped_gradient(p: Program) -> None:
    v = p.pick()
    text = p.one_of("{0}.detach() * 0.5 + {0}", "{0}.detach()", "{0} * torch.sigmoid({0}).detach()")
    p.let(text.format(v.name), v.kind, v.bound * 1.5, distinct=v.distinct)


@idiom(0.4)
def computed_without_gradients(p: Program) -> None:
    v = p.tame(p.pick())
    name = p.new_name("t")
    p.body.append(Statement(f"with torch.no_grad():\n    {name} = torch.sigmoid({v.name})", {name: None}))
    p.let(f"{v.name} * {name}", v.kind, v.bound)
