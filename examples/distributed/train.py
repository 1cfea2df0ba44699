"""Trains a compiled model on the parts of a graph, one process a part, over torch.distributed.

    gnnc compile examples/tutorial/karate.gnn --distributed -o karate.so
    gnnc partition examples/data/karate.safetensors -k 2 --model karate.so -o parts
    torchrun --nproc-per-node 2 examples/distributed/train.py karate.so parts

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import sys

import numpy as np
import torch.distributed as dist

import gnnc
import gnnc.ranks


def main(path: str, folder: str, epochs: int) -> None:
    dist.init_process_group("gloo")
    ranks = gnnc.ranks.TorchRanks()
    model = gnnc.load(path, threads=1)
    graph = gnnc.ranks.load_part(model, f"{folder}/part.{ranks.rank}.safetensors", ranks)
    # Parameters and the optimiser's states are the same bits on all ranks.
    floats = np.float64 if model.description["dtype"] == "f64" else np.float32
    for value in model.description["params"] + model.description["states"]:
        rows = [graph.extent(value["space"])] if value["space"] else []
        model.parameters[value["name"]] = np.zeros(rows + value["dims"], floats)
    model.run("initialize", graph=graph, **graph.inputs)
    for epoch in range(1, epochs + 1):
        loss = model.run("train_step", graph=graph, **graph.inputs)["loss"]
        if ranks.rank == 0 and epoch % 10 == 0:
            print(f"epoch {epoch}, loss {float(loss):.6f}", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]) if len(sys.argv) > 3 else 50)
