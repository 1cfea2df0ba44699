# Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
# See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Sources of an exported model's graph data, on arrays of NumPy."""

from __future__ import annotations

import unittest

import numpy as np

import gnnc
from gnnc import _sources
from gnnc._graph_functions import FUNCTIONS

EDGES = np.array([[0, 1, 1, 3], [2, 1, 0, 3]], "i4")
ARGUMENTS = {"edge_index": EDGES, "x": np.zeros((5, 3), "f4"), "mask": np.array([True, False, True, True])}

#: A source, and what Python says.
CASES = [
    ("size(x, 0)", 5),
    ("size(edge_index, 1)", 4),
    ("edge_index[1]", [2, 1, 0, 3]),
    ("column(edge_index, 3)", [3, 3]),
    ("edge_index[1][3]", 3),
    ("flat(edge_index, -1, 4)", [0, 1, 1, 3, 2, 1, 0, 3]),
    ("[4, -2]", [4, -2]),
    ("-3", -3),
    ("arange(0, size(x, 0), 1)", [0, 1, 2, 3, 4]),
    ("arange(5, 0, -2)", [5, 3, 1]),
    ("full(3, -1)", [-1, -1, -1]),
    ("cat(edge_index[0], arange(0, 2, 1), 7)", [0, 1, 1, 3, 0, 1, 7]),
    ("nonzero(ne(edge_index[0], edge_index[1]))", [0, 2]),
    ("take(edge_index[0], nonzero(mask))", [0, 1, 3]),
    ("take(edge_index[0], 3)", 3),
    ("add(max(edge_index[0]), 1)", 4),
    ("sub(2, [5, 1])", [-3, 1]),
    ("mul(add([1, 2], 3), [2, 3])", [8, 15]),
    ("div([7, -7, 5], [2, 2, 0])", [3, -4, 0]),
    ("mod([7, -7, 5], [2, 2, 0])", [1, 1, 5]),
    ("div(7, -2)", -4),
    ("minimum([1, 5], 3)", [1, 3]),
    ("maximum(2, 9)", 9),
    ("at_least(at_most(size(x, 0), 5), 5)", 5),
    ("lt([1, 2, 3], 2)", [1, 0, 0]),
    ("le([1, 2, 3], 2)", [1, 1, 0]),
    ("gt([1, 2, 3], 2)", [0, 0, 1]),
    ("ge([1, 2, 3], 2)", [0, 1, 1]),
    ("both([0, 2, 3], [1, 0, 4])", [0, 0, 1]),
    ("either([0, 2, 0], [1, 0, 0])", [1, 1, 0]),
    ("not(mask)", [0, 1, 0, 0]),
    ("neg([1, -2])", [-1, 2]),
    ("where(mask, edge_index[0], -1)", [0, -1, 1, 3]),
    ("min([3, 1, 2])", 1),
    ("any(mask)", 1),
    ("any(eq(edge_index[0], 7))", 0),
    ("any(slice(mask, 0, 0, 1))", 0),
    ("all(mask)", 0),
    ("all([1, 2])", 1),
    ("all(slice(mask, 0, 0, 1))", 1),
    ("sum(mask)", 3),
    ("length(edge_index[0])", 4),
    ("scatter_sum(edge_index[0], 1, 5)", [1, 2, 0, 1, 0]),
    ("scatter_sum([1, 1], [3, 4], 2)", [0, 7]),
    ("put(full(4, 0), [2, 0, 2], [5, 6, 7])", [6, 0, 7, 0]),
    ("cumsum([1, 2, 3])", [1, 3, 6]),
    ("diff([1, 4, 2])", [3, -2]),
    ("flip([1, 2, 3])", [3, 2, 1]),
    ("slice([0, 1, 2, 3, 4, 5], 1, -1, 2)", [1, 3]),
    ("argsort([3, 1, 3, 0])", [3, 1, 0, 2]),
    ("unique([3, 1, 3])", [1, 3]),
    ("inverse([3, 1, 3])", [1, 0, 1]),
    ("interleave([7, 8, 9], [2, 0, 1])", [7, 7, 9]),
]

