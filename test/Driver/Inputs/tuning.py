"""Writes a tuning for the GPU's graph of `gnnc inspect --graph G --json`, with one choice: tuning.py LINE."""

import json
import sys

graph = json.load(sys.stdin)["graph"]["choices"][-1]
print("gnnc-tune 1", graph["digest"])
print("graph cuda 90")
for space in graph["extents"]:
    print("extent", space["space"], space["extent"])
print(sys.argv[1])
