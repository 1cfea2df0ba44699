"""The products of MKL, SciPy and OpenBLAS, each set up once and then called on the same arrays as gnnc.

SciPy is called as everybody calls it, `A @ x`, on one thread, because it has no more. MKL and OpenBLAS are called through
their C interfaces on arrays that exist already.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable
from ctypes import byref, c_char_p, c_float, c_int, c_longlong, c_void_p
from pathlib import Path

import numpy as np
import scipy.sparse

from cpu.graphs import Graph
from harness.model import aligned

ROW_MAJOR = 101
NO_TRANSPOSE = 111
SPARSE_OPERATION_NON_TRANSPOSE = 10
SPARSE_LAYOUT_ROW_MAJOR = 101
SPARSE_MATRIX_TYPE_GENERAL = 20


class PeerError(Exception):
    """A peer that is not there or that refused."""


class MatrixDescription(ctypes.Structure):
    _fields_ = [("type", c_int), ("mode", c_int), ("diag", c_int)]


def scipy_product(
    graph: Graph, weights: np.ndarray, x: np.ndarray
) -> tuple[Callable[[], None], Callable[[], np.ndarray]]:
    """The call, and how to get at its result."""
    matrix = scipy.sparse.csr_array((weights, graph.src, graph.rows), shape=(graph.nodes, graph.nodes))
    result: list[np.ndarray] = [np.empty(0)]

    def call() -> None:
        result[0] = matrix @ x

    return call, lambda: result[0]


class MKL:
    """MKL with its own threads (Intel's OpenMP)."""

    def __init__(self, threads: int) -> None:
        place = Path(sys.prefix) / "lib"
        found = sorted(place.glob("libmkl_rt.so*"))
        if not found:
            raise PeerError(f"no libmkl_rt.so in {place}: pip install mkl")
        ctypes.CDLL(str(place / "libiomp5.so"), mode=ctypes.RTLD_GLOBAL)
        self.library = ctypes.CDLL(str(found[0]), mode=ctypes.RTLD_GLOBAL)
        self.library.MKL_Set_Num_Threads(threads)
        text = ctypes.create_string_buffer(200)
        self.library.mkl_get_version_string(text, len(text))
        self.version = text.value.decode().split("Version ")[-1].split()[0]
        self.kept: list[object] = []

    @staticmethod
    def check(what: str, status: int) -> None:
        if status != 0:
            raise PeerError(f"MKL: {what} failed with status {status}")

    def product(
        self, graph: Graph, weights: np.ndarray, x: np.ndarray, y: np.ndarray, optimize: bool
    ) -> Callable[[], None]:
        """y = A x by the inspector-executor interface; `optimize` announces a thousand calls of this width beforehand."""
        library = self.library
        handle = c_void_p()
        arrays = (graph.rows, graph.src, weights)
        starts, ends = graph.rows.ctypes.data, graph.rows.ctypes.data + graph.rows.itemsize
        size = c_int(graph.nodes)
        status = library.mkl_sparse_s_create_csr(
            byref(handle), c_int(0), size, size, c_void_p(starts), c_void_p(ends),
            c_void_p(graph.src.ctypes.data), c_void_p(weights.ctypes.data),
        )  # fmt: skip
        self.check("mkl_sparse_s_create_csr", status)
        description = MatrixDescription(SPARSE_MATRIX_TYPE_GENERAL, 0, 0)
        width = x.shape[1]
        if optimize:
            status = library.mkl_sparse_set_mm_hint(
                handle, c_int(SPARSE_OPERATION_NON_TRANSPOSE), description, c_int(SPARSE_LAYOUT_ROW_MAJOR),
                c_int(width), c_int(1000),
            )  # fmt: skip
            self.check("mkl_sparse_set_mm_hint", status)
            self.check("mkl_sparse_optimize", library.mkl_sparse_optimize(handle))
        self.kept += [arrays, x, y]
        arguments = (
            c_int(SPARSE_OPERATION_NON_TRANSPOSE), c_float(1), handle, description, c_int(SPARSE_LAYOUT_ROW_MAJOR),
            c_void_p(x.ctypes.data), c_int(width), c_int(width), c_float(0), c_void_p(y.ctypes.data), c_int(width),
        )  # fmt: skip

        def call() -> None:
            self.check("mkl_sparse_s_mm", library.mkl_sparse_s_mm(*arguments))

        return call

    def sgemm(self, x: np.ndarray, weight: np.ndarray, y: np.ndarray) -> Callable[[], None]:
        self.kept += [x, weight, y]
        return sgemm_call(self.library.cblas_sgemm, c_int, x, weight, y)


def sgemm_call(
    function: Callable[..., None], integer: type, x: np.ndarray, weight: np.ndarray, y: np.ndarray
) -> Callable[[], None]:
    """y = x weight by a `cblas_sgemm` whose integers are of the given type."""
    rows, inner = x.shape
    columns = weight.shape[1]
    arguments = (
        c_int(ROW_MAJOR), c_int(NO_TRANSPOSE), c_int(NO_TRANSPOSE), integer(rows), integer(columns), integer(inner),
        c_float(1), c_void_p(x.ctypes.data), integer(inner), c_void_p(weight.ctypes.data), integer(columns),
        c_float(0), c_void_p(y.ctypes.data), integer(columns),
    )  # fmt: skip
    return lambda: function(*arguments)


class OpenBLAS:
    """The system's OpenBLAS, or the (mostly newer) one that NumPy brings."""

    def __init__(self, threads: int, of_numpy: bool) -> None:
        self.integer: type = c_longlong if of_numpy else c_int
        if of_numpy:
            found = sorted((Path(np.__file__).parent.parent / "numpy.libs").glob("libscipy_openblas64*"))
            if not found:
                raise PeerError("this NumPy brings no OpenBLAS")
            self.library, prefix, suffix = ctypes.CDLL(str(found[0])), "scipy_", "64_"
        else:
            try:
                self.library = ctypes.CDLL("libopenblas.so.0")
            except OSError as error:
                raise PeerError(f"no OpenBLAS: apt-get install libopenblas-dev ({error})") from None
            prefix, suffix = "", ""
        self.function = getattr(self.library, f"{prefix}cblas_sgemm{suffix}")
        getattr(self.library, f"{prefix}openblas_set_num_threads{suffix}")(threads)
        config = getattr(self.library, f"{prefix}openblas_get_config{suffix}")
        core = getattr(self.library, f"{prefix}openblas_get_corename{suffix}")
        config.restype = core.restype = c_char_p
        self.version = f"{config().decode().split()[1]} ({core().decode()})"

    def sgemm(self, x: np.ndarray, weight: np.ndarray, y: np.ndarray) -> Callable[[], None]:
        return sgemm_call(self.function, self.integer, x, weight, y)


def empty_like_result(rows: int, columns: int) -> np.ndarray:
    """Where a peer writes, filled with what no product gives."""
    result = aligned((rows, columns))
    result.fill(np.nan)
    return result
