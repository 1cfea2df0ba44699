#!/usr/bin/env python3
# Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
# See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Makes what fuzz targets start from, out of the repository's examples: corpus.py --gnnc GNNC --out DIR.

One folder a target, and for checkpoints model.so and graph.safetensors beside them. What is there already stays, but for
files that are made from others that have changed since.
"""

import argparse
import glob
import json
import os
import re
import shutil
import struct
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

# A model that trains: few parameters, a state, an optimiser's states, metrics.
TRAINED = """import std
model Trained(class: int = 3) {
  input x: node[in = 3]
  let h = relu(BatchNorm(GCN(x, out: 4) as c1) as n)
  let logits = GCN(h, out: class) as c2
  output y = logits
  loss = CrossEntropy(logits.train, onehot(label).train)
  metric val_accuracy = Accuracy(logits.val, onehot(label).val)
  train Adam(lr: 0.01)
}
"""

TUNINGS = [
    "gnnc-tune 1 0000000000000abc\n",
    "gnnc-tune 1 0000000000000abc\ngraph cpu # a comment\nextent node 100\nextent edge 1000\nfunction forward forward.a\n\n"
    "# another\r\ngraph cpu\n extent\tnode 120 \r\nextent edge 1000\nfunction forward forward.b",
    "gnnc-tune 1 0000000000000abc\ngraph cuda 90\nextent node 100\nsweep k1 by_size 64 16\ngraph cuda 80\n"
    "sweep k1 by_owner 2 2\n",
]

WIDTHS = {"F32": ("f", 4), "F64": ("d", 8), "I32": ("i", 4), "I64": ("q", 8), "F16": ("e", 2), "BF16": ("H", 2)}


def write(path, content):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as file:
        file.write(content.encode() if isinstance(content, str) else content)


def safetensors(tensors, metadata=None):
    """A file of `(name, type, shape, numbers)`."""
    header, data = ({"__metadata__": metadata} if metadata else {}), b""
    for name, kind, shape, numbers in tensors:
        packed = struct.pack(f"<{len(numbers)}{WIDTHS[kind][0]}", *numbers)
        header[name] = {"dtype": kind, "shape": shape, "data_offsets": [len(data), len(data) + len(packed)]}
        data += packed
    text = json.dumps(header, separators=(",", ":")).encode()
    return struct.pack("<Q", len(text)) + text + data


def small_file():
    """A graph with what the fuzz targets' models ask for, and parameters."""
    return safetensors(
        [
            ("edge_index", "I64", [2, 4], [0, 1, 2, 0, 1, 2, 0, 0]),
            ("x", "F32", [3, 3], [0.5] * 9),
            ("w", "F64", [4], [1, 2, 3, 4]),
            ("W", "F32", [3, 2], [1, 2, 3, 4, 5, 6]),
            ("b", "BF16", [2], [0, 16256]),
            ("s", "F16", [3, 2], [0, 1, 2, 3, 4, 5]),
        ],
        {"num_nodes": "3"},
    )


def sparse_file():
    return safetensors(
        [
            ("x_indptr", "I32", [4], [0, 1, 1, 3]),
            ("x_indices", "I32", [3], [2, 0, 1]),
            ("x_values", "F32", [3], [1, 2, 3]),
            ("W", "F32", [3, 2], [1, 2, 3, 4, 5, 6]),
            ("b", "F32", [2], [0, 1]),
            ("s", "F32", [3, 2], [0, 1, 2, 3, 4, 5]),
        ]
    )


def cut(path):
    """A file of the examples with the same names and types, but no axis longer than three."""
    with open(path, "rb") as file:
        header = json.loads(file.read(struct.unpack("<Q", file.read(8))[0]))
    tensors = []
    for name, tensor in header.items():
        if name == "__metadata__" or tensor["dtype"] not in WIDTHS:
            continue
        shape = [min(size, 3) for size in tensor["shape"]]
        count = 1
        for size in shape:
            count *= size
        tensors.append((name, tensor["dtype"], shape, [i % 2 for i in range(count)]))
    return safetensors(tensors, header.get("__metadata__"))


