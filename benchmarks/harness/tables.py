"""Writes the tables of the results that are kept: benchmarks/RESULTS.md, and those in docs/Performance.md.

    python3 benchmarks harness.tables            # after adding or replacing a file in benchmarks/results
    python3 benchmarks harness.tables --check    # exit status 1 where a table is not what the results say

A file of benchmarks/results is what one run wrote: grid.json of `gpu.grid run`, results.json of `./dev bench`, or what
`cpu.formulas run` or `gpu.formulas run` wrote. In a document the lines between `<!-- table: FILE.json -->` and
`<!-- end of table -->` are replaced.
"""

from __future__ import annotations

import argparse
import json
import re
import statistics

from gpu import grid
from harness import fuzzing
from harness.places import BENCHMARKS, ROOT

RESULTS = BENCHMARKS / "results"
DOCUMENT = ROOT / "docs/Performance.md"
TABLES = "<!-- Written by `python3 benchmarks harness.tables` from here on. -->"
MARKED = re.compile(r"(<!-- table: (\S+) -->\n).*?(<!-- end of table -->)", re.S)


def cell_text(cell: dict | None) -> str:
    """Forward / forward and backward in milliseconds, and how many times as long the best peer takes."""
    if not cell or "gnnc" not in cell:
        return "–"
    times, ratios = [], []
    for program in ("forward", "gradient"):
        if not (entry := cell["gnnc"].get(program)):
            continue
        peer = grid.best_peer(cell, program)
        times.append(grid.number(entry["median"]))
        ratios.append(f"{peer[1]['median'] / entry['median']:.1f}" if peer else "–")
    return f"{' / '.join(times)} ({' / '.join(ratios)})"


def mean(cells: list[dict], program: str) -> str:
    """Geometric mean of the ratios, and the least."""
    found = []
    for cell in cells:
        entry, peer = cell.get("gnnc", {}).get(program), grid.best_peer(cell, program)
        if entry and peer:
            found.append(peer[1]["median"] / entry["median"])
    return f"{statistics.geometric_mean(found):.1f} (least {min(found):.2f}, {len(found)} cells)" if found else "–"


def grid_summary(results: dict) -> list[str]:
    """Layers by graphs."""
    cells = {(cell["row"], cell["graph"]): cell for cell in results["cells"]}
    graphs = [graph for graph in grid.GRAPHS if any(key[1] == graph for key in cells)]
    others = [key for key in cells if key[1] not in graphs]
    lines = [f"| | {' | '.join(graphs)} |", "|---" * (len(graphs) + 1) + "|"]
    for row in [*grid.LAYERS, "Sum64"]:
        lines.append(f"| {row} | " + " | ".join(cell_text(cells.get((row, graph))) for graph in graphs) + " |")
    lines += ["", "| | |", "|---|---|"]
    lines += [f"| {row}, {graph} | {cell_text(cells[row, graph])} |" for row, graph in others]
    layers = [cell for (row, _), cell in cells.items() if row in grid.LAYERS]
    sums = [cell for (row, _), cell in cells.items() if row.startswith("Sum")]
    lines += ["", "How many times as long the best peer takes, geometric means:", ""]
    lines.append(f"- layers: forward {mean(layers, 'forward')}, forward and backward {mean(layers, 'gradient')};")
    lines.append(f"- sums of 16 to 512 features: {mean(sums, 'forward')}.")
    return lines


def machine_of(results: dict) -> list[str]:
    about = (
        results["machine"]
        if isinstance(results["machine"], dict)
        else {key: value for key, value in results.items() if isinstance(value, str)}
    )
    return [f"- {key}: {value}" for key, value in about.items() if key != "command"] + [
        "",
        "```",
        *re.findall(r".{1,110}(?:\s|$)", str(about.get("command", ""))),
        "```",
    ]


