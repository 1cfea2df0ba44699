# Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
# See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The Python package with PyTorch on a GPU: numbers, streams, captures, and times beside eager PyTorch.

    GNNC_COMPILER=build/package/gnnc PYTHONPATH=python python3 test/Device/PyTorch.py [--times]

For a machine with a GPU, torch 2.9 or later and torch-geometric, where LLVM need not be: `ninja -C build gnnc-package` makes
a compiler that runs by itself. Prints one line for each check, and exits with 1 if any failed.
"""

from __future__ import annotations

import argparse
import sys
import time
import traceback
from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch_geometric.nn import GATConv, GCNConv, SAGEConv

import gnnc

DEVICE = "cuda"


class Net(nn.Module):
    def __init__(self, conv: Callable[..., nn.Module], inputs: int = 32, hidden: int = 16, classes: int = 7) -> None:
        super().__init__()
        self.conv1, self.conv2 = conv(inputs, hidden), conv(hidden, classes)

    def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
        return self.conv2(F.elu(self.conv1(x, edge_index)), edge_index)


def graph(nodes: int, edges: int, width: int = 32, seed: int = 0) -> tuple[Tensor, Tensor]:
    generator = torch.Generator(DEVICE).manual_seed(seed)
    x = torch.randn(nodes, width, generator=generator, device=DEVICE)
    return x, torch.randint(0, nodes, (2, edges), generator=generator, device=DEVICE)


def close(found: Tensor, expected: Tensor, tolerance: float = 2e-5) -> None:
    torch.testing.assert_close(found, expected, rtol=tolerance, atol=tolerance)


def compiled(conv: Callable[..., nn.Module] = GCNConv) -> tuple[nn.Module, nn.Module]:
    torch.manual_seed(0)
    model = Net(conv).to(DEVICE)
    return model, gnnc.compile(model, graph(50, 200))


def check_numbers(conv: Callable[..., nn.Module]) -> None:
    model, fast = compiled(conv)
    for nodes, edges in ((50, 200), (2708, 10556), (20000, 300000)):
        x, index = graph(nodes, edges, seed=nodes)
        x.requires_grad_()
        wanted = [x, *model.parameters()]
        found, expected = fast(x, index), model(x, index)
        close(found, expected)
        cotangent = torch.randn_like(expected)
        pairs = zip(torch.autograd.grad(found, wanted, cotangent), torch.autograd.grad(expected, wanted, cotangent))
        for a, b in pairs:
            scale = b.abs().max().clamp(min=1)
            close(a / scale, b / scale, 5e-5)


def check_streams() -> None:
    """What a side stream computes is right when that stream is waited for, and only the current stream is used."""
    model, fast = compiled()
    x, index = graph(2708, 10556)
    expected = model(x, index)
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.no_grad(), torch.cuda.stream(stream):
        slow = x
        for _ in range(20):
            slow = slow * 1.0
        found = fast(slow, index)
    torch.cuda.current_stream().wait_stream(stream)
    close(found, expected)


def check_capture() -> None:
    """A known graph can be captured; a new one is refused; what was captured runs on new numbers."""
    model, fast = compiled()
    x, index = graph(2708, 10556)
    with torch.no_grad():
        fast(x, index)
        captured = torch.cuda.CUDAGraph()
        stream = torch.cuda.Stream()
        with torch.cuda.stream(stream):
            fast(x, index)
        torch.cuda.synchronize()
        with torch.cuda.graph(captured):
            output = fast(x, index)
        x.copy_(torch.randn_like(x))
        gnnc.clear_graphs()
        captured.replay()
        close(output, model(x, index))
        other = graph(100, 400)
        refused = torch.cuda.CUDAGraph()
        try:
            with torch.cuda.graph(refused):
                fast(*other)
        except gnnc.Error as error:
            assert "capture" in str(error), error
        else:
            raise AssertionError("a graph was prepared during a capture")
    torch.cuda.synchronize()


def check_batches() -> None:
    """1000 batches of different sizes: steady memory."""
    model, fast = compiled()
    memory = []
    for step in range(1000):
        x, index = graph(100 + step * 37 % 900, 400 + step * 91 % 5000, seed=step)
        fast(x, index).sum().backward()
        if step % 100 == 99:
            torch.cuda.synchronize()
            free, total = torch.cuda.mem_get_info()
            memory.append(total - free)
    assert memory[-1] - memory[3] < 64 << 20, memory


def check_changed_index() -> None:
    model, fast = compiled()
    x, index = graph(100, 400)
    close(fast(x, index), model(x, index))
    index.copy_(graph(100, 400, seed=5)[1])
    close(fast(x, index), model(x, index))


def seconds(run: Callable[[], object], calls: int = 200) -> float:
    for _ in range(20):
        run()
    torch.cuda.synchronize()
    started = time.perf_counter()
    for _ in range(calls):
        run()
    torch.cuda.synchronize()
    return (time.perf_counter() - started) / calls


def print_times() -> None:
    print("| model | graph | mode | eager µs | torch.compile µs | gnnc µs |\n| --- | --- | --- | --- | --- | --- |")
    for conv in (GCNConv, GATConv, SAGEConv):
        model, fast = compiled(conv)
        torch._dynamo.reset()
        torch._dynamo.config.capture_dynamic_output_shape_ops = True
        peer = torch.compile(model, dynamic=True)
        for nodes, edges in ((2708, 10556), (169343, 1166243)):
            x, index = graph(nodes, edges)

            def step(run: nn.Module) -> Callable[[], object]:
                def call() -> None:
                    run(x, index).sum().backward()

                return call

            def infer(run: nn.Module) -> Callable[[], object]:
                def call() -> object:
                    with torch.no_grad():
                        return run(x, index)

                return call

            for mode, make in (("no_grad", infer), ("forward and backward", step)):
                row = [f"{seconds(make(run)) * 1e6:.1f}" for run in (model, peer, fast)]
                print(f"| {conv.__name__} | {nodes}, {edges} | {mode} | {' | '.join(row)} |", flush=True)


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--times", action="store_true")
    args = parser.parse_args()
    checks: list[tuple[str, Callable[[], None]]] = [
        *[
            (f"numbers of {conv.__name__}", lambda conv=conv: check_numbers(conv))
            for conv in (GCNConv, GATConv, SAGEConv)
        ],
        ("streams", check_streams),
        ("captures", check_capture),
        ("1000 batches", check_batches),
        ("changed index", check_changed_index),
    ]
    failed = 0
    for name, check in checks:
        try:
            check()
            print(f"passed {name}", flush=True)
        except Exception:
            failed += 1
            print(f"FAILED {name}", flush=True)
            traceback.print_exc()
    if args.times:
        print_times()
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
