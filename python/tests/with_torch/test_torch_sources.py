# Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
# See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Sources of an exported model's graph data on tensors: the same cases as on arrays of NumPy."""

from __future__ import annotations

import unittest

import torch
from test_sources import ARGUMENTS, CASES, ERRORS

import gnnc
from gnnc import _sources


class TorchSourcesTest(unittest.TestCase):
    def evaluate(self, text: str) -> object:
        arguments = {name: torch.from_numpy(array) for name, array in ARGUMENTS.items()}
        return _sources.Steps({"value": _sources.parse(text)}).run(arguments)["value"]

    def test_values(self) -> None:
        for text, expected in CASES:
            with self.subTest(text):
                value = self.evaluate(text)
                self.assertEqual(value if isinstance(value, int) else value.tolist(), expected)

    def test_errors(self) -> None:
        for text, message in ERRORS:
            with self.subTest(text), self.assertRaisesRegex(gnnc.Error, message):
                self.evaluate(text)


if __name__ == "__main__":
    unittest.main()
