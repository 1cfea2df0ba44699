# Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
# See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compiled models on arrays of NumPy, against the same formulas in NumPy."""

from __future__ import annotations

import gc
import multiprocessing
import os
import tempfile
import threading
import unittest
import weakref
from pathlib import Path
from types import SimpleNamespace

import numpy as np

import gnnc
from gnnc import _cache, _safetensors
from models import GCN, SPARSE, TWO_OUTPUTS, compiled

EDGES = np.array([[0, 1, 1, 2, 2, 3, 0], [1, 0, 2, 1, 3, 2, 3]])
POOL = """
import std
model Net(in: int = 2) {
  input x: node[in]
  output y = sum(x, along: batch)
}
"""


def gcn(x: np.ndarray, edges: np.ndarray, weight: np.ndarray, bias: np.ndarray) -> np.ndarray:
    """D^-1/2 (A + I) D^-1/2 x W + b, in float64."""
    adjacency = np.eye(len(x))
    np.add.at(adjacency, (edges[1], edges[0]), 1.0)
    scale = adjacency.sum(1) ** -0.5
    return (scale[:, None] * adjacency * scale) @ x.astype("f8") @ weight + bias


class Numbers(unittest.TestCase):
    def setUp(self) -> None:
        random = np.random.default_rng(0)
        self.x = random.standard_normal((4, 3)).astype("f4")
        self.weight = random.standard_normal((3, 2)).astype("f4")
        self.bias = random.standard_normal(2).astype("f4")
        self.params = {"c1.W": self.weight, "c1.b": self.bias}
        self.expected = gcn(self.x, EDGES, self.weight, self.bias)
        gnnc.clear_graphs()


