"""Compares the parameters in a file (.safetensors) with those of the exported program (.pt2) that it was written from."""

import array
import json
import struct
import sys
import zipfile


def floats(data: bytes) -> list[float]:
    return list(array.array("f", data))


with zipfile.ZipFile(sys.argv[1]) as archive:
    entries = {entry.partition("/")[2]: entry for entry in archive.namelist()}
    folder = "data/weights/"
    config = json.loads(archive.read(entries[folder + "model_weights_config.json"]))["config"]
    expected = {name: floats(archive.read(entries[folder + each["path_name"]])) for name, each in config.items()}
with open(sys.argv[2], "rb") as file:
    (size,) = struct.unpack("<Q", file.read(8))
    header, data = json.loads(file.read(size)), file.read()
compared = 0
for name, each in header.items():
    if name in expected:
        begin, end = each["data_offsets"]
        found = floats(data[begin:end])
        assert each["dtype"] == "F32" and found == expected[name], f"{name}: expected {expected[name][:4]}, found {found[:4]}"
        compared += 1
print(f"{compared} of {len(expected)} are equal")
