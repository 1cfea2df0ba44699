"""Results as tables: on the terminal, as Markdown and as JSON."""

from __future__ import annotations

import json
import math
import statistics
from dataclasses import dataclass, field
from pathlib import Path

from harness.measure import Times


@dataclass
class Goal:
    """What a part is to reach, and whether it did; None: nothing to judge by."""

    text: str
    value: str
    reached: bool | None

    def line(self) -> str:
        mark = {True: "reached", False: "MISSED", None: "not judged"}[self.reached]
        return f"{mark}: {self.text} ({self.value})"


@dataclass
class Section:
    """One table with what it says."""

    title: str
    note: str
    header: list[str]
    rows: list[list[str]] = field(default_factory=list)
    records: list[dict] = field(default_factory=list)
    goals: list[Goal] = field(default_factory=list)

    def add(self, cells: list[str], record: dict) -> None:
        self.rows.append(cells)
        self.records.append(record)

    def markdown(self) -> str:
        lines = [f"## {self.title}", "", self.note, self.disturbance(), ""]
        lines += [" | ".join(["", *self.header, ""]).strip(), "|" + "---|" + "---:|" * (len(self.header) - 1)]
        lines += [" | ".join(["", *row, ""]).strip() for row in self.rows]
        if self.goals:
            lines += ["", *[f"- {goal.line()}" for goal in self.goals]]
        return "\n".join(lines) + "\n"

    def disturbance(self) -> str:
        """How much of the processors others used during the races."""
        found = [
            one["others"]
            for record in self.records
            for one in record.values()
            if isinstance(one, dict) and "others" in one
        ]
        if not found:
            return ""
        return f"Others used {100 * statistics.median(found):.0f} % of the processors meanwhile, at most {100 * max(found):.0f} %."

    def text(self) -> str:
        widths = [max(len(row[i]) for row in [self.header, *self.rows]) for i in range(len(self.header))]
        lines = [f"{self.title}. {self.disturbance()}"]
        for row in [self.header, *self.rows]:
            first, *others = (
                cell.ljust(w) if i == 0 else cell.rjust(w) for i, (cell, w) in enumerate(zip(row, widths))
            )
            lines.append("  " + "  ".join([first, *others]).rstrip())
        return "\n".join(lines + [f"  {goal.line()}" for goal in self.goals]) + "\n"

    def as_dict(self) -> dict:
        goals = [goal.__dict__ for goal in self.goals]
        table = {"header": self.header, "rows": self.rows}
        return {"title": self.title, "note": self.note, **table, "results": self.records, "goals": goals}


def milliseconds(value: float) -> str:
    return f"{value:.3f}" if value < 10 else f"{value:.2f}" if value < 100 else f"{value:.0f}"


def spread(times: Times) -> str:
    """Median, and in brackets the least and the most."""
    return f"{milliseconds(times.median)} [{milliseconds(times.least)}–{milliseconds(times.most)}]"


def ratio(peer: Times, own: Times) -> str:
    """How many times faster: by the medians, and in brackets by the least."""
    return f"{peer.median / own.median:.2f} [{peer.least / own.least:.2f}]"


def geometric_mean(values: list[float]) -> float:
    return math.exp(sum(math.log(value) for value in values) / len(values))


def write(place: Path, machine: dict, sections: list[Section]) -> None:
    """results.json and results.md."""
    place.mkdir(parents=True, exist_ok=True)
    whole = {"machine": machine, "sections": [section.as_dict() for section in sections]}
    (place / "results.json").write_text(json.dumps(whole, indent=1) + "\n")
    head = ["# Results", ""] + [f"- {key}: {value}" for key, value in machine.items()]
    text = "\n".join(head) + "\n\n" + "\n".join(section.markdown() for section in sections)
    (place / "results.md").write_text(text)
