"""PyTorch Geometric in each arrangement that it has: an edge list, eager or compiled, or a CSR adjacency.

A candidate is a call that returns its result. Which is the fastest is found by trying; that one is the peer.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial

import numpy as np
import scipy.sparse
import torch
import torch_geometric
import torch_geometric.nn as pyg
from torch import Tensor
from torch.nn import functional

from cpu.graphs import Graph, TypedGraph
from harness.measure import estimate, first
from peers import references

Candidate = Callable[[], np.ndarray]
MOST_BYTES = 4 << 30  # FastRGCNConv holds a matrix for each edge

torch.set_grad_enabled(False)


def versions() -> str:
    return f"torch {torch.__version__}, torch-geometric {torch_geometric.__version__}"


def edge_list(graph: Graph) -> Tensor:
    return torch.from_numpy(np.stack([graph.src, graph.dst]).astype("i8"))


def adjacency(graph: Graph) -> Tensor:
    """Rows are destinations."""
    rows, columns = (torch.from_numpy(array.astype("i8")) for array in (graph.rows, graph.src))
    return torch.sparse_csr_tensor(rows, columns, torch.ones(graph.edges), (graph.nodes, graph.nodes))


def candidate(module: torch.nn.Module, *arguments: Tensor, compiled: bool = False) -> Candidate:
    """Calls of a module; its result shares memory with the array returned."""
    torch._dynamo.reset()
    function = torch.compile(module, dynamic=False) if compiled else module
    return lambda: function(*arguments).numpy()


def gradient_candidate(
    module: torch.nn.Module, x: Tensor, *arguments: Tensor, upstream: Tensor, compiled: bool = False
) -> Candidate:
    """Forward and backward, of the parameters too; the result is the gradient of `x`."""
    torch._dynamo.reset()
    function = torch.compile(module, dynamic=False) if compiled else module
    leaf = x.clone().requires_grad_(True)

    def call() -> np.ndarray:
        leaf.grad = None
        module.zero_grad(set_to_none=True)
        with torch.enable_grad():
            function(leaf, *arguments).backward(upstream)
        assert leaf.grad is not None
        return leaf.grad.numpy()

    return call


def fastest(
    candidates: dict[str, Callable[[], Candidate]], expected: np.ndarray, same: Callable[..., bool]
) -> tuple[str, Candidate]:
    """Makes and tries each; one that fails or gives something else is left out with a word."""
    best: tuple[float, str, Candidate] = (math.inf, "", lambda: expected)
    for title, make in candidates.items():
        try:
            call = make()
            if not same(first(call), expected):
                print(f"PyG, {title}: the result differs, left out")
                continue
            best = min(best, (estimate(call), title, call), key=lambda found: found[0])
        except Exception as error:  # noqa: BLE001 (whatever a framework throws at those who try it)
            print(f"PyG, {title}: left out: {type(error).__name__}: {str(error).splitlines()[0][:100]}")
    if not best[1]:
        raise SystemExit("no arrangement of PyTorch Geometric gives gnnc's result")
    return best[1], best[2]


# ---- single layers: the module, gnnc's name of each parameter and where it is in the module


def heads(weight: Tensor, count: int) -> Tensor:
    """[heads * out, in] -> [in, heads, out]."""
    return weight.T.reshape(weight.shape[1], count, -1)


def layer(name: str) -> tuple[torch.nn.Module, dict[str, np.ndarray]]:
    """A layer of width 64 and its parameters under gnnc's names (models/layers.gnn)."""
    torch.manual_seed(0)
    found: dict[str, Tensor]
    if name == "GCN64":
        m = pyg.GCNConv(64, 64, add_self_loops=False, cached=True)
        found = {"W": m.lin.weight.T, "b": m.bias}
    elif name == "SAGEMax64":
        m = pyg.SAGEConv(64, 64, aggr="max")
        found = {"W_l": m.lin_l.weight.T, "b": m.lin_l.bias, "W_r": m.lin_r.weight.T}
    elif name == "GATHeads4":
        m = pyg.GATConv(64, 16, heads=4, add_self_loops=False)
        found = {"W": heads(m.lin.weight, 4), "a_src": m.att_src[0], "a_dst": m.att_dst[0], "b": m.bias}
    elif name == "GATv2Heads2":
        m = pyg.GATv2Conv(64, 64, heads=2, add_self_loops=False)
        found = {"W_l": heads(m.lin_l.weight, 2), "W_r": heads(m.lin_r.weight, 2), "a": m.att[0], "b": m.bias}
        found |= {"b_l": m.lin_l.bias.reshape(2, 64), "b_r": m.lin_r.bias.reshape(2, 64)}
    elif name == "TransformerHeads4":
        m = pyg.TransformerConv(64, 64, heads=4)
        found = {"W_s": m.lin_skip.weight.T, "b_s": m.lin_skip.bias}
        for short, part in (("q", m.lin_query), ("k", m.lin_key), ("v", m.lin_value)):
            found |= {f"W_{short}": heads(part.weight, 4), f"b_{short}": part.bias.reshape(4, 64)}
    elif name == "MoNet16":
        m = pyg.GMMConv(64, 16, dim=2, kernel_size=2)
        found = {"W": m.g.reshape(64, 2, 16), "mu": m.mu, "sigma": m.sigma, "root": m.root.weight.T, "b": m.bias}
    elif name == "EdgeConv64":
        m = pyg.EdgeConv(torch.nn.Linear(128, 64), aggr="max")
        found = {"W_x": m.nn.weight[:, :64].T, "W_d": m.nn.weight[:, 64:].T, "b": m.nn.bias}
    else:
        m = pyg.RGCNConv(64, 64, 51)
        found = {"W": m.weight, "root": m.root, "b": m.bias}
    # Biases begin at 0, where a mistake would not show.
    for value in found.values():
        if not value.any():
            value.normal_(std=0.3)
    return m.eval(), {f"conv.{key}": value.detach().contiguous().numpy().copy() for key, value in found.items()}


