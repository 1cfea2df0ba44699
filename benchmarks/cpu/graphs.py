"""The graphs of the benchmarks: real ones where their files are at hand, else seeded ones of the same size."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from safetensors import safe_open

from harness.model import aligned_copy

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


# Nodes, edges, relations and types of nodes: published counts of the typed graphs.
TYPED_SIZES = {"aifb": (8285, 58086, 90, 7), "mutag": (27163, 148100, 50, 5), "bgs": (94806, 672884, 122, 27)}


@dataclass
class TypedGraph:
    """A graph whose nodes are sorted by type and whose relations lead from one type of node to one."""

    graph: Graph
    node_type: np.ndarray  # ascending
    relation: np.ndarray  # of each edge
    ends: list[tuple[int, int]]  # of each relation: the types of its sources and destinations


def _typed(
    name: str, generated: bool, nodes: int, edge_index: np.ndarray, relation: np.ndarray, kind: np.ndarray
) -> TypedGraph:
    """Sorts nodes by type, and numbers as relations the distinct triples (type of source, relation, type of destination)."""
    order = np.argsort(kind, kind="stable")
    place = np.empty(nodes, "i8")
    place[order] = np.arange(nodes)
    kind, ends = kind[order], place[edge_index]
    sort = np.lexsort((ends[0], ends[1]))
    ends, relation = ends[:, sort], relation[sort]
    count = int(kind.max()) + 1
    triple = (kind[ends[0]] * (int(relation.max()) + 1) + relation) * count + kind[ends[1]]
    found, number = np.unique(triple, return_inverse=True)
    kinds = [(int(code) // count // (int(relation.max()) + 1), int(code) % count) for code in found]
    graph = _make(name, generated, nodes, ends.astype("i4"), {})
    return TypedGraph(graph, kind.astype("i8"), number.astype("i8"), kinds)


def generate_typed(name: str, seed: int = 0) -> TypedGraph:
    """Relations and types of falling size; destinations by a power law, so that there are hubs."""
    nodes, edges, relations, kinds = TYPED_SIZES[name]
    rng = np.random.default_rng(seed)
    share = 1 / np.arange(1, kinds + 1)
    kind = np.sort(rng.choice(kinds, nodes, p=share / share.sum()))
    first = np.searchsorted(kind, np.arange(kinds + 1))
    share = 1 / np.arange(1, relations + 1)
    relation = np.sort(rng.choice(relations, edges, p=share / share.sum()))
    source, target = rng.choice(kinds, relations), rng.choice(kinds, relations)
    size = np.diff(first)
    src = first[source[relation]] + (rng.random(edges) * size[source[relation]]).astype("i8")
    dst = first[target[relation]] + (rng.random(edges) ** 3 * size[target[relation]]).astype("i8")
    return _typed(name, True, nodes, np.stack([src, dst]), relation, kind)


def load_typed(name: str, places: list[Path], out: Path) -> TypedGraph:
    """The typed graph called `name`: from a file, by the generator beside the files (make_graph.py), or seeded here."""
    for place in places:
        path, generated = place / f"{name}.safetensors", False
        if not path.exists() and (place / "make_graph.py").exists():
            path, generated = out / f"{name}.safetensors", True
            made = [sys.executable, "-B", str(place / "make_graph.py"), name, str(path)]
            if not path.exists() and subprocess.run(made, stdout=subprocess.DEVNULL, check=False).returncode != 0:
                continue
        if not path.exists():
            continue
        with safe_open(path, "np") as file:
            nodes = int(file.metadata()["num_nodes"])
            kind = file.get_tensor("node_type") if "node_type" in file.keys() else np.zeros(nodes)
            edge_index, relation = file.get_tensor("edge_index"), file.get_tensor("edge_type")
        return _typed(name, generated, nodes, edge_index.astype("i8"), relation.astype("i8"), kind.astype("i8"))
    return generate_typed(name)


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
