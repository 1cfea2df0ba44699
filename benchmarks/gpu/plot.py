"""Draws what gpu/grid.py measured: for each cell gnnc, its floor and every peer, on one axis of milliseconds.

    python3 benchmarks gpu.plot grid.json [other.json ...] -o grid.svg        # or .png, .pdf; needs matplotlib

One panel for each graph; filled marks are forward, open ones forward and backward or (b) backward alone. The floor is a grey
bar's end. Of sweeps alone and kernels by hand the captured times are drawn. Of a cell that several files have the last counts.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
# Text stays text and the ids of an .svg do not change from run to run.
matplotlib.rcParams |= {"svg.fonttype": "none", "svg.hashsalt": "gnnc", "font.size": 8}

from matplotlib import pyplot  # noqa: E402  (after the choice of a backend)
from matplotlib.axes import Axes  # noqa: E402
from matplotlib.lines import Line2D  # noqa: E402

MARKS = {
    "gnnc": ("tab:green", "o"),
    "eager": ("tab:blue", "s"),
    "compiled": ("tab:orange", "^"),
    "CSR adjacency": ("tab:purple", "D"),
    "FastRGCNConv": ("tab:brown", "v"),
    "cuSPARSE": ("tab:red", "P"),
    "by hand": ("tab:cyan", "*"),
}
PROGRAMS = {"forward": "", "gradient": " f+b", "gradient.backward": " b"}


def draw(axes: Axes, cells: list[dict]) -> set[str]:
    """Fills a panel; the names of the contenders in it."""
    seen = set()
    rows: list[str] = []
    for cell in cells:
        for program, title in PROGRAMS.items():
            own = cell.get("gnnc", {}).get(program)
            if not own:
                continue
            height = len(rows)
            rows.append(cell["row"] + title)
            axes.barh(height, own["floor"], left=1e-4, height=0.7, color="0.9", zorder=0)
            times = {"gnnc": own} | {who: peer.get(program) for who, peer in cell.get("peers", {}).items()}
            for who, time in times.items():
                if not time:
                    continue
                color, mark = MARKS.get(who, ("black", "x"))
                fill = color if program == "forward" else "white"
                shown = time["captured" if "by hand" in cell.get("peers", {}) else "median"]
                axes.plot(shown, height, mark, color=color, markerfacecolor=fill, markersize=4.5)
                seen.add(who)
    axes.set_yticks(range(len(rows)), rows)
    axes.invert_yaxis()
    axes.set_xscale("log")
    axes.minorticks_off()
    axes.grid(axis="x", linewidth=0.4)
    return seen


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("results", type=Path, nargs="+")
    parser.add_argument("-o", "--out", type=Path, required=True)
    arguments = parser.parse_args()
    runs = [json.loads(file.read_text()) for file in arguments.results]
    results = runs[0] | {
        "cells": list({(cell["graph"], cell["row"]): cell for run in runs for cell in run["cells"]}.values())
    }
    graphs = list(dict.fromkeys(cell["graph"] for cell in results["cells"]))
    of = {graph: [cell for cell in results["cells"] if cell["graph"] == graph] for graph in graphs}
    lines = [
        max(2, sum(program in cell.get("gnnc", {}) for cell in of[graph] for program in PROGRAMS)) for graph in graphs
    ]
    figure, panels = pyplot.subplots(
        len(graphs),
        1,
        figsize=(8, 0.16 * sum(lines) + 0.5 * len(graphs) + 1),
        height_ratios=lines,
        sharex=True,
        squeeze=False,
    )
    seen: set[str] = set()
    for axes, graph in zip(panels[:, 0], graphs):
        seen |= draw(axes, of[graph])
        size = of[graph][0]
        axes.set_title(f"{graph}: {size['nodes']:,} nodes, {size['edges']:,} edges", loc="left", fontsize=8)
    least = min(cell["gnnc"][p]["floor"] for cell in results["cells"] for p in PROGRAMS if p in cell.get("gnnc", {}))
    panels[-1, 0].set_xlim(left=least / 2)
    panels[-1, 0].set_xlabel(
        f"milliseconds ({results['machine']}, torch {results['torch']}, {results['date']}); grey: floor"
    )
    handles = [
        Line2D([], [], color=color, marker=mark, linestyle="", label=who)
        for who, (color, mark) in MARKS.items()
        if who in seen
    ]
    figure.legend(handles=handles, loc="upper center", ncols=len(handles))
    figure.tight_layout(rect=(0, 0, 1, 1 - 0.4 / figure.get_size_inches()[1]))
    figure.savefig(arguments.out, metadata={"Date": None} if arguments.out.suffix == ".svg" else None)
