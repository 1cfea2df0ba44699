"""What a program needs at least, from its definition: nothing here knows which kernels were made of it.

The floor of a program on a graph is the longest of three times:

- its inputs, parameters, index arrays and outputs, each once, at the rate of a copy;
- gathered rows at the rate of the second-level cache: along a map whose indices do not ascend, each element reads a row
  of what is moved, or of what is reduced; a value that is moved along one map counts once, however often it is used;
- operations at the rate of a product: 2 for a multiplication and an addition, 1 for any other, 16 for an exponential
  or a like function (twice that for a power), 19 for a number of a softmax or a logarithm of a sum of exponentials.

Operations are those of the cheapest algebra known for the formula as it is written:

- what depends on moved values of one place alone counts once for each element of that place (`x.src @ W`: of nodes);
- a product of something joined or added counts for each part, at its own place, where that is less;
- a product with a shared factor that is only summed afterwards, with weights or without, or only multiplied by rows of
  another place and summed over its axis, counts at the place of the sum or of those rows, where that is less;
- a row is gathered at the least width at which what follows could be computed before the movement.

A gradient adds the transposed of each: a product's work once for each operand that has a gradient, an elementwise
operation's once for each (2 for a function), and the rows of each movement once more.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass

FUNCTION = 16
SOFTMAX = 19
CHEAP = {"neg", "abs", "sign", "square", "relu", "sqrt", "rsqrt", "recip", "leaky_relu"}
LOCAL = {
    "unary",
    "binary",
    "select",
    "contract",
    "fold",
    "concat",
    "slice",
    "rename",
    "merge",
    "split",
    "permute",
    "detach",
}
NUMBER = 4  # bytes
SHARED = ""  # the space of shared values

Axes = tuple[tuple[str, int], ...]
Place = tuple[str, tuple[str, ...]]  # a space, and the maps by which its rows were moved to where a value resides


@dataclass
class Rates:
    """What the machine reached: bytes a second of a copy and from the second-level cache, operations a second of a product."""

    copy: float
    cache: float
    product: float


@dataclass
class Need:
    """Bytes that move once, bytes of gathered rows, and operations."""

    moved: float
    gathered: float
    operations: float

    def seconds(self, rates: Rates) -> float:
        return max(self.moved / rates.copy, self.gathered / rates.cache, self.operations / rates.product)

    def longest(self, rates: Rates) -> str:
        times = {
            "copy": self.moved / rates.copy,
            "gathers": self.gathered / rates.cache,
            "operations": self.operations / rates.product,
        }
        return max(times, key=lambda name: times[name])


@dataclass
class Value:
    op: dict
    space: str
    axes: Axes
    args: list[int]
    place: Place
    gradient: bool  # whether anything that has a gradient goes into it
    pieces: dict[Place, int]  # last axes that come from a place each, where it is joined or added from several

    @property
    def kind(self) -> str:
        return self.op.get("op", "given")

    @property
    def numbers(self) -> int:
        total = 1
        for _, size in self.axes:
            total *= size
        return total


def product_of(axes: Axes | set[tuple[str, int]]) -> int:
    total = 1
    for _, size in axes:
        total *= size
    return total


class Definition:
    """A model in its JSON form (`gnnc compile --emit json`)."""

    def __init__(self, model: dict) -> None:
        self.model = model
        self.maps: dict[str, tuple[str, str]] = {}
        self.values: list[Value] = []
        self.names: dict[str, int] = {}
        self.known: dict[str, int] = {}  # operations by what they are
        self._read_maps()
        for kind in ("inputs", "params", "states"):
            for given in model[kind]:
                axes = tuple((axis["name"], axis["size"]) for axis in given["axes"])
                space = given.get("on", SHARED)
                value = Value(given, space, axes, [], (space, ()), kind != "states", {})
                self._enter(given["name"], value)
        for op in model["ops"]:
            self._read(op)
        self.users: list[list[int]] = [[] for _ in self.values]
        self._find_users()

    # Reading

    def _read_maps(self) -> None:
        spaces = {space["name"]: space for space in self.model["spaces"]}
        waiting = list(self.model["maps"])
        while waiting:
            left = []
            for entry in waiting:
                ends = self._ends(entry, spaces)
                if ends is None:
                    left.append(entry)
                else:
                    self.maps[entry["name"]] = ends
            if len(left) == len(waiting):
                raise ValueError(f"map '{left[0]['name']}': what it is derived from is not there")
            waiting = left

    def _ends(self, entry: dict, spaces: dict[str, dict]) -> tuple[str, str] | None:
        kind, of = entry["kind"], entry.get("of", "")
        if "from" in entry:
            return entry["from"], entry["to"]
        if "to" in entry:
            return of, entry["to"]
        if kind == "inclusion":
            return of, spaces[of]["base"]
        if kind == "part":
            return of, spaces[of]["parts"][entry["part"]]
        if kind == "class":
            return spaces[of]["base"], of
        names = entry["maps"] if "maps" in entry else [spaces[of]["maps"][entry["part"]]]
        if any(name not in self.maps for name in names):
            return None
        if kind == "projection":
            return of, self.maps[names[0]][1]
        if kind == "last":
            return self.maps[names[0]][1], self.maps[names[0]][0]
        return self.maps[names[0]][0], self.maps[names[-1]][1]

    def _enter(self, name: str, value: Value) -> None:
        self.names[name] = len(self.values)
        self.values.append(value)

    def _read(self, op: dict) -> None:
        args = [self.names[name] for name in op.get("args", [])]
        key = json.dumps({**{k: v for k, v in op.items() if k not in ("name", "loc")}, "args": args}, sort_keys=True)
        if key in self.known:  # written twice
            self.names[op["name"]] = self.known[key]
            return
        operands = [self.values[arg] for arg in args]
        space, axes = self._type(op, operands)
        place = self._place(op, operands, space)
        gradient = op["op"] not in ("detach", "degree", "random", "identity", "constant") and any(
            operand.gradient for operand in operands
        )
        self.known[key] = len(self.values)
        self._enter(op["name"], Value(op, space, axes, args, place, gradient, self._pieces(op, operands, place)))

    def _type(self, op: dict, operands: list[Value]) -> tuple[str, Axes]:
        kind = op["op"]
        axes = operands[0].axes if operands else ()
        space = next((operand.space for operand in operands if operand.space != SHARED), SHARED)
        if kind == "move":
            return self.maps[op["along"]][0], axes
        if kind == "reduce":
            return (SHARED if op["along"] == "all" else self.maps[op["along"]][1]), axes
        if kind == "degree":
            return self.maps[op["along"]][1], ()
        if kind in ("random", "identity", "spread"):
            space = op.get("on", SHARED)
            if kind == "spread":
                return space, axes[1:]
            given = tuple((axis["name"], axis["size"]) for axis in op.get("axes", []))
            return space, given
        if kind in ("binary", "select"):
            most = max(operands, key=lambda operand: len(operand.axes)).axes
            return space, most + tuple(axis for o in operands for axis in o.axes if axis not in most)
        if kind == "contract":
            kept = [axis for axis in axes if axis[0] not in op["axes"]]
            kept += [axis for axis in operands[1].axes if axis[0] not in op["axes"] and axis not in kept]
            return space, tuple(kept)
        if kind == "fold":
            return space, tuple(axis for axis in axes if axis[0] not in op["axes"])
        if kind == "concat":
            return space, (*axes[:-1], (op["axis"], sum(operand.axes[-1][1] for operand in operands)))
        if kind == "slice":
            size = op["end"] - op["begin"]
            return space, tuple((name, size if name == op["axis"] else old) for name, old in axes)
        if kind == "rename":
            return space, tuple((name, size) for name, (_, size) in zip(op["to"], axes))
        if kind == "permute":
            return space, tuple((name, dict(axes)[name]) for name in op["to"])
        if kind == "merge":
            inner = product_of({axis for axis in axes if axis[0] in op["axes"]})
            first = next((name for name, _ in axes if name in op["axes"]), None)
            if first is None:
                return space, (*axes, (op["to"], 1))
            kept = [(op["to"], inner) if axis[0] == first else axis for axis in axes]
            return space, tuple(axis for axis in kept if axis[0] not in op["axes"] or axis[0] == op["to"])
        if kind == "split":
            into = tuple((axis["name"], axis["size"]) for axis in op["into"])
            return space, tuple(new for axis in axes for new in (into if axis[0] == op["axis"] else (axis,)))
        return space, axes

    def _place(self, op: dict, operands: list[Value], space: str) -> Place:
        """Where a value could be computed: one step of maps away from where it resides, or several."""
        if op["op"] == "move" and operands[0].space != SHARED:
            start, maps = operands[0].place
            return start, (*maps, op["along"])
        if op["op"] in LOCAL:
            places = {operand.place for operand in operands if operand.space != SHARED}
            if len(places) == 1:
                return places.pop()
        return space, ()

    def _pieces(self, op: dict, operands: list[Value], place: Place) -> dict[Place, int]:
        """Where linear parts of a value that resides on a finer place come from, each with its width."""
        function = op.get("function")
        if op["op"] == "concat" or (op["op"] == "binary" and function in ("add", "sub")):
            found: dict[Place, int] = {}
            for operand in operands:
                if operand.space == SHARED:
                    continue
                for where, width in (
                    operand.pieces or {operand.place: operand.axes[-1][1] if operand.axes else 1}
                ).items():
                    found[where] = (
                        found.get(where, 0) + width if op["op"] == "concat" else max(found.get(where, 0), width)
                    )
            return found if len(found) > 1 else {}
        if op["op"] in ("rename", "detach") or (op["op"] == "unary" and function == "neg"):
            return operands[0].pieces
        if op["op"] == "contract" and any(operand.space == SHARED for operand in operands):
            inner = next(operand for operand in operands if operand.space != SHARED) if place[0] else operands[0]
            last = 1
            for axis in self._type(op, operands)[1]:
                last *= axis[1]
            return dict.fromkeys(inner.pieces, last)
        return {}

    def _find_users(self) -> None:
        self.outputs = [self.names[output["value"]] for output in self.model["outputs"]]
        needed = [False] * len(self.values)
        for output in self.outputs:
            needed[output] = True
        for number in range(len(self.values) - 1, -1, -1):
            if needed[number]:
                for arg in self.values[number].args:
                    needed[arg] = True
                    self.users[arg].append(number)
        self.needed = needed

    # Counting

    def need(
        self, extent: Callable[[str], int], ascending: Callable[[str], bool], gradient: bool
    ) -> tuple[float, float]:
        """Bytes of gathered rows, and operations. `ascending`: of a map, whether its indices are in order."""
        gathered = operations = 0.0
        rows = lambda space: 1 if space == SHARED else extent(space)  # noqa: E731
        for number, value in enumerate(self.values):
            if not self.needed[number] or value.kind == "given":
                continue
            operations += self._operations(number, rows, gradient)
            if value.kind in ("move", "reduce", "norm"):
                gathered += self._gathered(number, rows, ascending, gradient)
        return gathered, operations

    def _gathered(self, number: int, rows: Callable, ascending: Callable, gradient: bool) -> float:
        value = self.values[number]
        operand, along = self.values[value.args[0]], value.op["along"]
        if along == "all" or ascending(along) or operand.space == SHARED:
            return 0.0
        start, end = self.maps[along]
        if value.kind == "move" and rows(end) * operand.numbers * NUMBER <= 1 << 15:  # stays in the first-level cache
            return 0.0
        width = self._least_width(number) if value.kind == "move" else operand.numbers
        times = 2 if gradient and operand.gradient else 1
        return times * rows(start) * width * NUMBER

    def _least_width(self, number: int) -> int:
        """Of a moved value: it, or what is computed from it before anything else comes in."""
        value, total = self.values[number], 0
        if number in self.outputs:
            return value.numbers
        for user in self.users[number]:
            after = self.values[user]
            if after.place == value.place and after.kind in LOCAL:
                total += self._least_width(user)
            elif value.place in after.pieces:
                total += self._joined_width(user, value.numbers)
            else:
                return value.numbers
        return min(value.numbers, total) if self.users[number] else value.numbers

    def _joined_width(self, number: int, most: int) -> int:
        """Of a part of what is joined or added: the width of the products that follow."""
        total = 0
        for user in self.users[number]:
            after = self.values[user]
            if after.pieces and after.kind == "contract":
                total += after.numbers
            elif after.pieces and after.kind in ("concat", "binary", "rename", "unary"):
                total += self._joined_width(user, most)
            else:
                return most
        return min(most, total) if total else most

    def _operations(self, number: int, rows: Callable, gradient: bool) -> float:
        value = self.values[number]
        operands = [self.values[arg] for arg in value.args]
        count, kind, function = rows(value.place[0]), value.kind, value.op.get("function", "")
        back = sum(operand.gradient for operand in operands) if gradient and value.gradient else 0
        if kind == "contract":
            return (1 + back) * self._product(number, rows)
        if kind == "unary":
            if function in CHEAP:
                return (1 + back) * count * value.numbers
            return (FUNCTION + 2 * back) * count * value.numbers
        if kind in ("binary", "select"):
            each = 2 * FUNCTION if function == "pow" else 1
            return (each + back) * count * value.numbers
        if kind == "fold":
            each = SOFTMAX if function in ("softmax", "logsumexp", "log_softmax") else 1
            return (each + back) * count * operands[0].numbers
        if kind in ("reduce", "norm"):
            each = SOFTMAX if kind == "norm" or function == "logsumexp" else 1
            return (each + back) * rows(operands[0].space) * operands[0].numbers
        return 0.0

    def _product(self, number: int, rows: Callable) -> float:
        """A contraction where it is cheapest."""
        value = self.values[number]
        operands = [self.values[arg] for arg in value.args]
        each = 2 * product_of({axis for operand in operands for axis in operand.axes})
        best = rows(value.place[0]) * each
        shared = [operand for operand in operands if operand.space == SHARED]
        if len(shared) != 1 or value.space == SHARED:
            return best
        other = next(operand for operand in operands if operand.space != SHARED)
        if other.pieces:
            whole = sum(axis[1] for axis in other.axes[-1:]) or 1
            joined = sum(other.pieces.values()) == whole
            shares = {place: (width / whole if joined else 1.0) for place, width in other.pieces.items()}
            best = min(best, sum(rows(place[0]) * each * share for place, share in shares.items()))
        elsewhere = self._elsewhere(number, each, value.axes, rows, 0)
        return best if elsewhere is None else min(best, elsewhere)

    def _elsewhere(self, number: int, each: int, fresh: Axes, rows: Callable, depth: int) -> float | None:
        """What a product costs if all that follows is linear in it and ends at places with fewer rows."""
        if number in self.outputs or not self.users[number] or depth > 12:
            return None
        value, total = self.values[number], 0.0
        inner = each / 2 / max(product_of(fresh), 1)  # numbers a row of what is multiplied
        for user in self.users[number]:
            after = self.values[user]
            function = after.op.get("function", "")
            if after.kind == "reduce" and function in ("sum", "mean"):
                total += rows(after.space) * each + 2 * rows(value.space) * inner
                continue
            follows = (
                (after.kind == "binary" and function in ("add", "sub"))
                or (after.kind == "unary" and function == "neg")
                or after.kind == "rename"
            )
            if follows:
                fresh_after = after.axes if after.kind == "rename" else fresh
                more = self._elsewhere(user, each, fresh_after, rows, depth + 1)
                if more is None:
                    return None
                total += more
                continue
            if after.kind not in ("binary", "contract") or (after.kind == "binary" and function not in ("mul", "div")):
                return None
            factors = [self.values[arg] for arg in after.args if arg != number]
            if len(factors) != 1 or (function == "div" and after.args[0] != number):
                return None
            summed = set(after.op.get("axes", []))
            if after.kind == "binary":
                summed = {
                    name for name, _ in fresh if all(name not in dict(self.values[f].axes) for f in self.users[user])
                }
                folds = self.users[user] and all(self.values[f].kind == "fold" for f in self.users[user])
                summed = summed if folds else set()
            if summed & {name for name, _ in fresh}:  # rows of another place times it, summed over its axis
                total += rows(factors[0].place[0]) * each + 2 * rows(value.space) * inner
                continue
            if product_of(set(factors[0].axes)) >= product_of(fresh) > 1:
                return None
            more = self._elsewhere(user, each, fresh, rows, depth + 1)
            if more is None:
                return None
            total += more
        return total


def need(
    definition: Definition, info: dict, program: str, extent: Callable[[str], int], ascending: Callable[[str], bool]
) -> Need:
    """Of a program of a compiled model: `info` is the model's description, which says what the program takes and gives."""
    gathered, operations = definition.need(extent, ascending, gradient=program == "gradient")
    entry = next(each for each in info["programs"] if each["name"] == program)
    values = {value["name"]: value for value in [*info["inputs"], *info["params"]]}
    values |= {f"grad.{value['name']}": value for value in info["outputs"]}
    moved = 0.0
    for value in [*(values[name] for name in entry["inputs"] if name in values), *entry["outputs"]]:
        count = extent(value["space"]) if value["space"] else 1
        for size in value["dims"]:
            count *= size
        moved += NUMBER * count
    for entry in definition.model["maps"]:
        if entry["kind"] == "root":
            moved += NUMBER * extent(entry["from"])
    return Need(moved, gathered, operations)
