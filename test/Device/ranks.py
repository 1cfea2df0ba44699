"""A training step on several GPUs beside one GPU: times, losses and memory.

    gnnc compile test/Device/Ranks.gnn -m GCN3 --distributed --target cuda --arch sm_90 -o gcn3.so
    PYTHONPATH=python torchrun --nproc-per-node 2 test/Device/ranks.py gcn3.so --alone [--mixing SHARE]

Each rank has a range of the nodes; an edge leaves its rank's range with probability `mixing`. The graph is made from a
seed, and the whole of it is trained by the first rank alone with the same object. Rows go over NCCL, by torch.distributed
and by gnnc's own library for it (--library build/lib/libgnnc_nccl.so). Exits with 1 where losses differ by more than
1e-4, with 77 where there are fewer GPUs than ranks.
"""

from __future__ import annotations

import argparse
import ctypes
import os
import sys
import time

import torch
import torch.distributed as dist

import gnnc
from gnnc import _abi
from gnnc.ranks import Part, TorchRanks

STEPS = 5
CLASSES, FEATURES = 47, 100


class LibraryRanks:
    """gnnc's library for NCCL, whose hosts are ranks of torch.distributed."""

    def __init__(self, path: str, hosts: TorchRanks, device: int) -> None:
        library = ctypes.CDLL(path)
        self.hosts, self.rank, self.size = hosts, hosts.rank, hosts.size
        handle, error = ctypes.c_void_p(), _abi.ErrorRecord()
        library.gnnc_nccl_collectives.restype = ctypes.POINTER(_abi.Collectives)
        status = library.gnnc_nccl_open(
            ctypes.byref(hosts.record), device, ctypes.c_double(60), ctypes.byref(handle), ctypes.byref(error)
        )
        if status:
            raise RuntimeError(error.message.decode())
        self.record = library.gnnc_nccl_collectives(handle).contents


