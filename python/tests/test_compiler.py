# Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
# See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Finding and running the compiler, and the cache of what it made."""

from __future__ import annotations

import json
import os
import tempfile
import unittest
import zipfile
from pathlib import Path
from unittest import mock

import gnnc
from gnnc import _compiler
from models import GCN


class CompilerTest(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        patch = mock.patch.dict(os.environ, {"XDG_CACHE_HOME": str(self.folder / "cache")})
        patch.start()
        self.addCleanup(patch.stop)

    def write(self, name: str, text: str) -> Path:
        path = self.folder / name
        path.write_text(text)
        return path

    def test_what_was_compiled_is_found_again(self) -> None:
        model = self.write("net.gnn", GCN)
        first = _compiler.compile_cached(model, [])
        self.assertEqual(gnnc.load(first).programs, ["forward"])
        with mock.patch.object(_compiler, "run_compiler") as run:
            self.assertEqual(_compiler.compile_cached(model, []), first)
            self.assertEqual(_compiler.compile_cached(self.write("other.gnn", GCN), []), first)
            run.assert_not_called()
        self.assertNotEqual(_compiler.compile_cached(model, ["--gradient"]), first)
        self.assertNotEqual(_compiler.compile_cached(self.write("net.gnn", GCN + "\n// other"), []), first)
        self.assertEqual([path.suffix for path in first.parent.iterdir()], [".so"] * 3)

    def test_damaged_objects_are_compiled_again(self) -> None:
        model = self.write("net.gnn", GCN)
        path = _compiler.compile_cached(model, [])
        whole = path.read_bytes()
        flipped = bytearray(whole)
        flipped[len(whole) // 2] ^= 255
        for damaged in (b"", whole[:100], whole[: len(whole) // 2], whole[:-1], bytes(flipped)):
            path.write_bytes(damaged)
            self.assertEqual(_compiler.compile_cached(model, []), path)
            self.assertEqual(path.read_bytes(), whole)
        self.assertEqual(list(path.parent.iterdir()), [path])

    def test_refused_models_have_the_compilers_message_and_leave_nothing(self) -> None:
        with self.assertRaises(gnnc.CompileError) as caught:
            _compiler.compile_cached(self.write("bad.gnn", "model Net { output y = nothing }"), [])
        self.assertIn("nothing", str(caught.exception))
        self.assertIn("bad.gnn:1:", caught.exception.details)
        self.assertEqual(list(_compiler.cache_folder().iterdir()), [])

    def test_the_nvrtc_of_pythons_packages_where_there_is_no_other(self) -> None:
        script = self.write(
            "compiler",
            "#!/bin/sh\n"
            'if [ -z "$GNNC_NVRTC" ]; then echo "error: compiling CUDA kernels needs NVRTC" >&2; exit 1; fi\n'
            'for last; do :; done; echo "$GNNC_NVRTC" > "$last"\n',
        )
        script.chmod(0o755)
        library = self.folder / "site" / "nvidia" / "cu13" / "lib" / "libnvrtc.so.13"
        library.parent.mkdir(parents=True)
        library.touch()
        found = mock.Mock(submodule_search_locations=[str(self.folder / "site" / "nvidia")])
        model, output = self.write("net.gnn", GCN), self.folder / "net.so"
        environment = {name: value for name, value in os.environ.items() if name != "GNNC_NVRTC"}
        with mock.patch.dict(os.environ, environment | {"GNNC_COMPILER": str(script)}, clear=True):
            with mock.patch("importlib.util.find_spec", return_value=found):
                _compiler.run_compiler(model, output, [])
            self.assertEqual(output.read_text().strip(), str(library.parent))
            with mock.patch("importlib.util.find_spec", return_value=None), self.assertRaises(gnnc.CompileError):
                _compiler.run_compiler(model, output, [])

    def archive(self, **entries: str) -> Path:
        path = self.folder / "model.pt2"
        with zipfile.ZipFile(path, "w") as file:
            for name, text in entries.items():
                file.writestr("archive/" + name.replace("__", "/"), text)
        return path

    def test_weights_are_no_part_of_the_key(self) -> None:
        def key(**entries: str) -> str:
            return _compiler._key(self.archive(**entries), [])

        same = key(models__model="a", data__weights__weight_0="1", data__constants__tensor_0="c")
        self.assertEqual(key(models__model="a", data__weights__weight_0="2", data__constants__tensor_0="c"), same)
        self.assertNotEqual(key(models__model="b", data__weights__weight_0="1", data__constants__tensor_0="c"), same)
        self.assertNotEqual(key(models__model="a", data__weights__weight_0="1", data__constants__tensor_0="d"), same)

    def test_stack_traces_are_no_part_of_the_key(self) -> None:
        def key(operation: str, trace: str) -> str:
            node = {"target": operation, "metadata": {"stack_trace": trace}}
            path = self.folder / "model.pt2"
            with zipfile.ZipFile(path, "w") as file:
                file.writestr("archive/models/model.json", json.dumps({"nodes": [node]}))
            return _compiler._key(path, [])

        self.assertEqual(key("add", "here"), key("add", "there"))
        self.assertNotEqual(key("add", "here"), key("mul", "here"))

    def test_places_of_the_compiler(self) -> None:
        program = self.write("compiler", "#!/bin/sh\n")
        with mock.patch.dict(os.environ, {"GNNC_COMPILER": str(program)}):
            with self.assertRaisesRegex(gnnc.Error, "which is no program"):
                _compiler.find_compiler()
            program.chmod(0o755)
            self.assertEqual(_compiler.find_compiler(), program)
        inside = Path(_compiler.__file__).parent / "bin" / "gnnc"
        if inside.exists():  # an installed package has its own
            with mock.patch.dict(os.environ, {"GNNC_COMPILER": ""}):
                self.assertEqual(_compiler.find_compiler(), inside)
            return
        on_path = self.write("gnnc", "#!/bin/sh\n")
        on_path.chmod(0o755)
        with mock.patch.dict(os.environ, {"PATH": str(self.folder), "GNNC_COMPILER": ""}):
            self.assertEqual(_compiler.find_compiler(), on_path)
        with mock.patch.dict(os.environ, {"PATH": "", "GNNC_COMPILER": ""}):
            with self.assertRaisesRegex(gnnc.Error, "no compiler"):
                _compiler.find_compiler()


if __name__ == "__main__":
    unittest.main()
