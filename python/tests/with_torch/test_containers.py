# Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
# See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Modules that are called with a graph as one object."""

from __future__ import annotations

import tempfile
import unittest
from collections.abc import Callable
from pathlib import Path

import torch
from torch import Tensor, nn

import gnnc
from torch_modules import TorchTest

try:
    from torch_geometric.data import Batch, Data, HeteroData
    from torch_geometric.nn import GCNConv, HeteroConv, SAGEConv, global_mean_pool
except ImportError:
    raise unittest.SkipTest("PyTorch Geometric is not installed") from None


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv, self.drop = GCNConv(4, 3), nn.Dropout(0.5)

    def forward(self, data: Data, scale: Tensor | None = None) -> Tensor:
        x = self.drop(self.conv(data.x, data.edge_index).relu())
        if isinstance(data, Batch):
            x = global_mean_pool(x, data.batch, data.num_graphs)
        return x * data.factor if scale is None else x * scale


class Hetero(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        convs = {("a", "to", "b"): SAGEConv((4, 3), 2), ("b", "rev", "a"): SAGEConv((3, 4), 2)}
        self.conv = HeteroConv(convs)

    def forward(self, data: HeteroData) -> dict[str, Tensor]:
        return self.conv(data.x_dict, data.edge_index_dict)


def data(nodes: int, factor: int = 2) -> Data:
    edges = torch.randint(0, nodes, (2, 2 * nodes))
    made = Data(x=torch.randn(nodes, 4), edge_index=edges, name=f"graph {nodes}", num_nodes=nodes)
    made.factor = factor
    return made


def hetero(first: int, second: int, edges: int) -> HeteroData:
    made = HeteroData()
    made["a"].x, made["b"].x = torch.randn(first, 4), torch.randn(second, 3)
    sources, targets = torch.randint(0, first, (edges,)), torch.randint(0, second, (edges,))
    made["a", "to", "b"].edge_index = torch.stack([sources, targets])
    made["b", "rev", "a"].edge_index = torch.stack([targets, sources])
    return made


class ContainersTest(TorchTest):
    def check(self, fast: nn.Module, module: nn.Module, *given: object, **named: object) -> None:
        for _ in range(2):
            found = []
            for run in (fast, module):
                module.zero_grad()
                torch.manual_seed(1)
                result = run(*given, **named)
                results = list(result.values()) if isinstance(result, dict) else [result]
                sum(each.square().sum() for each in results).backward()
                found.append([*results, *[each.grad for each in module.parameters()]])
            self.assertClose(*found)

    def compiled(self, fast: nn.Module) -> int:
        return str(fast).count("kernels forward")

    def test_graphs(self) -> None:
        module = Net().eval()
        fast = gnnc.compile(module, data(6))
        for nodes in (6, 9, 4):
            self.check(fast, module, data(nodes))
        self.assertEqual(self.compiled(fast), 1)
        self.check(fast, module, data(5, factor=3))
        self.assertEqual(self.compiled(fast), 2)
        self.check(fast, module, data=data(5), scale=torch.randn(5, 3))
        module.train()
        fast.train()
        self.check(fast, module, data(8))

    def test_batches(self) -> None:
        module = Net().eval()
        fast = gnnc.compile(module)
        for sizes in ((3, 4, 5), (6, 2), (4, 4, 4, 7)):
            self.check(fast, module, Batch.from_data_list([data(size) for size in sizes]), scale=torch.tensor(2.0))
        self.assertEqual(self.compiled(fast), 1)

    def test_batches_of_unknown_size(self) -> None:
        """How many graphs there are is the largest number of `batch` and 1: Dynamo traces that."""

        class Counted(Net):
            def forward(self, data: Data) -> Tensor:
                data.x = self.conv(data.x, data.edge_index)
                assert "seen" not in data, "a trace starts from what a call is given"
                data.seen = data.x.relu()
                return global_mean_pool(data.x + data.seen, data.batch)

        module = Counted()
        fast = None
        for sizes in ((3, 4, 5), (6, 2), (4, 4, 4, 7)):
            batch = Batch.from_data_list([data(size) for size in sizes])
            fast = fast or gnnc.compile(module, batch.clone())
            self.assertClose(fast(batch.clone()), module(batch.clone()))
        self.assertEqual(self.compiled(fast), 1)

    def test_several_kinds_of_nodes(self) -> None:
        module = Hetero()
        fast = gnnc.compile(module, hetero(5, 6, 9))
        for sizes in ((7, 3, 12), (5, 6, 9)):
            self.check(fast, module, hetero(*sizes))
        self.assertEqual(self.compiled(fast), 1)

    def test_export(self) -> None:
        module, given = Net().eval(), data(6)
        with tempfile.TemporaryDirectory() as folder:
            gnnc.export(module, given, Path(folder) / "model.so")
            parameters = Path(folder) / "model.safetensors"
            model = gnnc.load(Path(folder) / "model.so", parameters=parameters if parameters.exists() else None)
            given = data(8)
            found = model(data_x=given.x, data_edge_index=given.edge_index)
        self.assertClose(torch.as_tensor(found), module(given).detach())

    def test_optimize(self) -> None:
        module = Net().eval()
        self.assertEqual(gnnc.optimize(module, data(6)).compiled, [""])

    def test_what_is_no_tensor_is_not_there(self) -> None:
        class Named(Net):
            def forward(self, data: Data) -> Tensor:
                return data.x.index_select(0, data.edge_index[0]) * len(data.name)

        with self.assertRaisesRegex(gnnc.Error, "has no attribute 'name'"):
            gnnc.compile(Named(), data(6))

    def test_objects_are_named(self) -> None:
        class Returned(Net):
            def forward(self, data: Data) -> Data:
                data.x = self.conv(data.x, data.edge_index)
                return data

        class Counted(Net):
            def forward(self, data: Data) -> Data:
                data.x = global_mean_pool(self.conv(data.x, data.edge_index), data.batch)
                return data

        class Holder:
            def __init__(self, x: Tensor) -> None:
                self.x = x

        class Held(nn.Module):
            def forward(self, held: Holder) -> Tensor:
                return held.x * 2

        class Applied(nn.Module):
            def forward(self, x: Tensor, function: Callable[[Tensor], Tensor]) -> Tensor:
                return function(x)

        text = "forward returns an object of class 'DataBatch': return its tensors instead, in a tuple or a dict"
        for module in (Returned(), Counted()):
            with self.assertRaisesRegex(gnnc.Error, text):
                gnnc.compile(module, Batch.from_data_list([data(3), data(4)]))
        with self.assertRaisesRegex(gnnc.Error, "an argument is an object of class 'Holder': pass its tensors"):
            gnnc.compile(Held(), Holder(torch.ones(3, 2)))
        with self.assertRaisesRegex(gnnc.Error, "an argument is a function: keep it in an attribute of the module"):
            gnnc.compile(Applied(), (torch.ones(3, 2), Tensor.relu))


if __name__ == "__main__":
    unittest.main()
