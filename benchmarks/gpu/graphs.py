"""Graphs of the GPU's grid as tensors: seeded ones with the size and the skew of published ones, and real or typed ones
from files (data/FORMAT.md: edge_index, and edge_type or node_type where there are types)."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import torch
from torch import Tensor

# Nodes, edges, and the exponent of the power law by which both ends of an edge are drawn; 0: evenly.
SIZES = {
    "arxiv": (169343, 1166243, 0.55),
    "tolokers": (11758, 1038000, 0.45),
    "pokec": (1632803, 30622564, 0.4),
    "roads": (142257, 279061, 0.0),
    "reddit": (232965, 114615892, 0.4),
}
CLOUDS, POINTS = 64, 1024  # of EdgeConv's point clouds


@dataclass
class Graph:
    """Edges sorted by destination. `types`: for each edge, and for each node."""

    name: str
    nodes: int
    src: Tensor
    dst: Tensor
    edge_type: Tensor | None = None
    node_type: Tensor | None = None
    generated: bool = True
    extents: dict[str, int] = field(default_factory=dict)

    @property
    def edges(self) -> int:
        return self.src.numel()

    def maps(self) -> dict[str, Tensor]:
        """By the names that models have for them, in int32 on the host."""
        found = {"src": self.src, "dst": self.dst, "etype": self.edge_type, "ntype": self.node_type}
        return {name: data.to("cpu", torch.int32).contiguous() for name, data in found.items() if data is not None}


def generate(name: str, device: str, seed: int = 0) -> Graph:
    nodes, edges, exponent = SIZES[name]
    generator = torch.Generator(device=device).manual_seed(seed)
    weight = torch.arange(1, nodes + 1, device=device, dtype=torch.float64) ** -exponent
    hubs = torch.randperm(nodes, generator=generator, device=device)
    total = torch.cumsum(weight[torch.argsort(hubs)], 0)
    total /= total[-1].clone()

    def draw() -> Tensor:
        ends = torch.empty(edges, dtype=torch.int64, device=device)
        for part in ends.split(1 << 24):
            at = torch.rand(part.numel(), generator=generator, device=device, dtype=torch.float64)
            part.copy_(torch.searchsorted(total, at).clamp_(max=nodes - 1))
        return ends

    dst, src = draw(), draw()
    order = torch.argsort(dst)
    return Graph(name, nodes, src[order], dst[order])


def point_clouds(name: str, device: str, seed: int = 0) -> Graph:
    """k20, k40: so many neighbours, each anywhere in its point's own cloud."""
    neighbours = int(name.removeprefix("k"))
    nodes = CLOUDS * POINTS
    generator = torch.Generator(device=device).manual_seed(seed)
    dst = torch.arange(nodes, device=device).repeat_interleave(neighbours)
    near = torch.randint(0, POINTS, (dst.numel(),), generator=generator, device=device)
    return Graph(name, nodes, dst // POINTS * POINTS + near, dst)


def read(path: Path, device: str) -> Graph:
    from safetensors import safe_open

    with safe_open(path, "pt") as file:
        info = file.metadata()
        tensors = {name: file.get_tensor(name).to(device) for name in file.keys() if name.startswith(("edge", "node"))}
    src, dst = tensors["edge_index"].long()
    order = torch.argsort(dst, stable=True)
    types = tensors["edge_type"].long()[order] if "edge_type" in tensors else None
    count = int(info["num_nodes"])
    sorts = tensors["node_type"].long() if "node_type" in tensors else None
    if types is not None and sorts is None:  # aifb's file does not say: all are of one type
        sorts = torch.zeros(count, dtype=torch.int64, device=device)
    return Graph(path.stem, count, src[order], dst[order], types, sorts, generated=False)


def load(name: str, folders: list[Path], device: str = "cuda") -> Graph:
    """A graph by name; its file in one of the folders comes before one that is made, except for those of SIZES."""
    if name in SIZES:
        return generate(name, device)
    if name in ("k20", "k40"):
        return point_clouds(name, device)
    for folder in folders:
        if (folder / f"{name}.safetensors").exists():
            return read(folder / f"{name}.safetensors", device)
    raise FileNotFoundError(f"no file {name}.safetensors in {', '.join(map(str, folders))}")
