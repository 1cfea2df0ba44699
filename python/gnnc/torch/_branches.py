# Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
# See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Branches on sizes that follow from numbers of a graph, such as `if index[edge_type == 2].numel() > 0`.

torch.export refuses them. Here it is told the side that the example takes, and which side a call takes is found by
PyTorch from the part of the program that leads to the sizes: for another side the module is compiled again. That is
only done where the sizes follow from integers, which belong to the graph: of a graph that is known nothing is asked.
"""

from __future__ import annotations

import contextlib
import dis
import linecache
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import sympy
import torch
from torch import Tensor, fx
from torch.export import ExportedProgram
from torch.export.graph_signature import InputKind
from torch.fx.experimental.sym_node import SymNode
from torch.fx.experimental.symbolic_shapes import GuardOnDataDependentSymNode
from torch.utils import _pytree as pytree
from torch.utils._sympy.interp import sympy_interp
from torch.utils._sympy.reference import PythonReferenceAnalysis

from .._errors import Error
from ._agreeing_sides import agree, is_on_emptiness, truth_of_mask, with_agreed_sides
from ._graph_results import needed_nodes, part_of
from ._reasons import ON_NUMBERS, place_of

#: How often a module is exported until its branches are those of the example.
ATTEMPTS = 8

#: A computed size of which nothing is known: no branch that is about a few or about none.
_MANY = 1_000_003


class Sides:
    """Which sides are traced. `known`: of the first branches, in the order that they are met in."""

    def __init__(self, known: Sequence[bool] = ()) -> None:
        self.known = tuple(known)
        self.turned: tuple[bool, ...] = ()  #: the same, in this way to trace: other sides ended in errors
        self.taken: dict[str, tuple[Any, bool, str]] = {}  #: expressions, the sides, and where they are met

    def take(self, node: SymNode, refusal: Exception) -> bool | None:
        """The side of a branch. None: it has to be refused. `refusal`: what torch would say."""
        expression = node.expr
        place = list(self.taken).index(str(expression)) if str(expression) in self.taken else len(self.taken)
        known = self.known if len(self.known) > len(self.turned) else self.turned
        if place < len(known):
            side = known[place]
        else:
            values = node.shape_env.backed_var_to_val
            many = {symbol: _MANY + 7919 * i for i, symbol in enumerate(sorted(expression.free_symbols, key=str))}
            guess = expression.xreplace({symbol: values.get(symbol, many[symbol]) for symbol in many})
            if guess not in (sympy.true, sympy.false):
                return None
            side = bool(guess)
        assumed = expression if side else sympy.Not(expression)
        if not _is_truth(node, assumed):
            node.shape_env.guard_or_defer_runtime_assert(assumed, "a side of a branch")
        if str(expression) not in self.taken:
            is_dynamo = "User Stack" in str(refusal)
            self.taken[str(expression)] = expression, side, place_of(str(refusal)) if is_dynamo else _place()
        return side

    def turn(self) -> bool:
        """Takes the other side of the last branch that was guessed: on this one the module raises an error, as it does for
        graphs that it checks. Whether there is one."""
        taken = [side for _, side, _ in self.taken.values()]
        if len(taken) <= max(len(self.known), len(self.turned)):
            return False
        self.turned = (*taken[:-1], not taken[-1])
        return True

    def refusal(self, name: str) -> Error:
        """Of the first branch."""
        place = next((place for _, _, place in self.taken.values()), "")
        return Error(f"torch.export cannot export {name}: {ON_NUMBERS.format(place)}")


def _is_truth(node: SymNode, assumed: Any) -> bool:
    """Whether it is that a truth value is true: torch would put 1 for it, and forget which node gives it."""
    if not isinstance(assumed, sympy.Eq) or not assumed.lhs.is_Symbol or assumed.rhs != 1:
        return False
    bounds = node.shape_env.bound_sympy(assumed.lhs)
    return (bounds.lower, bounds.upper) == (0, 1)


def _place() -> str:
    """The innermost line that is being traced which is neither torch's nor ours."""
    frame = sys._getframe(1)
    while frame is not None and frame.f_globals.get("__name__", "").partition(".")[0] in ("torch", "gnnc", "sympy"):
        frame = frame.f_back
    if frame is None:
        return ""
    path, line = frame.f_code.co_filename, frame.f_lineno
    return f", from {path}:{line}: {linecache.getline(path, line).strip()}".rstrip(":")


_local = threading.local()
_lock = threading.Lock()
_active = 0
_guard_bool = SymNode.guard_bool


