"""Whole models as users write them on a CPU: see gpu.models. Graphs are a twentieth as large by default."""

from __future__ import annotations

from whole import run


def main() -> int:
    return run.main("cpu", __doc__)
