# Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
# See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Why torch.export refuses a module, in a line: what it says, where in the user's source, and what to change."""

from __future__ import annotations

import contextlib
import os
import re
import traceback
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn

#: What torch says of an integer of Python that is made of a tensor's number. With Dynamo it may be a size.
_MADE_INTEGER = "Could not extract specialized integer from data-dependent expression"

#: Branches and sizes that depend on numbers of tensors, without Dynamo and with it.
_OF_NUMBERS = ("data-dependent expression", "Data-dependent branching", "inputs to control flow", "unbacked symbols")

#: What torch says of a recurrent layer whose number of steps it does not know.
_RECURRENT = r"(?s)call_function <built-in method (lstm|gru|rnn_tanh|rnn_relu) of.*cat expects at least one tensor"

#: What torch calls sizes, such as u0, says nothing to those who wrote the module.
ON_NUMBERS = (
    "a branch or a size depends on computed numbers{}: choose with torch.where, or keep it out of the module"
)

#: What torch says of objects that are neither tensors nor numbers, nor tuples, lists or dicts of them.
_ARGUMENT = r"Unsupported input type <class '([\w.<>]+)'>"
_RESULTS = (
    r"Found <class '([\w.<>]+)'> in output, which is not a known type",
    r"unrecognized type UserDefinedObjectVariable\((\w+)\) at output",
    r"(?s)Reconstruction failure.* sourceless variable UserDefinedObjectVariable\((\w+)\).*return ExportTracerOutput",
)


def deciding(failures: Sequence[Exception]) -> Exception:
    """Which of the failures, without Dynamo and then with it, the user has to do something about."""
    return failures[-1] if _MADE_INTEGER in str(failures[0]) else failures[0]


def reason_of(error: BaseException) -> str:
    place = place_of(str(error)) or _place_of_frame(error)
    if any(sign in str(error) for sign in _OF_NUMBERS):
        return ON_NUMBERS.format(place)
    recurrent = re.search(_RECURRENT, str(error))
    if recurrent:
        return (
            f"torch.{recurrent[1]} over as many steps as values of the graph say: expected a number or the size of an argument; "
            f"give the most steps as a number, as max_num_elements of to_dense_batch and of aggregations{place}"
        )
    text = _of_objects(str(error))
    if text:
        return text
    text = re.sub(r"\b[su]\d+\b", "a size", _first_line(error)).replace("FakeTensor", "Tensor") + place
    if any(sign in text for sign in ("fake tensor in the exported program", "TensorWrapper", "not tracked with proxy")):
        text = (
            "a gradient that forward itself takes (torch.autograd.grad, torch.func.grad): let it return what is "
            "differentiated, and take the gradient of the compiled module, with create_graph=True to train it; torch "
            f"says {text}"
        )
    return text


def about_sparse(model: nn.Module, leaves: Sequence[Any]) -> str:
    """What to write instead of a matrix of torch.sparse that a module has or is given; else nothing."""
    own = [
        (f"its '{name}'", value)
        for module in model.modules()
        for name, value in [*vars(module).items(), *module._buffers.items(), *module._parameters.items()]
    ]
    for name, value in [*own, *(("an argument", leaf) for leaf in leaves)]:
        if isinstance(value, Tensor) and value.layout is not torch.strided:
            return (
                f"; {name} is a sparse matrix, which gnnc does not take: keep its rows, columns and values, and compute "
                "torch.zeros(count, width).index_add(0, rows, values[:, None] * x[columns])"
            )
    return ""


def _of_objects(text: str) -> str:
    """What to do about an object that is given or returned, if that is what torch says; else nothing."""
    given = re.search(_ARGUMENT, text)
    if given and given[1] in ("function", "method", "method_descriptor", "builtin_function_or_method"):
        return "an argument is a function: keep it in an attribute of the module instead"
    if given:
        return f"an argument is an object of class '{given[1].rpartition('.')[2]}': pass its tensors instead"
    returned = next(filter(None, (re.search(pattern, text) for pattern in _RESULTS)), None)
    if returned:
        name = returned[1].rpartition(".")[2]
        return f"forward returns an object of class '{name}': return its tensors instead, in a tuple or a dict"
    return ""


def place_of(text: str) -> str:
    """The innermost line of Python that torch names, and what is there; else nothing."""
    found = re.findall(r'raised this error:\s+File "([^"\n]+)", line (\d+), in \w+\n\s*([^\n]+)', text)
    if not found:
        _, _, stack = text.partition("from user code:")
        _, _, other = text.partition("User Stack (most recent call last):")
        frames = re.findall(r'File "([^"\n]+)", line (\d+), in \S+\n +([^\n]+)', stack or other)
        found = [frame for frame in frames if "/torch/_dynamo/" not in frame[0]][-1:]
    if not found:
        cause = re.search(r"Caused by: \((?!_export/|_dynamo/)([^:()\n]+\.py):(\d+) in (\w+)\)", text)
        return ", from {}:{}, in {}".format(*cause.groups()) if cause else ""
    return ", from {}:{}: {}".format(*found[0]).rstrip(":") if found else ""


def _place_of_frame(error: BaseException) -> str:
    """The last line on the way to an error that is neither of torch nor of gnnc."""
    folders = (os.path.dirname(torch.__file__), os.path.dirname(os.path.dirname(__file__)))
    frames = [each for each in traceback.extract_tb(error.__traceback__) if os.path.isfile(each.filename)]
    own = [each for each in frames if not each.filename.startswith(folders) and each.filename != contextlib.__file__]
    return f", from {own[-1].filename}:{own[-1].lineno}: {own[-1].line}" if own and own[-1].name != "_exported" else ""


def _first_line(error: BaseException) -> str:
    text = next((line.strip() for line in str(error).splitlines() if line.strip()), "")
    return f"{type(error).__name__}: {text}"