def _guard(self: SymNode, file: str, line: int) -> bool:
    try:
        return _guard_bool(self, file, line)
    except GuardOnDataDependentSymNode as refusal:
        sides = getattr(_local, "sides", None)
        side = None if sides is None else sides.take(self, refusal)
        if side is None:
            raise
        return side


@contextlib.contextmanager
def traced_sides(sides: Sides | None) -> Iterator[None]:
    """While torch.export traces in this thread."""
    global _active
    if sides is None:
        yield
        return
    sides.taken.clear()
    before = getattr(_local, "sides", None)
    with _lock:
        _active += 1
        SymNode.guard_bool = _guard  # type: ignore[method-assign]
        _put_jumps(True)
    _local.sides = sides
    try:
        yield
    finally:
        _local.sides = before
        with _lock:
            _active -= 1
            if _active == 0:
                SymNode.guard_bool = _guard_bool  # type: ignore[method-assign]
                _put_jumps(False)


#: Python's instructions of an `if`, of which some versions have some.
_JUMPS = [
    dis.opmap[f"POP_JUMP_{way}IF_{side}"]
    for way in ("", "FORWARD_")
    for side in ("TRUE", "FALSE")
    if f"POP_JUMP_{way}IF_{side}" in dis.opmap
]


def _jumping(original: Callable[..., Any]) -> Callable[..., Any]:
    """Dynamo's handler of a jump. It refuses tensors, as in `if not torch.all(index[:-1] <= index[1:])`, where it takes numbers
    that were made of them: for those there are sides."""
    from torch._dynamo.variables import SymNodeVariable

    def ask(translator: Any) -> None:
        value, following = translator.stack[-1], translator.instructions[translator.instruction_pointer]
        node = getattr(getattr(value, "proxy", None), "node", None)
        example = None if node is None else node.meta.get("example_value")
        if following.opname == "LOAD_ASSERTION_ERROR" or not isinstance(example, Tensor):
            return
        if example.dim() == 0 and example.dtype is torch.bool:
            # Of a number that is more than 0 torch does not know which it is: it would put that in the place of the node.
            number = value.call_method(translator, "long", [], {}).call_method(translator, "item", [], {}).as_proxy()
            # And it leaves out what nobody asks for.
            asked = (number > -2, "a truth value")
            translator.output.create_proxy("call_function", torch.ops.aten._assert_scalar.default, asked, {})
            translator.stack[-1] = SymNodeVariable.create(translator, number > 0)

    def jump(translator: Any, instruction: Any) -> Any:
        if getattr(_local, "sides", None) is not None:
            try:
                ask(translator)
            except (AttributeError, IndexError, TypeError):  # of another version of PyTorch, which says what it refuses
                pass
        return original(translator, instruction)

    return jump


_dynamos_jumps: list[tuple[list[Any], int, Any]] = []  #: where ours are, and what was there


def _put_jumps(ours: bool) -> None:
    """In the tables of Dynamo's classes, if it has any."""
    from torch._dynamo.symbolic_convert import InstructionTranslatorBase

    for table, code, original in _dynamos_jumps:
        table[code] = original
    _dynamos_jumps.clear()
    left = [InstructionTranslatorBase] if ours else []
    while left:
        kind = left.pop()
        left += kind.__subclasses__()
        table = getattr(kind, "dispatch_table", None)
        for code in _JUMPS if isinstance(table, list) else ():
            if not any(known is table and other == code for known, other, _ in _dynamos_jumps):
                _dynamos_jumps.append((table, code, table[code]))
                table[code] = _jumping(table[code])


