# Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
# See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Derivatives that can be differentiated again (`create_graph=True`).

The pull-back of a module, which takes its arguments and cotangents to gradients, is a function of tensors as the module
itself is. It is traced operator by operator, exported and compiled with its own gradient; that gives second derivatives.
Third ones are an error. What cannot be traced or compiled is computed by PyTorch from the module, with a warning.
"""

from __future__ import annotations

import contextlib
import itertools
import warnings
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, fx, nn
from torch._decomp import core_aten_decompositions, get_decompositions
from torch.export import ExportedProgram
from torch.fx.experimental.proxy_tensor import make_fx
from torch.utils import _pytree as pytree

from .. import _sources
from .._errors import Error
from .._library import Library
from . import _autograd, _export
from ._alone import alone
from ._counted import Count, cotangents as known_cotangents, counts, take_from_cotangents
from ._integers import take_integers
from ._kept import keeping

if TYPE_CHECKING:
    from ._executor import Bound, Executor
    from ._module import Example, Options
    from ._partial import Given

#: What decompositions and derivatives leave where a tensor is kept for later. In modules without a `detach` of their own
#: they are the tensor itself.
_ALIASES = (torch.ops.aten.detach.default, torch.ops.aten.alias.default)


#: Normalizations, whose derivatives read the statistics that they return: as operations on numbers.
_NORMALIZATIONS = (
    torch.ops.aten._native_batch_norm_legit.default,
    torch.ops.aten._native_batch_norm_legit.no_stats,
)


class PullBack:
    """Of one specialization of a module. The executor, which has this, comes with each call: without a cycle the memory
    of a module is free as soon as nobody has it."""

    def __init__(
        self, module: nn.Module, example: Example, artifact: _export.Artifact, options: Options, changes: bool = False
    ) -> None:
        """`changes`: running statistics and counters, which no result of the same call reads."""
        self.module, self.example, self.artifact, self.options = module, example, artifact, options
        self.changes = changes
        self.called = keeping(module, artifact.kept)  #: whose results are the program's
        self._compiled: dict[Given, _Compiled | None] = {}  #: None: it cannot be compiled

    def __call__(
        self, executor: Executor, bound: Bound, operands: Sequence[Tensor], cotangents: Sequence[Tensor | None]
    ) -> list[Tensor | None]:
        """Gradients with respect to the operands, as differentiable functions of operands and cotangents."""
        leaves = list(bound.leaves)
        for k, i in enumerate(executor.value_leaves):
            operand = executor.leaf(bound, k, operands[k])
            dtype = self.example.types[i]
            is_number = dtype is not None and dtype.is_floating_point
            leaves[i] = operand if is_number or dtype is None else operand.detach().to(dtype)
        params = dict(zip(executor.operand_names[len(executor.value_leaves) :], operands[len(executor.value_leaves) :]))
        cotangents = self._restored(executor, leaves, cotangents)
        given = frozenset([i for i, cotangent in enumerate(cotangents) if cotangent is not None])
        if given not in self._compiled:
            with alone(by_autograd=bound.number >= 0):
                if given not in self._compiled:
                    self._compiled[given] = self._compile(executor, given)
        compiled = self._compiled[given]
        if compiled is not None:
            found = compiled(leaves, params, [cotangent for cotangent in cotangents if cotangent is not None])
        else:
            with alone(by_autograd=bound.number >= 0):  # it is called with other parameters than its own
                found = self._by_pytorch(executor, leaves, params, cotangents)
        return [None if each is None else each.reshape(operand.shape) for each, operand in zip(found, operands)]

    def _compile(self, executor: Executor, given: Given) -> _Compiled | None:
        try:
            return _Compiled(self, executor, given)
        except Exception as error:  # tracing derivatives may fail in any way
            name = type(self.module).__name__
            reason = str(error).strip().partition("\n")[0] or type(error).__name__
            message = f"gnnc leaves second derivatives of {name} to PyTorch: {reason}"
            warnings.warn(message, stacklevel=3)
            return None

    def _restored(
        self, executor: Executor, leaves: Sequence[Any], cotangents: Sequence[Tensor | None]
    ) -> list[Tensor | None]:
        """Cotangents in the shapes of the module's results."""
        if executor.restored is None or not executor.restored.leading:
            return list(cotangents)
        results: list[Any] = [None if number is None else cotangents[number] for number in self.artifact.outputs]
        executor.restored.put(results, leaves)
        found = list(cotangents)
        for number, each in zip(self.artifact.outputs, results):
            if number is not None:
                found[number] = each
        return found

    def _by_pytorch(
        self,
        executor: Executor,
        leaves: list[Any],
        params: dict[str | None, Tensor],
        cotangents: Sequence[Tensor | None],
    ) -> list[Tensor | None]:
        # Aliases: one operand may be made from another, and these are gradients with respect to each by itself.
        leaves = [leaf.view_as(leaf) if _is_float(leaf) else leaf for leaf in leaves]
        aliases = {name or "": tensor.view_as(tensor) for name, tensor in params.items()}
        # The call has changed running statistics and counters, and this one must not again.
        copies = {name: buffer.clone() for name, buffer in self.called.named_buffers() if self.changes}
        copies |= {name: tensor.clone() if name in copies else tensor for name, tensor in aliases.items()}
        operands = [leaves[i] for i in executor.value_leaves] + list(aliases.values())
        args, kwargs = pytree.tree_unflatten(leaves, self.example.tree)
        with in_mode(self.module, self.example.modes):
            result = pytree.tree_leaves(torch.func.functional_call(self.called, copies, args, kwargs))
        outputs: list[Any] = [None] * len(cotangents)
        for leaf, number in zip(result, self.artifact.outputs):
            if number is not None:
                outputs[number] = leaf
        wanted = [i for i in _differentiated(executor) if operands[i].requires_grad]
        pairs = [
            (output, given) for output, given in zip(outputs, cotangents) if given is not None and output.requires_grad
        ]
        found = torch.autograd.grad(
            [output for output, _ in pairs],
            [operands[i] for i in wanted],
            [given for _, given in pairs],
            create_graph=True,
            allow_unused=True,
        )
        gradients: list[Tensor | None] = [None] * len(operands)
        for i, gradient in zip(wanted, found):
            gradients[i] = gradient
        return gradients


