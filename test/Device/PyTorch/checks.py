# Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
# See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What compiled models compute on a GPU, and that they go with PyTorch's streams, captures and derivatives."""

from __future__ import annotations

import copy
import threading
import time
from typing import Any
from unittest import mock

import torch
from torch import Tensor, nn
from torch.utils import _pytree as pytree
from torch_geometric import nn as layers

import gnnc
import cases
import registry
from gnnc import _cache, _compiler, ops
from gnnc.torch import _device
from cases import TwoLayers, graph
from registry import check
from torch_modules import Conv


class Regular(nn.Module):
    """With what training regularises by."""

    def __init__(self) -> None:
        super().__init__()
        self.conv1, self.conv2 = layers.GATConv(8, 8, heads=2, dropout=0.3), layers.GCNConv(16, 7)
        self.norm = nn.BatchNorm1d(16)

    def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
        x = nn.functional.elu(self.norm(self.conv1(x, edge_index)))
        return self.conv2(nn.functional.dropout(x, 0.5, self.training), edge_index)


def has_lost_device() -> bool:
    """Whether an error has made the device useless to this process."""
    try:
        synchronize()
        torch.randn(1, device=registry.device)  # also refused after a capture that has failed
    except Exception:
        return True
    return False


def synchronize() -> None:
    if registry.device == "cuda":
        torch.cuda.synchronize()


def close(found: Any, expected: Any, tolerance: float = 2e-5) -> None:
    torch.testing.assert_close(found, expected, rtol=tolerance, atol=tolerance)


def nothing_is_compiled() -> Any:
    return mock.patch.object(_compiler, "run_compiler", side_effect=AssertionError("something is compiled again"))


def small() -> tuple[nn.Module, nn.Module]:
    torch.manual_seed(0)
    model = TwoLayers(layers.GCNConv).to(registry.device)
    return model, gnnc.compile(model, graph(50, 200))


