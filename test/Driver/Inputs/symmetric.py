"""Writes a graph of 60 nodes with both directions of each edge: symmetric.py FILE ORDER.

ORDER: sorted (by source, then target, as PyTorch Geometric's to_undirected lists them), by_target, or halves (all edges
one way, then all the other way)."""

import array
import random
import sys

import tensorfile

nodes, random_numbers = 60, random.Random(1)
pairs = sorted({tuple(random_numbers.sample(range(nodes), 2)) for _ in range(150)})
pairs = [(a, b) for a, b in pairs if (b, a) not in pairs or a < b]
random_numbers.shuffle(pairs)
edges = pairs + [(b, a) for a, b in pairs]
if sys.argv[2] == "sorted":
    edges.sort()
elif sys.argv[2] == "by_target":
    edges.sort(key=lambda edge: (edge[1], edge[0]))
tensors = {
    "edge_index": ("I32", [2, len(edges)], array.array("i", [a for a, _ in edges] + [b for _, b in edges])),
    "x": ("F32", [nodes, 3], array.array("f", [i % 5 / 4 for i in range(3 * nodes)])),
}
tensorfile.write(sys.argv[1], nodes, tensors)
