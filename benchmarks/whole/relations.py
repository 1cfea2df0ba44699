"""Graphs whose nodes or edges have types, and a recommender."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from whole.catalogue import Made, Size
from whole.graphs import labels, rows, skewed


class RGCN(nn.Module):
    """PyTorch Geometric's example for AIFB: no features, so a row for each node and relation."""

    def __init__(self, nodes: int, relations: int) -> None:
        super().__init__()
        from torch_geometric.nn import FastRGCNConv

        self.conv1 = FastRGCNConv(nodes, 16, relations, num_bases=30)
        self.conv2 = FastRGCNConv(16, 4, relations, num_bases=30)

    def forward(self, edge_index: Tensor, edge_type: Tensor) -> Tensor:
        x = F.relu(self.conv1(None, edge_index, edge_type))
        return F.log_softmax(self.conv2(x, edge_index, edge_type), dim=1)


def rgcn(size: Size) -> Made:
    nodes, edges = size.of(8285, 40), size.of(58086, 100)
    return Made(RGCN(nodes, 90), (skewed(nodes, edges), labels(edges, 90)), labels(nodes, 4, 4), F.nll_loss)


class RowsRGCN(nn.Module):
    def __init__(self, depth: int, relations: int, width: int = 64) -> None:
        super().__init__()
        from torch_geometric.nn import RGCNConv

        self.convs = nn.ModuleList(RGCNConv(width, width, relations, num_bases=30) for _ in range(depth))
        self.head = nn.Linear(width, 8)

    def forward(self, x: Tensor, edge_index: Tensor, edge_type: Tensor) -> Tensor:
        for conv in self.convs:
            x = F.relu(conv(x, edge_index, edge_type))
        return self.head(x)


def rgcn_rows(size: Size) -> Made:
    nodes, edges = size.of(14541, 40), size.of(272115, 100)
    inputs = (rows(nodes, 64), skewed(nodes, edges), labels(edges, 46))
    return Made(RowsRGCN(size.depth, 46), inputs, labels(nodes, 8, 4), F.cross_entropy)


#: As in samples of ogbn-mag, with edges in both directions.
NODES = {"paper": 20000, "author": 24000, "institution": 1000, "field": 6000}
EDGES = {
    ("author", "writes", "paper"): 60000,
    ("paper", "rev_writes", "author"): 60000,
    ("paper", "cites", "paper"): 90000,
    ("author", "affiliated_with", "institution"): 20000,
    ("institution", "rev_affiliated_with", "author"): 20000,
    ("paper", "has_topic", "field"): 120000,
    ("field", "rev_has_topic", "paper"): 120000,
}


def typed(size: Size, width: int = 128) -> tuple[dict[str, Tensor], dict[tuple[str, str, str], Tensor]]:
    counts = {kind: size.of(count, 10) for kind, count in NODES.items()}
    x = {kind: rows(count, width, 2 + number) for number, (kind, count) in enumerate(counts.items())}
    edges = {
        key: skewed(counts[key[0]], size.of(count, 20), 1 + number, counts[key[2]])
        for number, (key, count) in enumerate(EDGES.items())
    }
    return x, edges


class HGT(nn.Module):
    """PyTorch Geometric's example: Hu et al., 2020."""

    def __init__(self, depth: int, width: int = 64) -> None:
        super().__init__()
        from torch_geometric.nn import HGTConv

        self.first = nn.ModuleDict({kind: nn.Linear(128, width) for kind in NODES})
        self.convs = nn.ModuleList(HGTConv(width, width, (list(NODES), list(EDGES)), 2) for _ in range(depth))
        self.head = nn.Linear(width, 349)

    def forward(self, x_dict: dict[str, Tensor], edge_index_dict: dict[tuple[str, str, str], Tensor]) -> Tensor:
        x_dict = {kind: self.first[kind](x).relu() for kind, x in x_dict.items()}
        for conv in self.convs:
            x_dict = conv(x_dict, edge_index_dict)
        return self.head(x_dict["paper"])


def hgt(size: Size) -> Made:
    inputs = typed(size)
    return Made(HGT(size.depth), inputs, labels(len(inputs[0]["paper"]), 349, 4), F.cross_entropy)


class HeteroSAGE(nn.Module):
    def __init__(self, depth: int, width: int = 64) -> None:
        super().__init__()
        from torch_geometric.nn import HeteroConv, SAGEConv

        widths = [128, *[width] * depth]
        self.convs = nn.ModuleList(
            HeteroConv({key: SAGEConv((a, a), b) for key in EDGES}, aggr="sum") for a, b in zip(widths, widths[1:])
        )
        self.head = nn.Linear(width, 349)

    def forward(self, x_dict: dict[str, Tensor], edge_index_dict: dict[tuple[str, str, str], Tensor]) -> Tensor:
        for conv in self.convs:
            x_dict = {kind: x.relu() for kind, x in conv(x_dict, edge_index_dict).items()}
        return self.head(x_dict["paper"])


def hetero_sage(size: Size) -> Made:
    inputs = typed(size)
    return Made(HeteroSAGE(size.depth), inputs, labels(len(inputs[0]["paper"]), 349, 4), F.cross_entropy)


def ranked(found: Tensor, half: int) -> Tensor:
    """Rendle et al., 2009: pairs that were bought before pairs that were not."""
    return -F.logsigmoid(found[:half] - found[half:]).mean()


def light_gcn(size: Size) -> Made:
    """Gowalla: 29 858 users, 40 981 items, 810 128 purchases to train with, scores of 2048 pairs of pairs."""
    from torch_geometric.nn import LightGCN

    users, items, bought, half = size.of(29858, 20), size.of(40981, 20), size.of(810128, 80), size.of(2048, 16)
    one = skewed(users, bought, others=items)
    one[1] += users
    edge_index = torch.cat([one, one.flip(0)], 1)
    good, bad = one[:, :half], torch.stack([one[0, :half], users + labels(half, items, 6)])
    pairs = torch.cat([good, bad], 1)
    return Made(LightGCN(users + items, 64, size.depth), (edge_index, pairs), half, ranked)
