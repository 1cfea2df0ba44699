# Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
# See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Draws a program from a seed: its arguments, then idioms, then which values are results."""

from __future__ import annotations

import random

from .idioms import IDIOMS
from .program import Impossible, Kind, Mask, Program, Relation, Statement, Value

TYPES = 3  #: of nodes and of edges


def draw(seed: int) -> Program:
    program = Program(seed, random.Random(seed))
    _arguments(program)
    steps = program.rng.choice((3, 4, 5, 6, 7, 8, 10))
    functions = [idiom.function for idiom in IDIOMS]
    weights = [idiom.weight for idiom in IDIOMS]
    tries = 0
    while steps > 0 and tries < 60:
        tries += 1
        function = program.rng.choices(functions, weights)[0]
        lists = (program.members, program.body, program.values, program.relations, program.masks)
        before, sizes = [len(each) for each in lists], dict(program.sizes)
        try:
            function(program)
        except Impossible:
            for each, length in zip(lists, before, strict=True):
                del each[length:]
            program.sizes = sizes
            continue
        program.idioms.append(function.__name__)
        steps -= 1
    _results(program)
    return program.live()


def _argument(program: Program, name: str, text: str, passed: str | None = None, is_leaf: bool = False) -> None:
    program.arguments.append(Statement(f"{name} = {text}", {name: None}))
    program.signature.append(name)
    program.passed.append(passed or name)
    if is_leaf:
        program.leaves.append(name)


def _floats(program: Program, name: str, space: str, features: tuple[int, ...]) -> None:
    """An argument of floats, which may be a view of a leaf, and may require no gradient."""
    rows = {"node": "n", "edge": str(program.fixed_edges or "e"), "graph": "b"}[space]
    form = program.rng.random()
    shape = ", ".join(map(str, (rows, *features)))
    passed, distinct = name, True
    if form < 0.07 and len(features) == 1:
        shape, passed = f"{rows}, {features[0] + 2}", f"{name}[:, 1:{features[0] + 1}]"
    elif form < 0.14 and len(features) == 1:
        shape, passed = f"{features[0]}, {rows}", f"{name}.t()"
    elif form < 0.18 and len(features) == 1:
        shape, passed, distinct = f"1, {features[0]}", f"{name}.expand({rows}, {features[0]})", False
    elif form < 0.21:
        shape, passed = f"2, {shape}", f"{name}[1]"
    elif form < 0.24:
        shape, passed = f"{rows} * 2" + "".join(f", {f}" for f in features), f"{name}[::2]"
    is_leaf = program.chance(0.8)
    text = f"torch.randn({shape}, generator=g, dtype=dtype)" + (".requires_grad_()" if is_leaf else "")
    _argument(program, name, text, passed, is_leaf)
    program.values.append(Value(name, Kind(space, features), 3.0, None, distinct))


def _arguments(program: Program) -> None:
    _floats(program, "x", "node", (program.width(),))
    program.sizes["node"] = ["x.size(0)", "x.shape[0]"]
    if program.chance(0.5):
        program.body.append(Statement("n = x.size(0)", {"n": None}))
        program.sizes["node"] = ["n", "n", "x.size(0)"]
    _edges(program)
    if program.chance(0.4):
        _floats(program, "edge_attr", "edge", (program.width(),))
    if program.chance(0.3):
        _floats(program, "edge_weight", "edge", ())
    if program.chance(0.2):
        _floats(program, "pos", "node", (3,))
    if program.chance(0.5):
        _batch(program)
    if program.chance(0.25):
        _argument(program, "node_type", f"torch.randint(0, {TYPES}, (n,), generator=g)")
        program.relations.append(Relation("node_type", "node", "type"))
    if program.chance(0.3) and program.fixed_edges is None:
        _argument(program, "edge_type", f"torch.randint(0, {TYPES}, (e,), generator=g)")
        program.relations.append(Relation("edge_type", "edge", "type"))
    if program.chance(0.25):
        _argument(program, "mask", "torch.rand(n, generator=g) < 0.6")
        program.masks.append(Mask("mask", "node"))


