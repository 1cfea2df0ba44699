#!/usr/bin/env python3
# ===- make_karate.py - Writes karate.safetensors ---------------------------===#
#
# Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
# See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
#
# Zachary's karate club as a graph file, with Python's standard library alone; also an example of how to write such a
# file. README.md says where the numbers are from and what the tensors mean.
#
#   python3 make_karate.py [karate.safetensors]
#
# ===----------------------------------------------------------------------===#

import array
import json
import struct
import sys

# Who met whom outside of the club, and in how many kinds of places: member, then `other:contexts` for others above it.
FRIENDS = """
0 1:4 2:5 3:3 4:3 5:3 6:3 7:2 8:2 10:2 11:3 12:1 13:3 17:2 19:2 21:2 31:2
1 2:6 3:3 7:4 13:5 17:1 19:2 21:2 30:2
2 3:3 7:4 8:5 9:1 13:3 27:2 28:2 32:2
3 7:3 12:3 13:3
4 6:2 10:3
5 6:5 10:3 16:3
6 16:3
8 30:3 32:3 33:4
9 33:2
13 33:3
14 32:3 33:2
15 32:3 33:4
18 32:1 33:2
19 33:1
20 32:3 33:1
22 32:2 33:3
23 25:5 27:4 29:3 32:5 33:4
24 25:2 27:3 31:2
25 31:7
26 29:4 33:2
27 33:4
28 31:2 33:2
29 32:4 33:2
30 32:3 33:3
31 32:4 33:4
32 33:5
"""
MEMBERS = 34
INSTRUCTOR, OFFICER = 0, 33  # "Mr. Hi" and "John A."
WITH_INSTRUCTOR = {0, 1, 2, 3, 4, 5, 6, 7, 8, 10, 11, 12, 13, 16, 17, 19, 21}


def edges():
    """(source, target, contexts), both directions, sorted by target, then source."""
    both = []
    for line in FRIENDS.split("\n")[1:-1]:
        member, *others = line.split()
        for other in others:
            friend, contexts = other.split(":")
            both += [(int(member), int(friend), int(contexts)), (int(friend), int(member), int(contexts))]
    return sorted(both, key=lambda edge: (edge[1], edge[0]))


def write(path, tensors, metadata):
    """A safetensors file: the length of the header, the header as JSON, the numbers of all tensors back to back."""
    header, data = {"__metadata__": metadata}, b""
    for name, (dtype, shape, numbers) in tensors.items():
        raw = array.array({"I32": "i", "F32": "f"}[dtype], numbers)
        if sys.byteorder == "big":
            raw.byteswap()
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [len(data), len(data) + 4 * len(raw)]}
        data += raw.tobytes()
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-(8 + len(text)) % 64)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + data)


def main():
    sources, targets, contexts = zip(*edges())
    assert len(sources) == 2 * 78
    side = [0 if member in WITH_INSTRUCTOR else 1 for member in range(MEMBERS)]
    others = [member for member in range(MEMBERS) if member not in (INSTRUCTOR, OFFICER)]
    role = [1 if member == INSTRUCTOR else 2 if member == OFFICER else 0 for member in range(MEMBERS)]
    tie = [0 if count <= 2 else 1 if count == 3 else 2 for count in contexts]
    tensors = {
        "edge_index": ("I32", [2, len(sources)], sources + targets),
        "contexts": ("F32", [len(sources)], contexts),
        "edge_type": ("I32", [len(sources)], tie),
        "node_type": ("I32", [MEMBERS], role),
        # The features of a member are its number: one column for each, one entry in each row.
        "x_indptr": ("I32", [MEMBERS + 1], range(MEMBERS + 1)),
        "x_indices": ("I32", [MEMBERS], range(MEMBERS)),
        "y": ("I32", [MEMBERS], side),
        "train_idx": ("I32", [2], [INSTRUCTOR, OFFICER]),
        "test_idx": ("I32", [len(others)], others),
        # A relation: member, side it took.
        "joined": ("I32", [2, MEMBERS], list(range(MEMBERS)) + side),
    }
    metadata = {
        "name": "karate",
        "num_nodes": str(MEMBERS),
        "num_edges": str(len(sources)),
        "num_features": str(MEMBERS),
        "num_classes": "2",
        "num_edge_types": "3",
        "num_sides": "2",
        "class_names": "Mr. Hi, Officer",
        "source": "W. W. Zachary, An Information Flow Model for Conflict and Fission in Small Groups, 1977",
        "licence": "facts from the article, see README.md",
    }
    write(sys.argv[1] if len(sys.argv) > 1 else "karate.safetensors", tensors, metadata)


if __name__ == "__main__":
    main()