class CallTest(Numbers):
    def setUp(self) -> None:
        super().setUp()
        self.model = gnnc.load(compiled(GCN, "--gradient"), parameters=self.params)

    def check(self, result: np.ndarray) -> None:
        np.testing.assert_allclose(result, self.expected, rtol=1e-5, atol=1e-6)

    def test_arguments_by_name_and_by_position(self) -> None:
        self.check(self.model(x=self.x, edge_index=EDGES))
        self.check(self.model(self.x, EDGES))
        self.check(self.model(self.x, src=EDGES[0].copy(), dst=EDGES[1].copy()))
        self.assertEqual(self.model.arguments, ["x", "edge_index"])

    def test_any_layout_and_width_of_indices(self) -> None:
        self.check(self.model(self.x, EDGES.astype("i4")))
        self.check(self.model(self.x, np.asfortranarray(EDGES)))
        self.check(self.model(np.asfortranarray(self.x), EDGES))
        wide = np.zeros((4, 6), "f4")
        wide[:, ::2] = self.x
        self.check(self.model(wide[:, ::2], EDGES))

    def test_integers_become_floats_but_other_floats_are_refused(self) -> None:
        counts = np.arange(12).reshape(4, 3)
        expected = gcn(counts, EDGES, self.weight, self.bias)
        np.testing.assert_allclose(self.model(counts, EDGES), expected, rtol=1e-5)
        with self.assertRaisesRegex(gnnc.Error, "argument 'x': expected float32, found float64"):
            self.model(self.x.astype("f8"), EDGES)

    def test_parameters_of_a_call_come_first(self) -> None:
        result = self.model(self.x, EDGES, **{"c1.b": self.bias + 1})
        np.testing.assert_allclose(result, self.expected + 1, rtol=1e-5, atol=1e-6)
        self.check(self.model(self.x, EDGES))

    def test_parameters_from_a_file(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "params.safetensors"
            _safetensors.save(path, self.params)
            self.check(gnnc.load(self.model.path, parameters=path)(self.x, EDGES))

    def test_parameters_in_the_object(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "params.safetensors"
            _safetensors.save(path, self.params)
            model = gnnc.load(compiled(GCN, "--params", str(path), "--embed"))
        self.check(model(self.x, EDGES))
        result = model(self.x, EDGES, **{"c1.b": self.bias + 1})
        np.testing.assert_allclose(result, self.expected + 1, rtol=1e-5, atol=1e-6)

    def test_gradients_are_those_of_the_formula(self) -> None:
        cotangent = np.random.default_rng(1).standard_normal((4, 2)).astype("f4")
        result = self.model.gradient(self.x, EDGES, **{"grad.logits": cotangent})
        self.assertEqual(list(result), ["logits", "grad.x", "grad.c1.W", "grad.c1.b"])
        self.check(result["logits"])
        np.testing.assert_allclose(result["grad.c1.b"], cotangent.sum(0), rtol=1e-5)
        # The output is linear in x and in W: gradients are exact differences of the pairing with the cotangent.
        direction = np.random.default_rng(2).standard_normal(self.x.shape)
        moved = gcn(self.x + direction, EDGES, self.weight, self.bias) - self.expected
        np.testing.assert_allclose((result["grad.x"] * direction).sum(), (moved * cotangent).sum(), rtol=1e-4)
        direction = np.random.default_rng(3).standard_normal(self.weight.shape)
        moved = gcn(self.x, EDGES, self.weight + direction, self.bias) - self.expected
        np.testing.assert_allclose((result["grad.c1.W"] * direction).sum(), (moved * cotangent).sum(), rtol=1e-4)

    def test_halves_of_the_gradient_are_programs_too(self) -> None:
        self.assertEqual(self.model.programs, ["forward", "gradient", "gradient.forward", "gradient.backward"])
        self.check(self.model.run("gradient.forward", self.x, EDGES)["logits"])

    def test_several_outputs_are_a_dict(self) -> None:
        result = gnnc.load(compiled(TWO_OUTPUTS))(x=self.x, edge_index=EDGES)
        self.assertEqual(list(result), ["total", "most"])
        total = np.zeros((4, 3))
        np.add.at(total, EDGES[1], self.x[EDGES[0]])
        np.testing.assert_allclose(result["total"], total, rtol=1e-5, atol=1e-6)

    def test_objects_with_dlpack(self) -> None:
        class Foreign:
            def __init__(self, array: np.ndarray) -> None:
                self.array = array

            def __dlpack__(self, **arguments: object) -> object:
                return self.array.__dlpack__(**arguments)

            def __dlpack_device__(self) -> tuple[int, int]:
                return self.array.__dlpack_device__()

        self.check(self.model(Foreign(self.x), Foreign(EDGES)))

    def test_sparse_inputs(self) -> None:
        dense = np.array([[0, 2, 0, 0, 1], [0, 0, 0, 0, 0], [3, 0, 0, 4, 0]], "f4")
        weight = np.arange(10, dtype="f4").reshape(5, 2)
        model = gnnc.load(compiled(SPARSE), parameters={"W": weight})
        rows, columns = np.nonzero(dense)
        matrix = SimpleNamespace(
            indptr=np.array([0, 2, 2, 4], "i4"),
            indices=columns.astype("i4"),
            data=dense[rows, columns],
            shape=dense.shape,
        )
        np.testing.assert_allclose(model(matrix), dense @ weight)
        np.testing.assert_allclose(model(x=dense), dense @ weight)

    def test_batches_by_graph_or_by_row_pointers(self) -> None:
        model = gnnc.load(compiled(POOL))
        x = np.arange(10, dtype="f4").reshape(5, 2)
        expected = np.stack([x[:2].sum(0), x[2:2].sum(0), x[2:].sum(0)])
        np.testing.assert_array_equal(model(x, batch=np.array([0, 0, 2, 2, 2]), extents={"graph": 3}), expected)
        np.testing.assert_array_equal(model(x, graph_ptr=np.array([0, 2, 2, 5])), expected)
        np.testing.assert_array_equal(model(x, batch=gnnc.Rows(np.array([0, 2, 2, 5]))), expected)

    def test_threads_share_a_model(self) -> None:
        failures: list[BaseException] = []

        def work() -> None:
            try:
                for _ in range(200):
                    self.check(self.model(self.x, EDGES))
            except BaseException as error:
                failures.append(error)

        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(failures, [])

    def test_a_forked_process_has_threads_of_its_own(self) -> None:
        self.check(self.model(self.x, EDGES))
        process = multiprocessing.get_context("fork").Process(target=lambda: self.check(self.model(self.x, EDGES)))
        process.start()
        process.join(60)
        alive = process.is_alive()
        if alive:
            process.kill()
        self.assertEqual((alive, process.exitcode), (False, 0))

    def test_description(self) -> None:
        self.assertIn("input x: f32[node, in = 3]", repr(self.model))
        self.assertEqual(self.model.description["name"], "Net")


class ErrorTest(Numbers):
    def setUp(self) -> None:
        super().setUp()
        self.model = gnnc.load(compiled(GCN, "--gradient"), parameters=self.params)

    def refuses(self, message: str, *arguments: object, **named: object) -> None:
        with self.assertRaisesRegex(gnnc.Error, message):
            self.model(*arguments, **named)

    def test_messages(self) -> None:
        self.refuses(r"argument 'edge_index': expected shape \[2, E\], found \[7\]", self.x, EDGES[0])
        self.refuses("argument 'edge_index': expected int32 or int64, found f64", self.x, EDGES.astype("f8"))
        self.refuses("unknown argument 'y': expected one of x, edge_index", self.x, EDGES, y=self.x)
        self.refuses(r"'x': expected shape \[4, 3\], found \[4, 2\]", self.x[:, :2], EDGES)
        self.refuses("input 'x' is missing: expected float32", edge_index=EDGES, extents={"node": 4})
        self.refuses("the number of elements of space 'edge' is not known", self.x)
        self.refuses("unknown space 'nodes': expected one of node, edge", self.x, EDGES, extents={"nodes": 4})
        self.refuses("argument 'x' is given twice", self.x, EDGES, x=self.x)
        self.refuses("expected at most 2 positional arguments, found 3", self.x, EDGES, self.x)
        self.refuses("argument 'x': expected an array", object(), EDGES)
        with self.assertRaisesRegex(gnnc.Error, "unknown program 'backward': expected one of forward, gradient"):
            self.model.run("backward", self.x, EDGES)
        with self.assertRaisesRegex(gnnc.Error, "unknown parameter 'W': expected one of c1.W, c1.b"):
            self.model.load_parameters({"W": self.weight})

    def test_arrays_of_other_types_than_numbers(self) -> None:
        for given, found in (
            (self.x * 1j, "expected float32, found complex64"),
            (self.x.astype("g"), "expected float32, found "),
            (self.x.astype(object), "expected an array of numbers, found one of object"),
            (self.x.astype("U4"), "expected an array of numbers, found one of <U4"),
            (np.full((4, 3), "2020-01-01", "M8[D]"), r"expected an array of numbers, found one of datetime64\[D\]"),
            (np.zeros((4, 3), [("a", "f4")]), "expected an array of numbers, found one of "),
            (np.ma.array(self.x, mask=True), "expected an array without a mask"),
        ):
            self.refuses(f"argument 'x': {found}", given, EDGES)
        self.refuses("argument 'edge_index': expected int32 or int64, found complex128", self.x, EDGES * 1j)

    def test_numbers_of_elements(self) -> None:
        for given in (9.5, "4", None, float("nan"), -1, 2**70):
            wanted = r"expected a whole number from 0 to 2\^63 - 1 for space 'node', found"
            self.refuses(f"extents: {wanted}", self.x, EDGES, extents={"node": given})
            with self.assertRaisesRegex(gnnc.Error, f"capacities: {wanted}"):
                gnnc.Graph(self.model, edge_index=EDGES, extents={"node": 4}, capacities={"node": given})
        self.refuses(r"extents: expected numbers by the names of spaces, .* found \[4\]", self.x, EDGES, extents=[4])
        with self.assertRaisesRegex(gnnc.Error, "capacities: unknown space 'nodes': expected one of node, edge"):
            gnnc.Graph(self.model, edge_index=EDGES, extents={"node": 4}, capacities={"nodes": 9})
        self.model(self.x, EDGES, extents={"node": np.int64(4)})

    def test_nothing_is_passed_over_beside_a_graph(self) -> None:
        graph = gnnc.Graph(self.model, edge_index=EDGES, extents={"node": 4})
        self.refuses("'edge_index': expected none beside graph=", self.x, EDGES, graph=graph)
        self.refuses("'src': expected none beside graph=", self.x, src=EDGES[0], graph=graph)
        self.refuses("extents: expected none beside graph=", self.x, graph=graph, extents={"node": 4})
        self.refuses("graph: expected a gnnc.Graph, found dict", self.x, graph={})
        with self.assertRaisesRegex(gnnc.Error, "graph: expected one of '.*', found one of '.*'"):
            gnnc.load(compiled(TWO_OUTPUTS))(self.x, graph=graph)

    def test_an_index_out_of_range_has_the_runtimes_message_and_status(self) -> None:
        with self.assertRaises(gnnc.Error) as caught:
            self.model(self.x, EDGES + 1)
        self.assertEqual(caught.exception.status, 2)
        self.assertRegex(str(caught.exception), "4")

    def test_files_that_are_no_models(self) -> None:
        with self.assertRaisesRegex(gnnc.Error, "no such file"):
            gnnc.load("/nonexistent/model.so")
        with tempfile.NamedTemporaryFile(suffix=".so") as file:
            file.write(b"no object")
            file.flush()
            with self.assertRaisesRegex(gnnc.Error, "is not a model compiled by gnnc"):
                gnnc.load(file.name)
            with self.assertRaisesRegex(gnnc.Error, "is not a safetensors file"):
                gnnc.load(self.model.path, parameters=file.name)

    def test_files_that_end_too_early(self) -> None:
        """In a process of its own, which the loader of the system would have killed."""
        whole = Path(self.model.path).read_bytes()
        with tempfile.TemporaryDirectory() as folder:
            paths = []
            for size in (20, 100, 4096, len(whole) // 2, len(whole) * 3 // 4, len(whole) - 1):
                paths.append(Path(folder) / f"{size}.so")
                paths[-1].write_bytes(whole[:size])
            child = multiprocessing.get_context("fork").Process(target=self._check_damaged, args=(paths,))
            child.start()
            child.join(60)
            self.assertEqual(child.exitcode, 0)

    def _check_damaged(self, paths: list[Path]) -> None:
        for path in paths:
            with self.assertRaisesRegex(gnnc.Error, f"is damaged: the file ends after {path.stem} bytes"):
                gnnc.load(path)


class GraphTest(Numbers):
    def setUp(self) -> None:
        super().setUp()
        self.model = gnnc.load(compiled(GCN, "--gradient"), parameters=self.params)

    def test_prepared_by_hand(self) -> None:
        graph = gnnc.Graph(self.model, edge_index=EDGES, extents={"node": 4})
        before = _cache.graphs.misses
        np.testing.assert_allclose(self.model(x=self.x, graph=graph), self.expected, rtol=1e-5, atol=1e-6)
        self.assertEqual(_cache.graphs.misses, before)
        self.assertEqual((graph.extent("node"), graph.extent("edge"), graph.extent("none")), (4, 7, -1))
        self.assertGreater(graph.nbytes, 7 * 4)
        self.assertGreater(graph.workspace_bytes(), 0)
        self.assertIn("functions", graph.describe())

    def test_updated_within_capacities(self) -> None:
        graph = gnnc.Graph(self.model, edge_index=EDGES, extents={"node": 4}, capacities={"node": 10, "edge": 20})
        for nodes, edges in ((6, np.array([[0, 5], [5, 0]])), (4, EDGES)):
            graph.update(edge_index=edges, extents={"node": nodes})
            x = np.random.default_rng(nodes).standard_normal((nodes, 3)).astype("f4")
            expected = gcn(x, edges, self.weight, self.bias)
            np.testing.assert_allclose(self.model(x=x, graph=graph), expected, rtol=1e-5, atol=1e-6)
        with self.assertRaisesRegex(gnnc.Error, "10"):
            graph.update(edge_index=EDGES, extents={"node": 11})

    def test_known_arrays_are_not_prepared_again(self) -> None:
        self.model(self.x, EDGES)
        hits, misses = _cache.graphs.hits, _cache.graphs.misses
        self.model(self.x, EDGES)
        self.assertEqual((_cache.graphs.hits, _cache.graphs.misses), (hits + 1, misses))
        self.model(self.x, EDGES.copy())
        self.assertEqual(_cache.graphs.misses, misses + 1)

    def test_changed_contents_are_seen(self) -> None:
        edges = EDGES.copy()
        self.model(self.x, edges)
        edges[:, 0] = (3, 1)
        expected = gcn(self.x, edges, self.weight, self.bias)
        np.testing.assert_allclose(self.model(self.x, edges), expected, rtol=1e-5, atol=1e-6)
        self.assertEqual(len(_cache.graphs), 1)

    def test_extents_are_part_of_the_key(self) -> None:
        self.model(self.x, EDGES)
        x = np.concatenate([self.x, self.x])
        np.testing.assert_allclose(self.model(x, EDGES), gcn(x, EDGES, self.weight, self.bias), rtol=1e-5, atol=1e-6)

    def test_arrays_are_held_so_that_addresses_are_not_used_again(self) -> None:
        edges = EDGES.copy()
        alive = weakref.ref(edges)
        self.model(self.x, edges)
        del edges
        gc.collect()
        self.assertIsNotNone(alive())
        gnnc.clear_graphs()
        gc.collect()
        self.assertIsNone(alive())

    def test_bounded_in_bytes(self) -> None:
        limit = _cache.graphs.limit
        self.addCleanup(setattr, _cache.graphs, "limit", limit)
        _cache.graphs.limit = 20_000
        kept = []
        for _ in range(50):
            kept.append(EDGES.copy())
            np.testing.assert_allclose(self.model(self.x, kept[-1]), self.expected, rtol=1e-5, atol=1e-6)
            self.assertLessEqual(_cache.graphs.nbytes, 20_000)
        self.assertGreater(len(_cache.graphs), 1)
        self.assertLess(len(_cache.graphs), 50)

    def test_memory_is_steady_over_many_graphs(self) -> None:
        def resident() -> int:
            with open("/proc/self/statm") as file:
                return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")

        limit = _cache.graphs.limit
        self.addCleanup(setattr, _cache.graphs, "limit", limit)
        _cache.graphs.limit = 1 << 20
        random = np.random.default_rng(0)
        sizes = []
        for step in range(600):
            nodes, count = random.integers(50, 400), random.integers(200, 2000)
            x = random.standard_normal((nodes, 3)).astype("f4")
            self.model(x, random.integers(0, nodes, (2, count)))
            if step % 100 == 99:
                sizes.append(resident())
        self.assertLess(sizes[-1] - sizes[1], 8 << 20)


if __name__ == "__main__":
    unittest.main()
