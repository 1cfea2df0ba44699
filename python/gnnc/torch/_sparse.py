# Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
# See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Arguments that are matrices of torch.sparse, such as an adjacency matrix: compiled code is given a list of edges and the
value of each. In the module a `Matrix` stands for them, whose products are sums over edges."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import Tensor, nn

from .._errors import Error


def is_matrix(value: Any) -> bool:
    """Whether it is given to compiled code as a list of edges. Of one that has a gradient the values are not."""
    return (
        isinstance(value, Tensor)
        and value.layout in (torch.sparse_coo, torch.sparse_csr)
        and value.dim() == 2
        and (value.layout is torch.sparse_csr or value.sparse_dim() == 2)
        and not value.requires_grad
    )


def tensors_of(value: Tensor) -> list[Tensor]:
    """The places of its entries, [2, entries], and their values. Entries with the same place are summed up."""
    if value.layout is torch.sparse_csr:
        value = value.to_sparse_coo()
    return [value._indices(), value._values()]


@functools.lru_cache(256)
def _as_long_as(size: int, device: torch.device) -> Tensor:
    """Stands for a size. The same for the same size, so that a graph is known again; all of it is one byte."""
    with torch.inference_mode(False):
        return torch.empty(1, dtype=torch.bool, device=device).expand(size)


def sizes_of(value: Tensor) -> list[Tensor]:
    """Tensors as long as a matrix has rows and columns; of a square one that is one tensor."""
    return [_as_long_as(size, value.device) for size in dict.fromkeys(value.shape)]


def _standing_for_matrix(value: Tensor) -> Matrix:
    return Matrix(*tensors_of(value), *sizes_of(value))


class _Unsupported(Error, AttributeError):
    """What a sparse matrix has, and the one that stands for it has not."""

    def __init__(self, what: str) -> None:
        super().__init__(
            f"'{what}' of a sparse matrix is not supported: gnnc multiplies sparse matrices with dense ones from the left"
        )


class Matrix:
    """What a module can do with a sparse matrix. `rows`, `columns`: tensors as long as it has such; None: it is square."""

    is_sparse, requires_grad, layout = True, False, torch.sparse_coo

    def __init__(self, places: Tensor, numbers: Tensor, rows: Tensor, columns: Tensor | None = None) -> None:
        self._places, self._numbers = places, numbers
        self._rows, self._columns = rows, rows if columns is None else columns
        self.dtype, self.device = numbers.dtype, numbers.device

    def __matmul__(self, x: Tensor) -> Tensor:
        rows, columns = self._places
        if x.size(0) != self._columns.size(0):
            raise RuntimeError(f"a sparse matrix of {self._columns.size(0)} columns is multiplied with {x.size(0)} rows")
        numbers = self._numbers[:, None] if x.dim() == 2 else self._numbers
        return x.new_zeros(self._rows.size(0), *x.shape[1:]).index_add(0, rows, numbers * x[columns])

    mm = matmul = mv = spmm = __matmul__

    def _with(self, numbers: Tensor) -> Matrix:
        return Matrix(self._places, numbers, self._rows, self._columns)

    def __mul__(self, factor: Any) -> Matrix:
        return self._with(self._numbers * factor)

    __rmul__ = __mul__

    def __truediv__(self, divisor: Any) -> Matrix:
        return self._with(self._numbers / divisor)

    def t(self) -> Matrix:
        return Matrix(self._places.flip(0), self._numbers, self._columns, self._rows)

    def transpose(self, first: int, second: int) -> Matrix:
        return self.t() if first % 2 != second % 2 else self

    T = property(t)
    mT = T

    def coalesce(self) -> Matrix:
        return self

    detach = to_sparse = to_sparse_coo = contiguous = coalesce

    def to(self, *args: Any, **kwargs: Any) -> Matrix:
        return self._with(self._numbers.to(*args, **kwargs))

    def float(self) -> Matrix:
        return self.to(torch.float32)

    def indices(self) -> Tensor:
        return self._places

    def values(self) -> Tensor:
        return self._numbers

    _indices, _values = indices, values

    def dim(self) -> int:
        return 2

    @classmethod
    def __torch_function__(cls, function: Callable[..., Any], types: Any, args: Any = (), kwargs: Any = None) -> Any:
        name, kwargs = function.__name__, kwargs or {}
        if name in ("mul", "div") and isinstance(args[0], Matrix) and not isinstance(args[1], Matrix):
            return args[0] * args[1] if name == "mul" else args[0] / args[1]
        if name in ("mm", "matmul", "spmm", "_sparse_mm", "mv", "__matmul__") and isinstance(args[0], Matrix):
            return args[0] @ args[1]
        if name in ("addmm", "_sparse_addmm", "sparse_addmm") and isinstance(args[1], Matrix):
            return kwargs.get("beta", 1) * args[0] + kwargs.get("alpha", 1) * (args[1] @ args[2])
        if name in ("t", "transpose"):
            return getattr(args[0], name)(*args[1:])
        raise _Unsupported(f"torch.{name}")

    def __getattr__(self, name: str) -> Any:
        raise _Unsupported(name)


def _standing_for(value: Any) -> Any:
    """A matrix, or a list or tuple that has some; None for others."""
    if is_matrix(value):
        return _standing_for_matrix(value)
    if type(value) in (list, tuple) and any(map(is_matrix, value)):
        return type(value)(_standing_for(each) if is_matrix(each) else each for each in value)
    return None


@contextlib.contextmanager
def in_place_of(model: nn.Module) -> Iterator[None]:
    """A module whose own sparse matrices are such, as long as it is traced."""
    before: list[tuple[nn.Module, dict[str, Any], str, Any]] = []
    for module in model.modules():
        for own in (module.__dict__, module._buffers):
            for name, value in list(own.items()):
                stand_in = _standing_for(value)
                if stand_in is not None:
                    before.append((module, own, name, value))
                    del own[name]
                    module.__dict__[name] = stand_in
    try:
        yield
    finally:
        for module, own, name, value in before:
            module.__dict__.pop(name, None)
            own[name] = value


def buffers_of(model: nn.Module) -> list[str]:
    """Names of buffers that are sparse matrices."""
    return [name for name, buffer in model.named_buffers(remove_duplicate=False) if is_matrix(buffer)]
