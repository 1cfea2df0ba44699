"""Writes a graph of nodes alone, with features x: nodes.py NODES WIDTH FILE."""

import array
import sys

import tensorfile

nodes, width = int(sys.argv[1]), int(sys.argv[2])
x = array.array("f", [i % 5 / 4 for i in range(nodes * width)])
tensorfile.write(sys.argv[3], nodes, {"x": ("F32", [nodes, width], x)})
