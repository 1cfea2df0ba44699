# Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
# See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Computations on integers that give the rows to gather or to scatter to: programs as users write them, and random
chains of operations. `test_index_algebra.py --stats --seeds 40` prints what becomes of each, and counts refusals."""

from __future__ import annotations

import argparse
import collections
import copy
import inspect
import random
import re
import sys
import unittest
import warnings
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

import gnnc
from gnnc import _cache
from random_modules import check
from torch_modules import TorchTest

#: Nodes and edges: the example, more, fewer edges than nodes, and hardly any. Not all are even, or multiples of three.
SIZES = ((9, 20), (14, 31), (6, 5), (3, 1))
SEEDS, CHAINS = range(4), 8
#: A view that is written to while another of the same memory is used; places from the end that only the graph has.
REFUSED = {"written_views", "places_from_the_end"}


def arguments(nodes: int, edges: int) -> tuple[Tensor, ...]:
    """Features, an edge list, each node's graph, of three, and three neighbours of each node."""
    generator = torch.Generator().manual_seed(nodes)
    x = torch.randn(nodes, 4, generator=generator, dtype=torch.float64)
    edge_index, table = (torch.randint(0, nodes, shape, generator=generator) for shape in ((2, edges), (nodes, 3)))
    return x, edge_index, torch.arange(nodes) * 3 // nodes, table


class Program(nn.Module):
    """A function of some of these arguments, by name, as a module."""

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__()
        self.function, self.names = function, list(inspect.signature(function).parameters)

    def forward(self, x: Tensor, edge_index: Tensor, batch: Tensor, table: Tensor) -> tuple[Tensor, ...]:
        given = {"x": x, "edge_index": edge_index, "batch": batch, "table": table}
        found = self.function(*[given[name] for name in self.names])
        return found if isinstance(found, tuple) else (found,)


def summed(x: Tensor, row: Tensor, col: Tensor) -> Tensor:
    """Sums of messages that depend on their places in the list, too."""
    place = torch.arange(row.size(0), dtype=x.dtype)
    return torch.zeros_like(x).index_add(0, col, x[row] * torch.cos(place).view(-1, 1))


# Programs -----------------------------------------------------------------------------------------------------------


def both_directions(x: Tensor, edge_index: Tensor) -> tuple[Tensor, Tensor]:
    n = x.size(0)
    row, col = torch.cat([edge_index, edge_index.flip(0)], dim=1)
    bipartite = torch.stack([edge_index[0], edge_index[1] + n])
    bipartite = torch.cat([bipartite, bipartite[[1, 0]]], dim=1)
    return summed(x, row, col), summed(torch.cat([x, x.sin()]), bipartite[0], bipartite[1])[n:]


def ends_as_one_list(x: Tensor, edge_index: Tensor) -> tuple[Tensor, ...]:
    flat = edge_index.view(-1)
    ends = x[flat].view(2, -1, 4)
    row, col = flat.view(2, edge_index.size(1))
    mixed = torch.stack([row, col], 1).flatten()
    return ends[0] - 2 * ends[1], summed(x, col, row), summed(x, mixed, mixed.flip(0)), x[mixed].view(-1, 2, 4).prod(1)


def neighbours_by_column(x: Tensor, table: Tensor) -> Tensor:
    n, k = table.shape
    decay = torch.tensor([[1.0], [0.5], [0.25]], dtype=x.dtype)[torch.arange(k).repeat_interleave(n)]
    return torch.zeros_like(x).index_add(0, torch.arange(n).repeat(k), x[table.t().reshape(-1)] * decay)


def neighbours_as_edges(x: Tensor, table: Tensor) -> tuple[Tensor, ...]:
    n, k = table.shape
    every = summed(x, table.reshape(-1), torch.arange(n).view(-1, 1).expand(n, k).reshape(-1))
    row, col = torch.stack([table[:, 1:].reshape(-1), table[:, 0].repeat_interleave(2)])
    return every, x[table[:, :2]].sum(1), x[table[:, [2, 0]]].prod(1), summed(x, row, col)


