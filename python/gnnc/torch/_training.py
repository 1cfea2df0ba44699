# Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
# See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random numbers and running statistics, as functions.

What a module draws and what it changes are taken out of its program, which then computes results from arguments:

* dropout becomes a product with a mask, which is one more argument. So are tensors of random numbers (`randn_like`,
  `uniform_`). A call draws them in the order in which the program does, as PyTorch would in eager mode, on the device
  and from its generator: after the same seed the numbers are the same;
* the running statistics of batch norm become results, which the caller copies into the buffers;
* other buffers of floats that the module changes or assigns are copied first, and what becomes of the copy is a result
  too.
"""

from __future__ import annotations

import math
import operator
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, fx
from torch.export import ExportedProgram
from torch.export.graph_signature import InputKind, InputSpec, OutputKind, OutputSpec, TensorArgument

from .._errors import CompileError
from ._effects import written_nodes
from ._expressions import function_of
from ._no_grad import inline_no_grad

aten = torch.ops.aten


#: Gives random numbers for ones of the shape, type and device that are wanted.
_Make = Callable[[Tensor], Tensor]

#: Operators that make a tensor of random numbers.
_MAKERS: dict[Any, _Make] = {
    aten.rand.default: torch.rand_like,
    aten.rand_like.default: torch.rand_like,
    aten.randn.default: torch.randn_like,
    aten.randn_like.default: torch.randn_like,
}
#: Those that fill a new one in place.
_FILLERS = {aten.uniform_.default, aten.normal_.default, aten.exponential_.default, aten.bernoulli_.float}
#: Those that this module makes functions of, alone or with what writes to buffers.
_WITH_EFFECTS = {
    *_MAKERS,
    *_FILLERS,
    aten.dropout.default,
    aten.scaled_dot_product_attention.default,
    aten.bernoulli.default,
    aten.bernoulli.p,
    aten.batch_norm.default,
    aten.instance_norm.default,
    aten.add_.Tensor,
    aten.copy_.default,
}


@torch.library.custom_op("gnnc::drawn", mutates_args=())
def _drawn(self: Tensor, numbers: Tensor) -> Tensor:
    """A product with a number for each place, [places, ...]: all dimensions up to the last one of elements are one. Of
    elements that lie in rows of equal length, or of their pairs, the compiler reads what it needs."""
    return self * numbers.view(self.shape)


@_drawn.register_fake
def _(self: Tensor, numbers: Tensor) -> Tensor:
    return torch.empty_like(self)


@torch.library.custom_op("gnnc::attention", mutates_args=())
def _attention(
    query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None, is_causal: bool, scale: float | None, numbers: Tensor
) -> Tensor:
    """Attention whose weights are multiplied by such numbers."""
    raise NotImplementedError("attention with given random numbers is compiled, and nothing else")


@_attention.register_fake
def _(
    query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None, is_causal: bool, scale: float | None, numbers: Tensor
) -> Tensor:
    return query.new_empty((*query.shape[:-1], value.shape[-1]))


_EMPTY = {aten.empty.memory_format, aten.empty_like.default, aten.new_empty.default}
#: New tensors with the same number everywhere, by where that is among the arguments; None: it is 1, or 0.
_FILLED: dict[Any, int | None] = {
    aten.full.default: 1,
    aten.full_like.default: 1,
    aten.new_full.default: 2,
    aten.ones.default: None,
    aten.ones_like.default: None,
    aten.new_ones.default: None,
}
_ZEROS = {aten.zeros.default, aten.zeros_like.default, aten.new_zeros.default}
_SCALED: dict[Any, Callable[[float, float], float]] = {
    aten.mul.Tensor: operator.mul,
    aten.div.Tensor: operator.truediv,
    aten.add.Tensor: operator.add,
    aten.sub.Tensor: operator.sub,
    aten.rsub.Scalar: lambda x, y: y - x,
}


@dataclass
class Draw:
    """Random numbers that a call draws for an argument, whether or not compiled code needs it: what comes later would be
    other numbers."""

    make: _Make
    dtype: torch.dtype
    #: From the leaves of a call; None: nobody but compiled code knows the sizes.
    sizes: list[Callable[[Sequence[Any]], int]] | None
    rank: int  #: how many dimensions it has
    front: int = 0  #: the dimension that comes first in the argument
    #: Dimensions from the longest stride on, and those that are repeated: numbers are drawn in the order of memory.
    layout: tuple[tuple[int, ...], frozenset[int]] = ((), frozenset())

    def shape(self, leaves: Sequence[Any]) -> tuple[int, ...] | None:
        """Of what is drawn, from the leaves of a call."""
        if self.sizes is None:
            return None
        return tuple(size(leaves) for size in self.sizes)

    def ones(self, shape: tuple[int, ...], device: Any) -> Tensor:
        dtype, (order, repeated) = self.dtype, self.layout
        if len(order) != len(shape) or not shape:
            return torch.ones(shape, dtype=dtype, device=device)
        sizes = [1 if dim in repeated else shape[dim] for dim in order]
        places = sorted(range(len(order)), key=order.__getitem__)
        return torch.ones(sizes, dtype=dtype, device=device).permute(places).expand(shape)

    def argument(self, ones: Tensor, taken: tuple[tuple[int, ...], torch.dtype] | None) -> Tensor:
        """What is drawn, in the shape and the type in which compiled code takes it, if it does: several axes may be one
        there. A generator gives other numbers for another type, so they are converted afterwards."""
        drawn = self.make(ones)
        if drawn.dim() == self.rank:
            drawn = drawn.movedim(self.front, 0)
        if taken is None:
            return drawn
        shape, dtype = taken
        return drawn.reshape(shape).to(dtype).contiguous()


@dataclass
class Statistics:
    """A buffer that moves towards a result at each call."""

    buffer: str
    output: int  #: the number of the model's output
    momentum: float
    batch: tuple[int, int] | None  #: the leaf and the dimension that it is taken along, if they say how many elements
    weight: int | None  #: else the output that has the momentum, or 0 where there were too few elements


@dataclass
class Training:
    """What a call does besides computing."""

    draws: dict[str, Draw] = field(default_factory=dict)  #: names of arguments, and what draws them
    statistics: list[Statistics] = field(default_factory=list)
    counters: list[str] = field(default_factory=list)  #: buffers that are counted up
    assigned: dict[str, int] = field(default_factory=dict)  #: other buffers, and the outputs that they become
    num_outputs: int = 0  #: the last outputs of the model, which are not the module's
    #: Leaves and dimensions that batch norm takes the variance along. That of one element is no number; of none it takes no
    #: statistics.
    batches: list[tuple[int, int]] = field(default_factory=list)

    def __bool__(self) -> bool:
        return bool(self.draws or self.statistics or self.counters or self.assigned)


def make_functional(program: ExportedProgram) -> Training:
    """Changes a program in place, and says what is left to its caller."""
    inline_no_grad(program.graph, lambda node: node.target in _WITH_EFFECTS)
    maker = _Maker(program)
    for node in list(program.graph.nodes):
        if node.op != "call_function":
            continue
        if node.target is aten.dropout.default:
            maker.dropout(node)
        elif node.target is aten.scaled_dot_product_attention.default:
            maker.attention(node)
        elif node.target in _MAKERS or node.target in _FILLERS:
            maker.random(node)
        elif node.target in (aten.bernoulli.default, aten.bernoulli.p):
            maker.bernoulli(node)
        elif node.target is aten.batch_norm.default:
            maker.batch_norm(node)
        elif node.target is aten.instance_norm.default:
            maker.instance_norm(node)
        elif node.target is aten.add_.Tensor:
            maker.counter(node)
    maker.other_buffers()
    return maker.finish()


def _dropping(p: float) -> _Make:
    return lambda ones: torch.dropout(ones, p, True)


class _Maker:
    def __init__(self, program: ExportedProgram) -> None:
        self.program, self.graph, self.training = program, program.graph, Training()
        specs = program.graph_signature.input_specs
        self.buffers = {
            spec.arg.name: str(spec.target)
            for spec in specs
            if spec.kind is InputKind.BUFFER and isinstance(spec.arg, TensorArgument)
        }
        self.results: list[fx.Node] = []
        self.last = [node for node in self.graph.nodes if node.op == "placeholder"][-1]

    def dropout(self, node: fx.Node) -> None:
        x, p, train = (*node.args, *[node.kwargs.get(name) for name in ("input", "p", "train")[len(node.args) :]])
        if not train or p == 0:
            return
        make = _dropping(p)
        shape = node.meta["val"].shape
        if self._are_of_all_places(shape):
            # Numbers are drawn in the order of memory, and what no leaf says the sizes of is drawn as one row.
            order, repeated = _layout(x.meta["val"])
            turned = list(order) != list(range(len(order))) and not repeated
            own = self._add(node, aten.permute.default, x, list(order)) if turned else x
            mask = self._drawn("dropout_mask", node, make, None, is_flat=True, value=own.meta["val"])
            result = self._add(node, torch.ops.gnnc.drawn.default, own, mask)
            if turned:
                back = [order.index(dim) for dim in range(len(order))]
                result = self._add(node, aten.permute.default, result, back)
            self._replace(node, result)
            return
        self._replace(node, self._add(node, aten.mul.Tensor, x, self._drawn("dropout_mask", node, make, x)))

    def attention(self, node: fx.Node) -> None:
        """Drops weights, which are a tensor that no node has."""
        names = ("query", "key", "value", "attn_mask", "dropout_p", "is_causal", "scale", "enable_gqa")
        given = {**dict(zip(names, node.args)), **node.kwargs}
        p, query, key, value = (given.get(name) for name in ("dropout_p", "query", "key", "value"))
        if not p or given.get("enable_gqa"):
            return
        rows, columns = query.meta["val"], key.meta["val"]
        weights = rows.new_empty((*rows.shape[:-1], columns.shape[-2]))
        make = _dropping(p)
        is_flat = sum(not isinstance(size, int) for size in weights.shape) > 1
        mask = self._drawn("dropout_mask", node, make, None, is_flat=is_flat, value=weights)
        others = (given.get("attn_mask"), given.get("is_causal", False), given.get("scale"))
        new = self._add(node, torch.ops.gnnc.attention.default, query, key, value, *others, mask)
        self._replace(node, new)

    def _are_of_all_places(self, shape: Sequence[Any]) -> bool:
        """Whether numbers of a shape are drawn for elements in rows of equal length, or for pairs of elements. What has a
        number of rows and one of columns that arguments have is an argument like any other."""
        free = [size for size in shape if not isinstance(size, int)]
        if len(free) < 2:
            return False
        return len(free) > 2 or str(free[0]) == str(free[1]) or any(self._size(size) is None for size in free)

    def random(self, node: fx.Node) -> None:
        """A tensor of random floats. The compiler says what it cannot do of the others."""
        if not node.meta["val"].is_floating_point() or node.kwargs.get("generator") is not None:
            return
        if node.target in _MAKERS:
            like = node.args[0] if isinstance(node.args[0], fx.Node) else None
            self._replace(node, self._drawn("random", node, _MAKERS[node.target], like))
            return
        empty, *limits = node.args
        is_new = isinstance(empty, fx.Node) and empty.target in (*_EMPTY, *_FILLED, *_ZEROS)
        if not is_new or next(iter(empty.users)) is not node:
            return
        if any(isinstance(each, fx.Node) for each in (*limits, *node.kwargs.values())):
            return  # limits that are computed
        target = node.target
        draw = lambda ones: target(torch.empty_like(ones), *limits, **node.kwargs)  # noqa: E731
        drawn = self._drawn("random", node, draw, empty)
        self._replace(node, drawn)
        empty.replace_all_uses_with(drawn)
        self.graph.erase_node(empty)

    def bernoulli(self, node: fx.Node) -> None:
        """0 or 1, with a probability that is the same everywhere. The compiler refuses others."""
        like, *given = node.args
        chance = given[0] if given else _number_everywhere(like)
        if isinstance(chance, (int, float)) and node.kwargs.get("generator") is None:
            # A number and a tensor of it draw otherwise.
            of_tensor = lambda ones: torch.bernoulli(ones * chance)  # noqa: E731
            of_number = lambda ones: torch.bernoulli(ones, chance)  # noqa: E731
            self._replace(node, self._drawn("random", node, of_number if given else of_tensor, like))

    def _drawn(
        self,
        name: str,
        node: fx.Node,
        make: _Make,
        like: fx.Node | None,
        is_flat: bool = False,
        value: Tensor | None = None,
    ) -> fx.Node:
        """One more argument, like `node`, but that a dimension of elements comes first. `like`: what lies in memory as the
        numbers that are drawn; None: they are contiguous. `is_flat`: all dimensions up to the last one of elements are one
        in the argument. `value`: what has the shape, if the node has another."""
        value = node.meta["val"] if value is None else value
        free = [dim for dim, size in enumerate(value.shape) if not isinstance(size, int)]
        front = free[0] if len(free) == 1 and not is_flat else 0
        sizes = [self._size(size) for size in value.shape]
        known = [size for size in sizes if size is not None]
        with self.graph.inserting_after(self.last):
            drawn = self.graph.placeholder(self._fresh(f"{name}_{len(self.training.draws)}"))
        if is_flat:
            drawn.meta["val"] = value.new_empty((math.prod(value.shape[: free[-1] + 1]), *value.shape[free[-1] + 1 :]))
        else:
            drawn.meta["val"] = value.detach().movedim(front, 0)
        self.last = drawn
        spec = InputSpec(InputKind.USER_INPUT, TensorArgument(drawn.name), None)
        self.program.graph_signature.input_specs.append(spec)
        layout = ((), frozenset()) if like is None else _layout(like.meta["val"])
        draw = Draw(make, value.dtype, known if len(known) == len(sizes) else None, value.dim(), front, layout)
        self.training.draws[drawn.name] = draw
        if front:
            order = [*range(1, front + 1), 0, *range(front + 1, value.dim())]
            drawn = self._add(node, aten.permute.default, drawn, order)
        # An argument is not written to.
        is_written = any(written_nodes([user]) for user in node.users)
        return self._add(node, aten.clone.default, drawn) if is_written else drawn

    def batch_norm(self, node: fx.Node) -> None:
        x, weight, bias, mean, variance, training, momentum, eps, cudnn = node.args
        if not training or mean is None:
            return
        names = [self.buffers.get(buffer.name) for buffer in (mean, variance)]
        if None in names:
            raise CompileError("batch norm in training mode: its running statistics are no buffers of the module")
        if not isinstance(momentum, (int, float)):
            raise CompileError("batch norm in training mode without a momentum, which averages over all batches")
        dims = [dim for dim in range(x.meta["val"].dim()) if dim != 1]
        self._statistics(node, x, dims, [str(name) for name in names], float(momentum))
        new = self._add(node, aten.batch_norm.default, x, weight, bias, None, None, True, momentum, eps, cudnn)
        self._replace(node, new)

    def instance_norm(self, node: fx.Node) -> None:
        """Statistics of each instance, and means of these over the instances."""
        x, weight, bias, mean, variance, training, momentum, eps, cudnn = node.args
        if not training or mean is None:
            return
        names = [self.buffers.get(buffer.name) for buffer in (mean, variance)]
        if None in names:
            raise CompileError("instance norm in training mode: its running statistics are no buffers of the module")
        self._statistics(node, x, list(range(2, x.meta["val"].dim())), [str(name) for name in names], float(momentum))
        new = self._add(node, aten.instance_norm.default, x, weight, bias, None, None, True, momentum, eps, cudnn)
        self._replace(node, new)

    def _statistics(self, node: fx.Node, x: fx.Node, dims: list[int], names: list[str], momentum: float) -> None:
        """What running means and variances move towards: those along some axes."""
        axis = next(iter(dims)) if len(dims) == 1 else None
        batch = None if axis is None else self._batch(x.meta["val"].shape[axis])
        if batch is not None and batch not in self.training.batches:
            self.training.batches.append(batch)
        # As the importer computes what is normalised, so that it is done once.
        batch_mean = self._add(node, aten.mean.dim, x, dims, True)
        centred = self._add(node, aten.sub.Tensor, x, batch_mean)
        squares = self._add(node, aten.mul.Tensor, centred, centred)
        total = self._add(node, aten.sum.dim_IntList, squares, dims, True)
        count = self._add(node, aten.sum.dim_IntList, self._add(node, aten.ones_like.default, centred), dims, True)
        unbiased = self._add(node, aten.div.Tensor, total, self._add(node, aten.sub.Tensor, count, 1))
        shape = [x.meta["val"].shape[1]]

        def flat(value: fx.Node) -> fx.Node:
            if 0 not in dims and x.meta["val"].shape[0] != 1:
                value = self._add(node, aten.mean.dim, value, [0], True)
            return self._add(node, aten.view.default, value, shape)

        weight = None
        if batch is None:  # Only the compiled code knows how many there are; the variance of one element is no number.
            several = self._add(node, aten.gt.Scalar, count, 1)
            zero = self._add(node, aten.zeros_like.default, count)
            momenta = self._add(node, aten.full_like.default, count, momentum)
            batch_mean, unbiased = (
                self._add(node, aten.where.self, several, value, zero) for value in (batch_mean, unbiased)
            )
            weight = self._result(node, flat(self._add(node, aten.where.self, several, momenta, zero)))
        for name, value in zip(names, (batch_mean, unbiased)):
            result = self._result(node, flat(value))
            self.training.statistics.append(Statistics(name, result, momentum, batch, weight))

    def _result(self, before: fx.Node, value: fx.Node) -> int:
        """One more result, and its number among these."""
        self.results.append(self._add(before, aten.detach.default, value))
        return len(self.results) - 1

    def _size(self, size: Any) -> Callable[[Sequence[Any]], int] | None:
        """What computes a size from the leaves of a call."""
        if isinstance(size, int):
            return lambda leaves: size
        expression = size.node.expr
        places = {symbol: self._batch(symbol) for symbol in expression.free_symbols}
        if None in places.values():
            return None
        at = [place for place in places.values() if place is not None]
        function = function_of(expression, list(places), int)
        return lambda leaves: int(function(*[leaves[leaf].shape[dim] for leaf, dim in at]))

    def _batch(self, size: Any) -> tuple[int, int] | None:
        """A leaf of the arguments, and the dimension of it that has this size."""
        values = {node.name: node.meta.get("val") for node in self.graph.nodes if node.op == "placeholder"}
        specs = self.program.graph_signature.input_specs
        drawn = self.training.draws  # which come last
        leaves = [
            spec.arg.name for spec in specs if spec.kind is InputKind.USER_INPUT and spec.arg.name not in drawn
        ]
        for leaf, name in enumerate(leaves):
            for dim, each in enumerate(getattr(values.get(name), "shape", ())):
                if str(each) == str(size):
                    return leaf, dim
        return None

    def counter(self, node: fx.Node) -> None:
        target = node.args[0]
        name = self.buffers.get(target.name) if isinstance(target, fx.Node) else None
        if name is None or node.args[1] != 1 or target.meta["val"].dim():
            return
        # A module that is called again counts on from what the first call made.
        if any(user.target is not aten.add_.Tensor for user in [*target.users, *node.users]):
            return
        self.training.counters.append(name)
        node.replace_all_uses_with(target)
        self.graph.erase_node(node)

    def other_buffers(self) -> None:
        """Those that are still written to."""
        output = next(node for node in self.graph.nodes if node.op == "output")
        written = {node for node in written_nodes(self.graph.nodes) if node.name in self.buffers}
        statistics = {each.buffer for each in self.training.statistics}
        for buffer in [node for node in self.graph.nodes if node in written]:
            name = self.buffers[buffer.name]
            if not buffer.meta["val"].is_floating_point():
                continue  # compiled code has floats
            if name in statistics:
                raise CompileError(f"the module changes '{name}', which batch norm changes too")
            value = self._only_copied(buffer)
            if value is None:
                with self.graph.inserting_after(self.last):
                    apart = self.graph.call_function(aten.detach.default, (buffer,))
                with self.graph.inserting_after(apart):
                    value = self.graph.call_function(aten.clone.default, (apart,))
                for each in (apart, value):
                    each.meta = {"val": buffer.meta["val"].clone()}
                buffer.replace_all_uses_with(value, delete_user_cb=lambda user, apart=apart: user is not apart)
            self.training.assigned[name] = self._result(output, value)

    def _only_copied(self, buffer: fx.Node) -> fx.Node | None:
        """What is copied into a buffer at the end, if nothing else is written to it; the copy is taken out."""
        writes = [user for user in buffer.users if buffer in written_nodes([user])]
        if len(writes) != 1 or writes[0].target is not aten.copy_.default or writes[0].users:
            return None
        value, order = writes[0].args[1], list(self.graph.nodes)
        later = order[order.index(writes[0]) :]
        if not isinstance(value, fx.Node) or any(user in later[1:] for user in buffer.users):
            return None
        given, own = value.meta["val"], buffer.meta["val"]
        if given.shape != own.shape or given.dtype != own.dtype:
            return None
        self.graph.erase_node(writes[0])
        return value

    def finish(self) -> Training:
        signature = self.program.graph_signature
        output = next(node for node in self.graph.nodes if node.op == "output")
        first = sum(
            spec.kind is OutputKind.USER_OUTPUT and isinstance(spec.arg, TensorArgument) for spec in signature.output_specs
        )
        for each in self.training.statistics:
            each.output += first
            each.weight = None if each.weight is None else each.weight + first
        self.training.assigned = {name: number + first for name, number in self.training.assigned.items()}
        self.training.num_outputs = len(self.results)
        output.args = ((*output.args[0], *self.results),)
        signature.output_specs += [
            OutputSpec(OutputKind.USER_OUTPUT, TensorArgument(node.name), None) for node in self.results
        ]
        self.graph.lint()
        self.program.graph_module.recompile()
        return self.training

    def _fresh(self, name: str) -> str:
        taken = {node.name for node in self.graph.nodes}
        while name in taken:
            name += "_"
        return name

    def _add(self, before: fx.Node, target: Any, *args: Any) -> fx.Node:
        """A node with what torch knows of the one that it is made for."""
        with self.graph.inserting_before(before):
            node = self.graph.call_function(target, args)
        values = [arg.meta["val"] if isinstance(arg, fx.Node) else arg for arg in args]
        node.meta = {key: before.meta[key] for key in ("stack_trace", "nn_module_stack") if key in before.meta}
        mode = next(value.fake_mode for value in values if hasattr(value, "fake_mode"))
        with mode:
            node.meta["val"] = target(*values)
        return node

    def _replace(self, node: fx.Node, by: fx.Node) -> None:
        for spec in self.program.graph_signature.output_specs:
            if isinstance(spec.arg, TensorArgument) and spec.arg.name == node.name:
                spec.arg = TensorArgument(by.name)
        node.replace_all_uses_with(by)
        self.graph.erase_node(node)


def _number_everywhere(node: Any) -> float | None:
    """The number that all elements of a tensor are, if the program says it. What has other users may be written to."""
    if isinstance(node, (int, float)):
        return node
    if not isinstance(node, fx.Node) or len(node.users) != 1:
        return None
    if node.target in _FILLED:
        place = _FILLED[node.target]
        return 1 if place is None else _number_everywhere(node.args[place])
    if node.target in (aten.expand.default, aten.view.default, aten.reshape.default, aten.detach.default):
        return _number_everywhere(node.args[0])
    if node.target in _SCALED and len(node.args) == 2 and not node.kwargs:
        numbers = [_number_everywhere(arg) for arg in node.args]
        if None not in numbers:
            return _SCALED[node.target](*numbers)  # type: ignore[arg-type]
    return None


def _example(size: torch.SymInt) -> int:
    """One that a size may be: more than 1 where nothing says what, so that strides differ as those of other sizes."""
    expression = size.node.expr
    hint = size.node.hint
    return int(expression.subs(dict.fromkeys(expression.free_symbols, 101))) if hint is None else hint


def _layout(tensor: Tensor) -> tuple[tuple[int, ...], frozenset[int]]:
    strides = [stride if isinstance(stride, int) else _example(stride) for stride in tensor.stride()]
    order = sorted(range(len(strides)), key=lambda dim: -strides[dim])
    return tuple(order), frozenset(dim for dim, stride in enumerate(strides) if stride == 0)


class Draws:
    """Draws what is random in calls on one graph. `given`: what is drawn, and of what compiled code takes the shape and
    type that it takes. `leaves`: of a call."""

    def __init__(
        self,
        given: Sequence[tuple[Draw, tuple[tuple[int, ...], torch.dtype] | None]],
        leaves: Sequence[Any],
        device: Any,
    ) -> None:
        ones: dict[Any, Tensor] = {}
        self._draws: list[tuple[Tensor, Draw, tuple[tuple[int, ...], torch.dtype] | None]] = []
        for draw, taken in given:
            shape = draw.shape(leaves)
            if taken is not None and (shape is None or math.prod(shape) != math.prod(taken[0])):
                shape = taken[0]
                if shape and len(shape) == draw.rank:
                    first, *rest = shape
                    shape = (*rest[: draw.front], first, *rest[draw.front :])
            if shape is not None:
                key = (shape, draw.dtype, draw.layout)
                if key not in ones:
                    ones[key] = draw.ones(shape, device)
                self._draws.append((ones[key], draw, taken))

    def draw(self) -> list[Tensor]:
        with torch.no_grad():
            drawn = [(draw.argument(ones, taken), taken) for ones, draw, taken in self._draws]
            return [each for each, taken in drawn if taken is not None]


class _Round:
    """Statistics of which no two are of one buffer."""

    def __init__(self) -> None:
        #: Of batches whose size is known: where the buffers are, and the numbers of outputs, by momentum.
        self.known: dict[float, list[tuple[dict[str, Any], str, int]]] = {}
        #: Those of batches whose size only the compiled code knows, with the numbers of the outputs that are weights.
        self.counted: list[tuple[dict[str, Any], str, int, int]] = []


class Buffers:
    """Brings the buffers of a module up to date. Statistics of no elements leave them as they are."""

    def __init__(self, training: Training, owners: dict[str, tuple[dict[str, Any], str]]) -> None:
        self._statistics, self._assigned, self._owners = training.statistics, training.assigned, owners
        self._rounds = self._in_rounds()
        #: By how many are added in a call: a module may be called several times.
        self._counters: dict[int, list[tuple[dict[str, Any], str]]] = {}
        for name, times in Counter(training.counters).items():
            self._counters.setdefault(times, []).append(owners[name])

    def _in_rounds(self, empty: frozenset[tuple[int, int]] = frozenset()) -> list[_Round]:
        """Of batches that are not known to be empty, in the order that a buffer moves towards them."""
        rounds: list[_Round] = []
        uses: Counter[str] = Counter()
        for each in self._statistics:
            if each.weight is None and each.batch in empty:
                continue
            number = uses[each.buffer]
            uses[each.buffer] += 1
            if number == len(rounds):
                rounds.append(_Round())
            entry = (*self._owners[each.buffer], each.output)
            if each.weight is None:
                rounds[number].known.setdefault(each.momentum, []).append(entry)
            else:
                rounds[number].counted.append((*entry, each.weight))
        return rounds

    def update(self, outputs: Sequence[Tensor], empty: frozenset[tuple[int, int]]) -> None:
        with torch.no_grad():
            for each_round in self._in_rounds(empty) if empty else self._rounds:
                for momentum, entries in each_round.known.items():
                    buffers = [owner[name] for owner, name, _ in entries]
                    torch._foreach_lerp_(buffers, [outputs[number] for *_, number in entries], momentum)
                if each_round.counted:
                    buffers, values, weights = zip(
                        *((owner[name], outputs[value], outputs[weight]) for owner, name, value, weight in each_round.counted)
                    )
                    torch._foreach_lerp_(buffers, values, weights)
            for name, number in self._assigned.items():
                owner, key = self._owners[name]
                owner[key].copy_(outputs[number])
            for times, places in self._counters.items():
                torch._foreach_add_([owner[name] for owner, name in places], times)
