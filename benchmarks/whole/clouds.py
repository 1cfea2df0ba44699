"""Clouds of points, whose edges and samples are given."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from whole.catalogue import Made, Size
from whole.graphs import clouds, labels, nearest


class PointNet(nn.Module):
    """PointNet++ of PyTorch Geometric's example for ModelNet: two levels of samples, and a maximum over each cloud."""

    def __init__(self, count: int) -> None:
        super().__init__()
        from torch_geometric.nn import MLP, PointNetConv

        self.count = count
        self.conv1 = PointNetConv(MLP([3, 64, 64, 128]), add_self_loops=False)
        self.conv2 = PointNetConv(MLP([128 + 3, 128, 128, 256]), add_self_loops=False)
        self.top = MLP([256 + 3, 256, 512, 1024])
        self.head = MLP([1024, 512, 256, 10], dropout=0.0, norm=None)

    def forward(
        self, pos: Tensor, sample1: Tensor, edges1: Tensor, sample2: Tensor, edges2: Tensor, batch: Tensor
    ) -> Tensor:
        from torch_geometric.nn import global_max_pool

        pos1 = pos[sample1]
        x = self.conv1((None, None), (pos, pos1), edges1)
        pos2 = pos1[sample2]
        x = self.conv2((x, x[sample2]), (pos1, pos2), edges2)
        x = self.top(torch.cat([x, pos2], dim=1))
        return self.head(global_max_pool(x, batch, self.count))


def point_net(size: Size) -> Made:
    """16 clouds of 1024 points, then 512 and 128 of them, with 64 neighbours each."""
    count, (points, half, eighth) = size.of(16), (1024, 512, 128)
    pos = clouds(count, points)
    first = torch.arange(count)[:, None]
    sample1 = (first * points + torch.arange(0, points, points // half)).reshape(-1)
    sample2 = (first * half + torch.arange(0, half, half // eighth)).reshape(-1)
    pos1 = pos.reshape(-1, 3)[sample1].view(count, half, 3)
    pos2 = pos1.reshape(-1, 3)[sample2].view(count, eighth, 3)
    edges1, edges2 = nearest(pos1, pos, 64), nearest(pos2, pos1, 64)
    batch = torch.arange(count).repeat_interleave(eighth)
    inputs = (pos.reshape(-1, 3), sample1, edges1, sample2, edges2, batch)
    return Made(PointNet(count), inputs, labels(count, 10), F.cross_entropy)


class DGCNN(nn.Module):
    """Wang et al., 2019, for ModelNet; the neighbours of all layers are those in space."""

    def __init__(self, count: int) -> None:
        super().__init__()
        from torch_geometric.nn import MLP, EdgeConv

        self.count = count
        act = {"act": "leaky_relu", "act_kwargs": {"negative_slope": 0.2}}
        widths = [3, 64, 64, 128, 256]
        self.convs = nn.ModuleList(
            EdgeConv(MLP([2 * a, b], plain_last=False, **act), aggr="max") for a, b in zip(widths, widths[1:])
        )
        self.top = MLP([sum(widths[1:]), 1024], plain_last=False, **act)
        self.head = MLP([2048, 512, 256, 40], **act)

    def forward(self, x: Tensor, edge_index: Tensor, batch: Tensor) -> Tensor:
        from torch_geometric.nn import global_max_pool, global_mean_pool

        found = []
        for conv in self.convs:
            x = conv(x, edge_index)
            found.append(x)
        x = self.top(torch.cat(found, dim=1))
        pooled = [global_max_pool(x, batch, self.count), global_mean_pool(x, batch, self.count)]
        return self.head(torch.cat(pooled, dim=1))


def dgcnn(size: Size) -> Made:
    """16 clouds of 1024 points with 20 neighbours."""
    count = size.of(16)
    pos = clouds(count, 1024)
    batch = torch.arange(count).repeat_interleave(1024)
    return Made(DGCNN(count), (pos.reshape(-1, 3), nearest(pos, pos, 20), batch), labels(count, 40), F.cross_entropy)
