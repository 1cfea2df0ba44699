# Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
# See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Parts of a program under `torch.no_grad()`.

torch.export keeps such a part as a graph of its own. One that draws random numbers or changes buffers (the batch norm of
a target network) is put in the place of its call, so that what it draws and changes is found there; what it returns is
detached, which means the same.
"""

from __future__ import annotations

import operator
from collections.abc import Callable

import torch
from torch import fx

_CALL = torch.ops.higher_order.wrap_with_set_grad_enabled


def inline_no_grad(graph: fx.Graph, wanted: Callable[[fx.Node], bool]) -> None:
    """Those parts that have a node that is wanted."""
    for call in list(graph.nodes):
        if call.target is not _CALL or call.args[0] is not False:
            continue
        attribute = call.args[1]
        if not isinstance(attribute, fx.Node) or graph.owning_module is None:
            continue
        body = getattr(graph.owning_module, str(attribute.target)).graph
        # A part within the part would need its attribute here.
        if any(node.op == "get_attr" for node in body.nodes) or not any(wanted(node) for node in body.nodes):
            continue
        if any(user.target is not operator.getitem for user in call.users):
            continue
        parameters = [node for node in body.nodes if node.op == "placeholder"]
        with graph.inserting_before(call):
            results = graph.graph_copy(body, dict(zip(parameters, call.args[2:])))
            for user in list(call.users):
                result = results[user.args[1]]  # type: ignore[index]
                if user.meta["val"].is_floating_point():
                    result = graph.call_function(torch.ops.aten.detach.default, (result,))
                    result.meta.update(user.meta)
                user.replace_all_uses_with(result)
                graph.erase_node(user)
        graph.erase_node(call)
        if not attribute.users:
            graph.erase_node(attribute)
