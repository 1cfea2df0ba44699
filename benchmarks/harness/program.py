"""What the benchmarks of a GPU have in common as programs: objects are compiled anywhere and measured where a GPU is."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path

from harness.places import GNNC

Call = Callable[[argparse.Namespace], None]


class Program:
    """A command line of actions, each of which calls a function with its arguments."""

    def __init__(self, doc: str | None) -> None:
        self.parser = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
        self.actions = self.parser.add_subparsers(required=True)

    def action(self, name: str, call: Call, what: str) -> argparse.ArgumentParser:
        action = self.actions.add_parser(name, help=what)
        action.set_defaults(call=call)
        return action

    def compile(self, call: Call) -> argparse.ArgumentParser:
        action = self.action("compile", call, "make the objects")
        action.add_argument("--gnnc", type=Path, default=GNNC)
        action.add_argument("--out", type=Path, required=True)
        action.add_argument("--arch", default="sm_90")
        return action

    def run(self, call: Call) -> argparse.ArgumentParser:
        action = self.action("run", call, "measure them")
        action.add_argument("objects", type=Path)
        return action

    def table(self, call: Call, what: str = "print results as Markdown") -> argparse.ArgumentParser:
        action = self.action("table", call, what)
        action.add_argument("results", type=Path, nargs="+")
        return action

    def main(self) -> None:
        arguments = self.parser.parse_args()
        arguments.call(arguments)
