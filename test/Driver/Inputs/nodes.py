"""Writes a graph of nodes alone, with features x, of which the first is as given: nodes.py NODES WIDTH FILE [FIRST]."""

import array
import sys

import tensorfile

nodes, width = int(sys.argv[1]), int(sys.argv[2])
x = array.array("d" if len(sys.argv) > 4 else "f", [i % 5 / 4 for i in range(nodes * width)])
if len(sys.argv) > 4:
    x[0] = float(sys.argv[4])
tensorfile.write(sys.argv[3], nodes, {"x": ("F64" if len(sys.argv) > 4 else "F32", [nodes, width], x)})
