# Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
# See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Functions of PyTorch that torch.export cannot follow, or follows for one size only, in forms that it can."""

from __future__ import annotations

import contextlib
import functools
import math
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.fx.experimental.symbolic_shapes import statically_known_true
from torch.nn import functional as F

from .. import ops
from ._alone import is_compiling
from ._searches import searches

_take_along_dim = torch.take_along_dim


def _take(input: Tensor, indices: Tensor, dim: int | None = None, **more: Any) -> Tensor:
    """take_along_dim without what PyTorch fixes all sizes by."""
    rank = input.dim()
    if dim is None or more or rank != indices.dim() or not -rank <= dim < rank:
        return _take_along_dim(input, indices, dim, **more)
    # A size of 1 is one that is compiled in: the other's is taken for it.
    sizes, dim = list(zip(input.shape, indices.shape)), dim % rank
    given = [b if d != dim and isinstance(a, int) and a == 1 else a for d, (a, b) in enumerate(sizes)]
    own = [b if d == dim else size for d, (size, (_, b)) in enumerate(zip(given, sizes))]
    return input.expand(given).gather(dim, indices.expand(own))


def _gaussian_nll(
    input: Tensor,
    target: Tensor,
    var: Tensor | float,
    full: bool = False,
    eps: float = 1e-6,
    reduction: str = "mean",
) -> Tensor:
    """gaussian_nll_loss without a branch on whether a computed variance is negative."""
    if not isinstance(var, Tensor):
        if var < 0:
            raise ValueError("var has negative entry/entries")
        var = var * torch.ones_like(input)
    elif var.dim() + 1 == input.dim() and var.shape == input.shape[:-1]:
        var = var.unsqueeze(-1)
    elif var.dim() != input.dim():
        raise ValueError("var is of incorrect size")
    if reduction not in ("none", "mean", "sum"):
        raise ValueError(reduction + " is not valid")
    # The least variance has the gradient of what it takes the place of.
    var = torch.where(var < eps, var - var.detach() + eps, var)
    loss = 0.5 * (torch.log(var) + (input - target) ** 2 / var)
    if full:
        loss = loss + 0.5 * math.log(2 * math.pi)
    return loss.mean() if reduction == "mean" else loss.sum() if reduction == "sum" else loss


_batch_norm_of_any = F.batch_norm


