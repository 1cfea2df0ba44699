"""Writes a graph whose edges start, or with `in` end, at two nodes: star.py out|in FILE."""

import array
import json
import struct
import sys

few, many, types = 2, 600, 4
ends = [[], []]
for i in range(4 * many):
    ends[0].append(i % few)
    ends[1].append(few + i % many)
if sys.argv[1] == "in":
    ends.reverse()
tensors = {
    "edge_index": ("I32", [2, 4 * many], array.array("i", ends[0] + ends[1])),
    "edge_type": ("I32", [4 * many], array.array("i", [i // 7 % types for i in range(4 * many)])),
    "node_type": ("I32", [few + many], array.array("i", [0] * (few + many))),
    "x": ("F32", [few + many, 16], array.array("f", [i % 5 / 4 for i in range(16 * (few + many))])),
}
header, data = {"__metadata__": {"num_nodes": str(few + many)}}, b""
for name, (dtype, shape, numbers) in tensors.items():
    begin = len(data)
    data += numbers.tobytes()
    header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [begin, len(data)]}
text = json.dumps(header).encode()
text += b" " * (-len(text) % 8)
with open(sys.argv[2], "wb") as file:
    file.write(struct.pack("<Q", len(text)) + text + data)