@dataclass
class Branches:
    """The branches of a program, and what computes the sizes that they are on."""

    module: fx.GraphModule  #: from leaves of arguments and buffers
    buffers: list[str]
    symbols: list[tuple[Any, Any]]  #: of each of its results: a symbol, and where it is in it; None: how many are true
    sizes: list[tuple[Any, int, int]]  #: other symbols, leaves and dimensions
    expressions: list[tuple[Any, bool]]  #: with the sides that were traced
    read: list[int]  #: leaves that the sizes follow from
    last: list[tuple[Tensor, int]] = field(
        default_factory=list
    )  #: those that were found right last, and their versions

    def sides(self, leaves: Sequence[Any], buffers: Sequence[Tensor]) -> tuple[bool, ...] | None:
        """Of each expression, the side for these arguments. None: nobody can say."""
        try:
            with torch.no_grad():
                results = self.module(*leaves, *buffers)
            values = {
                symbol: int(value.sum()) if path is None else pytree.key_get(value, path)
                for value, (symbol, path) in zip(results, self.symbols)
            }
            values |= {symbol: leaves[leaf].shape[dimension] for symbol, leaf, dimension in self.sizes}
            known = {symbol: int(value) for symbol, value in values.items()}
            return tuple(
                bool(sympy_interp(PythonReferenceAnalysis, known, e) if e.free_symbols else e) for e, _ in self.expressions
            )
        except Exception:  # the largest of an empty list, for example: PyTorch says so itself
            return None

    def zeros(self) -> list[Any]:
        """Sizes that are 0 on the sides that were traced."""
        found = []
        for expression, side in self.expressions:
            if len(expression.free_symbols) == 1:
                (symbol,) = expression.free_symbols
                values = [bool(expression.xreplace({symbol: sympy.Integer(size)})) for size in (0, 1, _MANY)]
                found += [symbol] if values == [side, not side, not side] else []
        return found

    def hold(self, leaves: Sequence[Any], buffers: Sequence[Tensor]) -> bool:
        if self.is_same(leaves):
            return True
        if self.sides(leaves, buffers) != tuple(side for _, side in self.expressions):
            return False
        tensors = [leaves[i] for i in self.read]
        counted = not self.buffers and not any(tensor.is_inference() for tensor in tensors)
        self.last = [(tensor, tensor._version) for tensor in tensors] if counted else []
        return True

    def is_same(self, leaves: Sequence[Any]) -> bool:
        """Whether they are the tensors that were looked at last, unchanged."""
        if not self.last:
            return False
        pairs = zip(self.read, self.last)
        return all([leaves[i] is tensor and tensor._version == version for i, (tensor, version) in pairs])


def settle_agreeing_sides(
    program: ExportedProgram,
    sides: Sides,
    model: torch.nn.Module,
    leaves: Sequence[Any],
    other: Callable[[Sides], ExportedProgram],
) -> Sides | None:
    """Makes constants of branches on whether values choose anything, or everything, where both sides are the same if so.
    `other`: exports other sides. Returns those that should have been traced, since they are for other numbers too."""
    _ask_all_of_groups(program.graph)
    origins = _origins(program.graph)
    taken = list(sides.taken.values())

    def origin_of(expression: Any, found: dict[Any, tuple[fx.Node, Any]]) -> fx.Node | None:
        (symbol,) = expression.free_symbols
        return found[symbol][0] if symbol in found else None

    def needs_values(expression: Any) -> bool:
        if len(expression.free_symbols) != 1:
            return False
        node = origin_of(expression, origins)
        return node is not None and needed_nodes(program.graph, [node]) is None

    def chosen_by(expression: Any, side: bool, found: dict[Any, tuple[fx.Node, Any]]) -> tuple[fx.Node, bool] | None:
        """What says what is chosen, and whether the other side is for everything; None: it is another kind of branch."""
        node = origin_of(expression, found)
        if node is None:
            return None
        if (truth := truth_of_mask(expression, side, node)) is not None:
            return truth.mask, truth.filled
        return (node, False) if is_on_emptiness(expression, side) else None

    def agrees(place: int) -> bool:
        expression, side, _ = taken[place]
        own = chosen_by(expression, side, origins)
        node = origin_of(expression, origins)
        truth = None if node is None else truth_of_mask(expression, side, node)
        if own is None or (truth is not None and not truth.is_used):
            return False  # it asks for something of numbers that the mask says nothing more about
        turned = Sides([*(side for _, side, _ in taken[:place]), not side])
        try:
            special = other(turned)
        except Error:
            return False
        expressions = list(turned.taken.values())
        if len(expressions) <= place:
            return False
        theirs = chosen_by(expressions[place][0], side, _origins(special.graph))
        return theirs is not None and agree(program, special, (own[0], theirs[0]), own[1], model, leaves)

    for place, (expression, side, _) in enumerate(taken):
        node = origin_of(expression, origins) if needs_values(expression) else None
        truth = None if node is None else truth_of_mask(expression, side, node)
        if truth is not None and truth.is_special:
            return Sides([*(side for _, side, _ in taken[:place]), not side])
    sides.taken = with_agreed_sides(sides.taken, needs_values, agrees)
    return None


