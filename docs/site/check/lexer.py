"""Checks the Pygments lexer: it knows the compiler's words, and reads every model of the repository without an error.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "editors"))

import pygments_gnn as own  # noqa: E402
import words  # noqa: E402
from pygments.lexers import get_lexer_by_name  # noqa: E402
from pygments.token import Error, Keyword, Name, Operator, Text  # noqa: E402

#: A line, and the kind of each of some words in it.
EXAMPLES = [
    (
        "layer L(x: node[in], out: int) -> node[out] {",
        {"layer": Keyword.Declaration, "L": Name.Function, "int": Keyword.Type},
    ),
    ("  let y = sum(x.src, along: dst)", {"let": Keyword.Declaration, "sum": Name.Builtin, "src": Name.Attribute}),
    ("  let sum = max", {"sum": Name, "max": Name}),
    ("  update mean = 0.9 * mean", {"update": Keyword, "mean": Name}),
    ("  let update = from + static.src", {"update": Name, "from": Keyword, "static": Name}),
    ("space a = filter(edge, src != dst)", {"a": Name.Class, "filter": Keyword}),
    ("  let loss = 1", {"loss": Name}),
    ("  loss = MSE(y, target)", {"loss": Keyword, "MSE": Name.Function}),
    ("  let filter = filter.src", {"filter": Name}),
    ("  x = merge(x, (a, b), as: n)", {"merge": Name.Builtin, "as": Name}),
    ("  let b = not a and true", {"not": Operator.Word, "and": Operator.Word, "true": Keyword.Constant}),
    ("  let c = `input` + 1", {"`input`": Name}),
    ("  train Adam(lr: 0.1) for c1", {"train": Keyword, "Adam": Name.Function, "for": Keyword}),
    ("  let t = x.train", {"train": Name.Attribute}),
]


def main() -> int:
    wrong = []
    known = {
        "reserved": {*own.DECLARATIONS, *own.KEYWORDS, *own.WORD_OPERATORS, *own.CONSTANTS},
        "contextual": {*own.CONTEXTUAL},
        "builtins": {*own.BUILTINS},
    }
    for kind, mine in known.items():
        compiler = getattr(words, kind)()
        wrong += [f"{kind}: the compiler has '{word}', the lexer has not" for word in sorted(compiler - mine)]
        wrong += [f"{kind}: the lexer has '{word}', the compiler has not" for word in sorted(mine - compiler)]
    lexer = get_lexer_by_name("gnn")
    for line, expected in EXAMPLES:
        found = {text: kind for kind, text in reversed(list(lexer.get_tokens(line)))}
        wrong += [
            f"{line!r}: expected '{word}' as {kind}, found {found.get(word)}"
            for word, kind in expected.items()
            if found.get(word) != kind
        ]
    names = subprocess.run(
        ["git", "-C", ROOT, "ls-files", "*.gnn"], capture_output=True, text=True, check=True
    ).stdout.split()
    files = [ROOT / name for name in names if (ROOT / name).is_file() and "Inputs" not in name]
    for file in files:
        text = file.read_text()
        strange = {token for kind, token in lexer.get_tokens(text) if kind in Error or kind is Text}
        # Tests of the lexer's errors have other characters.
        if strange and "error" not in text and "CHECK" not in text:
            wrong.append(f"{file.relative_to(ROOT)}: unknown characters {sorted(strange)}")
    print(f"{len(files)} models, {len(wrong)} faults", *wrong, sep="\n")
    return 1 if wrong or not files else 0


if __name__ == "__main__":
    sys.exit(main())
