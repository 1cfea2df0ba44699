"""One model in one precision, in a process of its own: contenders are made, compared, and measured in turns.

Whatever is found is added to a file of JSON lines at once, so that a process that is ended keeps what it had. Several
such processes may compile at a time; what must not be disturbed happens under a lock.
"""

from __future__ import annotations

import argparse
import fcntl
import gc
import json
import os
import statistics
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from harness.places import ROOT
from whole.catalogue import CATALOGUE, Made, Size

BLOCK = 0.03  # seconds of calls between two waits for the device


def add_line(path: Path, record: dict[str, Any]) -> None:
    """At once: other processes add theirs."""
    handle = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
    try:
        os.write(handle, (json.dumps(record) + "\n").encode())
    finally:
        os.close(handle)


NICENESS = os.getpriority(os.PRIO_PROCESS, 0)


def polite(compiles: bool) -> None:
    """Compiling leaves the processors to whoever measures. Only the superuser may take that back."""
    if os.geteuid() == 0:
        for thread in os.listdir("/proc/self/task"):
            try:
                os.setpriority(os.PRIO_PROCESS, int(thread), min(19, NICENESS + 10 * compiles))
            except OSError:  # it has ended
                pass


def said(error: BaseException) -> str:
    lines = [line for line in str(error).strip().splitlines() if line.strip()]
    return f"{type(error).__name__}: {' '.join(lines[:2])[:400]}" if lines else type(error).__name__


