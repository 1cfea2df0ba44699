"""What a model and one twice as large give the compilers to do, by two files of `gnnc compile --timings=json`.

Counts, no times: functions (those that are equal are one), their statements, and the longest of them.
"""

import json
import sys


def count(path):
    steps = [step for step in json.load(open(path))["steps"] if step["target"]]
    statements = [step["statements"] for step in steps]
    return len(steps), sum(statements), max(statements)


(functions, statements, longest), (more_functions, more_statements, longest_of_more) = map(count, sys.argv[1:])
print("statements", "linear" if more_statements <= 2.3 * statements else f"from {statements} to {more_statements}")
print("functions", "linear" if more_functions <= 2.3 * functions else f"from {functions} to {more_functions}")
print("longest", "bounded" if longest_of_more <= 1.3 * longest else f"from {longest} to {longest_of_more}")
