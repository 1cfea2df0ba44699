"""Writes the page of plots from benchmarks/results, and from the table of whole models in docs, of which no JSON is
kept. Every number comes from there. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception"""

from __future__ import annotations

import json
import statistics

from figures import FLOOR, GNNC, LIGHT, PEER, figure, insert, number
from generated import ROOT, add
from gnnc_markdown import slug
from matplotlib.ticker import LogLocator, NullFormatter
from mkdocs.exceptions import PluginError

RESULTS = ROOT / "benchmarks/results"
PAGE = "benchmarks/plots.md"
PROGRAMS = {"forward": "forward", "gradient": "forward and backward"}


def load(name: str) -> dict:
    return json.loads((RESULTS / f"{name}.json").read_text())


def bars(axes, labels: list[str], series: list[tuple[str, str, list[float | None]]], floors=None) -> None:
    """Groups of horizontal bars, the first group on top; `floors` are marked on the first bar of each."""
    height = 0.8 / len(series)
    for turn, (title, colour, values) in enumerate(series):
        places = [place - 0.4 + (turn + 0.5) * height for place in range(len(labels))]
        axes.barh(places, [value or 0 for value in values], height * 0.9, color=colour, label=title)
    if floors:
        places = [place - 0.4 + 0.5 * height for place in range(len(labels))]
        axes.plot(floors, places, "|", color=FLOOR, markersize=9, markeredgewidth=2, linestyle="", label="floor")
    axes.set_yticks(range(len(labels)), labels)
    axes.set_ylim(len(labels) - 0.4, -0.6)
    axes.tick_params(axis="y", length=0)
    axes.grid(axis="x")
    axes.figure.legend(loc="upper center", ncols=len(series) + bool(floors), bbox_to_anchor=(0.5, 1.0))
    axes.set_title(" ", fontsize=9)  # room for the legend


def logarithmic(axes, label: str) -> None:
    axes.set_xscale("log")
    axes.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5), numticks=12))
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.minorticks_off()
    axes.set_xlabel(label)


def layers_on_graphs() -> list[str]:
    """h200.json: layers by graphs, beside their floors and the best peer."""
    results = load("h200")
    lines = [
        "## Layers on graphs, one GPU",
        "",
        f"{results['machine']}, PyTorch {results['torch']}, PyTorch Geometric {results['torch_geometric']}, {results['date']}: "
        "milliseconds, beside the best arrangement of PyTorch Geometric (of sums: cuSPARSE) and the "
        "[floor](../docs/Performance.md#method), which is what the computation needs at the ceilings of the machine.",
    ]
    graphs: dict[str, list[dict]] = {}
    for cell in results["cells"]:
        if cell.get("peers") and cell.get("gnnc"):
            graphs.setdefault(cell["graph"], []).append(cell)
    typed = [cell for cells in graphs.values() if len(cells) < 3 for cell in cells]
    shown = {graph: cells for graph, cells in graphs.items() if len(cells) >= 3} | {"clouds and typed graphs": typed}
    for graph, cells in shown.items():
        size = (
            f": {thousands(cells[0]['nodes'])} nodes, {thousands(cells[0]['edges'])} edges"
            if cells is not typed
            else ""
        )
        lines += ["", f"### {graph}{size}"]
        for program, title in PROGRAMS.items():
            rows = [row for cell in cells if (row := timed(cell, program, cells is typed))]
            if rows:
                lines += ["", times(f"{graph}-{program}".replace(" ", "-"), f"{graph}, {title}", rows)]
    return lines


def thousands(count: int) -> str:
    return f"{count:,}".replace(",", "\u202f")


def timed(cell: dict, program: str, with_graph: bool) -> tuple | None:
    """Label, milliseconds of gnnc, floor, and name and milliseconds of the best peer."""
    own = cell["gnnc"].get(program)
    peers = [(peer[program]["median"], name) for name, peer in cell["peers"].items() if peer.get(program)]
    if not own or not peers:
        return None
    return (cell["row"] + (f", {cell['graph']}" if with_graph else ""), own["median"], own["floor"], *min(peers))


