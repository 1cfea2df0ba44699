#!/usr/bin/env python3
# Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
# See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Makes what fuzz targets start from, out of the repository's examples: corpus.py --gnnc GNNC --out DIR.

One folder a target, and for checkpoints model.so and graph.safetensors beside them. What is there already stays, but for
files that are made from others that have changed since.
"""

import argparse
import glob
import io
import json
import os
import re
import shutil
import struct
import subprocess
import sys
import zipfile

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


def stored(sizes, strides, number=7):
    """Notes on a tensor, as torch.export has them; a size that is a name is a symbol."""
    size = lambda each: {"as_expr": {"expr_str": f"Symbol('{each}', positive=True, integer=True)", "hint": None}}
    return {
        "dtype": number,
        "sizes": [{"as_int": each} if isinstance(each, int) else size(each) for each in sizes],
        "requires_grad": False,
        "device": {"type": "cpu", "index": None},
        "strides": [{"as_int": each} for each in strides],
        "storage_offset": {"as_int": 0},
        "layout": 7,
    }


def exported_program():
    """The entries of an archive of torch.export: relu(x @ w) without gradients, added up along an index."""
    tensor = lambda name: {"as_tensor": {"name": name}}

    def node(name, target, outputs, **inputs):
        listed = [{"name": key.strip("_"), "arg": value, "kind": 1} for key, value in inputs.items()]
        notes = {"stack_trace": '  File "me.py", line 3, in forward\n    return x', "nn_module_stack": "k,,Net;k@1,a.b,c.D"}
        return {"name": name, "target": target, "inputs": listed, "outputs": outputs, "metadata": notes}

    def graph(inputs, outputs, nodes, tensors, integers):
        return {
            "inputs": [tensor(name) for name in inputs],
            "outputs": [tensor(name) for name in outputs],
            "nodes": nodes,
            "tensor_values": tensors,
            "sym_int_values": integers,
            "sym_bool_values": {},
            "sym_float_values": {},
        }

    rows = stored(["s0", 2], [2, 1])
    relu = node("relu", "torch.ops.aten.relu.default", [tensor("relu")], self=tensor("arg"))
    inner = graph(["arg"], ["relu"], [relu], {"arg": rows, "relu": rows}, {})
    name = {"as_name": "n"}
    size = {"as_expr": {"expr_str": "Max(Integer(1), Add(Mul(Integer(2), Symbol('s0')), Mod(Symbol('u0'), Integer(3))))"}}
    nodes = [
        node("n", "torch.ops.aten.sym_size.int", [{"as_sym_int": name}], self=tensor("x"), dim={"as_int": 0}),
        node("mm", "torch.ops.aten.mm.default", [tensor("mm")], self=tensor("x"), mat2=tensor("w")),
        node("wrap", "torch.ops.higher_order.wrap_with_set_grad_enabled", [{"as_tensors": [{"name": "h"}]}],
             _={"as_bool": False}, __={"as_graph": {"name": "g", "graph": inner}}, ___=tensor("mm")),
        node("z", "torch.ops.aten.new_full.default", [tensor("z")], self=tensor("x"),
             size={"as_sym_ints": [name, {"as_int": 2}]}, fill_value={"as_float": "-Infinity"},
             dtype={"as_scalar_type": 7}, layout={"as_none": True}),
        node("y", "torch.ops.aten.index_put.default", [tensor("y")], self=tensor("z"), values=tensor("h"),
             indices={"as_optional_tensors": [tensor("i"), {"as_none": True}]}, accumulate={"as_bool": True},
             shape={"as_ints": [1, -1]}, reduce={"as_string": "sum"}),
    ]
    tensors = {"w": stored([3, 2], [2, 1]), "x": stored(["s0", 3], [3, 1]), "i": stored(["s1"], [1], 5)}
    tensors.update({each: rows for each in ("mm", "h", "z", "y")})
    inputs = [{"parameter": {"arg": {"name": "w"}, "parameter_name": "lin.w"}}]
    inputs += [{"user_input": {"arg": tensor(each)}} for each in ("x", "i")]
    inputs += [{"constant_input": {"name": "k", "value": {"as_int": 3}}}]
    whole = graph(["w", "x", "i"], ["y"], nodes, tensors, {"n": size})
    whole["inputs"].append({"as_int": 3})
    model = {
        "graph_module": {
            "graph": whole,
            "signature": {"input_specs": inputs, "output_specs": [{"user_output": {"arg": tensor("y")}}]},
        },
        "range_constraints": {"s0": {"min_val": 2, "max_val": None}},
        "schema_version": {"major": 8, "minor": 20},
        "verifiers": ["TRAINING"],
        "torch_version": "2.15.0",
    }
    weight = {"path_name": "weight_0", "is_param": True, "use_pickle": False, "tensor_meta": tensors["w"]}
    return {
        "archive_format": "pt2",
        "byteorder": "little",
        "models/model.json": json.dumps(model, separators=(",", ":")),
        "data/weights/model_weights_config.json": json.dumps({"config": {"lin.w": weight}}, separators=(",", ":")),
        "data/weights/weight_0": "\0" * 24,
    }


def zipped(entries, method):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", method) as archive:
        for name, text in entries.items():
            archive.writestr("m/" + name, text)
    return file.getvalue()


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

    entries = exported_program()
    # As a table, which is how the target packs an archive itself: mutations keep its check sums right.
    table = b"".join(name.encode() + b"\0" + struct.pack("<I", len(text))[:3] + text.encode() for name, text in entries.items())
    write(f"{out}/archives/table", table)
    write(f"{out}/archives/stored", zipped(entries, zipfile.ZIP_STORED))
    write(f"{out}/archives/deflated", zipped(entries, zipfile.ZIP_DEFLATED))

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
    schema = set(re.findall(r'"\w+"|[A-Z]\w+\(', "".join(entries.values())))
    dictionaries = {"texts": words, "json": keys, "safetensors": formats, "tunings": tuning, "checkpoints": formats}
    dictionaries["archives"] = schema
    for name, entries in dictionaries.items():
        quoted = ('"' + entry.replace("\\", "\\\\").replace('"', '\\"') + '"\n' for entry in sorted(entries))
        write(f"{out}/{name}.dict", "".join(quoted))


if __name__ == "__main__":
    main()