def summary(results: dict) -> list[str]:
    if "formulas" in results:
        return fuzzing.distribution(results["formulas"])
    return grid_summary(results) if "cells" in results else goals(results)


def everything(results: dict) -> list[str]:
    if "formulas" in results:
        records, rates = results["formulas"], results["rates"]
        reached = f"copy {rates['copy'] / 1e9:.0f} GB/s, cache {rates['cache'] / 1e9:.0f} GB/s"
        reached += f", product {rates['product'] / 1e9:.0f} GFLOP/s"
        return [f"Rates: {reached}.", "", *fuzzing.all_tables(records)]
    return grid.lines_of_table(results["cells"]) if "cells" in results else sections(results)


def goals(results: dict) -> list[str]:
    """Of `./dev bench` or a part of it: what was to be reached, and what was."""
    lines = ["| | |", "|---|---|"]
    return lines + [f"| {goal['text']} | {goal['value']} |" for each in results["sections"] for goal in each["goals"]]


def sections(results: dict) -> list[str]:
    """Of `./dev bench`."""
    lines = []
    for section in results["sections"]:
        lines += ["", f"### {section['title']}", "", section["note"], ""]
        lines += ["| " + " | ".join(section["header"]) + " |", "|---" + "|---:" * (len(section["header"]) - 1) + "|"]
        lines += ["| " + " | ".join(row) + " |" for row in section["rows"]]
    return lines


def in_short(results: dict) -> str:
    """One cell: the distribution over floors, the means beside peers, or whether goals were reached."""
    if "formulas" in results:
        shown = []
        for program, entry in fuzzing.summary(results["formulas"]).items():
            median, high, worst = (fuzzing.show(entry[key]) for key in ("median", "p95", "worst measured"))
            shown.append(f"{program}: {entry['formulas']} programs, median {median}, 95 % below {high}, worst {worst}")
        return "time over floor, " + "; ".join(shown)
    if "cells" in results:
        return "time of the best peer by gnnc's, " + "; ".join(
            line.removeprefix("- ").rstrip(";.") for line in grid_summary(results) if line.startswith("- ")
        )
    return "; ".join(f"{goal['text']}: {goal['value']}" for each in results["sections"] for goal in each["goals"])


def overview(files: dict[str, dict]) -> list[str]:
    lines = ["| run | machine | in short |", "| --- | --- | --- |"]
    for name, results in files.items():
        about = results["machine"]
        machine = about if isinstance(about, str) else about["processor"]
        title = name.removesuffix(".json")
        lines.append(
            f"| [{title}](#{title}) | {machine.split(' (two ')[0].split(' (three ')[0]} | {in_short(results)} |"
        )
    return lines


def whole(files: dict[str, dict], head: str) -> str:
    """`head`: the text above the overview, which is written by hand."""
    lines = [head.rstrip(), "", TABLES, "", *overview(files)]
    for name, results in files.items():
        lines += ["", f"## {name.removesuffix('.json')}", "", *machine_of(results), ""]
        lines += everything(results)
    return "\n".join(line.rstrip() for line in lines) + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="only say which tables are not current")
    check = parser.parse_args().check
    files = {path.name: json.loads(path.read_text()) for path in sorted(RESULTS.glob("*.json"))}
    status = 0

    def fill(match: re.Match) -> str:
        return match[1] + "\n" + "\n".join(summary(files[match[2]])) + "\n\n" + match[3]

    head = (BENCHMARKS / "RESULTS.md").read_text().partition(TABLES)[0]
    wanted = {BENCHMARKS / "RESULTS.md": whole(files, head), DOCUMENT: MARKED.sub(fill, DOCUMENT.read_text())}
    for path, text in wanted.items():
        if path.exists() and path.read_text() == text:
            continue
        if check:
            print(f"{path.name}: tables are not what benchmarks/results says: run python3 benchmarks harness.tables")
            status = 1
        else:
            path.write_text(text)
            print(f"wrote {path}")
    return status
