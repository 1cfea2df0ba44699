"""A model under one of the compilers: made, first steps, memory, and the numbers that it gives."""

from __future__ import annotations

import copy
import math
import resource
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils import _pytree as pytree

from whole.catalogue import Made

Numbers = dict[str, dict[str, Tensor]]  # by kind and name


class OutOfTime(BaseException):
    """No `except Exception` of a compiler takes it for a failure of its own."""


@contextmanager
def at_most(seconds: float) -> Iterator[None]:
    def stop(*_: Any) -> None:
        raise OutOfTime(f"more than {seconds:.0f} s")

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def processor_time() -> float:
    """Seconds of this process and of those it has waited for, such as compilers."""
    found = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in found)


def moved(tree: Any, device: str, dtype: torch.dtype | None = None) -> Any:
    """On a device, and floats in another type."""

    def one(leaf: Any) -> Any:
        if not isinstance(leaf, Tensor):
            return leaf
        return leaf.to(device, dtype if dtype and leaf.is_floating_point() else leaf.dtype)

    return pytree.tree_map(one, tree)


class Memory:
    """The most bytes of a GPU that a contender takes beside what there was before; of a CPU nothing is known."""

    def __init__(self, device: str) -> None:
        self.cuda = device == "cuda"
        if self.cuda:
            torch.cuda.synchronize()
            self.before = torch.cuda.memory_allocated()
            self.kept = 0

    def settle(self) -> None:
        """After the first calls: what stays between calls."""
        if self.cuda:
            torch.cuda.synchronize()
            self.kept = torch.cuda.memory_allocated() - self.before

    def most(self, run: Callable[[], object]) -> float | None:
        """MiB during a call, with what is kept between calls."""
        if not self.cuda:
            run()
            return None
        torch.cuda.synchronize()
        torch.cuda.reset_peak_memory_stats()
        before = torch.cuda.memory_allocated()
        run()
        torch.cuda.synchronize()
        return (torch.cuda.max_memory_allocated() - before + self.kept) / 2**20


def gnnc_options(module: nn.Module, inputs: Any, precision: str) -> list[str]:
    """TF32 is asked for by an option, unless the package follows PyTorch's setting."""
    if precision != "tf32":
        return []
    from gnnc.torch import _module

    found = []
    for setting in ("highest", "high"):
        torch.set_float32_matmul_precision(setting)
        found.append(_module.compiler_options(module, pytree.tree_leaves(inputs), _module.Options()))
    return [] if found[0] != found[1] else ["--products", "tf32"]


class Contender:
    """A copy of the model of its own. `step` leaves gradients in the parameters."""

    def __init__(self, way: str, made: Made, device: str, precision: str, dtype: torch.dtype | None = None) -> None:
        self.way, self.device, self.precision = way, device, precision
        self.inputs, self.target = moved((made.inputs, made.target), device, dtype)
        self.loss = made.loss
        self.module = copy.deepcopy(made.module).to(device).train()
        if dtype:
            self.module.to(dtype)
        self.memory = Memory(device)  # parameters and inputs are everybody's
        self.run: Callable[..., Any] = self.module
        self.options: list[str] = []

    def move(self, by: float) -> None:
        """Every parameter by a random part of itself."""
        with torch.no_grad():
            for parameter in self.module.parameters():
                parameter *= 1 + by * torch.randn_like(parameter)

    def compile(self) -> None:
        """gnnc compiles here, PyTorch at the first step."""
        if self.way == "gnnc":
            import gnnc

            self.options = gnnc_options(self.module, self.inputs, self.precision)
            with self._precision():
                self.run = gnnc.compile(self.module, self.inputs, options=self.options, progress=False)
        elif self.way != "eager":
            torch._dynamo.reset()
            self.run = torch.compile(self.module, mode=None if self.way == "torch.compile" else self.way)

    def _precision(self) -> torch.autocast:
        return torch.autocast(self.device, torch.bfloat16, enabled=self.precision == "bf16")

    def _call(self) -> Any:
        if self.way == "reduce-overhead":
            torch.compiler.cudagraph_mark_step_begin()
        return self.run(*self.inputs)

    def step(self) -> Any:
        for parameter in self.module.parameters():
            parameter.grad = None
        with self._precision():
            found = self._call()
            loss = self.loss(found, self.target)
        loss.backward()
        return found

    def forward(self) -> Any:
        with torch.no_grad(), self._precision():
            return self._call()

    def training(self, on: bool) -> None:
        self.module.train(on)
        if isinstance(self.run, nn.Module):
            self.run.train(on)

    def wait(self) -> None:
        if self.device == "cuda":
            torch.cuda.synchronize()

    def numbers(self) -> Numbers:
        """Of the first step and of a call without gradients, copied: what comes next may overwrite them."""
        self.training(True)
        outputs = {str(i): leaf.detach().clone() for i, leaf in enumerate(pytree.tree_leaves(self.step()))}
        gradients = {
            name: parameter.grad.detach().clone()
            for name, parameter in self.module.named_parameters()
            if parameter.grad is not None
        }
        return {"outputs": outputs, "gradients": gradients}

    def inferred(self) -> Numbers:
        self.training(False)
        return {"inference": {str(i): leaf.clone() for i, leaf in enumerate(pytree.tree_leaves(self.forward()))}}

    def release(self) -> None:
        for parameter in self.module.parameters():
            parameter.grad = None


def errors(found: Numbers, wanted: Numbers) -> dict[str, float]:
    """Relative errors, as norms: the largest of outputs, that of all gradients as one vector, and the largest of one
    gradient. One that is all but zero, such as of a bias before a normalisation, is compared with a hundredth of the
    largest."""
    result = {}
    for kind, tensors in wanted.items():
        sizes, away = {}, {}
        for name, tensor in tensors.items():
            other = found[kind].get(name)
            other = torch.zeros_like(tensor) if other is None else other.double()
            sizes[name] = tensor.double().norm().item()
            away[name] = (other - tensor.double()).norm().item()
        scale = {name: max(1, tensor.numel()) ** 0.5 for name, tensor in tensors.items()}
        least = 1e-2 * max((sizes[name] / scale[name] for name in sizes), default=0.0)
        each = [away[name] / max(sizes[name], least * scale[name], 1e-30) for name in sizes]
        worst = max((math.inf if error != error else error for error in each), default=0.0)
        if kind == "gradients":
            whole = math.hypot(*away.values()) / max(math.hypot(*sizes.values()), 1e-30)
            result[kind] = math.inf if whole != whole else whole
            result["worst gradient"] = worst
        else:
            result[kind] = worst
    return result


#: An error below this is none, whatever eager's is. Where an activation has a kink, or a maximum two near candidates,
#: one gradient may differ.
NEGLIGIBLE = {"float32": 3e-6, "tf32": 1e-3, "bf16": 1e-2}
FACTOR, KINKS = 4.0, 1e-2
#: How far parameters are moved to see how far numbers then move.
ROUNDING = {"float32": 2**-23, "tf32": 2**-12, "bf16": 2**-9}


def is_wrong(found: dict[str, float], usual: dict[str, float], precision: str) -> bool:
    """Whether errors are far above what is usual in this precision."""
    for kind, error in found.items():
        least = max(NEGLIGIBLE[precision], KINKS) if kind == "worst gradient" else NEGLIGIBLE[precision]
        if error > max(FACTOR * usual[kind], least):
            return True
    return False


def clock() -> float:
    return time.perf_counter()
