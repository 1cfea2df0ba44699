"""Figures as SVG that follow the colours of the page, each with its numbers as a table beside it.

Text stays text. Colours are placeholders for CSS variables, which assets/site.css sets for light and dark.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception"""

from __future__ import annotations

import io
import re
from collections.abc import Callable
from html import escape

import matplotlib

matplotlib.use("Agg")
from matplotlib import pyplot  # noqa: E402  (after the choice of a backend)
from matplotlib.axes import Axes  # noqa: E402

TEXT, GNNC, LIGHT, PEER, FLOOR, GRID = "#000001", "#000002", "#000003", "#000004", "#000005", "#000006"
VARIABLES = {TEXT: "text", GNNC: "gnnc", LIGHT: "light", PEER: "peer", FLOOR: "floor", GRID: "grid"}
STYLE = {
    "svg.fonttype": "none",
    "font.size": 9,
    "text.color": TEXT,
    "axes.labelcolor": TEXT,
    "axes.edgecolor": GRID,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.facecolor": "none",
    "figure.facecolor": "none",
    "xtick.color": TEXT,
    "ytick.color": TEXT,
    "grid.color": GRID,
    "grid.linewidth": 0.5,
    "legend.frameon": False,
    "axes.axisbelow": True,
}
WIDTH = 4.8  # inches, so that text can be read on a narrow screen
figures: dict[str, str] = {}  # by name, what stands in a page


def figure(
    name: str, height: float, draw: Callable[[Axes], None], caption: str, header: list[str], rows: list[list[str]]
):
    """The Markdown of a figure that draw(axes) fills; `rows` are its numbers."""
    with matplotlib.rc_context(STYLE | {"svg.hashsalt": name}):
        canvas, axes = pyplot.subplots(figsize=(WIDTH, height))
        draw(axes)
        canvas.tight_layout()
        out = io.StringIO()
        canvas.savefig(out, format="svg", metadata={"Date": None, "Creator": None})
        pyplot.close(canvas)
    svg = out.getvalue()
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r"<metadata>.*?</metadata>\s*", "", svg, flags=re.S)
    for colour, variable in VARIABLES.items():
        svg = svg.replace(colour, f"var(--figure-{variable})")
    label = escape(f"{caption} The numbers are in the table below the figure.", quote=True)
    svg = svg.replace("<svg ", f'<svg role="img" aria-label="{label}" ', 1)
    # Ids are the figure's own.
    svg = re.sub(r'(\bid="|url\(#|href="#)', rf"\g<1>{name}-", svg)
    figures[name] = (
        f'<figure class="plot"><div class="plot-scroll">{svg}</div><figcaption>{escape(caption)}</figcaption>'
        f"<details><summary>The numbers</summary>{table(header, rows)}</details></figure>"
    )
    return f"<!-- figure: {name} -->"


def table(header: list[str], rows: list[list[str]]) -> str:
    head = "".join(f"<th>{escape(cell)}</th>" for cell in header)
    body = "".join("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in rows)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def insert(html: str) -> str:
    return re.sub(r"<!-- figure: (\S+) -->", lambda match: figures[match[1]], html)


def number(value: float | None) -> str:
    """Three digits."""
    if value is None:
        return "–"
    return f"{value:.0f}" if value >= 100 else f"{value:#.3g}".rstrip(".")
