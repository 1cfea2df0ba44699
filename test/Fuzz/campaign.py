#!/usr/bin/env python3
# Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
# See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs the random tests and the fuzz targets from seeds of the day, for as long as asked: ./dev fuzz.

A campaign can be interrupted at any time and goes on where it was: a state file says for each kind of test which seeds
have passed in a row since the last failure or since the test program changed, and which have failed. Seeds begin at
100 000 times the day's number, so no two days try the same. Seeds that failed are tried again once the program that
failed has changed.
"""

import argparse
import datetime
import hashlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time

SECONDS_A_PIECE = 30  # how long one process is to run, about
MEMORY_A_PIECE = 256 << 20  # bytes of temporary files that one process may have, and far more than it has
SECONDS_A_SEED = 3600  # after which a process that says nothing hangs: a check may wait half an hour (RandomTrial.h)


class Kind:
    """Something to run at seed after seed."""

    seconds_a_piece = SECONDS_A_PIECE
    is_fuzzer = False

    def __init__(self, name, unit, program, filter=None, small=False):
        self.name, self.unit, self.program, self.filter = name, unit, program, filter
        self.small = small  # whether bodies of models come in two sizes

    def files(self):
        """What there must be, and what a result depends on."""
        return [self.program]

    def command(self):
        return [self.program] + ([f"--gtest_filter={self.filter}"] if self.filter else [])


class Fuzzer(Kind):
    """A libFuzzer target; its seeds are not numbered."""

    is_fuzzer = True

    def __init__(self, name, program):
        super().__init__(name, "inputs", program)


class Modules(Kind):
    """Modules of PyTorch, compiled in Python; unlike models of the front end, they may be refused."""

    seconds_a_piece = 120  # of which PyTorch takes a few to start

    def __init__(self, compiler, python):
        super().__init__("modules", "modules", compiler)
        self.python = python

    def files(self):
        sources = [os.path.join(ROOT, "python", "gnnc"), os.path.join(ROOT, *RANDOM_MODULES)]
        found = [os.path.join(place, name) for top in sources for place, _, names in os.walk(top) for name in names]
        return [self.program, *sorted(path for path in found if path.endswith(".py"))]

    def command(self):
        return [self.python, "-W", "ignore", os.path.join(ROOT, *RANDOM_MODULES)]


ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
RANDOM_MODULES = ("python", "tests", "random_modules")
FUZZERS = ["texts", "json", "safetensors", "tunings", "checkpoints", "archives"]


def kinds_of(build, fuzzers):
    tests = os.path.join(build, "test", "bin")
    kinds = [
        Kind("models", "models", os.path.join(tests, "RandomModelsTest"), "*.EqualTheInterpreter", small=True),
        Kind("gradients", "models", os.path.join(tests, "RandomGradientsTest"), small=True),
        Kind("ranks", "models", os.path.join(tests, "RandomRanksTest"), "*.EqualOneProcess", small=True),
        Kind("programs", "programs", os.path.join(tests, "RandomProgramTest"), "*.KeepsItsMeaning"),
        Kind("program-gradients", "programs", os.path.join(tests, "RandomProgramTest"), "*.HasItsGradient"),
    ]
    python = python_with_torch(build)
    kinds += [Modules(os.path.join(build, "bin", "gnnc"), python)] if python else []
    return kinds + [Fuzzer(name, os.path.join(fuzzers, "bin", "fuzz-" + name)) for name in FUZZERS]


def python_with_torch(build):
    """The interpreter that GNNC_TORCH_PYTHON names, that of ./dev test --pytorch, or `python3`; None: none has PyTorch."""
    named = os.environ.get("GNNC_TORCH_PYTHON")
    for python in [named] if named else [os.path.join(build, "pytorch", "bin", "python"), "python3"]:
        probe = "import importlib.util, sys; sys.exit(importlib.util.find_spec('torch') is None)"
        try:
            if subprocess.run([python, "-c", probe], capture_output=True, check=False).returncode == 0:
                return python
        except OSError:
            pass
    return None


def now():
    return datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d %H:%M")


def first_seed(day):
    """The first of a day's seeds. Programs take 32 bits."""
    return (day - datetime.date(2020, 1, 1)).days * 100_000


def hash_of(paths):
    digest = hashlib.sha256()
    for path in paths:
        with open(path, "rb") as file:
            digest.update(file.read())
    return digest.hexdigest()[:12]


def add_range(ranges, first, last, body):
    """Adds the seeds from `first` to `last`, both included, to a list of such ranges."""
    for known in ranges:
        if known[2] == body and known[1] + 1 == first:
            known[1] = last
            return
        if known[2] == body and last + 1 == known[0]:
            known[0] = first
            return
    ranges.append([first, last, body])


