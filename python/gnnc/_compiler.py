# Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
# See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs the compiler, and keeps what it made by content."""

from __future__ import annotations

import hashlib
import importlib.util
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ._errors import CompileError, Error


def find_compiler() -> Path:
    """$GNNC_COMPILER, else the one inside this package, else `gnnc` on PATH."""
    named = os.environ.get("GNNC_COMPILER")
    if named:
        if not os.access(named, os.X_OK):
            raise Error(f"GNNC_COMPILER names '{named}', which is no program")
        return Path(named)
    inside = Path(__file__).parent / "bin" / "gnnc"
    if os.access(inside, os.X_OK):
        return inside
    on_path = shutil.which("gnnc")
    if on_path is None:
        raise Error("no compiler: this package has none inside, GNNC_COMPILER is not set, and there is no gnnc on PATH")
    return Path(on_path)


def cache_folder() -> Path:
    """Where compiled objects are kept: $XDG_CACHE_HOME/gnnc/objects, else below ~/.cache."""
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "gnnc" / "objects"


def packaged_nvrtc() -> Path | None:
    """The folder of NVIDIA's run-time compiler among this Python's packages, as PyTorch brings it."""
    try:
        found = importlib.util.find_spec("nvidia")
    except (ImportError, ValueError):
        return None
    for root in (found.submodule_search_locations or ()) if found else ():
        for pattern in ("cu*/lib", "cuda_nvrtc/lib"):
            for folder in sorted(Path(root).glob(pattern), reverse=True):
                if any(folder.glob("libnvrtc.so.1*")):
                    return folder
    return None


def _run(command: Sequence[str]) -> subprocess.CompletedProcess[str]:
    """Where the compiler finds no NVRTC by itself, with PyTorch's."""

    def run(environment: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
        return subprocess.run(command, capture_output=True, text=True, errors="replace", check=False, env=environment)

    done = run()
    if done.returncode != 0 and "needs NVRTC" in done.stderr and "GNNC_NVRTC" not in os.environ:
        folder = packaged_nvrtc()
        if folder is not None:
            done = run({**os.environ, "GNNC_NVRTC": str(folder)})
    return done


def run_compiler(model: Path, output: Path, options: Sequence[str]) -> None:
    """Compiles a file. Raises CompileError with the compiler's message."""
    compiler = find_compiler()
    command = [str(compiler), "compile", str(model), *options, "-o", str(output)]
    try:
        done = _run(command)
    except OSError as error:
        raise Error(f"'{compiler}' could not be run: {error}") from error
    if done.returncode != 0:
        lines = done.stderr.strip().splitlines()
        first = next(
            (line for line in lines if "error:" in line), lines[0] if lines else f"exit status {done.returncode}"
        )
        raise CompileError(first.partition("error: ")[2] or first, done.stderr)


def compile_cached(
    model: Path, options: Sequence[str], *, numbers: bytes = b"", progress: bool | None = None
) -> Path:
    """The object of a model file, compiled unless the cache has it.

    The key covers the compiler, its options and the model; of a `.pt2` file not the weights, so the object must be given
    parameters wherever it is used. `numbers`: of those weights that are compiled in. `progress`: says on standard error what is going on; None: if that is a terminal.
    """
    folder = cache_folder()
    path = folder / f"{_key(model, options, numbers)}.so"
    if _is_whole(path):
        return path
    folder.mkdir(parents=True, exist_ok=True)
    if progress is None:
        progress = sys.stderr.isatty()
    started = time.monotonic()
    if progress:
        print(f"gnnc: compiling {model.stem} …", end="", file=sys.stderr, flush=True)
    handle, name = tempfile.mkstemp(prefix=".compiling-", suffix=".so", dir=folder)
    os.close(handle)
    try:
        run_compiler(model, Path(name), options)
        _seal(Path(name))
        os.chmod(name, 0o644)
        os.replace(name, path)  # at once: another process may do the same
    except BaseException:
        Path(name).unlink(missing_ok=True)
        if progress:
            print(" refused", file=sys.stderr)
        raise
    if progress:
        print(f" {time.monotonic() - started:.1f} s", file=sys.stderr)
    return path


#: What the last bytes of an object in the cache begin with; a digest of all bytes before them follows. Loaders read what
#: headers say is there, and no more.
_SEAL = b"gnnc whole"


def _seal(path: Path) -> None:
    digest = hashlib.sha256(path.read_bytes()).digest()
    with open(path, "ab") as file:
        file.write(_SEAL + digest)


def _is_whole(path: Path) -> bool:
    """Whether the cache has an object, and as it was written: of a damaged one the loader may be killed, or worse."""
    try:
        content = memoryview(path.read_bytes())
    except OSError:
        return False
    end = max(len(content) - len(_SEAL) - hashlib.sha256().digest_size, 0)
    return content[end:] == _SEAL + hashlib.sha256(content[:end]).digest()


def _key(model: Path, options: Sequence[str], numbers: bytes = b"") -> str:
    digest = hashlib.sha256()
    compiler = find_compiler().resolve()
    status = compiler.stat()
    parts = [str(compiler), str(status.st_size), str(status.st_mtime_ns), *options]
    digest.update("\0".join(parts).encode() + b"\0" + numbers)
    if zipfile.is_zipfile(model):
        with zipfile.ZipFile(model) as archive:
            for entry in sorted(archive.namelist()):
                inner = entry.partition("/")[2]
                if inner == "models/model.json":
                    digest.update(_without_traces(archive.read(entry)))
                elif not _says_nothing(inner):
                    digest.update(inner.encode() + b"\0" + archive.read(entry) + b"\0")
    else:
        digest.update(model.read_bytes())
    return digest.hexdigest()


def _says_nothing(entry: str) -> bool:
    """Whether an entry of an exported program has no part in what is compiled: weights, examples, an identifier."""
    is_weight = entry.startswith("data/weights/") and not entry.endswith(".json")
    return is_weight or entry.startswith("data/sample_inputs/") or entry == ".data/serialization_id"


def _without_traces(text: bytes) -> bytes:
    """A program without the stack traces of its operations, which depend on who exports it."""
    try:
        program = json.loads(text)
    except ValueError:
        return text

    def strip(value: Any) -> Any:
        if isinstance(value, dict):
            return {name: strip(member) for name, member in value.items() if name != "stack_trace"}
        return [strip(member) for member in value] if isinstance(value, list) else value

    return json.dumps(strip(program), sort_keys=True).encode()