def layer_candidates(
    name: str,
    module: torch.nn.Module,
    graph: Graph,
    x: Tensor,
    extra: dict[str, Tensor],
    upstream: Tensor | None = None,
    brief: bool = False,
) -> dict[str, Callable[[], Candidate]]:
    """Every arrangement of a layer, not made yet; with `upstream`, the gradient of the result, forward and backward.
    `brief`: without those that are known to be slower than another one everywhere."""
    edges, more = edge_list(graph), list(extra.values())
    candidate = globals()["candidate"] if upstream is None else partial(gradient_candidate, upstream=upstream)
    found = {"edge list, eager": lambda: candidate(module, x, edges, *more)}
    if name == "RGCN64":
        if graph.edges * 64 * 64 * 4 < MOST_BYTES:
            fast = pyg.FastRGCNConv(64, 64, 51)
            fast.load_state_dict(module.state_dict())
            found["FastRGCNConv, eager"] = lambda: candidate(fast, x, edges, *more)
        return found
    # A CSR adjacency is several times faster than compiled code where there is one.
    if not (brief and name in ("GCN64", "SAGEMax64")):
        found["edge list, compiled"] = lambda: candidate(module, x, edges, *more, compiled=True)
    if name in ("GCN64", "SAGEMax64"):
        found["CSR adjacency"] = lambda: candidate(fresh(module), x, adjacency(graph))
    return found


# ---- layers on typed graphs


class TypedHGT(torch.nn.Module):
    """HGTConv on one array of nodes, sorted by type."""

    def __init__(self, typed: TypedGraph) -> None:
        super().__init__()
        graph = typed.graph
        counts = np.bincount(typed.node_type)
        self.starts = [0, *np.cumsum(counts).tolist()]
        self.kinds = [f"n{kind}" for kind in range(counts.size)]
        names = [(f"n{a}", f"r{number}", f"n{b}") for number, (a, b) in enumerate(typed.ends)]
        self.edges = {}
        for number, name in enumerate(names):
            chosen = typed.relation == number
            a, b = typed.ends[number]
            pair = [graph.src[chosen] - self.starts[a], graph.dst[chosen] - self.starts[b]]
            self.edges[name] = torch.from_numpy(np.stack(pair).astype("i8"))
        self.conv = pyg.HGTConv(64, 64, (self.kinds, names), heads=4)

    def forward(self, x: Tensor) -> Tensor:
        parts = {kind: x[a:b] for kind, a, b in zip(self.kinds, self.starts, self.starts[1:])}
        found = self.conv(parts, self.edges)
        return torch.cat([found[kind] for kind in self.kinds])

    def weights(self) -> dict[str, Tensor]:
        """The parameters under gnnc's names (std's HGT with heads of 16)."""
        conv, types = self.conv, len(self.edges)
        projection = torch.stack([conv.kqv_lin.lins[kind].weight for kind in self.kinds])  # [type, k q v, in]
        bias = torch.stack([conv.kqv_lin.lins[kind].bias for kind in self.kinds])
        found = {}
        for number, (weight, shift) in enumerate((("K", "b_k"), ("Q", "b_q"), ("V", "b_v"))):
            part = slice(64 * number, 64 * number + 64)
            found[weight] = projection[:, part].transpose(1, 2).reshape(-1, 64, 4, 16)
            found[shift] = bias[:, part].reshape(-1, 4, 16)
        for name, lin in (("A", conv.k_rel), ("M", conv.v_rel)):  # [head * types + type, in, out]
            found[name] = lin.weight.reshape(4, types, 16, 16).transpose(0, 1)
        prior = {key.strip("()").replace("'", ""): value for key, value in conv.p_rel.items()}
        found["mu"] = torch.stack([prior["__".join(name)].reshape(4) for name in self.edges])
        found["O"] = torch.stack([conv.out_lin.lins[kind].weight.T for kind in self.kinds])
        found["b_o"] = torch.stack([conv.out_lin.lins[kind].bias for kind in self.kinds])
        found["skip"] = torch.stack([conv.skip[kind].reshape(()) for kind in self.kinds])
        return found


