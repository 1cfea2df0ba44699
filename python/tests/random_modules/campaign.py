# Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
# See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Seed after seed: what became of each, counted."""

from __future__ import annotations

import collections
import time
from collections.abc import Iterable
from pathlib import Path

from .check import Outcome, check, normalised, workplace
from .draw import draw
from .minimise import minimised
from .program import Program


class Campaign:
    def __init__(self, log: str | None, keep_going: bool, wanted: str | None, seconds: float) -> None:
        self.log, self.keep_going, self.wanted, self.seconds = log, keep_going, wanted, seconds
        self.outcomes: collections.Counter[str] = collections.Counter()
        self.messages: collections.Counter[str] = collections.Counter()
        self.once = 0

    def run(self, seeds: Iterable[int]) -> int:
        started, failed = time.monotonic(), False
        with workplace() as place:
            for seed in seeds:
                program = draw(seed)
                outcome = check(program, place)
                self._note(seed, outcome)
                if outcome.fails or (self.wanted and self.wanted in f"{outcome.kind} {outcome.text}"):
                    self._show(program, outcome, place)
                failed |= outcome.fails
                if outcome.fails and not self.keep_going:
                    break
        self._summarise(time.monotonic() - started)
        return 1 if failed else 0

    def _note(self, seed: int, outcome: Outcome) -> None:
        self.outcomes[outcome.kind] += 1
        self.once += outcome.kind == "equal" and outcome.compilations == 1
        if outcome.kind == "refused":
            self.messages[normalised(outcome.text)] += 1
        if self.log is not None:
            word = "failed" if outcome.fails else "passed" if outcome.kind == "equal" else outcome.kind
            text = str(outcome.compilations) if outcome.kind == "equal" else normalised(outcome.text)
            first = outcome.text.replace("\n", " | ")[:2000]
            with Path(self.log).open("a", encoding="utf-8") as file:
                file.write(f"{seed} {word}\t{text}\t{first}\n")

    def _show(self, program: Program, outcome: Outcome, place: Path) -> None:
        print(f"seed {program.seed}: {outcome.kind}: {outcome.text}", flush=True)
        count = 0

        def fails(smaller: Program) -> bool:
            nonlocal count
            count += 1
            other = check(smaller, place, f"smaller_{program.seed}_{count}")
            return other.kind == outcome.kind and (
                outcome.kind == "wrong" or normalised(other.text) == normalised(outcome.text)
            )

        small = minimised(program, fails, self.seconds) if outcome.kind != "slow" else program
        print(small.source() + f"# the loss uses results {small.used}; seed {program.seed}\n", flush=True)

    def _summarise(self, seconds: float) -> None:
        total = sum(self.outcomes.values())
        print(
            ", ".join(f"{count} {kind}" for kind, count in self.outcomes.most_common())
            + f" of {total} in {seconds:.0f} s"
        )
        print(f"{self.once} were compiled once for all sizes")
        for message, count in self.messages.most_common():
            print(f"{count:6} {message}")
