# Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
# See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Ranks of torch.distributed: what three processes of gloo move and train, and what they say when one fails."""

from __future__ import annotations

import ctypes
import json
import os
import subprocess
import sys
import tempfile
import unittest
from datetime import timedelta
from pathlib import Path
from unittest import mock

import numpy as np
import torch
import torch.distributed as dist
import torch.multiprocessing as mp

import gnnc
from gnnc import _abi, _compiler
from gnnc.ranks import TorchRanks, load_part

SIZE = 3
#: Rows from the first to the second.
COUNTS = np.array([[1, 2, 0], [0, 0, 3], [2, 0, 1]], np.int64)
WIDTH = 2


def rows_of(rank: int) -> np.ndarray:
    return (100.0 * rank + np.arange(COUNTS[rank].sum() * WIDTH)).astype(np.float32).reshape(-1, WIDTH)


def arriving(rank: int) -> np.ndarray:
    parts = []
    for sender in range(SIZE):
        begin = COUNTS[sender, :rank].sum()
        parts.append(rows_of(sender)[begin : begin + COUNTS[sender, rank]])
    return np.concatenate(parts)


def pointer(array: np.ndarray) -> int:
    return array.ctypes.data


def counts_of(numbers: np.ndarray) -> ctypes.Array:
    return (ctypes.c_int64 * SIZE)(*(int(number) for number in numbers))


def start(rank: int, folder: str, seconds: float = 60) -> TorchRanks:
    dist.init_process_group(
        "gloo",
        init_method=f"file://{folder}/store",
        rank=rank,
        world_size=SIZE,
        timeout=timedelta(seconds=seconds),
    )
    return TorchRanks()


def move(rank: int, folder: str) -> None:
    ranks = start(rank, folder)
    record, error = ranks.record, _abi.ErrorRecord()
    failure = ctypes.byref(error)
    assert (record.rank, record.size, record.device_type) == (rank, SIZE, _abi.CPU)
    sent, received = rows_of(rank), np.full((COUNTS[:, rank].sum(), WIDTH), -1, np.float32)
    status = record.exchange(
        None, pointer(sent), counts_of(COUNTS[rank]), pointer(received), counts_of(COUNTS[:, rank]), 8, None, failure
    )
    assert status == _abi.OK, error.message
    np.testing.assert_array_equal(received, arriving(rank))
    own, every = np.array([rank, 7], np.int64), np.zeros((SIZE, 2), np.int64)
    assert record.gather(None, pointer(own), pointer(every), 16, None, failure) == _abi.OK, error.message
    np.testing.assert_array_equal(every, [[other, 7] for other in range(SIZE)])
    every[:] = 0
    assert record.gather_host(None, pointer(own), pointer(every), 16, failure) == _abi.OK, error.message
    np.testing.assert_array_equal(every, [[other, 7] for other in range(SIZE)])
    assert record.gather_host(None, None, None, 0, failure) == _abi.OK, error.message
    dist.destroy_process_group()


def lose(rank: int, folder: str) -> None:
    ranks = start(rank, folder, seconds=5)
    if rank == 1:
        os._exit(0)
    error = _abi.ErrorRecord()
    own, every = np.zeros(1, np.int64), np.zeros(SIZE, np.int64)
    status = ranks.record.gather(None, pointer(own), pointer(every), 8, None, ctypes.byref(error))
    with open(f"{folder}/{rank}", "w") as file:
        file.write(f"{status} {error.message.decode()}")
    os._exit(0)


EXAMPLES = Path(__file__).resolve().parents[3] / "examples"
GRAPH = EXAMPLES / "data" / "karate.safetensors"


def train(rank: int, folder: str) -> None:
    ranks = start(rank, folder)
    model = gnnc.load(f"{folder}/karate.so", threads=1)
    graph = load_part(model, f"{folder}/parts/part.{rank}.safetensors", ranks)
    for value in model.description["params"] + model.description["states"]:
        model.parameters[value["name"]] = np.zeros(value["dims"])
    model.run("initialize", graph=graph, **graph.inputs)
    losses = [float(model.run("train_step", graph=graph, **graph.inputs)["loss"]) for _ in range(20)]
    np.save(f"{folder}/{rank}.npy", losses)
    dist.destroy_process_group()


class RanksTest(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        environment = mock.patch.dict(os.environ, {"GLOO_SOCKET_IFNAME": "lo"})
        environment.start()
        self.addCleanup(environment.stop)

    def test_rows_arrive_and_values_are_gathered(self) -> None:
        mp.spawn(move, (self.folder,), nprocs=SIZE)

    def test_parts_train_as_the_whole_does(self) -> None:
        def gnnc_tool(*arguments: str) -> None:
            subprocess.run([str(_compiler.find_compiler()), *arguments], cwd=self.folder, check=True, capture_output=True)

        tutorial = EXAMPLES / "tutorial" / "karate.gnn"
        gnnc_tool("compile", str(tutorial), "--dtype", "f64", "--distributed", "-o", "karate.so")
        gnnc_tool("partition", str(GRAPH), "-k", str(SIZE), "--by", "random", "--model", "karate.so", "-o", "parts")
        mp.spawn(train, (self.folder,), nprocs=SIZE)
        gnnc_tool("train", "karate.so", "--graph", str(GRAPH), "--epochs", "20", "--log", "log")
        with open(f"{self.folder}/log") as file:
            expected = [json.loads(line)["loss"] for line in file]
        for rank in range(SIZE):
            np.testing.assert_allclose(np.load(f"{self.folder}/{rank}.npy"), expected, rtol=0, atol=1e-9)

    def test_survivors_name_the_collective(self) -> None:
        mp.spawn(lose, (self.folder,), nprocs=SIZE)
        for rank in (0, 2):
            with open(f"{self.folder}/{rank}") as file:
                said = file.read()
            self.assertTrue(said.startswith(f"{_abi.COLLECTIVE_ERROR} gather: "), said)

    def test_training_goes_on_after_a_rank_was_killed(self) -> None:
        """In the middle of a step: the other says what it waited for, and from the last checkpoint losses are as ever."""
        device = Path(__file__).resolve().parents[3] / "test" / "Device"
        compiler = [str(_compiler.find_compiler()), "compile", str(device / "Ranks.gnn"), "-m", "GAT2", "--distributed"]
        subprocess.run([*compiler, "-o", f"{self.folder}/gat.so"], check=True, capture_output=True)
        command = [sys.executable, str(device / "ranks.py"), "kill", f"{self.folder}/gat.so", "--device", "cpu"]
        command += ["--engine", "gloo", "--nodes", "2000", "--edges", "20000"]
        where = os.environ | {"PYTHONPATH": str(Path(gnnc.__file__).resolve().parents[1])}
        done = subprocess.run(command, capture_output=True, text=True, timeout=300, env=where)
        lines = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertEqual([line["run"] for line in lines], ["killed", "resumed", "resumed"])
        self.assertRegex(lines[0]["message"], "^train_step: (transfer|all_reduce).*: (exchange|gather): ")

    def test_asks_for_a_process_group(self) -> None:
        self.assertFalse(torch.distributed.is_initialized())
        with self.assertRaisesRegex(Exception, "call init_process_group first"):
            TorchRanks()
