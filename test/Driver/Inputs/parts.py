# Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
# See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""parts.py GRAPH FOLDER: whether the parts in FOLDER are together the graph, and what one sends is what another has."""

import array
import os
import sys

import tensorfile


def read(path):
    """Metadata, and the numbers of all tensors."""
    header, data = tensorfile.split(path)
    metadata = header.pop("__metadata__")
    tensors = {}
    for name, entry in header.items():
        begin, end = entry["data_offsets"]
        tensors[name] = array.array({"I32": "i", "I64": "q", "F32": "f"}[entry["dtype"]])
        tensors[name].frombytes(data[begin:end])
    return metadata, tensors


def expect(condition, what):
    if not condition:
        sys.exit(what)


_, whole = read(sys.argv[1])
count = len(os.listdir(sys.argv[2]))
parts = [read(os.path.join(sys.argv[2], f"part.{rank}.safetensors")) for rank in range(count)]
edges = len(whole["edge_index"]) // 2
nodes = len(whole["x"]) // 4
seen_nodes, seen_edges = set(), set()
for rank, (metadata, part) in enumerate(parts):
    own, own_edges = part["node.global"], part["edge.global"]
    expect((metadata["rank"], metadata["parts"]) == (str(rank), str(count)), "another rank")
    expect(metadata["num_nodes"] == str(len(own)), "another number of nodes")
    expect(seen_nodes.isdisjoint(own) and seen_edges.isdisjoint(own_edges), "in two parts")
    seen_nodes.update(own)
    seen_edges.update(own_edges)
    here = list(own) + list(part["node.halo.global"])
    ends = part["edge_index"]
    for i, edge in enumerate(own_edges):
        expect(here[ends[i]] == whole["edge_index"][edge], f"another source of edge {edge}")
        expect(own[ends[len(own_edges) + i]] == whole["edge_index"][edges + edge], f"another target of edge {edge}")
        expect(part["e"][4 * i : 4 * i + 4] == whole["e"][4 * edge : 4 * edge + 4], f"another row of edge {edge}")
    for i, node in enumerate(own):
        expect(part["x"][4 * i : 4 * i + 4] == whole["x"][4 * node : 4 * node + 4], f"another row of node {node}")
sent = [0] * count
for rank, (_, part) in enumerate(parts):
    received = 0
    for other, (_, sender) in enumerate(parts):
        rows = part["node.halo.counts"][other]
        expect(sender["node.send.counts"][rank] == rows, f"counts of {other} to {rank} differ")
        halo = part["node.halo.global"][received : received + rows]
        rows_sent = sender["node.sent"][sent[other] : sent[other] + rows]
        expect([sender["node.global"][row] for row in rows_sent] == list(halo), f"rows of {other} to {rank} differ")
        received += rows
        sent[other] += rows
expect(len(seen_nodes) == nodes and len(seen_edges) == edges, "not in any part")
print(f"{count} parts: {nodes} nodes, {edges} edges, equal")
