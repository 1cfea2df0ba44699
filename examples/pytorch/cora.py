"""Cora as PyTorch Geometric has it, from the file in examples/data.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import torch
from safetensors.torch import load_file
from torch import Tensor

FILE = Path(__file__).resolve().parent.parent / "data" / "cora.safetensors"


@dataclass
class Cora:
    x: Tensor  #: [2708, 1433], rows divided by their sums
    edge_index: Tensor  #: [2, 10556]
    y: Tensor  #: [2708], classes 0 to 6
    train: Tensor  #: numbers of nodes
    val: Tensor
    test: Tensor


def load(device: str = "cpu") -> Cora:
    file = {name: tensor.to(device) for name, tensor in load_file(FILE).items()}
    rows = torch.diff(file["x_indptr"])
    owner = torch.repeat_interleave(torch.arange(len(rows), device=device), rows)
    x = torch.zeros(len(rows), 1433, device=device)
    x[owner, file["x_indices"].long()] = 1
    x /= x.sum(1, keepdim=True).clamp(min=1)
    indices = [file[name].long() for name in ("train_idx", "val_idx", "test_idx")]
    return Cora(x, file["edge_index"].long(), file["y"].long(), *indices)
