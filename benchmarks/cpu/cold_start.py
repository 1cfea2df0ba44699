"""The first result of a model in a program of its own, written in C (first_result.c)."""

from __future__ import annotations

import json
import os
import statistics
import struct
import subprocess
import time
from pathlib import Path

import numpy as np

from harness.places import ROOT

EXTENT, EACH, ROWS, INPUT, OUTPUT = range(5)
RECORD = struct.Struct("<56sii5q")


def write_bundle(
    path: Path,
    extents: dict[str, int],
    maps: dict[str, np.ndarray],
    rows: tuple[str, ...],
    inputs: dict[str, np.ndarray],
    outputs: dict[str, np.ndarray],
) -> None:
    """Everything a run needs in one file that C maps: the number of records, the records, the data."""
    arrays = [(ROWS if name in rows else EACH, name, array) for name, array in maps.items()]
    arrays += [(INPUT, name, array) for name, array in inputs.items()]
    arrays += [(OUTPUT, name, array) for name, array in outputs.items()]
    records = [RECORD.pack(name.encode(), EXTENT, 0, 0, extent, 0, 0, 0) for name, extent in extents.items()]
    at = (8 + RECORD.size * (len(extents) + len(arrays)) + 63) // 64 * 64
    data = b""
    begin = at
    for kind, name, array in arrays:
        shape = (*array.shape, 0, 0, 0)[:3]
        records.append(RECORD.pack(name.encode(), kind, 8 * array.itemsize, array.ndim, *shape, at))
        if kind != OUTPUT:
            data += array.tobytes() + bytes(-array.nbytes % 64)
            at = begin + len(data)
    head = struct.pack("<q", len(records)) + b"".join(records)
    path.write_bytes(head + bytes(begin - len(head)) + data)


def build(out: Path) -> Path:
    """The C program."""
    program = out / "first_result"
    include = ROOT / "include"
    command = [
        os.environ.get("CC", "cc"),
        "-O2",
        f"-I{include}",
        str(Path(__file__).parent / "first_result.c"),
        "-ldl",
        "-o",
        str(program),
    ]
    subprocess.run(command, check=True)
    return program


def measure(program: Path, model: Path, bundle: Path, threads: int, repeat: int = 21) -> dict[str, float]:
    """Medians over processes, and the least time from start to result."""
    found = []
    for _ in range(repeat):
        command = [str(program), str(model), str(bundle), str(threads), str(time.monotonic_ns())]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        found.append(json.loads(done.stdout))
    result = {key: statistics.median(one[key] for one in found) for key in found[0]}
    return result | {"least_since_start_ms": min(one["since_start_ms"] for one in found)}
