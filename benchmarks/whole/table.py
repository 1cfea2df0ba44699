"""The table of whole models, from the lines that runs have written."""

from __future__ import annotations

import json
import statistics
from pathlib import Path
from typing import Any

from whole.catalogue import CATALOGUE, WAYS

SHORT = {"eager": "eager", "torch.compile": "`compile`", "reduce-overhead": "`reduce-overhead`", "gnnc": "gnnc"}
Row = dict[str, Any]


def read(paths: list[Path]) -> tuple[list[Row], dict[tuple[Any, ...], Row]]:
    """Runs, and rows by device, precision, model and depth. Of what is there twice, the later counts."""
    runs: list[Row] = []
    rows: dict[tuple[Any, ...], Row] = {}
    for path in paths:
        path = path / "models.jsonl" if path.is_dir() else path
        for line in path.read_text().splitlines():
            try:
                record = json.loads(line)
            except ValueError:  # the last one of a run that was ended
                continue
            if "run" in record:
                runs.append(record["run"])
                continue
            key = tuple(record.pop(name) for name in ("device", "precision", "model", "depth"))
            row = rows.setdefault(key, {"contenders": {}})
            way = record.pop("contender", None)
            if way is None and "parameters" in record:  # it begins anew
                rows[key] = {"contenders": {}, **record}
            elif way is None:
                row |= record
            else:
                row["contenders"].setdefault(way, {}).update(record)
    return runs, rows


def short(value: float) -> str:
    """Three digits."""
    digits = 0 if value >= 100 else 1 if value >= 10 else 2 if value >= 1 else 3
    return f"{value:.{digits}f}"


def cell(row: Row, way: str, program: str) -> str:
    """Median, and in brackets the least and the most where they are apart."""
    found = row["contenders"].get(way, {})
    if f"{program}_ms" not in found:
        if not found:
            return "–"
        failed = found.get("failed", "")
        if failed.startswith("OutOfTime"):
            return "slow"
        return "refused" if way == "gnnc" and found.get("stage") == "compile" else "fails"
    times = found[f"{program}_ms"]
    spread = (times["most"] - times["least"]) / times["median"]
    text = short(times["median"]) + (f" [{short(times['least'])}–{short(times['most'])}]" if spread > 0.1 else "")
    return text + (" wrong" if found.get("wrong") else "")


def best(row: Row, what: str) -> float | None:
    """Of PyTorch's forms that give the right numbers."""
    found = []
    for way in WAYS[:-1]:
        contender = row["contenders"].get(way, {})
        value = contender.get(what)
        if value is not None and not contender.get("wrong"):
            found.append(value["median"] if isinstance(value, dict) else value)
    return min(found, default=None)


def ratio(row: Row, what: str) -> float | None:
    own = row["contenders"].get("gnnc", {})
    theirs = best(row, what)
    if own.get("wrong") or own.get(what) is None or theirs is None:
        return None
    value = own[what]["median"] if isinstance(own[what], dict) else own[what]
    return theirs / value if value > 0 else None


def why(row: Row) -> list[str]:
    found = [row[key] for key in ("failed", "ended") if key in row]
    for way, contender in row["contenders"].items():
        if "failed" in contender:
            found.append(f"{way} ({contender['stage']}): {contender['failed']}")
        elif contender.get("wrong"):
            errors = ", ".join(f"{kind} {error:.1e}" for kind, error in contender["errors"].items())
            usual = "; ".join(
                f"{who}: " + ", ".join(f"{error:.1e}" for error in row.get(key, {}).values())
                for who, key in (("eager", "eager"), ("parameters rounded", "moved"))
            )
            found.append(f"{way} wrong: {errors} ({usual})")
    return found


def seconds(row: Row, way: str) -> str:
    found = row["contenders"].get(way, {})
    if "first_step_s" not in found:
        return "–"
    first = f"{found['first_step_s']:.1f}"
    return f"{found['compile_s']:.1f} + {first}" if way == "gnnc" else first


def number(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f}"


def mib(row: Row, way: str | None = None) -> str:
    value = best(row, "step_mib") if way is None else row["contenders"].get(way, {}).get("step_mib")
    return "–" if value is None else f"{value:.0f}"


