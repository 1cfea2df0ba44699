# Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
# See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random modules at a few fixed seeds, and that the check finds what is wrong. New seeds: ./dev fuzz --modules."""

from __future__ import annotations

import ast
import builtins
import contextlib
import copy
import io
import unittest
from types import SimpleNamespace
from unittest import mock

import torch
from torch import Tensor, nn

import gnnc
from random_modules import campaign, check
from random_modules.draw import draw
from random_modules.idioms import IDIOMS

SEEDS = range(20)


class Wrong(nn.Module):
    """A module whose last result is off where there are more than `rows` rows."""

    def __init__(self, module: nn.Module, rows: int) -> None:
        super().__init__()
        self.module, self.rows = module, rows
        vars(self)["_gnnc"] = SimpleNamespace(specializations=[])

    def forward(self, *given: object) -> Tensor | tuple[Tensor, ...]:
        result = self.module(*given)
        results = result if isinstance(result, tuple) else (result,)
        if results[0].dim() and results[0].size(0) > self.rows:
            results = (results[0] + 1e-5, *results[1:])
        return results if isinstance(result, tuple) else results[0]

    def named_parameters(self, *given: object, **named: object):  # noqa: ANN201
        return self.module.named_parameters(*given, **named)


class RandomModules(unittest.TestCase):
    def setUp(self) -> None:
        threads = torch.get_num_threads()
        self.addCleanup(torch.set_num_threads, threads)
        torch.set_num_threads(1)

    def test_equal_eager(self) -> None:
        equal = 0
        with check.workplace() as place:
            for seed in SEEDS:
                with self.subTest(seed=seed):
                    program = draw(seed)
                    outcome = check.check(program, place)
                    self.assertFalse(outcome.fails, f"{outcome.kind}: {outcome.text}\n{program.source()}")
                    equal += outcome.kind == "equal"
        self.assertGreaterEqual(equal, 0.8 * len(SEEDS), "compiled as a whole")

    def test_are_the_same_for_a_seed_and_have_every_idiom(self) -> None:
        drawn: set[str] = set()
        for seed in range(2000):
            program = draw(seed)
            drawn.update(program.idioms)
            if seed < 50:
                self.assertEqual(program.source(), draw(seed).source())
        self.assertEqual(drawn, {idiom.function.__name__ for idiom in IDIOMS})

    def test_read_what_they_have_made(self) -> None:
        for seed in range(1000):
            program = draw(seed)
            known = {*program.signature, "self", "torch", "F", *dir(builtins)}
            for statement in program.body:
                names = [each for each in ast.walk(ast.parse(statement.text)) if isinstance(each, ast.Name)]
                known.update(each.id for each in names if isinstance(each.ctx, ast.Store))
                self.assertLessEqual({each.id for each in names}, known, f"seed {seed}: {statement.text}")

    def test_what_differs_is_printed_and_made_smaller(self) -> None:
        program = next(p for p in map(draw, range(100)) if len(p.body) > 8 and len(p.results) > 1)

        def compiled(module: nn.Module, *_: object, **__: object) -> nn.Module:
            return Wrong(copy.deepcopy(module), 9)

        printed = io.StringIO()
        with mock.patch.object(gnnc, "compile", compiled), contextlib.redirect_stdout(printed):
            # Float64 finds differences of 1e-5, at the second graph, which has more nodes than the example.
            failed = campaign.Campaign(None, False, None, 30).run([program.seed])
        text = printed.getvalue()
        self.assertEqual(failed, 1)
        self.assertIn(f"seed {program.seed}: wrong: n=", text)
        self.assertIn("result 0: differs by", text)
        self.assertLess(len(text), len(program.source()) + 500)


if __name__ == "__main__":
    unittest.main()