class State:
    """What a campaign remembers, as a JSON file."""

    def __init__(self, path):
        self.path = path
        self.kinds, self.failures, self.history = {}, [], []
        if os.path.exists(path):
            with open(path, encoding="utf-8") as file:
                content = json.load(file)
            if content.get("version") != 1:
                sys.exit(f"campaign: error: {path}: expected version 1, found {content.get('version')}")
            self.kinds, self.failures, self.history = content["kinds"], content["failures"], content["history"]

    def save(self):
        content = {"version": 1, "kinds": self.kinds, "failures": self.failures, "history": self.history}
        temporary = self.path + ".tmp"
        with open(temporary, "w", encoding="utf-8") as file:
            json.dump(content, file, indent=1)
            file.write("\n")
        os.replace(temporary, self.path)

    def kind(self, name):
        return self.kinds.setdefault(
            name,
            {
                "program": "",
                "in_a_row": {"passed": 0, "unstable": 0, "since": now(), "ranges": []},
                "total": {"passed": 0, "unstable": 0, "failed": 0, "seconds": 0.0},
                "refused": {},
                "next": 0,
                "pieces": 0,
                "pending": [],
            },
        )

    def end_row(self, name, why):
        """Begins to count anew; what was counted goes to the history."""
        kind = self.kind(name)
        row = kind["in_a_row"]
        if row["passed"]:
            self.history.append({"kind": name, "program": kind["program"], "until": now(), "why": why, **row})
        kind["in_a_row"] = {"passed": 0, "unstable": 0, "since": now(), "ranges": []}

    def open_failures(self, name):
        return [failure for failure in self.failures if failure["kind"] == name and failure["open"]]


