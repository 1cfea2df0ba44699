# Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
# See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compares one call of a module with its compiled copy: results, buffers afterwards and gradients, on the arguments of
the call and on other graphs."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import inputs
import torch
from torch import Tensor, nn
from torch.nn.parameter import is_lazy
from torch.utils import _pytree as pytree

import gnnc

#: Relative to the largest number of a tensor, and at least to 1.
TOLERANCES = {torch.float64: 1e-7, torch.float32: 2e-4}


@dataclass
class Ran:
    """What came of a call."""

    results: list[Any]
    buffers: list[tuple[str, Tensor]]
    gradients: list[tuple[str, Tensor | None]]


def compare(module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
    """The outcome, and why."""
    torch.set_num_threads(1)
    leaves, tree = pytree.tree_flatten((args, kwargs))
    reason = _inapplicable(module, leaves)
    if reason:
        return {"outcome": "not applicable", "message": reason}
    try:
        module, leaves = _prepared(module, leaves, tree)
    except Exception as error:
        return {"outcome": "not applicable", "message": f"PyTorch itself: {_first_line(error)}"}
    graphs = [("the test's", leaves), ("another graph", inputs.another_graph(leaves))]
    if inputs.has_index(leaves):
        graphs.append(("no edges", inputs.without_edges(leaves)))
    else:
        graphs.append(("no rows", inputs.without_rows(leaves)))
    return _compare(module, graphs, tree)


def _inapplicable(module: nn.Module, leaves: Sequence[Any]) -> str:
    tensors = [leaf for leaf in leaves if isinstance(leaf, Tensor)]
    if any(leaf.layout is not torch.strided for leaf in tensors):
        return "an argument is a sparse tensor"
    if any(type(leaf).__name__ == "SparseTensor" for leaf in leaves):
        return "an argument is a SparseTensor"
    has_stores = any(hasattr(leaf, "stores") for leaf in leaves)
    return "" if tensors or has_stores else "no argument is a tensor"


def _prepared(module: nn.Module, leaves: Sequence[Any], tree: Any) -> tuple[nn.Module, list[Any]]:
    """Copies in float64, if the module can be run so. Raises if it cannot be run at all."""
    narrow = copy.deepcopy(module), [_detached(leaf) for leaf in leaves]
    if any(map(is_lazy, narrow[0].parameters())):  # or each copy would draw other numbers
        args, kwargs = pytree.tree_unflatten(narrow[1], tree)
        with torch.no_grad():
            narrow[0](*args, **kwargs)
    _give_numbers(narrow[0])
    usual = _types(_run(copy.deepcopy(narrow[0]), narrow[1], tree))
    wide = copy.deepcopy(narrow[0]).double(), [_wide(leaf) for leaf in narrow[1]]
    try:
        widened = _types(_run(copy.deepcopy(wide[0]), wide[1], tree))
    except Exception:  # it makes numbers of float32 itself
        return narrow
    return wide if widened == [torch.float64 if each is torch.float32 else each for each in usual] else narrow


def _give_numbers(module: nn.Module) -> None:
    """Some layers leave parameters as memory was (`torch.empty`), which says nothing about the compiler."""
    generator = torch.Generator().manual_seed(4)
    for each in module.parameters():
        if each.is_floating_point() and not (each.detach().abs() < 1e6).all():
            each.data = torch.randn(each.shape, generator=generator).to(each.dtype)


def _types(ran: Ran) -> list[torch.dtype | None]:
    return [each.dtype if isinstance(each, Tensor) else None for each in ran.results]


def _detached(leaf: Any) -> Any:
    return leaf.detach().clone() if isinstance(leaf, Tensor) else copy.deepcopy(leaf)


def _wide(leaf: Any) -> Any:
    return leaf.double() if isinstance(leaf, Tensor) and leaf.is_floating_point() else copy.deepcopy(leaf)


def _compare(module: nn.Module, graphs: Sequence[tuple[str, list[Any]]], tree: Any) -> dict[str, Any]:
    checked, compiled = [], None
    for graph, leaves in graphs:
        before = copy.deepcopy(module)
        try:
            expected = _run(copy.deepcopy(before), leaves, tree)
        except Exception:  # nothing to compare with
            continue
        try:
            if compiled is None:
                args, kwargs = pytree.tree_unflatten(leaves, tree)
                compiled = gnnc.compile(module, args, kwargs=kwargs, progress=False)
            module.load_state_dict(before.state_dict())
            found = _run(compiled, leaves, tree)
        except gnnc.Error as error:
            return {"outcome": "refused", "message": _first_line(error), "graph": graph, "checked": checked}
        except Exception as error:
            text = f"{type(error).__name__}: {_first_line(error)}"
            return {"outcome": "crash", "message": text, "graph": graph, "checked": checked}
        module.load_state_dict(before.state_dict())
        wrong = next(_differences(found, expected), None)
        if wrong is not None and wrong.startswith("gradient"):
            wrong, known = _undisputed(compiled, module, leaves, tree), wrong
            module.load_state_dict(before.state_dict())
            if wrong is None:
                return {"outcome": "documented", "message": known, "graph": graph, "checked": checked}
        if wrong is not None:
            return {"outcome": "differs", "message": wrong, "graph": graph, "checked": checked}
        checked.append(graph)
    return {"outcome": "equal", "message": "", "checked": checked}


def _undisputed(compiled: nn.Module, module: nn.Module, leaves: list[Any], tree: Any) -> str | None:
    """What differs where no numbers are equal and no self loops repeated: of those the gradients are documented to be
    others than PyTorch's."""
    given = inputs.undisputed(leaves)
    eager = copy.deepcopy(module)
    generator = torch.Generator().manual_seed(3)
    for mine, theirs in zip(module.parameters(), eager.parameters()):
        if mine.is_floating_point():
            mine.data = theirs.data = mine.data + torch.randn(mine.shape, generator=generator, dtype=mine.dtype) / 100
    return next(_differences(_run(compiled, given, tree), _run(eager, given, tree)), None)


def _run(module: nn.Module, leaves: Sequence[Any], tree: Any) -> Ran:
    torch.manual_seed(0)
    given = [_detached(leaf) for leaf in leaves]
    for leaf in given:
        if isinstance(leaf, Tensor) and leaf.is_floating_point():
            leaf.requires_grad_()
    args, kwargs = pytree.tree_unflatten(given, tree)
    with warnings.catch_warnings(), torch.enable_grad():
        warnings.simplefilter("ignore")
        results = _results(module(*args, **kwargs))
        buffers = [(name, buffer.detach().clone()) for name, buffer in module.named_buffers()]
        wanted = [(f"argument {i}", leaf) for i, leaf in enumerate(given) if getattr(leaf, "requires_grad", False)]
        wanted += [(name, each) for name, each in module.named_parameters() if each.requires_grad]
        generator = torch.Generator().manual_seed(1)
        floats = [each for each in results if isinstance(each, Tensor) and each.is_floating_point()]
        seeds = [(each, torch.randn(each.shape, generator=generator, dtype=each.dtype)) for each in floats]
        loss = [(each, cotangent) for each, cotangent in seeds if each.requires_grad]
        gradients: Sequence[Tensor | None] = [None] * len(wanted)
        if loss and wanted:
            ends, cotangents = zip(*loss)
            gradients = torch.autograd.grad(ends, [each for _, each in wanted], cotangents, allow_unused=True)
    return Ran(results, buffers, [(name, each) for (name, _), each in zip(wanted, gradients)])


def _results(result: Any) -> list[Any]:
    leaves = [leaf.to_dict() if hasattr(leaf, "stores") else leaf for leaf in pytree.tree_leaves(result)]
    return pytree.tree_leaves(leaves)


def _differences(found: Ran, expected: Ran) -> Iterator[str]:
    if len(found.results) != len(expected.results):
        yield f"{len(found.results)} results, expected {len(expected.results)}"
    for i, (a, b) in enumerate(zip(found.results, expected.results)):
        if not isinstance(b, Tensor):
            if type(a) is not type(b):
                yield f"result {i}: {type(a).__name__}, expected {type(b).__name__}"
        elif not isinstance(a, Tensor):
            yield f"result {i}: no tensor"
        else:
            yield from _difference(f"result {i}", a, b)
    for (name, a), (_, b) in zip(found.buffers, expected.buffers):
        yield from _difference(f"buffer {name}", a, b)
    for (name, left), (_, right) in zip(found.gradients, expected.gradients):
        if left is not None or right is not None:
            a, b = [torch.zeros_like(left if right is None else right) if g is None else g for g in (left, right)]
            yield from _difference(f"gradient of {name}", a, b)


def _difference(name: str, a: Tensor, b: Tensor) -> Iterator[str]:
    if a.dtype != b.dtype or a.shape != b.shape:
        yield f"{name}: {a.dtype} {list(a.shape)}, expected {b.dtype} {list(b.shape)}"
        return
    if not b.numel():
        return
    a, b, tolerance = a.detach().double(), b.detach().double(), TOLERANCES.get(b.dtype, 1e-7)
    finite = b.isfinite()
    if not torch.equal(a.isfinite(), finite) or not torch.equal(a[~finite].nan_to_num(7), b[~finite].nan_to_num(7)):
        yield f"{name}: {int((~a.isfinite()).sum())} numbers that are not finite, expected {int((~finite).sum())}"
    elif finite.any():
        error = ((a - b)[finite].abs().max() / b[finite].abs().max().clamp(min=1)).item()
        if error > tolerance:
            yield f"{name}: error {error:.0e}"


def _first_line(error: BaseException) -> str:
    return str(error).strip().partition("\n")[0] or type(error).__name__
