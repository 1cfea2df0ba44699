"""compare_runs.py A B TOLERANCE: exits with 1, and says where, if two runs differ by more than that.

A and B are logs of training, of which losses and metrics count, or files of tensors.
"""

import array
import json
import sys

from tensorfile import split

CODES = {"F32": "f", "F64": "d"}


def numbers(path: str) -> dict[str, list[float]]:
    if path.endswith(".safetensors"):
        header, data = split(path)
        header.pop("__metadata__", None)
        return {
            f"{name} {entry['shape']}": list(array.array(CODES[entry["dtype"]], data[slice(*entry["data_offsets"])]))
            for name, entry in header.items()
        }
    with open(path) as file:
        lines = [json.loads(line) for line in file]
    return {name: [float(line[name]) for line in lines] for name in lines[0] if name != "seconds"}


first, second, tolerance = numbers(sys.argv[1]), numbers(sys.argv[2]), float(sys.argv[3])
if first.keys() != second.keys():
    sys.exit(f"other names: {sorted(first)}, {sorted(second)}")
for name, values in first.items():
    if len(values) != len(second[name]):
        sys.exit(f"{name}: {len(values)} and {len(second[name])} numbers")
    allowed = tolerance * max([1.0, *map(abs, values)])
    for place, (one, other) in enumerate(zip(values, second[name])):
        if not abs(one - other) <= allowed:
            sys.exit(f"{name}: number {place} is {one} and {other}")