def _batch_norm(
    input: Tensor,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    training: bool = False,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Tensor:
    """batch_norm without branches on how many rows there are, which the module may compute: as many as graphs in a batch."""
    if not training and running_mean is not None:
        norm = torch.ops.aten._native_batch_norm_legit_no_training
        return norm(input, weight, bias, running_mean, running_var, momentum, eps)[0]  # type: ignore[no-any-return]
    if input.dim() == 2:
        torch._check(input.size(0) > 1)  # a single row is an error
    return _batch_norm_of_any(input, running_mean, running_var, weight, bias, training, momentum, eps)


_chunk_of_any = torch.chunk


def _chunk(input: Tensor, chunks: int, dim: int = 0) -> tuple[Tensor, ...]:
    """Parts of one size along an axis of any size, of which PyTorch makes a constant to know how many parts there are: the
    halves of what two tensors were joined to."""
    size = input.shape[dim]
    if isinstance(size, torch.SymInt) and chunks > 0 and statically_known_true(size % chunks == 0):
        return torch.split(input, [size // chunks] * chunks, dim)
    return _chunk_of_any(input, chunks, dim)


_einsum_of_any = torch.einsum


def _einsum(*args: Any) -> Tensor:
    """einsum with the order of products that opt_einsum finds for the example. It looks at sizes as numbers, by which all
    sizes of three operands and more would be compiled in."""
    search = torch.backends.opt_einsum
    operands = args[1] if len(args) == 2 and isinstance(args[1], (list, tuple)) else args[1:]
    is_searched = search.is_available() and search.enabled  # type: ignore[attr-defined]
    if len(operands) <= 2 or not isinstance(args[0], str) or not is_searched:
        return _einsum_of_any(*args)
    shapes = [tuple(_example_of(size) for size in operand.shape) for operand in operands]
    found = search.get_opt_einsum().contract_path(args[0], *shapes, shapes=True, optimize=search.strategy)[0]
    return torch._VF.einsum(args[0], operands, path=[place for pair in found for place in pair])  # type: ignore[no-any-return]


def _einsum_in_order(*args: Any) -> Tensor:
    """The same as products of two from left to right, where sizes that the module computes are no numbers to look at."""
    operands = args[1] if len(args) == 2 and isinstance(args[1], (list, tuple)) else args[1:]
    if len(operands) <= 2 or not isinstance(args[0], str) or "->" not in args[0] or "." in args[0]:
        return _einsum_of_any(*args)
    left, out = args[0].replace(" ", "").split("->")
    terms = left.split(",")
    product, axes = operands[0], terms[0]
    for i in range(1, len(terms)):
        later = out + "".join(terms[i + 1 :])
        kept = out if i + 1 == len(terms) else "".join(dict.fromkeys(c for c in axes + terms[i] if c in later))
        product = _einsum_of_any(f"{axes},{terms[i]}->{kept}", product, operands[i])
        axes = kept
    return product


def _example_of(size: int | torch.SymInt) -> int:
    return size if isinstance(size, int) else int(size.node.hint or 2)


_fill_diagonal_of_any = Tensor.fill_diagonal_


def _fill_diagonal(self: Tensor, fill_value: Any, wrap: bool = False) -> Tensor:
    """fill_diagonal_ of a matrix by a mask. PyTorch's looks at strides as numbers, by which its sizes are compiled in."""
    if self.dim() != 2 or wrap:
        return _fill_diagonal_of_any(self, fill_value, wrap)
    return self.masked_fill_(torch.eye(*self.shape, dtype=torch.bool, device=self.device), fill_value)


_cdist_of_any = torch.cdist


def _cdist(x1: Tensor, x2: Tensor, p: float = 2.0, compute_mode: str | None = None) -> Tensor:
    """cdist by one method, where PyTorch has another for 25 rows and fewer."""
    return _cdist_of_any(x1, x2, p, compute_mode="donot_use_mm_for_euclid_dist")


def _determinant(of_any: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """Of matrices of three rows, such as cells, by products."""

    def determinant(A: Tensor, **more: Any) -> Tensor:
        if more or A.dim() < 2 or A.shape[-2:] != (3, 3):
            return of_any(A, **more)
        a, b, c = A.unbind(-2)
        return (a * torch.linalg.cross(b, c)).sum(-1)

    return determinant


def _inverse(of_any: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """Of matrices of three rows, such as cells, by their cofactors."""

    def inverse(A: Tensor, **more: Any) -> Tensor:
        if more or A.dim() < 2 or A.shape[-2:] != (3, 3):
            return of_any(A, **more)
        a, b, c = A.unbind(-2)
        cross = torch.linalg.cross
        columns = torch.stack([cross(b, c), cross(c, a), cross(a, b)], -1)
        return columns / (a * cross(b, c)).sum(-1)[..., None, None]

    return inverse


def _triangle(of_any: Callable[..., Tensor] | None, triangle: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """triu_indices and tril_indices of any size, as the places where a matrix of truth values has them. `of_any`: PyTorch's,
    for sizes that are numbers; None where Dynamo traces, to which all sizes are."""

    def indices(row: Any, col: Any, offset: int = 0, *, dtype: torch.dtype = torch.long, **more: Any) -> Tensor:
        if of_any is not None and isinstance(row, int) and isinstance(col, int):
            return of_any(row, col, offset, dtype=dtype, **more)
        ones = torch.ones(row, col, dtype=torch.bool, device=more.get("device"))
        return triangle(ones, offset).nonzero().t().to(dtype)

    return indices


_combinations_of_any, _cartesian_of_any = torch.combinations, torch.cartesian_prod


def _combinations(input: Tensor, r: int = 2, with_replacement: bool = False) -> Tensor:
    """All pairs of a list, by the places of a triangle."""
    if r != 2 or input.dim() != 1:
        return _combinations_of_any(input, r, with_replacement)
    count = input.size(0)
    places = _triangle(None, torch.triu)(count, count, 0 if with_replacement else 1, device=input.device)
    return torch.stack([input[places[0]], input[places[1]]], 1)


def _cartesian(*tensors: Tensor) -> Tensor:
    """All pairs of two lists, by repetition."""
    if len(tensors) != 2 or any(each.dim() != 1 for each in tensors):
        return _cartesian_of_any(*tensors)
    first, second = tensors
    return torch.stack([first.repeat_interleave(second.size(0)), second.repeat(first.size(0))], 1)


_exporting = threading.local()
_lock = threading.Lock()


def _form(original: Callable[..., Any], form: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def either(*args: Any, **kwargs: Any) -> Any:  # other threads, which train meanwhile, have PyTorch's
        return (form if getattr(_exporting, "active", False) else original)(*args, **kwargs)

    return either


def _form_in_traces(original: Callable[..., Any], form: Callable[..., Any]) -> Callable[..., Any]:
    """For Dynamo, which does not know what a thread is."""

    @functools.wraps(original)
    def either(*args: Any, **kwargs: Any) -> Any:
        return form(*args, **kwargs) if is_compiling() else original(*args, **kwargs)

    return either


_TRIANGLES = (
    ("triu_indices", torch.triu_indices, torch.triu),
    ("tril_indices", torch.tril_indices, torch.tril),
)
_OF_THREE_ROWS = (
    (torch.linalg, "inv", torch.linalg.inv, _inverse),
    (torch, "inverse", torch.inverse, _inverse),
    (Tensor, "inverse", Tensor.inverse, _inverse),
    (torch.linalg, "det", torch.linalg.det, _determinant),
    (torch, "det", torch.det, _determinant),
    (Tensor, "det", Tensor.det, _determinant),
)
#: Of each, where it is, its name, PyTorch's, and ours.
_Forms = Sequence[tuple[Any, str, Callable[..., Any], Callable[..., Any]]]
_FORMS: _Forms = (
    (torch, "take_along_dim", torch.take_along_dim, _form(torch.take_along_dim, _take)),
    (Tensor, "take_along_dim", Tensor.take_along_dim, _form(Tensor.take_along_dim, _take)),
    (F, "gaussian_nll_loss", F.gaussian_nll_loss, _form(F.gaussian_nll_loss, _gaussian_nll)),
    (F, "batch_norm", F.batch_norm, _form(F.batch_norm, _batch_norm)),
    (torch, "chunk", torch.chunk, _form(torch.chunk, _chunk)),
    (torch, "einsum", torch.einsum, _form(torch.einsum, _einsum)),
    (Tensor, "chunk", Tensor.chunk, _form(Tensor.chunk, _chunk)),
    (Tensor, "fill_diagonal_", Tensor.fill_diagonal_, _form(Tensor.fill_diagonal_, _fill_diagonal)),
    (torch, "cdist", torch.cdist, _form(torch.cdist, _cdist)),
    (torch, "combinations", torch.combinations, _form(torch.combinations, _combinations)),
    (torch, "cartesian_prod", torch.cartesian_prod, _form(torch.cartesian_prod, _cartesian)),
    *((torch, name, whole, _form(whole, _triangle(whole, part))) for name, whole, part in _TRIANGLES),
    *((owner, name, whole, _form(whole, make(whole))) for owner, name, whole, make in _OF_THREE_ROWS),
)
#: Dynamo knows the others as PyTorch has them.
_FORMS_IN_TRACES: _Forms = (
    (F, "batch_norm", F.batch_norm, _form_in_traces(F.batch_norm, _batch_norm)),
    (Tensor, "fill_diagonal_", Tensor.fill_diagonal_, _form_in_traces(Tensor.fill_diagonal_, _fill_diagonal)),
    (torch, "einsum", torch.einsum, _form_in_traces(torch.einsum, _einsum_in_order)),
    (torch, "cdist", torch.cdist, _form_in_traces(torch.cdist, _cdist)),
    (torch, "combinations", torch.combinations, _form_in_traces(torch.combinations, _combinations)),
    (torch, "cartesian_prod", torch.cartesian_prod, _form_in_traces(torch.cartesian_prod, _cartesian)),
    *(
        (torch, name, whole, _form_in_traces(whole, _triangle(None, part)))
        for name, whole, part in _TRIANGLES
    ),
    *((owner, name, whole, _form_in_traces(whole, make(whole))) for owner, name, whole, make in _OF_THREE_ROWS),
)
_exports = {False: 0, True: 0}  # with Dynamo or without it


def _best(form: Callable[..., Any]) -> Callable[..., Any]:
    """PyTorch Geometric's choice of the elements with the best scores, which sorts them, as gnnc.ops has it."""

    def choose(x: Tensor, ratio: Any, batch: Tensor, min_score: float | None = None, tol: float = 1e-7) -> Any:
        if min_score is not None or ratio is None:
            return form(x, ratio, batch, min_score, tol)
        return ops.topk(x.view(-1), ratio, batch)

    return choose


def _product_by_type(form: Callable[..., Any]) -> Callable[..., Any]:
    """PyTorch Geometric's products of rows with the weights of their types. It slices the rows by where each type begins."""

    def product(self: Any, x: Tensor, type_vec: Tensor) -> Tensor:
        out = torch.einsum("ni,nio->no", x, self.weight[type_vec])
        return out if self.bias is None else out + self.bias[type_vec]

    return product


#: Of functions in other packages, which there may not be: module, name, and what makes our form of theirs.
_OF_PACKAGES = (
    ("torch_geometric.nn.pool.select.topk", "topk", _best),
    ("torch_geometric.nn.dense.linear", "HeteroLinear.forward", _product_by_type),
)
_found: dict[bool, list[tuple[Any, str, Callable[..., Any], Callable[..., Any]]]] = {False: [], True: []}


def _of_packages(strict: bool) -> _Forms:
    found = _found[strict]
    known = {owner for owner, *_ in found}
    for module, path, make in _OF_PACKAGES:
        *classes, name = path.split(".")
        owner: Any = sys.modules.get(module)
        for each in classes:
            owner = getattr(owner, each, None)
        if owner is not None and owner not in known and hasattr(owner, name):
            original = getattr(owner, name)
            original = getattr(original, "__wrapped__", original)  # where the other kind is in its place
            found.append((owner, name, original, (_form_in_traces if strict else _form)(original, make(original))))
    return found


def _of_searches(strict: bool) -> _Forms:
    forms = []
    for module, name, original, own in searches():
        form = (_form_in_traces if strict else _form)(original, own)
        form.gnnc_original = original  # type: ignore[attr-defined]
        forms.append((module, name, original, form))
    return forms


@contextlib.contextmanager
def exportable_forms(strict: bool = False) -> Iterator[None]:
    """These in the place of PyTorch's, for this thread. `strict`: where Dynamo traces."""
    before = getattr(_exporting, "active", False)
    with _lock:
        forms = (*(_FORMS_IN_TRACES if strict else _FORMS), *_of_packages(strict), *_of_searches(strict))
        _exports[strict] += 1
        for owner, name, _, form in forms:
            setattr(owner, name, form)
    _exporting.active = before if strict else True
    try:
        yield
    finally:
        _exporting.active = before
        with _lock:
            _exports[strict] -= 1
            if _exports[strict] == 0:
                for owner, name, original, _ in forms:
                    setattr(owner, name, original)
