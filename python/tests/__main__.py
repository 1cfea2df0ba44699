# Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
# See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs the tests of this folder: `python3 python/tests [--torch] [--installed] [test_module[.Class[.test]] ...]`.

Without `--torch` only those that need no PyTorch; with `--installed` the package is the one that Python finds, not that of
this checkout. The compiler is the one that GNNC_COMPILER names. Where ctest asks for
reports (GTEST_OUTPUT=xml:FOLDER/), one case is written for each test.
"""

from __future__ import annotations

import os
import sys
import time
import unittest
import xml.etree.ElementTree as ElementTree
from pathlib import Path

SKIPPED = 77  # what ctest takes for "left out"
FOLDER = Path(__file__).resolve().parent


class Result(unittest.TextTestResult):
    """Keeps what a report says of each test."""

    def __init__(self, *arguments: object, **named: object) -> None:
        super().__init__(*arguments, **named)  # type: ignore[arg-type]
        self.cases: list[ElementTree.Element] = []

    def startTest(self, test: unittest.TestCase) -> None:
        super().startTest(test)
        self.started = time.monotonic()

    def stopTest(self, test: unittest.TestCase) -> None:
        super().stopTest(test)
        case = ElementTree.Element("testcase", name=test.id(), time=f"{time.monotonic() - self.started:.3f}")
        for kind, found in (("failure", self.failures + self.errors), ("skipped", self.skipped)):
            for failed, text in found:
                if getattr(failed, "test_case", failed) is test:
                    ElementTree.SubElement(case, kind, message=text)
                    break
        self.cases.append(case)


def main() -> int:
    names = [argument for argument in sys.argv[1:] if not argument.startswith("--")]
    sys.path[:0] = [str(FOLDER), str(FOLDER / "with_torch")]
    if "--installed" not in sys.argv:
        sys.path.insert(0, str(FOLDER.parent))
    try:
        import numpy  # noqa: F401
    except ImportError:
        print(f"{sys.executable} has no NumPy: the tests of the Python package are left out")
        return SKIPPED
    loader = unittest.TestLoader()
    if names:
        suite = loader.loadTestsFromNames(names)
    else:
        suite = loader.discover(str(FOLDER), pattern="test_*.py")
        if "--torch" in sys.argv:
            suite.addTests(unittest.TestLoader().discover(str(FOLDER / "with_torch"), pattern="test_*.py"))
    runner = unittest.TextTestRunner(verbosity=1 if os.environ.get("GTEST_BRIEF") else 2, resultclass=Result)
    result = runner.run(suite)
    reports = os.environ.get("GTEST_OUTPUT", "").partition("xml:")[2]
    if reports:
        root = ElementTree.Element("testsuite")
        root.extend(result.cases)  # type: ignore[attr-defined]
        ElementTree.ElementTree(root).write(Path(reports) / "PythonTests.xml")
    return 0 if result.wasSuccessful() else 1


if __name__ == "__main__":
    sys.exit(main())
