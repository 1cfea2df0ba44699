"""Seeded graphs of five kinds for random formulas, in two sizes: edges sorted by destination, groups of nodes in order."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from harness.formulas import TYPES

# Nodes and edges a node, for CPUs and for GPUs; molecules: graphs of 10 to 40 nodes, this many.
SIZES = {
    "citation": ((20000, 5), (169343, 7)),
    "social": ((9498, 32), (11758, 88)),
    "roads": ((40000, 2), (142257, 2)),
    "cloud": ((8192, 20), (65536, 20)),
    "molecules": ((512, 2), (4096, 2)),
}
SKEW = {"citation": 0.55, "social": 0.45}


@dataclass
class Kind:
    name: str
    extents: dict[str, int]
    maps: dict[str, np.ndarray]


def make(name: str, large: bool) -> Kind:
    rng = np.random.default_rng(7)
    count, degree = SIZES[name][large]
    batch = np.zeros(count, "i4")
    if name == "molecules":
        sizes = rng.integers(10, 41, count)
        batch = np.repeat(np.arange(count), sizes).astype("i4")
        first, nodes = np.concatenate([[0], np.cumsum(sizes)[:-1]]), int(sizes.sum())
        dst = np.repeat(np.arange(nodes), degree)
        group = batch[dst]
        src = first[group] + rng.integers(0, 1 << 30, dst.size) % sizes[group]
    else:
        nodes = count
        if name == "cloud":  # groups of 1024, each node with neighbours anywhere in its own
            dst = np.repeat(np.arange(nodes), degree)
            src = dst // 1024 * 1024 + rng.integers(0, 1024, dst.size)
            batch = (np.arange(nodes) // 1024).astype("i4")
        elif name == "roads":  # neighbours nearby in the order
            dst = rng.integers(0, nodes, nodes * degree)
            src = np.clip(dst + rng.integers(-200, 201, dst.size), 0, nodes - 1)
        else:
            share = np.arange(1, nodes + 1) ** -SKEW[name]
            hubs = rng.permutation(nodes)
            src, dst = hubs[rng.choice(nodes, (2, nodes * degree), p=share / share.sum())]
    order = np.lexsort((src, dst))
    extents = {"node": nodes, "edge": int(dst.size), "graph": int(batch.max()) + 1, "edge_type": TYPES}
    maps = {"src": src[order].astype("i4"), "dst": dst[order].astype("i4"), "batch": batch}
    maps["etype"] = rng.integers(0, TYPES, dst.size).astype("i4")
    return Kind(name, extents, {name: np.ascontiguousarray(array) for name, array in maps.items()})


def ascends(indices: np.ndarray) -> bool:
    return bool((np.diff(indices) >= 0).all())
