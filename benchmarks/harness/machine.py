"""What the results were measured on, and how fast it can be at best."""

from __future__ import annotations

import ctypes
import os
import platform
import subprocess
import threading
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from harness.measure import estimate
from harness.model import aligned

if TYPE_CHECKING:
    from peers.native import MKL


@dataclass
class Ceilings:
    """Measured, not read off a data sheet: what two threads reach."""

    gflops: float  # a product of 1024 x 1024 matrices by MKL
    copy_gbs: float  # bytes read and written by memcpy, far larger than the caches
    cached_gbs: float  # bytes read by MKL's sdot out of the second-level caches


def processor() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return platform.processor() or platform.machine()


def caches() -> str:
    """The caches of processor 0, as the system lists them."""
    found = []
    for place in sorted(Path("/sys/devices/system/cpu/cpu0/cache").glob("index*")):
        kind, level, size = ((place / name).read_text().strip() for name in ("type", "level", "size"))
        if kind != "Instruction":
            found.append(f"L{level} {size}")
    return ", ".join(found)


def vectors() -> str:
    """The widest vectors that gnnc has code for."""
    text = Path("/proc/cpuinfo").read_text()
    return "AVX-512 (v4)" if "avx512f" in text else "AVX2 (v3)" if "avx2" in text else "less than AVX2"


def output_of(*command: str) -> str:
    try:
        return subprocess.run(
            command, capture_output=True, text=True, check=True, cwd=Path(__file__).parent
        ).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return ""


def describe(threads: int) -> dict[str, object]:
    changed = output_of("git", "status", "--porcelain", "--untracked-files=no")
    return {
        "processor": processor(),
        "vectors": vectors(),
        "caches": caches(),
        "processors": os.cpu_count(),
        "threads": threads,
        "system": platform.platform(),
        "python": platform.python_version(),
        "commit": (output_of("git", "rev-parse", "--short=12", "HEAD") or "unknown")
        + (" with changes" if changed else ""),
        "load": os.getloadavg()[0],
    }


def together(threads: int, work: Callable[[int], None]) -> Callable[[], None]:
    """A call that runs work(0), work(1), ... at the same time; C functions called with ctypes let others run."""

    def call() -> None:
        others = [threading.Thread(target=work, args=(number,)) for number in range(1, threads)]
        for other in others:
            other.start()
        work(0)
        for other in others:
            other.join()

    return call


def copy_rate(size: int, threads: int) -> float:
    """GB/s read and written by threads that each copy `size` bytes."""
    memcpy = ctypes.CDLL(None).memcpy
    memcpy.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t]
    pairs = [(aligned(size, "u1"), aligned(size, "u1")) for _ in range(threads)]
    for target, source in pairs:
        target.fill(0)
        source.fill(0)
    places = [(target.ctypes.data, source.ctypes.data) for target, source in pairs]
    return 2 * size * threads / estimate(together(threads, lambda number: memcpy(*places[number], size))) / 1e9


def read_rate(mkl: MKL, threads: int, repeat: int = 50) -> float:
    """GB/s read by threads that each multiply two vectors of 256 KiB, which stay in its second-level cache."""
    library, count = mkl.library, 1 << 16
    one = ctypes.c_int(1)
    calls = []
    for _ in range(threads):
        x, y = aligned(count), aligned(count)
        x.fill(0)
        y.fill(0)
        calls.append(
            (x, y, (ctypes.c_int(count), ctypes.c_void_p(x.ctypes.data), one, ctypes.c_void_p(y.ctypes.data), one))
        )

    def work(number: int) -> None:
        before = library.MKL_Set_Num_Threads_Local(1)
        for _ in range(repeat):
            library.cblas_sdot(*calls[number][2])
        library.MKL_Set_Num_Threads_Local(before)

    return 8 * count * threads * repeat / estimate(together(threads, work)) / 1e9


def ceilings(mkl: MKL, threads: int) -> Ceilings:
    size = 1024
    x, y, z = aligned((size, size)), aligned((size, size)), aligned((size, size))
    x.fill(0.5)
    y.fill(0.25)
    product = mkl.sgemm(x, y, z)
    flops = 2 * size**3 / min(estimate(product) for _ in range(10)) / 1e9
    in_memory = max(copy_rate(1 << 27, threads) for _ in range(5))
    return Ceilings(flops, in_memory, max(read_rate(mkl, threads) for _ in range(10)))


@dataclass
class Work:
    """What a computation cannot do without: additions and multiplications, and bytes that it must read or write at least
    once. `gathered` are the bytes of rows fetched by index, mostly out of the caches."""

    flops: float
    bytes: float
    gathered: float = 0.0

    def floor_ms(self, at_best: Ceilings) -> float:
        """The longest of the three at the machine's ceilings."""
        compute = self.flops / at_best.gflops
        return max(compute, self.bytes / at_best.copy_gbs, self.gathered / at_best.cached_gbs) / 1e6

    def as_dict(self) -> dict[str, float]:
        return asdict(self)


def spmm_work(nodes: int, edges: int, width: int) -> Work:
    """Indices and weights once, every row of x once, every row of y once; a row of x gathered for each edge."""
    return Work(2.0 * edges * width, 4.0 * (2 * edges + nodes + 2 * nodes * width), 4.0 * edges * width)


def product_work(rows: int, inner: int, columns: int) -> Work:
    return Work(2.0 * rows * inner * columns, 4.0 * (rows * inner + inner * columns + rows * columns))


def same(result: np.ndarray, expected: np.ndarray, tolerance: float = 1e-4) -> bool:
    """Equal to `tolerance` of the largest number expected; anything not finite is different."""
    if result.shape != expected.shape or not np.isfinite(result).all():
        return False
    return float(np.abs(result - expected).max(initial=0)) <= tolerance * max(
        1.0, float(np.abs(expected).max(initial=0))
    )
