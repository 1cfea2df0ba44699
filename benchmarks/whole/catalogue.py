"""Which models there are: names, shapes and where they are written. Nothing here needs PyTorch."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from torch import nn

#: What computes a model.
WAYS = ("eager", "torch.compile", "reduce-overhead", "gnnc")


@dataclass(frozen=True)
class Size:
    """How large a graph is, beside the published one, and how deep the model is."""

    scale: float
    depth: int

    def of(self, count: int, least: int = 4) -> int:
        return max(least, round(count * self.scale))


@dataclass
class Made:
    """A model, what it is called with, and what the loss compares its result with."""

    module: nn.Module
    inputs: tuple[Any, ...]
    target: Any
    loss: Callable[[Any, Any], Any]


@dataclass(frozen=True)
class Entry:
    title: str
    place: str  # module.function of this folder
    depth: int = 0  # 0: it has none that can be changed
    package: str = ""  # that it comes from, other than PyTorch and PyTorch Geometric
    given: dict[str, Any] = field(default_factory=dict)

    def deep(self, asked: int | None) -> int:
        """Its depth where another may be asked for."""
        return asked if asked and self.depth else self.depth

    def make(self, size: Size) -> Made:
        module, _, function = self.place.rpartition(".")
        return getattr(importlib.import_module(f"whole.{module}"), function)(size, **self.given)


CATALOGUE = {
    "mesh15": Entry("MeshGraphNet, 15 blocks of 128", "physics.mesh_graph_net", depth=15),
    "mesh4": Entry("MeshGraphNet, 4 blocks of 128", "physics.mesh_graph_net", depth=4, given={"nodes": 60000}),
    "tracks": Entry("interaction network for tracks, 6 steps of 64", "physics.tracks", depth=6),
    "graphcast": Entry("GraphCast's processor, 16 layers of 512", "physics.graph_cast", depth=16),
    "bipartite": Entry("encoder, 4 layers on a mesh, decoder, 256 wide", "physics.bipartite", depth=4),
    "schnet": Entry("SchNet, 6 blocks of 128", "molecules.schnet", depth=6),
    "painn": Entry("PaiNN, 3 blocks of 128", "molecules.painn", depth=3),
    "dimenet": Entry("DimeNet++, 4 blocks of 128", "molecules.dimenet", depth=4),
    "egnn": Entry("EGNN, 7 layers of 128", "molecules.egnn", depth=7),
    "tensors": Entry("tensor products of l ≤ 2, 4 layers of 32", "tensors.tensors", depth=4),
    "dmpnn": Entry("D-MPNN, 3 steps of 300", "bonds.dmpnn", depth=3),
    "gin": Entry("GIN with a virtual node, 5 layers of 300", "bonds.gin", depth=5),
    "pna": Entry("PNA, 4 layers of 75, 5 towers", "bonds.pna", depth=4),
    "gatedgcn": Entry("GatedGCN, 16 layers of 70", "bonds.gated_gcn", depth=16),
    "gps": Entry("GPS with global attention, 10 layers of 64", "bonds.gps", depth=10),
    "gpslocal": Entry("GPS without global attention, 10 layers of 64", "bonds.gps_local", depth=10),
    "pointnet": Entry("PointNet++, edges given", "clouds.point_net"),
    "dgcnn": Entry("DGCNN, edges given", "clouds.dgcnn"),
    "rgcn": Entry("R-GCN, embeddings, AIFB's size", "relations.rgcn"),
    "rgcnrows": Entry("R-GCN, features, 30 bases", "relations.rgcn_rows", depth=2),
    "hgt": Entry("HGT, 2 layers of 64", "relations.hgt", depth=2),
    "hetero": Entry("heterogeneous SAGE, 2 layers of 64", "relations.hetero_sage", depth=2),
    "lightgcn": Entry("LightGCN, 3 layers of 64, Gowalla's size", "relations.light_gcn", depth=3),
    "weather": Entry("weather, [batch, grid, ·], 4 layers of 128", "batches.weather", depth=4),
    "sensors": Entry("sensors, [batch, time, sensors, ·], 4 layers of 64", "batches.sensors", depth=4),
    "pairs": Entry("pairs of atoms, [batch, atoms, ·], 4 layers of 64", "batches.pairs", depth=4),
    "agents": Entry("transformer of agents, [batch, agents, ·], 4 layers of 128", "batches.agents", depth=4),
    "tgcn": Entry("T-GCN, 12 steps of 64", "traffic.tgcn", depth=12),
    "dcrnn": Entry("DCRNN, 12 steps of 64, 2 hops", "traffic.dcrnn", depth=12),
    "gatv2": Entry("GATv2 with edge features, 8 layers of 8 × 16", "deep.gatv2", depth=8),
    "deepergcn": Entry("DeeperGCN, softmax, 28 layers of 64", "deep.deeper_gcn", depth=28),
    "gcnii": Entry("GCNII, 64 layers of 64, Cora's size", "deep.gcnii", depth=64),
    "sage": Entry("SAGE with batch norm, 3 layers of 256, arxiv's size", "deep.sage", depth=3),
    "e3nn": Entry("e3nn's tensor product network", "packages.e3nn", depth=3, package="e3nn"),
    "mace": Entry("MACE, 2 layers of 128, l ≤ 1", "packages.mace", depth=2, package="mace"),
}
#: Which compile longest, and are started first.
LONG = ("mesh15", "deepergcn", "gcnii", "graphcast", "dcrnn", "tgcn", "mace", "e3nn", "dimenet", "tensors", "gatedgcn")
#: Whose time, memory and compilation must be linear in depth.
DEEP, DEPTHS = ("mesh4", "tracks"), (2, 4, 8, 16, 32)
