"""R-GCN on a knowledge graph: which triples are true, with one line added.

    python3 examples/pytorch/rgcn.py aifb.safetensors [--eager] [--epochs 30] [--device cuda]

Schlichtkrull et al., "Modeling Relational Data with Graph Convolutional Networks": an encoder with a weight for each
relation, and products of subject, relation and object. The file has edge_index [2, E] and edge_type [E]; each node has
features that are learned. Tested on triples that were held out, beside such with another object.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception"""

from __future__ import annotations

import time

import torch
import torch.nn.functional as F
import training
from safetensors.torch import load_file
from torch import Tensor, nn
from torch_geometric.nn import FastRGCNConv

import gnnc


class RGCN(nn.Module):
    def __init__(self, nodes: int, relations: int, width: int = 32) -> None:
        super().__init__()
        self.features = nn.Parameter(torch.randn(nodes, width) / width**0.5)
        self.relations = nn.Parameter(torch.randn(relations, width))
        self.conv1 = FastRGCNConv(width, width, relations, num_bases=8)
        self.conv2 = FastRGCNConv(width, width, relations, num_bases=8)

    def forward(self, edge_index: Tensor, edge_type: Tensor, pairs: Tensor, kinds: Tensor) -> Tensor:
        x = self.conv1(self.features, edge_index, edge_type).relu()
        x = self.conv2(x, edge_index, edge_type)
        return (x[pairs[0]] * self.relations[kinds] * x[pairs[1]]).sum(-1)


def main() -> None:
    parser = training.parser(epochs=30)
    parser.add_argument("graph")
    args = parser.parse_args()
    torch.manual_seed(0)
    file = load_file(args.graph)
    order = torch.randperm(file["edge_type"].shape[0])
    edges, kinds = file["edge_index"].long()[:, order].to(args.device), file["edge_type"].long()[order].to(args.device)
    held = len(order) // 10
    nodes, relations = int(edges.max()) + 1, int(kinds.max()) + 1

    def with_others(pairs: Tensor, kinds: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        other = torch.stack([pairs[0], torch.randint(0, nodes, pairs[1].shape, device=args.device)])
        labels = torch.cat([torch.ones(len(kinds)), torch.zeros(len(kinds))]).to(args.device)
        return torch.cat([pairs, other], 1), torch.cat([kinds, kinds]), labels

    graph, types = edges[:, held:].contiguous(), kinds[held:].contiguous()
    tested, test_kinds, labels = with_others(edges[:, :held], kinds[:held])
    model: nn.Module = RGCN(nodes, relations).to(args.device)
    if not args.eager:
        model = gnnc.compile(model, (graph, types, tested, test_kinds))  # the line that was added
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    started = time.perf_counter()
    for _ in range(args.epochs):
        asked, asked_kinds, wanted = with_others(graph, types)
        optimizer.zero_grad()
        F.binary_cross_entropy_with_logits(model(graph, types, asked, asked_kinds), wanted).backward()
        optimizer.step()
    spent = (time.perf_counter() - started) / args.epochs
    with torch.no_grad():
        found = training.area(model(graph, types, tested, test_kinds), labels)
    print(f"area under the curve {found:.4f}, {spent * 1e3:.1f} ms an epoch")


if __name__ == "__main__":
    main()
