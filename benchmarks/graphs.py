"""The graphs of the benchmarks: real ones where their files are at hand, else seeded ones of the same size."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from safetensors import safe_open

from gnnc_model import aligned_copy

# Nodes and edges of the real graphs, and the exponent of the degrees of those made in their place.
SIZES = {"tolokers": (11758, 1038000, 0.6), "twitch_de": (9498, 306276, 0.7), "cora": (2708, 10556, 0.5)}


@dataclass
class Graph:
    """Edges sorted by (destination, source), and the rows of the destinations."""

    name: str
    generated: bool
    nodes: int
    src: np.ndarray
    dst: np.ndarray
    rows: np.ndarray  # CSR pointers by destination
    tensors: dict[str, np.ndarray]

    @property
    def edges(self) -> int:
        return self.src.size

    @property
    def title(self) -> str:
        return f"{self.name}{', generated' if self.generated else ''}"

    def describe(self) -> dict[str, object]:
        degrees = np.diff(self.rows)
        return {
            "name": self.name,
            "generated": self.generated,
            "nodes": self.nodes,
            "edges": self.edges,
            "largest_in_degree": int(degrees.max(initial=0)),
        }


def _make(name: str, generated: bool, nodes: int, edge_index: np.ndarray, tensors: dict[str, np.ndarray]) -> Graph:
    order = np.lexsort((edge_index[0], edge_index[1]))
    src, dst = (aligned_copy(row[order], "i4") for row in edge_index)
    rows = aligned_copy(np.r_[0, np.cumsum(np.bincount(dst, minlength=nodes))], "i4")
    return Graph(name, generated, nodes, src, dst, rows, tensors)


def generate(name: str, seed: int = 0) -> Graph:
    """Distinct edges whose ends are drawn by a power law of the rank, hubs spread over the ids; symmetric."""
    nodes, edges, exponent = SIZES[name]
    rng = np.random.default_rng(seed)
    weight = np.arange(1, nodes + 1) ** -exponent
    hubs = rng.permutation(nodes)
    pairs = np.empty(0, np.int64)
    while pairs.size < edges // 2:
        ends = np.sort(hubs[rng.choice(nodes, (2, edges), p=weight / weight.sum())], axis=0)
        found = (ends[0] * nodes + ends[1])[ends[0] != ends[1]]
        pairs = np.unique(np.r_[pairs, found])
    pairs = rng.choice(pairs, edges // 2, replace=False)
    low, high = np.divmod(pairs, nodes)
    return _make(name, True, nodes, np.stack([np.r_[low, high], np.r_[high, low]]).astype("i4"), {})


def point_cloud(nodes: int = 8192, neighbours: int = 20, group: int = 1024, seed: int = 0) -> Graph:
    """Groups of points, each point with edges from a few of its group: the shape of a nearest-neighbour graph."""
    rng = np.random.default_rng(seed)
    dst = np.repeat(np.arange(nodes), neighbours)
    src = dst // group * group + rng.integers(0, group, dst.size)
    return _make("kNN cloud", True, nodes, np.stack([src, dst]).astype("i4"), {})


def load(name: str, places: list[Path]) -> Graph:
    """The graph called `name` from the first place that has it."""
    if name == "cloud":
        return point_cloud()
    for place in places:
        path = place / f"{name}.safetensors"
        if not path.exists():
            continue
        with safe_open(path, "np") as file:
            names: list[str] = file.keys()
            tensors = {key: file.get_tensor(key) for key in names}
            nodes = int(file.metadata()["num_nodes"])
        return _make(name, False, nodes, tensors.pop("edge_index"), tensors)
    return generate(name)
