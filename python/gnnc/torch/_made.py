# Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
# See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Layers and parameters that `forward` makes. A trace would draw their numbers, and each call would again."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import nn

from .._errors import Error
from ._reads import members_of, path_of

#: What torch says of a layer that is moved, `.to(x.device)`, where it is made.
_MOVED = "Couldn't swap"


class FirstCallFills(Error):
    """What the module's first call makes or computes is kept for all others: that call is the module's own, and then there
    is something to compile."""


class Made:
    """The submodules and parameters of a module, as they are now."""

    def __init__(
        self,
        model: nn.Module,
        members: Sequence[nn.Module],
        inputs: tuple[tuple[Any, ...], dict[str, Any]] | None,
    ) -> None:
        self._model, self._members, self._inputs = model, members, inputs
        self._children = [(each._modules, set(each._modules)) for each in members]
        self._parameters = {id(each): set(each._parameters) for each in members}

    def restore(self) -> None:
        """Takes away submodules that have come since."""
        for children, names in self._children:
            for name in [name for name in children if name not in names]:
                del children[name]

    def check(
        self, written: Mapping[tuple[int, str], tuple[nn.Module, Any]], error: Exception | None = None
    ) -> None:
        """Refuses what a trace has made. `written`: attributes as it has set them; `error`: what it has raised."""
        made = [
            (member, name)
            for member, (children, names) in zip(self._members, self._children)
            for name, child in children.items()
            if name not in names and _has_numbers(child)
        ]
        for (_, name), (member, value) in written.items():
            if isinstance(value, nn.Parameter) and name not in self._parameters[id(member)]:
                made.append((member, name))
        if not made and _MOVED not in str(error):
            return
        self.restore()
        for member, name in made:
            member._parameters.pop(name, None)
        first, second = self._by_calls()
        made = made or [(self._members[number], name) for number, name, _ in first]
        if not made:
            return
        member, name = made[0]
        what = f"'{path_of(self._model, member)}' makes '{name}' in"
        if first and [id(each) for *_, each in first] == [id(each) for *_, each in second]:
            raise FirstCallFills(f"{what} its first call: call the module once before it is compiled")
        raise Error(f"{what} each call, which compiled code does not: make it in __init__")

    def _by_calls(self) -> list[list[tuple[int, str, Any]]]:
        """What a copy of the module has more after a first call, and after a second."""
        if self._inputs is None:
            return [[], []]
        found = []
        try:
            with torch.random.fork_rng():
                twin, (args, kwargs) = copy.deepcopy((self._model, self._inputs))
                members = members_of(twin)
                known = [{*each._modules, *each._parameters} for each in members]
                for _ in range(2):
                    twin(*args, **kwargs)
                    own = [(*each._modules.items(), *each._parameters.items()) for each in members]
                    found.append(
                        [
                            (number, name, value)
                            for number, values in enumerate(own)
                            for name, value in values
                            if name not in known[number] and _has_numbers(value)
                        ]
                    )
        except Exception:  # modules may refuse to be copied
            return [[], []]
        return found


def _has_numbers(value: Any) -> bool:
    if isinstance(value, nn.Module):
        return any(True for _ in (*value.parameters(), *value.buffers()))
    return value is not None
