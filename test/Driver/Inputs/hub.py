"""Writes a ring of 300 nodes, of which 700 more edges go to the first: hub.py FILE [NODES]."""

import array
import sys

import tensorfile

nodes, more = int(sys.argv[2]) if len(sys.argv) > 2 else 300, 700
src = list(range(nodes)) + [1 + i % (nodes - 1) for i in range(more)]
dst = [(i + 1) % nodes for i in range(nodes)] + [0] * more
tensors = {
    "edge_index": ("I32", [2, nodes + more], array.array("i", src + dst)),
    "x": ("F32", [nodes, 3], array.array("f", [i % 5 / 4 for i in range(3 * nodes)])),
}
tensorfile.write(sys.argv[1], nodes, tensors)