class _Compiled:
    """The pull-back as an object of its own, for cotangents of some results."""

    def __init__(self, pull_back: PullBack, of: Executor, given: Given) -> None:
        from ._module import Example, Specialization, compiler_options

        self.count, example = len(of.operand_names), pull_back.example
        args, kwargs = example.arguments()
        with in_mode(pull_back.module, example.modes), torch.enable_grad():
            program = _export.export_program(pull_back.called, args, kwargs)
        # As calls do, whose cotangents of integers and truth values are floats.
        take_integers(program, by_calls=True)
        leaves, cotangents, counted = _examples(program, example, of, given)
        graph, self.used, self.names = _trace(program, example, of, leaves, cotangents, given, counted)
        tensors = tuple(leaf for leaf in leaves if isinstance(leaf, Tensor)) + tuple(cotangents)
        module = Gradient(pull_back.called, graph, self.names)
        flags = compiler_options(pull_back.module, tensors, pull_back.options)
        artifact = _export.build(module, tensors, {}, flags, progress=pull_back.options.progress)
        example, library = Example.of(module, tensors, {}), Library(artifact.path)
        self.known = Specialization(module, example, artifact, library, pull_back.options)
        self.known.executor.pull_back = None
        self.known.executor.not_computed = "third derivatives"

    def __call__(
        self, leaves: list[Any], params: dict[str | None, Tensor], cotangents: list[Tensor]
    ) -> list[Tensor | None]:
        executor = self.known.executor
        tensors = [leaf for leaf in leaves if isinstance(leaf, Tensor)] + cotangents
        if not self.known.accepts(tensors, self.known.example.tree):
            raise Error("second derivatives were compiled for other arguments")
        now = self.known.parameters()
        names = executor.operand_names[len(executor.value_leaves) :]
        own = [params.get((name or "").removeprefix("module."), tensor) for name, tensor in zip(names, now)]
        bound = executor.bind(tensors)
        outputs = _autograd.call(executor, bound, executor.operands(bound, tensors, own))
        found = self.known.result(outputs, tensors, bound)
        gradients: list[Tensor | None] = [None] * self.count
        for i, gradient in zip(self.used, found):
            gradients[i] = gradient
        return gradients


def _differentiated(executor: Executor) -> list[int]:
    """The operands that have gradients."""
    return [i for i, name in enumerate(executor.gradient_names) if name is not None]


