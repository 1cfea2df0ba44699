"""Writes the extension as a .vsix: `package.py [--modules FOLDER] FILE`, where FOLDER is a node_modules with
vscode-languageclient. Without it the extension highlights and inserts snippets, and has no language server.

A .vsix is a zip of `extension/`, a manifest and the types of its files; `npm run package` makes the same with vsce, where
npm can be had. The same files give the same bytes. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception"""

from __future__ import annotations

import argparse
import json
import sys
import zipfile
from pathlib import Path
from xml.sax.saxutils import escape, quoteattr

HERE = Path(__file__).resolve().parent
TYPES = {
    ".json": "application/json", ".js": "application/javascript", ".md": "text/markdown", ".txt": "text/plain",
    ".vsixmanifest": "text/xml",
}  # fmt: skip
# Of the extension; package.json names the rest.
ALWAYS = ["package.json", "README.md", "extension.js", "server.js", "language-configuration.json"]


def named(package: dict) -> list[str]:
    """Files that the description of the extension points to."""
    contributes = package["contributes"]
    entries = [*contributes["grammars"], *contributes["snippets"]]
    paths = [entry["path"] for entry in entries] + [each["configuration"] for each in contributes["languages"]]
    return [path.removeprefix("./") for path in [*paths, package["main"]]]


def modules(folder: Path, wanted: list[str]) -> dict[str, Path]:
    """All files of the packages that are wanted, and of those that they need, by their names in the archive."""
    files, queue, seen = {}, list(wanted), set()
    while queue:
        if (name := queue.pop()) in seen:
            continue
        seen.add(name)
        place = folder / name
        if not (place / "package.json").is_file():
            raise SystemExit(f"package.py: error: {folder} has no package {name}")
        queue += json.loads((place / "package.json").read_text()).get("dependencies", {})
        for file in place.rglob("*"):
            # Not the sources of compiled code; a package's own packages are in its folder.
            if file.is_file() and file.suffix not in {".map", ".ts"}:
                files[f"node_modules/{file.relative_to(folder)}"] = file
    return files


def manifest(package: dict) -> str:
    properties = {"Engine": package["engines"]["vscode"], "ExtensionDependencies": "", "ExtensionPack": ""}
    lines = [
        f"      <Property Id={quoteattr('Microsoft.VisualStudio.Code.' + name)} Value={quoteattr(value)}/>"
        for name, value in properties.items()
    ]
    assets = {
        "Code.Manifest": "package.json", "Services.Content.Details": "README.md",
        "Services.Content.License": "LICENSE.txt",
    }  # fmt: skip
    assets = [
        f'    <Asset Type="Microsoft.VisualStudio.{type}" Path="extension/{path}" Addressable="true"/>'
        for type, path in assets.items()
    ]
    return f"""<?xml version="1.0" encoding="utf-8"?>
<PackageManifest Version="2.0.0" xmlns="http://schemas.microsoft.com/developer/vsx-schema/2011">
  <Metadata>
    <Identity Language="en-US" Id={quoteattr(package["name"])} Version={quoteattr(package["version"])} \
Publisher={quoteattr(package["publisher"])}/>
    <DisplayName>{escape(package["displayName"])}</DisplayName>
    <Description xml:space="preserve">{escape(package["description"])}</Description>
    <Tags>{escape(",".join(package["keywords"]))}</Tags>
    <Categories>{escape(",".join(package["categories"]))}</Categories>
    <License>extension/LICENSE.txt</License>
    <Properties>
{chr(10).join(lines)}
    </Properties>
  </Metadata>
  <Installation>
    <InstallationTarget Id="Microsoft.VisualStudio.Code"/>
  </Installation>
  <Dependencies/>
  <Assets>
{chr(10).join(assets)}
  </Assets>
</PackageManifest>
"""


def types(names: list[str]) -> str:
    """The type of every ending, and of each file that has none."""
    endings = sorted({Path(name).suffix for name in names} | {".vsixmanifest"})
    lines = [
        f"  <Default Extension={quoteattr(each)} ContentType={quoteattr(TYPES.get(each, 'application/octet-stream'))}/>"
        for each in endings
        if each
    ]
    lines += [
        f'  <Override PartName={quoteattr("/" + name)} ContentType="application/octet-stream"/>'
        for name in names
        if not Path(name).suffix
    ]
    return f"""<?xml version="1.0" encoding="utf-8"?>
<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">
{chr(10).join(lines)}
</Types>
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--modules", type=Path)
    parser.add_argument("file", type=Path)
    options = parser.parse_args()
    package = json.loads((HERE / "package.json").read_text())
    files = {name: HERE / name for name in [*ALWAYS, *named(package)]}
    files["LICENSE.txt"] = HERE.parent.parent / "LICENSE"
    if options.modules:
        files |= modules(options.modules, list(package["dependencies"]))
    else:
        print("package.py: no --modules: without vscode-languageclient, highlighting and snippets only", file=sys.stderr)
    content = {f"extension/{name}": path.read_bytes() for name, path in sorted(files.items())}
    head = {"extension.vsixmanifest": manifest(package), "[Content_Types].xml": types(list(content))}
    with zipfile.ZipFile(options.file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in {**head, **content}.items():
            entry = zipfile.ZipInfo(name)  # dated 1980, whenever it is made
            entry.compress_type, entry.external_attr = zipfile.ZIP_DEFLATED, 0o644 << 16
            archive.writestr(entry, data)


if __name__ == "__main__":
    main()
