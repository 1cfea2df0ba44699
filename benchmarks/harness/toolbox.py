"""What all parts share: where things are, and how models are compiled."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from harness.machine import Ceilings
from harness.places import MODELS

if TYPE_CHECKING:
    from peers.native import MKL  # needs SciPy


@dataclass
class Bench:
    """One run of the benchmarks."""

    gnnc: Path
    out: Path
    data: list[Path]
    threads: int
    rounds: int
    patience: float
    mkl: MKL
    at_best: Ceilings
    pyg: bool
    layers: tuple[str, ...] = ()  # only these; none: all
    graphs: tuple[str, ...] = ()
    brief: bool = False  # leave out arrangements of peers that are known to lose

    def compile(self, source: Path, name: str, *options: str) -> Path:
        """Compiles a model of a file to `name`.so."""
        target = self.out / "models" / f"{name}.so"
        target.parent.mkdir(parents=True, exist_ok=True)
        subprocess.run([str(self.gnnc), "compile", str(source), "-o", str(target), *options], check=True)
        return target

    def threaded(self) -> str:
        return "one thread" if self.threads == 1 else f"{self.threads} threads"

    def model(self, file: str) -> Path:
        return MODELS / file
