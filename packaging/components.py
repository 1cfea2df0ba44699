"""Which Debian packages a build of gnnc contains or loads, taken from the build itself.

Headers come from the compiler's dependency records in the build directory, static libraries from the link commands, and
shared libraries from the dynamic sections of the files. Names, versions and origins are dpkg's. Only licences are
recorded by hand (licences.json), and each is checked against the package's copyright file.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception"""

from __future__ import annotations

import json
import os
import re
import subprocess
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

# What the two artefacts of the build are linked as. The archive and the Debian package hold the same programs.
INSTALLED = ["bin/gnnc", "bin/gnnc-opt", "bin/gnnc-lsp-server", "lib/libgnnc_mpi.so", "lib/libgnnc_nccl.so"]
WHEEL = ["package/gnnc"]


class PackagingError(Exception):
    """What is wrong with the input, as one line."""


@dataclass
class Package:
    """A Debian package. `uses` says how: headers, static, shared or bundled."""

    name: str
    source: str
    version: str
    architecture: str
    homepage: str
    uses: set[str] = field(default_factory=set)
    needs: set[str] = field(default_factory=set)

    @property
    def licence(self) -> str:
        return licences()[self.source]["licence"]

    @property
    def title(self) -> str:
        """The name under which the component is known outside Debian."""
        entry = licences()[self.source]
        return entry.get("packages", {}).get(self.name, entry["name"])

    @property
    def copyright(self) -> str:
        path = Path("/usr/share/doc", self.name, "copyright")
        if not path.is_file():
            raise PackagingError(f"{path} is missing: expected the licence of {self.name} there")
        return path.read_text(errors="replace")


@cache
def licences() -> dict:
    return json.loads(Path(__file__).with_name("licences.json").read_text())


def output(*command: str, allowed: tuple[int, ...] = (0,)) -> str:
    try:
        result = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
    except FileNotFoundError:
        raise PackagingError(f"{command[0]} is not installed") from None
    if result.returncode not in allowed:
        reason = result.stderr.strip().splitlines() or [f"status {result.returncode}"]
        raise PackagingError(f"{' '.join(command[:5])}: {reason[-1]}")
    return result.stdout


def owners(paths: set[str]) -> dict[str, str]:
    """The binary package of each file; every path must have one."""
    real = {path: os.path.realpath(path) for path in paths}
    # Libraries below /lib belong, on a system where that is a link to /usr/lib, to a package that still says /lib.
    asked = sorted({name for path in real.values() for name in (path, path.removeprefix("/usr"))})
    found: dict[str, str] = {}
    for start in range(0, len(asked), 1000):
        # Status 1: some path has no owner, as one of the two spellings always has none.
        for line in output("dpkg", "-S", *asked[start : start + 1000], allowed=(0, 1)).splitlines():
            names, _, path = line.rpartition(": ")
            if not names.startswith("diversion by"):
                found[path] = names.split(",")[0].split(":")[0]
    result = {}
    for path, name in real.items():
        owner = found.get(name) or found.get(name.removeprefix("/usr"))
        if not owner:
            raise PackagingError(f"{path} belongs to no Debian package: its version and licence are unknown")
        result[path] = owner
    return result


@cache
def describe(name: str) -> tuple[str, str, str, str]:
    fields = "${source:Package}\t${Version}\t${Architecture}\t${Homepage}\n"
    source, version, architecture, homepage = output("dpkg-query", "-W", "-f", fields, name).splitlines()[0].split("\t")
    entry = licences().get(source)
    if not entry:
        raise PackagingError(f"packaging/licences.json has no entry for source package {source} (of {name})")
    package = Package(name, source, version, architecture, homepage)
    # Files wrap their lines, and DEP-5 indents them.
    if entry["phrase"] not in " ".join(package.copyright.split()):
        raise PackagingError(
            f"the copyright file of {name} does not contain {entry['phrase']!r}, "
            f"as expected for {entry['licence']}: check packaging/licences.json"
        )
    return source, version, architecture, homepage


class Packages:
    """Packages by name, each with all the ways in which it is used."""

    def __init__(self) -> None:
        self.found: dict[str, Package] = {}

    def add(self, name: str, use: str) -> Package:
        package = self.found.setdefault(name, Package(name, *describe(name)))
        package.uses.add(use)
        return package

    def all(self) -> list[Package]:
        return [self.found[name] for name in sorted(self.found)]


