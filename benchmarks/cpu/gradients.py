"""Part 5: the same layers forward and backward."""

from __future__ import annotations

from cpu.layers import measure_layers
from harness.report import Section
from harness.toolbox import Bench


def run(bench: Bench) -> Section:
    return measure_layers(bench, True)