def times(name: str, caption: str, rows: list[tuple]) -> str:
    labels, own, floors, peer, who = map(list, zip(*rows))

    def draw(axes):
        bars(axes, labels, [("gnnc", GNNC, own), ("best peer", PEER, peer)], floors)
        axes.set_xlim(left=min(floors) / 2)
        logarithmic(axes, "milliseconds, logarithmic")

    table = [[a, number(b), number(c), number(d), e, number(d / b)] for a, b, c, d, e in rows]
    header = ["layer", "gnnc, ms", "floor, ms", "best peer, ms", "peer", "peer / gnnc"]
    return figure(f"h200-{name}", 0.42 * len(rows) + 1, draw, f"{caption}: milliseconds.", header, table)


def whole_models() -> list[str]:
    """The table of a page of docs whose columns are named so, and of which there is one."""
    wanted = ["model", "eager", "torch.compile", "gnnc", "best / gnnc"]
    found = []
    for path in sorted((ROOT / "docs").glob("*.md")):
        lines = path.read_text().splitlines()
        for at, line in enumerate(lines):
            header = cells_of(line)
            if all(name in header for name in wanted):
                heading = next(before for before in reversed(lines[:at]) if before.startswith("#")).lstrip("# ")
                found.append((path, lines, at, header, heading))
    if len(found) != 1:
        raise PluginError(f"docs/*.md: expected one table with the columns {', '.join(wanted)}, found {len(found)}")
    path, lines, at, header, heading = found[0]
    rows = []
    for line in lines[at + 2 :]:
        if not line.startswith("|"):
            break
        row = dict(zip(header, cells_of(line)))
        ratios = row["best / gnnc"].split(" / ")
        if len(ratios) != 2:
            raise PluginError(f"{path.name}: expected two ratios of '{row['model']}', found '{row['best / gnnc']}'")
        rows.append((row["model"], row["gnnc"], *map(float, ratios)))
    rows.sort(key=lambda row: row[3])

    def draw(axes):
        labels = [row[0].split(",")[0] for row in rows]
        bars(
            axes,
            labels,
            [("inference", LIGHT, [row[2] for row in rows]), ("training step", GNNC, [row[3] for row in rows])],
        )
        axes.axvline(1, color=FLOOR, linewidth=1)
        axes.set_xlim(left=0.5)
        logarithmic(axes, "times as fast as the best of PyTorch's forms, logarithmic")

    header = ["model", "gnnc: inference / step, ms", "inference, times as fast", "step, times as fast"]
    table = [[name, own, number(forward), number(step)] for name, own, forward, step in rows]
    plot = figure(
        "whole-models",
        0.34 * len(rows) + 1,
        draw,
        f"{heading}: time of the better of eager PyTorch and torch.compile, divided by gnnc's.",
        header,
        table,
    )
    return [
        "## Whole models, one GPU",
        "",
        f"Drawn from the table in [{heading}](../docs/{path.name}#{slug(heading)}), which says how they were measured.",
        "",
        plot,
    ]


def cells_of(line: str) -> list[str]:
    return [cell.strip().strip("`") for cell in line.strip().strip("|").split("|")]


def ratios(records: list[dict], program: str) -> list[float]:
    """Times over the floor, in order; failures, which have none, last."""
    found = [record["programs"].get(program, {}).get("ratio") for record in records if record.get("programs")]
    return sorted(ratio for ratio in found if ratio)


def formulas() -> list[str]:
    """Random formulas on three machines: which share is within how many times the floor."""
    lines = [
        "## Random formulas beside their floors",
        "",
        "Models that are [drawn from seeds](../docs/Performance.md#random-formulas). A curve gives the share of the programs "
        "that take at most that many times the floor. For programs left of 1 the floor is too high.",
    ]
    machines = {"CPU": "formulas-cpu", "H100": "formulas-h100", "H200": "formulas-h200"}
    loaded = {title: load(name) for title, name in machines.items()}
    styles = {"CPU": "-", "H100": "--", "H200": ":"}
    for program, title in PROGRAMS.items():
        found = {name: ratios(results["formulas"], program) for name, results in loaded.items()}

        def draw(axes, found=found):
            for name, values in found.items():
                shares = [100 * (place + 1) / len(values) for place in range(len(values))]
                axes.plot(values, shares, styles[name], color=GNNC, linewidth=1.6, label=name)
            axes.axvline(1, color=FLOOR, linewidth=1)
            axes.set_ylabel("per cent of the programs")
            axes.set_xlim(left=0.5)
            axes.grid()
            axes.legend(loc="lower right")
            logarithmic(axes, "time over floor, logarithmic")

        table = [
            [
                name,
                str(len(values)),
                *(number(quantile(values, share)) for share in (0.1, 0.5, 0.9, 0.95)),
                number(values[-1]),
            ]
            for name, values in found.items()
        ]
        header = ["machine", "programs", "10 %", "median", "90 %", "95 %", "largest"]
        lines += [
            "",
            figure(f"formulas-{program}", 3, draw, f"Random formulas, {title}: time over floor.", header, table),
        ]
    lines += ["", *parts(loaded["CPU"], "CPU"), "", *parts(loaded["H100"], "H100")]
    return lines