class Gradient(nn.Module):
    """A traced pull-back, with the parameters of the module that it was traced from."""

    def __init__(self, module: nn.Module, graph: fx.GraphModule, names: list[str]) -> None:
        super().__init__()
        self.module, self.graph, self.names = module, graph, names

    def forward(self, *tensors: Tensor) -> tuple[Tensor, ...]:
        found = _tensors_of(self.module)
        return tuple(self.graph(*tensors, *[found[name] for name in self.names]))


def _tensors_of(module: nn.Module) -> dict[str, Tensor]:
    return {**dict(module.named_parameters()), **dict(module.named_buffers())}


def _is_float(leaf: Any) -> bool:
    return isinstance(leaf, Tensor) and leaf.is_floating_point()


@contextlib.contextmanager
def in_mode(module: nn.Module, modes: Sequence[bool]) -> Iterator[None]:
    """The module in the mode that it was compiled in."""
    before = [(each, each.training) for each in module.modules()]
    for (each, _), mode in zip(before, modes):
        each.training = mode
    try:
        yield
    finally:
        for each, mode in before:
            each.training = mode


def _spaces(executor: Executor) -> dict[tuple[str, int], str]:
    """The space whose extent a dimension of an argument is, for those that have one."""
    description = executor.library.description
    found = {(name, 0): value.space for name, value in description.inputs.items() if value.space}
    for each in description.maps.values():
        source = _sources.parse(each.source) if each.source else None
        if isinstance(source, _sources.Name):
            found[source.name, 0] = each.domain
        elif isinstance(source, _sources.Row) and isinstance(source.of, _sources.Name):
            found[source.of.name, 1] = each.domain
    for space in description.spaces.values():
        source = _sources.parse(space.source) if space.source else None
        if isinstance(source, _sources.Apply) and source.function == "size":
            of, dim = source.arguments
            if isinstance(of, _sources.Name) and isinstance(dim, int):
                found[of.name, dim] = space.name
    return found


def _examples(
    program: ExportedProgram, example: Example, executor: Executor, given: Given
) -> tuple[list[Any], list[Tensor], dict[Any, Count]]:
    """Arguments of an exported program and cotangents of its given results, all zero. Sizes that may differ do, so that
    a trace does not take two for one, but for those of one space; and they are in the order of the example's, as the
    program may compare them. Last what the program reads from tensors that cotangents say too."""
    placeholders = {node.name: node.meta["val"] for node in program.graph.nodes if node.op == "placeholder"}
    output = next(node for node in program.graph.nodes if node.op == "output")
    inputs = [placeholders[name] for name in program.graph_signature.user_inputs if name in placeholders]
    values = [node.meta["val"] for node in output.args[0] if isinstance(node, fx.Node)]
    known_tensors = [each for each in placeholders.values() if isinstance(each, Tensor)]
    fixed = {size for tensor in known_tensors for size in tensor.shape if isinstance(size, int)}
    free = (size for size in itertools.count(101, 2) if size not in fixed)
    hints: dict[Any, int] = {}
    for size in (size for tensor in known_tensors for size in tensor.shape if not isinstance(size, int)):
        for symbol in size.node.expr.free_symbols:
            hints[symbol] = max(hints.get(symbol, 0), (size.node.hint or 0) if size.node.expr == symbol else 0)
    spaces, tensors = _spaces(executor), iter([each for each in inputs if isinstance(each, Tensor)])
    space_of: dict[Any, str] = {}
    extents: dict[Any, int] = {}
    for name in (name for name, dtype in zip(executor.leaf_names, example.types) if dtype is not None):
        for dim, size in enumerate(next(tensors).shape):
            space = spaces.get((name or "", dim))
            if space is not None and isinstance(size, int):
                extents[space] = size
            elif space is not None and size.node.expr in hints:
                space_of[size.node.expr] = space
    counted = counts(values, sorted(given))
    sizes: dict[Any, int] = {}
    for symbol in sorted(hints, key=lambda each: (hints[each], str(each))):
        key = space_of.get(symbol, symbol)
        if key not in extents:
            extents[key] = next(free)
        sizes[symbol] = extents[key]

    def shape(tensor: Tensor) -> list[int]:
        result = []
        for size in tensor.shape:
            if isinstance(size, int):
                result.append(size)
                continue
            expression = size.node.expr
            for symbol in sorted(expression.free_symbols, key=str):
                if str(symbol).startswith("u") and symbol not in counted:
                    raise Error("a result's size depends on numbers")
                sizes.setdefault(symbol, next(free))
            result.append(int(expression.subs(sizes)))
        return result

    device = example.device
    zeros = iter(
        [torch.zeros(shape(each), dtype=each.dtype, device=device) for each in inputs if isinstance(each, Tensor)]
    )
    leaves = [
        next(zeros) if dtype is not None else constant for dtype, constant in zip(example.types, example.constants)
    ]
    wanted = [values[i] for i in sorted(given)]
    return leaves, [torch.zeros(shape(each), dtype=each.dtype, device=device) for each in wanted], counted


