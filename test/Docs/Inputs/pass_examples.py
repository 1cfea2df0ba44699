"""Checks the examples in the descriptions of passes: pass_examples.py Passes.td LLVM

A description has a block of MLIR, or names a test that has the example (Example: test/...). Of a block, what stands
before `// becomes` must be what stands after it once the pass and canonicalization have run. `!node8` and `!edge8` stand
for rows of 8 numbers of nodes and edges; maps `@src` and `@dst` lead from edges to nodes.
"""

import json
import re
import subprocess
import sys
from pathlib import Path

SPACES = """\
mpdfg.space @node root
mpdfg.space @edge root
mpdfg.map @src root from @edge to @node
mpdfg.map @dst root from @edge to @node
mpdfg.space @path pairs {base = @edge, of = @edge, maps = [@src, @dst]}
mpdfg.map @path.dst owner from @path to @edge
mpdfg.map @path.src partner from @path to @edge
"""


def passes(source: Path, llvm: Path) -> dict[str, str]:
    """Descriptions by argument."""
    include = source.resolve().parents[2]
    command = [str(llvm / "bin/llvm-tblgen"), "--dump-json", f"-I{include}", f"-I{llvm / 'include'}", str(source)]
    records = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    return {records[name]["argument"]: records[name]["description"] for name in records["!instanceof"]["PassBase"]}


def module(text: str) -> str:
    rows = sorted(set(re.findall(r"!(node|edge)([0-9x]+)\b", text)))
    types = [f"!{space}{dims} = tensor<?x{dims}xf32, #mpdfg.on<@{space}>>\n" for space, dims in rows]
    return "".join(types) + SPACES + text


def optimize(text: str, *options: str) -> str:
    done = subprocess.run(["gnnc-opt", "-", *options], input=module(text), capture_output=True, text=True)
    if done.returncode != 0:
        raise ValueError(done.stderr)
    # The order of declarations does not matter.
    functions = re.split(r"(?m)^  (?=func\.func )", done.stdout)
    return "\n".join(["\n".join(sorted(functions[0].splitlines())), *functions[1:]])


def complaint(name: str, description: str, root: Path) -> str:
    named = re.search(r"^\s*Example: (\S+)$", description, re.M)
    if named:
        path = root / named[1]
        tested = path.exists() and f"--{name}" in path.read_text()
        return "" if tested else f"names the example {named[1]}, which is not there or does not run the pass"
    blocks = re.findall(r"```mlir\n(.*?)```", description, re.S)
    if not blocks:
        return "has no example"
    for block in blocks:
        before, mark, after = block.partition("// becomes\n")
        if not mark:
            return "has an example that becomes nothing"
        try:
            found, expected = optimize(before, f"--{name}", "--canonicalize"), optimize(after)
            if found == optimize(before):
                return f"leaves its example as it is:\n{before}"
        except ValueError as error:
            return f"has an example that is an error:\n{block}\n{error}"
        if found != expected:
            return f"expected its example to become\n{expected}\nfound\n{found}"
    return ""


def main() -> int:
    source, llvm = Path(sys.argv[1]), Path(sys.argv[2])
    wrong = 0
    for name, description in passes(source, llvm).items():
        if text := complaint(name, description, source.resolve().parents[3]):
            print(f"{name}: {text}")
            wrong += 1
        else:
            print(f"{name}: ok")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
