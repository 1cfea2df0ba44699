"""Classes of the nodes of one large graph, by deep stacks of PyTorch Geometric's layers."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from whole.catalogue import Made, Size
from whole.graphs import labels, rows, skewed


class GATv2(nn.Module):
    def __init__(self, depth: int, width: int = 128, heads: int = 8) -> None:
        super().__init__()
        from torch_geometric.nn import GATv2Conv

        self.first = nn.Linear(64, width)
        self.convs = nn.ModuleList(
            GATv2Conv(width, width // heads, heads, edge_dim=16, add_self_loops=False) for _ in range(depth)
        )
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(depth))
        self.head = nn.Linear(width, 40)

    def forward(self, x: Tensor, edge_index: Tensor, edge_attr: Tensor) -> Tensor:
        x = self.first(x)
        for conv, norm in zip(self.convs, self.norms):
            x = x + F.elu(conv(norm(x), edge_index, edge_attr))
        return self.head(x)


def gatv2(size: Size) -> Made:
    nodes, edges = size.of(20000, 40), size.of(160000, 80)
    inputs = (rows(nodes, 64), skewed(nodes, edges), rows(edges, 16, 5))
    return Made(GATv2(size.depth), inputs, labels(nodes, 40), F.cross_entropy)


class DeeperGCN(nn.Module):
    """PyTorch Geometric's example for ogbn-proteins, without dropout."""

    def __init__(self, depth: int, width: int = 64) -> None:
        super().__init__()
        from torch_geometric.nn import DeepGCNLayer, GENConv

        self.nodes, self.edges = nn.Linear(8, width), nn.Linear(8, width)
        self.layers = nn.ModuleList()
        for _ in range(depth):
            conv = GENConv(width, width, aggr="softmax", t=1.0, learn_t=True, num_layers=2, norm="layer")
            self.layers.append(DeepGCNLayer(conv, nn.LayerNorm(width), nn.ReLU(), block="res+", dropout=0.0))
        self.head = nn.Linear(width, 112)

    def forward(self, x: Tensor, edge_index: Tensor, edge_attr: Tensor) -> Tensor:
        x, edge_attr = self.nodes(x), self.edges(edge_attr)
        x = self.layers[0].conv(x, edge_index, edge_attr)
        for layer in self.layers[1:]:
            x = layer(x, edge_index, edge_attr)
        return self.head(self.layers[0].act(self.layers[0].norm(x)))


def deeper_gcn(size: Size) -> Made:
    nodes, edges = size.of(10000, 40), size.of(200000, 80)
    inputs = (rows(nodes, 8), skewed(nodes, edges), rows(edges, 8, 5))
    target = (rows(nodes, 112, 4) > 0).float()
    return Made(DeeperGCN(size.depth), inputs, target, F.binary_cross_entropy_with_logits)


class GCNII(nn.Module):
    """Chen et al., 2020: 64 layers that see the first one's rows; the normalised weights of edges are given."""

    def __init__(self, depth: int, features: int = 1433, width: int = 64) -> None:
        super().__init__()
        from torch_geometric.nn import GCN2Conv

        self.first, self.head = nn.Linear(features, width), nn.Linear(width, 7)
        given = {"alpha": 0.1, "theta": 0.5, "shared_weights": True, "normalize": False}
        self.convs = nn.ModuleList(GCN2Conv(width, layer=layer + 1, **given) for layer in range(depth))

    def forward(self, x: Tensor, edge_index: Tensor, edge_weight: Tensor) -> Tensor:
        x = x0 = self.first(x).relu()
        for conv in self.convs:
            x = conv(x, x0, edge_index, edge_weight).relu()
        return self.head(x).log_softmax(dim=-1)


def gcnii(size: Size) -> Made:
    nodes, edges = size.of(2708, 40), size.of(10556, 80)
    loops = torch.arange(nodes).expand(2, nodes)
    edge_index = torch.cat([skewed(nodes, edges), loops], 1)
    degree = torch.bincount(edge_index[1], minlength=nodes).float()
    weight = (degree[edge_index[0]] * degree[edge_index[1]]).rsqrt()
    features = (rows(nodes, 1433) > 2).float()
    inputs = (features / features.sum(1, keepdim=True).clamp(min=1), edge_index, weight)
    return Made(GCNII(size.depth), inputs, labels(nodes, 7), F.nll_loss)


class SAGE(nn.Module):
    def __init__(self, depth: int, width: int = 256) -> None:
        super().__init__()
        from torch_geometric.nn import SAGEConv

        widths = [128, *[width] * (depth - 1), 40]
        self.convs = nn.ModuleList(SAGEConv(a, b) for a, b in zip(widths, widths[1:]))
        self.norms = nn.ModuleList(nn.BatchNorm1d(width) for width in widths[1:-1])

    def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
        for conv, norm in zip(self.convs, self.norms):
            x = norm(conv(x, edge_index)).relu()
        return self.convs[-1](x, edge_index).log_softmax(dim=-1)


def sage(size: Size) -> Made:
    """OGB's baseline for arxiv."""
    nodes, edges = size.of(169343, 40), size.of(1166243, 80)
    return Made(SAGE(size.depth), (rows(nodes, 128), skewed(nodes, edges)), labels(nodes, 40), F.nll_loss)
