# Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
# See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Integers of Python that differ from call to call, such as how many nodes and edges each hop of a sampled batch has.

They are compiled in at first. Those that were seen with two values are sizes from then on: what is compiled is a module that
is given a tensor of such a size in the place of each, whose numbers nobody reads.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils import _pytree as pytree

from ._wrapper import Wrapper, named_as


def names_of(module: nn.Module, args: Sequence[Any], kwargs: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Of each leaf of a call's arguments: the argument's name, and its own, `nodes` and `nodes[0]`."""
    parameters = list(inspect.signature(module.forward).parameters.values())
    simple = [each.name for each in parameters if each.kind in (each.POSITIONAL_ONLY, each.POSITIONAL_OR_KEYWORD)]
    result = []
    for i, value in enumerate(args):
        name = simple[i] if i < len(simple) else f"argument {i}"
        result += [(name, name + pytree.keystr(path)) for path, _ in pytree.tree_flatten_with_path(value)[0]]
    for name, value in kwargs.items():
        result += [(name, name + pytree.keystr(path)) for path, _ in pytree.tree_flatten_with_path(value)[0]]
    return result


#: Larger integers are other numbers than sizes, such as identifiers and seeds.
_LARGEST = 2**31


def is_number(leaf: Any) -> bool:
    """Whether it can be a size."""
    return type(leaf) is int and 0 <= leaf <= _LARGEST


@functools.lru_cache(256)
def _of_size(size: int, device: torch.device) -> Tensor:
    """The same for the same size, so that a graph is known again."""
    with torch.inference_mode(False):  # all of its numbers are one in memory
        return _marked(torch.empty(1, dtype=torch.bool, device=device).expand(size))


def _marked(tensor: Tensor) -> Tensor:
    tensor._gnnc_is_size = True  # type: ignore[attr-defined]
    return tensor


def as_sizes(leaves: Sequence[Any], places: Iterable[int], *, example: bool = False) -> list[Any]:
    """`example`: to be compiled for, which would make copies of those that are not as long in memory."""
    result = list(leaves)
    device = next((leaf.device for leaf in leaves if isinstance(leaf, Tensor)), torch.device("cpu"))
    for place in places:
        if example:
            result[place] = _marked(torch.empty(leaves[place], dtype=torch.bool, device=device))
        else:
            result[place] = _of_size(leaves[place], device)
    return result


class Sized(Wrapper):
    """A module that takes sizes of tensors for some integers."""

    def __init__(self, module: nn.Module, places: frozenset[int]) -> None:
        super().__init__(module)
        self.__dict__["_places"] = places

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        leaves, tree = pytree.tree_flatten((args, kwargs))
        places = self.__dict__["_places"]
        leaves = [leaf.shape[0] if i in places else leaf for i, leaf in enumerate(leaves)]
        args, kwargs = pytree.tree_unflatten(leaves, tree)
        return self.__dict__["_gnnc_wrapped"](*args, **kwargs)


def sized(module: nn.Module, places: frozenset[int]) -> nn.Module:
    """In what the compiler says of it, it is called as the module is."""
    return named_as(module, Sized, inspect.signature(module.forward))(module, places)  # type: ignore[call-arg]
