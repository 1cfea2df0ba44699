"""Part 5: the same layers forward and backward."""

from __future__ import annotations

from layers import measure_layers
from report import Section
from toolbox import Bench


def run(bench: Bench) -> Section:
    return measure_layers(bench, True)
