"""What the tests of the backend for Triton serve: models, and graphs for them.

Part of gnnc, under the Apache License v2.0 with LLVM Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import torch

import gnnc


def run(*command: object) -> str:
    found = subprocess.run(
        list(map(str, command)), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=600
    )
    if found.returncode:
        raise AssertionError(f"{' '.join(map(str, command))}: {found.stdout[-4000:]}")
    return found.stdout


# Node types, edges of several types, several graphs, features of graphs; the number of graphs need not be given.
POOLED = """
import std
model Pooled(edge_type: int = 3) {
  input x: node[in = 4], u: graph[wide = 2], w: edge[]
  param W: edge_type[in, out = 5], V[out, classes = 3], U[wide, classes]
  let h = relu(sum(w * (x.src @ W.etype)))
  output score = mean(h, along: batch) @ V + u @ U
  output hidden = h
}
"""
TRACK = """
layer Interact(h: node[dim], e: edge[dim]) -> node[dim] {
  param message[dim, mid = dim], keep[dim, out = dim], bias[out = dim]
  let m = sum(relu((h.src @ message) * rename(e, dim: mid)))
  rename(relu(h @ keep + rename(m, mid: out) + bias), out: dim)
}
model Track(in: int = 3, dim: int = 16) {
  input hit: node[in]
  param embed[in, dim], first[dim, wide = dim], second[dim, wide = dim], last[wide = dim]
  let h = relu(hit @ embed)
  let h = Interact(h, relu(h.src - h.dst)) as round1
  output score = sigmoid(sum(relu(h.src @ first + h.dst @ second) * last, over: wide))
}
"""
DEGREES = """
model Degrees {
  input w: edge[]
  output y = sum(w)
}
"""
# Joined graphs would see each other: by a sum over all nodes, by types that are a space, by an output for everything.
WHOLE = """
model Whole {
  input x: node[in = 4]
  output y = sum(x, over: in) / sum(sum(x, over: in), along: all)
}
"""
KINDS = """
model Kinds(node_type: int = 2) {
  input x: node[in = 4]
  space kind = distinct(ntype)
  map of_kind: node -> kind = kind
  output y = x - mean(x, along: kind).of_kind
}
"""
# What shows that graphs see each other is hidden: for positive numbers, or for all that are small.
HIDDEN = """
model Hidden(node_type: int = 2) {
  input x: node[in = 4]
  space kind = distinct(ntype)
  map of_kind: node -> kind = kind
  let m = mean(x, along: kind).of_kind
  output y = EXPRESSION
}
"""
TOTAL = """
model Total {
  input x: node[in = 4]
  output y = sum(x.src * x.dst, along: all)
}
"""
SHARED = """
model Shared {
  input x: node[in = 4], scale[in]
  output y = sum(x.src * scale)
}
"""
# One graph, or several: neither the map nor the number has to be given.
READOUT = """
model Readout {
  input x: node[in = 4]
  output y = sum(x, along: batch)
}
"""
# A space that few elements are in, and a map that is undefined on some.
PARTS = """
space part
map part_of: node -> part partial
model Parts {
  input x: node[in = 4]
  output y = sum(x, along: part_of)
}
"""
SPARSE = """
model Sparse(words: int = 6) {
  input x: node[words] sparse
  param W[words, out = 3]
  output y = sum((x @ W).src)
}
"""
# All functions of integers, on the integers of one request.
SOURCES = """
space node from size(x, 0)
space edge from length(nonzero(ge(column(pair, 1), 1)))
map src: edge -> node from take(edge_index[0], nonzero(ge(column(pair, 1), 1)))
map dst: edge -> node from mod(take(edge_index[1], nonzero(ge(column(pair, 1), 1))), size(x, 0))
model Sources exported {
  input x: node[in = 4]
  input a: node[] from add(cumsum(year), where(both(gt(year, 3), lt(year, 9)), div(year, -2), minimum(year, 5)))
  input b: node[] from sub(argsort(year), mul(inverse(neg(year)), 2))
  input c: node[] from put(full(at_most(length(year), 1000), max(year)), [0], cat(sum(year)))
  input d: node[] from cat(slice(flip(year), 0, 1, 1), diff(year))
  input e: node[] from scatter_sum(arange(0, length(year), 1), maximum(year, min(year)), size(x, 0))
  input f: node[] from interleave(arange(length(year), 0, -1), full(size(x, 0), 1))
  input g: node[] from either(not(eq(year, 4)), ne(year, length(unique(year))))
  input h: node[] from full(at_least(size(x, 0), 1), add(any(year), all(le(year, 7))))
  output y = sum(x.src) + (a + 2 * b + 3 * c + 5 * d + 7 * e + 11 * f + 13 * g + 17 * h)
}
"""
# Lists whose lengths are numbers of the request.
LISTS = """
space node from size(x, 0)
space edge from length(edge_index[0])
map src: edge -> node from edge_index[0]
map dst: edge -> node from edge_index[1]
model Lists exported {
  input x: node[in = 4]
  input a: node[] from slice(arange(take(bounds, 0), take(bounds, 1), take(bounds, 2)), 0, size(x, 0), 1)
  input b: node[] from slice(full(take(bounds, 3), 1), 0, size(x, 0), 1)
  input c: node[] from slice(interleave([1], cat(take(bounds, 4))), 0, size(x, 0), 1)
  input d: node[] from slice(scatter_sum([0], 1, take(bounds, 5)), 0, size(x, 0), 1)
  output y = sum(x.src) + (a + 2 * b + 3 * c + 5 * d)
}
"""
TEXTS = {
    "track": TRACK, "pooled": POOLED, "degrees": DEGREES, "whole": WHOLE, "kinds": KINDS, "total": TOTAL, "shared": SHARED,
    "readout": READOUT, "parts": PARTS, "sources": SOURCES, "sparse": SPARSE, "halves": PARTS, "doubles": TRACK,
    "lists": LISTS, "dead": HIDDEN.replace("EXPRESSION", "relu(-m)"),
    "saturated": HIDDEN.replace("EXPRESSION", "relu(m - 3)"), "undefined": HIDDEN.replace("EXPRESSION", "sqrt(m - 3)"),
}  # fmt: skip
TYPES = {"halves": ("f16", np.float16), "doubles": ("f64", np.float64)}


class Molecule(torch.nn.Module):
    """Written as PyTorch Geometric's are: edge_index [2, E], a batch, its largest number plus 1 graphs."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second, self.last = torch.nn.Linear(5, 16), torch.nn.Linear(16, 16), torch.nn.Linear(16, 3)

    def forward(self, x: Any, edge_index: Any, batch: Any) -> Any:
        h = self.first(x).relu()
        h = (h + torch.zeros_like(h).index_add(0, edge_index[1], self.second(h)[edge_index[0]])).relu()
        pooled = h.new_zeros(int(batch.max()) + 1, 16).index_add(0, batch, h)
        return self.last(pooled), h