def of_precision(rows: dict[tuple[Any, ...], Row]) -> list[str]:
    present = [way for way in WAYS if any(way in row["contenders"] for row in rows.values())]
    header = [*(SHORT[way] for way in present), "best / gnnc: forward", "step"]
    header += ["MiB: best", "gnnc", "first step, s: `compile`", "gnnc"]
    lines = ["| | " + " | ".join(header) + " |"]
    lines.append("| --- |" + " ---: |" * (len(present) + 6))
    notes = []
    for (_, _, model, depth), row in rows.items():
        entry = CATALOGUE[model]
        title = entry.title + (f" (at {depth})" if depth != entry.depth else "")
        cells = [f"{cell(row, way, 'forward')} / {cell(row, way, 'step')}" for way in present]
        if row.get("failed", "").startswith("package not here"):
            cells = ["package not here"] + ["–"] * (len(present) - 1)
        cells += [number(ratio(row, "forward_ms")), number(ratio(row, "step_ms")), mib(row), mib(row, "gnnc")]
        lines.append(f"| {title} | " + " | ".join([*cells, seconds(row, "torch.compile"), seconds(row, "gnnc")]) + " |")
        notes += [f"- {title}: {text}" for text in why(row)]
    lines.append("")
    for what, text in (("forward_ms", "forward"), ("step_ms", "step"), ("step_mib", "memory of a step")):
        found = [value for row in rows.values() if (value := ratio(row, what)) is not None]
        if found:
            mean = f"geometric mean {statistics.geometric_mean(found):.2f}, least {min(found):.2f}"
            lines.append(f"- best / gnnc, {text}: {mean}, of {len(found)} of {len(rows)} models")
    return lines + (["", "What failed, was refused, or is wrong:", "", *notes] if notes else [])


def of_depths(rows: dict[tuple[Any, ...], Row]) -> list[str]:
    """How step, memory and compilation grow from each depth to the one twice as large."""
    header = ["", "blocks", "step, ms", "`compile`", "MiB", "compilation, processor's s"]
    lines = ["| " + " | ".join([*header, "step, MiB, s beside half the blocks"]) + " |"]
    lines.append("| --- |" + " ---: |" * 6)
    before: dict[str, tuple[int, list[float | None]]] = {}
    for key in sorted(rows, key=lambda key: (key[2], key[1], key[3])):
        (_, precision, model, depth), row = key, rows[key]
        own = row["contenders"].get("gnnc", {})
        found = [own.get("step_ms", {}).get("median"), own.get("step_mib"), own.get("compile_processor_s")]
        grown = "–"
        half, values = before.get(model + precision, (0, []))
        if half * 2 == depth:
            grown = ", ".join(number(a / b if a is not None and b else None) for a, b in zip(found, values))
        before[model + precision] = (depth, found)
        cells = [str(depth), cell(row, "gnnc", "step"), cell(row, "torch.compile", "step"), mib(row, "gnnc")]
        cells.append(number(found[2]))
        lines.append(f"| {CATALOGUE[model].title}, {precision} | " + " | ".join([*cells, grown]) + " |")
    return lines + ["", *(f"- {key[2]} at {key[3]}: {text}" for key, row in rows.items() for text in why(row))]


def markdown(paths: list[Path]) -> str:
    runs, rows = read(paths)
    lines = [f"- {json.dumps(run)}" for run in runs]
    depths = {key: row for key, row in rows.items() if sum(key[:3] == other[:3] for other in rows) > 1}
    order = list(CATALOGUE)
    for device, precision in dict.fromkeys(key[:2] for key in rows):
        chosen = {key: row for key, row in rows.items() if key[:2] == (device, precision) and key not in depths}
        chosen = dict(sorted(chosen.items(), key=lambda item: order.index(item[0][2])))
        if chosen:
            lines += ["", f"### {device}, {precision}: forward / step in milliseconds", "", *of_precision(chosen)]
    if depths:
        lines += ["", "### Depth", "", *of_depths(depths)]
    return "\n".join(lines)