def _edges(program: Program) -> None:
    sizes = ["edge_index.size(1)", "edge_index.shape[1]", "row.size(0)", "row.shape[0]", "row.numel()"]
    form = program.rng.random()
    if form < 0.1:
        # A graph that is part of the module, of the first nodes.
        program.least_nodes = 4
        program.fixed_edges, edges = 9, [[program.rng.randrange(4) for _ in range(9)] for _ in range(2)]
        program.members.append(
            Statement(f'self.register_buffer("edge_index", torch.tensor({edges}))', {"edge_index": None})
        )
        index = "self.edge_index"
        sizes = [text.replace("edge_index", "self.edge_index") for text in sizes]
        program.body.append(Statement("row, col = self.edge_index", {"row": None, "col": None}))
    elif form < 0.25:
        _argument(program, "row", "torch.randint(0, n, (e,), generator=g)")
        _argument(program, "col", "torch.randint(0, n, (e,), generator=g)")
        sizes = sizes[2:]
    else:
        form = "torch.randint(0, n, (2, e), generator=g)"
        passed = program.rng.choice((None, None, None, "edge_index.t().contiguous().t()"))
        _argument(program, "edge_index", form, passed)
        index = "edge_index"
        text = program.one_of(
            f"row, col = {index}",
            f"row, col = {index}[0], {index}[1]",
            f"col, row = {index}",
            f"row, col = {index}.unbind(0)",
            f"row, col = {index}.select(0, 0), {index}.select(0, 1)",
            f"row, col = {index}.flip(0)",
        )
        program.body.append(Statement(text, {"row": None, "col": None}))
    program.relations += [Relation("row", "edge", "node"), Relation("col", "edge", "node")]
    program.sizes["edge"] = sizes


def _batch(program: Program) -> None:
    """Which graph a node belongs to, and how many graphs there are."""
    text = "torch.randint(0, b, (n,), generator=g).sort().values"
    _argument(program, "batch", text)
    form = program.rng.random()
    if form < 0.1:  # which only Dynamo exports, in three times the time
        program.body.append(Statement("graphs = int(batch.max()) + 1", {"graphs": None}))
        program.sizes["graph"] = ["graphs"]
    elif form < 0.6:
        _floats(program, "u", "graph", (program.width(),))
        program.sizes["graph"] = ["u.size(0)", "u.shape[0]"]
    elif form < 0.85:
        program.arguments.append(
            Statement("ptr = F.pad(torch.bincount(batch, minlength=b).cumsum(0), (1, 0))", {"ptr": None})
        )
        program.signature.append("ptr")
        program.passed.append("ptr")
        program.sizes["graph"] = ["(ptr.size(0) - 1)", "(ptr.numel() - 1)"]
    else:
        program.signature.append("graphs")
        program.passed.append("b")
        program.sizes["graph"] = ["graphs"]
    program.relations.append(Relation("batch", "node", "graph", is_sorted=True))


def _results(program: Program) -> None:
    """The last value and some others; the loss may leave results out, whose derivatives may then be infinite."""
    own = [value for value in program.values if value.name not in program.signature]
    if not own:
        x = program.values[0]
        own = [program.let(f"torch.tanh({x.name})", x.kind, 1.0)]
    read = {name for statement in program.body for name in statement.reads()}
    ends = [value for value in own[:-1] if value.name not in read or program.chance(0.1)]
    chosen = [own[-1], *program.rng.sample(ends, min(len(ends), program.rng.choice((0, 1, 1, 2, 3))))]
    program.results = [value.name for value in chosen]
    program.used = [i for i in range(len(chosen)) if i == 0 or program.chance(0.8)]
    if program.chance(0.1):
        value = program.rng.choice(own)
        root = program.name(f"({value.name} - {value.name}.detach()).abs().sqrt()", "steep")
        program.results.append(root)
    if program.chance(0.1):
        program.results.append(program.rng.choice([value.name for value in program.values]))
    program.results = list(dict.fromkeys(program.results))
