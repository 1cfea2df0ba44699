"""Writes .safetensors files without any package, for the graphs of tests."""

import array
import json
import struct


def write(path: str, nodes: int, tensors: dict[str, tuple[str, list[int], array.array]]) -> None:
    """Tensors by name: type as the format spells it, shape, numbers."""
    header, data = {"__metadata__": {"num_nodes": str(nodes)}}, b""
    for name, (dtype, shape, numbers) in tensors.items():
        begin = len(data)
        data += numbers.tobytes()
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [begin, len(data)]}
    join(path, json.dumps(header), data)


def join(path: str, header: str, data: bytes) -> None:
    """A file of these parts, whatever the header says."""
    text = header.encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + data)


def split(path: str) -> tuple[dict, bytes]:
    """The header and the tensors' bytes of a file."""
    with open(path, "rb") as file:
        whole = file.read()
    (length,) = struct.unpack_from("<Q", whole)
    return json.loads(whole[8 : 8 + length]), whole[8 + length :]