def quantile(values: list[float], share: float) -> float:
    return values[min(len(values) - 1, int(share * len(values)))]


def parts(results: dict, machine: str) -> list[str]:
    """Medians by the parts of formulas."""
    of: dict[str, list[dict]] = {}
    for record in results["formulas"]:
        for part in {*record["parts"]}:
            of.setdefault(part, []).append(record)
    rows = [(part, *(statistics.median(ratios(of[part], program)) for program in PROGRAMS)) for part in sorted(of)]
    caption = f"Random formulas by their parts, {machine}: median of the time over the floor."
    return [over_floor(f"parts-{machine}", rows, caption, "contains")]


def over_floor(name: str, rows: list[tuple], caption: str, what: str) -> str:
    def draw(axes):
        series = [
            ("forward", LIGHT, [row[1] for row in rows]),
            ("forward and backward", GNNC, [row[2] for row in rows]),
        ]
        bars(axes, [row[0] for row in rows], series)
        axes.axvline(1, color=FLOOR, linewidth=1.5)
        axes.set_xlabel("median of the time over the floor (line: the floor)")

    table = [[row[0], number(row[1]), number(row[2])] for row in rows]
    return figure(name, 0.34 * len(rows) + 1, draw, caption, [what, *PROGRAMS.values()], table)


def standard_layers() -> list[str]:
    results = load("standard-h100")
    of: dict[str, list[dict]] = {}
    for record in results["formulas"]:
        of.setdefault(record["parts"][0], []).append(record)
    rows = [
        (layer, *(statistics.median(ratios(found, program)) for program in PROGRAMS)) for layer, found in of.items()
    ]
    caption = (
        "Layers of the standard library, H100: median of the time over the floor, of all widths, heads and graphs."
    )
    return [
        "## Layers of the standard library beside their floors",
        "",
        f"{results['machine']}: {len(results['formulas'])} combinations of layer, width, heads and graph "
        "([random formulas](../docs/Performance.md#random-formulas) says how the floor is computed).",
        "",
        over_floor("standard-h100", rows, caption, "layer"),
    ]


def widths() -> list[str]:
    results = load("widths-cpu")
    section = results["sections"][0]
    header, rows = section["header"], section["rows"]
    columns = {title: [float(row[place]) for row in rows] for place, title in enumerate(header)}

    def draw(axes):
        for title, colour, style in zip(header[1:], (GNNC, GNNC, PEER, PEER), ("-", ":", "-", ":")):
            axes.plot(columns[header[0]], columns[title], style, color=colour, linewidth=1.4, label=title)
        axes.set_xlabel("width N or K")
        axes.set_ylabel("GFLOP/s")
        axes.set_ylim(bottom=0)
        axes.grid()
        axes.legend(loc="lower right", ncols=2)

    return [
        "## Products of all widths, one thread of a CPU",
        "",
        f"{results['machine']['processor']}, {results['machine']['vectors']}. {' '.join(section['note'].split())}",
        "",
        figure("widths-cpu", 3, draw, f"{section['title']}: GFLOP/s.", header, rows),
    ]


def on_files(files, config, **_):
    lines = [
        "# Plots",
        "",
        "Drawn from the files in [benchmarks/results](results) when the site was built. "
        "[Performance](../docs/Performance.md) says how everything was measured, and [all results](RESULTS.md) has every "
        "number.",
    ]
    for part in (whole_models, layers_on_graphs, formulas, standard_layers, widths):
        lines += ["", *part()]
    add(files, config, PAGE, "\n".join(lines) + "\n")
    return files


def on_page_content(html: str, page, **_) -> str:
    return insert(html) if page.file.src_uri == PAGE else html
