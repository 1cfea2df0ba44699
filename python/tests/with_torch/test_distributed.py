# Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
# See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Two processes of DistributedDataParallel, with equal shares of the targets."""

from __future__ import annotations

import os
import tempfile
import unittest
from collections.abc import Sequence
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


def share(rank: int) -> slice:
    return slice(4 * rank, 4 * rank + 4)


def loss_of(run: torch.nn.Module, part: slice, device: torch.device | str = "cpu") -> torch.Tensor:
    x, edges = (tensor.to(device) for tensor in graph(8, 24))
    return run(x, edges)[part].square().mean()


def work(rank: int, folder: str, backend: str) -> None:
    """One process: gradients of its share, with the exchange and without."""
    torch.manual_seed(0)
    device = torch.device("cpu")
    if backend == "nccl":
        device = torch.device("cuda", rank)
        torch.cuda.set_device(device)
    store = f"file://{folder}/store"
    dist.init_process_group(backend, init_method=store, rank=rank, world_size=PROCESSES)
    with mock.patch.object(_compiler, "cache_folder", lambda: Path(folder) / "cache"):
        module = Conv().to(device)
        fast = gnnc.compile(module, tuple(tensor.to(device) for tensor in graph(8, 24)))
        part = share(rank)
        both = DistributedDataParallel(fast)
        loss_of(both, part, device).backward()
        exchanged = {name: p.grad.cpu().clone() for name, p in module.named_parameters()}
        module.zero_grad()
        with both.no_sync():
            loss_of(both, part, device).backward()
        alone = {name: p.grad.cpu().clone() for name, p in module.named_parameters()}
    torch.save((exchanged, alone), f"{folder}/{rank}.pt")
    dist.destroy_process_group()


class DistributedTest(TorchTest):
    backend = "gloo"

    def setUp(self) -> None:
        super().setUp()
        with tempfile.TemporaryDirectory() as folder, mock.patch.dict(os.environ, {"GLOO_SOCKET_IFNAME": "lo"}):
            mp.spawn(work, (folder, self.backend), nprocs=PROCESSES)
            self.exchanged, self.alone = zip(*(torch.load(f"{folder}/{rank}.pt") for rank in range(PROCESSES)))
        torch.manual_seed(0)
        module = Conv()
        self.shares = []  # what eager PyTorch finds of each process's part
        for rank in range(PROCESSES):
            module.zero_grad()
            loss_of(module, share(rank)).backward()
            self.shares.append({name: p.grad.clone() for name, p in module.named_parameters()})

    def check_average(self, found: Sequence[dict[str, torch.Tensor]]) -> None:
        """That each process has the average of all shares."""
        average = {name: sum(each[name] for each in self.shares) / PROCESSES for name in self.shares[0]}
        for gradients in found:
            self.assertClose(gradients, average)

    def test_gradients_are_the_average_only_if_they_are_exchanged(self) -> None:
        self.check_average(self.exchanged)
        for alone, expected in zip(self.alone, self.shares):
            self.assertClose(alone, expected)
            with self.assertRaises(AssertionError):  # so the check above sees an exchange that is switched off
                self.check_average([alone])


@unittest.skipUnless(torch.cuda.device_count() >= PROCESSES, "needs a GPU for each process")
class GPUsTest(DistributedTest):
    """The same over NCCL, each process with a GPU of its own."""

    backend = "nccl"


if __name__ == "__main__":
    unittest.main()
