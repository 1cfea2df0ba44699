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
        with self.assertRaisesRegex(ValueError, "ratio"):
            ops.fps(same, ratio=1.5)

    def test_first_points_are_as_random_as_eagerly(self) -> None:
        class Module(nn.Module):
            def forward(self, pos: Tensor, batch: Tensor) -> Tensor:
                best = ops.fps(pos, batch, 0.2, random_start=True)
                return torch.zeros(int(batch.max()) + 1, 3).index_add(0, batch[best], pos[best] * pos[best][:, :1])

        pos, batch = clouds(60, 3)
        starts = [ops.fps(pos, batch, 0.01, random_start=True)[0].item() for _ in range(50)]
        self.assertGreater(len(set(starts)), 3)
        module, fast = Module(), gnnc.compile(Module())
        found = set()
        for seed in range(6):
            for points, group in ((pos.float(), batch), (pos[:50].float(), batch[:50])):
                torch.manual_seed(seed)
                expected = module(points, group)
                torch.manual_seed(seed)
                torch.testing.assert_close(fast(points, group), expected)
                found.add(expected.sum().item())
        self.assertGreater(len(found), 4)

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

    @unittest.skipIf(hasattr(torch.ops.pyg, "knn"), "pyg-lib is installed, whose operator the test defines")
    def test_operators_that_layers_call(self) -> None:
        """With pointers that are made of a batch, as PyTorch Geometric's DynamicEdgeConv and GravNetConv do."""
        library = torch.library.Library("pyg", "FRAGMENT")
        self.addCleanup(library._destroy)
        library.define(
            "knn(Tensor x, Tensor y, Tensor? ptr_x, Tensor? ptr_y, int k, bool cosine, int num_workers) -> Tensor"
        )

        def knn(x: Tensor, y: Tensor, ptr_x: Tensor, ptr_y: Tensor, k: int, cosine: bool, num_workers: int) -> Tensor:
            batches = [torch.repeat_interleave(torch.arange(len(ptr) - 1), ptr.diff()) for ptr in (ptr_x, ptr_y)]
            return ops.knn(x.detach(), y.detach(), k, *batches)

        library.impl("knn", knn, "CPU")
        package = types.ModuleType("package_of_indices")

        def index2ptr(index: Tensor, size: int | None = None) -> Tensor:
            size = int(index.max()) + 1 if size is None else size
            return torch._convert_indices_from_coo_to_csr(index, size)

        package.index2ptr = index2ptr  # type: ignore[attr-defined]
        sys.modules[package.__name__] = package
        self.addCleanup(sys.modules.pop, package.__name__)

        class Module(nn.Module):
            def __init__(self) -> None:
                super().__init__()
                self.lin = nn.Linear(6, 4)

            def forward(self, x: Tensor, batch: Tensor) -> Tensor:
                ptr = package.index2ptr(batch)
                dst, src = torch.ops.pyg.knn(x, x, ptr, ptr, 3, False, 1)
                message = self.lin(torch.cat([x[dst], x[src] - x[dst]], 1)).relu()
                return torch.zeros(len(x), 4).index_add(0, dst, message)

        with mock.patch.object(_searches, "_OTHERS", ((package.__name__, "index2ptr", _searches._index2ptr),)):
            module = Module()
            fast = gnnc.compile(module)
            for nodes in (30, 41):
                pos, batch = clouds(nodes, 2)
                batch = batch.sort().values
                torch.testing.assert_close(fast(pos.float(), batch), module(pos.float(), batch))
        self.assertIs(package.index2ptr, index2ptr)

    def test_what_is_not_followed_is_refused(self) -> None:
        """The module itself, with the package's own function, raises nothing."""

        def fps(x: Tensor, batch: Tensor | None = None, ratio: float = 0.5, ptr: Tensor | None = None) -> Tensor:
            return ops.fps(x, batch, ratio)

        package = types.ModuleType("package_of_searches")
        package.fps = fps  # type: ignore[attr-defined]
        sys.modules[package.__name__] = package
        self.addCleanup(sys.modules.pop, package.__name__)

        class Module(nn.Module):
            def forward(self, pos: Tensor, batch: Tensor) -> Tensor:
                best = package.fps(pos, batch, ptr=pos)
                return torch.zeros_like(pos).index_add(0, batch[best], pos[best])

        with mock.patch.object(_searches, "_PACKAGES", (package.__name__,)):
            with self.assertRaisesRegex(gnnc.Error, "cannot export Module: .*instead of 'ptr'"):
                gnnc.compile(Module(), clouds(30, 2))


if __name__ == "__main__":
    unittest.main()
