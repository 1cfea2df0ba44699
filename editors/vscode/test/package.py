"""Makes a .vsix and checks it against the format: types and manifest, and that everything is there that they and
package.json name; with the extension's dependencies and without; and that it starts where they are missing.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path
from xml.etree import ElementTree

EXTENSION = Path(__file__).resolve().parent.parent
VSX = "{http://schemas.microsoft.com/developer/vsx-schema/2011}"
OPC = "{http://schemas.openxmlformats.org/package/2006/content-types}"


def make(out: Path, *options: str) -> zipfile.ZipFile:
    subprocess.run([sys.executable, EXTENSION / "package.py", *options, out], check=True, stderr=subprocess.DEVNULL)
    return zipfile.ZipFile(out)


def check(archive: zipfile.ZipFile) -> None:
    names = set(archive.namelist())
    assert archive.testzip() is None and len(names) == len(archive.namelist())

    types = ElementTree.fromstring(archive.read("[Content_Types].xml"))
    endings = {each.get("Extension") for each in types.iter(OPC + "Default")}
    parts = {each.get("PartName") for each in types.iter(OPC + "Override")}
    untyped = [name for name in names if Path(name).suffix not in endings and "/" + name not in parts]
    assert untyped == ["[Content_Types].xml"] or not untyped, untyped

    package = json.loads(archive.read("extension/package.json"))
    manifest = ElementTree.fromstring(archive.read("extension.vsixmanifest"))
    assert manifest.tag == VSX + "PackageManifest" and manifest.get("Version") == "2.0.0"
    identity = manifest.find(f"{VSX}Metadata/{VSX}Identity")
    for attribute, key in (("Id", "name"), ("Version", "version"), ("Publisher", "publisher")):
        assert identity.get(attribute) == package[key], (attribute, identity.attrib)
    properties = {each.get("Id"): each.get("Value") for each in manifest.iter(VSX + "Property")}
    assert properties["Microsoft.VisualStudio.Code.Engine"] == package["engines"]["vscode"]
    assert [each.get("Id") for each in manifest.iter(VSX + "InstallationTarget")] == ["Microsoft.VisualStudio.Code"]
    assets = {each.get("Type"): each.get("Path") for each in manifest.iter(VSX + "Asset")}
    assert assets["Microsoft.VisualStudio.Code.Manifest"] == "extension/package.json"
    assert set(assets.values()) <= names, assets

    contributes = package["contributes"]
    paths = [each["path"] for kind in ("grammars", "snippets") for each in contributes[kind]]
    paths += [package["main"], *(each["configuration"] for each in contributes["languages"])]
    assert not (missing := [path for path in paths if f"extension/{path.removeprefix('./')}" not in names]), missing
    assert not [name for name in names if "/test/" in name and "node_modules" not in name]


def starts(folder: Path, archive: zipfile.ZipFile) -> bool:
    """Whether the unpacked extension activates, with a stand-in for `vscode`. False: there is no Node.js."""
    if not (node := shutil.which("node")):
        return False
    archive.extractall(folder)
    stand_in = EXTENSION / "test" / "vscode.js"
    program = f"""
        const Module = require("node:module"), resolve = Module._resolveFilename;
        Module._resolveFilename = (name, ...rest) => name === "vscode" ? {json.dumps(str(stand_in))} : resolve(name, ...rest);
        require("{folder}/extension/extension.js").activate({{ subscriptions: [] }}).then(() => console.log("active"));
    """
    run = subprocess.run([node, "-e", program], capture_output=True, text=True, env={"PATH": "/usr/bin:/bin"})
    assert run.stdout.strip() == "active", run.stdout + run.stderr
    return True


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        alone = make(place / "alone.vsix")
        check(alone)
        assert (place / "alone.vsix").read_bytes() == Path(make(place / "again.vsix").filename).read_bytes()
        active = starts(place / "unpacked", alone)
        for name, needs in (("vscode-languageclient", {"deep": "1"}), ("deep", {}), ("unrelated", {})):
            (place / "modules" / name / "lib").mkdir(parents=True)
            (place / "modules" / name / "package.json").write_text(json.dumps({"name": name, "dependencies": needs}))
            for file in ("LICENSE", "lib/main.js", "lib/main.ts"):
                (place / "modules" / name / file).write_text("")
        archive = make(place / "with.vsix", "--modules", str(place / "modules"))
        check(archive)
        found = {name.split("/")[2] for name in archive.namelist() if "node_modules" in name}
        assert found == {"vscode-languageclient", "deep"}, found
        assert not [name for name in archive.namelist() if name.endswith(".ts")]
    print(f"package.py: {len(alone.namelist())} files" + ("" if active else "; there is no node: it was not started"))


if __name__ == "__main__":
    main()
