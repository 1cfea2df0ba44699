# Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
# See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The functions that sources of an exported model's graph data are made of (see _sources.py).

A value is an integer or a list: an array of NumPy, or a tensor of PyTorch, which stays on its device. Numbers go with
lists of any length; lists that meet must have one length. Truth values are 0 and 1. lib/Host/GraphSource.cpp is the same
for the tools.
"""

from __future__ import annotations

import operator
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from ._arrays import is_tensor
from ._errors import EmptyListError, Error

#: No list may be longer.
MOST = 1 << 31


def _is_list(value: Any) -> bool:
    return not isinstance(value, int)


def _wide(value: Any) -> Any:
    """Lists as int64."""
    if not _is_list(value):
        return value
    return value.long() if is_tensor(value) else value.astype(np.int64, copy=False)


def _like(value: Any, numbers: Any) -> Any:
    """A list where `value` is."""
    if is_tensor(value):
        return sys.modules["torch"].as_tensor(numbers, dtype=sys.modules["torch"].int64, device=value.device)
    return np.asarray(numbers, np.int64)


def _first_list(*values: Any) -> Any:
    return next((value for value in values if _is_list(value)), None)


def _truth(value: Any) -> Any:
    return int(value) if isinstance(value, bool) else _wide(value)


def _check_lengths(name: str, *values: Any) -> None:
    lengths = {len(value) for value in values if _is_list(value)}
    if len(lengths) > 1:
        first, second = sorted(lengths)[:2]
        raise Error(f"{name}: expected lists of one length, found {first} and {second}", 2)


def _check_length(name: str, length: int) -> None:
    if not 0 <= length <= MOST:
        raise Error(f"{name}: expected a length of 0 to 2^31, found {length}", 2)


def _check_positions(name: str, at: Any, size: int) -> None:
    if _is_list(at) and len(at) == 0:
        return
    least, greatest = (int(at.min()), int(at.max())) if _is_list(at) else (at, at)
    if least < 0 or greatest >= size:
        found = least if least < 0 else greatest
        raise Error(f"{name}: expected a position from 0 to {size - 1}, found {found}", 2)


def _elementwise(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    def apply(*values: Any) -> Any:
        _check_lengths(name, *values)
        return _truth(function(*map(_wide, values)))

    return apply


def _where(condition: Any, yes: Any, no: Any) -> Any:
    like = _first_list(condition, yes, no)
    if like is None:
        return yes if condition else no
    if is_tensor(like):
        torch = sys.modules["torch"]
        return torch.where(_like(like, condition) != 0, _like(like, yes), _like(like, no))
    return np.where(_like(like, condition) != 0, yes, no)


def _divide(a: Any, b: Any) -> Any:
    """Rounded down; by 0 it is 0."""
    if not _is_list(b):
        return a * 0 if b == 0 else a // b
    return _where(b == 0, 0, a // _where(b == 0, 1, b))


def _modulo(a: Any, b: Any) -> Any:
    return a - b * _divide(a, b)


def _pick(number: Callable[[int, int], int], array: str) -> Callable[[Any, Any], Any]:
    def apply(a: Any, b: Any) -> Any:
        like = _first_list(a, b)
        if like is None:
            return number(a, b)
        library = sys.modules["torch"] if is_tensor(like) else np
        return getattr(library, array)(_like(like, a), _like(like, b))

    return apply


def size(array: Any, axis: int) -> int:
    if not 0 <= axis < len(array.shape):
        raise Error(f"expected at least {axis + 1} axes, found {len(array.shape)}", 2)
    return int(array.shape[axis])


def _arange(begin: int, end: int, step: int) -> Any:
    if step == 0:
        raise Error("arange: expected a step that is not 0", 2)
    _check_length("arange", len(range(begin, end, step)))
    return np.arange(begin, end, step, dtype=np.int64)


def _full(length: int, value: int) -> Any:
    _check_length("full", length)
    return np.full(length, value, np.int64)


def _take(values: Any, at: Any) -> Any:
    _check_positions("take", at, len(values))
    return _wide(values)[_wide(at)] if _is_list(at) else int(values[at])


def _column(array: Any, at: int) -> Any:
    if len(array.shape) != 2:
        raise Error(f"column: expected 2 axes, found {len(array.shape)}", 2)
    if not 0 <= at < array.shape[1]:
        raise Error(f"column: expected more than {at} columns, found {array.shape[1]}", 2)
    return array[:, at]


def _flat(array: Any, *sizes: int) -> Any:
    if len(array.shape) != len(sizes):
        raise Error(f"flat: expected {len(sizes)} axes, found {len(array.shape)}", 2)
    for axis, (size, found) in enumerate(zip(sizes, array.shape, strict=True)):
        if 0 <= size != found:
            raise Error(f"flat: expected axis {axis} to have size {size}, found {found}", 2)
    return array.reshape(-1)


def _nonzero(values: Any) -> Any:
    return values.nonzero().reshape(-1) if is_tensor(values) else np.nonzero(values)[0]


def _extremum(name: str) -> Callable[[Any], int]:
    def apply(values: Any) -> int:
        if len(values) == 0:
            raise EmptyListError(f"{name}: expected a list that is not empty", 2)
        return int(getattr(values, name)())

    return apply


def _any(values: Any) -> int:
    return int((values != 0).any())


def _all(values: Any) -> int:
    return int((values != 0).all())


def _scatter_sum(at: Any, values: Any, length: int) -> Any:
    _check_lengths("scatter_sum", at, values)
    _check_length("scatter_sum", length)
    _check_positions("scatter_sum", at, length)
    at = _wide(at)
    if is_tensor(at):
        torch = sys.modules["torch"]
        result = torch.zeros(length, dtype=torch.int64, device=at.device)
        return result.index_add_(0, at, _wide(values) if _is_list(values) else torch.full_like(at, values))
    result = np.zeros(length, np.int64)
    np.add.at(result, at, _wide(values))
    return result


def _put(base: Any, at: Any, values: Any) -> Any:
    """The last of several values for one place stays."""
    _check_lengths("put", at, values)
    _check_positions("put", at, len(base))
    if is_tensor(base) or is_tensor(at):
        # A device writes in no order: the last position of each place is found first.
        torch = sys.modules["torch"]
        at = _like(at if is_tensor(at) else base, at)
        base = _like(at, base)
        last = torch.full((len(base),), -1, dtype=torch.int64, device=at.device)
        last.scatter_reduce_(0, at, torch.arange(len(at), device=at.device), "amax")
        written = last.clamp(min=0)
        new = _like(at, values)[written] if _is_list(values) and len(at) else _like(at, values if len(at) else 0)
        return torch.where(last >= 0, new, base)
    result = _wide(base).copy()
    result[_wide(at)] = values
    return result


def _flip(values: Any) -> Any:
    return values.flip(0) if is_tensor(values) else np.ascontiguousarray(values[::-1])


def _slice(values: Any, begin: int, end: int, step: int) -> Any:
    if step < 1:
        raise Error(f"slice: expected a step of at least 1, found {step}", 2)
    return values[begin:end:step]


def _argsort(values: Any) -> Any:
    return values.argsort(stable=True) if is_tensor(values) else np.argsort(values, kind="stable")


def _unique(values: Any) -> Any:
    return values.unique() if is_tensor(values) else np.unique(values)


def _inverse(values: Any) -> Any:
    if is_tensor(values):
        return values.unique(return_inverse=True)[1]
    return np.unique(values, return_inverse=True)[1].reshape(-1)


def _interleave(values: Any, counts: Any) -> Any:
    if len(values) != len(counts):
        raise Error(f"interleave: expected as many counts as numbers, found {len(counts)} and {len(values)}", 2)
    if len(counts) and int(counts.min()) < 0:
        raise Error(f"interleave: expected counts of 0 or more, found {int(counts.min())}", 2)
    _check_length("interleave", int(counts.sum()))
    if is_tensor(values) or is_tensor(counts):
        like = values if is_tensor(values) else counts
        return _like(like, values).repeat_interleave(_like(like, counts))
    return np.repeat(values, counts)


def _cat(*parts: Any) -> Any:
    like = next((part for part in parts if is_tensor(part)), np.zeros(0))
    parts = tuple(_like(like, part if _is_list(part) else [part]) for part in parts)
    if is_tensor(like):
        return sys.modules["torch"].cat(parts)
    return np.concatenate(parts) if parts else np.zeros(0, np.int64)


def _diff(values: Any) -> Any:
    values = _wide(values)
    return values[1:] - values[:-1]


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "column": _column,
    "flat": _flat,
    "add": _elementwise("add", operator.add),
    "sub": _elementwise("sub", operator.sub),
    "mul": _elementwise("mul", operator.mul),
    "div": _elementwise("div", _divide),
    "mod": _elementwise("mod", _modulo),
    "minimum": _elementwise("minimum", _pick(min, "minimum")),
    "maximum": _elementwise("maximum", _pick(max, "maximum")),
    "eq": _elementwise("eq", operator.eq),
    "ne": _elementwise("ne", operator.ne),
    "lt": _elementwise("lt", operator.lt),
    "le": _elementwise("le", operator.le),
    "gt": _elementwise("gt", operator.gt),
    "ge": _elementwise("ge", operator.ge),
    "both": _elementwise("both", lambda a, b: (a != 0) & (b != 0)),
    "either": _elementwise("either", lambda a, b: (a != 0) | (b != 0)),
    "not": _elementwise("not", lambda a: a == 0),
    "neg": _elementwise("neg", operator.neg),
    "where": _elementwise("where", _where),
    "size": size,
    "length": len,
    "arange": _arange,
    "full": _full,
    "take": _take,
    "nonzero": _nonzero,
    "max": _extremum("max"),
    "min": _extremum("min"),
    "any": _any,
    "all": _all,
    "sum": lambda values: int(_wide(values).sum()),
    "scatter_sum": _scatter_sum,
    "put": _put,
    "cumsum": lambda values: _wide(values).cumsum(0),
    "diff": _diff,
    "flip": _flip,
    "slice": _slice,
    "argsort": _argsort,
    "unique": _unique,
    "inverse": _inverse,
    "interleave": _interleave,
    "cat": _cat,
}
