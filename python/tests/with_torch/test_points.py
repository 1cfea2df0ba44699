# Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
# See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Point clouds that modules thin out, and functions of other packages that search for points."""

from __future__ import annotations

import sys
import types
import unittest
from unittest import mock

import torch
from torch import Tensor, nn

import gnnc
from gnnc import ops
from gnnc.torch import _searches
from torch_modules import TorchTest


def clouds(nodes: int, groups: int) -> tuple[Tensor, Tensor]:
    batch = torch.randint(0, groups, (nodes,)).sort()[0]
    batch[:groups] = torch.arange(groups)
    return torch.randn(nodes, 3).double(), batch.sort()[0]


def farthest(points: Tensor, count: int) -> list[int]:
    """Point by point, from the first on."""
    chosen = [0]
    while len(chosen) < count:
        near = (points[:, None] - points[chosen]).square().sum(-1).min(1)[0]
        near[chosen] = -1
        chosen.append(int(near.argmax()))
    return chosen


class SetAbstraction(nn.Module):
    """PointNet++: fewer points, each with a network of what is near it."""

    def __init__(self, ratio: float, radius: float, inputs: int, outputs: int) -> None:
        super().__init__()
        self.ratio, self.radius = ratio, radius
        self.net = nn.Sequential(nn.Linear(inputs + 3, 16), nn.ReLU(), nn.Linear(16, outputs))

    def forward(self, x: Tensor, pos: Tensor, batch: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        centres = ops.fps(pos, batch, self.ratio)
        row, col = ops.radius(pos, pos[centres], self.radius, batch, batch[centres], max_num_neighbors=16)
        message = self.net(torch.cat([x[col], pos[col] - pos[centres][row]], 1))
        h = message.new_zeros(len(centres), message.size(1))
        h = h.scatter_reduce(0, row[:, None].expand_as(message), message, "amax", include_self=False)
        return h, pos[centres], batch[centres]


class Classes(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = SetAbstraction(0.5, 0.9, 3, 12), SetAbstraction(0.4, 1.6, 12, 24)
        self.out = nn.Linear(24, 5)

    def forward(self, pos: Tensor, batch: Tensor) -> Tensor:
        h = self.second(*self.first(pos, pos, batch))
        groups = int(batch.max()) + 1
        pooled = h[0].new_zeros(groups, 24).index_add(0, h[2], h[0])
        return self.out(pooled)


class Parts(nn.Module):
    """A class for each point, from those that were chosen back to all of them."""

    def __init__(self) -> None:
        super().__init__()
        self.down, self.up = SetAbstraction(0.3, 1.2, 3, 8), nn.Linear(11, 4)

    def forward(self, pos: Tensor, batch: Tensor) -> Tensor:
        h, centres, of = self.down(pos, pos, batch)
        to, source = ops.knn(centres, pos, 2, of, batch)
        weight = 1 / ((centres[source] - pos[to]).square().sum(1, keepdim=True) + 0.1)
        total = torch.zeros(len(pos), 8, dtype=h.dtype).index_add(0, to, weight * h[source])
        return self.up(torch.cat([pos, total / torch.zeros_like(pos[:, :1]).index_add(0, to, weight)], 1))


class Points(TorchTest):
    def test_farthest_points_are_those_of_a_loop(self) -> None:
        pos, batch = clouds(90, 4)
        for points in (pos, pos.round(), pos[:, :1]):
            expected = []
            for group in range(4):
                own = (batch == group).nonzero().squeeze(1)
                count = -(-len(own) * 3 // 10)
                expected += own[farthest(points[own], count)].tolist()
            self.assertEqual(ops.fps(points, batch, 0.3).tolist(), expected)

    def test_no_point_is_chosen_twice_and_what_is_no_number_comes_last(self) -> None:
        same = torch.zeros(6, 3)
        self.assertEqual(ops.fps(same, None, 1.0).tolist(), list(range(6)))
        same[2] = torch.nan
        same[4] = 1
        self.assertEqual(ops.fps(same, None, 1.0).tolist(), [0, 4, 1, 3, 5, 2])
        with self.assertRaisesRegex(ValueError, "random_start=False"):
            ops.fps(same, random_start=True)
        with self.assertRaisesRegex(ValueError, "ratio"):
            ops.fps(same, ratio=1.5)

    def test_networks_of_chosen_points(self) -> None:
        for module in (Classes(), Parts()):
            module.double()
            self.assertLikeEager(module, [clouds(60, 3), clouds(37, 3), clouds(160, 5)])

    def test_functions_of_packages(self) -> None:
        """Wherever they were imported to; torch.export does not know what they call."""

        def unknown(*_: object, **__: object) -> Tensor:
            raise ImportError("requires a library")

        package = types.ModuleType("package_of_searches")
        for name in ("fps", "knn", "knn_graph", "radius", "radius_graph"):
            setattr(package, name, types.FunctionType(unknown.__code__, globals(), name))
        user = types.ModuleType("user_of_searches")
        sys.modules.update({each.__name__: each for each in (package, user)})
        self.addCleanup(lambda: [sys.modules.pop(each.__name__) for each in (package, user)])
        user.near = package.radius_graph  # type: ignore[attr-defined]
        user.thin_out = package.fps  # type: ignore[attr-defined]
        with mock.patch.object(_searches, "_PACKAGES", (package.__name__,)):

            class Module(nn.Module):
                def __init__(self) -> None:
                    super().__init__()
                    self.lin = nn.Linear(3, 4)

                def forward(self, pos: Tensor, batch: Tensor) -> Tensor:
                    src, dst = user.near(pos, r=1.0, batch=batch)
                    h = torch.zeros(len(pos), 4).index_add(0, dst, self.lin(pos[src] - pos[dst]).relu())
                    best = user.thin_out(pos, batch, ratio=0.5, random_start=False)
                    return h + torch.zeros_like(h).index_add(0, batch[best], h[best])

            module = Module()
            exported = gnnc.compile(module)
            for nodes in (40, 55):
                pos, batch = clouds(nodes, 3)
                pos = pos.float()
                found = exported(pos, batch)
                with mock.patch.multiple(user, near=ops.radius_graph, thin_out=ops.fps):
                    torch.testing.assert_close(found, module(pos, batch))
            self.assertIs(user.near, package.radius_graph)

    def test_random_first_points_are_refused(self) -> None:
        """The module itself, with the package's own function, raises nothing."""

        def fps(x: Tensor, batch: Tensor | None = None, ratio: float = 0.5, random_start: bool = True) -> Tensor:
            return ops.fps(x, batch, ratio)

        package = types.ModuleType("package_of_searches")
        package.fps = fps  # type: ignore[attr-defined]
        sys.modules[package.__name__] = package
        self.addCleanup(sys.modules.pop, package.__name__)

        class Module(nn.Module):
            def forward(self, pos: Tensor, batch: Tensor) -> Tensor:
                best = package.fps(pos, batch)
                return torch.zeros_like(pos).index_add(0, batch[best], pos[best])

        with mock.patch.object(_searches, "_PACKAGES", (package.__name__,)):
            with self.assertRaisesRegex(gnnc.Error, "cannot export Module: .*random_start=False"):
                gnnc.compile(Module(), clouds(30, 2))


if __name__ == "__main__":
    unittest.main()