def typed_layer(name: str, typed: TypedGraph) -> tuple[torch.nn.Module, dict[str, np.ndarray]]:
    """A layer for a typed graph, and its parameters under gnnc's names."""
    torch.manual_seed(0)
    if name == "HGT64":
        module = TypedHGT(typed)
        for parameter in module.parameters():  # Ones and zeros would hide mistakes.
            if parameter.dim() <= 2 and (parameter == parameter.flatten()[0]).all():
                parameter.normal_(std=0.3)
        found = module.weights()
    else:
        module = pyg.RGCNConv(64, 64, len(typed.ends))
        module.bias.normal_(std=0.3)
        found = {"W": module.weight, "root": module.root, "b": module.bias}
    return module.eval(), {f"conv.{key}": value.detach().contiguous().numpy().copy() for key, value in found.items()}


def typed_candidates(
    name: str, module: torch.nn.Module, typed: TypedGraph, x: Tensor, upstream: Tensor | None = None
) -> dict[str, Callable[[], Candidate]]:
    """Every arrangement of a typed layer, not made yet."""
    candidate = globals()["candidate"] if upstream is None else partial(gradient_candidate, upstream=upstream)
    if name == "HGT64":
        return {"HGTConv, eager": lambda: candidate(module, x)}
    edges, types = edge_list(typed.graph), torch.from_numpy(typed.relation)
    found = {"RGCNConv, eager": lambda: candidate(module, x, edges, types)}
    if typed.graph.edges * 64 * 64 * 4 < MOST_BYTES:
        fast = pyg.FastRGCNConv(64, 64, len(typed.ends))
        fast.load_state_dict(module.state_dict())
        found["FastRGCNConv, eager"] = lambda: candidate(fast, x, edges, types)
    return found


def fresh(module: torch.nn.Module) -> torch.nn.Module:
    """The same layer that has cached nothing yet."""
    if hasattr(module, "_cached_edge_index"):
        module._cached_edge_index = None
    return module


# ---- the two-layer models on Cora


class GCN(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.c1, self.c2 = pyg.GCNConv(1433, 16, cached=True), pyg.GCNConv(16, 7, cached=True)

    def forward(self, x: Tensor, edges: Tensor) -> Tensor:
        return self.c2(functional.relu(self.c1(x, edges)), edges)


class GAT(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.c1, self.c2 = pyg.GATConv(1433, 8, heads=8), pyg.GATConv(64, 7, heads=1, concat=False)

    def forward(self, x: Tensor, edges: Tensor) -> Tensor:
        return self.c2(functional.elu(self.c1(x, edges)), edges)


def cora_module(name: str, weights: dict[str, np.ndarray]) -> torch.nn.Module:
    """The model with gnnc's parameters."""
    module = (GCN if name == "gcn" else GAT)().eval()
    for key, array in weights.items():
        conv, value = getattr(module, key.split(".")[0]), torch.from_numpy(array)
        what = key.split(".")[1]
        if what == "W":
            conv.lin.weight.copy_(value.reshape(value.shape[0], -1).T)
        elif what == "b":
            conv.bias.copy_(value)
        else:
            getattr(conv, {"a_src": "att_src", "a_dst": "att_dst"}[what]).copy_(value.unsqueeze(0))
    return module


def cora_candidates(
    name: str, graph: Graph, weights: dict[str, np.ndarray], expected: np.ndarray, same: Callable[..., bool]
) -> dict[str, Candidate]:
    """The fastest arrangement, with what it is called."""
    x = scipy.sparse.csr_array(references.features(graph).astype("f4"))
    dense = torch.from_numpy(x.toarray())
    sparse = torch.sparse_csr_tensor(*(torch.from_numpy(a) for a in (x.indptr, x.indices, x.data)), x.shape)
    edges = edge_list(graph)
    made: dict[str, Callable[[], Candidate]] = {}
    for features, value in (("sparse features", sparse), ("dense features", dense)):
        for way, graph_value in (("edge list", edges), ("CSR adjacency", adjacency(graph))):
            for compiled in (False, True):
                if way == "CSR adjacency" and (compiled or name == "gat"):
                    continue
                title = f"{features}, {way}, {'compiled' if compiled else 'eager'}"
                made[title] = partial(candidate, cora_module(name, weights), value, graph_value, compiled=compiled)
    title, call = fastest(made, expected, same)
    return {title: call}
