"""Contenders measured side by side.

Each round gives every contender a short block of calls, in an order that changes from round to round, so that whatever
else the machine does falls on all of them. Before a block there is a pause in which the threads of the contender before
fall asleep, and a few calls that are not counted wake its own. Every call is timed by itself.

The system counts how much of the processors went to others meanwhile; a race that others disturbed is run again and the
quietest of a few is kept. Where the machine is never quiet, one thread's processor time (`count_processor_time`) still
tells how good the code is.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

PAUSE = 0.003  # longer than the pools of MKL, OpenBLAS and OpenMP spin, see bench.py
BLOCK = 0.02
WARM_UP = 0.05
QUIET = 0.05
TRIES = 4
SLOW = 2.0  # seconds; a contender whose call takes longer is called as seldom as can be
ENDLESS = 120.0  # seconds; more than compiling takes


@dataclass
class Times:
    """The times of one contender in milliseconds, and how busy others kept the processors meanwhile."""

    samples: list[float] = field(default_factory=list)
    others: float = 0.0

    @property
    def median(self) -> float:
        return statistics.median(self.samples)

    @property
    def least(self) -> float:
        return min(self.samples)

    @property
    def most(self) -> float:
        return max(self.samples)

    def summary(self) -> dict[str, float]:
        return {
            "median_ms": self.median,
            "min_ms": self.least,
            "max_ms": self.most,
            "calls": len(self.samples),
            "others": self.others,
        }


class Watch:
    """How much of the processors other programs used since the watch was made, from 0 to 1."""

    def __init__(self) -> None:
        self.busy, self.total = self._system()
        self.own = time.process_time()

    @staticmethod
    def _system() -> tuple[int, int]:
        ticks = [int(word) for word in Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:9]]
        return sum(ticks) - ticks[3] - ticks[4], sum(ticks)

    def others(self) -> float:
        busy, total = self._system()
        if total == self.total:
            return 0.0
        own = (time.process_time() - self.own) * 100  # ticks of 10 ms
        return max(0.0, (busy - self.busy - own) / (total - self.total))


_clock = time.perf_counter


def count_processor_time() -> None:
    """From now on the calling thread's processor time is measured instead of time on the wall."""
    global _clock
    _clock = time.thread_time


def seconds(call: Callable[[], object]) -> float:
    """The time of one call."""
    begin = _clock()
    call()
    return _clock() - begin


_slow: dict[Callable[[], object], float] = {}


def first(call: Callable[[], object]) -> object:
    """The result of a contender's first call, which may compile something. One that is slow in its second call too is
    not called again, that call is its measurement; so is a first call that takes minutes."""
    begin = _clock()
    result = call()
    taken = _clock() - begin
    if SLOW < taken < ENDLESS:
        taken = seconds(call)
    if taken > SLOW:
        _slow[call] = taken
    return result


def estimate(call: Callable[[], object]) -> float:
    """Warms up; the shortest time of a call seen in that."""
    if call in _slow:
        return _slow[call]
    times = [seconds(call), seconds(call)]
    while sum(times) < WARM_UP and len(times) < 1000:
        times.append(seconds(call))
    return min(times)


def await_quiet(patience: float) -> None:
    """Waits until others leave the processors alone, but no longer than `patience` seconds."""
    end = time.monotonic() + patience
    while time.monotonic() < end:
        watch = Watch()
        time.sleep(0.5)
        if watch.others() < QUIET:
            return


def race_once(contenders: dict[str, Callable[[], object]], rounds: int) -> dict[str, Times]:
    """One race, whatever else the machine does."""
    counts = {name: max(1, min(200, int(BLOCK / estimate(call)))) for name, call in contenders.items()}
    times = {name: Times() for name in contenders}
    names = list(contenders)
    watch = Watch()
    for turn in range(rounds):
        first = turn % len(names)
        for name in names[first:] + names[:first]:
            call, samples = contenders[name], times[name].samples
            if call in _slow:
                samples[:] = [_slow[call] * 1e3]
                continue
            time.sleep(PAUSE)
            for _ in range(1 if counts[name] < 4 else 3):
                call()
            samples += [seconds(call) * 1e3 for _ in range(counts[name])]
    others = watch.others()
    for result in times.values():
        result.others = others
    return times


def race(contenders: dict[str, Callable[[], object]], rounds: int = 15, patience: float = 0.0) -> dict[str, Times]:
    """The quietest of a few races; the first quiet one ends it."""
    best: dict[str, Times] | None = None
    for _ in range(TRIES if patience > 0 else 1):
        await_quiet(patience / TRIES)
        result = race_once(contenders, rounds)
        others = next(iter(result.values())).others
        if best is None or others < next(iter(best.values())).others:
            best = result
        if others < QUIET:
            break
    assert best is not None
    return best
