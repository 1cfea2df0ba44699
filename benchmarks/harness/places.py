"""Where things are. The folder of the benchmarks may be carried alone to another machine; nothing outside the
repository is looked for unless the environment variable GNNC_SHARED, or an option, names it."""

from __future__ import annotations

import os
from pathlib import Path

BENCHMARKS = Path(__file__).resolve().parent.parent
MODELS = BENCHMARKS / "models"
ROOT = BENCHMARKS.parent
GNNC = ROOT / "build/bin/gnnc"
OUT = ROOT / "build/benchmarks"


def shared() -> Path | None:
    """A folder with graphs (`data`) and with peers written by hand (`peers`)."""
    place = os.environ.get("GNNC_SHARED")
    return Path(place) if place else None


def data_folders() -> list[Path]:
    """Where graphs are looked for by default."""
    place = shared()
    return [ROOT / "examples/data", *([place / "data"] if place else [])]
