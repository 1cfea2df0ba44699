# Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
# See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Files of the safetensors format as arrays of NumPy. (BF16, which NumPy lacks, becomes float32.)"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping

import numpy as np

from ._errors import Error

_TYPES = {
    "F64": "f8", "F32": "f4", "F16": "f2", "I64": "i8", "I32": "i4", "I16": "i2", "I8": "i1", "U8": "u1", "BOOL": "?",
}  # fmt: skip
_NAMES = {np.dtype(code): name for name, code in _TYPES.items()}


def load(path: str | os.PathLike[str]) -> dict[str, np.ndarray]:
    """All tensors of a file; read-only views of it."""
    return load_with_metadata(path)[0]


def load_with_metadata(path: str | os.PathLike[str]) -> tuple[dict[str, np.ndarray], dict[str, str]]:
    try:
        content = np.memmap(path, np.uint8, "r")
    except (OSError, ValueError) as error:
        raise Error(f"'{path}': {error}") from error
    length = int.from_bytes(content[:8].tobytes(), "little")
    if len(content) < 8 or length > len(content) - 8:
        raise Error(f"'{path}' is not a safetensors file")
    try:
        header = json.loads(content[8 : 8 + length].tobytes())
        metadata = header.pop("__metadata__", None) or {}
        return {name: _tensor(content[8 + length :], entry) for name, entry in header.items()}, metadata
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise Error(f"'{path}' is not a safetensors file: {error}") from error


def _tensor(data: np.ndarray, entry: dict) -> np.ndarray:
    begin, end = entry["data_offsets"]
    shape = tuple(entry["shape"])
    if not 0 <= begin <= end <= len(data):
        raise ValueError(f"data from {begin} to {end} of {len(data)} bytes")
    raw = data[begin:end]
    if entry["dtype"] == "BF16":
        return (raw.copy().view("u2").astype("u4") << 16).view("f4").reshape(shape)
    code = _TYPES[entry["dtype"]]
    if begin % np.dtype(code).itemsize:
        raw = raw.copy()
    return raw.view(code).reshape(shape)


def save(
    path: str | os.PathLike[str], tensors: Mapping[str, np.ndarray], metadata: Mapping[str, str] | None = None
) -> None:
    """Writes arrays under their names."""
    header: dict[str, object] = {"__metadata__": dict(metadata)} if metadata else {}
    offset = 0
    dense = {name: np.ascontiguousarray(array).reshape(np.shape(array)) for name, array in tensors.items()}
    for name, array in dense.items():
        size = math.prod(array.shape) * array.itemsize
        header[name] = {
            "dtype": _NAMES[array.dtype],
            "shape": list(array.shape),
            "data_offsets": [offset, offset + size],
        }
        offset += size
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(len(text).to_bytes(8, "little") + text)
        for array in dense.values():
            file.write(array.tobytes())
