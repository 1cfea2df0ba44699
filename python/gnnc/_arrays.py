# Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
# See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Arrays of NumPy, PyTorch and whatever speaks DLPack, as address, shape and type. PyTorch is never imported here."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from . import _abi
from ._errors import Error

#: Type names of descriptions: DLPack's type code and bits.
FLOATS = {"f32": (2, 32), "f64": (2, 64), "f16": (2, 16), "bf16": (4, 16)}
_LONG_NAMES = {"f32": "float32", "f64": "float64", "f16": "float16", "bf16": "bfloat16"}
#: What becomes floats without being asked.
_INTEGERS = {"bool", "u8", "i8", "i16", "i32", "i64", "uint16", "uint32", "uint64"}
_SHORT_NAMES = {long: short for short, long in _LONG_NAMES.items()} | {
    "int32": "i32",
    "int64": "i64",
    "bool": "bool",
    "uint8": "u8",
    "int8": "i8",
    "int16": "i16",
}

#: Names of PyTorch's types, as they are met.
_OF_TORCH: dict[Any, str] = {}
_HOST = (_abi.CPU, 0)


def long_name(dtype: str) -> str:
    """`float32` for `f32`; other names as they are."""
    return _LONG_NAMES.get(dtype, dtype)


class View:
    """One array. `owner` keeps the memory alive; `device` is DLPack's device type and the device's number."""

    __slots__ = ("owner", "pointer", "shape", "dense", "dtype", "device", "is_torch")

    def __init__(
        self,
        owner: Any,
        pointer: int,
        shape: tuple[int, ...],
        dense: bool,
        dtype: str,
        device: tuple[int, int],
        is_torch: bool,
    ) -> None:
        self.owner, self.pointer, self.shape, self.dense = owner, pointer, shape, dense
        self.dtype, self.device, self.is_torch = dtype, device, is_torch

    @property
    def key(self) -> tuple[object, ...]:
        """What says where the numbers are and how they are laid out."""
        strides = self.owner.stride() if self.is_torch else self.owner.strides
        return (self.pointer, self.shape, tuple(strides), self.dtype, self.device)


def is_tensor(value: object) -> bool:
    """Whether it is a tensor of PyTorch."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(value, torch.Tensor)


def view(value: Any, name: str) -> View:
    """The array's place in memory; nothing is copied unless `value` is a number or a list. Errors call it `name`."""
    if is_tensor(value):
        if value.layout is not sys.modules["torch"].strided:
            raise Error(f"argument '{name}': expected a dense tensor, found layout {value.layout}", 1)
        if value.is_cpu:
            device = _HOST
        elif value.is_cuda:
            device = (_abi.CUDA, value.get_device())
        else:
            raise Error(f"argument '{name}': expected a tensor on the CPU or a CUDA device, found {value.device}", 1)
        if value.is_neg() or value.is_conj():  # what is in memory is not what it says
            value = value.resolve_neg().resolve_conj()
        dtype = value.dtype
        found = _OF_TORCH.get(dtype)
        if found is None:
            long = str(dtype).rpartition(".")[2]
            found = _OF_TORCH[dtype] = _SHORT_NAMES.get(long, long)
        return View(value, value.data_ptr(), tuple(value.shape), value.is_contiguous(), found, device, True)
    if not isinstance(value, np.ndarray):
        value = from_other(value, name)
    if isinstance(value, np.ma.MaskedArray):
        raise Error(f"argument '{name}': expected an array without a mask, found a masked one: pass x.filled(…)", 1)
    dtype = _SHORT_NAMES.get(value.dtype.name, value.dtype.name)
    if value.dtype.kind not in "biufc" and dtype not in FLOATS:  # of another package
        raise Error(f"argument '{name}': expected an array of numbers, found one of {value.dtype}", 1)
    if not value.dtype.isnative:
        raise Error(f"argument '{name}': expected numbers in this machine's byte order, found {value.dtype}", 1)
    pointer = value.__array_interface__["data"][0]
    return View(value, pointer, value.shape, value.flags.c_contiguous, dtype, _HOST, False)


def from_other(value: Any, name: str) -> np.ndarray:
    """What is neither NumPy's nor PyTorch's, as an array of NumPy."""
    try:
        if hasattr(value, "__dlpack__"):
            return np.from_dlpack(value)
        array = np.asarray(value)
    except Exception as error:
        raise Error(f"argument '{name}': expected an array, found {type(value).__name__} ({error})", 1) from error
    if array.dtype.kind not in "biuf":
        raise Error(f"argument '{name}': expected an array of numbers, found {type(value).__name__}", 1)
    return array


def as_dense(given: View) -> View:
    """The same numbers, row-major: copied if they were not."""
    if given.dense:
        return given
    return view(given.owner.contiguous() if given.is_torch else given.owner.copy(order="C"), "")


def as_floats(given: View, dtype: str, name: str) -> View:
    """Numbers of type `dtype`. Booleans and integers are converted; a float of another type is an error, since what
    would be lost or copied is not small."""
    if given.dtype == dtype:
        return as_dense(given)
    if given.dtype not in _INTEGERS or (dtype == "bf16" and not given.is_torch):
        raise Error(f"argument '{name}': expected {long_name(dtype)}, found {long_name(given.dtype)}", 1)
    if given.is_torch:
        return view(given.owner.to(getattr(sys.modules["torch"], long_name(dtype))).contiguous(), name)
    return view(given.owner.astype(long_name(dtype), order="C"), name)


def empty_like(model: View | None, shape: tuple[int, ...], dtype: str) -> Any:
    """Uninitialised: of PyTorch, on the same device, if `model` is; else of NumPy."""
    if model is not None and model.is_torch:
        torch = sys.modules["torch"]
        return torch.empty(shape, dtype=getattr(torch, long_name(dtype)), device=model.owner.device)
    if dtype == "bf16":
        raise Error("NumPy has no bfloat16: pass tensors of PyTorch, or compile the model with --dtype f32", 4)
    return np.empty(shape, long_name(dtype))
