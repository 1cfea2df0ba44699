"""What `gnnc inspect` predicts beside what `ranks.py times` measured.

Kernels' speed, and how long ranks wait for the slowest of them, come from the calibration: half of a rank's share of
the graph and all of it, on all ranks at once, with exchanges of nothing. That of the links comes from a measured
exchange. Nothing of the runs that are predicted.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import tempfile
from pathlib import Path
from typing import Any

#: Times within this share of what was measured.
ALLOWED = 0.15
#: Of graphs that a run is calibrated on.
SIZES = 2


def _predicted(
    arguments: argparse.Namespace, calibration: Path, ranks: int, extents: dict[str, int], more: list[str]
) -> float:
    sizes = ",".join(f"{name}={extent}" for name, extent in extents.items())
    command = [arguments.gnnc, "inspect", arguments.model, "--ranks", str(ranks), "--extents", sizes, "--json"]
    command += ["--measured", str(calibration), *more]
    found = subprocess.run(command, check=True, capture_output=True, text=True)
    return json.loads(found.stdout)["predicted_seconds"]["train_step"]["all"]


def predict(arguments: argparse.Namespace) -> int:
    lines: list[dict[str, Any]] = [json.loads(line) for line in Path(arguments.results).read_text().splitlines()]
    wrong = 0
    calibration: list[dict[str, Any]] = []
    about: tuple[Any, ...] = ()
    links: dict[str, dict[str, Any]] = {}
    for line in lines:
        if line.get("model") != Path(arguments.model).name:
            continue
        if line["what"] == "calibration":
            run = tuple(line[key] for key in ("ranks", "nodes", "edges", "mixing", "device", "threads"))
            if run != about or len(calibration) == SIZES:
                about, calibration = run, []
            calibration.append({key: line[key] for key in ("extents", "seconds")})
        if line["what"] == "link":
            links[line["engine"]] = line
        if line["what"] not in ("ranks", "alone"):
            continue
        ranks = line["ranks"] if line["what"] == "ranks" else 1
        if line["device"] == "cpu" and line["ranks"] != ranks:
            continue  # one rank has the machine's memory to itself, and none of the calibration's had
        with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
            json.dump(calibration, file)
            file.flush()
            link = links.get(line.get("engine", ""))
            # How long an exchange of nothing takes is in the calibration.
            more = ["--link", str(link["link_gb_per_s"]), "--latency", "0"] if link else []
            # What a GPU does beside what it reads: the calibration scales both.
            more += ["--compute", "80000", "--bandwidth", "4000"] if line["device"] == "cuda" else []
            seconds = _predicted(arguments, Path(file.name), ranks, line["extents"], more)
        off = seconds / line["seconds"] - 1
        wrong |= abs(off) > ALLOWED
        where = f"{line['model']} on {ranks} of {line['device']}, {line.get('engine', 'alone')}, mixing {line['mixing']}"
        times = f"predicted {1e3 * seconds:.2f} ms, measured {1e3 * line['seconds']:.2f}, {100 * off:+.1f} %"
        print(f"{where}: {times}")
    return wrong
