"""Cuts a graph with as much data memory as an argument says in MiB: partition_limited.py MIB FOLDER [OPTION ...]

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import array
import json
import resource
import subprocess
import sys

NODES, TIMES = 100_000, 80

limit, folder, options = int(sys.argv[1]) << 20, sys.argv[2], sys.argv[3:]
nodes = array.array("i", range(NODES))
src, dst = array.array("i"), array.array("i")
for shift in range(TIMES):
    src += nodes[shift:] + nodes[:shift]
    dst += nodes
count = len(src)
header = json.dumps(
    {
        "__metadata__": {"num_nodes": str(NODES)},
        "edge_index": {"dtype": "I32", "shape": [2, count], "data_offsets": [0, 8 * count]},
    }
).encode()
header += b" " * (-len(header) % 8)
with open(f"{folder}/large.safetensors", "wb") as file:
    file.write(len(header).to_bytes(8, "little") + header)
    file.write(src.tobytes() + dst.tobytes())
command = ["gnnc", "partition", f"{folder}/large.safetensors", *options]
done = subprocess.run(command, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_DATA, (limit, limit)))
sys.exit(done.returncode)
