"""Prints the copyright files of all packages whose code is inside an artefact: `notices.py BUILD installed`, or
`notices.py BUILD wheel FOLDER`, where FOLDER has the libraries that the wheel carries.

Their licences ask that binaries come with these texts. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception"""

from __future__ import annotations

import sys
from pathlib import Path

from components import INSTALLED, WHEEL, PackagingError, bundled, embedded, licences


def main(build: str, kind: str, folder: str = "") -> int:
    packages = embedded(Path(build), WHEEL if kind == "wheel" else INSTALLED)
    if folder:
        bundled(Path(folder), packages)
    # Packages of one source share their copyright file.
    by_source = {package.source: package for package in packages.all()}
    print("gnnc contains code of the following projects. Their copyright notices and licences follow.\n")
    for source, package in sorted(by_source.items()):
        reason = licences()[source].get("no-notice")
        print(
            f"  {package.title} {package.version}: {package.licence}"
            + (f" (no notice below: {reason})" if reason else "")
        )
    for source, package in sorted(by_source.items()):
        if "no-notice" in licences()[source]:
            continue
        print(
            f"\n{'=' * 100}\n{package.title} ({package.homepage or package.source})\n{'=' * 100}\n\n{package.copyright}"
        )
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main(*sys.argv[1:]))
    except PackagingError as error:
        print(f"notices.py: error: {error}", file=sys.stderr)
        sys.exit(1)
