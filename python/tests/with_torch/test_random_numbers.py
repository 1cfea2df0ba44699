# Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
# See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random numbers that a module draws are those of eager PyTorch after the same seed, and leave its generator where eager
PyTorch leaves it."""

from __future__ import annotations

import copy

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch_geometric.utils import to_dense_batch

import gnnc
from torch_modules import TorchTest, graph


def sums(values: Tensor, edges: Tensor, nodes: int) -> Tensor:
    return values.new_zeros(nodes, values.size(1)).index_add(0, edges[1], values[edges[0]])


class Variational(nn.Module):
    """An autoencoder's codes, and edges that are dropped."""

    def __init__(self) -> None:
        super().__init__()
        self.mean, self.logs = nn.Linear(3, 4), nn.Linear(3, 4)

    def forward(self, x: Tensor, edges: Tensor) -> Tensor:
        edges = edges[:, torch.rand(edges.size(1)) >= 0.3]
        h = sums(x, edges, len(x))
        code = self.mean(h) + torch.randn_like(h[:, :1]) * torch.exp(self.logs(h))
        return code + torch.randn(len(x), 4, dtype=x.dtype) * 0.1


class Categories(nn.Module):
    """Gumbel noise, and numbers in place."""

    def __init__(self) -> None:
        super().__init__()
        self.lin = nn.Linear(3, 5)

    def forward(self, x: Tensor, edges: Tensor) -> Tensor:
        weight = torch.empty(edges.size(1), 5, dtype=x.dtype).uniform_(-1, 1)
        chosen = F.gumbel_softmax(self.lin(x), tau=0.7)
        return x.new_zeros(len(x), 5).index_add(0, edges[1], chosen[edges[0]] * weight)


class Unread(nn.Module):
    """Draws what no result needs, before what one does."""

    def __init__(self) -> None:
        super().__init__()
        self.lin = nn.Linear(3, 5)

    def forward(self, x: Tensor, edges: Tensor) -> Tensor:
        F.dropout(x, 0.5, self.training)
        torch.rand(edges.size(1), 2)
        F.dropout(x[edges[0]], 0.3, self.training)
        return F.dropout(sums(self.lin(x), edges, len(x)), 0.5, self.training)


class Stacks(nn.Module):
    """Dropout of tensors whose elements are no first axis, and that repeat memory."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.randn(2, 3, 4))

    def forward(self, x: Tensor, edges: Tensor) -> Tensor:
        repeated = F.dropout(x.unsqueeze(0).expand(2, -1, -1), 0.4, self.training)
        h = F.dropout(torch.matmul(repeated, self.weight), 0.5, self.training)
        return sums(h.mean(0), edges, len(x))


class Loops(nn.Module):
    """More rows than any argument has, of which batch norm takes statistics, and some that nothing needs."""

    def __init__(self) -> None:
        super().__init__()
        self.lin, self.norm = nn.Linear(3, 5), nn.BatchNorm1d(5)

    def forward(self, x: Tensor, edges: Tensor) -> Tensor:
        loops = torch.arange(x.size(0))
        edges = torch.cat([edges, torch.stack([loops, loops])], 1)
        message = F.dropout(self.lin(x)[edges[0]], 0.3, self.training)
        message = self.norm(message + 0.1 * torch.randn_like(message))
        F.dropout(torch.cat([x, x]), 0.5, self.training)
        h = x.new_zeros(x.size(0), 5).index_add(0, edges[1], message)
        return F.dropout(h, 0.4, self.training)


class Batches(nn.Module):
    """Several axes of elements are one in compiled code."""

    def __init__(self) -> None:
        super().__init__()
        self.lin = nn.Linear(3, 5)

    def forward(self, x: Tensor, edges: Tensor) -> Tensor:
        h = F.dropout(self.lin(x), 0.3, self.training)
        message = F.dropout((h + 0.1 * torch.randn_like(h))[:, edges[0]], 0.2, self.training)
        return torch.zeros_like(h).index_add(1, edges[1], message)


class Kept(nn.Module):
    """0 or 1: of a tensor of probabilities, of one probability, and in place."""

    def __init__(self) -> None:
        super().__init__()
        self.lin = nn.Linear(3, 5)

    def forward(self, x: Tensor, edges: Tensor) -> Tensor:
        h = self.lin(x) * torch.bernoulli(0.8 * torch.ones(x.shape[:-1])).unsqueeze(-1)
        h = h * x.new_empty(len(x), 1).bernoulli_(0.7).div_(0.7) + torch.bernoulli(h.detach(), 0.3)
        kept = torch.bernoulli(torch.full((edges.size(1), 1), 0.5))
        return x.new_zeros(len(x), 5).index_add(0, edges[1], h[edges[0]] * kept)


class Counted(nn.Module):
    """Dropout of as many rows as a list of the graph says."""

    def __init__(self) -> None:
        super().__init__()
        self.lin = nn.Linear(3, 5)

    def forward(self, x: Tensor, edges: Tensor) -> Tensor:
        batch = edges[0, : len(x)] // 3
        groups = x.new_zeros(int(batch.max()) + 1, 3).index_add(0, batch, x)
        return F.dropout(self.lin(F.dropout(groups, 0.3, self.training)).relu(), 0.3, self.training)


class Attending(nn.Module):
    """Dropout of weights and of rows of equal length, which have random numbers behind their elements too."""

    def __init__(self, how: str) -> None:
        super().__init__()
        self.how, self.qkv = how, nn.Linear(3, 12)
        self.layer = nn.MultiheadAttention(4, 2, dropout=0.3, batch_first=True)

    def forward(self, x: Tensor, batch: Tensor) -> Tensor:
        p = 0.4 if self.training else 0.0
        if self.how == "all":
            q, k, v = self.qkv(x).view(1, -1, 3, 2, 2).permute(2, 0, 3, 1, 4)
            return F.dropout(F.scaled_dot_product_attention(q, k, v, dropout_p=p)[0], p).transpose(0, 1).flatten(1)
        rows, mask = to_dense_batch(x, batch)
        q, k, v = F.dropout(self.qkv(rows), 0.2, self.training).chunk(3, -1)
        if self.how == "layer":
            found = self.layer(q, k, v, key_padding_mask=~mask, need_weights=False)[0]
        elif self.how == "written":
            scores = (q @ k.transpose(1, 2)).masked_fill(~mask[:, None], -torch.inf)
            found = F.dropout(scores.softmax(-1), 0.3, self.training) @ v
        else:
            q, k, v = (each.unflatten(-1, (2, 2)).transpose(1, 2) for each in (q, k, v))
            found = F.scaled_dot_product_attention(q, k, v, mask[:, None, None], dropout_p=p).transpose(1, 2).flatten(2)
        return F.dropout(found, 0.2, self.training)[mask]


class OtherTypes(nn.Module):
    """Numbers of another type than the model's, and of its own."""

    def forward(self, x: Tensor, edges: Tensor) -> Tensor:
        edges = edges[:, torch.rand(edges.size(1)) >= 0.3]
        noise = torch.randn(len(x), 3, dtype=torch.float32) + torch.rand(len(x), 1, dtype=torch.float64)
        kept = torch.empty(len(x), 1).uniform_(-1, 1) * torch.bernoulli(torch.full((len(x), 1), 0.7))
        return F.dropout(sums(x, edges, len(x)) * kept.to(x.dtype) + noise.to(x.dtype), 0.4)


