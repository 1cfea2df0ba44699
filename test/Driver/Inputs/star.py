"""Writes a graph whose edges start, or with `in` end, at two nodes: star.py out|in FILE."""

import array
import sys

import tensorfile

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
tensorfile.write(sys.argv[2], few + many, tensors)
