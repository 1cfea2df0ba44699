# Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
# See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The table of PyTorch Geometric's layers and models in docs/PyTorchLayers.md: which are compiled.

    GNNC_COMPILER=build/bin/gnnc python3 python/tests/layers [--write docs/PyTorchLayers.md] [NAME ...]

Each class that `torch_geometric.nn.conv` and `torch_geometric.nn.models` name is constructed once, compiled by `gnnc.compile`
and compared with the module in float64: outputs and gradients on graphs of two sizes. What is refused is given to
`gnnc.optimize`, and compared too.
"""

from __future__ import annotations

import argparse
import copy
import re
import sys
import time
import warnings
from dataclasses import dataclass
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
sys.path[:0] = [str(FOLDER), str(FOLDER.parents[1])]
warnings.filterwarnings("ignore")

import constructions  # noqa: E402
import torch  # noqa: E402
import torch_geometric  # noqa: E402
from constructions import Construction, Data  # noqa: E402
from torch import Tensor, nn  # noqa: E402
from torch.utils import _pytree as pytree  # noqa: E402

import gnnc  # noqa: E402

SIZES = ((13, 40), (29, 90))
TOLERANCE = 5e-5


@dataclass
class Row:
    name: str
    outcome: str  #: "whole", "in part", "refused", "wrong" or "left out"
    remark: str = ""


def arguments(names: tuple[str, ...], nodes: int, edges: int) -> tuple[object, ...]:
    data = Data(nodes, edges, seed=nodes)
    return tuple(getattr(data, name) for name in names)


def difference(fast: nn.Module, module: nn.Module, names: tuple[str, ...]) -> float:
    """The largest relative error of outputs and of gradients, at sizes that were not compiled for. `fast` has parameters
    like those of `module`, which is not compiled."""
    exact, to_wide = copy.deepcopy(module).double(), torch.Tensor.double
    try:
        exact(*pytree.tree_map(lambda leaf: to_wide(leaf) if _is_float(leaf) else leaf, arguments(names, *SIZES[0])))
    except RuntimeError:  # it makes numbers of float32 itself
        exact, to_wide = copy.deepcopy(module), torch.Tensor.float
    largest = 0.0
    for nodes, edges in SIZES:
        given = arguments(names, nodes, edges)
        wide = pytree.tree_map(lambda leaf: to_wide(leaf) if _is_float(leaf) else leaf, given)
        found = [leaf for leaf in pytree.tree_leaves(fast(*given)) if _is_float(leaf)]
        expected = [leaf for leaf in pytree.tree_leaves(exact(*wide)) if _is_float(leaf)]
        cotangents = [torch.randn_like(leaf) for leaf in found]
        wanted, wide_wanted = list(fast.parameters()), list(exact.parameters())
        if wanted and any(leaf.requires_grad for leaf in expected):
            gradients = torch.autograd.grad(found, wanted, cotangents, allow_unused=True)
            references = torch.autograd.grad(
                expected, wide_wanted, [to_wide(each) for each in cotangents], allow_unused=True
            )
            pairs = [(a, b) for a, b in zip(gradients, references) if b is not None]
            found += [torch.zeros_like(b) if a is None else a for a, b in pairs]
            expected += [b for _, b in pairs]
        for a, b in zip(found, expected, strict=True):
            if b.numel():
                error = ((a.double() - b.double()).abs().max() / b.abs().max().clamp(min=1)).item()
                largest = max(largest, error if error == error else float("inf"))
    return largest


def _is_float(leaf: object) -> bool:
    return isinstance(leaf, Tensor) and leaf.is_floating_point()


def reason(error: BaseException) -> str:
    """The first line, without what differs from run to run."""
    text = str(error).strip().partition("\n")[0] or type(error).__name__
    text = re.sub(r"'/[^']*\.pt2': ", "", text)
    text = re.sub(r", from /.*?\.py:\d+: .*?(: |$)", r"\1", text)
    text = re.sub(r"torch\.export cannot export \w+: (\w+: )?", "torch.export: ", text)
    text = re.sub(r"( For more information, run with| \(unhinted:|  \(Size-like symbols:).*", "", text)
    return text.replace("|", "\\|")[:180]


def examine(name: str, construction: Construction) -> Row:
    make, names = construction
    torch.manual_seed(0)
    try:
        module = make().eval()
        with torch.no_grad():
            module(*arguments(names, *SIZES[0]))
    except Exception as error:
        return Row(name, "left out", f"PyTorch itself cannot run it here: {reason(error)}")
    given = arguments(names, 11, 34)
    refusal = ""
    try:
        fast = gnnc.compile(module, given, progress=False)
        found = difference(fast, module, names)
        return Row(name, "whole" if found < TOLERANCE else "wrong", f"{found:.0e}")
    except Exception as error:
        refusal = reason(error)
    try:
        optimized = copy.deepcopy(module)
        report = gnnc.optimize(optimized, given, progress=False)
        found = difference(report.model or optimized, module, names)
        if found >= TOLERANCE:
            return Row(name, "wrong", f"optimize: {found:.0e}")
        parts = [path for path in report.compiled if path.rpartition(".")[2] != "aggr_module"]  # a sum alone is little
        if parts:
            return Row(name, "in part", f"{', '.join(parts)}; {refusal}")
    except Exception as error:
        return Row(name, "wrong", f"optimize: {reason(error)}")
    return Row(name, "refused", refusal)


def table(rows: list[Row]) -> str:
    lines = ["| class | compiled | error, or why not |", "| --- | --- | --- |"]
    return "\n".join(lines + [f"| {row.name} | {row.outcome} | {row.remark} |" for row in rows])


def count(rows: list[Row]) -> str:
    outcomes = ["whole", "in part", "refused", "wrong", "left out"]
    return ", ".join(f"{sum(row.outcome == outcome for row in rows)} {outcome}" for outcome in outcomes)


def document(convs: list[Row], models: list[Row]) -> str:
    return f"""# PyTorch Geometric's layers and models

Written by `python3 python/tests/layers` with PyTorch {torch.__version__.partition("+")[0]} and PyTorch Geometric \
{torch_geometric.__version__}. Each class is constructed once (`python/tests/layers/constructions.py` says how), in
evaluation mode. *Whole*: by `gnnc.compile`; the number is the largest error of outputs and gradients on graphs of two sizes
that it was not compiled for, beside the module in float64. *In part*: by `gnnc.optimize`, and which submodules. *Refused*:
all of it is PyTorch's, and why.

## Layers

{count(convs)}.

{table(convs)}

## Models

{count(models)}.

{table(models)}
"""


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("names", nargs="*")
    parser.add_argument("--write")
    args = parser.parse_args()
    groups = []
    for listed, known in (
        (torch_geometric.nn.conv.__all__, constructions.CONVS),
        (torch_geometric.nn.models.__all__, constructions.MODELS),
    ):
        rows = []
        for name in listed:
            if args.names and name not in args.names:
                continue
            started = time.monotonic()
            if name in known:
                row = examine(name, known[name])
            else:
                row = Row(name, "left out", constructions.OTHERS.get(name, "nobody has said how to construct it"))
            rows.append(row)
            print(f"{row.name}: {row.outcome} ({time.monotonic() - started:.1f} s) {row.remark}", flush=True)
        groups.append(rows)
    if args.write:
        Path(args.write).write_text(document(*groups))
    for rows in groups:
        print(count(rows))
    return 1 if any(row.outcome == "wrong" for rows in groups for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