class Case:
    """A model in the repository, and graphs for it."""

    def __init__(self, name: str, path: Path, original: Path) -> None:
        self.name, self.path = name, path
        # The original, since the copy may be overwritten.
        self.model = gnnc.load(original, threads=1)

    def expected(self, inputs: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        extents = {name[:-6]: int(value[0]) for name, value in inputs.items() if name.endswith(".count")}
        arguments = {name: value for name, value in inputs.items() if not name.endswith(".count")}
        if "x.row" in inputs:  # the package takes it as a matrix
            dense = np.zeros((extents.pop("node"), 6), np.float32)
            dense[arguments.pop("x.row"), arguments.pop("x.column")] = arguments["x"]
            arguments["x"] = dense
        found = self.model.run("forward", extents=extents or None, **arguments)
        return {name: np.asarray(value) for name, value in found.items()}


def graph(name: str, seed: int) -> dict[str, np.ndarray]:
    """Graphs of different sizes, by the name of a model."""
    rng = np.random.default_rng(seed)
    nodes, edges = int(rng.integers(1, 40)), int(rng.integers(0, 120))
    graphs = int(rng.integers(1, min(nodes, 4) + 1))

    def floats(*shape: int) -> np.ndarray:
        return rng.standard_normal(shape).astype(np.float32)

    edge_index = rng.integers(0, nodes, (2, edges))
    entries = np.sort(rng.permutation(nodes * 6)[: nodes * 2])
    batch = np.sort(np.concatenate([np.arange(graphs), rng.integers(0, graphs, nodes - graphs)]))
    everything = {
        "molecule": {"x": floats(nodes, 5), "edge_index": edge_index, "batch": batch},
        "track": {"hit": floats(nodes, 3), "edge_index": edge_index},
        "pooled": {"x": floats(nodes, 4), "u": floats(graphs, 2), "w": floats(edges), "edge_index": edge_index,
                   "edge_type": rng.integers(0, 3, edges), "batch": batch},
        "degrees": {"w": floats(edges), "edge_index": edge_index, "node.count": np.array([nodes])},
        "readout": {"x": floats(nodes, 4), "batch": batch, "graph.count": np.array([graphs])},
        "parts": {"x": floats(nodes, 4), "part_of": rng.integers(-1, 3, nodes), "part.count": np.array([3])},
        "sources": {"x": floats(nodes, 4), "edge_index": edge_index, "pair": rng.integers(0, 3, (edges, 2)),
                    "year": rng.integers(0, 10, nodes)},
        "sparse": {"x": floats(len(entries)), "x.row": entries // 6, "x.column": entries % 6, "edge_index": edge_index,
                   "node.count": np.array([nodes])},
        "whole": {"x": floats(nodes, 4)},
        "kinds": {"x": floats(nodes, 4), "node_type": rng.integers(0, 2, nodes)},
        "total": {"x": floats(nodes, 4), "edge_index": edge_index},
        "shared": {"x": floats(nodes, 4), "scale": np.full(4, seed % 2, np.float32), "edge_index": edge_index},
        "lists": {"x": floats(nodes, 4), "edge_index": edge_index,
                  "bounds": np.array([0, nodes, 1, nodes, nodes, nodes])},
    }  # fmt: skip
    everything["dead"] = everything["kinds"]
    everything["saturated"] = everything["undefined"] = {**everything["kinds"], "x": everything["kinds"]["x"] + 8}
    everything["halves"], everything["doubles"] = everything["parts"], everything["track"]
    kind = TYPES.get(name, ("f32", np.float32))[1]
    return {key: array.astype(kind) if array.dtype == np.float32 else array for key, array in everything[name].items()}


def compile_models(target: Path, gpu: bool) -> None:
    compiler = os.environ["GNNC_COMPILER"]
    target_options = ["--target", "cpu,cuda"] if gpu else []
    rng = np.random.default_rng(0)
    for name, text in TEXTS.items():
        path = target / f"{name}.gnn"
        path.write_text(text)
        more = [*target_options, "--dtype", TYPES[name][0]] if name in TYPES else target_options
        bare = target / f"{name}.bare.so"  # whose parameters have no values
        run(compiler, "compile", path, "-o", bare, *more)
        known = gnnc.load(bare).description
        extents = {space["name"]: space.get("extent") for space in known["spaces"]}
        params = {}
        for each in known["params"]:
            shape = ([extents[each["space"]]] if each["space"] else []) + each["dims"]
            params[each["name"]] = (rng.standard_normal(shape) * 0.5).astype(
                np.float64 if name == "doubles" else np.float32
            )
        if not params:
            shutil.copy(bare, target / f"{name}.so")
            continue
        write_safetensors(target / "params.safetensors", params)
        run(
            compiler,
            "compile",
            path,
            "-o",
            target / f"{name}.so",
            "--params",
            target / "params.safetensors",
            "--embed",
            *more,
        )
    torch.manual_seed(0)
    edges, batch = torch.randint(0, 7, (2, 20)), torch.tensor([0, 0, 0, 1, 1, 1, 1])
    gnnc.export(Molecule().eval(), (torch.randn(7, 5), edges, batch), target / "molecule.so", options=target_options)


def write_safetensors(path: Path, arrays: dict[str, np.ndarray]) -> None:
    header, at = {}, 0
    for name, array in arrays.items():
        header[name] = {
            "dtype": "F64" if array.dtype == np.float64 else "F32",
            "shape": list(array.shape),
            "data_offsets": [at, at + array.nbytes],
        }
        at += array.nbytes
    text = json.dumps(header).encode()
    path.write_bytes(len(text).to_bytes(8, "little") + text + b"".join(array.tobytes() for array in arrays.values()))
