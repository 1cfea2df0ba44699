# Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
# See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Other graphs like the one that a test has: nobody says which argument is what, so sizes do.

Tensors with as many rows as the index [2, E] has columns have a row for each edge; those of all others are rows of
nodes, graphs or elements of a set. Of several numbers that are the largest, and of several self loops of a node,
gradients differ from PyTorch's (docs/PyTorch.md says how): other graphs have none.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor


def has_index(leaves: Sequence[Any]) -> bool:
    return any(_is_index(leaf) for leaf in leaves)


def another_graph(leaves: Sequence[Any]) -> list[Any]:
    """Fewer and repeated edges, in the order that they have, and more of all other rows: the last ones again."""
    edges = next((leaf.shape[1] for leaf in leaves if _is_index(leaf)), -1)
    generator = torch.Generator().manual_seed(1)
    chosen = torch.randint(0, max(edges, 1), (max(edges, 0) + 3,), generator=generator).sort().values
    return undisputed([_with_edges(leaf, edges, chosen, more=2) for leaf in leaves])


def without_edges(leaves: Sequence[Any]) -> list[Any]:
    edges = next(leaf.shape[1] for leaf in leaves if _is_index(leaf))
    return [_with_edges(leaf, edges, torch.zeros(0, dtype=torch.long), more=0) for leaf in leaves]


def without_rows(leaves: Sequence[Any]) -> list[Any]:
    return [torch.zeros_like(leaf) if _is_pointer(leaf) else leaf[:0] if _has_rows(leaf) else leaf for leaf in leaves]


def undisputed(leaves: Sequence[Any]) -> list[Any]:
    """With one self loop of a node, and all floats a little nearer to zero, each by another share."""
    generator = torch.Generator().manual_seed(2)
    index = next((leaf for leaf in leaves if _is_index(leaf)), None)
    if index is not None:
        chosen, seen = [], set()
        for i, (a, b) in enumerate(index.t().tolist()):
            if a != b or a not in seen:
                chosen.append(i)
            seen |= {a} if a == b else set()
        leaves = [_with_edges(leaf, index.shape[1], torch.tensor(chosen, dtype=torch.long), more=0) for leaf in leaves]

    def move(leaf: Any) -> Any:
        if not isinstance(leaf, Tensor) or not leaf.dtype.is_floating_point:
            return leaf
        return leaf * torch.empty(leaf.shape, dtype=leaf.dtype).uniform_(0.9, 1, generator=generator)

    return [move(leaf) for leaf in leaves]


def _is_index(leaf: Any) -> bool:
    if not isinstance(leaf, Tensor) or leaf.dtype is not torch.long:
        return False
    return leaf.dim() == 2 and leaf.shape[0] == 2 and leaf.shape[1] > 0


def _has_rows(leaf: Any) -> bool:
    return isinstance(leaf, Tensor) and leaf.dim() > 0


def _with_edges(leaf: Any, edges: int, chosen: Tensor, more: int) -> Any:
    if not _has_rows(leaf):
        return leaf
    if _is_index(leaf):
        return leaf[:, chosen] if leaf.shape[1] == edges else leaf
    if leaf.shape[0] == edges and leaf.dim() < 3:  # several signals on one graph are no edges
        return leaf[chosen]
    if _is_pointer(leaf):
        return torch.cat([leaf[:-1], leaf[-1:] + more])
    return torch.cat([leaf, *[leaf[-1:]] * more]) if leaf.shape[0] > 1 else leaf


def _is_pointer(leaf: Any) -> bool:
    """Whether it may say where the rows of each segment begin."""
    if not isinstance(leaf, Tensor):
        return False
    integers = not leaf.dtype.is_floating_point and leaf.dtype is not torch.bool and leaf.dim() == 1 and len(leaf) > 1
    return integers and int(leaf[0]) == 0 and bool((leaf.diff() >= 0).all()) and int(leaf[-1]) >= len(leaf)