def make_edges(rank: int, ranks: int, nodes: int, edges: int, mixing: float) -> tuple[torch.Tensor, torch.Tensor]:
    """The edges that lead to a rank's range, in numbers of the whole graph."""
    random = torch.Generator("cuda").manual_seed(1000 + rank)
    begin, end = rank * nodes // ranks, (rank + 1) * nodes // ranks
    count = edges // ranks
    dst = torch.randint(begin, end, (count,), generator=random, device="cuda")
    src = torch.randint(begin, end, (count,), generator=random, device="cuda")
    leaves = torch.rand(count, generator=random, device="cuda") < mixing
    # Few nodes are read from elsewhere, each by many, as where communities meet.
    border = torch.randint(0, max(nodes // 50, 1), (count,), generator=random, device="cuda") * 50
    outside = torch.where((border >= begin) & (border < end), (border + nodes // ranks) % nodes, border)
    return torch.where(leaves, outside, src), dst


def make_rows(begin: int, end: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Features and targets, each node's from its number."""
    numbers = torch.arange(begin, end, device="cuda", dtype=torch.float32)[:, None]
    columns = torch.arange(1, FEATURES + 1, device="cuda", dtype=torch.float32)
    x = torch.sin(numbers * 0.37 * columns + columns)
    target = torch.nn.functional.one_hot((numbers[:, 0].long() * 7919) % CLASSES, CLASSES).float()
    return x.contiguous(), target.contiguous()


def make_part(model: gnnc.Model, ranks: object, nodes: int, src: torch.Tensor, dst: torch.Tensor) -> gnnc.Graph:
    rank, size = ranks.rank, ranks.size
    begin, end = rank * nodes // size, (rank + 1) * nodes // size
    halo = torch.unique(src[(src < begin) | (src >= end)])  # sorted: by owner, then by number
    bounds = torch.tensor([owner * nodes // size for owner in range(size + 1)], device="cuda")
    counts = torch.searchsorted(halo, bounds)
    received = (counts[1:] - counts[:-1]).tolist()
    lists = [None] * size
    dist.all_gather_object(lists, [halo[counts[r] : counts[r + 1]].cpu() for r in range(size)])
    sent = torch.cat([lists[other][rank] for other in range(size)]).cuda() - begin
    sends = [len(lists[other][rank]) for other in range(size)]
    inside = (src >= begin) & (src < end)
    local = torch.where(inside, src - begin, end - begin + torch.searchsorted(halo, src))
    part = Part(ranks, {"node.halo": received, "node.send": sends})
    return gnnc.Graph(
        model,
        extents={"node": end - begin, "edge": len(src), "node.halo": len(halo), "node.send": len(sent)},
        part=part,
        edge_index=torch.stack([local, dst - begin]).int(),
        **{"node.sent": sent.int()},
    )


def train(model: gnnc.Model, graph: gnnc.Graph, begin: int, end: int) -> tuple[list[float], float, float]:
    """Losses of some steps, seconds of one, and the most memory in GiB."""
    x, target = make_rows(begin, end)
    random = torch.Generator("cuda").manual_seed(0)
    for value in model.description["params"] + model.description["states"]:
        made = torch.randn(value["dims"], generator=random, device="cuda") * 0.1
        is_param = any(value["name"] == param["name"] for param in model.description["params"])
        model.parameters[value["name"]] = made if is_param else torch.zeros_like(made)
    torch.cuda.reset_peak_memory_stats()
    losses = []
    for _ in range(STEPS):
        losses.append(float(model.run("train_step", graph=graph, x=x, target=target)["loss"]))
    torch.cuda.synchronize()
    seconds = []
    for _ in range(7):
        start = time.perf_counter()
        model.run("train_step", graph=graph, x=x, target=target)
        torch.cuda.synchronize()
        seconds.append(time.perf_counter() - start)
    free, total = torch.cuda.mem_get_info()
    return losses, sorted(seconds)[len(seconds) // 2], (total - free) / 2**30


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("model")
    parser.add_argument("--nodes", type=int, default=2_450_000)
    parser.add_argument("--edges", type=int, default=124_000_000)
    parser.add_argument("--mixing", type=float, default=0.01)
    parser.add_argument("--library")
    parser.add_argument("--alone", action="store_true", help="train the whole on the first GPU too")
    arguments = parser.parse_args()
    rank, size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    if torch.cuda.device_count() < size:
        return 77
    torch.cuda.set_device(rank)
    dist.init_process_group("nccl", device_id=torch.device("cuda", rank))
    hosts = TorchRanks()
    nodes, edges, mixing = arguments.nodes, arguments.edges, arguments.mixing
    src, dst = make_edges(rank, size, nodes, edges, mixing)
    results = {}
    fillings = {"torch.distributed": hosts}
    if arguments.library:
        fillings["libgnnc_nccl"] = LibraryRanks(arguments.library, hosts, rank)
    for name, ranks in fillings.items():
        model = gnnc.load(arguments.model)
        graph = make_part(model, ranks, nodes, src, dst)
        dist.barrier()
        results[name] = train(model, graph, rank * nodes // size, (rank + 1) * nodes // size)
        halo = graph.extent("node.halo")
        del model, graph
        torch.cuda.empty_cache()
        if rank == 0:
            losses, seconds, memory = results[name]
            print(
                f"{size} GPUs, {name}: {1e3 * seconds:.2f} ms a step, {memory:.1f} GiB, halo {halo} of {nodes // size}, "
                f"losses {losses}",
                flush=True,
            )
    del src, dst
    wrong = 0
    if arguments.alone and rank == 0:
        lists = [make_edges(other, size, nodes, edges, mixing) for other in range(size)]
        index = torch.stack([torch.cat([each[end] for each in lists]) for end in (0, 1)]).int()
        del lists
        model = gnnc.load(arguments.model)
        none = torch.empty(0, dtype=torch.int32, device="cuda")
        graph = gnnc.Graph(
            model,
            extents={"node": nodes, "edge": index.shape[1], "node.halo": 0, "node.send": 0},
            edge_index=index,
            **{"node.sent": none},
        )
        del index
        losses, seconds, memory = train(model, graph, 0, nodes)
        print(f"1 GPU: {1e3 * seconds:.2f} ms a step, {memory:.1f} GiB, losses {losses}", flush=True)
        for name, (other, faster, _) in results.items():
            off = max(abs(a - b) / max(abs(a), 1) for a, b in zip(losses, other))
            print(f"{name}: {seconds / faster:.2f} times as fast, losses differ by {off:.2e}", flush=True)
            wrong |= not off <= 1e-4
    dist.barrier()
    dist.destroy_process_group()
    return wrong


if __name__ == "__main__":
    sys.exit(main())