def run(*command):
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"corpus: error: {' '.join(command)}: {done.stderr.strip()}")
    return done.stdout


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--gnnc", required=True, help="the compiler")
    parser.add_argument("--out", required=True, help="the folder to write to")
    options = parser.parse_args()
    out = options.out
    shutil.rmtree(out, ignore_errors=True)

    models = sorted(glob.glob(f"{ROOT}/examples/**/*.gnn", recursive=True))
    texts = models + sorted(glob.glob(f"{ROOT}/lib/Frontend/std/*.gnn")) + sorted(glob.glob(f"{ROOT}/test/Pipelines/*.gnn"))
    words = set()
    for i, path in enumerate(texts):
        with open(path, encoding="utf-8") as file:
            text = file.read()
        write(f"{out}/texts/{i}-{os.path.basename(path)}", text)
        words.update(re.findall(r"[A-Za-z_]\w*|[-+*/@^?:<>=!&|.,()\[\]{}]+", re.sub(r"//.*", "", text)))
    for i, path in enumerate(models):
        write(f"{out}/json/{i}.json", run(options.gnnc, "compile", path, "--emit", "json"))
    for path in glob.glob(f"{ROOT}/examples/**/*.map.json", recursive=True):
        shutil.copy(path, f"{out}/json/{os.path.basename(os.path.dirname(path))}.map.json")
    write(f"{out}/json/map.json", '{"W": {"from": "lin.weight", "steps": [{"transpose": true}]}, "b": "lin.bias"}')
    keys = set()
    for path in glob.glob(f"{out}/json/*.json"):
        with open(path, encoding="utf-8") as file:
            keys.update(re.findall(r'"[\w.]+"', file.read()))

    write(f"{out}/safetensors/small", small_file())
    write(f"{out}/safetensors/sparse", sparse_file())
    for path in glob.glob(f"{ROOT}/examples/data/*.safetensors"):
        write(f"{out}/safetensors/{os.path.basename(path)}", cut(path))
    for i, text in enumerate(TUNINGS):
        write(f"{out}/tunings/{i}", text)

    trained = f"{out}/trained"
    write(f"{trained}/model.gnn", TRAINED)
    write(
        f"{trained}/graph.safetensors",
        safetensors(
            [
                ("edge_index", "I64", [2, 4], [0, 1, 2, 0, 1, 2, 0, 0]),
                ("x", "F32", [3, 3], [0.5, 1, -1, 0, 0.25, 1, 2, -0.5, 0]),
                ("y", "I64", [3], [0, 1, 2]),
                ("train_idx", "I64", [2], [0, 2]),
                ("val_idx", "I64", [1], [1]),
            ],
            {"num_nodes": "3"},
        ),
    )
    run(options.gnnc, "compile", f"{trained}/model.gnn", "-o", f"{trained}/model.so")
    os.makedirs(f"{out}/checkpoints")
    for epochs in ("1", "3"):
        run(options.gnnc, "train", f"{trained}/model.so", "--graph", f"{trained}/graph.safetensors", "--epochs", epochs,
            "--checkpoint", f"{out}/checkpoints/{epochs}", "--params-out", f"{trained}/params.safetensors")

    # Dictionaries: words to put in.
    formats = ['"dtype"', '"shape"', '"data_offsets"', '"__metadata__"', *(f'"{name}"' for name in WIDTHS)]
    tuning = sorted(set(re.findall(r"\S+", " ".join(TUNINGS))))
    dictionaries = {"texts": words, "json": keys, "safetensors": formats, "tunings": tuning, "checkpoints": formats}
    for name, entries in dictionaries.items():
        quoted = ('"' + entry.replace("\\", "\\\\").replace('"', '\\"') + '"\n' for entry in sorted(entries))
        write(f"{out}/{name}.dict", "".join(quoted))


if __name__ == "__main__":
    main()