def _forget_writes(graph: fx.GraphModule, names: list[str]) -> None:
    """Leaves running statistics and counters as they are: the call before has changed them, and no gradient reads them."""
    own = [node for node in graph.graph.nodes if node.op == "placeholder"][-len(names) :] if names else []
    for node in reversed(graph.graph.nodes):
        writes = isinstance(node.target, torch._ops.OpOverload) and node.target._schema.is_mutable
        if writes and node.args[0] in own and not node.users:
            graph.graph.erase_node(node)
    graph.graph.eliminate_dead_code()


def _trace(
    program: ExportedProgram,
    example: Example,
    executor: Executor,
    leaves: list[Any],
    cotangents: list[Tensor],
    given_to: Given,
    counted: dict[Any, Count],
) -> tuple[fx.GraphModule, list[int], list[str]]:
    """The pull-back's operators, the operands whose gradients it returns, and the parameters that come last among its
    arguments."""
    for node in program.graph.nodes:
        if node.target in _ALIASES or "no_grad" in str(node.target) or "set_grad" in str(node.target):
            raise Error("parts of it are detached")
    module = program.module()
    assert isinstance(module, fx.GraphModule)
    take_from_cotangents(program, module, counted, sorted(given_to))
    tensors = {name: tensor for name, tensor in _tensors_of(module).items()}
    names = list(tensors)
    places = [i for i, leaf in enumerate(leaves) if isinstance(leaf, Tensor)]
    differentiated = _differentiated(executor)
    used: list[int] = []

    def run(*given: Tensor) -> list[Tensor]:
        own = list(leaves)
        for place, tensor in zip(places, given):
            own[place] = tensor
        seeds = given[len(places) : len(places) + len(cotangents)]
        by_name = dict(zip(names, given[len(places) + len(cotangents) :]))
        operands = [own[i] for i in executor.value_leaves]
        operands += [by_name[name or ""] for name in executor.operand_names[len(operands) :]]
        args, kwargs = pytree.tree_unflatten(own, example.tree)
        with known_cotangents(seeds):
            results = pytree.tree_leaves(torch.func.functional_call(module, by_name, args, kwargs))
        outputs = [each for each in results if each is not None]
        outputs = [each for i, each in enumerate(outputs) if i in given_to]
        pairs = [(output, seed) for output, seed in zip(outputs, seeds) if output.requires_grad]
        found = torch.autograd.grad(
            [output for output, _ in pairs],
            [operands[i] for i in differentiated],
            [seed for _, seed in pairs],
            allow_unused=True,
        )
        used[:] = [i for i, gradient in zip(differentiated, found) if gradient is not None]
        return [gradient for gradient in found if gradient is not None]

    given = [leaves[i].detach() for i in places] + [each.detach() for each in cotangents]
    given += [tensor.detach().clone() for tensor in tensors.values()]
    wanted = {executor.operand_names[i] for i in differentiated}
    for tensor in given[: len(places)]:
        tensor.requires_grad_(tensor.is_floating_point())
    for name, tensor in zip(names, given[len(places) + len(cotangents) :]):
        tensor.requires_grad_(name in wanted)  # running statistics of a normalization must not
    with _export._quietly(), torch.enable_grad():
        table = {**core_aten_decompositions(), **get_decompositions(_NORMALIZATIONS)}
        graph = make_fx(run, table, tracing_mode="symbolic", _allow_non_fake_inputs=True)(*given)
    for node in list(graph.graph.nodes):
        if node.target in _ALIASES:
            node.replace_all_uses_with(node.args[0])
            graph.graph.erase_node(node)
    _forget_writes(graph, names)
    graph.recompile()
    return graph, used, names
