# Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
# See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Graphs that a PyTorch module makes of values: neighbours by distance, and elements with the best scores or far from
each other.

These functions run eagerly, on any device, and are what :func:`gnnc.compile` and :func:`gnnc.export` understand: the
edges they give become part of the object, which finds them at each run. Signatures are PyTorch Geometric's, and so are
the results but for ties: of points that are equally far, the one with the smaller number comes first; distances that
are not a number come last. No gradient passes through the choice. ::

    edge_index = gnnc.ops.knn_graph(pos, k=16, batch=batch)
    h = self.conv(h, edge_index)
"""

from __future__ import annotations

import torch
from torch import Tensor

__all__ = ["fps", "knn", "knn_graph", "radius", "radius_graph", "topk"]

_MOST_AT_ONCE = 1 << 24  # numbers of differences that the eager search holds at a time


def _by_group(groups: Tensor, count: int) -> Tensor:
    """[groups, most]: the elements of each group in order, and -1 behind them."""
    order = torch.argsort(groups, stable=True)
    sizes = torch.bincount(groups, minlength=count)
    most = int(sizes.max()) if groups.numel() else 0
    starts = torch.cumsum(sizes, 0) - sizes
    places = torch.arange(groups.numel(), device=groups.device) - starts[groups[order]]
    table = torch.full((count, most), -1, dtype=torch.long, device=groups.device)
    table[groups[order], places] = order
    return table


@torch.library.custom_op("gnnc::nearest", mutates_args=())
def _nearest(
    points: Tensor, queries: Tensor, k: int, point_groups: Tensor | None, query_groups: Tensor | None, others: bool
) -> Tensor:
    device = points.device
    if point_groups is None or query_groups is None:
        point_groups = torch.zeros(points.size(0), dtype=torch.long, device=device)
        query_groups = torch.zeros(queries.size(0), dtype=torch.long, device=device)
    both = torch.cat([point_groups, query_groups])
    count = int(both.max()) + 1 if both.numel() else 0
    of_points, of_queries = _by_group(point_groups, count), _by_group(query_groups, count)
    kept = min(k, of_points.size(1))
    chosen = torch.full((queries.size(0), kept), -1, dtype=torch.long, device=device)
    size = max(1, of_points.size(1) * max(points.size(1), 1))
    at_once = max(1, _MOST_AT_ONCE // size)
    for group in range(count):
        row = of_points[group]
        row = row[row >= 0]
        if not row.numel():
            continue
        own = of_queries[group]
        for part in own[own >= 0].split(at_once):
            distances = (queries[part][:, None] - points[row][None]).square().sum(-1)
            order = torch.argsort(distances, dim=1, stable=True)  # what is not a number is last
            found = row[order]
            if others:
                is_other = found != part[:, None]
                found = found.gather(1, torch.argsort(~is_other, dim=1, stable=True))[:, :-1]
            found = found[:, :kept]
            chosen[part[:, None], torch.arange(found.size(1), device=device)[None]] = found
    is_there = chosen >= 0
    owners = torch.arange(queries.size(0), device=device)[:, None].expand_as(chosen)
    return torch.stack([chosen[is_there], owners[is_there]])


@_nearest.register_fake
def _(
    points: Tensor, queries: Tensor, k: int, point_groups: Tensor | None, query_groups: Tensor | None, others: bool
) -> Tensor:
    # torch.export takes sizes of 0 and 1 for cases of their own, and would refuse to choose.
    pairs = torch.library.get_ctx().new_dynamic_size(min=2)
    return points.new_empty((2, pairs), dtype=torch.long)


@torch.library.custom_op("gnnc::within", mutates_args=())
def _within(
    points: Tensor,
    queries: Tensor,
    radius: float,
    k: int,
    point_groups: Tensor | None,
    query_groups: Tensor | None,
    others: bool,
) -> Tensor:
    device = points.device
    square = torch.tensor(radius * radius, dtype=points.dtype, device=device)
    size = max(1, points.size(0) * max(points.size(1), 1))
    found = [torch.empty((2, 0), dtype=torch.long, device=device)]
    for part in torch.arange(queries.size(0), device=device).split(max(1, _MOST_AT_ONCE // size)):
        near = (queries[part][:, None] - points[None]).square().sum(-1) < square
        if point_groups is not None and query_groups is not None:
            near &= query_groups[part][:, None] == point_groups[None]
        if others:
            near &= part[:, None] != torch.arange(points.size(0), device=device)[None]
        near &= near.cumsum(1) <= k  # those with the smallest numbers
        owners, chosen = near.nonzero(as_tuple=True)
        found.append(torch.stack([chosen, part[owners]]))
    return torch.cat(found, 1)


@_within.register_fake
def _(
    points: Tensor,
    queries: Tensor,
    radius: float,
    k: int,
    point_groups: Tensor | None,
    query_groups: Tensor | None,
    others: bool,
) -> Tensor:
    return points.new_empty((2, torch.library.get_ctx().new_dynamic_size(min=2)), dtype=torch.long)


@torch.library.custom_op("gnnc::top", mutates_args=())
def _top(scores: Tensor, k: int, ratio: float, groups: Tensor | None) -> Tensor:
    device = scores.device
    if groups is None:
        groups = torch.zeros(scores.size(0), dtype=torch.long, device=device)
    # Falling scores, of equal ones the smaller number, and what is not a number last; group by group.
    order = torch.argsort(scores.masked_fill(scores.isnan(), -torch.inf), descending=True, stable=True)
    order = order[torch.argsort(scores[order].isnan().long(), stable=True)]
    order = order[torch.argsort(groups[order], stable=True)]
    sizes = torch.bincount(groups)
    limits = sizes.clamp(max=k) if ratio == 0 else (ratio * sizes.to(scores.dtype)).ceil().long().minimum(sizes)
    of_group = groups[order]
    places = torch.arange(order.numel(), device=device) - (torch.cumsum(sizes, 0) - sizes)[of_group]
    return order[places < limits[of_group]]


@_top.register_fake
def _(scores: Tensor, k: int, ratio: float, groups: Tensor | None) -> Tensor:
    return scores.new_empty((torch.library.get_ctx().new_dynamic_size(min=2),), dtype=torch.long)


@torch.library.custom_op("gnnc::farthest", mutates_args=())
def _farthest(points: Tensor, k: int, ratio: float, groups: Tensor | None, start: Tensor | None) -> Tensor:
    device = points.device
    if groups is None:
        groups = torch.zeros(points.size(0), dtype=torch.long, device=device)
    sizes = torch.bincount(groups)
    table = _by_group(groups, sizes.numel())
    limits = sizes.clamp(max=k) if ratio == 0 else (ratio * sizes.to(points.dtype)).ceil().long().minimum(sizes)
    most = int(limits.max()) if limits.numel() else 0
    # The distance to the nearest chosen point; what is chosen has -2, and a distance that is not a number -1.
    nearest = torch.where(table >= 0, torch.inf, -2.0).to(points.dtype)
    rows, all_groups = points[table.clamp(min=0)], torch.arange(sizes.numel(), device=device)
    chosen = torch.full((sizes.numel(), most), -1, dtype=torch.long, device=device)
    for place in range(most):
        if place == 0 and start is not None:  # What is not a number is chosen where nothing else is there.
            numbers = start.nan_to_num(-torch.inf, posinf=torch.inf, neginf=torch.finfo(start.dtype).min)
            best = numbers[table.clamp(min=0)].masked_fill(table < 0, -torch.inf).argmax(1)
        else:
            best = nearest.argmax(1)
        chosen[:, place] = torch.where(place < limits, table[all_groups, best], -1)
        nearest[all_groups, best] = -2.0
        distances = (rows - rows[all_groups, best][:, None]).square().sum(-1)
        nearest = torch.where(nearest >= 0, torch.minimum(nearest, distances).nan_to_num(-1.0, torch.inf), nearest)
    return chosen[chosen >= 0]


@_farthest.register_fake
def _(points: Tensor, k: int, ratio: float, groups: Tensor | None, start: Tensor | None) -> Tensor:
    return points.new_empty((torch.library.get_ctx().new_dynamic_size(min=2),), dtype=torch.long)


def _rows(x: Tensor, name: str) -> Tensor:
    if x.dim() == 1:
        x = x.unsqueeze(1)
    if x.dim() != 2:
        raise ValueError(f"{name}: expected a tensor [points, numbers], found {list(x.shape)}")
    if not x.is_floating_point():
        raise ValueError(f"{name}: expected floating-point numbers, found {x.dtype}")
    return x


def _directions(x: Tensor) -> Tensor:
    """Of unit length, whose distances are as their angles."""
    return torch.nn.functional.normalize(x, dim=-1)


def _pairs(
    x: Tensor,
    y: Tensor,
    k: int,
    batch_x: Tensor | None,
    batch_y: Tensor | None,
    others: bool,
    cosine: bool = False,
    radius: float | None = None,
) -> Tensor:
    is_one = x is y
    if k < 1:
        raise ValueError(f"k: expected one neighbour or more, found {k}")
    x = _rows(x, "x")
    y = x if is_one else _rows(y, "y")
    if x.size(1) != y.size(1):
        raise ValueError(f"y: expected rows of {x.size(1)} numbers, as x has, found {y.size(1)}")
    if (batch_x is None) != (batch_y is None):
        raise ValueError("expected batch_x and batch_y, or neither")
    if cosine:
        x = _directions(x)
        y = x if is_one else _directions(y)
    fixed = x.detach()  # no gradient passes through the choice
    if radius is not None:
        if not radius > 0:
            raise ValueError(f"r: expected a radius above 0, found {radius}")
        return _within(fixed, fixed if is_one else y.detach(), float(radius), k, batch_x, batch_y, others)
    return _nearest(fixed, fixed if is_one else y.detach(), k, batch_x, batch_y, others)


def _directed(edges: Tensor, flow: str) -> Tensor:
    if flow not in ("source_to_target", "target_to_source"):
        raise ValueError(f"flow: expected 'source_to_target' or 'target_to_source', found '{flow}'")
    return edges if flow == "source_to_target" else edges.flip(0)


def knn(
    x: Tensor,
    y: Tensor,
    k: int,
    batch_x: Tensor | None = None,
    batch_y: Tensor | None = None,
    cosine: bool = False,
    num_workers: int = 1,
    batch_size: int | None = None,
) -> Tensor:
    """For each row of `y` [M, F] the `k` nearest of `x` [N, F]: [2, E], rows of y above those of x, the nearest first.

    `batch_x` [N] and `batch_y` [M] say where rows belong; only such of one batch are near. `num_workers` and
    `batch_size` are not needed, and taken for compatibility.
    """
    return _pairs(x, y, k, batch_x, batch_y, others=False, cosine=cosine).flip(0)


def knn_graph(
    x: Tensor,
    k: int,
    batch: Tensor | None = None,
    loop: bool = False,
    flow: str = "source_to_target",
    cosine: bool = False,
    num_workers: int = 1,
    batch_size: int | None = None,
) -> Tensor:
    """The edges [2, E] from the `k` nearest of `x` [N, F] to each of its rows, grouped by target, the nearest first.

    `batch` [N] says where rows belong. With `loop`, a row may be its own neighbour. `num_workers` and `batch_size` are
    not needed, and taken for compatibility.
    """
    return _directed(_pairs(x, x, k, batch, batch, others=not loop, cosine=cosine), flow)


def radius(
    x: Tensor,
    y: Tensor,
    r: float,
    batch_x: Tensor | None = None,
    batch_y: Tensor | None = None,
    max_num_neighbors: int = 32,
    num_workers: int = 1,
    batch_size: int | None = None,
) -> Tensor:
    """For each row of `y` [M, F] those of `x` [N, F] that are nearer than `r`: [2, E], rows of y above those of x.

    They come by rising number, and of more than `max_num_neighbors` those with the smallest numbers are taken.
    `batch_x` [N] and `batch_y` [M] say where rows belong; only such of one batch are near. `num_workers` and
    `batch_size` are not needed, and taken for compatibility.
    """
    return _pairs(x, y, max_num_neighbors, batch_x, batch_y, others=False, radius=r).flip(0)


def radius_graph(
    x: Tensor,
    r: float,
    batch: Tensor | None = None,
    loop: bool = False,
    max_num_neighbors: int = 32,
    flow: str = "source_to_target",
    num_workers: int = 1,
    batch_size: int | None = None,
) -> Tensor:
    """The edges [2, E] to each row of `x` [N, F] from those that are nearer than `r`, grouped by target.

    Sources come by rising number, and of more than `max_num_neighbors` those with the smallest numbers are taken.
    `batch` [N] says where rows belong. With `loop`, a row is its own neighbour. `num_workers` and `batch_size` are not
    needed, and taken for compatibility.
    """
    return _directed(_pairs(x, x, max_num_neighbors, batch, batch, others=not loop, radius=r), flow)


def fps(
    x: Tensor,
    batch: Tensor | None = None,
    ratio: float = 0.5,
    random_start: bool = False,
    batch_size: int | None = None,
) -> Tensor:
    """The numbers [K] of ceil(ratio * n) of the n points `x` [N, F] in each batch, far from each other.

    The first of a batch is chosen first, or with `random_start` any of it, by PyTorch's random numbers, and then again
    and again the point whose nearest chosen one is farthest away; of equally far ones that with the smaller number. No
    point is chosen twice. `batch_size` is not needed, and taken for compatibility.
    """
    if not 0 < ratio <= 1:
        raise ValueError(f"ratio: expected a part above 0 and up to 1, found {ratio}")
    points = _rows(x if x.dim() < 3 else x.flatten(1), "x").detach()
    start = torch.rand(points.shape[:1], dtype=points.dtype, device=points.device) if random_start else None
    return _farthest(points, 0, float(ratio), batch, start)


def topk(x: Tensor, ratio: float | int, batch: Tensor | None = None) -> Tensor:
    """The numbers [K] of the elements with the largest scores `x` [N] in each batch, the largest first.

    With a whole `ratio` of 1 or more, that many are taken of each batch, and else ceil(ratio * n) of its n elements.
    Of equal scores the smaller number comes first; what is not a number comes last.
    """
    if x.dim() == 2 and x.size(1) == 1:
        x = x.squeeze(1)
    if x.dim() != 1 or not x.is_floating_point():
        raise ValueError(f"x: expected floating-point scores [N], found {x.dtype} {list(x.shape)}")
    if not ratio > 0:
        raise ValueError(f"ratio: expected a part above 0, or a number of elements, found {ratio}")
    is_count = ratio >= 1
    return _top(x.detach(), int(ratio) if is_count else 0, 0.0 if is_count else float(ratio), batch)
