#!/usr/bin/env bash
# Tests what is in this folder: ./dev editors. Packages go into the build directory (GNNC_BUILD, default: build).
#
# The test of VS Code's client needs Node.js, and vscode-languageclient from npm or in the folder that GNNC_NODE_MODULES names.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/.." && pwd)
build=${GNNC_BUILD:-$root/build}
place=$build/editors
bin=${GNNC_COMPILER:-$root/build/bin/gnnc}
export PYTHONDONTWRITEBYTECODE=1 GNNC_LSP_SERVER=${GNNC_LSP_SERVER:-$(dirname "$bin")/gnnc-lsp-server}

for program in "$bin" "$GNNC_LSP_SERVER"; do
  [ -x "$program" ] || { echo "editors: error: expected a program, found none at '$program'" >&2; exit 1; }
done
wanted=babi==1.8.0
if [ "$wanted" != "$(cat "$place/python/installed" 2>/dev/null)" ]; then
  echo "editors: installing $wanted into $place/python"
  rm -rf "$place/python"
  python3 -m venv "$place/python" || { echo "editors: error: python3-venv is needed" >&2; exit 1; }
  "$place/python/bin/python" -m pip install --quiet --disable-pip-version-check "$wanted"
  echo "$wanted" >"$place/python/installed"
fi
"$place/python/bin/python" "$here/vscode/test/grammar.py"
"$place/python/bin/python" "$here/vscode/test/snippets.py" "$bin"
python3 "$here/vscode/test/package.py"

if ! command -v node >/dev/null; then
  echo "editors: there is no node: the test of VS Code's client is left out"
  exit
fi
modules=${GNNC_NODE_MODULES:-$place/node_modules}
if [ ! -d "$modules/vscode-languageclient" ]; then
  client=vscode-languageclient@$(node -p "require('$here/vscode/package.json').dependencies['vscode-languageclient']")
  mkdir -p "$place"
  if ! npm install --silent --fetch-retries=0 --no-save --no-package-lock --prefix "$place" "$client" \
    >/dev/null 2>"$place/npm.log"; then
    echo "editors: npm could not install $client: the test of VS Code's client is left out"
    exit
  fi
fi
NODE_PATH=$modules node --test "$here/vscode/test/client.test.js"
