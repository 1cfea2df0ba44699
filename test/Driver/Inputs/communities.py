"""Writes a graph of 16384 nodes in communities of 256 whose numbers are shuffled: communities.py FILE [--maps].
--maps: with a map from nodes to nodes, and a relation of them.

With --compare FIRST SECOND GRAPH: whether the outputs y in SECOND, of GRAPH, are those in FIRST, each node's in its new row
by GRAPH's node_order."""

import array
import json
import random
import struct
import sys

import tensorfile


def read(path, name):
    with open(path, "rb") as file:
        header = json.loads(file.read(struct.unpack("<Q", file.read(8))[0]))
        begin = file.tell()
        entry = header[name]
        file.seek(begin + entry["data_offsets"][0])
        data = array.array("i" if entry["dtype"] == "I32" else "f")
        data.frombytes(file.read(entry["data_offsets"][1] - entry["data_offsets"][0]))
        return data


if sys.argv[1] == "--compare":
    first, second, order = read(sys.argv[2], "y"), read(sys.argv[3], "y"), read(sys.argv[4], "node_order")
    width = len(first) // len(order)
    for new, old in enumerate(order):
        for i in range(width):
            a, b = first[old * width + i], second[new * width + i]
            if abs(a - b) > 1e-5 * (1 + abs(a)):
                sys.exit(f"node {old}, now {new}: expected {a}, found {b}")
    print("equal")
    sys.exit()

nodes, numbers = 16384, random.Random(1)
shuffled = list(range(nodes))
numbers.shuffle(shuffled)
edges = []
for _ in range(16 * nodes):
    a = numbers.randrange(nodes)
    b = a // 256 * 256 + numbers.randrange(256) if numbers.random() < 0.9 else numbers.randrange(nodes)
    edges.append((shuffled[a], shuffled[b]))
edges.sort(key=lambda edge: (edge[1], edge[0]))
rows = [numbers.uniform(-1, 1) for _ in range(4 * nodes)]
weights = [numbers.uniform(-1, 1) for _ in range(4 * len(edges))]
tensors = {
    "edge_index": ("I32", [2, len(edges)], array.array("i", [a for a, _ in edges] + [b for _, b in edges])),
    "x": ("F32", [nodes, 4], array.array("f", rows)),
    "e": ("F32", [len(edges), 4], array.array("f", weights)),
}
if "--maps" in sys.argv:
    far = array.array("i", (numbers.randrange(nodes) for _ in range(2 * nodes)))
    far_edges = array.array("i", (numbers.randrange(len(edges)) for _ in range(nodes)))
    tensors |= {"chosen": ("I32", [nodes], far_edges), "next": ("I32", [nodes], array.array("i", shuffled)), "friend": ("I32", [2, nodes], far)}
tensorfile.write(sys.argv[1], nodes, tensors)
