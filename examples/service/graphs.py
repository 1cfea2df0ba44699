"""The model's weights, graphs to score, and what their scores should be: the same ones for everyone who asks.

`python3 graphs.py weights FILE` writes the weights, `graph FILE NODES` a graph as `POST /score` and `gnnc run` take it.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception"""

from __future__ import annotations

import array
import json
import math
import random
import sys
from dataclasses import dataclass

FEATURES, HIDDEN = 16, 64
SHAPES = {
    "c1.W_l": (FEATURES, HIDDEN), "c1.W_r": (FEATURES, HIDDEN), "c1.b": (HIDDEN,),
    "c2.W_l": (HIDDEN, HIDDEN), "c2.W_r": (HIDDEN, HIDDEN), "c2.b": (HIDDEN,),
    "w": (HIDDEN,), "b": (),
}  # fmt: skip


def weights() -> dict[str, array.array]:
    """Stand-ins for what training would give."""
    generator = random.Random(1)
    return {
        name: array.array("f", [generator.gauss(0, 0.7 / math.sqrt(HIDDEN)) for _ in range(math.prod(shape))])
        for name, shape in SHAPES.items()
    }


@dataclass
class Graph:
    nodes: int
    x: array.array  # nodes * FEATURES
    edge_index: array.array  # sources, then targets

    @property
    def edges(self) -> int:
        return len(self.edge_index) // 2

    def tensors(self) -> dict[str, tuple[str, tuple[int, ...], array.array]]:
        wide = self.edge_index.typecode == "q"
        return {
            "x": ("F32", (self.nodes, FEATURES), self.x),
            "edge_index": ("I64" if wide else "I32", (2, self.edges), self.edge_index),
        }

    def body(self) -> bytes:
        return safetensors(self.tensors(), {"num_nodes": str(self.nodes)})  # for gnnc run; the service does without

    def json(self) -> bytes:
        rows = [list(self.x[FEATURES * i : FEATURES * (i + 1)]) for i in range(self.nodes)]
        ends = self.edge_index.tolist()
        return json.dumps({"x": rows, "edge_index": [ends[: self.edges], ends[self.edges :]]}).encode()


def make_graph(seed: int, nodes: int, degree: int = 8, typecode: str = "i") -> Graph:
    generator = random.Random(seed)
    x = array.array("f", [generator.uniform(-1, 1) for _ in range(nodes * FEATURES)])
    return Graph(nodes, x, array.array(typecode, generator.choices(range(nodes), k=2 * nodes * degree)))


def make_graphs(count: int = 64, least: int = 10, most: int = 2000) -> list[Graph]:
    """Of all sizes, as many between 10 and 20 nodes as between 1000 and 2000."""
    generator = random.Random(2)
    sizes = [int(math.exp(generator.uniform(math.log(least), math.log(most)))) for _ in range(count)]
    return [make_graph(seed, nodes) for seed, nodes in enumerate(sizes)]


def safetensors(
    tensors: dict[str, tuple[str, tuple[int, ...], array.array]], metadata: dict[str, str] | None = None
) -> bytes:
    """A file of tensors: the type, shape and values of each."""
    header, data = {"__metadata__": metadata} if metadata else {}, b""
    for name, (dtype, shape, values) in tensors.items():
        begin, data = len(data), data + values.tobytes()
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [begin, len(data)]}
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    return len(text).to_bytes(8, "little") + text + data


def scores_of(body: bytes) -> array.array:
    """The tensor `score` of a response."""
    length = int.from_bytes(body[:8], "little")
    begin, end = json.loads(body[8 : 8 + length])["score"]["data_offsets"]
    return array.array("f", body[8 + length + begin : 8 + length + end])


def expected_scores(graph: Graph) -> list[float]:
    """By the formula, in double precision: for small graphs."""
    values, n, edges = weights(), graph.nodes, graph.edges

    def times(rows: list[list[float]], name: str) -> list[list[float]]:
        matrix, (_, columns) = values[name], SHAPES[name]
        return [[sum(v * matrix[k * columns + j] for k, v in enumerate(row)) for j in range(columns)] for row in rows]

    h = [list(graph.x[FEATURES * i : FEATURES * (i + 1)]) for i in range(n)]
    for layer in ("c1", "c2"):
        sums, degrees = [[0.0] * len(h[0]) for _ in range(n)], [0] * n
        for source, target in zip(graph.edge_index[:edges], graph.edge_index[edges:]):
            sums[target] = [a + b for a, b in zip(sums[target], h[source])]
            degrees[target] += 1
        means = [[v / max(1, degree) for v in row] for row, degree in zip(sums, degrees)]
        left, right, bias = times(means, f"{layer}.W_l"), times(h, f"{layer}.W_r"), values[f"{layer}.b"]
        h = [[max(0.0, a + b + c) for a, b, c in zip(*rows, bias)] for rows in zip(left, right)]
    return [1 / (1 + math.exp(-sum(a * b for a, b in zip(row, values["w"])) - values["b"][0])) for row in h]


if __name__ == "__main__":
    what, path, *size = sys.argv[1:]
    with open(path, "wb") as file:
        if what == "weights":
            file.write(safetensors({name: ("F32", SHAPES[name], each) for name, each in weights().items()}))
        else:
            file.write(make_graph(0, int(size[0])).body())
