"""The same model in PyTorch and ONNX Runtime, behind the least HTTP that Python needs: what `load.py --compare` starts.

    python3 peers.py torch|onnx|gnnc --model model.so [--workers 2]

One thread runs asyncio and parses requests; workers score graphs, each on one thread of its own. `gnnc` is the compiled
model of the service called from Python, which tells what the framing costs.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np

from graphs import FEATURES, HIDDEN, SHAPES, make_graph, weights

Score = Callable[[np.ndarray, np.ndarray], np.ndarray]


def torch_module():
    import torch
    from torch import Tensor, nn

    class SAGE(nn.Module):
        def __init__(self, name: str) -> None:
            super().__init__()
            for part in ("W_l", "W_r", "b"):
                values = torch.tensor(weights()[f"{name}.{part}"]).view(SHAPES[f"{name}.{part}"])
                self.register_parameter(part, nn.Parameter(values))

        def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
            src, dst = edge_index[0], edge_index[1]
            sums = torch.zeros_like(x).index_add(0, dst, x[src])
            degrees = torch.zeros_like(x[:, :1]).index_add(0, dst, torch.ones_like(x[:, :1])[src])
            return (sums / degrees.clamp(min=1)) @ self.W_l + x @ self.W_r + self.b

    class Scores(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.c1, self.c2 = SAGE("c1"), SAGE("c2")
            self.w, self.b = (nn.Parameter(torch.tensor(weights()[name]).view(SHAPES[name])) for name in ("w", "b"))

        def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
            h = self.c1(x, edge_index).relu()
            h = self.c2(h, edge_index).relu()
            return torch.sigmoid(h @ self.w + self.b)

    assert SHAPES["c1.W_l"] == (FEATURES, HIDDEN)
    return Scores().eval()


def with_torch(_: str) -> Callable[[], Score]:
    import torch

    torch.set_num_threads(1)  # of each worker
    module = torch_module()

    def score(x: np.ndarray, edge_index: np.ndarray) -> np.ndarray:
        with torch.inference_mode():
            return module(torch.from_numpy(x), torch.from_numpy(edge_index)).numpy()

    return lambda: score


def export(path: str) -> None:
    import torch

    graph = make_graph(0, 50)
    example = (torch.tensor(graph.x).view(-1, FEATURES), torch.tensor(graph.edge_index, dtype=torch.int64).view(2, -1))
    nodes, edges = torch.export.Dim("nodes", min=2), torch.export.Dim("edges", min=2)
    # With dynamo=False, torch 2.15 writes a program with other scores (by 0.05): its index_add is not right.
    program = torch.onnx.export(
        torch_module(), example, dynamo=True, opset_version=18, verbose=False,
        dynamic_shapes={"x": {0: nodes}, "edge_index": {1: edges}},
        input_names=["x", "edge_index"], output_names=["score"],
    )  # fmt: skip
    program.save(path)


def with_onnx(_: str) -> Callable[[], Score]:
    import onnxruntime

    with tempfile.TemporaryDirectory() as folder:  # by another process, as a server would not have PyTorch
        path = Path(folder) / "model.onnx"
        log = subprocess.run([sys.executable, __file__, "export", "--model", str(path)], capture_output=True, text=True)
        if log.returncode:
            raise SystemExit(log.stderr)
        content = path.read_bytes()
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1

    def session() -> Score:
        made = onnxruntime.InferenceSession(content, options, providers=["CPUExecutionProvider"])
        return lambda x, edge_index: made.run(["score"], {"x": x, "edge_index": edge_index.astype(np.int64)})[0]

    return session


def with_gnnc(path: str) -> Callable[[], Score]:
    os.environ["GNNC_GRAPH_CACHE_BYTES"] = "0"  # no graph comes twice
    import gnnc

    def model() -> Score:
        made = gnnc.load(path, threads=1)
        return lambda x, edge_index: np.asarray(made(x=x, edge_index=edge_index))

    return model


def answer(score: Score, body: bytearray) -> bytes:
    length = int.from_bytes(body[:8], "little")
    header, data = json.loads(body[8 : 8 + length]), memoryview(body)[8 + length :]

    def tensor(name: str, dtype: type) -> np.ndarray:
        begin, end = header[name]["data_offsets"]
        return np.frombuffer(data[begin:end], dtype).reshape(header[name]["shape"])

    scores = score(tensor("x", np.float32), tensor("edge_index", np.int32)).tobytes()
    entry = {"dtype": "F32", "shape": [len(scores) // 4], "data_offsets": [0, len(scores)]}
    text = json.dumps({"score": entry}).encode()
    text += b" " * (-len(text) % 8)
    return len(text).to_bytes(8, "little") + text + scores


class Protocol(asyncio.Protocol):
    def __init__(self, pool: ThreadPoolExecutor, respond: Callable[[bytearray], bytes]) -> None:
        self.pool, self.respond, self.received, self.length = pool, respond, bytearray(), -1

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        self.received += data
        if self.length < 0 and (end := self.received.find(b"\r\n\r\n")) >= 0:
            head = bytes(self.received[:end]).lower()
            at = head.index(b"content-length:") + len(b"content-length:")
            self.length = int(head[at:].split(b"\r\n", 1)[0])
            del self.received[: end + 4]
        if 0 <= self.length <= len(self.received):
            body, self.received, self.length = self.received, bytearray(), -1
            asyncio.ensure_future(self.reply(body))

    async def reply(self, body: bytearray) -> None:
        scores = await asyncio.get_running_loop().run_in_executor(self.pool, self.respond, body)
        self.transport.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(scores) + scores)


async def serve(make: Callable[[], Score], workers: int) -> None:
    own = threading.local()

    def begin() -> None:
        own.score = make()

    pool = ThreadPoolExecutor(workers, initializer=begin)
    loop, stop = asyncio.get_running_loop(), asyncio.Event()
    loop.add_signal_handler(signal.SIGTERM, stop.set)
    server = await loop.create_server(lambda: Protocol(pool, lambda body: answer(own.score, body)), "127.0.0.1", 0)
    print(f"peer on 127.0.0.1:{server.sockets[0].getsockname()[1]}", flush=True)
    await stop.wait()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("peer", choices=["torch", "onnx", "gnnc", "export"])
    parser.add_argument("--model", default="")
    parser.add_argument("--workers", type=int, default=2)
    given = parser.parse_args()
    if given.peer == "export":
        export(given.model)
        sys.exit()
    makers = {"torch": with_torch, "onnx": with_onnx, "gnnc": with_gnnc}
    asyncio.run(serve(makers[given.peer](given.model), given.workers))
