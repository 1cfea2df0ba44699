"""The two-layer models on Cora in NumPy and SciPy, in double precision: what every contender is compared with."""

from __future__ import annotations

import numpy as np
import scipy.sparse

from cpu.graphs import Graph


def features(graph: Graph) -> scipy.sparse.csr_array:
    """The words of each node, rows divided by their sums."""
    indptr, indices = graph.tensors["x_indptr"], graph.tensors["x_indices"]
    values = graph.tensors.get("x_values", np.ones(indices.size))
    matrix = scipy.sparse.csr_array((values.astype("f8"), indices, indptr))
    total = np.asarray(matrix.sum(axis=1)).ravel()
    return (scipy.sparse.diags_array(1 / np.where(total == 0, 1, total)) @ matrix).tocsr()


def with_loops(graph: Graph) -> tuple[np.ndarray, np.ndarray]:
    """Source and destination of the edges, every self loop replaced by one for each node."""
    stays = graph.src != graph.dst
    loops = np.arange(graph.nodes)
    return np.r_[graph.src[stays], loops], np.r_[graph.dst[stays], loops]


def gcn_layer(h: np.ndarray, src: np.ndarray, dst: np.ndarray, bias: np.ndarray) -> np.ndarray:
    scale = 1 / np.sqrt(np.bincount(dst, minlength=len(h)))
    weights = scale[src] * scale[dst]
    return scipy.sparse.csr_array((weights, (dst, src)), shape=(len(h), len(h))) @ h + bias


def gat_layer(
    h: np.ndarray, src: np.ndarray, dst: np.ndarray, a_src: np.ndarray, a_dst: np.ndarray, slope: float = 0.2
) -> np.ndarray:
    """h: [nodes, heads, out]."""
    score = (h * a_src).sum(-1)[src] + (h * a_dst).sum(-1)[dst]
    score = np.where(score > 0, score, slope * score)
    result = np.empty_like(h)
    for head in range(h.shape[1]):
        largest = np.full(len(h), -np.inf)
        np.maximum.at(largest, dst, score[:, head])
        weight = np.exp(score[:, head] - largest[dst])
        weight /= np.bincount(dst, weight, minlength=len(h))[dst]
        result[:, head] = scipy.sparse.csr_array((weight, (dst, src)), shape=(len(h), len(h))) @ h[:, head]
    return result


def gcn(graph: Graph, p: dict[str, np.ndarray]) -> np.ndarray:
    src, dst = with_loops(graph)
    h = np.maximum(gcn_layer(features(graph) @ p["c1.W"], src, dst, p["c1.b"]), 0)
    return gcn_layer(h @ p["c2.W"], src, dst, p["c2.b"])


def gat(graph: Graph, p: dict[str, np.ndarray]) -> np.ndarray:
    src, dst = with_loops(graph)
    h = np.tensordot(features(graph).toarray(), p["c1.W"], 1)
    h = gat_layer(h, src, dst, p["c1.a_src"], p["c1.a_dst"]).reshape(graph.nodes, -1) + p["c1.b"]
    h = np.where(h > 0, h, np.expm1(np.minimum(h, 0)))
    h = gat_layer(np.tensordot(h, p["c2.W"], 1), src, dst, p["c2.a_src"], p["c2.a_dst"])
    return h.mean(axis=1) + p["c2.b"]
