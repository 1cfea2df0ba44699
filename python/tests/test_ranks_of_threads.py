# Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
# See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Parts of a graph from Python, with ranks that are threads: what `gnnc.ranks` reads of a part's file."""

from __future__ import annotations

import ctypes
import json
import subprocess
import tempfile
import threading
import unittest
from pathlib import Path
from typing import Any

import numpy as np

import gnnc
from gnnc import _abi, _compiler
from gnnc.ranks import load_part

ROOT = Path(__file__).resolve().parents[2]
GRAPH = ROOT / "examples" / "data" / "karate.safetensors"
SIZE = 3

# Masks go by numbers in the whole graph, and so do equal maxima: of nodes, and of pairs of nodes.
MODEL = """
import std
model Net(in: int = 34, class: int = 2) {
  input x: node[in]
  param W[in, out = 4], V[out, class]
  space pair = distinct(dst, src)
  let h = dropout(x @ W, 0.3)
  let r = sign(detach(h)) + (h - detach(h))
  let most = max(r.dst, along: src) + max(r.pair.src, along: pair.dst)
  output logits = most @ V
  loss = CrossEntropy(logits.train, onehot(label).train)
  train SGD(lr: 1)
}
"""


class Meeting:
    """Where the threads leave their bytes for each other."""

    def __init__(self, size: int) -> None:
        self.size, self.barrier = size, threading.Barrier(size, timeout=60)
        self.given: list[Any] = [None] * size

    def gather(self, rank: int, own: Any) -> list[Any]:
        self.given[rank] = own
        self.barrier.wait()
        found = list(self.given)
        self.barrier.wait()
        return found


class ThreadRanks:
    """One of the threads, as `TorchRanks` is one process."""

    def __init__(self, rank: int, meeting: Meeting) -> None:
        self.rank, self.size, self.meeting = rank, meeting.size, meeting
        self.record = _abi.Collectives(ctypes.sizeof(_abi.Collectives), rank, meeting.size)
        self.record.device_type = _abi.CPU
        kinds = dict((name, kind) for name, kind, *_ in _abi.Collectives._fields_)
        self.record.exchange = kinds["exchange"](self.exchange)
        self.record.gather = kinds["gather"](self.gather)
        self.record.gather_host = kinds["gather_host"](self.gather)

    def exchange(
        self, user: Any, send: int, sends: Any, receive: int, receives: Any, row_bytes: int, stream: Any, error: Any
    ) -> int:
        ends = np.cumsum([0] + [sends[rank] * row_bytes for rank in range(self.size)])
        rows = ctypes.string_at(send, int(ends[-1])) if ends[-1] else b""
        every = self.meeting.gather(self.rank, [rows[ends[rank] : ends[rank + 1]] for rank in range(self.size)])
        came = b"".join(of[self.rank] for of in every)
        ctypes.memmove(receive, came, len(came)) if came else None
        return _abi.OK

    def gather(self, user: Any, own: int, every: int, size: int, *of_run: Any) -> int:
        came = b"".join(self.meeting.gather(self.rank, ctypes.string_at(own, size) if size else b""))
        ctypes.memmove(every, came, len(came)) if came else None
        return _abi.OK


class PartsTest(unittest.TestCase):
    def test_parts_train_as_the_whole_does(self) -> None:
        self.train_parts()

    def test_an_input_that_does_not_change_is_exchanged_once(self) -> None:
        self.train_parts("--fixed", "x")

    def train_parts(self, *options: str) -> None:
        with tempfile.TemporaryDirectory() as folder:

            def tool(*arguments: str) -> None:
                command = [str(_compiler.find_compiler()), *arguments]
                subprocess.run(command, cwd=folder, check=True, capture_output=True)

            Path(folder, "net.gnn").write_text(MODEL)
            tool("compile", "net.gnn", "--dtype", "f64", "--distributed", *options, "-o", "net.so")
            tool("partition", str(GRAPH), "-k", str(SIZE), "--by", "random", "--model", "net.so", "-o", "parts")
            tool("train", "net.so", "--graph", str(GRAPH), "--epochs", "30", "--seed", "0", "--log", "log")
            with open(f"{folder}/log") as file:
                expected = [json.loads(line)["loss"] for line in file]
            meeting, losses = Meeting(SIZE), [[] for _ in range(SIZE)]

            def train(rank: int) -> None:
                model = gnnc.load(f"{folder}/net.so", threads=1)
                graph = load_part(model, f"{folder}/parts/part.{rank}.safetensors", ThreadRanks(rank, meeting))
                for value in model.description["params"] + model.description["states"]:
                    model.parameters[value["name"]] = np.zeros(value["dims"])
                model.run("initialize", graph=graph, **graph.inputs)
                for _ in expected:
                    losses[rank].append(float(model.run("train_step", graph=graph, **graph.inputs)["loss"]))

            threads = [threading.Thread(target=train, args=(rank,), daemon=True) for rank in range(SIZE)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join(120)
            for found in losses:
                np.testing.assert_allclose(found, expected, rtol=0, atol=1e-9)


if __name__ == "__main__":
    unittest.main()