def headers_by_object(build: Path) -> dict[str, list[str]]:
    result: dict[str, list[str]] = {}
    current: list[str] = []
    for line in output("ninja", "-C", str(build), "-t", "deps").splitlines():
        if line.startswith("    "):
            current.append(line.strip())
        elif ": #deps" in line:
            current = result.setdefault(line.split(": #deps")[0], [])
    return result


def link_command(build: Path, target: str) -> list[str]:
    # The last command of the edge; it is wrapped in `: && … && :`.
    return output("ninja", "-C", str(build), "-t", "commands", "-s", target).split()


def static_libraries(build: Path, target: str) -> set[str]:
    """Archives outside the build directory that are linked into a target."""
    words = link_command(build, target)
    if "-o" not in words:
        raise PackagingError(f"{build} does not link {target}: configure it with ninja first")
    compiler = next(word for word in words if "clang" in Path(word).name or "++" in Path(word).name)
    result = {word for word in words if word.startswith("/") and word.endswith(".a") and not within(word, build)}
    static = False
    for word in words:
        if word.startswith("-Wl,-B"):
            static = word == "-Wl,-Bstatic"
        elif static and word.startswith("-l"):
            result.add(locate(compiler, f"lib{word[2:]}.a"))
    for flag, library in (("-static-libstdc++", "libstdc++.a"), ("-static-libgcc", "libgcc.a")):
        if flag in words:
            result.add(locate(compiler, library))
    return result


def within(path: str, folder: Path) -> bool:
    return Path(path).resolve().is_relative_to(folder.resolve())


def locate(compiler: str, library: str) -> str:
    path = output(compiler, f"-print-file-name={library}").strip()
    if not path.startswith("/"):
        raise PackagingError(f"{compiler} does not find {library}, which the wheel's compiler is linked with")
    return path


def embedded(build: Path, targets: list[str]) -> Packages:
    """Packages whose code is inside the targets: inline functions of headers, and static libraries."""
    packages = Packages()
    records = headers_by_object(build)
    ours = tuple(f"{folder.resolve()}/" for folder in (build, Path(__file__).parent.parent))
    for target in targets:
        inputs = output("ninja", "-C", str(build), "-t", "inputs", target).splitlines()
        headers = {h for name in inputs for h in records.get(name, []) if h.startswith("/")}
        headers = {h for h in map(os.path.realpath, headers) if not h.startswith(ours)}
        if not headers:
            raise PackagingError(f"{build} has no dependency records of {target}: build it first")
        for owner in set(owners(headers).values()):
            packages.add(owner, "headers")
        for owner in set(owners(static_libraries(build, target)).values()):
            packages.add(owner, "static")
    return packages


def needed(path: str) -> list[str]:
    return re.findall(r"\(NEEDED\).*\[(.*)\]", output("readelf", "-d", path))


def resolved(path: str) -> dict[str, str]:
    """Where the loader finds each library of a program, all that these load included."""
    found = {}
    for line in output("ldd", path).splitlines():
        match = re.match(r"\s*(\S+) => (\S+) \(", line)
        if match:
            found[match[1]] = match[2]
        elif "not found" in line:
            raise PackagingError(f"{path}: {line.strip()}")
        elif "/ld-linux" in line:
            loader = line.split()[0]
            found[Path(loader).name] = loader
    return found


def shared(path: str, packages: Packages, closure: bool = True) -> set[str]:
    """Adds the packages of the libraries that a file loads; returns those that it names itself."""
    places = resolved(path)
    owner = owners(set(places.values()))
    direct = {owner[places[name]] for name in needed(path)}
    names = {owner[place] for place in places.values()} if closure else direct
    for name in names:
        packages.add(name, "shared")
    if closure:
        for place in places.values():
            package = packages.found[owner[place]]
            package.needs |= {owner[places[n]] for n in needed(place)} - {package.name}
    return direct


def bundled(folder: Path, packages: Packages) -> None:
    """The libraries that a wheel carries: equal, byte for byte, to those of a package."""
    for file in sorted(folder.iterdir()):
        places = [Path(f"/usr/lib/x86_64-linux-gnu/{file.name}"), Path(f"/lib/x86_64-linux-gnu/{file.name}")]
        origin = next((p for p in places if p.exists() and p.read_bytes() == file.read_bytes()), None)
        if not origin:
            raise PackagingError(f"{file} is no library of an installed Debian package")
        packages.add(owners({str(origin)})[str(origin)], "bundled")