class RandomNumbers(TorchTest):
    def test_as_eagerly(self) -> None:
        for make in (Variational, Categories, Unread, Stacks, Loops, Batches, Kept, Counted):
            for training in (True, False):
                with self.subTest(make.__name__, training=training):
                    torch.manual_seed(0)
                    module = make().train(training)
                    eager, fast = copy.deepcopy(module), gnnc.compile(module)
                    for seed, (nodes, edges) in enumerate([(10, 30), (10, 30), (7, 20)]):
                        x, edge_index = graph(nodes, edges)
                        if make is Batches:
                            x = torch.randn(2 + seed // 2, nodes, 3)
                        found = []
                        for each in (eager, fast):
                            torch.manual_seed(seed)
                            y = each(x, edge_index)
                            gradients = torch.autograd.grad(y.square().sum(), list(each.parameters()))
                            found.append([y, *gradients, torch.rand(3)])
                        for expected, own in zip(*found):
                            torch.testing.assert_close(own, expected, rtol=1e-4, atol=1e-4)

    def test_weights_of_attention_as_eagerly(self) -> None:
        for how in ("all", "rows", "written", "layer"):
            for training in (True, False):
                with self.subTest(how, training=training):
                    torch.manual_seed(0)
                    eager = Attending(how).train(training)
                    fast = gnnc.compile(copy.deepcopy(eager))
                    for seed, nodes in enumerate((10, 10, 7, 14)):
                        x, batch = torch.randn(nodes, 3), torch.arange(nodes) // 3
                        found = []
                        for each in (fast, eager):
                            torch.manual_seed(seed)
                            own = x.clone().requires_grad_()
                            y = each(own, batch)
                            gradients = torch.autograd.grad(y.square().sum(), [own, *each.qkv.parameters()])
                            found.append([y, *gradients, torch.rand(3)])
                        for own, expected in zip(*found):
                            torch.testing.assert_close(own, expected, rtol=1e-4, atol=1e-5)

    def test_other_types_than_the_models(self) -> None:
        for dtype in (torch.float32, torch.float64):
            x, edges = graph(10, 30)
            x = x.to(dtype)
            fast, found = gnnc.compile(OtherTypes(), (x, edges)), []
            for each in (fast, OtherTypes()):
                torch.manual_seed(3)
                found.append((each(x, edges), torch.rand(3)))
            torch.testing.assert_close(*found, rtol=1e-4, atol=1e-4)

    def test_calls_differ(self) -> None:
        fast = gnnc.compile(Categories())
        x, edges = graph(8, 20)
        self.assertGreater((fast(x, edges) - fast(x, edges)).abs().max().item(), 1e-3)

    def test_probabilities_that_the_module_computes(self) -> None:
        class Learnt(nn.Module):
            def forward(self, x: Tensor, edges: Tensor) -> Tensor:
                chance = torch.ones_like(x)
                chance[:, 0] = 0.5  # what is written to is not the same everywhere
                return sums(x * torch.bernoulli(chance), edges, len(x))

        with self.assertRaisesRegex(gnnc.CompileError, "bernoulli"):
            gnnc.compile(Learnt())(*graph(8, 20))
