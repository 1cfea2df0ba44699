"""Tests of the backend for Triton beside a real server: `python3 hosts/triton/test.py --triton PYTHON`.

PYTHON is that of an environment with PyPI's `nvidia-pytriton` (which has the server), `tritonclient` and what
`tritonclient[http]` needs; of the same version as this Python, which has PyTorch and NumPy. `--core`: a folder with
Triton's headers, else they are downloaded. `--gpu`: the server has a GPU. The backend is built into a temporary folder.
Part of gnnc, under the Apache License v2.0 with LLVM Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

from __future__ import annotations

import argparse
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
import unittest
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "python"))

from served import TEXTS, Case, compile_models, graph, run  # noqa: E402

FOLDER = Path(tempfile.mkdtemp(prefix="gnnc-triton-"))
OPTIONS = argparse.Namespace(triton=None, core=None, gpu=False, backend=None, models=None)
SITE = "import sysconfig; print(sysconfig.get_path('purelib'))"
client: Any = None  #: the module tritonclient.http


class Server:
    """A real server, on free ports, with models that are loaded by name."""

    def __init__(self, python: str, backends: Path, repository: Path) -> None:
        site = Path(run(python, "-c", SITE).strip())
        program = site / "pytriton" / "tritonserver" / "bin" / "tritonserver"
        with socket.socket() as a, socket.socket() as b:
            a.bind(("127.0.0.1", 0))
            b.bind(("127.0.0.1", 0))
            self.port, self.metrics = a.getsockname()[1], b.getsockname()[1]
        environment = {
            **os.environ,
            "LD_LIBRARY_PATH": f"{site / 'nvidia_pytriton.libs'}:{os.environ.get('LD_LIBRARY_PATH', '')}",
        }
        self.log = FOLDER / "server.log"
        with self.log.open("w") as log:
            self.process = subprocess.Popen(
                [program, f"--model-repository={repository}", f"--backend-directory={backends}", "--allow-grpc=false",
                 "--model-control-mode=explicit", "--http-address=127.0.0.1", f"--http-port={self.port}",
                 "--allow-gpu-metrics=false", "--metrics-address=127.0.0.1", f"--metrics-port={self.metrics}", "--http-thread-count=32"],
                stdout=log, stderr=subprocess.STDOUT, env=environment,
            )  # fmt: skip
        self.client = self.connect()
        for _ in range(300):
            try:
                if self.client.is_server_ready():
                    return
            except OSError:
                pass
            if self.process.poll() is not None:
                break
            time.sleep(0.1)
        raise AssertionError(f"the server did not start: {self.log.read_text()[-4000:]}")

    def connect(self) -> Any:
        return client.InferenceServerClient(
            f"127.0.0.1:{self.port}", concurrency=1, network_timeout=120, connection_timeout=120
        )

    def stop(self) -> None:
        self.client.close()
        self.process.terminate()
        try:
            self.process.wait(60)
        except subprocess.TimeoutExpired:
            self.process.kill()

    def memory(self) -> int:
        """Resident bytes."""
        return int(Path(f"/proc/{self.process.pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


TYPES = {"float16": "FP16", "float32": "FP32", "float64": "FP64", "int32": "INT32", "int64": "INT64"}


def infer(
    connection: Any, model: str, inputs: dict[str, np.ndarray], outputs: list[str] | None = None, batched: bool = True
) -> dict[str, np.ndarray]:
    """`batched`: adds the axis of graphs, and takes it off."""
    given = []
    for name, array in inputs.items():
        array = np.ascontiguousarray(array[None] if batched else array)
        made = client.InferInput(name, array.shape, TYPES[array.dtype.name])
        made.set_data_from_numpy(array)
        given.append(made)
    wanted = [client.InferRequestedOutput(name) for name in outputs] if outputs else None
    found = connection.infer(model, given, outputs=wanted)
    names = [output["name"] for output in found.get_response()["outputs"]]
    return {name: found.as_numpy(name)[0] if batched else found.as_numpy(name) for name in names}


# Requests wait for others. Inputs and outputs are completed, batching is not.
QUEUE = (
    "max_batch_size: 64\ndynamic_batching { max_queue_delay_microseconds: 300000 preferred_batch_size: [ 24 ] }\n"
)
# How many calls of the model 24 requests become.
CALLS = {
    "track": 1,
    "molecule": 1,
    "pooled": 1,
    "degrees": 1,
    "readout": 1,
    "parts": 1,
    "sources": 1,
    "sparse": 1,
    "halves": 1,
    "doubles": 1,
    "shared": 2,
    "lists": 1,
    "kinds": 24,
    "dead": 24,
    "saturated": 24,
    "undefined": 24,
}


class TritonTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls) -> None:
        global client
        if not OPTIONS.triton:
            raise unittest.SkipTest("no environment with nvidia-pytriton is named")
        sys.path.append(run(OPTIONS.triton, "-c", SITE).strip())
        import tritonclient.http as client  # type: ignore[no-redef]

        backends = FOLDER / "backends" / "gnnc"
        backends.mkdir(parents=True)
        built = OPTIONS.backend
        if not built:
            cls.configure()
            run("cmake", "--build", FOLDER / "build", "-j2")
            built = FOLDER / "build" / "libtriton_gnnc.so"
        shutil.copy(built, backends)
        cls.models = Path(OPTIONS.models) if OPTIONS.models else FOLDER
        if not OPTIONS.models:
            compile_models(cls.models, OPTIONS.gpu)
        cls.repository = FOLDER / "repository"
        cls.repository.mkdir()
        cls.cases = {name: cls.place(name) for name in [*TEXTS, "molecule"]}
        cls.server = Server(OPTIONS.triton, FOLDER / "backends", cls.repository)
        cls.addClassCleanup(cls.server.stop)

    @classmethod
    def configure(cls) -> None:
        where = [f"-DTRITON_CORE={OPTIONS.core}"] if OPTIONS.core else []
        run("cmake", "-S", ROOT / "hosts" / "triton", "-B", FOLDER / "build", *where)

    @classmethod
    def place(cls, name: str, config: str = "", model: Path | None = None, called: str = "", version: int = 1) -> Case:
        """A model in the repository. Without more in its configuration the backend completes it."""
        folder = cls.repository / (called or name)
        (folder / str(version)).mkdir(parents=True, exist_ok=True)
        path = folder / str(version) / "model.so"
        original = model or cls.models / f"{name}.so"
        shutil.copy(original, path)
        kind = "KIND_GPU" if OPTIONS.gpu else "KIND_CPU"
        groups = "" if "instance_group" in config else f"instance_group [ {{ kind: {kind} count: 1 }} ]\n"
        (folder / "config.pbtxt").write_text(f'backend: "gnnc"\n{groups}{config}')
        return Case(called or name, path, original)

    def load(self, name: str) -> Any:
        self.server.client.load_model(name)
        self.addCleanup(self.server.client.unload_model, name)
        return self.server.client

    def check(self, found: dict[str, np.ndarray], expected: dict[str, np.ndarray]) -> None:
        self.assertEqual(set(found), set(expected))
        for name, value in expected.items():
            wanted = value.reshape(1) if value.ndim == 0 else value
            self.assertEqual(found[name].shape, wanted.shape, name)
            near = 1e-3 if value.dtype == np.float16 else 1e-4 if OPTIONS.gpu else 1e-6
            np.testing.assert_allclose(found[name], wanted, rtol=10 * near, atol=near, err_msg=name)

    def count(self, name: str) -> tuple[int, int]:
        """Inferences and executions."""
        found = self.server.client.get_inference_statistics(name)["model_stats"][0]
        return found["inference_count"], found["execution_count"]

    def batched(self, name: str) -> bool:
        return self.server.client.get_model_config(name)["max_batch_size"] > 0

    def at_once(self, name: str, inputs: list[dict[str, np.ndarray]]) -> list[Any]:
        """Results of requests that are sent at the same time, or the errors."""
        batched, gate = self.batched(name), threading.Barrier(len(inputs))

        def send(given: dict[str, np.ndarray]) -> Any:
            connection = self.server.connect()
            connection.is_server_live()
            gate.wait()
            try:
                return infer(connection, name, given, batched=batched)
            except client_error() as error:
                return error
            finally:
                connection.close()

        with ThreadPoolExecutor(len(inputs)) as pool:
            return list(pool.map(send, inputs))

    def test_results(self) -> None:
        for name, case in self.cases.items():
            connection = self.load(name)
            batched = self.batched(name)
            self.assertEqual(batched, name not in ("whole", "total"), name)
            for seed in range(20):
                with self.subTest(f"{name}, seed {seed}"):
                    given = graph(name, seed)
                    self.check(infer(connection, name, given, batched=batched), case.expected(given))

    def test_joined(self) -> None:
        """Concurrent requests of different sizes are one call where that is valid, and each gets its own rows."""
        for name, calls in CALLS.items():
            with self.subTest(name):
                case = self.place(name, QUEUE, called=f"{name}_joined")
                self.load(case.name)
                graphs = [graph(name, seed) for seed in range(24)]
                for _attempt in range(4):  # the batcher may start before all have come
                    before = self.count(case.name)
                    for given, found in zip(graphs, self.at_once(case.name, graphs)):
                        self.assertIsInstance(found, dict, found)
                        self.check(found, case.expected(given))
                    inferences, executions = (now - then for now, then in zip(self.count(case.name), before))
                    self.assertEqual(inferences, 24)
                    if executions == calls:
                        break
                self.assertEqual(executions, calls)
        log = self.server.log.read_text()
        for name, why in (
            ("kinds", "of a graph depends on the graphs"),
            ("dead", "of a graph depends on the graphs"),
            ("saturated", "has one value, or NaN, on all random graphs"),
            ("undefined", "has one value, or NaN, on all random graphs"),
        ):
            self.assertIn(f"'{name}_joined': each graph is a call of its own: output 'y' {why}", log)
        self.assertNotIn("random graphs cannot be tried", log)

    def test_joining_turned_off(self) -> None:
        off = QUEUE + 'parameters: { key: "join" value: { string_value: "off" } }\n'
        case = self.place("track", off, called="track_apart")
        self.load(case.name)
        graphs = [graph("track", seed) for seed in range(24)]
        for given, found in zip(graphs, self.at_once(case.name, graphs)):
            self.check(found, case.expected(given))
        self.assertEqual(self.count(case.name), (24, 24))

    def test_bad_requests_beside_good_ones(self) -> None:
        case = self.place("track", QUEUE, called="track_bad")
        self.load(case.name)
        good = [graph("track", seed) for seed in range(9)]
        far, negative, few = (graph("track", seed) for seed in (3, 4, 5))
        far["edge_index"] = far["edge_index"].copy()
        far["edge_index"][1, 0] = 1000
        negative["edge_index"] = negative["edge_index"].copy()
        negative["edge_index"][0, 2] = -1
        few["hit"] = few["hit"][:0]
        found = self.at_once(case.name, [*good[:4], far, *good[4:6], negative, few, *good[6:]])
        errors = {4: "map 'dst': expected indices from 0 to", 7: "found -1 at 2", 8: "('node' has 0 elements)"}
        self.assertIn("found 1000 at 0", str(found[4]))
        for at, text in errors.items():
            self.assertIsInstance(found[at], client_error())
            self.assertIn(text, str(found[at]))
        rest = [each for at, each in enumerate(found) if at not in errors]
        for given, each in zip(good, rest):
            self.assertIsInstance(each, dict, each)
            self.check(each, case.expected(given))
        # It goes on.
        self.check(infer(self.server.client, case.name, good[0]), case.expected(good[0]))

    def test_errors(self) -> None:
        connection = self.load("track")
        given = graph("track", 0)
        for name, array, text in (
            ("hit", given["hit"].astype(np.float64), "data-type is 'FP64', but model 'track' expects 'FP32'"),
            ("hit", given["hit"][:, :2], "unexpected shape for input 'hit'"),
            ("edge_index", given["edge_index"][:1], "unexpected shape for input 'edge_index'"),
            ("edges", given["edge_index"], "expected 2 inputs but got 3 inputs"),
        ):
            with self.assertRaises(client_error()) as caught:
                infer(connection, "track", {**given, name: array})
            self.assertIn(text, str(caught.exception))
        connection = self.load("pooled")
        given = graph("pooled", 1)
        for name, array, text in (
            ("w", given["w"][:-1], "space 'edge' has"),
            (
                "edge_type",
                given["edge_type"] + 3,
                "map 'etype': expected indices from 0 to 2 ('edge_type' has 3 elements)",
            ),
            ("batch", given["batch"] + len(given["u"]), "map 'batch': expected indices from 0 to"),
        ):
            with self.assertRaises(client_error()) as caught:
                infer(connection, "pooled", {**given, name: array})
            self.assertIn(text, str(caught.exception))
        connection = self.load("molecule")
        given = graph("molecule", 1)
        for name, array, text in (
            ("edge_index", given["edge_index"] + 100, "map 'src': expected indices from 0 to"),
            ("batch", given["batch"][:-1], "space 'node' has"),
            ("batch", given["batch"][:0], "max: expected a list that is not empty"),
        ):
            with self.assertRaises(client_error()) as caught:
                infer(connection, "molecule", {**given, name: array})
            self.assertIn(text, str(caught.exception))

    def test_what_may_be_left_out(self) -> None:
        """The outputs that are wanted; the map to graphs where there is one graph; graphs without edges."""
        connection, case = self.load("pooled"), self.cases["pooled"]
        given = graph("pooled", 2)
        one = {**given, "u": given["u"][:1], "batch": np.zeros(len(given["x"]), np.int64)}
        expected = case.expected(one)
        self.check(infer(connection, "pooled", one, ["hidden"]), {"hidden": expected["hidden"]})
        connection, case = self.load("readout"), self.cases["readout"]
        given = graph("readout", 3)
        x, batch = given["x"], given["batch"]
        self.check(infer(connection, "readout", {"x": x}), {"y": x.sum(0, keepdims=True)})
        self.check(infer(connection, "readout", {"x": x, "batch": batch}), case.expected(given))
        more = {**given, "graph.count": np.array([7])}
        self.assertEqual(infer(connection, "readout", more)["y"].shape, (7, 4))
        connection = self.load("track")
        given = graph("track", 2)
        given["edge_index"] = given["edge_index"][:, :0]
        found = infer(connection, "track", given)["score"]
        self.assertEqual(found.shape, (0,))

    def test_several_graphs_in_a_request(self) -> None:
        connection, case = self.load("track"), self.cases["track"]
        parts = [
            {"hit": graph("track", 7)["hit"] * factor, "edge_index": graph("track", 7)["edge_index"]}
            for factor in (1, 2, 3)
        ]
        stacked = {name: np.stack([part[name] for part in parts]) for name in parts[0]}
        found = infer(connection, "track", stacked, batched=False)["score"]
        for row, part in zip(found, parts):
            self.check({"score": row}, case.expected(part))
        self.assertEqual(self.count("track")[1], 1)

    def test_order_of_graphs_in_a_request(self) -> None:
        """Graphs that do not agree are calls of their own, in another order than in the request."""
        connection, case = self.load("shared"), self.cases["shared"]
        given = graph("shared", 7)
        parts = [
            {**given, "x": given["x"] * factor, "scale": np.full(4, scale, np.float32)}
            for factor, scale in ((1, 0), (2, 1), (3, 0), (4, 2), (5, 1))
        ]
        stacked = {name: np.stack([part[name] for part in parts]) for name in given}
        found = infer(connection, "shared", stacked, batched=False)["y"]
        for row, part in zip(found, parts):
            self.check({"y": row}, case.expected(part))
        self.assertEqual(self.count("shared")[1], 3)

    def test_long_lists(self) -> None:
        """What a request can make a list of is bounded, and lengths are right for any integers of 64 bits."""
        connection = self.load("lists")
        given = graph("lists", 1)
        many, least, most = 1 << 28, -(1 << 63), (1 << 63) - 1
        for at, number, text in (
            (1, many, f"arange: expected a length of 0 to 2^27, found {many}"),
            (1, most, f"arange: expected a length of 0 to 2^27, found {most}"),
            (3, many, f"full: expected a length of 0 to 2^27, found {many}"),
            (3, -1, "full: expected a length of 0 to 2^27, found -1"),
            (4, many, f"interleave: expected counts of 0 or more that sum up to at most 2^27, found {many} at 0"),
            (5, many, f"scatter_sum: expected a length of 0 to 2^27, found {many}"),
        ):
            bounds = given["bounds"].copy()
            bounds[at] = number
            with self.assertRaises(client_error()) as caught:
                infer(connection, "lists", {**given, "bounds": bounds})
            self.assertIn(text, str(caught.exception))
        x, none = np.zeros((4, 4), np.float32), np.zeros((2, 0), np.int64)
        for begin, end, step in ((least, most, 1 << 62), (most, least, -(1 << 62)), (0, least, -(1 << 61))):
            bounds = np.array([begin, end, step, 4, 4, 4])
            found = infer(connection, "lists", {"x": x, "edge_index": none, "bounds": bounds})["y"]
            expected = np.array([begin + i * step for i in range(4)], np.float32)
            np.testing.assert_allclose(found, np.repeat(expected[:, None], 4, 1) + 0, rtol=1e-6, atol=20)

    def test_no_memory_and_large_shapes(self) -> None:
        """Every allocation of a call fails once; shapes that overflow. Beside a server of the test's own."""
        if OPTIONS.backend:
            self.configure()
        run("cmake", "--build", FOLDER / "build", "--target", "FaultTest")
        folder = FOLDER / "faults"
        (folder / "1").mkdir(parents=True)
        shutil.copy(self.models / "track.so", folder / "1" / "model.so")
        backend = FOLDER / "backends" / "gnnc" / "libtriton_gnnc.so"
        self.assertRegex(run(FOLDER / "build" / "FaultTest", backend, folder), r"\d\d allocations failed, 0 failures")

    def test_one_tensor_a_map(self) -> None:
        """A configuration may name maps instead of pairs, with int32, and no batching."""
        tensors = """
max_batch_size: 0
input [ { name: "hit" data_type: TYPE_FP32 dims: [ -1, 3 ] }, { name: "src" data_type: TYPE_INT32 dims: [ -1 ] },
        { name: "dst" data_type: TYPE_INT32 dims: [ -1 ] } ]
output [ { name: "score" data_type: TYPE_FP32 dims: [ -1 ] } ]
parameters: { key: "threads" value: { string_value: "2" } }
"""
        case = self.place("track", tensors, called="track_maps")
        connection = self.load("track_maps")
        given = graph("track", 3)
        src, dst = given["edge_index"].astype(np.int32)
        found = infer(connection, "track_maps", {"hit": given["hit"], "src": src, "dst": dst}, batched=False)
        self.check(found, case.expected(given))

    def test_inspected_configurations(self) -> None:
        """What `gnnc inspect --triton` prints is what a server takes."""
        compiler = os.environ.get("GNNC_COMPILER", "gnnc")
        if OPTIONS.gpu or "--triton" not in run(compiler, "inspect", "--help"):
            self.skipTest("this compiler has no inspect --triton")
        for name in self.cases:
            text = run(compiler, "inspect", "--triton", self.models / f"{name}.so")
            self.assertIn("instance_group", text)
            case = self.place(name, text.replace('backend: "gnnc"\n', ""), called=f"{name}_inspected")
            connection = self.load(case.name)
            given = graph(name, 5)
            self.check(infer(connection, case.name, given, batched=self.batched(case.name)), case.expected(given))

    def test_refused_models(self) -> None:
        (FOLDER / "text.so").write_text("text")
        tensors = 'input [ {{ name: "{}" data_type: TYPE_FP32 dims: [ -1, 3 ] }} ]\n'
        for name, config, model, text in (
            ("track", "", self.models / "track.bare.so", "has no values for parameter 'embed': compile it with --params FILE --embed"),
            ("track", "", FOLDER / "text.so", "cannot load the model"),
            ("track", tensors.format("hits"), None, "the model has no input 'hits': expected one of hit, edge_index"),
            ("track", tensors.format("hit"), None, "the configuration lacks input 'edge_index'"),
            ("track", 'parameters: { key: "threads" value: { string_value: "many" } }', None, "expected a number of threads"),
        ):  # fmt: skip
            folder = self.repository / "refused"
            shutil.rmtree(folder, ignore_errors=True)
            (folder / "1").mkdir(parents=True)
            shutil.copy(model or self.models / f"{name}.so", folder / "1" / "model.so")
            kind = "KIND_GPU" if OPTIONS.gpu else "KIND_CPU"
            (folder / "config.pbtxt").write_text(f'backend: "gnnc"\ninstance_group [ {{ kind: {kind} }} ]\n{config}')
            with self.assertRaises(client_error()) as caught:
                self.server.client.load_model("refused")
            self.assertIn(text, str(caught.exception))

    def test_reload(self) -> None:
        """A file may be overwritten while it is served; what is loaded next is the new one."""
        case = self.place("track", called="changing")
        connection = self.server.client
        connection.load_model("changing")
        given = graph("track", 1)
        before = case.expected(given)
        other = (self.models / "degrees.so").read_bytes()
        for _ in range(2):
            with case.path.open("r+b") as file:  # the same file
                file.truncate(0)
                file.write(other)
            self.check(infer(connection, "changing", given), before)
            connection.unload_model("changing")
            wait_for(lambda: not connection.is_model_ready("changing"))
            connection.load_model("changing")
            other_given = graph("degrees", 1)
            self.check(infer(connection, "changing", other_given), self.cases["degrees"].expected(other_given))
            connection.unload_model("changing")
            wait_for(lambda: not connection.is_model_ready("changing"))
            shutil.copyfile(self.models / "track.so", case.path)
            connection.load_model("changing")
            self.check(infer(connection, "changing", given), before)
        connection.unload_model("changing")

    def test_device_memory(self) -> None:
        """Inputs and outputs in memory of the GPU."""
        if not OPTIONS.gpu:
            self.skipTest("no GPU")
        from tritonclient.utils import cuda_shared_memory as regions

        connection, case = self.load("track"), self.cases["track"]
        given = graph("track", 8)
        hit, edge_index = given["hit"][None], given["edge_index"][None]
        expected = case.expected(given)["score"]
        sizes = {"hit": hit.nbytes, "edge_index": edge_index.nbytes, "score": expected.nbytes}
        made = {name: regions.create_shared_memory_region(name, size, 0) for name, size in sizes.items()}
        for name, region in made.items():
            connection.register_cuda_shared_memory(name, regions.get_raw_handle(region), 0, sizes[name])
        regions.set_shared_memory_region(made["hit"], [hit])
        regions.set_shared_memory_region(made["edge_index"], [edge_index])
        inputs = [
            client.InferInput("hit", hit.shape, "FP32"),
            client.InferInput("edge_index", edge_index.shape, "INT64"),
        ]
        for each in inputs:
            each.set_shared_memory(each.name(), sizes[each.name()])
        output = client.InferRequestedOutput("score")
        output.set_shared_memory("score", sizes["score"])
        connection.infer("track", inputs, outputs=[output])
        found = regions.get_contents_as_numpy(made["score"], np.float32, expected.shape)
        self.check({"score": found.copy()}, {"score": expected})
        connection.unregister_cuda_shared_memory()

    def test_memory(self) -> None:
        """10 000 requests, and 40 times loading and unloading, leave the server as large as it was."""
        case = self.place(
            "track", "instance_group [ { kind: KIND_CPU count: 2 } ]\n" if not OPTIONS.gpu else "", called="long"
        )
        connection = self.load(case.name)
        graphs = [graph("track", seed) for seed in range(50)]
        expected = [case.expected(given)["score"] for given in graphs]

        def send(number: int) -> None:
            own = self.server.connect()
            for i in range(number):
                found = infer(own, case.name, graphs[i % 50])["score"]
                if i % 100 == 0:
                    self.check({"score": found}, {"score": expected[i % 50]})
            own.close()

        def many(number: int) -> None:
            with ThreadPoolExecutor(4) as pool:
                list(pool.map(send, [number // 4] * 4))

        many(2000)
        before = self.server.memory()
        many(10000)
        grown = self.server.memory() - before
        print(f"\n10 000 requests: {before >> 20} MiB, {grown / 2**20:+.1f} MiB", file=sys.stderr)
        self.assertLess(grown, 8 << 20)

        def again(times: int) -> None:
            for _ in range(times):
                connection.load_model("molecule")
                connection.unload_model("molecule")
                wait_for(lambda: not connection.is_model_ready("molecule"))

        again(10)
        before = self.server.memory()
        again(40)
        grown = self.server.memory() - before
        print(f"40 loads: {before >> 20} MiB, {grown / 2**20:+.1f} MiB", file=sys.stderr)
        self.assertLess(grown, 16 << 20)


def client_error() -> Any:
    from tritonclient.utils import InferenceServerException

    return InferenceServerException


def wait_for(done: Any) -> None:
    for _ in range(600):
        if done():
            return
        time.sleep(0.05)
    raise AssertionError("the server did not get there in 30 seconds")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--triton", metavar="PYTHON")
    parser.add_argument("--core", metavar="FOLDER")
    parser.add_argument("--gpu", action="store_true")
    parser.add_argument("--backend", metavar="FILE", help="a backend that was built, which is taken as it is")
    parser.add_argument("--models", metavar="FOLDER", help="compiled models, which are taken as they are")
    _, rest = parser.parse_known_args(namespace=OPTIONS)
    unittest.main(argv=[sys.argv[0], *rest], verbosity=2)
