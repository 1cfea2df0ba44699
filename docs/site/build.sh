#!/usr/bin/env bash
# Builds the site: build.sh [--external] [FOLDER]   (./dev docs --site; default: site in the build directory)
#
# Python packages go into an environment in the build directory (GNNC_BUILD, default: build). The build fails where a page is
# missing from the navigation, a link or an anchor leads nowhere, a block is read otherwise than on GitHub, or the lexer lacks a
# word of the compiler. --external asks the addresses of other hosts, too.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
build=${GNNC_BUILD:-$root/build}

external=()
if [ "${1:-}" = --external ]; then
  external=(--external)
  shift
fi
case ${1:-} in
  -*)
    echo "build.sh: error: expected --external or a folder, found '$1'" >&2
    exit 2
    ;;
esac
[ $# -le 1 ] || { echo "build.sh: error: expected one folder, found $#" >&2; exit 2; }
out=$(realpath -m "${1:-$build/site/html}")
# mkdocs empties the folder that it writes.
if [ -e "$out" ] && [ -n "$(ls -A "$out" 2>/dev/null)" ] && [ ! -f "$out/sitemap.xml" ]; then
  echo "build.sh: error: expected an empty folder or an earlier site, found '$out'" >&2
  exit 1
fi

place=$build/site/environment
export PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=$here/hooks NO_MKDOCS_2_WARNING=1
wanted=$(cat "$here/requirements.txt")
if [ "$wanted" != "$(cat "$place/installed" 2>/dev/null)" ]; then
  echo "site: installing what docs/site/requirements.txt lists into $place"
  rm -rf "$place"
  python3 -m venv "$place" || { echo "build.sh: error: python3-venv is needed" >&2; exit 1; }
  "$place/bin/python" -m pip install --quiet --disable-pip-version-check -r "$here/requirements.txt"
  echo "$wanted" >"$place/installed"
fi
lexer=$(cat "$here"/lexer/*)
if [ "$lexer" != "$(cat "$place/lexer" 2>/dev/null)" ]; then
  "$place/bin/python" -m pip install --quiet --disable-pip-version-check --force-reinstall --no-deps "$here/lexer"
  echo "$lexer" >"$place/lexer"
fi
python=$place/bin/python

"$python" "$here/check/lexer.py"
"$python" "$here/check/like_github.py"
# (With --quiet, --strict would not count warnings.)
"$python" -m mkdocs build --strict --config-file "$here/mkdocs.yml" --site-dir "$out" 2>&1 | { grep -v '^INFO' >&2 || true; }
"$python" "$here/check/links.py" "$out" "${external[@]}"
echo "written: $out (to read it: python3 -m http.server --directory $out)"
