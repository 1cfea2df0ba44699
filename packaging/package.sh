#!/usr/bin/env bash
# Packages of a finished build: packaging/package.sh [--build FOLDER] FOLDER
#
# Writes into FOLDER a Debian package, an archive, a wheel, a bill of materials and SHA256SUMS. Builds nothing; ./dev
# package does so first. The same work tree and build give the same bytes.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
root=$(dirname "$here")

die() {
  echo "package: error: $*" >&2
  exit 1
}

build=$root/build
if [ "${1:-}" = --build ]; then
  build=$(realpath "${2:?--build FOLDER}")
  shift 2
fi
[ $# -eq 1 ] || die "usage: packaging/package.sh [--build FOLDER] FOLDER"
mkdir -p "$1"
out=$(realpath "$1")

[ "$(uname -m)" = x86_64 ] || die "packages are made on x86-64 only; this is $(uname -m)"
for file in bin/gnnc bin/gnnc-opt bin/gnnc-lsp-server lib/libgnnc_mpi.so lib/libgnnc_nccl.so package/gnnc; do
  [ -f "$build/$file" ] ||
    die "$build/$file is missing: build gnnc, gnnc-opt, gnnc-lsp-server, gnnc_mpi, gnnc_nccl and gnnc-package"
done
for tool in dpkg-shlibdeps dpkg-gencontrol dpkg-deb ninja cmake git python3; do
  type "$tool" >/dev/null 2>&1 || die "$tool is missing (Debian packages dpkg-dev, ninja-build, cmake, git, python3)"
done

version=$(sed -n 's/^CMAKE_PROJECT_VERSION:STATIC=//p' "$build/CMakeCache.txt")
[ -n "$version" ] || die "$build/CMakeCache.txt names no version of gnnc"
epoch=${SOURCE_DATE_EPOCH:-$(git -C "$root" log -1 --format=%ct)} ||
  die "no commit and no SOURCE_DATE_EPOCH: nothing to date files with"
export SOURCE_DATE_EPOCH=$epoch LC_ALL=C TZ=UTC DPKG_DEB_THREADS_MAX=1
umask 022
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# The files of a folder of the repository, as they are in the work tree.
copy() {
  git -C "$root" ls-files -z -co --exclude-standard -- "${@:2}" |
    (cd "$root" && while IFS= read -r -d '' file; do [ ! -f "$file" ] || printf '%s\0' "$file"; done) |
    tar -C "$root" --null -T - --mode=u=rw,go=r -c | tar -C "$1" -x
}

# Times of the commit, and modes that do not depend on who packs.
settle() {
  chmod -R u=rwX,go=rX "$1"
  find "$1" -exec touch -h -d "@$epoch" {} +
}

# Without debugging tables; archives of objects keep the symbols that linking needs.
strip_all() {
  find "$1" -name '*.so' -exec strip --strip-unneeded {} +
  find "$1" -name '*.a' -exec strip --strip-debug --enable-deterministic-archives {} +
}

# What `cmake --install` gives, and documentation.
stage() {
  DESTDIR=$work/stage cmake --install "$build" --prefix /usr --strip >"$work/log" 2>&1 ||
    { tail -n 5 "$work/log" >&2; die "cmake could not install"; }
  strip_all "$work/stage/usr/lib"
  local doc=$work/stage/usr/share/doc/gnnc
  mkdir -p "$doc" "$work/stage/usr/share/man/man1"
  copy "$doc" README.md CHANGELOG.md SECURITY.md CONTRIBUTING.md 'docs/*.md' docs/model.schema.json examples
  mv "$work/stage/usr/share/gnnc/LICENSE" "$doc/"
  python3 "$here/notices.py" "$build" installed >"$doc/THIRD-PARTY.txt"
  cp "$here"/man/*.1 "$work/stage/usr/share/man/man1/"
  settle "$work/stage"
}

archive() {
  local name=gnnc-$version-linux-x86_64
  tar -C "$work/stage" --sort=name --mtime="@$epoch" --owner=0 --group=0 --numeric-owner --format=gnu \
    --transform "s,^usr,$name," -c usr | gzip -9n >"$out/$name.tar.gz"
}

# Dependencies as dpkg-shlibdeps finds them. LLVM's folder, which is searched first, has only a link to libLLVM, and that
# belongs to a development package: the package of the library itself says what to depend on.
fields() (
  cd "$work" || return
  local link library owner
  link=$(ldd "$build/bin/gnnc" | awk '/libLLVM/ { print $3 }') && library=$(realpath "$link") || return
  owner=$(dpkg -S "$library" 2>"$work/log") && owner=${owner%%:*} || return
  dpkg-query --control-show "$owner" shlibs >debian/shlibs.local 2>"$work/log" || return
  dpkg-shlibdeps -Tsubstvars stage/usr/bin/* stage/usr/lib/libgnnc_nccl.so 2>"$work/log" || return
  # Only ranks under mpirun load MPI.
  dpkg-shlibdeps -O stage/usr/lib/libgnnc_mpi.so >mpi 2>"$work/log" || return
  sed -n 's/.*\(libopenmpi[^,]*\).*/mpi:Depends=\1/p' mpi >>substvars
  echo 'misc:Depends=' >>substvars
  dpkg-gencontrol -pgnnc -Tsubstvars -Pstage "-ngnnc_${version}_amd64.deb" 2>"$work/log" || return
  grep -q '^Depends:.*libmlir-22' stage/DEBIAN/control ||
    { echo "no dependency on libmlir-22 was found" >"$work/log"; return 1; }
)

deb() {
  local tree=$work/stage doc=$work/stage/usr/share/doc/gnnc
  local maintainer=${GNNC_MAINTAINER:-The gnnc developers <developers@gnnc.invalid>}
  mkdir -p "$tree/DEBIAN" "$work/debian" "$tree/usr/share/lintian/overrides"
  sed "s|@MAINTAINER@|$maintainer|" "$here/deb/control.in" >"$work/debian/control"
  printf 'gnnc (%s) unstable; urgency=medium\n\n  * See CHANGELOG.md.\n\n -- %s  %s\n' \
    "$version" "$maintainer" "$(date -R -d "@$epoch")" >"$work/debian/changelog"
  # The exceptions follow the heading that names them in LICENSE, as a field of the copyright file.
  sed -n '/^---- LLVM Exceptions/,$ { /^----/d; s/^$/./; s/^/ /; p }' "$root/LICENSE" | sed '1 { /^ \.$/d }' \
    >"$work/exceptions"
  [ -s "$work/exceptions" ] || die "LICENSE has no heading '---- LLVM Exceptions'"
  sed -e "/@EXCEPTIONS@/ { r $work/exceptions
    d }" "$here/deb/copyright" >"$doc/copyright"
  rm "$doc/LICENSE"
  gzip -9nc "$work/debian/changelog" >"$doc/changelog.gz"
  gzip -9n "$tree"/usr/share/man/man1/*.1
  cp "$here/deb/lintian-overrides" "$tree/usr/share/lintian/overrides/gnnc"
  fields || { tail -n 5 "$work/log" >&2; die "no control file for the Debian package"; }
  (cd "$tree" && find usr -type f -print0 | sort -z | xargs -0 md5sum) >"$tree/DEBIAN/md5sums"
  echo 'activate-noawait ldconfig' >"$tree/DEBIAN/triggers"
  settle "$tree"
  dpkg-deb --root-owner-group -Zxz --build "$tree" "$out/gnnc_${version}_amd64.deb" >/dev/null
}

# Python packages that make the wheel and check the bill of materials.
tools() {
  local place=$build/packaging
  python=$place/bin/python
  cmp -s "$here/requirements.txt" "$place/installed" && return
  echo "package: installing what packaging/requirements.txt lists into $place"
  rm -rf "$place"
  python3 -m venv "$place" || die "python3 could not make an environment (python3-venv is needed)"
  "$python" -m pip install --quiet --disable-pip-version-check -r "$here/requirements.txt" ||
    die "pip could not install them"
  cp "$here/requirements.txt" "$place/installed"
}

# The Python package around the compiler of this build: that of ./dev wheel, without building everything once more.
wheel() {
  local tree=$work/wheel file
  mkdir -p "$tree"
  copy "$tree" pyproject.toml LICENSE docs/PyTorch.md python/gnnc
  cmake --install "$build" --component python --prefix "$tree/python" >"$work/log" 2>&1 ||
    { tail -n 5 "$work/log" >&2; die "cmake could not install the Python package's files"; }
  python3 "$here/notices.py" "$build" wheel "$tree/python/gnnc/lib" >"$tree/THIRD-PARTY.txt"
  sed -i 's/^license-files = \["LICENSE"\]/license-files = ["LICENSE", "THIRD-PARTY.txt"]/' "$tree/pyproject.toml"
  grep -q THIRD-PARTY "$tree/pyproject.toml" || die 'pyproject.toml has no line license-files = ["LICENSE"]'
  settle "$tree"
  chmod 755 "$tree/python/gnnc/bin/gnnc"
  "$python" -m build --wheel --no-isolation -C wheel.cmake=false -C wheel.platlib=true --outdir "$work/wheels" "$tree" \
    >"$work/log" 2>&1 || { tail -n 15 "$work/log" >&2; die "no wheel"; }
  "$python" -m wheel tags --remove --platform-tag manylinux_2_36_x86_64 "$work"/wheels/gnnc-*.whl >/dev/null
  file=$(echo "$work"/wheels/gnnc-*.whl)
  cp "$file" "$out/"
  wheel=$out/$(basename "$file")
}

materials() {
  local name=$out/gnnc-$version.cdx.json
  python3 "$here/sbom.py" --build "$build" --version "$version" --deb "$out/gnnc_${version}_amd64.deb" \
    --tar "$out/gnnc-$version-linux-x86_64.tar.gz" --wheel "$wheel" --wheel-tree "$work/wheel/python/gnnc" -o "$name"
  "$python" "$here/sbom.py" --validate "$name"
}

tools
stage
archive
deb
wheel
materials
(cd "$out" && sha256sum "gnnc_${version}_amd64.deb" "gnnc-$version-linux-x86_64.tar.gz" "$(basename "$wheel")" \
  "gnnc-$version.cdx.json" >SHA256SUMS)
(cd "$out" && du -h -- * && cat SHA256SUMS)
