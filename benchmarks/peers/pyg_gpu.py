"""PyTorch Geometric's layers in each of their arrangements, and cuSPARSE, on a GPU."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import torch
import torch_geometric.nn as pyg
from torch import Tensor

from gpu.graphs import Graph

Step = Callable[[], object]
MOST_BYTES = 60 << 30  # of what an arrangement holds for each edge


def layer(name: str, graph: Graph) -> tuple[torch.nn.Module, tuple[Tensor, ...]]:
    """The module, and its arguments after the features."""
    edges = torch.stack([graph.src, graph.dst])
    generator = torch.Generator(device="cuda").manual_seed(1)
    if name == "GCN64":
        return pyg.GCNConv(64, 64, add_self_loops=False), (edges,)
    if name == "SAGEMax64":
        return pyg.SAGEConv(64, 64, aggr="max"), (edges,)
    if name == "GATHeads4":
        return pyg.GATConv(64, 16, heads=4, add_self_loops=False), (edges,)
    if name == "GATv2Heads2":
        return pyg.GATv2Conv(64, 64, heads=2, add_self_loops=False), (edges,)
    if name == "TransformerHeads4":
        return pyg.TransformerConv(64, 64, heads=4), (edges,)
    if name == "MoNet16":
        coords = torch.rand(graph.edges, 2, generator=generator, device="cuda")
        return pyg.GMMConv(64, 16, dim=2, kernel_size=2), (edges, coords)
    if name == "EdgeConv64":
        return pyg.EdgeConv(torch.nn.Linear(128, 64), aggr="max"), (edges,)
    if name == "TypedRGCN":
        return pyg.RGCNConv(64, 64, types(graph)), (edges, graph.edge_type)
    if name == "FastRGCN":
        return pyg.FastRGCNConv(64, 64, types(graph)), (edges, graph.edge_type)
    raise KeyError(name)


def types(graph: Graph) -> int:
    return int(graph.edge_type.max()) + 1


def hgt(graph: Graph) -> tuple[torch.nn.Module, tuple[object, ...]]:
    """Features by type of node, and edges by triple."""
    sorts, relations = int(graph.node_type.max()) + 1, types(graph)
    local = torch.zeros(graph.nodes, dtype=torch.long, device="cuda")
    features = {}
    for sort in range(sorts):
        own = (graph.node_type == sort).nonzero().flatten()
        local[own] = torch.arange(own.numel(), device="cuda")
        if own.numel():
            features[f"n{sort}"] = torch.randn(own.numel(), 64, device="cuda")
    triples = (graph.node_type[graph.src] * relations + graph.edge_type) * sorts + graph.node_type[graph.dst]
    edges = {}
    for triple in torch.unique(triples).tolist():
        own = triples == triple
        key = (f"n{triple // sorts // relations}", f"r{triple // sorts % relations}", f"n{triple % sorts}")
        edges[key] = torch.stack([local[graph.src[own]], local[graph.dst[own]]])
    module = pyg.HGTConv(64, 64, (list(features), list(edges)), heads=4)
    return module, (features, edges)


def adjacency(graph: Graph, values: Tensor) -> Tensor:
    rows = torch.zeros(graph.nodes + 1, dtype=torch.int64, device="cuda")
    rows[1:] = torch.bincount(graph.dst, minlength=graph.nodes).cumsum(0)
    return torch.sparse_csr_tensor(rows.int(), graph.src.int(), values, (graph.nodes, graph.nodes))


def steps(module: torch.nn.Module, arguments: tuple, compiled: bool) -> tuple[Step, Step]:
    """A forward call, and one with gradients of everything."""
    torch._dynamo.reset()
    module = module.to("cuda")
    call = torch.compile(module, dynamic=False) if compiled else module
    first = arguments[0]
    leaves = list(first.values()) if isinstance(first, dict) else [first]

    def forward() -> object:
        for leaf in leaves:
            leaf.requires_grad_(False)
        with torch.no_grad():
            return call(*arguments)

    def both() -> None:
        module.zero_grad(set_to_none=True)
        for leaf in leaves:
            leaf.requires_grad_(True)
            leaf.grad = None
        result = call(*arguments)
        if isinstance(result, dict):
            sum(value.sum() for value in result.values() if value is not None).backward()
        else:
            result.backward(torch.ones_like(result))

    return forward, both


def arrangements(name: str, graph: Graph, compile_too: bool) -> Iterator[tuple[str, Callable[[], tuple[Step, Step]]]]:
    """Each with its title; made when called for."""
    x = torch.randn(graph.nodes, 64, device="cuda")
    if name == "TypedHGT":
        yield "eager", lambda: steps(*hgt(graph), compiled=False)
        if compile_too:
            yield "compiled", lambda: steps(*hgt(graph), compiled=True)
        return

    def make(layer_name: str, compiled: bool) -> tuple[Step, Step]:
        module, rest = layer(layer_name, graph)
        return steps(module, (x, *rest), compiled)

    yield "eager", lambda: make(name, False)
    if name == "TypedRGCN":
        if graph.edges * 64 * 64 * 4 < MOST_BYTES:
            yield "FastRGCNConv", lambda: make("FastRGCN", False)
            if compile_too:
                yield "FastRGCNConv, compiled", lambda: make("FastRGCN", True)
        if compile_too:
            yield "compiled", lambda: make(name, True)
        return
    if compile_too:
        yield "compiled", lambda: make(name, True)
    if name == "GCN64":
        csr = adjacency(graph, torch.ones(graph.edges, device="cuda"))
        module = pyg.GCNConv(64, 64, add_self_loops=False, cached=True)
        yield "CSR adjacency", lambda: steps(module, (x, csr), False)


def cusparse(graph: Graph, width: int) -> tuple[Step, None]:
    matrix = adjacency(graph, torch.rand(graph.edges, device="cuda"))
    x = torch.randn(graph.nodes, width, device="cuda")
    return lambda: matrix @ x, None
