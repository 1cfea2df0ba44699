"""A rank that is killed: what the others say, and training that goes on from the last checkpoint.

`kill` starts processes by itself, since torchrun would end the others. A run that nobody disturbs comes first; then one
whose last rank is killed in the middle of a step; then what follows from the checkpoint that is left, on as many ranks
and on one. The losses after it are those of the first run.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from ranks_parts import LibraryRanks, Made, start_group, start_parameters, wait

import gnnc
from gnnc import _safetensors
from gnnc.ranks import TorchRanks

RANKS, STEPS, EVERY, DIES = 2, 15, 5, 12


def survive(arguments: argparse.Namespace) -> int:
    """One rank: from the last checkpoint to step `steps`; the last rank kills itself during step `dies`."""
    on_gpu = arguments.device == "cuda"
    rank, size = start_group("gloo", arguments.timeout)
    device = torch.device("cuda", rank) if on_gpu else torch.device("cpu")
    if on_gpu:
        torch.cuda.set_device(rank)
    hosts = TorchRanks()
    library = on_gpu and arguments.engine == "nccl"
    ranks = LibraryRanks(arguments.library, hosts, rank, arguments.timeout) if library else hosts
    made = Made(arguments.nodes, arguments.edges, arguments.mixing, device)
    model = gnnc.load(arguments.model, threads=arguments.threads)
    graph = made.part(model, ranks) if size > 1 else made.whole(model, RANKS)
    x, target = made.rows(*made.range_of(rank, size))
    start_parameters(model, device)
    checkpoint = Path(arguments.folder) / "checkpoint.safetensors"
    first = 0
    if checkpoint.exists():
        tensors = dict(_safetensors.load(checkpoint))
        first = int(tensors.pop("step")[0])
        for name, value in tensors.items():
            model.parameters[name] = torch.from_numpy(value.copy()).to(device)
    losses: dict[int, float] = {}
    result: dict[str, Any] = {"losses": losses}
    taken = begin = time.perf_counter()
    try:
        for step in range(first, arguments.steps):
            if step == arguments.dies and rank == size - 1:
                threading.Timer(taken / 2, os.kill, (os.getpid(), signal.SIGKILL)).start()
            begin = time.perf_counter()
            loss = model.run("train_step", graph=graph, x=x, target=target)["loss"]
            wait(device)
            if isinstance(ranks, LibraryRanks):
                ranks.check()
            taken = time.perf_counter() - begin
            losses[step] = float(loss)
            if (step + 1) % EVERY == 0 and rank == 0:
                save(model, step + 1, checkpoint)
    except (gnnc.Error, RuntimeError) as error:  # the device itself may fail, where it was reading the other's memory
        result |= {"error": str(error), "waited": time.perf_counter() - begin}
        try:
            if isinstance(ranks, LibraryRanks):
                ranks.check()
        except gnnc.Error as found:
            result |= {"error": str(found), "device": str(error)}
    if rank == 0:
        (Path(arguments.folder) / f"result.{size}.json").write_text(json.dumps(result))
    sys.stdout.flush()
    os._exit(0)  # without waiting for others that may be gone


def save(model: gnnc.Model, step: int, path: Path) -> None:
    """A file that is there as a whole or not at all."""
    begun = path.with_suffix(".begun")
    tensors = {name: value.cpu().numpy() for name, value in model.parameters.items()}
    _safetensors.save(begun, tensors | {"step": np.array([step])})
    begun.replace(path)


def _run(
    arguments: argparse.Namespace, folder: Path, size: int, steps: int, dies: int
) -> tuple[dict[str, Any], list[int]]:
    """The first rank's result, and the exit statuses of all."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, str(Path(__file__).with_name("ranks.py")), "survive", arguments.model]
    for name in ("nodes", "edges", "mixing", "device", "threads", "library", "engine", "timeout"):
        if (value := getattr(arguments, name)) is not None:
            command += [f"--{name}", str(value)]
    command += ["--everywhere"] if arguments.mixing is None else []
    command += ["--folder", str(folder), "--steps", str(steps), "--dies", str(dies)]
    shared = os.environ | {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port), "WORLD_SIZE": str(size)}
    processes = [subprocess.Popen(command, env=shared | {"RANK": str(rank)}) for rank in range(size)]
    deadline = time.monotonic() + 10 * arguments.timeout + 120
    statuses = []
    for process in processes:
        try:
            statuses.append(process.wait(max(deadline - time.monotonic(), 1)))
        except subprocess.TimeoutExpired:
            process.kill()
            statuses.append(process.wait())
    path = folder / f"result.{size}.json"
    return (json.loads(path.read_text()) if path.exists() else {}), statuses


def kill(arguments: argparse.Namespace, say: Callable[..., None]) -> int:
    wrong = 0
    about = {"what": "kill", "engine": arguments.engine, "device": arguments.device, "timeout": arguments.timeout}
    with tempfile.TemporaryDirectory() as undisturbed, tempfile.TemporaryDirectory() as disturbed:
        expected, statuses = _run(arguments, Path(undisturbed), RANKS, STEPS, -1)
        losses = expected.get("losses", {})
        if len(losses) < STEPS:
            say(arguments, **about, run="undisturbed", statuses=statuses, **expected)
            return 1
        found, statuses = _run(arguments, Path(disturbed), RANKS, STEPS, DIES)
        message, waited = found.get("error", ""), found.get("waited", -1)
        # It names the program, what was moved and how, and comes in time.
        named = message.startswith("train_step: ") or "exchange" in message or "gather" in message
        good = named and 0 <= waited <= 2 * arguments.timeout + 5 and statuses == [0, -signal.SIGKILL]
        say(arguments, **about, run="killed", good=good, message=message, waited=waited, statuses=statuses)
        wrong |= not good
        checkpoint = Path(disturbed) / "checkpoint.safetensors"
        kept = checkpoint.read_bytes() if checkpoint.exists() else b""
        for size in (RANKS, 1):
            checkpoint.write_bytes(kept)
            (Path(disturbed) / f"result.{size}.json").unlink(missing_ok=True)
            found, statuses = _run(arguments, Path(disturbed), size, STEPS, -1)
            again = found.get("losses", {})
            steps = [str(step) for step in range(DIES // EVERY * EVERY, STEPS)]
            off = max((abs(again.get(step, float("inf")) - losses[step]) for step in steps), default=float("inf"))
            good = sorted(again, key=int) == steps and off <= 1e-4
            result = {"good": good, "first": steps[0], "losses_off": off, "statuses": statuses}
            say(arguments, **about, run="resumed", ranks=size, **result)
            wrong |= not good
    return wrong
