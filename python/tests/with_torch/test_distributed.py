# Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
# See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Two processes of DistributedDataParallel, with equal shares of the targets."""

from __future__ import annotations

import os
import tempfile
import unittest
from pathlib import Path
from unittest import mock

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch.nn.parallel import DistributedDataParallel

import gnnc
from gnnc import _compiler
from torch_modules import Conv, TorchTest, graph

PROCESSES = 2


def loss_of(run: torch.nn.Module, part: slice) -> torch.Tensor:
    x, edges = graph(8, 24)
    return run(x, edges)[part].square().mean()


def work(rank: int, folder: str) -> None:
    """One process: gradients of its share, with the exchange and without."""
    torch.manual_seed(0)
    store = f"file://{folder}/store"
    dist.init_process_group("gloo", init_method=store, rank=rank, world_size=PROCESSES)
    with mock.patch.object(_compiler, "cache_folder", lambda: Path(folder) / "cache"):
        module = Conv()
        fast = gnnc.compile(module, graph(8, 24))
        part = slice(4 * rank, 4 * rank + 4)
        both = DistributedDataParallel(fast)
        loss_of(both, part).backward()
        exchanged = {name: p.grad.clone() for name, p in module.named_parameters()}
        module.zero_grad()
        with both.no_sync():
            loss_of(both, part).backward()
        alone = {name: p.grad.clone() for name, p in module.named_parameters()}
    torch.save((exchanged, alone), f"{folder}/{rank}.pt")
    dist.destroy_process_group()


class DistributedTest(TorchTest):
    def test_gradients_are_the_average(self) -> None:
        with tempfile.TemporaryDirectory() as folder, mock.patch.dict(os.environ, {"GLOO_SOCKET_IFNAME": "lo"}):
            mp.spawn(work, (folder,), nprocs=PROCESSES)
            results = [torch.load(f"{folder}/{rank}.pt") for rank in range(PROCESSES)]
        torch.manual_seed(0)
        module = Conv()
        loss = sum(loss_of(module, slice(4 * rank, 4 * rank + 4)) for rank in range(PROCESSES)) / PROCESSES
        loss.backward()
        for name, parameter in module.named_parameters():
            for exchanged, alone in results:
                self.assertClose(exchanged[name], parameter.grad)
                self.assertFalse(torch.allclose(alone[name], parameter.grad, rtol=1e-3, atol=1e-4))


if __name__ == "__main__":
    unittest.main()
