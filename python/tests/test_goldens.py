# Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
# See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Exported models of PyTorch Geometric on arrays of NumPy: outputs and gradients on two graphs each, from one object.

The files are those of $GNNC_SHARED/goldens/pt2, and without them the test is skipped. By default it takes a few models,
one for each kind of data that a graph is made of; with GNNC_GOLDENS=all every one that the compiler accepts. With
GNNC_GOLDENS_DEVICE=cuda they run on tensors of PyTorch on a GPU.
"""

from __future__ import annotations

import json
import os
import tempfile
import unittest
import zipfile
from pathlib import Path
from typing import Any

import numpy as np

import gnnc
from gnnc import _compiler, _safetensors

FOLDER = Path(os.environ.get("GNNC_SHARED", "")) / "goldens" / "pt2"
DEVICE = os.environ.get("GNNC_GOLDENS_DEVICE", "cpu")
FEW = ["gcn", "gat", "sage_max", "sage_bipartite", "rgcn", "hetero", "hypergraph", "pool_mean", "user_masked"]
TOLERANCE = 1e-5
#: Standard deviations are differences of large numbers.
LOOSE = {"model_pna": 5e-5}


def weights(path: Path) -> dict[str, np.ndarray]:
    """Parameters and buffers of an exported program that are float32."""
    with zipfile.ZipFile(path) as archive:
        stem = archive.namelist()[0].partition("/")[0]
        config = json.loads(archive.read(f"{stem}/data/weights/model_weights_config.json"))["config"]
        result = {}
        for name, entry in config.items():
            meta = entry["tensor_meta"]
            if meta["dtype"] != 7:
                continue
            storage = np.frombuffer(archive.read(f"{stem}/data/weights/{entry['path_name']}"), "f4")
            shape = [size["as_int"] for size in meta["sizes"]]
            strides = [4 * stride["as_int"] for stride in meta["strides"]]
            begin = storage[meta["storage_offset"]["as_int"] :]
            result[name] = np.lib.stride_tricks.as_strided(begin, shape, strides).copy()
    return result


def options() -> list[str]:
    if DEVICE == "cpu":
        return ["--gradient"]
    import torch

    major, minor = torch.cuda.get_device_capability()
    return ["--gradient", "--target", "cpu,cuda", "--arch", f"sm_{major}{minor}"]


def to_device(array: np.ndarray) -> Any:
    if DEVICE == "cpu":
        return array
    import torch

    return torch.from_numpy(np.ascontiguousarray(array)).to(DEVICE)


def load(path: Path, tensors: dict[str, np.ndarray]) -> gnnc.Model:
    """With those of the tensors that the model has."""
    model = gnnc.load(path)
    known = model._description.params | model._description.states
    model.load_parameters({name: to_device(tensor) for name, tensor in tensors.items() if name in known})
    return model


@unittest.skipUnless(os.environ.get("GNNC_SHARED") and FOLDER.is_dir(), "GNNC_SHARED names no folder with goldens/pt2")
class GoldensTest(unittest.TestCase):
    def test_outputs_and_gradients(self) -> None:
        known = sorted(path.stem for path in FOLDER.glob("*.safetensors"))
        chosen = os.environ.get("GNNC_GOLDENS", "")
        names = known if chosen == "all" else chosen.split() or [name for name in FEW if name in known]
        self.assertTrue(names)
        refused = []
        with tempfile.TemporaryDirectory() as folder:
            for name in names:
                with self.subTest(name):
                    output = Path(folder) / f"{name}.so"
                    try:
                        _compiler.run_compiler(FOLDER / f"{name}.pt2", output, options())
                    except gnnc.CompileError as error:
                        refused.append(f"{name}: {error}")
                        continue
                    self.check(name, load(output, weights(FOLDER / f"{name}.pt2")))
        if refused:
            print("\nrefused by the compiler, not tested here:", *refused, sep="\n  ")
        self.assertLess(len(refused), len(names))

    def check(self, name: str, model: gnnc.Model) -> None:
        file = _safetensors.load(FOLDER / f"{name}.safetensors")
        names = model._arguments.names
        outputs = list(model._description.outputs)
        for prefix in ("", "b."):
            tensors = {key[len(prefix) :]: value for key, value in file.items() if key.startswith("b.") == bool(prefix)}
            arguments = {key: tensors[key] for key in names if key in tensors}
            seeds = {f"grad.{output}": tensors[f"cot.{i}"] for i, output in enumerate(outputs) if f"cot.{i}" in tensors}
            for output in outputs:  # an output that is given no cotangent
                if f"grad.{output}" not in seeds:
                    shape = tensors[f"out.{outputs.index(output)}"].shape
                    seeds[f"grad.{output}"] = np.zeros(shape, "f4")
            found = model.gradient(**{name: to_device(array) for name, array in (arguments | seeds).items()})
            found = {name: array if DEVICE == "cpu" else array.cpu().numpy() for name, array in found.items()}
            expected = {output: tensors[f"out.{i}"] for i, output in enumerate(outputs)}
            for key, value in tensors.items():
                if key.startswith("grad."):
                    expected[key.replace("grad.param.", "grad.", 1)] = value
            for key, value in expected.items():
                if key in found:
                    self.close(f"{name} {prefix}{key}", found[key], value, LOOSE.get(name, TOLERANCE))
                else:
                    self.assertFalse(np.any(value), f"{key} is missing")

    def close(self, what: str, found: np.ndarray, expected: np.ndarray, tolerance: float) -> None:
        self.assertEqual(found.shape, expected.shape, what)
        scale = max(float(np.abs(expected).max(initial=0)), 1.0)
        self.assertLessEqual(float(np.abs(found - expected).max(initial=0)), tolerance * scale, what)


if __name__ == "__main__":
    unittest.main()
