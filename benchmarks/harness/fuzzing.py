"""Formulas compiled and judged: what cpu/formulas.py and gpu/formulas.py have in common.

Formulas are random ones (harness/formulas.py) or layers of the standard library at all widths (harness/standard.py). A
formula that does not compile, takes more processor time than the limit, or runs into the budget of statements of a
kernel counts as slower than any that was measured.
"""

from __future__ import annotations

import argparse
import json
import math
import re
import resource
import signal
import subprocess
import time
import zlib
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from harness import standard
from harness.floor import Definition, Rates, need
from harness.formulas import Formula, formula

PROGRAMS = ("forward", "gradient")
BUDGET = "more statements than a kernel may have", "would be longer than"  # in remarks
LEAST = 1e-5  # seconds; of shorter programs starting them is most


def compile_one(gnnc: Path, made: Formula, folder: Path, options: list[str], limit: int) -> dict:
    """The object and the definition of a formula in a folder, and how that went."""
    source, target = folder / f"{made.object}.gnn", folder / f"{made.object}.so"
    source.write_text(made.text)
    record: dict = {}
    command = [str(gnnc), "compile", str(source), "--gradient"]
    definition = subprocess.run(
        [*command[:3], "--emit", "json", "-o", str(folder / f"{made.object}.json")], capture_output=True, text=True
    )
    if definition.returncode:
        return record | {"failed": reason(definition.stderr)}
    begin = time.perf_counter()
    done = subprocess.run(
        [*command, "--remarks", "-o", str(target), *options],
        capture_output=True,
        text=True,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (limit, limit)),
    )
    record["compiled in"] = round(time.perf_counter() - begin, 2)
    if done.returncode in (-signal.SIGXCPU, -signal.SIGKILL):
        return record | {"failed": f"not compiled in {limit} s of processor time"}
    if done.returncode:
        return record | {"failed": reason(done.stderr)}
    if any(words in done.stderr for words in BUDGET):
        record["budget"] = next(line for line in done.stderr.splitlines() if any(words in line for words in BUDGET))
    return record


def add_formulas(action: argparse.ArgumentParser) -> None:
    action.add_argument("--first", type=int, default=0, help="seed")
    action.add_argument("--count", type=int, default=150, help="of seeds")
    action.add_argument("--seeds", type=int, nargs="*", help="these instead")
    action.add_argument("--standard", action="store_true", help="layers of the standard library instead")
    action.add_argument("--layers", nargs="*", default=[], help="of these layers alone")
    action.add_argument("--limit", type=int, default=60, help="seconds of processor time for each")
    action.add_argument("--jobs", type=int, default=1)
    action.add_argument("--options", nargs="*", action="extend", default=[], help="of gnnc compile, such as --cpu=v3")


def chosen(arguments: argparse.Namespace) -> list[Formula]:
    if arguments.standard:
        return standard.formulas(arguments.layers)
    seeds = arguments.seeds or range(arguments.first, arguments.first + arguments.count)
    return [formula(seed) for seed in seeds]


def name_of(record: dict) -> str:
    """Of what was written before formulas had other names than their seeds', too."""
    return record.get("name") or f"F{record['seed']}"


def seed_of(name: str) -> int:
    """Of a formula's random inputs."""
    return zlib.crc32(name.encode())


def reason(text: str) -> str:
    lines = [line for line in text.splitlines() if "error:" in line][:1] or text.splitlines() or ["no message"]
    return lines[-1][:300]


def compile_all(gnnc: Path, formulas: list[Formula], folder: Path, options: list[str], limit: int, jobs: int) -> None:
    """Objects in a folder, and compiled.json, which says of each formula how that went."""
    folder.mkdir(parents=True, exist_ok=True)
    begin = time.perf_counter()
    objects = {made.object: made for made in formulas}

    def one(made: Formula) -> dict:
        record = compile_one(gnnc, made, folder, options, limit)
        shown = record.get("failed", record.get("compiled in"))
        print(f"{time.perf_counter() - begin:6.1f} s {made.object}", shown, flush=True)
        return record

    done: dict[str, dict] = {}
    with ThreadPoolExecutor(jobs) as pool:
        for name, record in zip(objects, pool.map(one, objects.values()), strict=True):
            done[name] = record
            records = [
                {"name": made.name, "object": made.object, "graph": made.graph, "parts": list(made.parts)}
                | done[made.object]
                for made in formulas
                if made.object in done
            ]
            (folder / "compiled.json").write_text(json.dumps(records, indent=1))


