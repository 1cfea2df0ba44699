# Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
# See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The structures of include/gnnc-c/gnnc.h for ctypes. Whoever changes that header changes this file."""

from __future__ import annotations

import ctypes
from ctypes import (
    POINTER,
    Structure,
    c_char,
    c_char_p,
    c_int32,
    c_int64,
    c_size_t,
    c_uint8,
    c_uint16,
    c_uint32,
    c_uint64,
    c_void_p,
)

ABI_VERSION = 9

OK, COLLECTIVE_ERROR = 0, 7
INDEX_EACH, INDEX_ROWS, INDEX_ON_DEVICE = 0, 1, 16
CPU, CUDA = 1, 2  # DLPack's device types


def _function(result: type | None, *arguments: type) -> type:
    return ctypes.CFUNCTYPE(result, *arguments)


class ErrorRecord(Structure):
    _fields_ = [("status", c_int32), ("message", c_char * 508)]


class Tensor(Structure):
    _fields_ = [
        ("data", c_void_p),
        ("device_type", c_int32),
        ("device_id", c_int32),
        ("ndim", c_int32),
        ("dtype_code", c_uint8),
        ("dtype_bits", c_uint8),
        ("dtype_lanes", c_uint16),
        ("shape", POINTER(c_int64)),
        ("strides", POINTER(c_int64)),
        ("byte_offset", c_uint64),
    ]


class DeviceAllocator(Structure):
    _fields_ = [
        ("allocate", _function(c_void_p, c_size_t, c_void_p, c_void_p)),
        ("release", _function(None, c_void_p, c_size_t, c_void_p, c_void_p)),
        ("user", c_void_p),
    ]


class Options(Structure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("threads", c_int32),
        ("allocator", c_void_p),
        ("device_type", c_int32),
        ("device_id", c_int32),
        ("plan_only", c_int32),
        ("reserved", c_int32),
        ("device_allocator", POINTER(DeviceAllocator)),
        ("parallel", c_void_p),
    ]


class Extent(Structure):
    _fields_ = [("space", c_char_p), ("extent", c_int64)]


class Index(Structure):
    _fields_ = [("map", c_char_p), ("data", c_void_p), ("length", c_int64), ("bits", c_int32), ("format", c_int32)]


class GraphDesc(Structure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("num_extents", c_int32),
        ("extents", POINTER(Extent)),
        ("num_indices", c_int32),
        ("indices", POINTER(Index)),
        ("num_capacities", c_int32),
        ("capacities", POINTER(Extent)),
        ("tuning", c_char_p),
        ("stream", c_void_p),
    ]


class CallDesc(Structure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("num_inputs", c_int32),
        ("program", c_char_p),
        ("inputs", POINTER(c_char_p)),
        ("outputs", POINTER(c_char_p)),
        ("num_outputs", c_int32),
        ("num_later", c_int32),
        ("later", POINTER(c_char_p)),
    ]


_STATUS, _ERROR = c_int32, POINTER(ErrorRecord)
_COUNTS = POINTER(c_int64)


class Collectives(Structure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("rank", c_int32),
        ("size", c_int32),
        ("device_type", c_int32),
        ("user", c_void_p),
        (
            "exchange",
            _function(_STATUS, c_void_p, c_void_p, _COUNTS, c_void_p, _COUNTS, c_int64, c_void_p, _ERROR),
        ),
        ("gather", _function(_STATUS, c_void_p, c_void_p, c_void_p, c_int64, c_void_p, _ERROR)),
        ("gather_host", _function(_STATUS, c_void_p, c_void_p, c_void_p, c_int64, _ERROR)),
    ]


class RowCounts(Structure):
    _fields_ = [("space", c_char_p), ("counts", _COUNTS)]


class PartDesc(Structure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("num_counts", c_int32),
        ("counts", POINTER(RowCounts)),
        ("collectives", POINTER(Collectives)),
    ]


class Api(Structure):
    _fields_ = [
        ("abi_version", c_uint32),
        ("struct_size", c_uint32),
        ("describe", _function(c_void_p, POINTER(c_size_t))),
        ("open", _function(_STATUS, POINTER(Options), POINTER(c_void_p), _ERROR)),
        ("close", _function(None, c_void_p)),
        ("prepare", _function(_STATUS, c_void_p, POINTER(GraphDesc), POINTER(c_void_p), _ERROR)),
        ("free_graph", _function(None, c_void_p)),
        ("extent", _function(c_int64, c_void_p, c_char_p)),
        ("graph_bytes", _function(c_size_t, c_void_p)),
        ("workspace_size", _function(_STATUS, c_void_p, c_char_p, POINTER(c_size_t), _ERROR)),
        ("run", c_void_p),
        ("allocate", c_void_p),
        ("release", c_void_p),
        ("copy", c_void_p),
        ("synchronize", _function(_STATUS, c_void_p, c_void_p, _ERROR)),
        ("streams", c_void_p * 2),
        ("recordings", c_void_p * 4),
        ("update", _function(_STATUS, c_void_p, c_void_p, POINTER(GraphDesc), _ERROR)),
        ("describe_graph", _function(_STATUS, c_void_p, c_void_p, c_size_t, POINTER(c_size_t), _ERROR)),
        ("embedded", _function(_STATUS, c_char_p, POINTER(Tensor), _ERROR)),
        (
            "prepare_part",
            _function(_STATUS, c_void_p, POINTER(GraphDesc), POINTER(PartDesc), POINTER(c_void_p), _ERROR),
        ),
        ("make_call", _function(_STATUS, c_void_p, POINTER(CallDesc), POINTER(c_void_p), POINTER(c_size_t), _ERROR)),
        # Without argument types: callers pass ctypes objects that they made once, which saves the conversions.
        ("run_call", ctypes.CFUNCTYPE(_STATUS)),
        ("free_call", _function(None, c_void_p)),
    ]