def branches_of(program: ExportedProgram, sides: Sides, name: str) -> Branches | None:
    """None: there are none. Raises Error for branches that depend on numbers that are no integers."""
    if all(not expression.free_symbols for expression, _, _ in sides.taken.values()):
        return None
    graph = program.graph
    _ask_all_of_groups(graph)
    wanted = _origins(graph)
    specs = [spec for spec in program.graph_signature.input_specs if spec.kind is InputKind.USER_INPUT]
    placeholders = {node.name: node for node in graph.nodes if node.op == "placeholder"}
    places: dict[Any, tuple[int, int]] = {}
    leaves = []
    for i, spec in enumerate(specs):
        leaves.append(placeholders.get(spec.arg.name))
        value = leaves[-1].meta.get("val") if leaves[-1] is not None else None
        for dimension, size in enumerate(value.shape if isinstance(value, Tensor) else ()):
            if isinstance(size, torch.SymInt) and size.node.expr.is_Symbol:
                places.setdefault(size.node.expr, (i, dimension))
    symbols = {symbol for expression, _, _ in sides.taken.values() for symbol in expression.free_symbols}
    computed = sorted(symbols - places.keys(), key=str)
    needed = None
    if all(symbol in wanted for symbol in computed):
        needed = needed_nodes(graph, [wanted[symbol][0] for symbol in computed])
    if needed is None:
        raise sides.refusal(name)
    buffers, module = part_of(program, needed, [wanted[symbol][0] for symbol in computed])
    return Branches(
        module,
        buffers,
        [(symbol, wanted[symbol][1]) for symbol in computed],
        [(symbol, *places[symbol]) for symbol in symbols if symbol in places],
        [(expression, side) for expression, side, _ in sides.taken.values()],
        [i for i, node in enumerate(leaves) if node is not None and (node in needed or not _is_float(node))],
    )


def _ask_all_of_groups(graph: fx.Graph) -> None:
    """The largest number of a group is that of all elements, whatever elements are the best of theirs: each group has
    a best one. So how many groups there are follows from the integers of the graph."""
    aten = torch.ops.aten
    for node in graph.nodes:
        if node.target in (aten.max.default, aten.amax.default) and isinstance(node.args[0], fx.Node):
            groups = _groups_of_all(node.args[0])
            if groups is not node.args[0]:
                node.update_arg(0, groups)


def _groups_of_all(node: fx.Node) -> fx.Node:
    """The groups that these are, of the best elements of each."""
    aten = torch.ops.aten
    if node.target in (aten.scatter.src, aten.scatter_.src):  # into all places, in order
        first, dim, places, source = node.args
        is_all = isinstance(places, fx.Node) and places.target is aten.arange.default and dim == 0
        if is_all and isinstance(source, fx.Node) and _length(places) == _length(first) is not None:
            return _groups_of_all(source)
    if node.target is aten.index.Tensor and isinstance(node.args[0], fx.Node) and len(node.args[1]) == 1:
        groups, best = node.args[0], node.args[1][0]
        members = (torch.ops.gnnc.top.default, torch.ops.gnnc.farthest.default)
        if isinstance(best, fx.Node) and best.target in members and best.args[3] is groups:
            return _groups_of_all(groups)
    return node


def _length(node: Any) -> Any:
    value = node.meta.get("val") if isinstance(node, fx.Node) else None
    return str(value.shape[0]) if isinstance(value, Tensor) and value.dim() == 1 else None


def _origins(graph: fx.Graph) -> dict[Any, tuple[fx.Node, Any]]:
    """Of each symbol, a node that says what it is, of integers or truth values if there is one, and where in its value:
    the rows that a mask chooses of floats are as many as it has true elements."""
    found: dict[Any, tuple[fx.Node, Any]] = {}
    for node in graph.nodes:
        mask, value = _mask(node), node.meta.get("val")
        for symbol, path in (node.meta.get("unbacked_bindings") or {}).items():
            found.setdefault(symbol, (node, path) if mask is None else (mask, None))
        if mask is not None and isinstance(value.shape[0], torch.SymInt):  # what Dynamo traced has no bindings
            found.setdefault(value.shape[0].node.expr, (mask, None))
    return found


def _mask(node: fx.Node) -> fx.Node | None:
    """The mask that says how many rows there are."""
    if node.target is not torch.ops.aten.index.Tensor:
        return None
    indices = [each for each in node.args[1] if isinstance(each, fx.Node)]
    return indices[0] if len(indices) == 1 and indices[0].meta["val"].dtype is torch.bool else None


def _is_float(node: fx.Node) -> bool:
    value = node.meta.get("val")
    return not isinstance(value, Tensor) or value.is_floating_point()