def read_compiled(folder: Path) -> dict[str, dict]:
    """The records that compile_all wrote, by name."""
    return {record["name"]: record for record in json.loads((folder / "compiled.json").read_text())}


def judged(
    record: dict,
    info: dict,
    program: str,
    definition: Definition,
    extent: Callable[[str], int],
    ascending: Callable[[str], bool],
    rates: Rates,
    times: dict[str, float],
) -> None:
    """Enters a program's times beside its floor, all in milliseconds."""
    wanted = need(definition, info, program, extent, ascending)
    floor = 1e3 * wanted.seconds(rates)
    record.setdefault("programs", {})[program] = times | {
        "floor": floor,
        "ratio": times["ms"] / floor,
        "floor of": wanted.longest(rates),
        "need": {"moved": wanted.moved, "gathered": wanted.gathered, "operations": wanted.operations},
    }


def kernel_floors(info: dict, program: str, extent: Callable[[str], int], rates: Rates) -> dict[str, dict]:
    """Of the kernels that were made: bytes at the rate of the cache, operations at that of a product, in milliseconds."""

    def total(formula: list[dict]) -> float:
        return sum(term["each"] * (extent(term["space"]) if term["space"] else 1) for term in formula)

    found: dict[str, dict] = {}
    for kernel in info["kernels"]:
        if kernel["function"] == program:
            entry = found.setdefault(kernel["name"], {"what": kernel["kind"], "floor": 0.0})
            seen = total(kernel["bytes_read"]) + total(kernel["bytes_written"])
            operations = total(kernel["flops"])
            entry["floor"] += 1e3 * max(seen / rates.cache, operations / rates.product)
    return found


def enter_kernels(entry: dict, times: dict[str, float]) -> None:
    """What was met by its symbol, in any unit, as shares of the program's time. Equal kernels share the first one's
    code and symbol, so its time is that of all of them, and the others have none."""
    met: dict[str, float] = {}
    for symbol, taken in times.items():
        found = re.match(r"gnnc_kernel\d+", symbol)
        if found and found[0] in entry["kernels"]:
            met[found[0]] = met.get(found[0], 0.0) + taken
    total = sum(times.values())
    for name, taken in met.items():
        entry["kernels"][name]["ms"] = entry["ms"] * taken / total


# ----------------------------------------------------------------------------------------------------------------------
# Distributions
# ----------------------------------------------------------------------------------------------------------------------


def ratios(records: list[dict], program: str) -> list[tuple[float, dict]]:
    """Of programs that take 10 us and more, in ascending order; infinite for what counts as the worst."""
    found = []
    for record in records:
        entry = record.get("programs", {}).get(program)
        if "failed" in record or "budget" in record or (entry and "failed" in entry):
            found.append((math.inf, record))
        elif entry and entry["ms"] >= 1e3 * LEAST:
            found.append((entry["ratio"], record))
    return sorted(found, key=lambda pair: pair[0])


def at(found: list[tuple[float, dict]], share: float) -> float:
    return found[min(len(found) - 1, math.ceil(share * len(found)) - 1)][0] if found else math.nan


def show(ratio: float) -> str:
    return "failed" if math.isinf(ratio) else f"{ratio:.2f}" if ratio < 10 else f"{ratio:.1f}"


def summary(records: list[dict]) -> dict[str, dict]:
    """Of each program: how many, median, 95th percentile, worst, and what failed."""
    found = {}
    for program in PROGRAMS:
        own = ratios(records, program)
        if own:
            found[program] = {
                "formulas": len(own),
                "median": at(own, 0.5),
                "p95": at(own, 0.95),
                "worst": own[-1][0],
                "counted as worst": sum(math.isinf(ratio) for ratio, _ in own),
                "worst measured": max((ratio for ratio, _ in own if not math.isinf(ratio)), default=math.nan),
            }
    return found


def distribution(records: list[dict]) -> list[str]:
    lines = [
        "| time over floor | formulas | median | 95th percentile | worst measured | counted as worst |",
        "|---|---:|---:|---:|---:|---:|",
    ]
    for program, entry in summary(records).items():
        cells = [str(entry["formulas"]), *(show(entry[key]) for key in ("median", "p95", "worst measured"))]
        lines.append(f"| {program} | {' | '.join(cells)} | {entry['counted as worst']} |")
    return lines


