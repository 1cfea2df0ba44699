# Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
# See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Threads of the CPU: they are PyTorch's."""

from __future__ import annotations

import multiprocessing
import threading
import unittest
from collections.abc import Callable
from queue import SimpleQueue

import torch
from torch import Tensor, nn
from torch._subclasses import FakeTensor

import gnnc
from gnnc.torch import _effects, _threads
from torch_modules import Conv, TorchTest, graph


class Interrupted(nn.Module):
    """While it is traced, `meanwhile` is called once."""

    meanwhile: SimpleQueue[Callable[[], None]] = SimpleQueue()  # a trace would put a list back

    def __init__(self) -> None:
        super().__init__()
        self.conv = Conv()

    def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
        if torch.compiler.is_compiling() and not Interrupted.meanwhile.empty():
            Interrupted.meanwhile.get()()
        return self.conv(x, edge_index)


class ThreadsTest(TorchTest):
    def setUp(self) -> None:
        super().setUp()
        threads = torch.get_num_threads()
        self.addCleanup(torch.set_num_threads, threads)
        torch.set_num_threads(2)
        self.module = Conv(64, 64)
        self.x, self.edges = graph(3000, 9000, 64)
        self.fast = gnnc.compile(self.module, (self.x, self.edges))

    def test_one_thread_and_two_give_the_same_bits(self) -> None:
        threads = torch.get_num_threads()
        self.addCleanup(torch.set_num_threads, threads)
        results = []
        for count in (1, 2):
            torch.set_num_threads(count)
            results.append(self.fast(self.x, self.edges))
        self.assertTrue(torch.equal(*results))

    @unittest.skipUnless("OpenMP" in torch.__config__.parallel_info(), "needs a PyTorch with OpenMP")
    def test_no_threads_of_our_own(self) -> None:
        before = self._threads()
        self.fast(self.x, self.edges)
        torch.set_num_threads(1)
        self.fast(self.x, self.edges)
        self.assertLessEqual(self._threads() - before, 1, "PyTorch's second one, where it was not there before")
        self.assertIsNotNone(_threads._parallel())

    def _threads(self) -> int:
        with open("/proc/self/status") as status:
            return next(int(line.split()[1]) for line in status if line.startswith("Threads:"))

    def test_several_callers(self) -> None:
        expected = self.fast(self.x, self.edges)
        found: list[torch.Tensor] = []
        callers = [threading.Thread(target=lambda: found.append(self.fast(self.x, self.edges))) for _ in range(4)]
        for caller in callers:
            caller.start()
        for caller in callers:
            caller.join()
        self.assertTrue(len(found) == 4 and all(torch.equal(each, expected) for each in found))

    def test_two_threads_compile_one_module(self) -> None:
        """At their first call, and at their first second derivative."""

        def derivative(run: nn.Module, edges: Tensor) -> Tensor:
            leaf = x.clone().requires_grad_()
            (first,) = torch.autograd.grad(run(leaf, edges).square().sum(), leaf, create_graph=True)
            return torch.autograd.grad(first.square().sum(), leaf)[0]

        def differentiate() -> None:
            meeting.wait()
            found.append(derivative(fast, edges))

        x, edges = graph(6, 12)
        for is_compiled in (False, True):
            module, found, meeting = Conv(), [], threading.Barrier(3)
            fast = gnnc.compile(module, (x, edges) if is_compiled else None)
            callers = [threading.Thread(target=differentiate) for _ in range(3)]
            for caller in callers:
                caller.start()
            for caller in callers:
                caller.join()
            self.assertFalse(any(isinstance(each, FakeTensor) for each in module.parameters()))
            self.assertClose(found, [derivative(module, edges)] * 3)

    def test_a_call_while_another_thread_traces_the_module(self) -> None:
        module, (x, edges), found = Interrupted(), graph(6, 12), []
        fast = gnnc.compile(module, (x, edges))
        caller = threading.Thread(target=lambda: found.append(fast(x, edges)))

        def call() -> None:
            caller.start()
            caller.join(0.5)  # it waits for the trace to end, if it sees what that has put in

        Interrupted.meanwhile.put(call)
        gnnc.compile(module, (x, edges))
        caller.join()
        self.assertTrue(Interrupted.meanwhile.empty())
        self.assertClose(found, [module(x, edges)])

    def test_a_call_while_another_thread_traces_another_module(self) -> None:
        """It is no part of what is traced, and has second derivatives as others have."""
        (x, edges), calling, called = graph(6, 12), threading.Event(), threading.Event()
        fast, leaf = gnnc.compile(Conv(), (x, edges)), x.clone().requires_grad_()

        def meanwhile() -> None:
            calling.set()
            called.wait(10)

        Interrupted.meanwhile.put(meanwhile)
        tracer = threading.Thread(target=lambda: torch.export.export(Interrupted(), (x, edges)))
        tracer.start()
        calling.wait(10)
        output = fast(leaf, edges)
        called.set()
        tracer.join()
        (first,) = torch.autograd.grad(output.sum(), leaf, create_graph=True)
        first.sum().backward()
        self.assertIsNotNone(leaf.grad)

    def test_exports_of_two_threads_leave_nothing_replaced(self) -> None:
        """Whichever ends first; meanwhile a third thread has PyTorch's hooks."""
        names = ("register_hook", "retain_grad", "register_post_accumulate_grad_hook")
        before = [getattr(torch.Tensor, name) for name in names]
        first, second, done = threading.Event(), threading.Event(), threading.Event()

        def begin() -> None:
            with _effects._without_gradient_hooks():
                first.set()
                second.wait(10)
            done.set()

        def end() -> None:
            first.wait(10)
            with _effects._without_gradient_hooks():
                with self.assertRaisesRegex(gnnc.Error, "forward calls 'register_hook'"):
                    torch.ones(1, requires_grad=True).register_hook(torch.neg)
                second.set()
                done.wait(10)
                both.append(True)

        both: list[bool] = []
        threads = [threading.Thread(target=each) for each in (begin, end)]
        for thread in threads:
            thread.start()
        first.wait(10)
        torch.ones(1, requires_grad=True).register_hook(torch.neg)
        for thread in threads:
            thread.join()
        self.assertEqual(both, [True])
        self.assertEqual([getattr(torch.Tensor, name) for name in names], before)

    def test_a_forked_process(self) -> None:
        """GNU's OpenMP waits in a child for the threads of its parent."""
        expected = self.fast(self.x, self.edges).detach().numpy()

        def check() -> None:  # PyTorch itself would wait
            assert (self.fast(self.x, self.edges).detach().numpy() == expected).all()

        child = multiprocessing.get_context("fork").Process(target=check)
        child.start()
        child.join(60)
        self.addCleanup(child.kill)
        self.assertEqual(child.exitcode, 0, "None: it waits")
