# Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
# See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What is wrong with an object file that the loader of the system would not say."""

from __future__ import annotations

import os
import platform
import struct
from pathlib import Path

from ._errors import Error

#: Names of ELF's machines, and of what Python calls them.
_MACHINES = {62: "x86-64", 183: "aarch64"}
_HERE = {"x86_64": "x86-64", "amd64": "x86-64", "arm64": "aarch64"}.get(platform.machine().lower(), platform.machine())

#: An ELF header of 64 bits, from the machine on: where the tables of segments and of sections are.
_HEADER = struct.Struct("<18xH12xQQ6xHHHH2x")
#: Where a segment begins in the file, and how long it is there.
_SEGMENT = struct.Struct("<8xQ16xQ")


def check(path: Path) -> None:
    """Of an object for another machine the loader would say that there is no such file, and it would be killed where a file
    ends before what its headers say. Raises Error."""
    try:
        with open(path, "rb") as file:
            size = os.fstat(file.fileno()).st_size
            head = file.read(_HEADER.size)
            if head[:6] != b"\x7fELF\x02\x01":
                return  # the loader says that it is no object

            def check_end(end: int, what: str) -> None:
                if end > size:
                    raise Error(
                        f"'{path}' is damaged: the file ends after {size} bytes, and its {what} after {end}: "
                        "compile the model again"
                    )

            check_end(_HEADER.size, "header")
            machine, segments, sections, segment_size, num_segments, section_size, num_sections = _HEADER.unpack(head)
            named = _MACHINES.get(machine, "another architecture")
            if named != _HERE:
                raise Error(f"'{path}' is for {named}, and this machine is {_HERE}")
            check_end(segments + segment_size * num_segments, "list of segments")
            for number in range(num_segments if segment_size >= _SEGMENT.size else 0):
                file.seek(segments + number * segment_size)
                offset, length = _SEGMENT.unpack(file.read(_SEGMENT.size))
                check_end(offset + length, f"segment {number}")
            check_end(sections + section_size * num_sections, "list of sections")
    except OSError:
        return  # the loader says why