def table(records: list[dict], worst: int = 10) -> list[str]:
    lines = distribution(records)
    for program in PROGRAMS:
        own = [pair for pair in reversed(ratios(records, program))][:worst]
        if not own:
            continue
        lines += [
            "",
            f"Worst of {program}:",
            "",
            "| name | graph | time over floor | ms | floor | of | formula | kernels |",
        ]
        lines.append("|---|---|---:|---:|---:|---|---|---|")
        for ratio, record in own:
            entry = record.get("programs", {}).get(program, {})
            why = record.get("failed") or entry.get("failed") or ("budget of statements" if "budget" in record else "")
            cells = [name_of(record), record["graph"], show(ratio)]
            cells += [f"{entry[key]:.4g}" if key in entry else "" for key in ("ms", "floor")]
            cells += [entry.get("floor of", ""), ", ".join(record["parts"]), why or slowest_kernels(entry)]
            lines.append("| " + " | ".join(cells) + " |")
    return lines


def slowest_kernels(entry: dict, most: int = 3) -> str:
    """With milliseconds, and the time over the kernel's own floor."""
    own = [(kernel["ms"], name, kernel) for name, kernel in entry.get("kernels", {}).items() if "ms" in kernel]
    shown = [
        f"{name.removeprefix('gnnc_')} ({kernel['what']}) {ms:.3g}"
        + (f" / {ms / kernel['floor']:.1f}" if kernel.get("floor") else "")
        for ms, name, kernel in sorted(own, reverse=True, key=lambda each: each[:2])[:most]
    ]
    return ", ".join(shown)


def kept(results: dict) -> str:
    """Results as a file: a line for each formula, of kernels only the slowest."""
    for record in results["formulas"]:
        for entry in record.get("programs", {}).values():
            slowest = sorted(entry.get("kernels", {}).items(), key=lambda each: -each[1].get("ms", 0))
            entry["kernels"] = {name: kernel for name, kernel in slowest[:3] if "ms" in kernel}
    text = (
        json.dumps(rounded(results | {"formulas": []}), indent=1).rstrip("}\n ").removesuffix('"formulas": []').rstrip()
    )
    lines = ",\n".join("  " + json.dumps(rounded(record)) for record in results["formulas"])
    return f'{text}\n "formulas": [\n{lines}\n ]\n}}\n'


def rounded(value: object) -> object:
    """Numbers to four digits, and those that JSON has no word for left out."""
    if isinstance(value, dict):
        return {key: rounded(each) for key, each in value.items() if each is not None}
    if isinstance(value, list):
        return [rounded(each) for each in value]
    if isinstance(value, float):
        return float(f"{value:.4g}") if math.isfinite(value) else None
    return value


def by_part(records: list[dict]) -> list[str]:
    """The geometric mean of each part's formulas, to see which class is slow."""
    lines = ["| part | formulas | forward | gradient |", "|---|---:|---:|---:|"]
    found: dict[str, dict[str, list[float]]] = {}
    for program in PROGRAMS:
        for ratio, record in ratios(records, program):
            for part in [*record["parts"], record["graph"]]:
                if not math.isinf(ratio):
                    found.setdefault(part, {}).setdefault(program, []).append(ratio)
    for part, own in sorted(found.items()):
        means = [
            f"{math.exp(sum(map(math.log, own[program])) / len(own[program])):.2f}" if own.get(program) else ""
            for program in PROGRAMS
        ]
        lines.append(f"| {part} | {max(map(len, own.values()))} | {' | '.join(means)} |")
    return lines


def all_tables(records: list[dict], worst: int = 10) -> list[str]:
    """The worst, and means by parts; or, of layers of the standard library, a cell for each width."""
    if any(standard.shape_of(record) for record in records):
        return [*distribution(records), *(line for program in PROGRAMS for line in standard.table(records, program))]
    return [*table(records, worst), "", *by_part(records)]


def print_tables(arguments: argparse.Namespace) -> None:
    """What `table` of both programs prints of files that `run` has written."""
    for path in arguments.results:
        print("\n".join(all_tables(json.loads(path.read_text())["formulas"], arguments.worst)))
