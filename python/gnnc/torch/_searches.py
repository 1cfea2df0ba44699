# Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
# See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The functions of other packages that search for points, wherever a module has imported them, as gnnc.ops has them.

torch_cluster and PyTorch Geometric call operators that torch.export does not know; the latter needs pyg-lib, and
exported modules do not. Layers that call its operators themselves give them pointers, which remember the batch that they
were made from.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Iterator
from types import FunctionType
from typing import Any

import torch
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


def _index2ptr(index: Tensor, size: int | None = None) -> Tensor:
    if size is not None:
        return torch._convert_indices_from_coo_to_csr(index, size, out_int32=index.dtype != torch.int64)
    pointers: Tensor = torch.ops.gnnc.pointers(index)
    pointers._gnnc_batch = index  # type: ignore[attr-defined]
    return pointers


@torch.library.custom_op("gnnc::pointers", mutates_args=())
def _pointers(index: Tensor) -> Tensor:
    groups = int(index.max()) + 1 if index.numel() else 0
    return torch._convert_indices_from_coo_to_csr(index, groups, out_int32=index.dtype != torch.int64)


@_pointers.register_fake
def _(index: Tensor) -> Tensor:
    return index.new_empty((torch.library.get_ctx().new_dynamic_size(min=1),))


def _operator_knn(
    x: Tensor, y: Tensor, ptr_x: Tensor | None, ptr_y: Tensor | None, k: int, cosine: bool = False, num_workers: int = 1
) -> Tensor:
    batches = [None if ptr is None else getattr(ptr, "_gnnc_batch", None) for ptr in (ptr_x, ptr_y)]
    if any(ptr is not None and batch is None for ptr, batch in zip((ptr_x, ptr_y), batches)):
        raise ValueError("pyg.knn: expected pointers that index2ptr makes of the batch")
    return ops.knn(x, y, k, batches[0], batches[1], cosine=cosine)


#: By the names that the packages have for them.
_SEARCHES: dict[str, Callable[..., Tensor]] = {
    "fps": _fps,
    "knn": ops.knn,
    "knn_graph": ops.knn_graph,
    "radius": _bounded(ops.radius),
    "radius_graph": _bounded(ops.radius_graph),
}
_PACKAGES = ("torch_geometric.nn.pool", "torch_cluster")
#: What is used beside them: the package, the name, and ours.
_OTHERS: tuple[tuple[str, str, Callable[..., Tensor]], ...] = (("torch_geometric.index", "index2ptr", _index2ptr),)
_OPERATORS: dict[str, Callable[..., Tensor]] = {"knn": _operator_knn}


def _own(value: Any) -> Any:
    """What a form has taken the place of, while another export is under way."""
    return getattr(value, "gnnc_original", value) if type(value) is FunctionType else value


def searches() -> Iterator[tuple[Any, str, Callable[..., Any], Callable[..., Any]]]:
    """Each module that has one of these functions, the name it has there, the function, and ours."""
    ours: dict[int, tuple[Callable[..., Any], Callable[..., Any]]] = {}
    named = [(package, name, form) for package in _PACKAGES for name, form in _SEARCHES.items()]
    for package, name, form in (*named, *_OTHERS):
        original = getattr(sys.modules.get(package), name, None)
        if original is not None:
            original = _own(original)
            ours[id(original)] = (original, form)
    for name, form in _OPERATORS.items():
        if hasattr(torch.ops.pyg, name):
            yield torch.ops.pyg, name, _own(getattr(torch.ops.pyg, name)), form
    if not ours:
        return
    for module in list(sys.modules.values()):
        for name, value in list((getattr(module, "__dict__", None) or {}).items()):
            if id(_own(value)) in ours:
                yield module, name, *ours[id(_own(value))]
