"""Prints the last line of `./dev test`: the sum of all test cases.

The directory holds ctest's report (ctest.junit) and, for the programs that write one, a report of their own cases:
NAME.xml of a GoogleTest program that ctest calls NAME, lit.xml of lit. A program without a report, or one that ended
before it wrote it, counts as one case. Exits with 1 if any case failed.
"""

import pathlib
import sys
import xml.etree.ElementTree as ElementTree


def outcome(case):
    if case.find("failure") is not None or case.find("error") is not None or case.get("status") == "fail":
        return "failed"
    skipped = case.find("skipped")
    if case.get("status") == "disabled" or case.get("result") in ("skipped", "suppressed"):
        return "skipped"
    if skipped is None:
        return "passed"
    # ctest also says so of a program that it could not find.
    message = skipped.get("message", "")
    could_not_run = case.get("status") == "notrun" and not message.startswith(("SKIP_", "Disabled"))
    return "failed" if could_not_run else "skipped"


def cases(path):
    try:
        return list(ElementTree.parse(path).getroot().iter("testcase"))
    except (OSError, ElementTree.ParseError):
        return None


def main():
    directory = pathlib.Path(sys.argv[1])
    count = {"passed": 0, "failed": 0, "skipped": 0}
    programs = cases(directory / "ctest.junit")
    if programs is None:
        sys.exit("summary.py: no report of ctest in " + str(directory))
    for program in programs:
        own = cases(directory / (program.get("name") + ".xml")) or [program]
        outcomes = [outcome(case) for case in own]
        # A program can fail beyond its cases: a leak, a crash at its end.
        if outcome(program) == "failed" and "failed" not in outcomes:
            outcomes.append("failed")
        for result in outcomes:
            count[result] += 1
    print("{passed} passed, {failed} failed, {skipped} skipped".format(**count))
    return 1 if count["failed"] else 0


if __name__ == "__main__":
    sys.exit(main())