class Measurement:
    def __init__(self, args: argparse.Namespace, name: str, precision: str) -> None:
        self.args, self.name, self.precision = args, name, precision
        self.key = {"model": name, "precision": precision, "device": args.device}
        self.size = Size(args.scale, CATALOGUE[name].deep(args.depth))
        self.key["depth"] = self.size.depth

    def add(self, **found: Any) -> None:
        add_line(self.args.out, self.key | found)

    @contextmanager
    def alone(self) -> Iterator[None]:
        with open(str(self.args.out) + ".lock", "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            polite(False)
            try:
                yield
            finally:
                polite(True)

    def collect(self) -> None:
        import torch

        gc.collect()
        if self.args.device == "cuda":
            torch.cuda.empty_cache()

    def run(self) -> None:
        import torch

        polite(True)
        try:
            torch.manual_seed(0)
            made = CATALOGUE[self.name].make(self.size)
        except ImportError as error:
            package = CATALOGUE[self.name].package
            self.add(failed=f"package not here: {package}" if package else said(error))
            return
        parameters = sum(parameter.numel() for parameter in made.module.parameters())
        self.add(parameters=parameters, scale=self.args.scale)
        wanted, usual = self.reference(made)
        ready = {}
        for way in self.args.contenders:
            contender = self.prepared(way, made, wanted, usual)
            if contender is not None:
                ready[way] = contender
            self.collect()
        del wanted
        with self.alone():
            self.race(ready)

    def reference(self, made: Made) -> tuple[Any, dict[str, float]]:
        """What the model gives in float64, and the error that is usual in this precision: that of eager PyTorch, or
        what comes of parameters that are rounded, if that is larger."""
        import torch

        from whole.contenders import ROUNDING, Contender, errors

        torch.set_float32_matmul_precision("high" if self.precision == "tf32" else "highest")
        device, usual = self.args.device, []
        with self.alone():
            exact = Contender("eager", made, device, "float32", torch.float64)
            wanted = exact.numbers() | exact.inferred()
            del exact
            for precision, dtype in ((self.precision, None), ("float32", torch.float64)):
                self.collect()
                contender = Contender("eager", made, device, precision, dtype)
                if dtype:
                    contender.move(ROUNDING[self.precision])
                usual.append(errors(contender.numbers() | contender.inferred(), wanted))
                del contender
        self.collect()
        self.add(eager=usual[0], moved=usual[1])
        return wanted, {kind: max(error, usual[1][kind]) for kind, error in usual[0].items()}

    def prepared(self, way: str, made: Made, wanted: Any, usual: dict[str, float]) -> Any:
        """A contender after its first steps, or None where it fails."""
        from whole.contenders import Contender, OutOfTime, at_most, clock, errors, is_wrong, processor_time

        record: dict[str, Any] = {"contender": way}
        stage = "compile"
        try:
            with at_most(self.args.patience):
                contender = Contender(way, made, self.args.device, self.precision)
                begin, busy = clock(), processor_time()
                contender.compile()
                record |= {"compile_s": clock() - begin, "compile_processor_s": processor_time() - busy}
                stage = "step"
                begin = clock()
                found = contender.numbers()
                contender.wait()
                record["first_step_s"] = clock() - begin
                stage = "forward"
                begin = clock()
                found |= contender.inferred()
                contender.wait()
                record["first_forward_s"] = clock() - begin
            record["errors"] = errors(found, wanted)
            record["wrong"] = is_wrong(record["errors"], usual, self.precision)
            if way == "gnnc":
                record |= {"options": contender.options, "kernels": str(contender.run).splitlines()[1:]}
            contender.release()
            del found
            contender.memory.settle()
            self.add(**record)
            return contender
        except (Exception, OutOfTime) as error:
            self.add(**record, failed=said(error), stage=stage)
            if self.args.verbose:
                import traceback

                traceback.print_exc()
            return None

    def race(self, ready: dict[str, Any]) -> None:
        """Rounds in which each has a block of calls, in an order that changes, first without gradients, then steps."""
        from harness.measure import Watch
        from whole.contenders import OutOfTime, at_most

        for program in ("forward", "step"):
            times: dict[str, list[float]] = {way: [] for way in ready}
            memory: dict[str, float | None] = {}
            calls: dict[str, int] = {}
            watch = Watch()
            for number in range(-1, self.args.rounds):
                order = list(times)
                for way in order[number % max(1, len(order)) :] + order[: number % max(1, len(order))]:
                    contender = ready[way]
                    contender.training(program == "step")
                    call = contender.step if program == "step" else contender.forward
                    try:
                        with at_most(self.args.patience):
                            if number < 0:
                                memory[way], calls[way] = self.warm(contender, call)
                            elif calls[way] > 1 or number < 3:  # what takes long is called three times
                                times[way].append(self.block(contender, call, calls[way]))
                    except (Exception, OutOfTime) as error:
                        self.add(contender=way, failed=said(error), stage=f"measuring {program}")
                        del times[way]
                    contender.release()
            others = watch.others()
            for way, found in times.items():
                numbers = {"median": statistics.median(found), "least": min(found), "most": max(found)}
                self.add(contender=way, **{f"{program}_ms": numbers, f"{program}_mib": memory[way], "others": others})

    def warm(self, contender: Any, call: Callable[[], object]) -> tuple[float | None, int]:
        """The memory of a call, and how many make a block."""
        for _ in range(3):  # CUDA graphs record at the second
            call()
        most = contender.memory.most(call)
        taken = self.block(contender, call, 1)
        return most, max(1, min(100, round(1e3 * BLOCK / max(taken, 1e-3))))

    @staticmethod
    def block(contender: Any, call: Callable[[], object], calls: int) -> float:
        """Milliseconds of one call."""
        from whole.contenders import clock

        call()
        contender.wait()
        begin = clock()
        for _ in range(calls):
            call()
        contender.wait()
        return (clock() - begin) / calls * 1e3


def main(args: argparse.Namespace) -> None:
    """For what `run.py` starts: one model, one precision."""
    folder = tempfile.mkdtemp(prefix="gnnc-models-")  # what others compiled before would tell nothing
    os.environ["XDG_CACHE_HOME"] = folder
    os.environ["TORCHINDUCTOR_CACHE_DIR"] = folder + "/inductor"
    os.environ["TRITON_CACHE_DIR"] = folder + "/triton"
    if str(ROOT / "python") not in sys.path:
        sys.path.insert(0, str(ROOT / "python"))
    warnings.filterwarnings("ignore")
    import torch

    torch._dynamo.config.capture_dynamic_output_shape_ops = True
    torch._dynamo.config.capture_scalar_outputs = True
    if args.device == "cpu":
        torch.set_num_threads(args.threads)
    measurement = Measurement(args, args.models[0], args.precisions[0])
    try:
        measurement.run()
    except Exception as error:
        measurement.add(failed=said(error))
        if args.verbose:
            raise
    finally:
        import shutil

        shutil.rmtree(folder, ignore_errors=True)
        sys.stdout.flush()
        os._exit(0)  # what inductor's helpers have left running is of no interest