def paths_trees_and_rings(x: Tensor, edge_index: Tensor) -> tuple[Tensor, ...]:
    n = x.size(0)
    node, rolled = torch.arange(n), edge_index.roll(1, dims=1)
    there = torch.stack([node[:-1], node[1:]])
    path = torch.cat([there, there.flip(0)], 1)
    tree = summed(x, node[1:], (node[1:] - 1) // 2)
    ring = summed(x, torch.cat([(node + k) % n for k in (1, 2, -1)]), node.repeat(3)) + x[node.roll(-1)]
    return summed(x, path[0], path[1]), tree, ring - x[node.roll(2)], summed(x, rolled[0], edge_index.roll(1, 0)[0])


def grid_of_three_columns(x: Tensor) -> Tensor:
    n = x.size(0)
    node = torch.arange(n)
    line, column = torch.div(node, 3, rounding_mode="floor"), node % 3
    right = torch.where(column < 2, node + 1, node).clamp(max=n - 1)
    below = torch.minimum((line + 1) * 3 + column, torch.full_like(node, n - 1))
    return x[right] + 2 * x[below] + summed(x, torch.cat([right, below]), node.repeat(2))


def consecutive_edges(x: Tensor, edge_index: Tensor) -> tuple[Tensor, Tensor]:
    (row, col), ends = edge_index[:, ::2], edge_index[1]
    a, b, c, d = torch.cat([edge_index, edge_index.flip(0)], 0)[:, 1::2]
    alternate = summed(x, row, col) + summed(x, a, d) * summed(x, c, b)
    return alternate, summed(x, ends[:-1], edge_index[0][1:]) + summed(x, ends[2:], ends[:-2])


def backwards(x: Tensor, edge_index: Tensor) -> Tensor:
    order = torch.arange(edge_index.size(1)).flip(0)
    return summed(x, edge_index[0][order], edge_index[1])


def copies_with_offsets(x: Tensor, edge_index: Tensor) -> Tensor:
    edges = edge_index.repeat(1, 3) + (x.size(0) * torch.arange(3)).repeat_interleave(edge_index.size(1))
    return summed(torch.cat([x, x.sin(), x * 2]), edges[0], edges[1])


def offsets_along_an_axis(x: Tensor, edge_index: Tensor) -> tuple[Tensor, Tensor]:
    offsets = x.size(0) * torch.arange(2).view(-1, 1)
    rows = torch.cat([x, x.cos()])
    edges = (edge_index.unsqueeze(1) + offsets).reshape(2, -1)
    return rows[(edge_index[1] + offsets).flatten()], summed(rows, edges[0], edges[1])


def written_parts(x: Tensor, edge_index: Tensor) -> Tensor:
    edges = edge_index.clone()
    edges[1] = edge_index[1].flip(0)
    edges[0, 1:] = edge_index[1, :-1]
    edges[:, ::3] = edge_index[:, ::3]
    return summed(x, edges[0], edges[1])


def written_views(x: Tensor, edge_index: Tensor) -> Tensor:
    edges = edge_index.clone()
    row, col = edges
    row += 1
    col.copy_(row.flip(0) * 2)
    edges %= x.size(0)
    return summed(x, row, col) + summed(x, edges[1], edges[0])


def written_columns(x: Tensor, table: Tensor) -> Tensor:
    cells = torch.zeros(table.size(0), 4, dtype=torch.long)
    cells[:, 0] = torch.arange(table.size(0))
    cells[:, 1:] = table
    cells[1:, 3] = cells[:-1, 0]
    return x[cells.view(-1)].view(-1, 4, 4).cumsum(1).prod(1)


def two_indices(x: Tensor, edge_index: Tensor, table: Tensor) -> tuple[Tensor, Tensor]:
    row, col = edge_index
    third = table[row, torch.arange(row.size(0)) % 3]
    return summed(x, third, col), x[edge_index[col % 2, torch.arange(col.size(0))]]


def places_by_counts(x: Tensor, edge_index: Tensor, batch: Tensor) -> tuple[Tensor, ...]:
    counts = torch.bincount(batch, minlength=3)
    first = torch.cat([counts.new_zeros(1), counts.cumsum(0)])
    node, ends = torch.arange(x.size(0)), edge_index[1]
    previous = torch.where(node > first[batch], node - 1, first[1:][batch] - 1)
    degree = torch.zeros_like(node).scatter_add(0, ends, torch.ones_like(ends))
    before = degree.cumsum(0) - degree
    return x[previous], x[(first[:-1] + first[1:]) // 2], x[(before[ends] + ends) % x.size(0)]


class Shapes(nn.Module):
    """Edges in rows, a table of three axes, and a column."""

    def forward(self, x: Tensor, pairs: Tensor, cells: Tensor, column: Tensor) -> tuple[Tensor, ...]:
        row, col = pairs.unbind(1)
        across = cells.transpose(1, 2)[:, 1:].flatten()
        cycles = torch.cat([cells, cells[:, :, :1]], 2)[:, 0]
        return summed(x, col, row), summed(x, across, across.roll(1)), x[cycles].prod(1) - x[column.squeeze(1)]

    @staticmethod
    def arguments(nodes: int, edges: int) -> tuple[Tensor, ...]:
        x, edge_index, batch, table = arguments(nodes, edges)
        return x, edge_index.t().contiguous(), torch.stack([table, table.flip(0)], 1), batch[:, None]


class Template(nn.Module):
    """A molecule of three atoms in place of each node, with bonds that the module knows."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("bonds", torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]]))
        self.scale = nn.Parameter(torch.tensor([[1.0], [2.0], [3.0]], dtype=torch.float64))

    def forward(self, x: Tensor, edge_index: Tensor, batch: Tensor, table: Tensor) -> tuple[Tensor, ...]:
        atoms = (x[:, None] * self.scale).flatten(0, 1)
        bonds = (self.bonds[:, None] + 3 * torch.arange(x.size(0)).view(-1, 1)).reshape(2, -1)
        ends = torch.cat([self.bonds, self.bonds.flip(1)], 1)[0]
        return summed(atoms, bonds[0], bonds[1]), x[table[:, ends % 3]].sum(1)


def classes_and_order(x: Tensor, edge_index: Tensor, table: Tensor) -> tuple[Tensor, ...]:
    row, col = edge_index
    kinds = F.one_hot((row + 2 * col) % 4, 4).to(x.dtype)
    places = F.one_hot(torch.arange(x.size(0)) % 4, num_classes=4) * x * F.one_hot(table % 4, 4).sum(1)
    low, high = torch.where(row < col, row, col), torch.maximum(row, col)
    other = torch.where((low == high) | (low == 0), (high + 1) % x.size(0), high)
    sign = torch.where(torch.arange(row.size(0)) % 2 == 0, 1.0, -1.0).to(x.dtype)
    return kinds * x[row], places, summed(x, low, other), x[high] * sign[:, None] * (row != col).unsqueeze(1)


def windows(x: Tensor) -> tuple[Tensor, Tensor]:
    first = torch.arange(x.size(0) - 2)
    triplets = torch.stack([first, first + 1, first + 2], dim=1)
    a, b, c = x[triplets].unbind(1)
    angles = ((a - b) * (c - b)).sum(-1, keepdim=True)
    return torch.zeros_like(x).index_add(0, triplets[:, 1], angles * b), x[triplets.flip(1).reshape(-1)]


def unfolded(x: Tensor) -> Tensor:
    pairs = torch.arange(x.size(0)).unfold(0, 2, 1)
    return summed(x, pairs[:, 0], pairs[:, 1]) + summed(x, pairs.t().reshape(-1), pairs.flatten())


def gathers_of_gathers(x: Tensor, edge_index: Tensor, batch: Tensor, table: Tensor) -> tuple[Tensor, ...]:
    of_edge = batch[edge_index[0]]
    within = (of_edge == batch[edge_index[1]]).to(x.dtype)
    pooled = x.new_zeros(3, 4).index_add(0, of_edge, x[edge_index[1]] * within[:, None])
    pairs = summed(x, table[edge_index[0]].reshape(-1), edge_index[1].repeat_interleave(3))
    second = x[table[table]].sum(2).prod(1)
    return pooled[batch], x[batch[batch[edge_index]]].sum(0), second, pairs + x[table[table[:, 0]].t()[1]]


def three_axes(x: Tensor, table: Tensor) -> tuple[Tensor, Tensor]:
    cells = torch.stack([table, table.flip(1), (table + 1) % x.size(0)], 1)
    by_kind = cells.permute(1, 0, 2).reshape(3, -1)
    across = cells.transpose(0, 2).flatten()
    return summed(x, by_kind[0], by_kind[2]), summed(x, across, cells.flatten()) + x[cells[:, 2, 0]]


def parts(x: Tensor, edge_index: Tensor, table: Tensor) -> tuple[Tensor, ...]:
    first, second = torch.cat(edge_index.unbind(0)).chunk(2)
    a, b = table.split([1, 2], dim=1)
    left, right = edge_index.t().chunk(2, dim=1)
    return summed(x, second, first), x[a].squeeze(1) * x[b].sum(1), summed(x, right.squeeze(1), left.flatten())


def pairs_of_neighbours(x: Tensor, table: Tensor) -> Tensor:
    i, j = torch.meshgrid(torch.arange(3), torch.arange(3), indexing="ij")
    return summed(x, table[:, i.reshape(-1)].reshape(-1), table[:, j.flatten()].reshape(-1))


def everyone_with_everyone(x: Tensor) -> Tensor:
    n = x.size(0)
    row, col = torch.arange(n).repeat_interleave(n), torch.arange(n).repeat(n)
    return torch.zeros_like(x).index_add(0, col, (x[row] - x[col]).tanh())


def halves_and_doubles(x: Tensor, edge_index: Tensor) -> tuple[Tensor, ...]:
    n = x.size(0)
    pair = torch.arange(n) // 2
    coarse = x.new_zeros((n + 1) // 2, 4).index_add(0, pair, x)
    fine = x.new_zeros(2 * n + 1, 4).index_add(0, 2 * torch.arange(n) + 1, x)
    return coarse[pair[edge_index[0]]], fine[2 * edge_index[1] + 1], x[: n // 2] * x[torch.arange(n // 2) * 2 + 1]


def places_from_the_end(x: Tensor, edge_index: Tensor) -> tuple[Tensor, Tensor]:
    return x[-1 - torch.arange(x.size(0))] * 2, x[edge_index[0] - x.size(0)] - x[-1 - edge_index[1]]


def faces_to_edges(x: Tensor, table: Tensor) -> Tensor:
    face = table.t().contiguous()
    edges = torch.cat([face[:2], face[1:], face[::2]], dim=1)
    edges = torch.cat([edges, edges.flip([0])], dim=-1)
    return summed(x, edges[0], edges[1])


#: Every function above of such arguments.
PROGRAMS: dict[str, nn.Module] = {
    name: Program(each)
    for name, each in list(globals().items())
    if inspect.isfunction(each) and {*inspect.signature(each).parameters} <= {"x", "edge_index", "batch", "table"}
}
PROGRAMS.update(shapes=Shapes(), template=Template())


# Random chains ------------------------------------------------------------------------------------------------------

#: t: the value so far; u: it, or another of its shape; v: the new value. a, b: axes; f: one of fixed size; c: a place
#: for a new one; k: 1 to 3; s: a shift.
ANY_RANK = """
{t}.flip({a})|{t}.roll({s}, {a})|{t}.reshape(-1)|{t}.flatten()|torch.cat([{t}, {u}], {a})|{t}.transpose({a}, {b})
torch.cat([{t}, {t}.flip({a})], {b})|torch.cat([{u}, {t} + {k}], {a})|torch.stack([{t}, {u}], {c})|{t} + {k}|{t} * {k}
-{t} // 2|{t} % {k}3|n - 1 - {t}|{t} * 2 + {u}|{t} - {u}|torch.minimum({t}, {u})|torch.maximum({u}, {t} - {k})
torch.where({t} % 2 == 0, {t}, {t} + 1)|torch.where({t} > {u}, {t}, {u})|({t} > {k}).long()|{t}.clamp(min=0, max=n - 1)
batch[{t} % n]|table[{t} % n]|table[:, {k} - 1][{t} % n]|edge_index[0][{t} % e]|edge_index[:, {t} % e]|{t}.sum({f})
{t}.repeat_interleave(2, {a})|{t}.cumsum({a})|F.one_hot({t} % 3, 3)|{t}.unsqueeze({c})|table[{t} % n, {u} % 3]
{t}.narrow({f}, 0, {k})|{t}.select({f}, {k} - 1)|{t}.int().long()|{t}.unbind({f})[-1]|{t}.diff(dim={a})|{t}.tile(2)
{t}.split(1, {f})[-1]|{t}.chunk(2, {a})[0]|{t} + torch.arange({t}.size(-1))|{t}.masked_fill({u} > {k}, 0)
{t}.clone(); {v}[{k}:] = {u}[:-{k}]|{t}.clone(); {v}[0] = {v}[-1]|{t}.clone(); {v}[..., ::2] += {k}
torch.div(-{t}, {k}, rounding_mode="trunc")|torch.cat([{t}.reshape(-1), torch.arange(n)])|{t}.index_select({f}, P)
"""
OF_RANK = {
    1: """
{t}[{k}:]|{t}[:-{k}]|{t}[::{k}]|{t}[1::2]|{t}.repeat({k})|{t}.repeat(2, 1)|{t}.view(2, -1)|{t}.view(-1, 3)
{t}.view(-1, 1).expand(-1, {k})|{t}.expand(2, -1)|{t}[1:] - {t}[:-1]|{t}[:, None] + n * torch.arange({k} + 1)
({t} + n * torch.arange(2).view(-1, 1)).flatten()|{t}[torch.arange({t}.numel()).flip(0)]|{t}.unfold(0, 2, 1)
{t}[{u} % {t}.size(0)]|{t}.view(3, -1)|torch.arange({t}.size(0)) // {k}|{t} + torch.arange({t}.size(0)) // {k}
""",
    2: """
{t}.t()|{t}[{k}:]|{t}[:, {k}:]|{t}[:, ::2]|{t}[:, :-1]|{t}[[1, 0]]|{t}[:, [1, 0, 1]]|{t}[0]|{t}[-1]|{t}[:, 0]|{t}[:, -1]
{t}.repeat(1, 2)|{t}.flip(0, 1)|{t}.unsqueeze(1) + n * torch.arange({k} + 1).view(-1, 1)|{t}.t().reshape(-1)
{t}.clone(); {v}[1] = {t}[0]|{t}.clone(); {v}[:, 1:] = {t}[:, :-1]|{t}.t().contiguous().view(2, -1)|{t}[1] - {t}[0]
torch.gather({t}, 0, {u} % 2)|torch.gather({t}, 1, {u} % 2)|{t}[::2, {k}:]|{t}.t().chunk(2, 1)[0].reshape(-1)
""",
    3: """
{t}.permute(1, 2, 0)|{t}.permute(2, 0, 1)|{t}.flatten(0, 1)|{t}.flatten(1)|{t}[:, 0]|{t}[..., -1]|{t}[0]|{t}[:, 1:]
{t}.transpose(0, 2)|{t}[:, :, ::2]|{t}.reshape({t}.size(0), -1)|{t}.reshape(-1, {t}.size(2))|{t}.mT|{t}.flip(0, 2)
""",
}
STARTS = "edge_index|edge_index|batch|table|table|edge_index[0]|edge_index[1]|table[:, 1]|torch.arange(n)"
FINALS = "(x[i] * w).sum(0)|x.new_zeros(n, 4).index_add(0, i, x[i.flip(0)] * w)|x[i] * w"


class Chain:
    """Lines of Python, drawn so that they mean something at all sizes, with their values there."""

    def __init__(self, seed: int, number: int) -> None:
        self.random, self.name = random.Random(1000 * seed + number), f"Chain{number}"
        self.lines, self.values = ["n, e = x.size(0), edge_index.size(1)"], list[str]()
        self.scopes: list[dict[str, Any]] = []
        for n, e in SIZES:
            given = dict(zip(("x", "edge_index", "batch", "table"), arguments(n, e)))
            self.scopes.append({"torch": torch, "F": F, "n": n, "e": e, **given})
        self.add(STARTS)
        length = self.random.randint(3, 7)
        for _ in range(300):
            if len(self.values) <= length:
                rank = self.scopes[0][self.values[-1]].dim()
                self.add(OF_RANK[rank] if self.random.random() < 0.4 else ANY_RANK)
        weights = "w = torch.cos(torch.arange(i.size(0), dtype=x.dtype))[:, None]"
        self.lines += [f"i = {self.values[-1]}.reshape(-1) % n", weights]
        self.lines.append("return " + self.random.choice(FINALS.split("|")))

    def add(self, templates: str) -> None:
        """Adds a line, unless it fails at some size, changes nothing, or gives too much or too little."""
        choice, name = self.random.choice, f"v{len(self.values)}"
        template = choice(templates.strip().replace("\n", "|").split("|")).replace("P)", "torch.tensor([1, 0]))")
        t = self.values[-1] if self.values else ""
        shapes = [scope[t].shape for scope in self.scopes] if t else [torch.Size([1])]
        alike = [u for u in self.values if [scope[u].shape for scope in self.scopes] == shapes]
        fixed = [axis for axis, sizes in enumerate(zip(*shapes)) if len(set(sizes)) == 1]
        axes = {"a": choice(range(len(shapes[0]))), "b": choice(range(len(shapes[0]))), "f": choice(fixed or [9])}
        chosen = {**axes, "c": choice(range(len(shapes[0]) + 1)), "k": choice((1, 2, 3)), "s": choice((1, -1, 2))}
        lines = f"{{v}} = {template}".format(t=t, u=choice(alike or [t]), v=name, **chosen).split("; ")
        found: list[Tensor] = []
        for scope in self.scopes:
            local = dict(scope)
            try:
                exec("\n".join(lines), local)
            except (RuntimeError, IndexError, ValueError):
                return
            found.append(local[name])
        varying = [len(set(sizes)) > 1 for sizes in zip(*[each.shape for each in found])]
        if sum(varying) != 1 or not all(each.dim() == found[0].dim() < 4 and each.numel() < 800 for each in found):
            return
        if any(each.numel() < 2 or each.min() == each.max() or each.abs().max() > 10**9 for each in found[:3]):
            return
        if t and found[1].equal(self.scopes[1][t]):
            return
        for scope, value in zip(self.scopes, found):
            scope[name] = value
        self.values.append(name)
        self.lines += lines

    def source(self) -> str:
        """A module, whose lines messages name."""
        head = f"class {self.name}(nn.Module):\n    def forward(self, x, edge_index, batch, table):\n"
        return head + "".join(f"        {line}\n" for line in self.lines)


class Chains(nn.ModuleList):
    def forward(self, *given: Tensor) -> tuple[Tensor, ...]:
        return tuple([chain(*given) for chain in self])


# Comparison ---------------------------------------------------------------------------------------------------------


def results(run: nn.Module, given: Sequence[Tensor]) -> list[Tensor]:
    """Also gradients of features and parameters, for cotangents that differ from place to place."""
    leaves = [given[0].clone().requires_grad_(), *run.parameters()]
    found = run(leaves[0], *given[1:])
    cotangents = [torch.cos(torch.arange(each.numel(), dtype=each.dtype) + 1).view(each.shape) for each in found]
    gradients = torch.autograd.grad(found, leaves, cotangents, allow_unused=True)
    zeros = [torch.zeros_like(leaf) if g is None else g for g, leaf in zip(gradients, leaves)]
    return [*[each.detach() for each in found], *zeros]


def compiled(module: nn.Module, graphs: Sequence[tuple[Tensor, ...]]) -> str:
    fast = gnnc.compile(module, graphs[0], progress=False)
    for given, (nodes, edges) in zip(graphs, SIZES):
        for k, (mine, eager) in enumerate(zip(results(fast, given), results(module, given))):
            if mine.shape != eager.shape or not mine.allclose(eager, rtol=1e-9, atol=1e-9):
                return f"WRONG: result or gradient {k} of {nodes} nodes and {edges} edges"
        # Two: PyTorch asks whether a reshaped slice is contiguous, as it is of even sizes.
        if edges > 1 and (len(vars(fast)["_gnnc"].specializations) > 2 or vars(fast)["_gnnc"].uncompiled):
            return f"AGAIN: {nodes} nodes and {edges} edges are compiled for themselves, or run by PyTorch"
    return "OK"


def in_core(module: nn.Module, graphs: Sequence[tuple[Tensor, ...]]) -> str:
    """The program in PyTorch's core operators, which is compiled for float32, without gradients."""
    TorchTest().assertLikeEagerInCore(copy.deepcopy(module).float(), [(x.float(), *given) for x, *given in graphs[:3]])
    return "OK"


def outcome(module: nn.Module, way: Callable[[nn.Module, Sequence[tuple[Tensor, ...]]], str] = compiled) -> str:
    """OK, or what is the matter: REFUSED (with gnnc's message), WRONG numbers, AGAIN (compiled per size), or FAILS."""
    _cache.graphs.clear()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return way(module, [getattr(module, "arguments", arguments)(*size) for size in SIZES])
    except AssertionError as error:
        return f"WRONG: {error}"
    except gnnc.Error as error:
        return f"REFUSED: {error}"
    except Exception as error:
        return f"FAILS: {type(error).__name__}: {error}"


def outcomes(seed: int, place: Path) -> Iterator[tuple[str, str]]:
    """Of each chain of a seed, with its text: of all in one module, or, where that fails, of each in one of its own."""
    texts = [Chain(seed, number).source() for number in range(CHAINS)]
    source = "\n".join(["import torch\nfrom torch import nn\nfrom torch.nn import functional as F\n", *texts])
    loaded = check.load(source, place, f"random_module_index_{seed}")
    chains = [getattr(loaded, f"Chain{number}")() for number in range(CHAINS)]
    together = outcome(Chains(chains))
    alone = [together if together == "OK" else outcome(Chains([chain])) for chain in chains]
    if together != "OK" and all(each == "OK" for each in alone):
        yield source, together
    yield from zip(texts, alone)


class IndexAlgebraTest(TorchTest):
    def test_programs(self) -> None:
        for way in (compiled, in_core):
            for name, module in PROGRAMS.items():
                with self.subTest(way.__name__, program=name):
                    found = outcome(module, way)
                    self.assertEqual(found.partition(":")[0], "REFUSED" if name in REFUSED else "OK", found)

    def test_random_chains(self) -> None:
        with check.workplace() as place:
            for seed in SEEDS:
                for text, found in outcomes(seed, place):
                    with self.subTest(seed=seed):  # some have no meaning in gnnc, but none may be wrong
                        self.assertIn(found.partition(":")[0], ("OK", "REFUSED", "AGAIN"), text)


def statistics(seeds: Sequence[int]) -> bool:
    """Prints, in Markdown, what becomes of programs and chains; returns whether none is wrong."""
    counts, reasons = collections.Counter[str](), collections.defaultdict[str, list[str]](list)
    with check.workplace() as place:
        print("| program | exported | in core operators |\n| --- | --- | --- |")
        for name, module in PROGRAMS.items():
            both = [" ".join(outcome(module, way).replace("|", "or").split()) for way in (compiled, in_core)]
            counts["programs WRONG or FAILS"] += any(each.startswith(("WRONG", "FAILS")) for each in both)
            print(f"| {name} | {both[0]} | {both[1]} |", flush=True)
        for seed in seeds:
            for text, found in outcomes(seed, place):
                if found.startswith(("WRONG", "FAILS")):
                    print(f"\nSeed {seed}: {found}\n\n```python\n{text}```", flush=True)
                counts[found.partition(":")[0]] += 1
                if found != "OK":
                    reason = re.sub(r", from \S*random_module_\w+\.py:\d+: .*?: (?=[a-z'])", ": ", found)
                    reasons[check.normalised(reason)].append(f"# Seed {seed}: {found}\n{text}")
    print(f"\n{len(seeds)} seeds: " + ", ".join(f"{n} {kind}" for kind, n in counts.items()))
    for reason, texts in sorted(reasons.items(), key=lambda each: -len(each[1])):
        print(f"\n{len(texts)} × {reason}\n\n```python\n{min(texts, key=len)}```")
    return not counts["programs WRONG or FAILS"] + counts["WRONG"] + counts["FAILS"]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--stats", action="store_true", help="what becomes of each program and of random chains")
    parser.add_argument("--seeds", type=int, default=len(SEEDS), help="how many seeds of random chains")
    parser.add_argument("--first", type=int, default=0, help="the first of them")
    given, others = parser.parse_known_args()
    if given.stats:
        sys.exit(not statistics(range(given.first, given.first + given.seeds)))
    unittest.main(argv=[sys.argv[0], *others])
