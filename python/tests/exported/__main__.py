# Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
# See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes the files of this folder: a program that the installed PyTorch exports, and what PyTorch computes with it.

    python3 python/tests/exported        # writes torch-X.Y.pt2 and torch-X.Y.safetensors

Stack traces, which have paths of this machine, and pickled examples are left out; the rest is as `torch.export.save` writes it.
"""

from __future__ import annotations

import io
import json
import zipfile
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

FOLDER = Path(__file__).resolve().parent


class Network(nn.Module):
    """Attention along edges and self loops, a norm, and means of each graph's nodes. It takes what differs from version to
    version: filters with a size of their own, layer norm, dropout, embedding, parameters that are used twice."""

    def __init__(self) -> None:
        super().__init__()
        self.kinds, self.lin = nn.Embedding(3, 4), nn.Linear(4, 4)
        self.score_src, self.score_dst = nn.Parameter(torch.randn(4)), nn.Parameter(torch.randn(4))
        self.norm, self.drop, self.head = nn.LayerNorm(4), nn.Dropout(0.5), nn.Linear(4, 2)

    def attend(self, x: Tensor, src: Tensor, dst: Tensor) -> Tensor:
        x = self.lin(x)
        score = (x @ self.score_src)[src] + (x @ self.score_dst)[dst]
        score = nn.functional.leaky_relu(score, 0.2)
        largest = score.new_zeros(x.shape[0]).scatter_reduce(0, dst, score, "amax", include_self=False)
        weight = (score - largest[dst]).exp()
        total = score.new_zeros(x.shape[0]).scatter_add(0, dst, weight)
        return torch.zeros_like(x).index_add(0, dst, x[src] * (weight / total[dst]).unsqueeze(-1))

    def forward(self, x: Tensor, kind: Tensor, edge_index: Tensor, batch: Tensor, graph_weight: Tensor) -> Tensor:
        edge_index = edge_index[:, edge_index[0] != edge_index[1]]
        loops = torch.arange(x.shape[0]).repeat(2, 1)
        src, dst = torch.cat([edge_index, loops], 1).unbind(0)
        x = self.norm(x + self.kinds(kind))
        x = self.drop(self.attend(x, src, dst).relu())
        x = self.attend(x, src, dst)
        sums = x.new_zeros(graph_weight.shape[0], 4).index_add(0, batch, x)
        counts = x.new_zeros(graph_weight.shape[0]).index_add(0, batch, x.new_ones(x.shape[0]))
        return self.head(sums / counts.clamp(min=1).unsqueeze(-1)) * graph_weight.unsqueeze(-1)


def inputs(nodes: int, edges: int, graphs: int) -> dict[str, Tensor]:
    return {
        "x": torch.randn(nodes, 4),
        "kind": torch.randint(0, 3, (nodes,)),
        "edge_index": torch.randint(0, nodes, (2, edges)),
        "batch": torch.randint(0, graphs, (nodes,)).sort().values,
        "graph_weight": torch.rand(graphs),
    }


def numbers(module: nn.Module, given: dict[str, Tensor]) -> dict[str, Tensor]:
    """Inputs, output, cotangent, and the gradients of everything that is no integer."""
    named = dict(module.named_parameters())
    leaves = {name: value.requires_grad_() for name, value in given.items() if value.is_floating_point()}
    output = module(**given)
    cotangent = torch.randn_like(output)
    wanted = {**leaves, **named}
    gradients = torch.autograd.grad(output, list(wanted.values()), cotangent)
    found = {**given, "out": output, "cot": cotangent}
    found |= {f"grad.{name}": gradient for name, gradient in zip(wanted, gradients)}
    return {name: value.detach().contiguous() for name, value in found.items()}


def without_paths(archive: bytes, path: Path) -> None:
    """Writes an exported program to a file, compressed, without stack traces and examples."""

    def strip(value: Any) -> Any:
        if isinstance(value, dict):
            return {name: strip(member) for name, member in value.items() if name != "stack_trace"}
        return [strip(member) for member in value] if isinstance(value, list) else value

    with zipfile.ZipFile(io.BytesIO(archive)) as source, zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as target:
        for name in source.namelist():
            inner = name.partition("/")[2]
            if inner.startswith("data/sample_inputs/"):
                continue
            content = source.read(name)
            if inner == "models/model.json":
                content = json.dumps(strip(json.loads(content))).encode()
            entry = zipfile.ZipInfo(f"{path.stem}/{inner}")
            entry.compress_type = zipfile.ZIP_DEFLATED
            target.writestr(entry, content)


def main() -> None:
    from safetensors.torch import save_file

    torch.manual_seed(0)
    module = Network().eval()
    nodes, edges, graphs = (torch.export.Dim(name, min=2) for name in ("nodes", "edges", "graphs"))
    shapes = {"x": {0: nodes}, "kind": {0: nodes}, "edge_index": {1: edges}, "batch": {0: nodes}, "graph_weight": {0: graphs}}
    program = torch.export.export(module, (), inputs(7, 15, 3), dynamic_shapes=shapes)
    archive = io.BytesIO()
    torch.export.save(program, archive)
    version = ".".join(torch.__version__.split(".")[:2])
    without_paths(archive.getvalue(), FOLDER / f"torch-{version}.pt2")
    save_file(numbers(module, inputs(11, 40, 4)), FOLDER / f"torch-{version}.safetensors")


if __name__ == "__main__":
    main()