def worst(found: Any, expected: Any) -> float:
    """The largest error, where numbers below 1 count absolutely and others beside their tensor's largest. One element in
    a thousand may be further off: where a number is nearly 0, the slope of a rectifier depends on how it was rounded."""
    largest = 0.0
    for a, b in zip(found, expected, strict=True):
        assert a.shape == b.shape, (a.shape, b.shape)
        if b.numel():
            errors = (a.double() - b).abs().flatten().sort().values
            assert not errors.isnan().any(), "a result is not a number"
            largest = max(largest, (errors[-1 - b.numel() // 1000] / b.abs().max().clamp(min=1)).item())
    return largest


def compare(name: str) -> str:
    """Outputs and gradients of one object at three sizes, beside the module in float64."""
    module = cases.make(name)
    args, kwargs = cases.arguments(name, 9, 30)
    started = time.monotonic()
    fast = gnnc.compile(module, args, kwargs=kwargs)
    compiling = time.monotonic() - started
    exact = copy.deepcopy(module).double()
    errors = []
    with nothing_is_compiled():
        for nodes, edges in ((9, 30), (300, 2000), (3000, 40000)):
            args, kwargs = cases.arguments(name, nodes, edges)
            floats = [leaf for leaf in pytree.tree_leaves((args, kwargs)) if leaf.is_floating_point()]
            for leaf in floats:
                leaf.requires_grad_()
            wide: dict[int, Tensor] = {id(leaf): leaf.detach().double().requires_grad_() for leaf in floats}
            wide_args, wide_kwargs = pytree.tree_map(lambda leaf: wide.get(id(leaf), leaf), (args, kwargs))
            found = pytree.tree_leaves(fast(*args, **kwargs))
            expected = pytree.tree_leaves(exact(*wide_args, **wide_kwargs))
            cotangents = [torch.randn_like(output) for output in found]
            outputs = worst(found, expected)
            wanted = [*floats, *module.parameters()]
            wide_wanted = [*wide.values(), *exact.parameters()]
            gradients = torch.autograd.grad(found, wanted, cotangents, allow_unused=True)
            references = torch.autograd.grad(
                expected, wide_wanted, [each.double() for each in cotangents], allow_unused=True
            )
            pairs = [(a, b) for a, b in zip(gradients, references) if a is not None and b is not None]
            assert len(pairs) >= sum(b is not None for b in references), "a gradient is missing"
            errors.append((outputs, worst(*zip(*pairs))))
    text = ", ".join(f"{output:.1e}/{gradient:.1e}" for output, gradient in errors)
    assert all(max(pair) < 1e-4 for pair in errors), text
    return f"outputs/gradients {text}, compiled in {compiling:.1f} s"


for _name in cases.CASES:
    check(f"numbers of {_name}")(lambda name=_name: compare(name))


@check("streams")
def check_streams() -> None:
    """Runs are on PyTorch's current stream: after what is under way there, and seen by what comes later."""
    model, fast = small()
    x, index = graph(2708, 10556)
    late_x, late_index = torch.zeros_like(x), torch.zeros_like(index)
    wanted = list(model.parameters())
    expected = model(x, index)
    cotangent = torch.randn_like(expected)
    gradients = torch.autograd.grad(expected, wanted, cotangent)
    close(fast(x, index), expected)  # known from now on
    stream = torch.cuda.Stream()
    for given_index in (index, late_index):  # of the second, the indices come late too
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            torch.cuda._sleep(200_000_000)  # 0.1 s
            late_x.copy_(x)
            late_index.copy_(index)
            found = fast(late_x, given_index)
            found_gradients = torch.autograd.grad(found, wanted, cotangent)
        torch.cuda.current_stream().wait_stream(stream)
        close(found, expected)
        close(found_gradients, gradients, 1e-4)
        late_x.zero_()


@check("a known graph is not waited for")
def check_no_wait() -> str:
    model, fast = small()
    x, index = graph(2708, 10556)
    fast(x, index).sum().backward()
    synchronize()
    torch.cuda._sleep(1_000_000_000)  # 0.5 s
    started = time.perf_counter()
    with torch.no_grad():
        fast(x, index)
    fast(x, index).sum().backward()
    waited = time.perf_counter() - started
    synchronize()
    total = time.perf_counter() - started
    assert waited < total / 2, f"{waited * 1e3:.1f} of {total * 1e3:.1f} ms"
    return f"{waited * 1e3:.2f} ms of calls while the device was busy for {total * 1e3:.0f} ms"


@check("threads with a stream each")
def check_threads() -> None:
    """The same model on the same graph from four threads at the same time."""
    model, fast = small()
    inputs = [graph(500, 3000, seed=seed)[0] for seed in range(4)]
    index = graph(500, 3000)[1]
    with torch.no_grad():
        expected = [model(x, index) for x in inputs]
        fast(inputs[0], index)
    synchronize()
    found: list[Any] = [None] * 4

    def run(number: int) -> None:
        try:
            with torch.no_grad(), torch.cuda.stream(torch.cuda.Stream()):
                for _ in range(50):
                    found[number] = fast(inputs[number], index)
                torch.cuda.current_stream().synchronize()
        except BaseException as error:
            found[number] = error

    threads = [threading.Thread(target=run, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    close(found, expected)


@check("capture of a forward pass")
def check_capture() -> None:
    """What was captured runs on new numbers, even when the graph is dropped and its indices have changed."""
    model, fast = small()
    x, index = graph(2708, 10556)
    kept = index.clone()
    with torch.no_grad():
        fast(x, index)
        captured = torch.cuda.CUDAGraph()
        with torch.cuda.graph(captured):
            output = fast(x, index)
        x.copy_(torch.randn_like(x))
        index.zero_()
        gnnc.clear_graphs()
        with mock.patch.object(_cache.graphs, "limit", 0):
            for seed in range(20):
                fast(*graph(3000, 12000, seed=seed))
            fast(x, index)
        captured.replay()
        close(output, model(x, kept))


@check("preparing during a capture")
def check_capture_of_new() -> None:
    """Is refused, and the process goes on."""
    model, fast = small()
    known, new = graph(100, 400), graph(100, 400, seed=1)
    with torch.no_grad():
        fast(*known)
        try:
            with torch.cuda.graph(torch.cuda.CUDAGraph()):
                fast(*new)
        except gnnc.Error as error:
            assert "capture" in str(error), error
        else:
            raise AssertionError("a graph was prepared during a capture")
        close(fast(*new), model(*new))


@check("capture of training steps")
def check_captured_training() -> str:
    """Forward, loss, backward and optimiser in one CUDA graph, beside eager steps without one."""
    losses = []
    x, index = graph(2708, 10556)
    y = torch.randint(0, 7, (2708,), device=registry.device)
    for captures in (False, True):
        torch.manual_seed(0)
        model = TwoLayers(layers.GCNConv).to(registry.device)
        run = gnnc.compile(model, (x, index)) if captures else model
        optimizer = torch.optim.Adam(model.parameters(), lr=0.01, capturable=True)

        def step() -> Tensor:
            optimizer.zero_grad(set_to_none=False)
            loss = nn.functional.cross_entropy(run(x, index), y)
            loss.backward()
            optimizer.step()
            return loss

        stream = torch.cuda.Stream()
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            found = [step().item() for _ in range(3)]
        torch.cuda.current_stream().wait_stream(stream)
        if captures:
            captured = torch.cuda.CUDAGraph()
            with torch.cuda.graph(captured):
                loss = step()
            for _ in range(20):
                captured.replay()
                found.append(loss.item())
        else:
            found += [step().item() for _ in range(20)]
        losses.append(found)
    difference = max(abs(a - b) for a, b in zip(*losses))
    assert difference < 1e-4, losses
    return f"losses differ by {difference:.1e}"


@check("make_graphed_callables")
def check_graphed_callables() -> None:
    class Fixed(nn.Module):
        def __init__(self, run: nn.Module) -> None:
            super().__init__()
            self.run = run

        def forward(self, x: Tensor) -> Tensor:
            return self.run(x, index)

    x, index = graph(2708, 10556)
    model, fast = small()
    # Without derivatives: nodes that accumulate gradients would stay with the default stream, which cannot be captured.
    with torch.no_grad():
        fast(x, index)
    graphed = torch.cuda.make_graphed_callables(Fixed(fast), (torch.randn_like(x),))
    found = graphed(x)
    expected = model(x, index)
    close(found, expected)
    wanted = list(model.parameters())
    cotangent = torch.randn_like(expected)
    close(torch.autograd.grad(found, wanted, cotangent), torch.autograd.grad(expected, wanted, cotangent), 1e-4)


@check("memory of graphs")
def check_graph_memory() -> str:
    """Prepared graphs have PyTorch's memory, and give it back when their runs are done."""
    _, fast = small()
    x, index = graph(3000, 40000)
    with torch.no_grad():
        fast(*graph(100, 400))
    gnnc.clear_graphs()
    _device.free_retired()
    synchronize()
    before = torch.cuda.memory_allocated()
    with torch.no_grad():
        fast(x, index)
    synchronize()
    held = torch.cuda.memory_allocated() - before
    assert held > 4 * 40000, held
    vars(fast)["_gnnc"].last.executor._last = None
    gnnc.clear_graphs()
    synchronize()
    _device.free_retired()
    left = torch.cuda.memory_allocated() - before
    assert left <= 1 << 20, left  # workspaces stay
    return f"{held >> 10} KiB, of which {left >> 10} are a workspace that stays"


@check("indices that are still being written")
def check_late_indices() -> None:
    """A graph is prepared in the order of the current stream, which need not be waited for before."""
    model, fast = small()
    stream = torch.cuda.Stream()
    for nodes, edges in ((100, 400), (3000, 40000)):
        x, index = graph(nodes, edges)
        late = torch.zeros_like(index)
        expected = model(x, index)
        synchronize()
        for use in (stream, torch.cuda.default_stream()):
            late = torch.zeros_like(index)
            use.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(use), torch.no_grad():
                torch.cuda._sleep(100_000_000)
                late.copy_(index)
                found = fast(x, late)
            torch.cuda.current_stream().wait_stream(use)
            close(found, expected)


@check("training mode")
def check_training_mode() -> str:
    """Dropout of nodes and of edges draws what PyTorch draws; running statistics are PyTorch's."""
    torch.manual_seed(0)
    model = Regular().to(registry.device).train()
    x, index = graph(2708, 10556)
    y = torch.randint(0, 7, (2708,), device=registry.device)
    fast = gnnc.compile(copy.deepcopy(model), (x, index))
    losses = []
    for run in (model, fast):
        torch.manual_seed(3)
        # A bias before a norm has no gradient but rounding errors, which Adam would make as large as any other's.
        optimizer = torch.optim.SGD(run.parameters(), lr=0.1)
        losses.append([])
        for _ in range(50):
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(run(x, index), y)
            loss.backward()
            optimizer.step()
            losses[-1].append(loss.detach())
    difference = (torch.stack(losses[0]) - torch.stack(losses[1])).abs().max().item()
    assert difference < 1e-3, difference
    close(dict(fast.named_buffers()), dict(model.named_buffers()), 1e-3)
    with torch.no_grad():
        close(fast.eval()(x, index), model.eval()(x, index), 1e-3)
    return f"50 losses with dropout differ by {difference:.1e}"


@check("gradients that are asked for")
def check_wanted() -> None:
    model, fast = small()
    x, index = graph(500, 3000)
    x.requires_grad_()
    for wanted in ([x], [model.conv1.bias], [model.conv2.lin.weight, x], list(model.parameters())):
        for tensor in (x, *model.parameters()):
            tensor.requires_grad_(any(tensor is each for each in wanted))
        output, expected = fast(x, index), model(x, index)
        cotangent = torch.randn_like(expected)
        found = [torch.autograd.grad(output, wanted, cotangent, retain_graph=True) for _ in range(2)]
        reference = torch.autograd.grad(expected, wanted, cotangent)
        for each in found:
            close(each, reference, 1e-3)


@check("200 batches")
def check_batches() -> str:
    """Batches of different sizes in new tensors, with a small cache of graphs: nothing is compiled, memory is steady."""
    model, fast = small()
    used, spent = [], {fast: 0.0, model: 0.0}
    fast(*graph(50, 200)).sum().backward()
    with nothing_is_compiled(), mock.patch.object(_cache.graphs, "limit", 4 << 20):
        for run in (fast, model):
            for step in range(200):
                x, index = graph(100 + step * 37 % 900, 400 + step * 91 % 5000, seed=step)
                if run is fast and step % 50 == 0:
                    close(fast(x, index), model(x, index), 1e-4)
                synchronize()
                started = time.perf_counter()
                run(x, index).sum().backward()
                synchronize()
                spent[run] += time.perf_counter() - started
                if run is fast and step % 20 == 19 and registry.device == "cuda":
                    free, total = torch.cuda.mem_get_info()
                    used.append((total - free) >> 20)
    assert not used or used[-1] - used[3] <= 32, f"MiB in use: {used}"
    times = f"{spent[fast] / 200 * 1e6:.0f} µs a new batch, eager {spent[model] / 200 * 1e6:.0f}"
    return f"{times}; MiB in use: {used}, {len(_cache.graphs)} graphs kept"


@check("changed indices")
def check_changed_index() -> None:
    model, fast = small()
    x, index = graph(100, 400)
    close(fast(x, index), model(x, index))
    index.copy_(graph(100, 400, seed=5)[1])
    close(fast(x, index), model(x, index))


@check("views that begin anywhere")
def check_unaligned() -> None:
    """Rows of 3 numbers begin at multiples of 12 bytes; concatenations give such cotangents."""
    torch.manual_seed(0)
    model = Conv().to(registry.device)
    x, index = graph(50, 200, width=3)
    fast = gnnc.compile(model, (x, index))
    long = torch.cat([x[:1], x]).requires_grad_()
    results = []
    for run in (model, fast):
        output = torch.cat([x[:1, :2], run(long[1:], index)])
        results.append([output, *torch.autograd.grad((output * output).sum(), [long, *model.parameters()])])
    close(results[1], results[0], 1e-4)


@check("torch.compile with the backend")
def check_backend() -> None:
    from gnnc.torch._backend import backend

    torch._dynamo.reset()
    torch.manual_seed(0)
    model = TwoLayers(layers.SAGEConv).to(registry.device)
    fast = torch.compile(model, backend=backend, dynamic=True)
    wanted = list(model.parameters())
    for nodes, edges in ((50, 200), (500, 3000)):
        x, index = graph(nodes, edges)
        found, expected = fast(x, index), model(x, index)
        close(found, expected)
        close(torch.autograd.grad(found.sum(), wanted), torch.autograd.grad(expected.sum(), wanted), 1e-3)


@check("a compiled layer within torch.compile")
def check_traced() -> None:
    torch._dynamo.reset()
    model, fast = small()
    traced = torch.compile(lambda x, index: fast(x * 2, index).tanh(), backend="aot_eager", fullgraph=True, dynamic=True)
    wanted = list(model.parameters())
    for nodes, edges in ((50, 200), (500, 3000)):
        x, index = graph(nodes, edges)
        found, expected = traced(x, index), model(x * 2, index).tanh()
        close(found, expected)
        close(torch.autograd.grad(found.sum(), wanted), torch.autograd.grad(expected.sum(), wanted), 1e-3)


@check("types under autocast")
def check_types_under_autocast() -> None:
    model, fast = small()
    x, index = graph(500, 3000)
    with torch.autocast(registry.device, torch.bfloat16):
        for given in (x, x.bfloat16()):
            types = fast(given, index).dtype, model(given, index).dtype
            assert types[0] is types[1], types


class Steps(nn.Module):
    """A network on edges, three times, with a norm around its sums."""

    def __init__(self) -> None:
        super().__init__()
        self.net = nn.Sequential(nn.Linear(64, 128), nn.GELU(), nn.Linear(128, 64))
        self.norm = nn.LayerNorm(64)

    def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
        for _ in range(3):
            rows = self.net(x[edge_index[0]] - x[edge_index[1]])
            x = x + self.norm(torch.zeros_like(x).index_add(0, edge_index[1], rows.to(x.dtype)))
        return self.net(x)


def errors_under_autocast(module: nn.Module, x: Tensor, index: Tensor, dtype: torch.dtype) -> str:
    """In 16 bits no further from float64 than twice what eager is, with its types, and gradients in float32."""
    exact = copy.deepcopy(module).double()
    wide = exact(x.double(), index)
    cotangent = torch.randn_like(wide, dtype=torch.float32)
    wanted = torch.autograd.grad(wide, list(exact.parameters()), cotangent.double())
    fast = gnnc.compile(module)
    found = []
    for way in (fast, module):
        with torch.autocast(registry.device, dtype):
            output = way(x, index)
        scale = 16  # as a GradScaler does; with much more, 16 bits overflow in eager
        gradients = torch.autograd.grad(output, list(module.parameters()), cotangent.to(output.dtype) * scale)
        assert all(each.dtype == torch.float32 for each in gradients)
        off = [(a.double() / scale - b).norm() / b.norm() for a, b in zip(gradients, wanted)]
        found.append((output.dtype, ((output.double() - wide).norm() / wide.norm()).item(), max(off).item()))
    ours, theirs = found
    assert ours[0] == theirs[0], found
    assert ours[1] < 2 * theirs[1] and ours[2] < 2 * theirs[2], found
    with nothing_is_compiled(), torch.autocast(registry.device, dtype):
        fast(x, index)
    return ", ".join(f"{each:.1e}" for each in (*ours[1:], *theirs[1:]))


@check("precision under autocast")
def check_precision_under_autocast() -> str:
    torch.manual_seed(0)
    steps, two = Steps().to(registry.device), TwoLayers(layers.GCNConv).to(registry.device)
    text = []
    for dtype in (torch.bfloat16, torch.float16):
        text.append(errors_under_autocast(steps, *graph(3000, 20000, 64), dtype))
        text.append(errors_under_autocast(two, *graph(500, 3000), dtype))
    return "; ".join(text)


class Neighbours(nn.Module):
    """The second search is among what was made of the first one's neighbours."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Linear(3, 64), nn.Linear(64, 16)

    def forward(self, x: Tensor, batch: Tensor) -> Tensor:
        for layer, k in ((self.first, 6), (self.second, 40)):
            src, dst = ops.knn_graph(x, k, batch)
            rows = torch.tanh(layer(x[src] - x[dst]))
            x = rows.new_zeros(x.size(0), rows.size(1)).index_add(0, dst, rows)
        return x


@check("neighbours by values")
def check_neighbours() -> None:
    """Clouds of several sizes with one object, one of them recorded, and points that are all equal."""
    torch.manual_seed(0)
    model = Neighbours().to(registry.device).double()
    fast = gnnc.compile(model, progress=False)
    for sizes in ((300, 1, 20), (300, 1, 20), (300, 1, 20), (5, 2, 700)):
        batch = torch.arange(len(sizes)).repeat_interleave(torch.tensor(sizes))
        batch = batch[torch.randperm(len(batch))]
        x, batch = cases.to_device((torch.randn(len(batch), 3, dtype=torch.float64), batch))
        results = []
        for call in (fast, model):
            own = x.clone().requires_grad_()
            output = call(own, batch)
            results.append((output, *torch.autograd.grad(output.square().sum(), (own, *model.parameters()))))
        close(results[0], results[1], 1e-9)
    equal = torch.zeros_like(x)
    close((fast(equal, batch),), (model(equal, batch),), 1e-9)


@check("gradcheck in float64")
def check_gradcheck() -> None:
    torch.manual_seed(0)
    model = Conv(dtype=torch.float64).to(registry.device)
    x, index = cases.to_device((torch.randn(4, 3, dtype=torch.float64), torch.randint(0, 4, (2, 7))))
    x.requires_grad_()
    fast = gnnc.compile(model, (x, index))
    parameters = {name: tensor.detach().clone().requires_grad_() for name, tensor in model.named_parameters()}

    def run(x: Tensor, *tensors: Tensor) -> Tensor:
        return torch.func.functional_call(fast, dict(zip(parameters, tensors)), (x, index))

    assert torch.autograd.gradcheck(run, (x, *parameters.values()), nondet_tol=1e-12)


@check("retain_graph")
def check_retain_graph() -> None:
    model, fast = small()
    x, index = graph(500, 3000)
    wanted = list(model.parameters())
    output = fast(x, index)
    expected = torch.autograd.grad(model(x, index).sum(), wanted)
    for retain in (True, True, False):
        close(torch.autograd.grad(output.sum(), wanted, retain_graph=retain), expected, 1e-3)


@check("an exported object")
def check_export() -> None:
    import tempfile
    from pathlib import Path

    model, _ = small()
    x, index = graph(500, 3000)
    with tempfile.TemporaryDirectory() as folder:
        path = gnnc.export(model, (x, index), Path(folder) / "model.so")
        beside = path.with_suffix(".safetensors")
        loaded = gnnc.load(path, parameters=beside if beside.exists() else None)
        close(loaded(x=x, edge_index=index), model(x, index).detach())


@check("another GPU than the current one")
def check_second_gpu() -> str | None:
    if registry.device == "cpu" or torch.cuda.device_count() < 2:
        return "left out: there is one GPU only"
    model, _ = small()
    model = copy.deepcopy(model).to("cuda:1")
    x, index = (each.to("cuda:1") for each in graph(500, 3000))
    fast = gnnc.compile(model, (x, index))
    found, expected = fast(x, index), model(x, index)
    close(found, expected)
    wanted = list(model.parameters())
    close(torch.autograd.grad(found.sum(), wanted), torch.autograd.grad(expected.sum(), wanted), 1e-3)
    return None


import times  # noqa: E402, F401  (they come last)
