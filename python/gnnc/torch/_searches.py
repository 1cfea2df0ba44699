# Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
# See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The functions of other packages that search for points, wherever a module has imported them, as gnnc.ops has them.

torch_cluster and PyTorch Geometric call operators that torch.export does not know; the latter needs pyg-lib, and
exported modules do not.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Iterator
from types import FunctionType
from typing import Any

from torch import Tensor

from .. import ops


def _fps(
    x: Tensor | None = None,
    batch: Tensor | None = None,
    ratio: float | None = None,
    random_start: bool = True,
    batch_size: int | None = None,
    ptr: Any = None,
    src: Tensor | None = None,
) -> Tensor:
    """`src` is torch_cluster's word for the points."""
    points = src if x is None else x
    if points is None or ptr is not None or isinstance(ratio, Tensor):
        raise ValueError("fps: expected points, 'batch' instead of 'ptr', and a ratio that is a number")
    return ops.fps(points, batch, 0.5 if ratio is None else ratio, random_start, batch_size)


def _bounded(search: Callable[..., Tensor]) -> Callable[..., Tensor]:
    @functools.wraps(search)
    def bounded(*args: Any, **kwargs: Any) -> Tensor:
        if kwargs.get("max_num_neighbors", 0) is None:
            raise ValueError("max_num_neighbors: expected a number, since memory is reserved for so many neighbours")
        return search(*args, **kwargs)

    return bounded


#: By the names that the packages have for them.
_SEARCHES: dict[str, Callable[..., Tensor]] = {
    "fps": _fps,
    "knn": ops.knn,
    "knn_graph": ops.knn_graph,
    "radius": _bounded(ops.radius),
    "radius_graph": _bounded(ops.radius_graph),
}
_PACKAGES = ("torch_geometric.nn.pool", "torch_cluster")


def _own(value: Any) -> Any:
    """What a form has taken the place of, while another export is under way."""
    return getattr(value, "gnnc_original", value) if type(value) is FunctionType else value


def searches() -> Iterator[tuple[Any, str, Callable[..., Any], Callable[..., Any]]]:
    """Each module that has one of these functions, the name it has there, the function, and ours."""
    ours: dict[int, tuple[Callable[..., Any], Callable[..., Any]]] = {}
    for package in _PACKAGES:
        for name, form in _SEARCHES.items():
            original = getattr(sys.modules.get(package), name, None)
            if original is not None:
                original = _own(original)
                ours[id(original)] = (original, form)
    if not ours:
        return
    for module in list(sys.modules.values()):
        for name, value in list((getattr(module, "__dict__", None) or {}).items()):
            if id(_own(value)) in ours:
                yield module, name, *ours[id(_own(value))]
