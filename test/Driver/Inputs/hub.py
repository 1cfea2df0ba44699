"""Writes a ring of 300 nodes, of which 700 more edges go to the first: hub.py FILE [NODES [WIDTH]]. Nodes have rows `x`
and `u`, edges `e`, of WIDTH numbers."""

import array
import sys

import tensorfile

nodes = int(sys.argv[2]) if len(sys.argv) > 2 else 300
width = int(sys.argv[3]) if len(sys.argv) > 3 else 3
more = 700
src = list(range(nodes)) + [1 + i % (nodes - 1) for i in range(more)]
dst = [(i + 1) % nodes for i in range(nodes)] + [0] * more


def rows(count: int) -> tuple:
    return "F32", [count, width], array.array("f", [i % 5 / 4 for i in range(width * count)])


tensors = {"edge_index": ("I32", [2, nodes + more], array.array("i", src + dst)), "x": rows(nodes)}
if len(sys.argv) > 3:
    tensors |= {"u": rows(nodes), "e": rows(nodes + more)}
tensorfile.write(sys.argv[1], nodes, tensors)
