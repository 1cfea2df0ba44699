"""Checks the TextMate grammar with Oniguruma, the engine of VS Code's patterns.

    python3 editors/vscode/test/grammar.py        # needs PyPI's babi, which has an interpreter of such grammars

It knows the compiler's words (editors/words.py), gives the examples below their scopes, and on every model of the repository
agrees with the tokens of lib/Frontend/Syntax/Lexer.cpp, which a few lines below cut again.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parents[1]
ROOT = HERE.parents[1]
sys.path.insert(0, str(ROOT / "editors"))

import words  # noqa: E402
from babi.highlight import Grammars, highlight_line  # noqa: E402

TOKEN = re.compile(
    r'(?P<comment>//[^\n]*|/\*.*?\*/)|(?P<string>"[^"\n]*")|(?P<quoted>`\w+`)|(?P<name>[A-Za-z_]\w*)'
    r"|(?P<number>(?:\d+(?:\.\d+)?|\.\d+)(?:[eE][+-]?\d+)?)|(?P<symbol>->|==|!=|<=|>=|\.\.|[^\s\w])",
    re.S,
)
#: A text, and the innermost scope of some of its words without `.gnn`.
EXAMPLES = [
    ("layer L(x: node[in], out: int) -> node[out] {", "layer=storage.type L=entity.name.function x=variable.parameter"),
    ("layer L(x: node[in]) -> shared[out] {", "node=entity.name.type shared=storage.type.primitive"),
    (
        "  let y = sum(x.src, along: dst)",
        "let=storage.type sum=support.function src=variable.other.property along=variable.parameter",
    ),
    ("  let sum = max", "sum=variable.other max=variable.other"),
    ("  update mean = 0.9 * mean", "update=keyword.control mean=variable.other 0.9=constant.numeric.float"),
    ("  loss = MSE(y, target)", "loss=keyword.control MSE=entity.name.function"),
    ("  let loss = loss == 1", "loss=variable.other"),
    (
        "  train Adam(lr: 5e-4) for c1",
        "train=keyword.control Adam=entity.name.function 5e-4=constant.numeric.float for=storage.modifier",
    ),
    ("  let t = x.train", "train=variable.other.property"),
    ("  input x: node[in] sparse", "input=storage.type sparse=storage.modifier"),
    ("space kind static", "kind=entity.name.type static=storage.modifier"),
    ("space a = filter(edge, src != dst)", "filter=keyword.other.derivation edge=variable.other"),
    ("map u: U -> C = p | none", "map=storage.type none=constant.language"),
    ("  h[in: 0..2]", "in=variable.parameter 0=constant.numeric.integer ..=keyword.operator"),
    ("  merge(x, (a, b), as: n)", "merge=support.function as=variable.parameter"),
    ("  GCN(x) on follows as c1", "on=keyword.control as=keyword.control c1=variable.other"),
    ("  let n = bias ? y : b // x", "y=variable.other b=variable.other //=comment.line.double-slash"),
    (
        "  let c = `input` and not true",
        "`input`=variable.other.quoted and=keyword.operator.word true=constant.language",
    ),
]


def scopes(grammars: Grammars, text: str, root: str = "source.gnn") -> list[str]:
    """The innermost scope of each character."""
    compiler = grammars.compiler_for_scope(root)
    state, found = compiler.root_state, []
    for first, line in enumerate(text.splitlines(keepends=True)):
        state, regions = highlight_line(compiler, state, line, first_line=first == 0)
        for region in regions:
            found += [region.scope[-1].removesuffix(".gnn")] * (region.end - region.start)
    return found


def known_words() -> dict[str, set[str]]:
    """The words in the grammar's patterns, by kind."""
    rules = json.loads((HERE / "syntaxes/gnn.tmLanguage.json").read_text())["repository"]

    def listed(entry) -> set[str]:
        if isinstance(entry, list):
            return set().union(*map(listed, entry))
        if not isinstance(entry, dict):
            return set()
        own = re.findall(r"(?<![\w\\])([a-z][a-z_]+)(?=[|)\\]|\(\?)", entry.get("match", "").replace("\\b", ""))
        return set(own).union(*(listed(value) for value in entry.values()))

    builtins = listed(rules["calls"]["patterns"][0])
    rest = listed([rules[name] for name in ("declarations", "statements", "words")])
    return {"builtins": builtins, "rest": rest}


