"""Training on several ranks beside one: times, losses, memory, predictions, and what is left when a rank is killed.

    gnnc compile test/Device/Ranks.gnn -m GCN3 --distributed --target cuda --arch sm_90 -o gcn3.so
    export PYTHONPATH=python
    torchrun --nproc-per-node 2 test/Device/ranks.py times gcn3.so --alone --library build/lib/libgnnc_nccl.so
    torchrun --nproc-per-node 2 test/Device/ranks.py times gcn3.so --alone --everywhere …
    torchrun --nproc-per-node 2 test/Device/ranks.py large gcn3.so --nodes 9600000 --edges 100000000 …
    PYTHONPATH=python:python/tests torchrun --nproc-per-node 2 test/Device/ranks.py modules
    python3 test/Device/ranks.py kill gcn3.so --library … [--engine nccl|gloo]
    python3 test/Device/ranks.py predict gcn3.so times.jsonl --gnnc build/bin/gnnc       # needs no GPU

Each rank has a range of the nodes of a graph that is made from a seed (ranks_parts.py). Rows go over NCCL, by gnnc's
own library and by torch.distributed, or over gloo (`--device cpu`: also on CPUs, with objects for CPUs). Results are
printed as lines of JSON, and added to the file that `--json` names. Exits with 1 where losses differ by more than 1e-4
or something did not end as it should, with 77 where there are fewer GPUs than ranks.
"""

from __future__ import annotations

import argparse
import contextlib
import gc
import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import ranks_killed
import ranks_predicted
import torch
import torch.distributed as dist
from ranks_parts import LibraryRanks, Made, Training, measure_link, start_group, timed

import gnnc
from gnnc.ranks import TorchRanks


#: Steps of training whose losses are compared.
STEPS = 5
#: Calibrations have one in so many of a rank's nodes and edges.
SHARES = (2, 1)


def say(arguments: argparse.Namespace, **result: Any) -> None:
    line = json.dumps(result)
    print(line, flush=True)
    if arguments.json:
        with open(arguments.json, "a") as file:
            file.write(line + "\n")


@contextlib.contextmanager
def emptied(device: torch.device) -> Iterator[None]:
    """Leaves nothing of what was made within on the device."""
    yield
    gc.collect()
    if device.type == "cuda":
        torch.cuda.empty_cache()


def difference(losses: list[float], others: list[float]) -> float:
    return max(abs(a - b) / max(abs(a), 1) for a, b in zip(losses, others))


def engines_of(arguments: argparse.Namespace, rank: int) -> dict[str, Any]:
    """The fillings to be measured, by name."""
    hosts = TorchRanks()
    if arguments.device == "cpu" or not arguments.library:
        return {"torch.distributed": hosts}
    library = LibraryRanks(arguments.library, hosts, rank)
    return {"libgnnc_nccl": library, "torch.distributed": hosts}


def on_part(arguments: argparse.Namespace, made: Made, ranks: Any) -> Training:
    """Of this rank; all ranks call this at once."""
    model = gnnc.load(arguments.model, threads=arguments.threads)
    training = Training(model, made.part(model, ranks), made, made.range_of(ranks.rank, ranks.size))
    dist.barrier()
    return training


def on_whole(arguments: argparse.Namespace, made: Made, ranks: int) -> Training:
    model = gnnc.load(arguments.model, threads=arguments.threads)
    return Training(model, made.whole(model, ranks), made, (0, made.nodes))


