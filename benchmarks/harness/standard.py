"""Layers of the standard library at all widths and numbers of heads, as formulas that are judged like random ones.

    python3 benchmarks gpu.formulas compile --standard --out objects [--layers GAT GCN]
    python3 benchmarks gpu.formulas run objects --out standard.json
    python3 benchmarks gpu.formulas table standard.json

The input of a layer is as wide as its result. An object is measured on three kinds of graphs. The table gives time over
floor of a layer and a graph by width, and marks what is above LIMIT, or NEIGHBOUR times both cells beside it.
"""

from __future__ import annotations

import re

from harness.formulas import TYPES, Formula

GRAPHS = ("citation", "social", "roads")
WIDTHS = (16, 17, 32, 50, 64, 100, 128, 256, 500, 512, 1024)
# Heads, and numbers of each.
HEADS = (
    *((1, width) for width in (16, 17, 64, 256, 1024)),
    *((3, width) for width in (7, 21, 85)),
    *((4, width) for width in (4, 16, 25, 64, 128, 256)),
    *((8, width) for width in (8, 16, 32, 50, 64, 128)),
    *((16, width) for width in (4, 16, 31, 64)),
)
EDGE = 16  # features of an edge
LIMIT, NEIGHBOUR = 3, 1.5

# What follows the name of the layer in its call; `{width}` numbers are wanted.
PLAIN = {
    "GCNPlain": "(x, out: {width})",
    "GCN": "(x, out: {width})",
    "APPNP": "(x, hops: 3)",
    "SAGE": "(x, out: {width})",
    "SAGEMax": "(x, out: {width})",
    "GIN": "(x, hidden: {width})",
    "EdgeConv": "(x, out: {width})",
    "EdgeConvMLP": "(x, hidden: {width}, out: {width})",
    "GMM": "(x, p, kernels: 3, out: {width})",
    "AGNN": "(x)",
    "RGCN": "(x, out: {width})",
    "RGCNBasis": "(x, bases: 4, out: {width})",
    "EdgeNetwork": "(x, e, hidden: {width}, out: {width})",
    "NodeNetwork": "(x, e, hidden: {width}, out: {width})",
    "LayerNorm": "(x)",
    "BatchNorm": "(x)",
}
ATTENTION = {
    "GATPlain": "(x, heads: {heads}, out: {width})",
    "GATv2Plain": "(x, heads: {heads}, out: {width})",
    "GATv2EdgePlain": "(x, e, heads: {heads}, out: {width})",
    "GraphTransformer": "(x, heads: {heads}, out: {width})",
    "GraphTransformerEdge": "(x, e, heads: {heads}, out: {width})",
    "SimpleHGN": "(x, heads: {heads}, out: {width}, relation_dim: 16)",
}
TYPED = ("RGCN", "RGCNBasis", "SimpleHGN")


def text_of(name: str, layer: str, call: str, width: int) -> str:
    inputs = f"x: node[{width}]"
    if "e," in call:
        inputs += f", e: edge[{EDGE}]"
    if "p," in call:
        inputs += ", p: edge[2]"
    sizes = f"(edge_type: int = {TYPES})" if layer in TYPED else ""
    return f"import std\n\nmodel {name}{sizes} {{\n  input {inputs}\n  output y = {layer}{call}\n}}\n"


def formulas(layers: list[str]) -> list[Formula]:
    """Those of these layers; of all, if none is named."""
    if unknown := [layer for layer in layers if layer not in PLAIN and layer not in ATTENTION]:
        raise SystemExit(f"expected layers of {', '.join([*PLAIN, *ATTENTION])}, found '{unknown[0]}'")
    made = []
    for layer, call in (PLAIN | ATTENTION).items():
        if layers and layer not in layers:
            continue
        for heads, width in HEADS if layer in ATTENTION else [(0, width) for width in WIDTHS]:
            shape = f"{heads}x{width}" if heads else str(width)
            text = text_of(
                f"{layer}_{shape}", layer, call.format(heads=heads, width=width), width=max(heads, 1) * width
            )
            parts = (layer, f"{heads} heads of {width}" if heads else f"width {width}")
            for graph in GRAPHS:
                made.append(Formula(f"{layer}_{shape}_{graph}", graph, text, parts, f"{layer}_{shape}"))
    return made


def shape_of(record: dict) -> tuple[str, tuple[int, int]] | None:
    """The layer, and its heads (0: none) and numbers of each; of other formulas none."""
    found = re.fullmatch(r"([A-Za-z0-9]+)_(?:(\d+)x)?(\d+)_[a-z]+", record.get("name", ""))
    return (found[1], (int(found[2] or 0), int(found[3]))) if found else None


def ratio_of(record: dict, program: str) -> float | None:
    return record.get("programs", {}).get(program, {}).get("ratio")


def is_above(ratio: float) -> bool:
    return ratio > LIMIT


def is_apart(ratio: float, beside: list[float]) -> bool:
    return bool(beside) and ratio > NEIGHBOUR * max(beside)


def rows_of(records: list[dict], shapes: list[tuple[int, int]], program: str) -> dict[tuple[str, str], list]:
    """For each layer and graph its cells: None where there is none, or the ratio (None: failed) and those beside it."""
    found: dict[tuple[str, str], dict[tuple[int, int], float | None]] = {}
    for record in records:
        if (shape := shape_of(record)) and shape[1] in shapes:
            found.setdefault((shape[0], record["graph"]), {})[shape[1]] = ratio_of(record, program)
    rows: dict[tuple[str, str], list] = {}
    for key, own in found.items():
        cells = rows.setdefault(key, [])
        for i, shape in enumerate(shapes):
            near = [shapes[j] for j in (i - 1, i + 1) if 0 <= j < len(shapes) and shapes[j][0] == shape[0]]
            beside = [ratio for other in near if (ratio := own.get(other))]
            cells.append((own[shape], beside) if shape in own else None)
    return rows


def shown(cell: tuple[float | None, list[float]] | None) -> str:
    if cell is None:
        return ""
    ratio, beside = cell
    if ratio is None:
        return "failed"
    text = f"{ratio:.2f}" if ratio < 10 else f"{ratio:.0f}"
    return (f"**{text}**" if is_above(ratio) else text) + ("*" if is_apart(ratio, beside) else "")


def table(records: list[dict], program: str) -> list[str]:
    """Rows: layers and graphs. Columns: widths, or heads and widths. Bold: above LIMIT; a star: NEIGHBOUR times both."""
    lines: list[str] = []
    cells = []
    for shapes in ([(0, width) for width in WIDTHS], list(HEADS)):
        if not (rows := rows_of(records, shapes, program)):
            continue
        names = [f"{heads} × {width}" if heads else str(width) for heads, width in shapes]
        lines += ["", f"| {program} | {' | '.join(names)} |", "|---|" + "---:|" * len(shapes)]
        for (layer, graph), row in rows.items():
            lines.append(f"| {layer}, {graph} | {' | '.join(shown(cell) for cell in row)} |")
            cells += [cell for cell in row if cell and cell[0]]
    above, apart = sum(is_above(cell[0]) for cell in cells), sum(is_apart(*cell) for cell in cells)
    lines += ["", f"{len(cells)} cells, {above} above {LIMIT}, {apart} more than {NEIGHBOUR} times those beside them."]
    return lines
