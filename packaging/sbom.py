"""Writes a software bill of materials (CycloneDX 1.6) for a release, and validates one with `--validate FILE`.

Each artefact lists what it contains; what it loads from the system are dependencies. The same files give the same bytes:
the time is SOURCE_DATE_EPOCH, the serial number a hash. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import sys
import uuid
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import quote

import tomllib
from components import INSTALLED, WHEEL, Package, Packages, PackagingError, bundled, embedded, shared

ROOT = Path(__file__).parent.parent
LICENCE = "Apache-2.0 WITH LLVM-exception"


def licence(expression: str) -> list[dict[str, Any]]:
    return [{"expression": expression}]


def library(package: Package, reference: str, scope: str = "required") -> dict[str, Any]:
    epoch, _, version = package.version.rpartition(":")
    qualifiers = f"arch={package.architecture}&distro=debian-12" + (f"&epoch={epoch}" if epoch else "")
    result: dict[str, Any] = {
        "type": "library",
        "bom-ref": reference,
        "name": package.title,
        "version": package.version,
        "scope": scope,
        "licenses": licence(package.licence),
        "purl": f"pkg:deb/debian/{quote(package.name)}@{quote(version, safe='.-~')}?{qualifiers}",
        "properties": [
            {"name": "gnnc:debian-source", "value": package.source},
            {"name": "gnnc:use", "value": ", ".join(sorted(package.uses))},
        ],
    }
    if package.homepage:
        result["externalReferences"] = [{"type": "website", "url": package.homepage}]
    return result


def artefact(file: Path, version: str, inside: Packages) -> dict[str, Any]:
    return {
        "type": "application",
        "bom-ref": file.name,
        "name": file.name,
        "version": version,
        "licenses": licence(LICENCE),
        "hashes": [{"alg": "SHA-256", "content": hashlib.sha256(file.read_bytes()).hexdigest()}],
        "components": [library(p, f"{file.name}/{p.name}") for p in inside.all()],
    }


def python_requirements() -> list[dict[str, Any]]:
    """Ranges, so no version: pip chooses one."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    optional = [r for group in project.get("optional-dependencies", {}).values() for r in group]
    result = []
    for scope, requirements in (("required", project["dependencies"]), ("optional", optional)):
        for requirement in requirements:
            name = requirement.split(">")[0].split("=")[0].strip()
            result.append(
                {
                    "type": "library",
                    "bom-ref": f"pypi/{name}",
                    "name": name,
                    "scope": scope,
                    "purl": f"pkg:pypi/{name}",
                    "properties": [{"name": "gnnc:requirement", "value": requirement}],
                }
            )
    return result


def write(arguments: argparse.Namespace) -> None:
    build, version = arguments.build, arguments.version
    installed = embedded(build, INSTALLED)
    wheel = embedded(build, WHEEL)
    bundled(arguments.wheel_tree / "lib", wheel)

    system, needs = Packages(), set[str]()
    for name in INSTALLED:
        if not name.endswith("libgnnc_mpi.so"):
            needs |= shared(str(build / name), system)
    # Only for ranks under mpirun; what MPI itself loads is its package's affair.
    extra = Packages()
    mpi = shared(str(build / "lib/libgnnc_mpi.so"), extra, closure=False) - set(system.found)
    # Of the system the wheel loads glibc alone: all else is inside it.
    loads = shared(str(build / WHEEL[0]), Packages()) - {p.name for p in wheel.all()}

    python = python_requirements()
    epoch = int(os.environ["SOURCE_DATE_EPOCH"])
    artefacts = [artefact(arguments.deb, version, installed), artefact(arguments.tar, version, installed)]
    artefacts.append(artefact(arguments.wheel, version, wheel))
    outside = [library(p, f"debian/{p.name}") for p in system.all()]
    outside += [library(extra.found[name], f"debian/{name}", "optional") for name in sorted(mpi)]
    depends = [{"ref": a["bom-ref"], "dependsOn": sorted(f"debian/{n}" for n in needs | mpi)} for a in artefacts[:2]]
    depends.append(
        {
            "ref": artefacts[2]["bom-ref"],
            "dependsOn": sorted([f"debian/{n}" for n in loads] + [p["bom-ref"] for p in python]),
        }
    )
    depends += [{"ref": f"debian/{p.name}", "dependsOn": sorted(f"debian/{n}" for n in p.needs)} for p in system.all()]
    document = {
        "$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {
            "timestamp": datetime.fromtimestamp(epoch, UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
            "component": {
                "type": "application",
                "bom-ref": "gnnc",
                "name": "gnnc",
                "version": version,
                "description": "An ahead-of-time compiler for graph neural networks",
                "licenses": licence(LICENCE),
            },
        },
        "components": artefacts + outside + python,
        "dependencies": [{"ref": "gnnc", "dependsOn": [a["bom-ref"] for a in artefacts]}, *depends],
    }
    digest = json.dumps(document, sort_keys=True)
    document["serialNumber"] = f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_OID, digest)}"
    arguments.output.write_text(json.dumps(document, indent=1) + "\n")


def validate(file: Path) -> None:
    try:
        from cyclonedx.schema import SchemaVersion
        from cyclonedx.validation.json import JsonStrictValidator
    except ImportError:
        raise PackagingError("validation needs the Python package cyclonedx-python-lib[json-validation]") from None
    problem = JsonStrictValidator(SchemaVersion.V1_6).validate_str(file.read_text())
    if problem:
        raise PackagingError(f"{file} is no CycloneDX 1.6: {str(problem).splitlines()[0]}")
    document = json.loads(file.read_text())
    # The schema does not check that references lead anywhere.
    known = {"gnnc"} | {c["bom-ref"] for c in document["components"]}
    for entry in document["dependencies"]:
        for reference in [entry["ref"], *entry["dependsOn"]]:
            if reference not in known:
                raise PackagingError(f"{file}: dependency {reference!r} names no component")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--validate", type=Path, metavar="FILE")
    parser.add_argument("--build", type=Path)
    parser.add_argument("--version")
    for name in ("deb", "tar", "wheel"):
        parser.add_argument(f"--{name}", type=Path)
    parser.add_argument("--wheel-tree", type=Path, help="the wheel's folder gnnc, unpacked")
    parser.add_argument("-o", "--output", type=Path)
    arguments = parser.parse_args()
    try:
        validate(arguments.validate) if arguments.validate else write(arguments)
    except PackagingError as error:
        print(f"sbom.py: error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