def processors_of(slot, jobs):
    """The processors for one of several processes: at least two, as models run on two threads. LLVM starts as many
    threads as there are processors, which costs more than it gains where each has a process of its own."""
    every = sorted(os.sched_getaffinity(0))
    count = min(len(every), max(2, len(every) // jobs))
    return {every[(slot * len(every) // jobs + i) % len(every)] for i in range(count)}


def scratch_of(place, number, jobs):
    """Where a process has its temporary files: in memory, if there is enough; each model is several."""
    memory = "/dev/shm"
    if os.access(memory, os.W_OK) and shutil.disk_usage(memory).free >= jobs * MEMORY_A_PIECE:
        return os.path.join(memory, f"gnnc-fuzz-{os.getpid()}-{number}")
    return place


class Piece:
    """A process that runs a few seeds, or a fuzz target for a while."""

    def __init__(self, campaign, kind, number, first=0, last=0, body="full", retry=None, seconds=SECONDS_A_PIECE):
        self.kind, self.first, self.last, self.body, self.retry = kind, first, last, body, retry
        self.begin = self.heard = time.monotonic()
        self.place = os.path.join(campaign.out, f"piece{number}")
        shutil.rmtree(self.place, ignore_errors=True)
        os.makedirs(self.place)
        taken = {piece.slot for piece in campaign.pieces}
        jobs = campaign.options.jobs
        self.slot = next(slot for slot in range(jobs) if slot not in taken)
        self.scratch = scratch_of(self.place, number, jobs)
        os.makedirs(self.scratch, exist_ok=True)
        self.log = os.path.join(self.place, "log")
        self.output = os.path.join(self.place, "output")
        environment = dict(os.environ, TMPDIR=self.scratch, XDG_CACHE_HOME=self.scratch)
        if kind.is_fuzzer:
            corpus = os.path.join(campaign.out, "corpus", kind.name)
            command = [kind.program, corpus, os.path.join(campaign.fuzzers, "corpus", kind.name)]
            command += [f"-max_total_time={max(1, int(seconds))}", f"-seed={first % 2**32}", "-print_final_stats=1"]
            command += [f"-artifact_prefix={self.place}/", "-rss_limit_mb=2048", "-timeout=60"]
            dictionary = os.path.join(campaign.fuzzers, "corpus", kind.name + ".dict")
            command += [f"-dict={dictionary}"] if os.path.exists(dictionary) else []
            os.makedirs(corpus, exist_ok=True)
            trained = os.path.join(campaign.fuzzers, "corpus", "trained")
            environment["GNNC_FUZZ_MODEL"] = os.path.join(trained, "model.so")
            environment["GNNC_FUZZ_GRAPH"] = os.path.join(trained, "graph.safetensors")
            environment["ASAN_OPTIONS"] = "detect_container_overflow=0:" + environment.get("ASAN_OPTIONS", "")
        else:
            command = kind.command()
            for name in list(environment):
                if name.startswith("GNNC_RANDOM_"):
                    del environment[name]
            environment.update(
                GNNC_RANDOM_SEEDS=f"{first}:{last + 1}",
                GNNC_RANDOM_BODY=body,
                GNNC_RANDOM_LOG=self.log,
                GTEST_BRIEF="1",
                GNNC_COMPILER=os.path.join(os.path.abspath(campaign.options.build), "bin", "gnnc"),
            )
        with open(self.output, "wb") as output:
            # A session of its own: tests start processes too.
            self.process = subprocess.Popen(
                command, stdout=output, stderr=subprocess.STDOUT, env=environment, start_new_session=True
            )
        try:
            os.sched_setaffinity(self.process.pid, processors_of(self.slot, jobs))
        except ProcessLookupError:  # It has ended already.
            pass

    def outcomes(self):
        """Outcomes by seed, so far."""
        result = {}
        if os.path.exists(self.log):
            with open(self.log, encoding="utf-8") as file:
                for line in file:
                    words = line.split("\t")[0].split()
                    if len(words) == 2:
                        result[int(words[0])] = words[1]
        if len(result) != getattr(self, "count", 0):
            self.count, self.heard = len(result), time.monotonic()
        return result

    def refusals(self):
        """The messages of programs that were refused, without what differs from one to the other."""
        if not os.path.exists(self.log):
            return []
        with open(self.log, encoding="utf-8") as file:
            fields = [line.rstrip("\n").split("\t") for line in file]
        return [each[1] for each in fields if each[0].endswith(" refused") and len(each) > 1]

    def text(self):
        with open(self.output, encoding="utf-8", errors="replace") as file:
            return file.read()

    def stop(self):
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.process.wait()


class Campaign:
    def __init__(self, options):
        self.options = options
        self.out = options.out
        self.fuzzers = options.fuzzers
        os.makedirs(os.path.join(self.out, "findings"), exist_ok=True)
        self.state = State(options.state)
        self.day = datetime.date.fromisoformat(options.day) if options.day else datetime.date.today()
        self.pieces, self.spent, self.found = [], {}, 0
        self.rates = {}
        self.begin = time.monotonic()

    # Handing out seeds ------------------------------------------------------------------------------------------------

    def prepare(self, kinds):
        for kind in kinds:
            known, program = self.state.kind(kind.name), hash_of(kind.files())
            if known["program"] != program:
                self.state.end_row(kind.name, "the program changed")
                known["program"] = program
            known["next"] = max(known["next"], first_seed(self.day))
            self.spent[kind.name] = 0.0
        # What failed in another program may be mended.
        self.retries = [
            (kind, failure)
            for kind in kinds
            for failure in self.state.open_failures(kind.name)
            if not kind.is_fuzzer and failure["program"] != self.state.kind(kind.name)["program"]
        ]
        self.state.save()

    def next_piece(self, kinds, number, seconds):
        if self.retries:
            kind, failure = self.retries.pop(0)
            return Piece(self, kind, number, failure["seed"], failure["seed"], failure["body"], retry=failure)
        # The kind that has had the least time.
        kind = min(
            kinds,
            key=lambda kind: (
                self.spent[kind.name]
                + sum(time.monotonic() - piece.begin for piece in self.pieces if piece.kind is kind)
            ),
        )
        known = self.state.kind(kind.name)
        if kind.is_fuzzer:
            first, known["next"] = known["next"], known["next"] + 1
            return Piece(self, kind, number, first, first, seconds=min(seconds, SECONDS_A_PIECE))
        if known["pending"]:
            first, last, body = known["pending"].pop(0)
        else:
            # Three quarters of the models have small bodies, of which several run in the time of a full one.
            body = "small" if kind.small and known["pieces"] % 4 else "full"
            rate = self.rates.get((kind.name, body), 0.3)
            first = known["next"]
            last = first + max(1, min(1000, int(rate * kind.seconds_a_piece))) - 1
            known["next"] = last + 1
            known["pieces"] += 1
        return Piece(self, kind, number, first, last, body)

    # Taking in results ------------------------------------------------------------------------------------------------

    def fail(self, piece, seed, text):
        kind = piece.kind
        known = self.state.kind(kind.name)
        self.found += 1
        known["total"]["failed"] += 1
        self.state.end_row(kind.name, f"{seed} failed")
        place = os.path.join(self.out, "findings", f"{kind.name}-{seed}")
        with open(place + ".txt", "w", encoding="utf-8") as file:
            file.write(text)
        if kind.is_fuzzer:
            for name in os.listdir(piece.place):
                if re.match("(crash|oom|timeout|leak|slow-unit)-", name):
                    shutil.copy(os.path.join(piece.place, name), place + ".input")
        self.state.failures.append(
            {
                "kind": kind.name,
                "seed": seed,
                "body": piece.body,
                "program": known["program"],
                "when": now(),
                "open": True,
                "text": place + ".txt",
            }
        )
        print(f"campaign: {kind.name} {seed} ({piece.body}) failed: {place}.txt", flush=True)

    def finish(self, piece, cut=False):
        """Takes in what a process has done. `cut`: it was stopped because time is over."""
        kind, known = piece.kind, self.state.kind(piece.kind.name)
        seconds = time.monotonic() - piece.begin
        self.spent[kind.name] += seconds
        known["total"]["seconds"] = round(known["total"]["seconds"] + seconds, 1)
        status = piece.process.returncode
        if kind.is_fuzzer:
            text = piece.text()
            executed = re.search(r"stat::number_of_executed_units: (\d+)", text)
            if status and not cut:
                self.fail(piece, piece.first, text[-20000:])
            elif executed:
                known["in_a_row"]["passed"] += int(executed[1])
                known["total"]["passed"] += int(executed[1])
        else:
            self.finish_seeds(piece, known, status, cut, seconds)
        shutil.rmtree(piece.scratch, ignore_errors=True)
        shutil.rmtree(piece.place, ignore_errors=True)
        self.state.save()

    def finish_seeds(self, piece, known, status, cut, seconds):
        kind, outcomes = piece.kind, piece.outcomes()
        tried = [seed for seed in range(piece.first, piece.last + 1) if seed in outcomes]
        if piece.retry:
            if tried and status == 0:
                piece.retry.update(open=False, passed=now())
                print(f"campaign: {kind.name} {piece.first} passes now", flush=True)
            else:
                piece.retry["program"] = known["program"]
                print(f"campaign: {kind.name} {piece.first} still fails", flush=True)
            return
        good = [seed for seed in tried if outcomes[seed] != "failed"]
        if good:
            unstable = sum(outcomes[seed] == "unstable" for seed in good)
            refused = sum(outcomes[seed] == "refused" for seed in good)
            for part in (known["in_a_row"], known["total"]):
                part["passed"] += len(good) - unstable - refused
                part["unstable"] += unstable
            counts = known.setdefault("refused", {})
            for message in piece.refusals():
                counts[message] = counts.get(message, 0) + 1
            add_range(known["in_a_row"]["ranges"], good[0], good[-1], piece.body)
        if tried and not cut:
            self.rates[kind.name, piece.body] = len(tried) / seconds
        rest = tried[-1] + 1 if tried else piece.first
        if tried and outcomes[tried[-1]] == "failed":
            self.fail(piece, tried[-1], piece.text())
        elif not cut and rest <= piece.last:
            how = f"ended by signal {-status}" if status < 0 else f"ended with status {status}"
            self.fail(piece, rest, piece.text() + f"\n{how} during seed {rest}\n")
            rest += 1
        elif not cut and status:
            self.fail(piece, piece.first, piece.text() + f"\nfailed as a whole, seeds {piece.first} to {piece.last}\n")
        if rest <= piece.last:
            known["pending"].append([rest, piece.last, piece.body])

    # The whole --------------------------------------------------------------------------------------------------------

    def run(self, kinds, seconds):
        self.prepare(kinds)
        deadline, said, number = self.begin + seconds, time.monotonic(), 0
        try:
            while time.monotonic() < deadline:
                while len(self.pieces) < self.options.jobs:
                    number += 1
                    self.pieces.append(self.next_piece(kinds, number, deadline - time.monotonic()))
                time.sleep(0.1)
                for piece in list(self.pieces):
                    if piece.process.poll() is None:
                        if not piece.kind.is_fuzzer:
                            piece.outcomes()
                            if time.monotonic() - piece.heard > SECONDS_A_SEED:
                                piece.stop()
                        continue
                    self.pieces.remove(piece)
                    self.finish(piece)
                if time.monotonic() - said > 60:
                    said = time.monotonic()
                    print("campaign: " + ", ".join(self.short(kind) for kind in kinds), flush=True)
        except KeyboardInterrupt:
            print("campaign: interrupted", flush=True)
        for piece in self.pieces:
            # A fuzz target ends in time by itself, and says then how far it came.
            if piece.kind.is_fuzzer and piece.process.poll() is None:
                try:
                    piece.process.wait(timeout=5)
                except subprocess.TimeoutExpired:
                    pass
            running = piece.process.poll() is None
            piece.stop()
            self.finish(piece, cut=running)

    def short(self, kind):
        row = self.state.kind(kind.name)["in_a_row"]
        return f"{kind.name} {row['passed']}"

    def summarise(self, kinds):
        print(
            f"\n{'kind':18} {'in a row':>10} {'unstable':>9} {'since':17} {'ever passed':>12} {'failed':>7} {'a minute':>9}"
        )
        for kind in kinds:
            known = self.state.kind(kind.name)
            row, total = known["in_a_row"], known["total"]
            rate = total["passed"] / total["seconds"] * 60 if total["seconds"] else 0
            print(
                f"{kind.name:18} {row['passed']:10} {row['unstable']:9} {row['since']:17} {total['passed']:12} "
                f"{total['failed']:7} {rate:9.1f}"
            )
        for kind in kinds:
            counts = self.state.kind(kind.name).get("refused", {})
            if counts:
                print(f"\n{sum(counts.values())} {kind.unit} were refused:")
            for message, count in sorted(counts.items(), key=lambda each: -each[1]):
                print(f"{count:8} {message}")
        failures = [failure for kind in kinds for failure in self.state.open_failures(kind.name)]
        for failure in failures:
            print(
                f"open: {failure['kind']} {failure['seed']} ({failure['body']}), {failure['when']}: {failure['text']}"
            )
        print(f"state: {self.options.state}")
        return 1 if failures else 0


def duration(text):
    match = re.fullmatch(r"(\d+(?:\.\d+)?)(s|min|m|h|d|)", text)
    if not match:
        raise argparse.ArgumentTypeError(f"expected a duration as 90s, 20m or 2h, found '{text}'")
    return float(match[1]) * {"": 1, "s": 1, "m": 60, "min": 60, "h": 3600, "d": 86400}[match[2]]


def main():
    names = ["models", "gradients", "ranks", "programs", "modules", *FUZZERS]
    parser = argparse.ArgumentParser(prog="dev fuzz", description=__doc__.split("\n")[0])
    time_options = parser.add_mutually_exclusive_group()
    time_options.add_argument("--seconds", type=float, metavar="N", help="how long (default: 600)")
    time_options.add_argument("--for", type=duration, dest="duration", metavar="TIME", help="how long: 90s, 20m, 2h")
    for name in names:
        parser.add_argument("--" + name, action="store_true", help=f"only {name}, and others that are named")
    parser.add_argument(
        "--jobs", type=int, default=os.cpu_count(), metavar="N", help="processes at a time (default: all cores)"
    )
    parser.add_argument(
        "--state", metavar="FILE", help="what to go on from (default: fuzz/state.json in the build directory)"
    )
    parser.add_argument("--day", metavar="YYYY-MM-DD", help="the day of whose seeds to begin (default: today)")
    parser.add_argument("--build", default="build", metavar="DIR", help=argparse.SUPPRESS)
    parser.add_argument("--fuzzers", default="build-fuzz", metavar="DIR", help=argparse.SUPPRESS)
    parser.add_argument("--list", action="store_true", help="print what would run, and what the state file says of it")
    options = parser.parse_args()
    options.out = os.path.abspath(os.path.join(options.build, "fuzz"))
    options.fuzzers = os.path.abspath(options.fuzzers)
    os.makedirs(options.out, exist_ok=True)
    options.state = options.state or os.path.join(options.out, "state.json")
    if options.jobs < 1:
        parser.error("--jobs: expected at least one process")

    wanted = [name for name in names if getattr(options, name)] or names
    wanted += ["program-gradients"] if "programs" in wanted else []
    kinds = [kind for kind in kinds_of(os.path.abspath(options.build), options.fuzzers) if kind.name in wanted]
    if "modules" in wanted and not any(kind.name == "modules" for kind in kinds):
        print(
            "campaign: modules are left out: no Python here has PyTorch (./dev test --pytorch installs one, and "
            "GNNC_TORCH_PYTHON names another)"
        )
    for kind in [kind for kind in kinds if not os.path.exists(kind.program)]:
        print(f"campaign: {kind.name} is left out: {kind.program} is missing")
        kinds.remove(kind)
    if not kinds:
        sys.exit("campaign: error: nothing to run")
    campaign = Campaign(options)
    if not options.list:
        seconds = options.duration if options.duration is not None else options.seconds
        campaign.run(kinds, 600 if seconds is None else seconds)
    sys.exit(campaign.summarise(kinds))


if __name__ == "__main__":
    main()
