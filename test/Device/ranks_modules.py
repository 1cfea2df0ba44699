"""Compiled PyTorch modules on parts of a graph on several GPUs, whose integers are read and counted across cut edges.

The modules are those of python/tests/with_torch/test_partitioned_types.py; there they run on threads and CPUs, here over
NCCL. Rows, gradients of rows and of parameters are compared with eager PyTorch on the whole graph, on the CPU.
"""

from __future__ import annotations

import argparse
import copy
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist

import gnnc
from gnnc.ranks import PartFile, TorchRanks
from with_torch.test_partitioned import cut, loss_of
from with_torch.test_partitioned_types import CountsOut, EqualTypes, Looped, MostOut, TypesOfEnds, typed_graph

NODES, EDGES = 2300, 9000


def modules(arguments: argparse.Namespace, say: Callable[..., None], rank: int, size: int) -> int:
    wrong, device = 0, torch.device("cuda", rank)
    x, edges, types = typed_graph(NODES, EDGES)
    weights = torch.randn(NODES, 5, dtype=torch.float64, generator=torch.Generator().manual_seed(2))
    ranks = TorchRanks()
    where = [tempfile.mkdtemp()]
    dist.broadcast_object_list(where)
    if rank == 0:
        for by in ("random", "contiguous"):
            cut(where[0], x, edges, weights, size, by, types)
    dist.barrier()
    for kind in (EqualTypes, TypesOfEnds, CountsOut, MostOut, Looped):
        torch.manual_seed(0)
        module = kind()
        whole, rows = copy.deepcopy(module), x.clone().requires_grad_()
        expected = whole(rows, edges, types)
        loss_of(expected, weights).backward()
        fast = copy.deepcopy(module).to(device)
        example = tuple(each.to(device) for each in typed_graph(8, 24))
        compiled = gnnc.compile(fast, example)
        for by in ("random", "contiguous"):
            part = PartFile(str(Path(where[0], f"{size}{by}", f"part.{rank}.safetensors")), ranks)
            own = {name: torch.from_numpy(part.tensors[name].copy()).to(device) for name in part.tensors}
            fast.zero_grad()
            own_x = own["x"].requires_grad_()
            found = compiled.partitioned(part)(own_x, own["edge_index"], own["node_type"])
            loss_of(found, own["weights"]).backward()
            numbers = own["node.global"].long().cpu()
            pairs: list[tuple[Any, Any]] = [(found, expected[numbers]), (own_x.grad, rows.grad[numbers])]
            pairs += [(p.grad, q.grad) for p, q in zip(fast.parameters(), whole.parameters()) if q.grad is not None]
            off = torch.stack([(a.detach().cpu() - b).abs().max() for a, b in pairs]).max()
            off = torch.nan_to_num(off, nan=torch.inf).to(device)  # what is not a number is no maximum
            dist.all_reduce(off, dist.ReduceOp.MAX)
            wrong |= not float(off) < 1e-10
            if rank == 0:
                say(arguments, what="module", module=kind.__name__, by=by, ranks=size, off=float(off))
    return wrong
