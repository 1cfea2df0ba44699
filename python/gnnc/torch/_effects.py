# Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
# See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a module does besides computing results: what it writes, draws and tells hooks. A program of torch.export has some of
it; the rest happens while Python is traced and never again, and is refused here."""

from __future__ import annotations

import contextlib
import copy
import operator
import random
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence, Set
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, fx, nn
from torch._subclasses import FakeTensor, FakeTensorMode
from torch.export import ExportedProgram
from torch.export.graph_signature import TensorArgument
from torch.utils import _pytree as pytree

from .._errors import Error
from ._kept import KeptTensors, can_be_result
from ._made import FirstCallFills, Made
from ._outside import Change, Outside, has_same
from ._reads import GLOBAL_HOOKS, Reads, is_plain, members_of, path_of, recorded
from ._scripts import Interpreted
from ._thread_patches import ThreadPatch


def address_of(tensor: Tensor) -> int:
    """Of the memory that it shares with its views; 0: it has none."""
    try:
        return tensor.untyped_storage().data_ptr()
    except (NotImplementedError, RuntimeError):  # sparse or wrapped
        return 0


def memory_of(module: nn.Module) -> set[int]:
    """The addresses of all tensors that a module and its members have."""
    found = set()
    for each in members_of(module):
        values = [*each._parameters.values(), *each._buffers.values()]
        values += [value for value in vars(each).values() if isinstance(value, (Tensor, list, tuple, dict))]
        found.update(address_of(leaf) for leaf in pytree.tree_leaves(values) if isinstance(leaf, Tensor))
    return found - {0}


def check_hooks(model: nn.Module) -> None:
    """Refuses hooks that never run: those of gradients, and those that PyTorch Geometric runs in eager mode alone (an exported
    program lacks them, and says nothing)."""
    if any(GLOBAL_HOOKS):
        raise Error("there are hooks of all modules, which compiled code does not call: remove them first")
    for name, module in model.named_modules():
        if module._backward_hooks or module._backward_pre_hooks:
            raise Error(
                f"'{name or type(module).__name__}' has a backward hook, which compiled code does not call: register it on "
                "the compiled module, or on a tensor"
            )
        for kind in ("propagate", "message", "aggregate", "message_and_aggregate", "edge_update"):
            if any(getattr(module, f"_{kind}_forward_{when}", None) for when in ("pre_hooks", "hooks")):
                raise Error(
                    f"'{name or type(module).__name__}' has a {kind} hook, which PyTorch Geometric leaves out of exported "
                    f"programs: compute what it does in {kind}() itself"
                )


@contextlib.contextmanager
def _watched_hooks(model: nn.Module) -> Iterator[None]:
    """Refuses forward hooks that give no result: what else they do happens while they are traced, and never again."""
    replaced = []

    def wrapped(member: nn.Module, hook: Any, pre: bool) -> Any:
        def run(*given: Any, **named: Any) -> Any:
            tensors = [each for each in pytree.tree_leaves((given[1:], named)) if isinstance(each, Tensor)]
            versions = [each._version for each in tensors]
            before = dict(vars(member))
            result = hook(*given, **named)
            if result is None and versions == [each._version for each in tensors] and before == vars(member):
                kind = "pre-hook" if pre else "forward hook"
                raise Error(
                    f"'{path_of(model, member)}' has a {kind}, '{getattr(hook, '__qualname__', type(hook).__name__)}', which "
                    "returns nothing: compiled code calls no Python, so what it does else would be done once"
                )
            return result

        return run

    for member in members_of(model):
        for hooks, pre in ((member._forward_hooks, False), (member._forward_pre_hooks, True)):
            for key, hook in list(hooks.items()):
                if not (getattr(hook, "__module__", "") or "").startswith("torch."):
                    replaced.append((hooks, key, hook))
                    hooks[key] = wrapped(member, hook, pre)
    try:
        yield
    finally:
        for hooks, key, hook in replaced:
            if key in hooks:
                hooks[key] = hook


class Watcher:
    """Of one trace of a module: what Python did that its program does not do."""

    def __init__(self, model: nn.Module, inputs: tuple[tuple[Any, ...], dict[str, Any]] | None = None) -> None:
        """`inputs`: of the trace, where tensors may be kept that follow from the graph alone (layers with `cached=True`)."""
        self.model, self.members, self._inputs = model, members_of(model), inputs
        self._attributes = [dict(vars(each)) for each in self.members]
        self._contents = {
            id(value): (value, type(value)(value))
            for own in self._attributes
            for name, value in own.items()
            if type(value) in (list, dict, set) and not name.startswith("_")
        }
        self.made = Made(model, self.members, inputs)
        self._outside = Outside(self.members)
        self._random = random.getstate()
        self._numpy = _numpy_state()

    def restore(self) -> None:
        """All attributes as they were before, and what is outside the module."""
        self._outside.restore()
        self.made.restore()
        for each, before in zip(self.members, self._attributes):
            own = vars(each)
            for name in [name for name in own if name not in before]:
                del own[name]
            for name, value in before.items():
                if own.get(name, self) is not value:
                    own[name] = value
        for value, before in self._contents.values():
            if not has_same(value, before):
                value.clear()
                value.extend(before) if isinstance(value, list) else value.update(before)

    def check(
        self, written: dict[tuple[int, str], tuple[nn.Module, Any]], read_first: Set[tuple[int, str]]
    ) -> None:
        """Refuses what was kept for later, and what was drawn: by KeptTensors where that could be results. `written`:
        attributes as they were set last; `read_first`: those that were read before."""
        kept: list[tuple[nn.Module, str]] = []
        results: list[tuple[nn.Module, str]] = []
        returned = {(id(member), name) for member, name in self.model.__dict__.get("_gnnc_kept", ())}
        for (number, name), (member, value) in written.items():
            before = self._attributes[self._place(member)]
            if name in member._parameters or name in member._buffers or name in member._modules:
                continue
            if (number, name) in returned:
                continue
            if any(isinstance(leaf, Tensor) for leaf in pytree.tree_leaves(value)):
                is_read_first = (number, name) in read_first or (number, "__dict__") in read_first
                can_be = not isinstance(member, Interpreted) and can_be_result(member, name, value)
                (results if can_be and not is_read_first else kept).append((member, name))
            if is_plain(value) and is_plain(before.get(name)) and before.get(name) != value:
                warnings.warn(
                    f"gnnc: '{path_of(self.model, member)}' sets '{name}' in forward ({before.get(name)!r} before, then "
                    f"{value!r}), which compiled code does not",
                    stacklevel=2,
                )
        for each, own in zip(self.members, self._attributes):
            for name, value in own.items():
                if id(value) not in self._contents:
                    continue
                if any(isinstance(leaf, FakeTensor) for leaf in pytree.tree_leaves(value)):
                    kept.append((each, name))
                elif not has_same(value, self._contents[id(value)][1]):
                    what = f"'{path_of(self.model, each)}' changes what '{name}' contains in forward"
                    warnings.warn(f"gnnc: {what}, which compiled code does not", stacklevel=2)
        outside = self._outside.changes()
        if kept or outside:
            self.restore()
        for change in outside:
            self._check_outside(change)
        for member, name in kept:
            if not self._follows_from_graph(member, name):
                kind = FirstCallFills if self._is_filled_once(member, name) else Error
                raise kind(
                    f"'{path_of(self.model, member)}' keeps a tensor in '{name}' for later, which compiled code does not: "
                    "return it, and pass it as an argument to the next call"
                )
        if random.getstate() != self._random or _numpy_state() != self._numpy:
            random.setstate(self._random)
            raise Error(
                f"{type(self.model).__name__} draws random numbers from Python or NumPy, which would be the same in each "
                "call: draw them from PyTorch, or pass them as arguments"
            )
        if results:
            member, name = results[0]
            raise KeptTensors(
                f"'{path_of(self.model, member)}' keeps a tensor in '{name}' for later",
                [(self._place(member), name) for member, name in results],
            )

    def _check_outside(self, change: Change) -> None:
        name = type(self.model).__name__
        if not change.has_tensors():
            warnings.warn(f"gnnc: forward of {name} changes {change}, which compiled code does not", stacklevel=3)
        elif not self._is_made_from_graph(change.what):
            raise Error(
                f"forward of {name} keeps a tensor in {change.what} for later, which compiled code does not: return it, and "
                "pass it as an argument to the next call"
            )

    def _place(self, member: nn.Module) -> int:
        return next(i for i, each in enumerate(self.members) if each is member)

    def _follows_from_graph(self, member: nn.Module, name: str) -> bool:
        """Whether what is kept is the same for all features and parameters: two runs with other numbers say so. Compiled
        code computes it in each call."""
        if self._inputs is None:
            return False
        with torch.random.fork_rng():
            place = self._place(member)
            return self._is_same_for_other_numbers(lambda twin: vars(members_of(twin)[place]).get(name))

    def _is_made_from_graph(self, what: str) -> bool:
        """The same of what is kept outside the module."""

        def kept(_: nn.Module) -> Any:
            found = next((each for each in self._outside.changes() if each.what == what), None)
            self._outside.restore()
            return None if found is None else pytree.tree_leaves(found.now)

        if self._inputs is None:
            return False
        try:
            with torch.random.fork_rng():
                return self._is_same_for_other_numbers(kept)
        finally:
            self._outside.restore()

    def _is_filled_once(self, member: nn.Module, name: str) -> bool:
        """Whether it was None, a first call puts a tensor without a gradient there, and a second one leaves it."""
        place = self._place(member)
        if self._inputs is None or self._attributes[place].get(name, self) is not None:
            return False
        try:
            with torch.random.fork_rng():
                twin, (args, kwargs) = copy.deepcopy((self.model, self._inputs))
                twin(*args, **kwargs)
                first = vars(members_of(twin)[place]).get(name)
                twin(*args, **kwargs)
        except Exception:  # modules may refuse to be copied, or such numbers
            return False
        leaves = [leaf for leaf in pytree.tree_leaves(first) if isinstance(leaf, Tensor)]
        if not leaves or any(leaf.requires_grad for leaf in leaves):
            return False
        return vars(members_of(twin)[place]).get(name) is first

    def _is_same_for_other_numbers(self, read: Callable[[nn.Module], Any]) -> bool:
        """Of what a module has kept."""
        assert self._inputs is not None
        found = []
        try:
            for _ in range(2):
                twin, (args, kwargs) = copy.deepcopy((self.model, self._inputs))
                leaves = [leaf for leaf in pytree.tree_leaves((args, kwargs)) if isinstance(leaf, Tensor)]
                with torch.no_grad():
                    for tensor in (*leaves, *twin.parameters(), *twin.buffers()):
                        if tensor.is_floating_point():
                            tensor.uniform_(0.5, 1.5)
                    twin(*args, **kwargs)
                kept = pytree.tree_leaves(read(twin))
                found.append([leaf for leaf in kept if isinstance(leaf, Tensor)])
        except Exception:  # modules may refuse to be copied, or such numbers
            return False
        first, second = found
        return bool(first) and len(first) == len(second) and all(map(torch.equal, first, second))


def _numpy_state() -> Any:
    numpy = sys.modules.get("numpy")
    if numpy is None:
        return None
    kind, keys, *rest = numpy.random.get_state()
    return kind, keys.tobytes(), *rest


def _refusing(name: str) -> ThreadPatch:
    def refuse(*_: Any, **__: Any) -> Any:
        raise Error(
            f"forward calls '{name}' of a tensor, which compiled code does not: return the tensor, and call it for the result"
        )

    return ThreadPatch(Tensor, name, refuse)


_HOOKS = [_refusing(name) for name in ("register_hook", "register_post_accumulate_grad_hook", "retain_grad")]


@contextlib.contextmanager
def _without_gradient_hooks() -> Iterator[None]:
    """Refuses what `forward` asks of the gradients of tensors on the way: a trace of it does not say so, and they are not
    computed as tensors."""
    with contextlib.ExitStack() as stack:
        for hook in _HOOKS:
            stack.enter_context(hook.active())
        yield


@contextlib.contextmanager
def watched_trace(
    model: nn.Module, reads: Reads, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Iterator[set[tuple[int, str]]]:
    """While torch.export runs a module's Python. Gives the buffers that it assigns, by their modules' identities."""
    assigned: set[tuple[int, str]] = set()
    watcher = Watcher(model, (args, kwargs))
    try:
        with recorded(model, reads) as recorder, _watched_hooks(model), _without_gradient_hooks():
            try:
                yield assigned
            except Exception as error:
                watcher.made.check(recorder.written, error)
                raise
            watcher.made.check(recorder.written)
        for (_, name), (member, value) in recorder.written.items():
            if name in member._buffers and isinstance(value, Tensor):
                assigned.add((id(member), name))
        with warnings.catch_warnings():
            warnings.simplefilter("always")
            watcher.check(recorder.written, recorder.read_first)
    finally:
        watcher.restore()


def left_out(model: nn.Module, assigned: Set[tuple[int, str]], program: ExportedProgram) -> list[str]:
    """All buffers that are assigned, if the program lacks any: torch.export sees what the outermost module assigns."""
    paths = {id(each): path for path, each in model.named_modules()}
    names = [f"{paths[member]}.{name}".lstrip(".") for member, name in sorted(assigned) if member in paths]
    return names if set(names) - written_placeholders(program) else []


def unseen_writes(
    model: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any], program: ExportedProgram
) -> list[str]:
    """Of a program that Dynamo traced, which leaves out what `forward` assigns: the buffers that the module writes to
    and its program does not. Refuses tensors that are kept elsewhere. The module is run for that, without numbers if
    that can be."""
    names = {id(each): path for path, each in model.named_modules()}
    watcher = Watcher(model)
    in_program = written_placeholders(program)
    rehearsal = rehearse(model, args, kwargs, watcher)
    if rehearsal is None:
        return []
    watcher.check(rehearsal.attributes, rehearsal.read_first)
    paths = [(names.get(id(member)), key) for member, key in rehearsal.buffers]
    written = [key if not path else f"{path}.{key}" for path, key in paths]
    return [name for name in written if name not in in_program]


@dataclass
class Rehearsal:
    """A call of a module that leaves everything as it was."""

    result: Any
    buffers: list[tuple[nn.Module, str]]  #: those that it has written
    attributes: dict[tuple[int, str], tuple[nn.Module, Any]]  #: that it has set, with their last values
    read_first: set[tuple[int, str]]  #: attributes that it has read before it has set them


def rehearse(
    model: nn.Module,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    watcher: Watcher | None = None,
    ways: Sequence[bool] = (True, False),
    grad: bool = False,
) -> Rehearsal | None:
    """Calls a module. `ways`: without numbers or with them, in this order. `grad`: with them, as a call that may be
    differentiated. None: it cannot be called so."""
    watcher = watcher or Watcher(model)
    for fake in ways:
        try:
            return _run(model, args, kwargs, fake, grad=not fake and grad)
        except Exception:  # sizes that depend on numbers, without numbers; or arguments of zeros only
            continue
        finally:
            watcher.restore()
    return None


def own_error(model: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Exception | None:
    """What a module raises by itself; everything is as it was."""
    watcher = Watcher(model)
    try:
        with torch.enable_grad():
            _run(model, args, kwargs, False, grad=True)
    except Exception as error:
        return error
    finally:
        watcher.restore()
    return None


def _run(
    model: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any], fake: bool, *, grad: bool = False
) -> Rehearsal:
    """With copies of its tensors. `grad`: as a call that may be differentiated."""
    mode = FakeTensorMode(allow_non_fake_inputs=True) if fake else contextlib.nullcontext()
    copies: dict[int, Tensor] = {}

    def copy(tensor: Tensor) -> Tensor:
        if id(tensor) not in copies:
            if isinstance(mode, FakeTensorMode):
                copies[id(tensor)] = mode.from_tensor(tensor)
            elif grad and tensor.requires_grad:
                twin = tensor.detach().clone().requires_grad_()
                copies[id(tensor)] = twin if tensor.is_leaf else twin.clone()
            else:
                copies[id(tensor)] = tensor.detach().clone()
        return copies[id(tensor)]

    saved = []
    devices = {leaf.device for leaf in pytree.tree_leaves((args, kwargs)) if isinstance(leaf, Tensor) and leaf.is_cuda}
    try:
        for each in members_of(model):
            for kind in (each._parameters, each._buffers) if fake else (each._buffers,):
                saved.append((kind, dict(kind)))
                kind.update({key: copy(tensor) for key, tensor in kind.items() if tensor is not None})
        given, named = pytree.tree_map_only(Tensor, copy, (args, kwargs))
        before = [(kind, dict(kind), {key: t._version for key, t in kind.items() if t is not None}) for kind, _ in saved]
        reads = Reads()
        with torch.random.fork_rng(list(devices)), torch.set_grad_enabled(grad), mode, recorded(model, reads) as recorder:
            result = model(*given, **named)
        owners = {id(each._buffers): each for each in members_of(model)}
        found = [
            (owners[id(kind)], key)
            for kind, tensors, versions in before
            for key, tensor in kind.items()
            if id(kind) in owners
            if tensor is not tensors.get(key) or (tensor is not None and tensor._version != versions[key])
        ]
        return Rehearsal(result, found, recorder.written, recorder.read_first)
    finally:
        for kind, tensors in saved:
            kind.clear()
            kind.update(tensors)


def written_placeholders(program: ExportedProgram) -> set[str]:
    """The parameters and buffers that a program writes to."""
    names = {
        spec.arg.name: str(spec.target)
        for spec in program.graph_signature.input_specs
        if isinstance(spec.arg, TensorArgument) and spec.target is not None
    }
    found = {names[node.name] for node in written_nodes(program.graph.nodes) if node.name in names}
    return found | set(program.graph_signature.buffers_to_mutate.values())


def written_nodes(nodes: Iterable[fx.Node]) -> Iterator[fx.Node]:
    """What the calls of a graph write to, once for each, and what that is a view of; bodies of `no_grad` included."""
    for node in nodes:
        for written in _written_arguments(node):
            seen: fx.Node | None = written
            while seen is not None:
                yield seen
                seen = _viewed(seen)


def _written_arguments(node: fx.Node) -> list[fx.Node]:
    if node.op != "call_function":
        return []
    schema, body = getattr(node.target, "_schema", None), _body(node)
    if body is not None:
        inner = [each for each in body.graph.nodes if each.op == "placeholder"]
        operands = dict(zip(inner, node.args[len(node.args) - len(inner) :]))
        found = [operands[each] for each in written_nodes(body.graph.nodes) if each in operands]
        return [each for each in found if isinstance(each, fx.Node)]
    if schema is None:
        return []
    given = dict(zip([argument.name for argument in schema.arguments], node.args)) | node.kwargs
    written = [argument.name for argument in schema.arguments if argument.alias_info and argument.alias_info.is_write]
    if given.get("training") or given.get("use_input_stats"):  # written to, although the schema does not say so
        written += ["running_mean", "running_var"]
    return [given[name] for name in written if isinstance(given.get(name), fx.Node)]


def _body(node: fx.Node) -> fx.GraphModule | None:
    """Of a call that runs a graph of its own on its last arguments."""
    for each in node.all_input_nodes:
        if each.op == "get_attr" and each.graph.owning_module is not None:
            body = getattr(each.graph.owning_module, str(each.target), None)
            if isinstance(body, fx.GraphModule):
                return body
    return None


def _viewed(node: fx.Node) -> fx.Node | None:
    """What a node shares its memory with, as its operator says."""
    if node.op != "call_function":
        return None
    if node.target is operator.getitem:
        of, place = node.args
        body = _body(of) if isinstance(of, fx.Node) else None
        if body is None or not isinstance(place, int):
            return None
        inner = [each for each in body.graph.nodes if each.op == "placeholder"]
        output = next(each for each in body.graph.nodes if each.op == "output")
        seen = output.args[0][place] if isinstance(output.args[0], (tuple, list)) else output.args[0]
        while isinstance(seen, fx.Node) and seen not in inner:
            seen = _viewed(seen)
        operand = of.args[len(of.args) - len(inner) + inner.index(seen)] if isinstance(seen, fx.Node) else None
        return operand if isinstance(operand, fx.Node) else None
    schema = getattr(node.target, "_schema", None)
    if schema is None or not schema.returns or schema.returns[0].alias_info is None:
        return None
    shared = schema.returns[0].alias_info.before_set
    given = dict(zip([argument.name for argument in schema.arguments], node.args)) | node.kwargs
    for argument in schema.arguments:
        if argument.alias_info is not None and argument.alias_info.before_set & shared:
            found = given.get(argument.name)
            return found if isinstance(found, fx.Node) else None
    return None
