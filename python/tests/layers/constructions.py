# Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
# See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Layers and models of PyTorch Geometric as they are constructed for the table, with the arguments that they are called
with: names of what `Data` has."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from torch_geometric import nn as pyg

IN, OUT = 6, 8


class Data:
    """Random arguments for a graph of a size: `data.x`, `data.edge_index`, …"""

    def __init__(self, nodes: int, edges: int, seed: int) -> None:
        generator = torch.Generator().manual_seed(seed)

        def floats(*shape: int) -> Tensor:
            return torch.randn(*shape, generator=generator)

        def integers(most: int, *shape: int) -> Tensor:
            return torch.randint(0, most, shape, generator=generator)

        self.x, self.x2, self.pos, self.normal = floats(nodes, IN), floats(nodes, IN), floats(nodes, 3), floats(nodes, 3)
        self.wide, self.layers = floats(nodes, OUT), floats(nodes, 5, IN)
        self.edge_index, self.other_index = integers(nodes, 2, edges), integers(nodes, 2, edges // 2)
        self.edge_index[1] += (self.edge_index[0] == self.edge_index[1]).long()  # no loops: of two, one is arbitrary
        self.edge_index[1] %= nodes
        self.hyperedges = torch.stack([self.edge_index[0], self.edge_index[1] % 5])
        self.edge_attr, self.edge_type, self.node_type = floats(edges, 3), integers(4, edges), integers(4, nodes)
        self.coordinates = torch.rand(edges, 3, generator=generator)
        self.batch = integers(3, nodes).sort().values
        self.batch[0], self.batch[-1] = 0, 2
        self.z, self.colors = integers(10, nodes), integers(4, nodes)
        self.dict = {"a": self.x}
        self.edge_dict = {("a", "to", "a"): self.edge_index, ("a", "of", "a"): self.other_index}
        self.ids = torch.arange(nodes)
        self.list = [floats(nodes, IN), floats(nodes, IN)]
        self.label = floats(nodes, 4)
        self.mask = integers(2, nodes).bool()
        self.none = None


def mlp(inputs: int = IN, outputs: int = OUT) -> nn.Module:
    return nn.Sequential(nn.Linear(inputs, outputs), nn.ReLU(), nn.Linear(outputs, outputs))


PLAIN = ("x", "edge_index")
DEGREES = torch.tensor([0, 2, 3, 4, 5])
METADATA = (["a"], [("a", "to", "a"), ("a", "of", "a")])
Construction = tuple[Callable[[], nn.Module], tuple[str, ...]]

CONVS: dict[str, Construction] = {
    "SimpleConv": (lambda: pyg.SimpleConv(), PLAIN),
    "GCNConv": (lambda: pyg.GCNConv(IN, OUT), PLAIN),
    "ChebConv": (lambda: pyg.ChebConv(IN, OUT, K=3), PLAIN),
    "SAGEConv": (lambda: pyg.SAGEConv(IN, OUT), PLAIN),
    "GraphConv": (lambda: pyg.GraphConv(IN, OUT), PLAIN),
    "GravNetConv": (lambda: pyg.GravNetConv(IN, OUT, 3, 4, 2), ("x", "batch")),
    "GatedGraphConv": (lambda: pyg.GatedGraphConv(OUT, 2), PLAIN),
    "ResGatedGraphConv": (lambda: pyg.ResGatedGraphConv(IN, OUT), PLAIN),
    "GATConv": (lambda: pyg.GATConv(IN, 4, heads=2, edge_dim=3), (*PLAIN, "edge_attr")),
    "FusedGATConv": (lambda: pyg.FusedGATConv(IN, 4, heads=2, add_self_loops=False), PLAIN),
    "CuGraphGATConv": (lambda: pyg.CuGraphGATConv(IN, OUT), PLAIN),
    "CuGraphSAGEConv": (lambda: pyg.CuGraphSAGEConv(IN, OUT), PLAIN),
    "CuGraphRGCNConv": (lambda: pyg.CuGraphRGCNConv(IN, OUT, 4), PLAIN),
    "GATv2Conv": (lambda: pyg.GATv2Conv(IN, 4, heads=2, edge_dim=3), (*PLAIN, "edge_attr")),
    "TransformerConv": (lambda: pyg.TransformerConv(IN, 4, heads=2, edge_dim=3), (*PLAIN, "edge_attr")),
    "AGNNConv": (lambda: pyg.AGNNConv(), PLAIN),
    "TAGConv": (lambda: pyg.TAGConv(IN, OUT, K=2), PLAIN),
    "GINConv": (lambda: pyg.GINConv(mlp(), train_eps=True), PLAIN),
    "GINEConv": (lambda: pyg.GINEConv(mlp(), edge_dim=3), (*PLAIN, "edge_attr")),
    "ARMAConv": (lambda: pyg.ARMAConv(IN, OUT, num_stacks=2, num_layers=2), PLAIN),
    "SGConv": (lambda: pyg.SGConv(IN, OUT, K=2), PLAIN),
    "SSGConv": (lambda: pyg.SSGConv(IN, OUT, alpha=0.1, K=3), PLAIN),
    "APPNP": (lambda: pyg.APPNP(K=3, alpha=0.1), PLAIN),
    "MFConv": (lambda: pyg.MFConv(IN, OUT, max_degree=3), PLAIN),
    "RGCNConv": (lambda: pyg.RGCNConv(IN, OUT, 4), (*PLAIN, "edge_type")),
    "FastRGCNConv": (lambda: pyg.FastRGCNConv(IN, OUT, 4), (*PLAIN, "edge_type")),
    "RGATConv": (lambda: pyg.RGATConv(IN, 4, 4, heads=2), (*PLAIN, "edge_type")),
    "SignedConv": (lambda: pyg.SignedConv(IN, 4, first_aggr=True), (*PLAIN, "other_index")),
    "DNAConv": (lambda: pyg.DNAConv(IN, heads=2), ("layers", "edge_index")),
    "PointNetConv": (lambda: pyg.PointNetConv(mlp(9, 8), mlp(8, 7)), ("x", "pos", "edge_index")),
    "GMMConv": (lambda: pyg.GMMConv(IN, OUT, dim=3, kernel_size=4), (*PLAIN, "coordinates")),
    "SplineConv": (lambda: pyg.SplineConv(IN, OUT, dim=3, kernel_size=4), (*PLAIN, "coordinates")),
    "NNConv": (lambda: pyg.NNConv(IN, OUT, nn.Linear(3, IN * OUT)), (*PLAIN, "edge_attr")),
    "CGConv": (lambda: pyg.CGConv(IN, dim=3), (*PLAIN, "edge_attr")),
    "EdgeConv": (lambda: pyg.EdgeConv(mlp(2 * IN)), PLAIN),
    "DynamicEdgeConv": (lambda: pyg.DynamicEdgeConv(mlp(2 * IN), k=2), ("x", "batch")),
    "XConv": (lambda: pyg.XConv(IN, OUT, dim=3, kernel_size=4), ("x", "pos", "batch")),
    "PPFConv": (lambda: pyg.PPFConv(mlp(10)), ("x", "pos", "normal", "edge_index")),
    "FeaStConv": (lambda: pyg.FeaStConv(IN, OUT, heads=2), PLAIN),
    "PointTransformerConv": (lambda: pyg.PointTransformerConv(IN, OUT), ("x", "pos", "edge_index")),
    "HypergraphConv": (lambda: pyg.HypergraphConv(IN, OUT), ("x", "hyperedges")),
    "LEConv": (lambda: pyg.LEConv(IN, OUT), PLAIN),
    "PNAConv": (lambda: pyg.PNAConv(IN, OUT, ["mean", "max", "std"], ["identity", "amplification"], DEGREES), PLAIN),
    "ClusterGCNConv": (lambda: pyg.ClusterGCNConv(IN, OUT), PLAIN),
    "GENConv": (lambda: pyg.GENConv(IN, OUT, edge_dim=3), (*PLAIN, "edge_attr")),
    "GCN2Conv": (lambda: pyg.GCN2Conv(IN, alpha=0.2, theta=0.5, layer=2), ("x", "x2", "edge_index")),
    "PANConv": (lambda: pyg.PANConv(IN, OUT, filter_size=2), PLAIN),
    "WLConv": (lambda: pyg.WLConv(), ("colors", "edge_index")),
    "WLConvContinuous": (lambda: pyg.WLConvContinuous(), PLAIN),
    "FiLMConv": (lambda: pyg.FiLMConv(IN, OUT, num_relations=4), (*PLAIN, "edge_type")),
    "SuperGATConv": (lambda: pyg.SuperGATConv(IN, 4, heads=2), PLAIN),
    "FAConv": (lambda: pyg.FAConv(IN), ("x", "x2", "edge_index")),
    "EGConv": (lambda: pyg.EGConv(IN, OUT, num_heads=4, num_bases=2), PLAIN),
    "PDNConv": (lambda: pyg.PDNConv(IN, OUT, edge_dim=3, hidden_channels=5), (*PLAIN, "edge_attr")),
    "GeneralConv": (lambda: pyg.GeneralConv(IN, OUT, attention=True, heads=2), PLAIN),
    "HGTConv": (lambda: pyg.HGTConv(IN, OUT, METADATA, heads=2), ("dict", "edge_dict")),
    "HEATConv": (
        lambda: pyg.HEATConv(IN, 4, 4, 4, 3, 3, 4, heads=2),
        (*PLAIN, "node_type", "edge_type", "edge_attr"),
    ),
    "HeteroConv": (
        lambda: pyg.HeteroConv(
            {METADATA[1][0]: pyg.SAGEConv(IN, OUT), METADATA[1][1]: pyg.GATConv(IN, OUT, add_self_loops=False)}
        ),
        ("dict", "edge_dict"),
    ),
    "HANConv": (lambda: pyg.HANConv(IN, OUT, METADATA, heads=2), ("dict", "edge_dict")),
    "LGConv": (lambda: pyg.LGConv(), PLAIN),
    "PointGNNConv": (lambda: pyg.PointGNNConv(mlp(IN, 3), mlp(9, 8), mlp(8, IN)), ("x", "pos", "edge_index")),
    "GPSConv": (lambda: pyg.GPSConv(IN, pyg.GCNConv(IN, IN), heads=2), (*PLAIN, "batch")),
    "AntiSymmetricConv": (lambda: pyg.AntiSymmetricConv(IN), PLAIN),
    "DirGNNConv": (lambda: pyg.DirGNNConv(pyg.SAGEConv(IN, OUT)), PLAIN),
    "MixHopConv": (lambda: pyg.MixHopConv(IN, 4, powers=[0, 1, 2]), PLAIN),
}


class Score(nn.Module):
    """Of models that are trained by a method of their own."""

    def __init__(self, model: nn.Module, method: str) -> None:
        super().__init__()
        self.model, self.method = model, method

    def forward(self, *arguments: Any) -> Any:
        return getattr(self.model, self.method)(*arguments)


MODELS: dict[str, Construction] = {
    "MLP": (lambda: pyg.MLP([IN, 8, 4]), ("x",)),
    "GCN": (lambda: pyg.GCN(IN, 8, 2, 4, norm="batch", jk="cat"), PLAIN),
    "GraphSAGE": (lambda: pyg.GraphSAGE(IN, 8, 2, 4, norm="layer"), PLAIN),
    "GIN": (lambda: pyg.GIN(IN, 8, 2, 4), PLAIN),
    "GAT": (lambda: pyg.GAT(IN, 8, 2, 4, heads=2), PLAIN),
    "PNA": (
        lambda: pyg.PNA(IN, 8, 2, 4, aggregators=["mean", "max"], scalers=["identity", "amplification"], deg=DEGREES),
        PLAIN,
    ),
    "EdgeCNN": (lambda: pyg.EdgeCNN(IN, 8, 2, 4), PLAIN),
    "JumpingKnowledge": (lambda: pyg.JumpingKnowledge("lstm", IN, 2), ("list",)),
    "MetaLayer": (
        lambda: pyg.MetaLayer(node_model=_NodeModel(), edge_model=_EdgeModel()),
        ("x", "edge_index", "edge_attr"),
    ),
    "DeepGraphInfomax": (
        lambda: pyg.DeepGraphInfomax(OUT, pyg.GCNConv(IN, OUT), lambda z, *_, **__: z.mean(0).sigmoid(), _reversed),
        PLAIN,
    ),
    "InnerProductDecoder": (lambda: pyg.InnerProductDecoder(), PLAIN),
    "GAE": (lambda: Score(pyg.GAE(pyg.GCNConv(IN, OUT)), "encode"), PLAIN),
    "SignedGCN": (lambda: pyg.SignedGCN(IN, 8, 2), ("x", "edge_index", "other_index")),
    "GraphUNet": (lambda: pyg.GraphUNet(IN, 8, 4, 2), PLAIN),
    "SchNet": (lambda: pyg.SchNet(16, 8, 2, 8, interaction_graph=_Given()), ("z", "pos", "batch")),
    "DimeNet": (lambda: pyg.DimeNet(16, 4, 1, 4, 3, 3), ("z", "pos", "batch")),
    "DimeNetPlusPlus": (lambda: pyg.DimeNetPlusPlus(16, 4, 1, 4, 4, 8, 3, 3), ("z", "pos", "batch")),
    "DeepGCNLayer": (
        lambda: pyg.DeepGCNLayer(pyg.GENConv(IN, IN), nn.LayerNorm(IN), nn.ReLU(), block="res+"),
        PLAIN,
    ),
    "LabelPropagation": (lambda: pyg.LabelPropagation(3, 0.5), ("label", "edge_index")),
    "AttentiveFP": (lambda: pyg.AttentiveFP(IN, 8, 4, 3, 2, 2), (*PLAIN, "edge_attr", "batch")),
    "RECT_L": (lambda: pyg.RECT_L(IN, 8), PLAIN),
    "MaskLabel": (lambda: pyg.MaskLabel(4, IN), ("x", "colors", "mask")),
    "PMLP": (lambda: pyg.PMLP(IN, 8, 4, 2), PLAIN),
    "NeuralFingerprint": (lambda: pyg.NeuralFingerprint(IN, 8, 4, 2), (*PLAIN, "batch")),
    "ViSNet": (lambda: pyg.ViSNet(hidden_channels=16, num_heads=2, num_layers=1), ("z", "pos", "batch")),
    "SGFormer": (lambda: pyg.SGFormer(IN, 8, 4), (*PLAIN, "batch")),
    "Polynormer": (lambda: pyg.Polynormer(IN, 8, 4), (*PLAIN, "batch")),
    "GNNFF": (lambda: pyg.GNNFF(8, 4, 2), ("z", "pos", "batch")),
    "ARLinkPredictor": (lambda: Score(pyg.ARLinkPredictor(IN, 8), "encode"), ("x",)),
}

#: Named by the packages, but no layers and models to be compiled, or with a state of their own between calls.
OTHERS = {
    "MessagePassing": "the base class",
    "MeshCNNConv": "needs lists of meshes",
    "HeteroJumpingKnowledge": "a dictionary of JumpingKnowledge",
    "Node2Vec": "random walks; needs a package that is not there",
    "MetaPath2Vec": "random walks",
    "VGAE": "a GAE with random numbers",
    "ARGA": "a GAE with a second loss",
    "ARGVA": "a GAE with a second loss",
    "RENet": "takes events of a data set",
    "GPSENodeEncoder": "takes a Data object",
    "GPSE": "takes a Data object",
    "TGNMemory": "keeps a memory between calls",
    "CorrectAndSmooth": "has no forward",
    "GroupAddRev": "frees the memory of its inputs, which PyTorch reads again for the gradient",
    "LINKX": "has weights for each node of one graph",
    "LightGCN": "has features for each node of one graph",
    "LPFormer": "takes a sparse matrix",
    "to_captum_model": "a function",
    "to_captum_input": "a function",
    "captum_output_to_dicts": "a function",
}


class _EdgeModel(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(2 * IN + 3, 3)

    def forward(self, source: Tensor, target: Tensor, attributes: Tensor, u: Any, batch: Any) -> Tensor:
        return self.layer(torch.cat([source, target, attributes], -1)).relu()


class _NodeModel(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(IN + 3, OUT)

    def forward(self, x: Tensor, edge_index: Tensor, attributes: Tensor, u: Any, batch: Any) -> Tensor:
        messages = torch.cat([x[edge_index[0]], attributes], 1)
        sums = messages.new_zeros(x.shape[0], IN + 3).index_add(0, edge_index[1], messages)
        return self.layer(sums)


class _Given(nn.Module):
    """A ring in place of a radius graph, which needs a package that is not there."""

    def forward(self, pos: Tensor, batch: Tensor) -> tuple[Tensor, Tensor]:
        source = torch.arange(pos.shape[0])
        edge_index = torch.stack([source, (source + 1) % pos.shape[0]])
        return edge_index, (pos[edge_index[0]] - pos[edge_index[1]]).norm(dim=-1)


def _reversed(x: Tensor, edge_index: Tensor) -> tuple[Tensor, Tensor]:
    return x.flip(0), edge_index