ERRORS = [
    ("add([1], [1, 2])", "add: expected lists of one length, found 1 and 2"),
    ("take([1, 2], 2)", "take: expected a position from 0 to 1, found 2"),
    ("take([1, 2], [0, -1])", "take: expected a position from 0 to 1, found -1"),
    ("scatter_sum([4], 1, 3)", "scatter_sum: expected a position from 0 to 2, found 4"),
    ("full(-1, 0)", "full: expected a length"),
    ("arange(0, 5, 0)", "arange: expected a step that is not 0"),
    ("max(slice([1], 1, 1, 1))", "max: expected a list that is not empty"),
    ("slice([1, 2], 0, 2, 0)", "slice: expected a step of at least 1, found 0"),
    ("interleave([1, 2], [1])", "interleave: expected as many counts as numbers, found 1 and 2"),
    ("edge_index[2]", r"expected more than 2 rows, found shape \[2, 4\]"),
    ("size(x, 2)", "expected at least 3 axes, found 2"),
    ("column(edge_index, 4)", "expected more than 4 columns, found 4"),
    ("column(mask, 0)", "expected 2 axes, found 1"),
    ("flat(edge_index, -1, 3)", "expected axis 1 to have size 3, found 4"),
    ("flat(mask, -1, 3)", "expected 2 axes, found 1"),
    ("at_most(at_least(size(x, 0), 2), 4)", r"^value: size\(x, 0\): expected 4 or less, as the program was exported for, found 5$"),
    ("at_least(edge_index[1][0], 3)", r"^value: edge_index\[1\]\[0\]: expected 3 or more, as .*, found 2$"),
    ("edge_type", "argument 'edge_type' is missing"),
    ("median([1])", "has no graph function 'median'"),
    ("add(1", "cannot be read"),
    ("add(1, 2) 3", "cannot be read"),
    ("?", "cannot be read"),
]


class SourcesTest(unittest.TestCase):
    def evaluate(self, text: str) -> object:
        return _sources.Steps({"value": _sources.parse(text)}).run(ARGUMENTS)["value"]

    def test_values(self) -> None:
        for text, expected in CASES:
            with self.subTest(text):
                value = self.evaluate(text)
                self.assertEqual(value if isinstance(value, int) else value.tolist(), expected)

    def test_errors(self) -> None:
        for text, message in ERRORS:
            with self.subTest(text), self.assertRaisesRegex(gnnc.Error, message):
                self.evaluate(text)

    def test_rows_are_no_copies(self) -> None:
        self.assertTrue(np.shares_memory(self.evaluate("edge_index[1]"), EDGES))

    def test_equal_parts_are_computed_once(self) -> None:
        applied = []

        def apply(source: _sources.Apply, values: list[object]) -> object:
            applied.append(source.function)
            return FUNCTIONS[source.function](*values)

        sources = {"first": "add(neg(size(x, 0)), 1)", "second": "neg(size(x, 0))", "third": "size(x, 0)"}
        steps = _sources.Steps({name: _sources.parse(text) for name, text in sources.items()}, apply=apply)
        self.assertEqual(steps.run(ARGUMENTS), {"first": -4, "second": -5, "third": 5})
        self.assertEqual(applied, ["size", "neg", "add"])

    def test_given_parts_are_not_computed(self) -> None:
        known = {_sources.parse("size(missing, 0)"): 7}
        steps = _sources.Steps({"value": _sources.parse("add(size(missing, 0), 1)")}, known)
        self.assertEqual(steps.run({}), {"value": 8})

    def test_errors_name_what_fails(self) -> None:
        sources = {"space 'a'": "size(x, 0)", "map 'b'": "take([1], size(x, 0))"}
        steps = _sources.Steps({name: _sources.parse(text) for name, text in sources.items()})
        with self.assertRaisesRegex(gnnc.Error, "^map 'b': take: expected a position from 0 to 0, found 5$"):
            steps.run(ARGUMENTS)

    def test_what_is_read(self) -> None:
        source = _sources.parse("take(edge_index[0], arange(0, size(x, 0), 1))")
        self.assertEqual(_sources.names(source), {"edge_index", "x"})
        self.assertEqual(_sources.contents(source), {"edge_index"})


if __name__ == "__main__":
    unittest.main()
