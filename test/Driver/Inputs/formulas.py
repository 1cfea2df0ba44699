"""Floors of small models in exact numbers, and random formulas that the front end takes without a warning.

formulas.py BENCHMARKS GNNC FOLDER
"""

import json
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, sys.argv[1])

from harness.floor import Definition, Need, Rates  # noqa: E402
from harness.formulas import LATER, formula  # noqa: E402

NODES, EDGES = 20000, 100000
EXTENTS = {"node": NODES, "edge": EDGES, "edge_type": 3}

# Operations and numbers gathered, forward and with the gradient.
CASES = {
    "a product with rows of one end is one of nodes, and the narrower row is gathered": (
        "input x: node[a = 8] \n param W[a, b = 4] \n output y = sum(x.src @ W)",
        (2 * 8 * 4 * NODES + 4 * EDGES, 4 * EDGES),
        (3 * 2 * 8 * 4 * NODES + 2 * 4 * EDGES, 2 * 4 * EDGES),
    ),
    "what is joined is multiplied part by part": (
        "input x: node[a = 8], e: edge[d = 2] \n param W[j = 18, b = 16] \n"
        "output y = relu(concat(x.src, x.dst, e, axis: j) @ W)",
        (2 * 16 * (2 * 8 * NODES + 2 * EDGES) + 16 * EDGES, 8 * EDGES),
        (3 * 2 * 16 * (2 * 8 * NODES + 2 * EDGES) + 2 * 16 * EDGES, 2 * 8 * EDGES),
    ),
    "a product of edges that is only summed with weights is one of nodes": (
        "input w: edge[], e: edge[a = 8] \n param W[a, b = 16] \n output y = sum(w * (e @ W))",
        (2 * 8 * 16 * NODES + 2 * EDGES * 8 + 16 * EDGES + 16 * EDGES, 0),
        (3 * (2 * 8 * 16 * NODES + 2 * EDGES * 8) + 3 * 16 * EDGES + 2 * 16 * EDGES, 0),
    ),
    "and one that only meets rows of nodes": (
        "input q: node[c = 16], e: edge[a = 8] \n param W[a, c] \n output y = sum(q.dst * (e @ W), over: c)",
        (2 * 8 * 16 * NODES + 2 * EDGES * 8 + 16 * EDGES + 16 * EDGES, 0),
        (3 * (2 * 8 * 16 * NODES + 2 * EDGES * 8) + 3 * 16 * EDGES + 2 * 16 * EDGES, 0),
    ),
    "a further factor of one number an edge changes nothing": (
        "input q: node[c = 16], e: edge[a = 8], w: edge[] \n param W[a, c] \n output y = sum(q.dst * (w * (e @ W)), over: c)",
        (2 * 8 * 16 * NODES + 2 * EDGES * 8 + 3 * 16 * EDGES, 0),
        (3 * (2 * 8 * 16 * NODES + 2 * EDGES * 8) + (3 + 3 + 2) * 16 * EDGES, 0),
    ),
    "a product that something else uses too stays on edges": (
        "input w: edge[], e: edge[a = 8] \n param W[a, b = 16] \n let z = e @ W \n output y = sum(w * z) \n output v = z",
        (2 * 8 * 16 * EDGES + 16 * EDGES + 16 * EDGES, 0),
        (3 * 2 * 8 * 16 * EDGES + 3 * 16 * EDGES + 2 * 16 * EDGES, 0),
    ),
    "what is written twice counts once, a softmax is 19 operations a number": (
        "input x: node[a = 4] \n output y = sum(softmax(x.src) * x.src)",
        (19 * 4 * EDGES + 4 * EDGES + 4 * EDGES, 4 * EDGES),
        (20 * 4 * EDGES + 3 * 4 * EDGES + 2 * 4 * EDGES, 2 * 4 * EDGES),
    ),
}


def definition(name: str, text: str) -> Definition:
    source = Path(sys.argv[3]) / f"{name}.gnn"
    source.write_text(text)
    command = [sys.argv[2], "compile", str(source), "--emit", "json", "--werror", "-o", "-"]
    return Definition(json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout))


def main() -> None:
    for what, (text, *expected) in CASES.items():
        model = definition("case", f"model Case {{\n{text}\n}}\n")
        for gradient, (operations, numbers) in enumerate(expected):
            found = model.need(EXTENTS.__getitem__, lambda name: name == "dst", bool(gradient))
            if found != (4 * numbers, operations):
                sys.exit(f"{what}: expected {4 * numbers} bytes and {operations} operations, found {found}")
    rates = Rates(copy=10, cache=20, product=100)
    assert Need(moved=10, gathered=10, operations=10).seconds(rates) == 1
    assert Need(moved=1, gathered=60, operations=10).longest(rates) == "gathers"
    print(f"{len(CASES)} floors")
    for seed in [*range(30), *range(LATER, LATER + 10)]:
        made = formula(seed)
        assert made == formula(seed)
        definition(made.name, made.text).need(lambda name: EXTENTS.get(name, NODES), lambda name: name == "dst", True)
    print("40 formulas")


if __name__ == "__main__":
    main()