def times(arguments: argparse.Namespace, made: Made, rank: int, size: int) -> int:
    """All engines, and the whole graph on the first rank; for predictions, half of a rank's share and all of it
    with nothing to exchange."""
    results = {}
    about = {"model": Path(arguments.model).name, "nodes": made.nodes, "edges": made.edges, "mixing": made.mixing}
    about |= {"ranks": size, "device": arguments.device, "threads": arguments.threads}
    if arguments.device == "cuda":
        about["gpu"] = torch.cuda.get_device_name()
    for name, ranks in engines_of(arguments, rank).items():
        link, latency = measure_link(ranks, made.device)
        if rank == 0:
            say(arguments, what="link", **about, engine=name, link_gb_per_s=link, latency_us=latency)
        with emptied(made.device):
            training = on_part(arguments, made, ranks)
            losses = [training.step() for _ in range(STEPS)]
            memory = training.memory()
            # Each rank has a graph of its own there, and waits for the others as it would with rows to exchange.
            smaller = {
                share: on_part(arguments, Made(made.nodes // share, made.edges // share, 0.0, made.device), ranks)
                for share in SHARES
            }
            for each in smaller.values():
                each.step()
            found, *calibration = timed([training, *smaller.values()])
            results[name] = {"losses": losses, **found, **memory, "extents": training.extents}
            if rank == 0:
                for (share, each), took in zip(smaller.items(), calibration):
                    seconds = {"train_step": took["seconds"]}
                    say(arguments, what="calibration", **about, share=share, seconds=seconds, extents=each.extents)
                say(arguments, what="ranks", **about, engine=name, **results[name])
            del training, smaller, each
    wrong = 0
    if arguments.alone and rank == 0:
        with emptied(made.device):
            training = on_whole(arguments, made, size)
            losses = [training.step() for _ in range(STEPS)]
            alone = {"losses": losses, **timed([training])[0], **training.memory(), "extents": training.extents}
            del training
        say(arguments, what="alone", **about, **alone)
        for name, found in results.items():
            off = difference(alone["losses"], found["losses"])
            faster = alone["seconds"] / found["seconds"]
            memory = found["gib"] / alone["gib"] if "gib" in found else None
            say(arguments, what="compared", **about, engine=name, faster=faster, losses_off=off, memory=memory)
            wrong |= not off <= 1e-4
    return wrong


def large(arguments: argparse.Namespace, made: Made, rank: int, size: int) -> int:
    """A step that one GPU has no memory for, and several do."""
    about = {"what": "large", "model": Path(arguments.model).name, "nodes": made.nodes, "edges": made.edges}
    refused = ""
    if rank == 0:
        try:
            with emptied(made.device):
                model = gnnc.load(arguments.model)
                graph = made.whole(model, size)
                say(
                    arguments,
                    **about,
                    ranks=1,
                    needs_gib=(graph.workspace_bytes("train_step") + graph.nbytes) / 2**30
                    + made.nodes * 147 * 4 / 2**30,
                )
                Training(model, graph, made, (0, made.nodes)).step()
        except (gnnc.Error, torch.OutOfMemoryError) as error:
            refused = str(error).splitlines()[0]
        # What the failed call held goes with its exception.
        model = graph = None  # type: ignore[assignment]
        gc.collect()
        torch.cuda.empty_cache() if made.device.type == "cuda" else None
        say(arguments, **about, ranks=1, trains=not refused, message=refused)
    dist.barrier()
    wrong = 0 if refused or rank else 1
    for name, ranks in engines_of(arguments, rank).items():
        with emptied(made.device):
            training = on_part(arguments, made, ranks)
            losses = [training.step() for _ in range(STEPS)]
            found = timed([training])[0] | training.memory()
            del training
        if rank == 0:
            falls = losses[-1] < losses[0]
            say(arguments, **about, ranks=size, engine=name, trains=falls, losses=losses, **found)
            wrong |= not falls
        break  # one engine will do
    return wrong


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("command", choices=["times", "large", "modules", "kill", "survive", "predict"])
    parser.add_argument("model", nargs="?", help="all but modules: an object")
    parser.add_argument("results", nargs="?", help="predict: what `times` wrote with --json")
    parser.add_argument("--nodes", type=int, default=2_450_000)
    parser.add_argument("--edges", type=int, default=124_000_000)
    parser.add_argument("--mixing", type=float, default=0.01, help="share of the edges that leave a range")
    parser.add_argument("--everywhere", action="store_true", help="sources are anywhere: full halo")
    parser.add_argument("--device", choices=["cuda", "cpu"], default="cuda")
    parser.add_argument("--threads", type=int, default=1, help="of a rank, on CPUs")
    parser.add_argument("--library", help="libgnnc_nccl.so")
    parser.add_argument("--alone", action="store_true", help="train the whole on the first rank too")
    parser.add_argument("--json", help="a file to which results are added")
    parser.add_argument("--engine", choices=["nccl", "gloo"], default="nccl", help="kill: what moves rows")
    parser.add_argument("--timeout", type=float, default=15, help="kill: seconds that a rank waits for others")
    parser.add_argument("--folder", help="kill: of checkpoints")
    parser.add_argument("--steps", type=int, default=0, help=argparse.SUPPRESS)
    parser.add_argument("--dies", type=int, default=-1, help=argparse.SUPPRESS)
    parser.add_argument("--gnnc", default="gnnc", help="predict: the tool")
    arguments = parser.parse_args()
    if arguments.command != "modules" and not arguments.model:
        parser.error(f"{arguments.command}: expected an object, found none")
    arguments.mixing = None if arguments.everywhere else arguments.mixing
    if arguments.command == "predict":
        return ranks_predicted.predict(arguments)
    if arguments.command == "kill":
        return ranks_killed.kill(arguments, say)
    if arguments.command == "survive":
        return ranks_killed.survive(arguments)
    rank, size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    if arguments.device == "cuda":
        if torch.cuda.device_count() < size:
            return 77
        torch.cuda.set_device(rank)
        device = torch.device("cuda", rank)
    else:
        torch.set_num_threads(arguments.threads)
        device = torch.device("cpu")
    start_group("nccl" if arguments.device == "cuda" else "gloo")
    if arguments.command == "modules":
        import ranks_modules  # needs the package's tests too

        wrong = ranks_modules.modules(arguments, say, rank, size)
    else:
        made = Made(arguments.nodes, arguments.edges, arguments.mixing, device)
        wrong = (times if arguments.command == "times" else large)(arguments, made, rank, size)
    dist.barrier()
    dist.destroy_process_group()
    return wrong


if __name__ == "__main__":
    sys.exit(main())