def disagreements(text: str, found: list[str], builtins: set[str], reserved: set[str]):
    tokens = list(TOKEN.finditer(text))
    for place, token in enumerate(tokens):
        kind, word, scope = token.lastgroup, token[0], found[token.start()]
        after = tokens[place + 1][0] if place + 1 < len(tokens) else ""
        before = tokens[place - 1][0] if place else ""
        if kind == "comment":
            expected = ("comment.",)
        elif kind == "string":
            expected = ("string.",)
        elif kind == "number":
            expected = ("constant.numeric.",)
        elif kind == "name" and word in reserved and before != ".":
            expected = ("variable.parameter",) if after == ":" else ("storage.", "keyword.", "constant.language")
        elif kind == "name" and word in builtins and after == "(" and before not in (".", "layer", "train"):
            expected = ("support.function",)
        elif kind == "name":
            expected = ("variable.", "entity.", "storage.", "keyword.", "constant.language", "support.")
        else:
            continue
        if not scope.startswith(expected) or found[token.start() : token.end()] != [scope] * len(word):
            yield token.start(), word, " or ".join(expected), scope


def files_of(contributions) -> set[str]:
    """The files that package.json names."""
    if isinstance(contributions, str):
        return {contributions} if contributions.startswith("./") else set()
    parts = contributions.values() if isinstance(contributions, dict) else contributions
    return set().union(*map(files_of, parts)) if isinstance(contributions, (dict, list)) else set()


def in_markdown(grammars: Grammars):
    """Blocks of Markdown have the scopes of the language, and the text after them has not."""
    for head in ("```gnn", "```gnn error", "~~~~ gnn"):
        fence = re.match(r"[`~]+", head)[0]
        text = f"let a\n{head}\nlet b = 1\n{fence}\nlet c\n"
        found = scopes(grammars, text, "markdown.gnn.codeblock")
        kinds = [found[at.start()] for at in re.finditer("let", text)]
        if kinds != ["markdown.gnn.codeblock", "storage.type", "markdown.gnn.codeblock"]:
            yield f"{head!r} in Markdown: expected highlighting inside the block alone, found {kinds}"


def main() -> int:
    wrong = []
    package = json.loads((HERE / "package.json").read_text())
    for name in sorted(files_of([package["main"], package["contributes"]])):
        if not (HERE / name).is_file():
            wrong.append(f"package.json: there is no '{name}'")
        elif name.endswith(".json"):
            json.loads((HERE / name).read_text())
    known, reserved, builtins = known_words(), words.reserved(), words.builtins()
    for kind, mine, compiler in (
        ("functions", known["builtins"], builtins),
        ("keywords", known["rest"], reserved | words.contextual()),
    ):
        wrong += [f"{kind}: the compiler has '{word}', the grammar has not" for word in sorted(compiler - mine)]
        wrong += [f"{kind}: the grammar has '{word}', the compiler has not" for word in sorted(mine - compiler)]
    with tempfile.TemporaryDirectory() as folder:
        shutil.copy(HERE / "syntaxes/gnn.tmLanguage.json", Path(folder) / "source.gnn.json")
        shutil.copy(HERE / "syntaxes/markdown.tmLanguage.json", Path(folder) / "markdown.gnn.codeblock.json")
        grammars = Grammars(folder)
        wrong += in_markdown(grammars)
        for text, expected in EXAMPLES:
            found = scopes(grammars, text + "\n")
            for entry in expected.split():
                word, scope = entry.rsplit("=", 1) if not entry.startswith("..") else ("..", entry[3:])
                at = re.search(
                    rf"(?<!\w){re.escape(word)}(?!\w)" if word[0].isalnum() else re.escape(word), text
                ).start()
                if found[at] != scope:
                    wrong.append(f"{text!r}: expected '{word}' as {scope}, found {found[at]}")
        listing = subprocess.run(["git", "-C", ROOT, "ls-files", "*.gnn"], capture_output=True, text=True, check=True)
        files = [ROOT / name for name in listing.stdout.split() if (ROOT / name).is_file()]
        tokens = 0
        for file in files:
            text = file.read_text()
            if '"' in re.sub(r"//[^\n]*|\"[^\"\n]*\"", "", text):
                continue  # a test of a string without its end
            found = scopes(grammars, text + "\n")
            tokens += len(TOKEN.findall(text))
            for at, word, expected, scope in disagreements(text, found, builtins, reserved):
                line = text.count("\n", 0, at) + 1
                wrong.append(f"{file.relative_to(ROOT)}:{line}: expected '{word}' as {expected}, found {scope}")
    print(f"{len(files)} models, {tokens} tokens, {len(EXAMPLES)} examples, {len(wrong)} faults", *wrong[:40], sep="\n")
    return 1 if wrong or not files else 0


if __name__ == "__main__":
    sys.exit(main())
