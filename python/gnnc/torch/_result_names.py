# Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
# See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Results that a module returns in a dict go by its keys in an exported object, not by torch's names of nodes."""

from __future__ import annotations

from collections import Counter

from torch.export import ExportedProgram
from torch.export.graph_signature import OutputKind, TensorArgument
from torch.utils import _pytree as pytree


def name_results(program: ExportedProgram) -> None:
    """Renames the nodes that compute them. A key that is no identifier or the name of another node is left out, and so is
    a result that is an argument or is returned twice."""
    paths = [path for path, _ in pytree.tree_flatten_with_path(_placeholders(program))[0]]
    outputs = [spec for spec in program.graph_signature.output_specs if spec.kind is OutputKind.USER_OUTPUT]
    if len(paths) != len(outputs):
        return
    nodes = {node.name: node for node in program.graph.nodes}
    times = Counter(spec.arg.name for spec in outputs if isinstance(spec.arg, TensorArgument))
    renamed: dict[str, str] = {}
    for path, spec in zip(paths, outputs):
        key = path[-1] if len(path) == 1 else None
        name = key.key if isinstance(key, pytree.MappingKey) else None
        if not isinstance(spec.arg, TensorArgument) or not isinstance(name, str) or not name.isidentifier():
            continue
        node = nodes[spec.arg.name]
        if name in nodes or node.op == "placeholder" or times[spec.arg.name] > 1:
            continue
        before = node.name
        node._rename(name)  # names of Python's functions get a number
        renamed[before] = node.name
    for signature in (program.graph_signature, *(each.signature for each in program.module_call_graph)):
        for each in getattr(signature, "output_specs", None) or getattr(signature, "outputs", None) or ():
            argument = getattr(each, "arg", each)
            if isinstance(argument, TensorArgument) and argument.name in renamed:
                argument.name = renamed[argument.name]


def _placeholders(program: ExportedProgram) -> object:
    tree = program.call_spec.out_spec
    return pytree.tree_unflatten([0] * tree.num_leaves, tree)
