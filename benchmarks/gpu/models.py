"""Whole models as users write them, beside eager and compiled PyTorch: steps of training, inference, memory, compiling.

Models and their graphs are those of the folder `whole`, with published shapes; `gpu.models list` names them. A step
is forward, loss and backward. Each model runs in a process of its own for each precision. Outputs and gradients are
compared with float64 first; whose errors are more than four times those of eager PyTorch is marked as wrong.
`float32` is PyTorch's "highest", `tf32` its "high", and gnnc's `--products tf32` while the package does not follow
that; `bf16` is autocast. Several processes compile at a time; one measures. Results are lines of JSON in
`OUT/models.jsonl`, and `gpu.models table FILE...` prints the tables of several runs: a later one replaces what it has
measured again. The compiler is the one that GNNC_COMPILER names.
"""

from __future__ import annotations

from whole import run


def main() -> int:
    return run.main("cuda", __doc__)
