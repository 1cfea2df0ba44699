# Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
# See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Programs that the oldest and the newest supported PyTorch exported, against what that PyTorch computed.

The folder `exported` has them, and the program that wrote them.
"""

from __future__ import annotations

import subprocess
import tempfile
import unittest
from pathlib import Path

import numpy as np

import gnnc
from gnnc import _compiler, _safetensors

FOLDER = Path(__file__).resolve().parent / "exported"
VERSIONS = ("2.9", "2.15")


class VersionsTest(unittest.TestCase):
    def test_outputs_and_gradients(self) -> None:
        for version in VERSIONS:
            with self.subTest(version), tempfile.TemporaryDirectory() as folder:
                path = Path(folder) / "model.so"
                _compiler.run_compiler(FOLDER / f"torch-{version}.pt2", path, ["--gradient"])
                self.check(gnnc.load(path), _safetensors.load(FOLDER / f"torch-{version}.safetensors"))

    def check(self, model: gnnc.Model, tensors: dict[str, np.ndarray]) -> None:
        """With the weights that are inside."""
        (output,) = model._description.outputs
        expected = {name: value for name, value in tensors.items() if name.startswith("grad.")}
        expected[output] = tensors["out"]
        arguments = {name: tensors[name] for name in ("x", "kind", "edge_index", "batch", "graph_weight")}
        found = model.gradient(**arguments, **{f"grad.{output}": tensors["cot"]})
        self.assertEqual(sorted(found), sorted(expected))
        for name, value in expected.items():
            np.testing.assert_allclose(found[name], value, rtol=1e-5, atol=1e-5, err_msg=name)

    def test_texts_are_the_same(self) -> None:
        texts = []
        for version in VERSIONS:
            command = [_compiler.find_compiler(), "import", FOLDER / f"torch-{version}.pt2"]
            text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
            first, _, rest = text.partition("\n")
            self.assertIn(f"PyTorch {version}.", first)
            texts.append(rest.replace(f"torch_{version.replace('.', '_')}", "model"))
        self.assertEqual(texts[0], texts[1])


if __name__ == "__main__":
    unittest.main()
