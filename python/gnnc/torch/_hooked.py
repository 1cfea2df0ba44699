# Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
# See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Weights that pre-hooks of PyTorch's compute before each call of a layer: pruning, and the old weight and spectral norms.

Compiled code computes them from the parameters themselves. The attribute, which the next pruning or a penalty reads, is
computed again after each call, by PyTorch: that costs what the hook costs, and a result of the call would cost more.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.nn.utils.prune import BasePruningMethod
from torch.nn.utils.spectral_norm import SpectralNorm
from torch.nn.utils.weight_norm import WeightNorm

_Hook = BasePruningMethod | SpectralNorm | WeightNorm


class Hooked:
    """A weight that a hook sets."""

    def __init__(self, number: int, member: nn.Module, hook: _Hook) -> None:
        self.number, self.member, self.hook = number, member, hook
        self.name: str = hook._tensor_name if isinstance(hook, BasePruningMethod) else hook.name
        self._made: tuple[Tensor, list[tuple[int, int]]] | None = None

    def renew(self) -> None:
        """Sets it as the hook would after the buffers have changed. Without a gradient, only if something has changed."""
        if torch.is_grad_enabled():
            self._made = None
        elif self._made is not None:
            made, versions = self._made
            if vars(self.member).get(self.name) is made and versions == self._versions():
                return
        if isinstance(self.hook, SpectralNorm):  # whose iteration is a part of the call
            made = self.hook.compute_weight(self.member, do_power_iteration=False)
        elif isinstance(self.hook, WeightNorm):
            made = self.hook.compute_weight(self.member)
        else:
            made = self.hook.apply_mask(self.member)
        vars(self.member)[self.name] = made
        if not torch.is_grad_enabled() and not torch.is_inference_mode_enabled():
            self._made = made, self._versions()

    def _versions(self) -> list[tuple[int, int]]:
        own = [*self.member._parameters.values(), *self.member._buffers.values()]
        return [(id(each), -1 if each.is_inference() else each._version) for each in own if each is not None]


def hooked_weights(members: Sequence[nn.Module]) -> list[Hooked]:
    return [
        Hooked(number, member, hook)
        for number, member in enumerate(members)
        for hook in member._forward_pre_hooks.values()
        if isinstance(hook, (BasePruningMethod, SpectralNorm, WeightNorm))
    ]
