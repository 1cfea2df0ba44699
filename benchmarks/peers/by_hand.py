"""Kernels written by hand as a contender of gpu/grid.py: a sum of 64 features of neighbours, GATv2's sweeps, and the
backward sweeps of dot-product attention, each without the layer's products.

    python3 benchmarks gpu.grid run objects --out grid.json --peers DIR

DIR has gpu_sweeps.py and gpu_backward.py, throw-away programs whose text `SRC` is CUDA. It is read from there and compiled
with NVRTC by CuPy; it is no part of the project. Their kernels walk items (owner, first member, end, slot): owners' members,
cut into chunks or whole, in order or by falling size. Chunks write into slots, which another kernel adds up. Every
list and every form of a kernel is tried, captured, and the fastest is measured, on gnnc's own inputs; `difference` is the largest
between results and gnnc's, beside the largest of gnnc's.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import product
from pathlib import Path

import cupy
import numpy
import torch
from torch import Tensor

from gpu.graphs import Graph

Call = Callable[[], None]
Timer = Callable[[Call, float], dict[str, float]]
FILES = ("gpu_sweeps.py", "gpu_backward.py")
CHUNKS = (0, 128, 256, 512, 2048)  # members; 0: owners stay whole
IN_FLIGHT = (2, 4, 8)
THREADS = (128, 256)
PARTIAL = 132 * 12  # blocks of gatv2_A, each with its share of the vector's gradient


@dataclass
class Items:
    """What one walk goes by: `items` for each chunk, `merges` for each owner of several; on the GPU."""

    title: str
    column: Tensor  # the other end of each edge, by owner
    items: Tensor
    merges: Tensor
    slots: int


@dataclass
class Form:
    """One way to do it: its call, what it computes, and the memory that it takes besides."""

    title: str
    call: Call
    outputs: dict[str, Tensor]
    temporary: int

    def after(self, other: Form) -> Form:
        def both() -> None:
            other.call()
            self.call()

        title = "; ".join(filter(None, (other.title, self.title)))
        return Form(title, both, other.outputs | self.outputs, other.temporary + self.temporary)


class Kernels:
    """Those of both programs, by name."""

    def __init__(self, folder: Path) -> None:
        options = ("-std=c++17", "--use_fast_math")
        self.modules = [cupy.RawModule(code=self.text(folder / file), options=options) for file in FILES]

    @staticmethod
    def text(file: Path) -> str:
        for node in ast.parse(file.read_text()).body:
            if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "SRC":
                return ast.literal_eval(node.value)
        raise ValueError(f"{file} has no text SRC")

    def bind(self, module: int, name: str, threads: int, wanted: int, *values: Tensor | int, blocks: int = 0) -> Call:
        """A launch of `blocks`, or of so many that there are `wanted` threads, on PyTorch's stream."""
        function = self.modules[module].get_function(name)
        grid = (blocks or -(-wanted // threads),)
        passed = tuple(numpy.uint64(v.data_ptr()) if isinstance(v, Tensor) else numpy.int32(v) for v in values)

        def call() -> None:
            _ = values  # tensors live as long as the call
            with cupy.cuda.ExternalStream(torch.cuda.current_stream().cuda_stream):
                function(grid, (threads,), passed)

        return call


def empty(*sizes: int) -> Tensor:
    return torch.full(sizes, float("nan"), device="cuda")


def lists(owners: Tensor, others: Tensor, nodes: int) -> Iterator[Items]:
    """Of one map's walk, in each of the ways."""
    order = owners.argsort(stable=True)
    column = others[order].int()
    rows = torch.zeros(nodes + 1, dtype=torch.int64, device="cuda")
    rows[1:] = torch.bincount(owners, minlength=nodes).cumsum(0)
    degree = rows.diff()
    for chunk in CHUNKS:
        parts = (
            (degree + chunk - 1).div(chunk, rounding_mode="floor").clamp(min=1) if chunk else torch.ones_like(degree)
        )
        owner = torch.arange(nodes, device="cuda").repeat_interleave(parts)
        number = torch.arange(owner.numel(), device="cuda") - (parts.cumsum(0) - parts)[owner]
        first = rows[owner] + number * chunk
        end = torch.minimum(first + chunk, rows[owner + 1]) if chunk else rows[owner + 1]
        several = parts > 1
        slots = torch.where(several, parts, 0)
        begin = slots.cumsum(0) - slots
        slot = torch.where(several[owner], begin[owner] + number, -1)
        items = torch.stack([owner, first, end, slot], 1).int()
        heavy = several.nonzero().flatten()
        merges = torch.stack([heavy, begin[heavy], begin[heavy] + slots[heavy], heavy], 1).int().contiguous()
        for title in ("in order", "by size"):
            by_size = (end - first).argsort(descending=True, stable=True) if title == "by size" else slice(None)
            yield Items(f"{chunk or 'whole'} {title}", column, items[by_size].contiguous(), merges, int(slots.sum()))


def chain(*calls: Call | None) -> Call:
    def all_of_them() -> None:
        for call in calls:
            if call is not None:
                call()

    return all_of_them


def sums(kernels: Kernels, walk: Items, x: Tensor) -> Iterator[Form]:
    y, slots, count = empty(*x.shape), empty(max(walk.slots, 1), 64), len(walk.items)
    heavy = len(walk.merges)
    merge = kernels.bind(0, "spmm_merge", 128, heavy * 16, heavy, walk.merges, slots, y) if heavy else None
    for flight, threads in product(IN_FLIGHT, THREADS):
        sweep = kernels.bind(0, f"spmm_{flight}", threads, count * 32, count, walk.items, walk.column, x, y, slots)
        yield Form(f"{walk.title}, {flight} of {threads}", chain(sweep, merge), {"y": y}, 4 * slots.numel())


def gatv2_forward(kernels: Kernels, walk: Items, given: dict[str, Tensor]) -> Iterator[Form]:
    nodes, count, heavy = given["l"].shape[0], len(walk.items), len(walk.merges)
    y, lse, slots = empty(*given["l"].shape), empty(nodes, 2), empty(max(walk.slots, 1), 132)
    merge = kernels.bind(0, "gatv2_merge", 128, heavy * 32, heavy, walk.merges, slots, y, lse) if heavy else None
    inputs = (walk.column, given["r"], given["l"], given["a"])
    for flight, threads in product(IN_FLIGHT, THREADS):
        sweep = kernels.bind(0, f"gatv2_{flight}", threads, count * 32, count, walk.items, *inputs, y, lse, slots)
        outputs = {"y": y, "lse": lse}
        yield Form(
            f"{walk.title}, {flight} of {threads}", chain(sweep, merge), outputs, 4 * (slots.numel() + lse.numel())
        )


def merged(kernels: Kernels, walk: Items, *pairs: tuple[Tensor, Tensor]) -> list[Call]:
    """Adds up slots, each with the tensor that they are of."""
    heavy = len(walk.merges)
    if not heavy:
        return []
    quarters = pairs[0][0].shape[1] // 4
    return [kernels.bind(1, "merge", 128, heavy * quarters, heavy, quarters, walk.merges, *pair) for pair in pairs]


def dots(kernels: Kernels, y: Tensor, gradient: Tensor) -> tuple[Call, Tensor]:
    """Of each node's and head's result with its gradient; heads of 64."""
    nodes, heads = y.shape[:2]
    delta = empty(nodes, heads)
    return kernels.bind(1, "delta", 128, nodes * heads * 16, nodes, heads, 64, y, gradient, delta), delta


def slots_of(walk: Items, width: int) -> Tensor:
    return empty(max(walk.slots, 1), width)


def gatv2_by_dst(kernels: Kernels, walk: Items, given: dict[str, Tensor], saved: dict[str, Tensor]) -> Iterator[Form]:
    found, shares, slots = torch.empty_like(given["r"]), empty(PARTIAL, 128), slots_of(walk, 128)
    inputs = (walk.column, given["r"], given["l"], given["a"], given["grad.y"], saved["lse"], saved["delta"])
    sweep = kernels.bind(
        1, "gatv2_A", 128, 0, len(walk.items), walk.items, *inputs, found, slots, shares, blocks=PARTIAL
    )
    outputs = {"grad.r": found, "shares of grad.a": shares}
    yield Form(
        walk.title, chain(sweep, *merged(kernels, walk, (slots, found))), outputs, 4 * (slots.numel() + shares.numel())
    )


def gatv2_by_src(kernels: Kernels, walk: Items, given: dict[str, Tensor], saved: dict[str, Tensor]) -> Iterator[Form]:
    found, slots, count = torch.empty_like(given["l"]), slots_of(walk, 128), len(walk.items)
    inputs = (walk.column, given["r"], given["l"], given["a"], given["grad.y"], saved["lse"], saved["delta"])
    sweep = kernels.bind(1, "gatv2_B", 128, count * 32, count, walk.items, *inputs, found, slots)
    yield Form(walk.title, chain(sweep, *merged(kernels, walk, (slots, found))), {"grad.l": found}, 4 * slots.numel())


def attention_by_dst(
    kernels: Kernels, walk: Items, given: dict[str, Tensor], saved: dict[str, Tensor]
) -> Iterator[Form]:
    found, slots, count = torch.empty_like(given["q"]), slots_of(walk, 256), len(walk.items)
    inputs = (walk.column, given["q"], given["k"], given["v"], given["grad.y"], saved["lse"], saved["delta"])
    sweep = kernels.bind(1, "gt_A", 128, count * 64, count, walk.items, *inputs, found, slots)
    yield Form(walk.title, chain(sweep, *merged(kernels, walk, (slots, found))), {"grad.q": found}, 4 * slots.numel())


def attention_by_src(
    kernels: Kernels, walk: Items, given: dict[str, Tensor], saved: dict[str, Tensor]
) -> Iterator[Form]:
    keys, values = torch.empty_like(given["k"]), torch.empty_like(given["v"])
    slots, others, count = slots_of(walk, 256), slots_of(walk, 256), len(walk.items)
    inputs = (walk.column, given["q"], given["k"], given["v"], given["grad.y"], saved["lse"], saved["delta"])
    sweep = kernels.bind(1, "gt_B", 128, count * 64, count, walk.items, *inputs, keys, values, slots, others)
    call = chain(sweep, *merged(kernels, walk, (slots, keys), (others, values)))
    yield Form(walk.title, call, {"grad.k": keys, "grad.v": values}, 8 * slots.numel())


def logsumexp(graph: Graph, q: Tensor, k: Tensor) -> Tensor:
    """Of the scores of each node's edges, which no kernel by hand makes for dot products: a part of the edges at a time."""
    nodes, heads = q.shape[:2]
    most, total = torch.full((nodes, heads), -1e30, device="cuda"), torch.zeros(nodes, heads, device="cuda")
    parts = list(zip(graph.src.split(1 << 22), graph.dst.split(1 << 22)))
    scores = [(q[dst] * k[src]).sum(-1) / 8 for src, dst in parts]
    for (_, dst), score in zip(parts, scores):
        most.scatter_reduce_(0, dst[:, None].expand_as(score), score, "amax")
    for (_, dst), score in zip(parts, scores):
        total.index_add_(0, dst, (score - most[dst]).exp())
    return most + total.log()


def captured(call: Call) -> Call:
    """As a CUDA graph; without what torch.cuda.graph collects before, which takes longer than a search's calls."""
    graph, stream = torch.cuda.CUDAGraph(), torch.cuda.Stream()
    torch.cuda.synchronize()
    with torch.cuda.stream(stream):
        graph.capture_begin()
        call()
        graph.capture_end()
    return graph.replay


def fastest(forms: Iterator[Form], timed: Timer) -> Form:
    found, least = None, float("inf")
    for form in forms:
        form.call()  # what is loaded at first use cannot be captured
        time = timed(captured(form.call), 0)["median"]
        if time < least:
            found, least = form, time
        del form
    assert found is not None
    return found


def steps(
    row: str, graph: Graph, kernels: Kernels, given: dict[str, Tensor], y: Tensor, timed: Timer
) -> dict[str, Form]:
    """By the grid's names of programs."""
    ends = {"dst": (graph.dst, graph.src), "src": (graph.src, graph.dst)}

    def best(along: str, make: Callable[..., Iterator[Form]], *more: object) -> Form:
        return fastest(
            (form for walk in lists(*ends[along], graph.nodes) for form in make(kernels, walk, *more)), timed
        )

    if row == "PlainSum64":
        return {"forward": best("dst", sums, given["x"])}
    if row == "GATv2Sweeps":
        forward = best("dst", gatv2_forward, given)
        forward.call()
        halves, saved, result = (gatv2_by_dst, gatv2_by_src), {"lse": forward.outputs["lse"]}, forward.outputs["y"]
    else:
        halves, saved, result = (
            (attention_by_dst, attention_by_src),
            {"lse": logsumexp(graph, given["q"], given["k"])},
            y,
        )
    first, saved["delta"] = dots(kernels, result, given["grad.y"])
    first()
    backward = Form("", first, {}, 4 * saved["delta"].numel())
    for along, half in zip(("dst", "src"), halves):
        backward = best(along, half, given, saved).after(backward)
    return (
        {"gradient.backward": backward}
        if row != "GATv2Sweeps"
        else {
            "forward": forward,
            "gradient.backward": backward,
            "gradient": backward.after(forward),
        }
    )


def measure(row: str, graph: Graph, kernels: Kernels, kept: dict, timed: Timer, seconds: float) -> dict[str, dict]:
    """`kept`: gnnc's inputs and outputs of each program."""
    inputs, outputs = kept.get("gradient") or kept["forward"]
    found = {}
    for program, form in steps(row, graph, kernels, inputs, outputs["y"], timed).items():
        entry: dict = timed(form.call, seconds)
        entry["captured"] = timed(captured(form.call), seconds)["median"]
        results = dict(form.outputs)
        if "shares of grad.a" in results:
            results["grad.a"] = results.pop("shares of grad.a").sum(0)
        both = [(results[name].reshape(value.shape), value) for name, value in outputs.items() if name in results]
        entry["difference"] = float(max((theirs - own).abs().max() / own.abs().max() for theirs, own in both))
        entry |= {"peak_mib": form.temporary / 2**20, "title": form.title}
        found[program] = entry
    return found
