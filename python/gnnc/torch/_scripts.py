# Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
# See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Modules of TorchScript inside a module that is exported, as in e3nn's. torch.export does not look into them: while it
traces, modules stand in their places that run the graphs of TorchScript operation by operation, with the same
parameters and buffers by the same names."""

from __future__ import annotations

import contextlib
import operator
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Any

import torch
from torch import Tensor, nn
from torch.jit import ScriptModule

from .._errors import Error

#: Operators on numbers and lists, which torch would want constants for.
_ON_NUMBERS: dict[str, Callable[..., Any]] = {
    "add": operator.add,
    "sub": operator.sub,
    "mul": operator.mul,
    "div": operator.truediv,
    "floordiv": operator.floordiv,
    "remainder": operator.mod,
    "neg": operator.neg,
    "pow": operator.pow,
    "eq": operator.eq,
    "ne": operator.ne,
    "lt": operator.lt,
    "le": operator.le,
    "gt": operator.gt,
    "ge": operator.ge,
    "__and__": operator.and_,
    "__or__": operator.or_,
    "__is__": operator.is_,
    "__isnot__": operator.is_not,
    "__not__": operator.not_,
    "__contains__": operator.contains,
    "__getitem__": operator.getitem,
    "len": len,
    "Int": int,
    "Float": float,
    "Bool": bool,
    "list": list,
    "slice": lambda values, start=None, end=None, step=1: values[slice(start, end, step)],
    "append": lambda values, value: (values.append(value), values)[1],
}
#: Types are numbers in TorchScript.
_TYPES = {
    torch.uint8: 0,
    torch.int8: 1,
    torch.int16: 2,
    torch.int32: 3,
    torch.int64: 4,
    torch.float16: 5,
    torch.float32: 6,
    torch.float64: 7,
    torch.bool: 11,
    torch.bfloat16: 15,
}
#: Of tensors.
_ON_TENSORS: dict[tuple[str, str], Callable[..., Any]] = {
    ("aten::size", ""): lambda x: list(x.shape),
    ("aten::size", "int"): lambda x, axis: x.shape[axis],
    ("aten::dim", ""): lambda x: x.dim(),
    ("prim::device", ""): lambda x: x.device,
    ("prim::dtype", ""): lambda x: _TYPES[x.dtype],
    ("aten::__isnot__", ""): operator.is_not,
    ("aten::__is__", ""): operator.is_,
}
#: Nodes that pass their operand on.
_IDENTITIES = frozenset({"prim::unchecked_cast", "prim::data", "aten::__copy__"})


@lru_cache(maxsize=4096)
def _schema(text: str) -> Any:
    return torch._C.parse_schema(text)


def _apply(node: Any, values: Sequence[Any]) -> Any:
    """An operator of aten on these operands."""
    kind = node.kind()
    namespace, _, name = kind.partition("::")
    schema = _schema(node.schema()) if node.schema() != "(no schema)" else None
    special = _ON_TENSORS.get((kind, schema.overload_name if schema else ""))
    if special is not None:
        return special(*values)
    has_tensors = any(isinstance(value, Tensor) for value in values)
    if kind == "aten::pow" and not has_tensors and schema.overload_name != "int_to_int":
        return float(values[0]) ** values[1]
    if name in _ON_NUMBERS and not has_tensors:
        return _ON_NUMBERS[name](*values)
    if name == "append" or (name == "__getitem__" and not isinstance(values[0], Tensor)):
        return _ON_NUMBERS[name](*values)
    if schema is None:
        raise Error(f"TorchScript: '{kind}' is not followed")
    packet = getattr(getattr(torch.ops, namespace), name)
    call = getattr(packet, schema.overload_name or "default")
    plain = [value for value, each in zip(values, schema.arguments) if not each.kwarg_only]
    named = {each.name: value for value, each in zip(values, schema.arguments) if each.kwarg_only}
    return call(*plain, **{key: value for key, value in named.items() if value is not None})


class _Frame:
    """The values of one call."""

    def __init__(self) -> None:
        self.values: dict[str, Any] = {}

    def __getitem__(self, value: Any) -> Any:
        return self.values[value.debugName()]

    def __setitem__(self, value: Any, found: Any) -> None:
        self.values[value.debugName()] = found

    def run(self, block: Any) -> list[Any]:
        for node in block.nodes():
            self._step(node)
        return [self[value] for value in block.outputs()]

    def _step(self, node: Any) -> None:
        kind, outputs = node.kind(), list(node.outputs())
        if kind == "prim::Constant":
            self[outputs[0]] = outputs[0].toIValue()
            return
        if kind == "prim::If":
            taken = list(node.blocks())[0 if self[node.inputsAt(0)] else 1]
            results = self.run(taken)
        elif kind == "prim::Loop":
            results = self._loop(node)
        else:
            results = self._simple(node, kind, [self[value] for value in node.inputs()])
        for output, result in zip(outputs, results):
            self[output] = result

    def _simple(self, node: Any, kind: str, values: list[Any]) -> Sequence[Any]:
        if kind == "prim::GetAttr":
            return [getattr(values[0], node.s("name"))]
        if kind == "prim::ListConstruct":
            return [values]
        if kind == "prim::TupleConstruct":
            return [tuple(values)]
        if kind == "prim::DictConstruct":
            return [dict(zip(values[::2], values[1::2]))]
        if kind in ("prim::TupleUnpack", "prim::ListUnpack"):
            return values[0]
        if kind == "prim::TupleIndex":
            return [values[0][values[1]]]
        if kind in _IDENTITIES:
            return [values[0]]
        if kind == "prim::Uninitialized":
            return [None]
        if kind == "prim::RaiseException":
            raise RuntimeError(str(values[0]))
        if kind.startswith("prim::") and kind not in ("prim::device", "prim::dtype"):
            raise Error(f"TorchScript: '{kind}' is not followed")
        found = _apply(node, values)
        return found if node.outputsSize() > 1 else [found]

    def _loop(self, node: Any) -> list[Any]:
        most, goes_on, *carried = (self[value] for value in node.inputs())
        (body,) = node.blocks()
        for number in range(most):
            if not goes_on:
                break
            for value, given in zip(body.inputs(), [number, *carried]):
                self[value] = given
            goes_on, *carried = self.run(body)
        return carried


class _Live(dict[str, Any]):
    """Parameters or buffers of a module of TorchScript, whose own containers are no dicts. What replaces one there is
    seen here."""

    def __init__(self, script: ScriptModule, names: Iterable[str]) -> None:
        super().__init__((name, None) for name in names)
        self._script = script

    def __getitem__(self, name: str) -> Any:
        if name not in self:
            raise KeyError(name)
        return getattr(self._script, name)

    def get(self, name: str, default: Any = None) -> Any:
        return self[name] if name in self else default

    def values(self) -> Any:
        return [self[name] for name in self]

    def items(self) -> Any:
        return [(name, self[name]) for name in self]

    def __setitem__(self, name: str, value: Any) -> None:
        super().__setitem__(name, None)
        setattr(self._script, name, value)


class _Held:
    """Keeps a module from being found where members of another are looked for."""

    __slots__ = ("script",)

    def __init__(self, script: ScriptModule) -> None:
        self.script = script


class Interpreted(nn.Module):
    """Runs a module of TorchScript's as Python would."""

    def __init__(self, script: ScriptModule) -> None:
        super().__init__()
        self.__dict__["_gnnc_script"] = _Held(script)
        self.__dict__["_parameters"] = _Live(script, [name for name, _ in script.named_parameters(recurse=False)])
        self.__dict__["_buffers"] = _Live(script, [name for name, _ in script.named_buffers(recurse=False)])
        for name, child in script.named_children():
            self._modules[name] = interpreted(child)

    @property
    def training(self) -> bool:  # type: ignore[override]
        return bool(self.__dict__["_gnnc_script"].script.training)

    @training.setter
    def training(self, mode: bool) -> None:
        if "_gnnc_script" in self.__dict__:  # not by nn.Module's own __init__
            self.__dict__["_gnnc_script"].script.training = mode

    def __getattr__(self, name: str) -> Any:
        try:
            return super().__getattr__(name)
        except AttributeError:
            return getattr(self.__dict__["_gnnc_script"].script, name)

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        script = self.__dict__["_gnnc_script"].script
        graph = script.inlined_graph
        schema = script._c._get_method("forward").schema
        frame = _Frame()
        given = [self, *args]
        names = [each.name for each in schema.arguments]
        unknown = [name for name in kwargs if name not in names[len(given) :]]
        if len(given) > len(names) or unknown:
            found = f"'{unknown[0]}'" if unknown else f"{len(args)} in their places"
            raise TypeError(f"forward: expected arguments {', '.join(names[1:])}, found {found}")
        for each in schema.arguments[len(given) :]:
            if each.name not in kwargs and not each.has_default_value():
                raise TypeError(f"forward is missing a value for argument '{each.name}'")
            given.append(kwargs[each.name] if each.name in kwargs else each.default_value)
        for value, each in zip(graph.inputs(), given):
            frame[value] = each
        results = frame.run(graph)
        return results[0] if len(results) == 1 else tuple(results)


def interpreted(module: nn.Module) -> nn.Module:
    """The module itself, or what stands for it if it is one of TorchScript's: always the same."""
    if not isinstance(module, ScriptModule):
        return module
    found = module.__dict__.get("_gnnc_interpreted")
    if found is None:
        found = module.__dict__["_gnnc_interpreted"] = Interpreted(module)
    return found


@contextlib.contextmanager
def interpreted_scripts(model: nn.Module) -> Iterator[None]:
    """Replaces modules of TorchScript below `model` for a while."""
    replaced: list[tuple[Any, str, nn.Module]] = []
    seen: set[int] = set()

    def visit(module: nn.Module) -> None:
        if id(module) in seen or isinstance(module, ScriptModule):
            return
        seen.add(id(module))
        for name, child in list(module._modules.items()):
            if isinstance(child, ScriptModule):
                replaced.append((module._modules, name, child))
                module._modules[name] = interpreted(child)
            elif child is not None:
                visit(child)

    visit(model)
    wrapped = model.__dict__.get("_gnnc_wrapped")
    if isinstance(wrapped, nn.Module):
        visit(wrapped)
    try:
        yield
    finally:
        for modules, name, child in replaced:
            modules[name] = child
