#!/usr/bin/env bash
# Tests packages as users install them: packaging/test.sh FOLDER, the folder that packaging/package.sh wrote.
#
# Checks the sums, and that no file names the machine where it was built; then installs everything in a fresh Debian 12,
# which needs mmdebstrap, and root or user namespaces. Without mmdebstrap that part is left out, and the test says so.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
root=$(dirname "$here")

die() {
  echo "test: error: $*" >&2
  exit 1
}

[ $# -eq 1 ] || die "usage: packaging/test.sh FOLDER"
[ -f "$1/SHA256SUMS" ] || die "$1 has no SHA256SUMS: run ./dev package $1 first"
out=$(realpath "$1")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
chmod 755 "$work"

(cd "$out" && sha256sum --quiet -c SHA256SUMS) || die "SHA256SUMS does not match the files"
for file in "$out"/*; do
  [ "$(basename "$file")" = SHA256SUMS ] || grep -q "  $(basename "$file")\$" "$out/SHA256SUMS" ||
    die "SHA256SUMS has no line for $file"
done
deb=$(echo "$out"/gnnc_*_amd64.deb) archive=$(echo "$out"/gnnc-*-linux-x86_64.tar.gz) wheel=$(echo "$out"/gnnc-*.whl)
echo "passed: the sums of $(wc -l <"$out/SHA256SUMS") files"

python3 - "$out" <<'TEXT' || die "the bill of materials does not describe these files"
import hashlib, json, pathlib, sys
folder = pathlib.Path(sys.argv[1])
bill = json.loads(next(folder.glob("*.cdx.json")).read_text())
listed = {c["name"]: c["hashes"][0]["content"] for c in bill["components"] if "hashes" in c}
found = {f.name: hashlib.sha256(f.read_bytes()).hexdigest() for f in folder.glob("gnnc*") if f.suffix != ".json"}
sys.exit(None if listed == found else f"listed: {listed}, found: {found}")
TEXT
echo "passed: the bill of materials lists these files"

# Unpacked, nothing may lead back to the folder of the build, or to a home directory.
mkdir "$work/deb" "$work/wheel" "$work/archive"
dpkg-deb -R "$deb" "$work/deb"
tar -xzf "$archive" -C "$work/archive"
python3 -m zipfile -e "$wheel" "$work/wheel"
# The name of the machine only as a word, and not one as short as "vm", or as common as "debian".
names_machine() { # TEXT [OPTION]
  local found
  if found=$(grep -rlaF "${@:2}" -- "$1" "$work/deb" "$work/wheel" "$work/archive" "$out"/*.cdx.json); then
    die "$(echo "$found" | head -n 3 | sed "s|^$work/||" | tr '\n' ' ')names this machine: $1"
  fi
}
home=$(cd ~ && pwd)
names_machine "$root/"
[ "$home" = / ] || names_machine "$home/"
case $(hostname) in ? | ?? | ??? | debian | localhost) ;; *) names_machine "$(hostname)" -w ;; esac
echo "passed: no file names this machine"

if type lintian >/dev/null 2>&1; then
  lintian --fail-on error "$deb" >"$work/lintian" || { cat "$work/lintian"; die "lintian found errors"; }
  cat "$work/lintian"
  echo "passed: lintian finds no error, and $(grep -c '^W' "$work/lintian" || true) warnings"
else
  echo "left out: lintian is not installed"
fi

if ! type mmdebstrap >/dev/null 2>&1; then
  echo "left out: a fresh Debian 12 needs mmdebstrap"
  exit 0
fi
mkdir "$work/in"
cp -r "$deb" "$archive" "$work/wheel/gnnc" "$here/inside.sh" "$work/in/"
cp -r "$root/examples/gat" "$root/examples/data" "$root/examples/c" "$work/in/"
cp "$root/include/gnnc-c/gnnc.h" "$work/in/"
chmod 755 "$work/in/gnnc/bin/gnnc"
# LLVM 22 comes from bookworm-security.
mirror=${GNNC_DEBIAN_MIRROR:-http://deb.debian.org}
# shellcheck disable=SC2016 # mmdebstrap gives the hook the folder as $1
mmdebstrap --quiet --variant=apt \
  --customize-hook="copy-in $work/in /opt" --customize-hook='chroot "$1" bash /opt/in/inside.sh' \
  bookworm /dev/null "deb $mirror/debian bookworm main" "deb $mirror/debian-security bookworm-security main" \
  >"$work/log" 2>&1 ||
  { grep -v '^[IE]:' "$work/log" | tail -n 20 >&2; die "the packages do not work in a fresh Debian 12"; }
grep '^passed' "$work/log" || die "nothing ran in the fresh Debian 12"
