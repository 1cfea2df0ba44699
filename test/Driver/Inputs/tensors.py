# Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
# See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""tensors.py FILE JSON [LIKE]: writes tensors from nested lists by name, floats as F32 and integers as I64.

With LIKE, after all tensors of that file; the number of nodes is its own, else the length of the longest list.
"""

import array
import json
import sys

import tensorfile


def flatten(value):
    """Shape and numbers of nested lists."""
    if not isinstance(value, list):
        return [], [value]
    parts = [flatten(each) for each in value]
    return [len(value), *(parts[0][0] if parts else [])], [number for _, part in parts for number in part]


def main(path, text, like=None):
    header, data = tensorfile.split(like) if like else ({}, b"")
    for name, value in json.loads(text).items():
        shape, numbers = flatten(value)
        is_integer = all(isinstance(number, int) for number in numbers)
        data += b"\0" * (-len(data) % 8)
        begin = len(data)
        data += array.array("q" if is_integer else "f", numbers).tobytes()
        header[name] = {"dtype": "I64" if is_integer else "F32", "shape": shape, "data_offsets": [begin, len(data)]}
    if not like:
        header["__metadata__"] = {"num_nodes": str(max(each["shape"][0] for each in header.values()))}
    tensorfile.join(path, json.dumps(header), data)


main(*sys.argv[1:])
