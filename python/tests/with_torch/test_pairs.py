# Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
# See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

"""Numbers for pairs of elements: attention of all to all, in graphs and in batches of them, and kernels of distances."""

import unittest

import torch
import torch.nn.functional as F
from torch import Tensor, nn

import gnnc.torch
from gnnc._errors import CompileError

try:
    from torch_geometric.nn import GINConv, GPSConv
except ImportError:
    GPSConv = None


def to_dense_batch(x: Tensor, batch: Tensor) -> tuple[Tensor, Tensor]:
    """The nodes of each graph in a row of a matrix, as PyTorch Geometric has them, and which places are taken."""
    graphs = int(batch.max()) + 1
    counts = torch.zeros(graphs, dtype=torch.long).scatter_add_(0, batch, torch.ones_like(batch))
    first = torch.cat([batch.new_zeros(1), counts.cumsum(0)])
    most = int(counts.max())
    places = torch.arange(batch.size(0)) - first[batch] + batch * most
    rows = x.new_zeros([graphs * most, x.size(1)])
    rows[places] = x
    mask = torch.zeros(graphs * most, dtype=torch.bool)
    mask[places] = 1
    return rows.view(graphs, most, x.size(1)), mask.view(graphs, most)


class ByHand(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.q, self.k, self.v = nn.Linear(16, 8), nn.Linear(16, 8), nn.Linear(16, 12)

    def forward(self, x: Tensor) -> Tensor:
        return torch.softmax(self.q(x) @ self.k(x).T / 8**0.5, dim=-1) @ self.v(x)


class Heads(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.qkv, self.out = nn.Linear(16, 48), nn.Linear(16, 16)

    def forward(self, x: Tensor) -> Tensor:
        q, k, v = (each.transpose(0, 1)[None] for each in self.qkv(x).view(x.size(0), 3, 4, 4).unbind(1))
        y = F.scaled_dot_product_attention(q, k, v)[0]
        return self.out(y.transpose(0, 1).reshape(x.size(0), 16))


class Encoder(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList(
            nn.TransformerEncoderLayer(16, 4, 32, dropout=0.0, batch_first=True) for _ in range(2)
        )

    def forward(self, x: Tensor) -> Tensor:
        x = x[None]
        for layer in self.layers:
            x = layer(x)
        return x[0]


class Kernel(nn.Module):
    """Sums along one dim, along the other, and along both."""

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        w = torch.exp(-((x[:, None] - x[None]) ** 2).sum(-1))
        return (w[..., None] * (x[None] - x[:, None])).sum(1), (w * x[:, :1]).sum(0), w.mean() + w.amin(1).sum()


class Biased(nn.Module):
    """Scores with a bias from relative positions, by a small network."""

    def __init__(self) -> None:
        super().__init__()
        self.q, self.f = nn.Linear(16, 16), nn.Linear(3, 4)

    def forward(self, x: Tensor, pos: Tensor) -> Tensor:
        z = self.q(x).view(-1, 4, 4)
        bias = torch.sigmoid(self.f(pos[:, None] - pos[None]))
        weights = (torch.einsum("ihd,jhd->ijh", z, z) / 2 + bias).softmax(1)
        return torch.einsum("ijh,jhd->ihd", weights, z).flatten(1)


class TwoSets(nn.Module):
    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        return torch.softmax(x @ y.T, dim=1) @ y


class InBatches(nn.Module):
    def __init__(self, masked: bool = True) -> None:
        super().__init__()
        self.attention, self.norm, self.masked = (
            nn.MultiheadAttention(16, 4, batch_first=True),
            nn.LayerNorm(16),
            masked,
        )

    def forward(self, x: Tensor, batch: Tensor) -> Tensor:
        rows, mask = to_dense_batch(x, batch)
        missing = ~mask if self.masked else None
        h, _ = self.attention(rows, rows, rows, key_padding_mask=missing, need_weights=False)
        return self.norm(x + h[mask])


class OneRow(nn.Module):
    """A graph alone, in a row of its own whose places are all taken."""

    def __init__(self) -> None:
        super().__init__()
        self.attention = nn.MultiheadAttention(16, 4, batch_first=True)

    def forward(self, x: Tensor) -> Tensor:
        rows, mask = x.unsqueeze(0), torch.ones(1, x.size(0), dtype=torch.bool, device=x.device)
        return self.attention(rows, rows, rows, key_padding_mask=~mask, need_weights=False)[0][mask]


class RowsByHand(nn.Module):
    """The same attention by a softmax of one's own, and by one of PyTorch's with a mask of truth values."""

    def __init__(self) -> None:
        super().__init__()
        self.qkv = nn.Linear(16, 48)

    def forward(self, x: Tensor, batch: Tensor) -> tuple[Tensor, Tensor]:
        rows, mask = to_dense_batch(x, batch)
        q, k, v = self.qkv(rows).chunk(3, dim=-1)
        scores = (q @ k.transpose(1, 2) / 4).masked_fill(~mask.unsqueeze(1), -torch.inf)
        graphs, most, _ = rows.shape
        heads = self.qkv(rows).view(graphs, most, 3, 4, 4).permute(2, 0, 3, 1, 4)
        y = F.scaled_dot_product_attention(heads[0], heads[1], heads[2], attn_mask=mask[:, None, None, :])
        return (scores.softmax(-1) @ v)[mask], y.transpose(1, 2).reshape(graphs, most, 16)[mask]


class Seeds(nn.Module):
    """Learnt queries, the same for all graphs, attend to the elements of each (Set Transformer's pooling)."""

    def __init__(self, way: int) -> None:
        super().__init__()
        self.attention = nn.MultiheadAttention(16, 4, batch_first=True) if way == 0 else None
        self.lin, self.seeds, self.way = nn.Linear(16, 16), nn.Parameter(torch.randn(1, 3, 16)), way

    def forward(self, x: Tensor, batch: Tensor) -> Tensor:
        rows, mask = to_dense_batch(self.lin(x), batch)
        seeds = self.seeds.expand(rows.size(0), -1, -1)
        if self.attention is not None:
            return self.attention(seeds, rows, rows, key_padding_mask=~mask, need_weights=False)[0]
        if self.way == 1:
            scores = seeds @ rows.transpose(1, 2)
        else:
            scores = self.seeds[0] @ rows.transpose(1, 2)
        if self.way < 3:
            scores = scores.masked_fill(~mask[:, None], -torch.inf)
        return scores.softmax(-1) @ rows


class Contrast(nn.Module):
    """Losses of two views of the same elements, which are to be similar to themselves (GRACE, SimCLR, CLIP)."""

    def __init__(self, way: int) -> None:
        super().__init__()
        self.lin, self.way = nn.Linear(6, 6), way

    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        a, b = F.normalize(self.lin(x)), F.normalize(self.lin(y))
        scores = (a @ b.t()).div(0.5)
        if self.way == 0:
            scores = scores.exp()
            return -torch.log(scores.diag() / (scores.sum(1) - scores.diag())).mean()
        if self.way == 1:
            target = torch.arange(x.size(0), device=x.device)
            return F.cross_entropy(scores, target) + F.cross_entropy(scores.t(), target, reduction="sum")
        if self.way == 2:
            return (scores - torch.diagonal(scores)[:, None]).relu().sum(1)
        own = (a @ a.t()).exp()
        return torch.diagonal(own.sin() * 2 + own.sum(1)[:, None]) * scores.softmax(1).log().diag()


class Matching(nn.Module):
    """Li et al., 2019: what nodes of one graph attend to in the other."""

    def forward(self, x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        scores = F.normalize(x, dim=-1) @ F.normalize(y, dim=-1).T
        return x - scores.softmax(1) @ y, y - scores.softmax(0).T @ x


class SeeingScores(nn.Module):
    """Differences to the zeros behind the elements of a row."""

    def forward(self, x: Tensor, batch: Tensor) -> Tensor:
        rows, mask = to_dense_batch(x, batch)
        return (rows[:, :, None] - rows[:, None]).abs().sum(2)[mask]


class SeeingUnmasked(nn.Module):
    def forward(self, x: Tensor, batch: Tensor) -> Tensor:
        rows, mask = to_dense_batch(x, batch)
        return ((rows @ rows.transpose(1, 2)) @ rows)[mask]


class LearntGraph(nn.Module):
    """A matrix of all pairs of nodes, the same for each batch, beside a list of edges; [batch, channels, nodes, time]."""

    def __init__(self) -> None:
        super().__init__()
        self.conv, self.mix = nn.Conv2d(2, 4, (1, 2)), nn.Conv2d(12, 4, (1, 1))
        self.first, self.second = nn.Linear(6, 3), nn.Linear(6, 3)

    def forward(self, x: Tensor, places: Tensor, edges: Tensor) -> Tensor:
        graph = F.softmax(F.relu(self.first(places) @ self.second(places).t()), dim=1)
        h = self.conv(F.pad(x, (2, 0, 0, 0)))
        listed = torch.zeros_like(h).index_add(2, edges[1], h[:, :, edges[0]])
        return self.mix(torch.cat([h, listed, torch.einsum("ncvl,vw->ncwl", h, graph)], 1))


class Folded(nn.Module):
    """Sums of pairs whose other side was made one axis with another."""

    def forward(self, x: Tensor) -> Tensor:
        n, width = x.shape
        a = (x[:, None] * x[None]).tanh().permute(0, 2, 1).reshape(width * n, n).sum(1)
        return a.view(n, width).sum(0)


class Tempered(nn.Module):
    """A number for each graph meets the scores of its pairs."""

    def forward(self, x: Tensor, batch: Tensor) -> Tensor:
        rows, mask = to_dense_batch(x, batch)
        t = x.new_zeros(rows.size(0)).index_add(0, batch, x[:, 0]).sigmoid()
        scores = (rows @ rows.transpose(1, 2)) * t[:, None, None]
        return (scores.masked_fill(~mask[:, None], -torch.inf).softmax(-1) @ rows)[mask]


class Wrong(nn.Module):
    """What would see other places than those of the nodes, in one way of several."""

    def __init__(self, way: int) -> None:
        super().__init__()
        self.way = way

    def forward(self, x: Tensor, batch: Tensor, other: Tensor) -> Tensor:
        rows, mask = to_dense_batch(x, batch)
        others, another = to_dense_batch(x, other)
        scores = rows @ rows.transpose(1, 2)
        if self.way == 0:
            return F.scaled_dot_product_attention(rows, rows, rows, attn_mask=another[:, None])[mask]
        if self.way == 1:
            return rows[another]
        if self.way == 2:
            return rows[:, torch.tensor([0])].sum(1)[batch]
        if self.way == 3:
            weights = scores.masked_fill(~mask[:, None], -torch.inf).softmax(-1)
            return ((weights + (~mask)[:, None].to(x.dtype)) @ rows)[mask]
        if self.way == 4:
            return (scores.masked_fill((mask * ~mask)[:, None], -torch.inf).softmax(-1) @ rows)[mask]
        return (rows + others)[mask]


class Seeing(nn.Module):
    """Behind the elements of a row are zeros, which a softmax sees."""

    def forward(self, x: Tensor, batch: Tensor) -> Tensor:
        rows, mask = to_dense_batch(x, batch)
        return rows.softmax(1)[mask]


def batch_of(*sizes: int) -> Tensor:
    return torch.repeat_interleave(torch.arange(len(sizes)), torch.tensor(sizes))


class PairsTest(unittest.TestCase):
    def setUp(self) -> None:
        torch.manual_seed(0)

    def compare(self, model: nn.Module, *graphs: tuple[Tensor, ...]) -> None:
        model = model.double()
        compiled = gnnc.torch.compile(model)
        for inputs in graphs:
            floats = [x.double().requires_grad_() if x.is_floating_point() else x for x in inputs]
            results = []
            for function in (model, compiled):
                y = function(*floats)
                y = y if isinstance(y, tuple) else (y,)
                loss = sum((each * torch.cos(torch.arange(each.numel()).view_as(each))).sum() for each in y)
                by = [x for x in floats if x.is_floating_point()] + list(model.parameters())
                results.append((*y, *torch.autograd.grad(loss, by)))
            for expected, found in zip(*results, strict=True):
                torch.testing.assert_close(found, expected, rtol=1e-9, atol=1e-11)

    def test_attention_of_all_to_all(self) -> None:
        for model in (ByHand(), Heads(), Encoder(), OneRow()):
            with self.subTest(type(model).__name__):
                self.compare(model, (torch.randn(50, 16),), (torch.randn(7, 16),))

    def test_sums_of_pairs(self) -> None:
        self.compare(Kernel(), (torch.randn(30, 5),), (torch.randn(4, 5),))

    def test_sides_within_other_axes(self) -> None:
        self.compare(Folded(), (torch.randn(9, 4),), (torch.randn(5, 4),))

    def test_bias_of_pairs(self) -> None:
        self.compare(Biased(), (torch.randn(30, 16), torch.randn(30, 3)))

    def test_two_sets(self) -> None:
        for model in (TwoSets(), Matching()):
            with self.subTest(type(model).__name__):
                self.compare(model, (torch.randn(30, 6), torch.randn(9, 6)), (torch.randn(5, 6), torch.randn(40, 6)))

    def test_diagonals_of_pairs(self) -> None:
        for way in range(4):
            with self.subTest(way):
                self.compare(Contrast(way), *[(torch.randn(n, 6), torch.randn(n, 6)) for n in (9, 30)])

    def test_each_row_and_its_own_of_more_keys(self) -> None:
        class Keys(nn.Module):
            """More keys than queries are further negatives."""

            def __init__(self, turned: bool) -> None:
                super().__init__()
                self.lin, self.turned = nn.Linear(6, 6), turned

            def forward(self, x: Tensor, y: Tensor) -> Tensor:
                scores = (self.lin(y) @ self.lin(x).t()).t() if self.turned else self.lin(x) @ self.lin(y).t()
                return F.cross_entropy(scores, torch.arange(x.size(0))) * scores.diag()

        for turned in (False, True):
            with self.subTest(turned=turned):
                self.compare(Keys(turned), *[(torch.randn(n, 6), torch.randn(m, 6)) for n, m in ((9, 14), (7, 7))])
                compiled = gnnc.torch.compile(Keys(turned).double())
                compiled(torch.randn(9, 6).double(), torch.randn(14, 6).double())
                with self.assertRaises((gnnc.Error, IndexError, RuntimeError)):
                    compiled(torch.randn(9, 6).double(), torch.randn(7, 6).double())

    def test_a_class_that_is_ignored_is_refused(self) -> None:
        class Ignored(nn.Module):
            def forward(self, x: Tensor) -> Tensor:
                return F.cross_entropy(x @ x.t(), torch.arange(x.size(0)), ignore_index=0)

        with self.assertRaisesRegex(CompileError, "'ignore_index'"):
            gnnc.torch.compile(Ignored())(torch.randn(9, 6))

    def test_classes_that_are_other_elements_are_refused(self) -> None:
        class Others(nn.Module):
            def forward(self, x: Tensor, target: Tensor) -> Tensor:
                return F.cross_entropy(x @ x.t(), target)

        with self.assertRaisesRegex(CompileError, "only taken as arange"):
            gnnc.torch.compile(Others())(torch.randn(9, 6), torch.randint(0, 9, (9,)))

    def test_rows_of_graphs(self) -> None:
        for model in (InBatches(), RowsByHand(), Tempered(), Seeds(0), Seeds(1), Seeds(2)):
            with self.subTest(type(model).__name__):
                self.compare(
                    model,
                    (torch.randn(17, 16), batch_of(5, 3, 9)),
                    (torch.randn(12, 16), batch_of(1, 4, 1, 6)),
                    (torch.randn(4, 16), batch_of(4)),
                )

    @unittest.skipIf(GPSConv is None, "PyTorch Geometric is not installed")
    def test_general_powerful_scalable(self) -> None:
        class Network(nn.Module):
            def __init__(self) -> None:
                super().__init__()
                mlps = [nn.Sequential(nn.Linear(16, 16), nn.ReLU(), nn.Linear(16, 16)) for _ in range(2)]
                self.layers = nn.ModuleList(GPSConv(16, GINConv(mlp), heads=4, norm="layer_norm") for mlp in mlps)

            def forward(self, x: Tensor, edge_index: Tensor, batch: Tensor) -> Tensor:
                for layer in self.layers:
                    x = layer(x, edge_index, batch)
                return x

        edges = torch.randint(0, 12, (2, 40))
        self.compare(
            Network(),
            (torch.randn(17, 16), edges, batch_of(5, 3, 9)),
            (torch.randn(12, 16), edges[:, :9], batch_of(1, 4, 1, 6)),
        )

    def test_matrices_of_all_batches(self) -> None:
        module = LearntGraph()
        fast = gnnc.torch.compile(module)
        for batch, nodes in ((3, 11), (4, 9), (2, 20)):
            x, places = torch.randn(batch, 2, nodes, 5), torch.randn(nodes, 6)
            inputs = (x, places, torch.randint(nodes, (2, 3 * nodes)))
            found = []
            for each in (module, fast):
                y = each(*inputs)
                found.append((y, *torch.autograd.grad(y.square().sum(), list(module.parameters()))))
            for own, expected in zip(found[1], found[0]):
                torch.testing.assert_close(own, expected, rtol=1e-4, atol=1e-4)

    def test_what_is_behind_the_elements_is_seen_by_nobody(self) -> None:
        inputs = (torch.randn(17, 16), batch_of(5, 3, 9))
        with self.assertRaisesRegex(CompileError, "without a mask that leaves out what is behind their elements"):
            gnnc.torch.compile(InBatches(masked=False))(*inputs)
        for model in (Seeing(), SeeingScores(), SeeingUnmasked(), Seeds(3)):
            with self.subTest(type(model).__name__), self.assertRaisesRegex(CompileError, "behind their elements"):
                gnnc.torch.compile(model)(*inputs)

    def test_masks_and_places_of_others(self) -> None:
        inputs = (torch.randn(9, 4), batch_of(4, 2, 3), batch_of(3, 4, 2))
        for way in range(6):
            with self.subTest(way), self.assertRaises(CompileError):
                gnnc.torch.compile(Wrong(way))(*inputs)


if __name__ == "__main__":
    unittest.main()
