#!/usr/bin/env bash
# Runs a compiled model with old versions of glibc: packaging/old_glibc.sh [--gnnc PROGRAM] [--root FOLDER]... [SUITE...]
#
# For each Debian suite, libc6 and its headers are downloaded and unpacked, examples/c/run_model.c is built against them,
# and runs with their loader: no root and no chroot is needed. --root names a system that is unpacked already (without
# absolute links), for example CentOS 7 or the package sysroot_linux-64 of conda-forge (glibc 2.17). With ziglang from
# PyPI, which knows the functions of every version of glibc, the object is also linked against 2.17, and against 2.15,
# which must fail. What cannot be downloaded is left out, in one line.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
set -euo pipefail
root=$(dirname "$(cd "$(dirname "$0")" && pwd)")

die() {
  echo "old_glibc: error: $*" >&2
  exit 1
}

gnnc=${GNNC_COMPILER:-$root/build/bin/gnnc} roots=() suites=()
while [ $# -gt 0 ]; do
  case $1 in
    --gnnc) gnnc=$(realpath "${2:?--gnnc PROGRAM}") && shift 2 ;;
    --root) roots+=("$(realpath "${2:?--root FOLDER}")") && shift 2 ;;
    -*) die "unknown option $1: expected --gnnc or --root" ;;
    *) suites+=("$1") && shift ;;
  esac
done
[ ${#suites[@]} -gt 0 ] || suites=(bullseye buster stretch jessie wheezy)
[ -x "$gnnc" ] || die "$gnnc is missing: build gnnc first"
[ "$(uname -m)" = x86_64 ] || die "old systems are unpacked on x86-64 only; this is $(uname -m)"
for tool in curl dpkg-deb xz gcc python3; do
  type "$tool" >/dev/null 2>&1 || die "$tool is missing"
done

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export XDG_CACHE_HOME=$work/cache
expected=$'node 0: 0.5000 0.9082\nnode 1: 0.7416 1.1667\nnode 2: 1.1498 1.9832\nnode 3: 1.4082 1.9082'
"$gnnc" compile "$root/examples/c/model.gnn" -o "$work/model.so"
ran=0 failed=0

passed() {
  echo "passed: $*"
  ran=$((ran + 1))
}

wrong() {
  echo "FAILED: $*"
  failed=$((failed + 1))
}

get() { # URL FILE
  curl -sfL --connect-timeout 10 --max-time 120 -o "$2" "$1"
}

# Where a suite is: releases move to Debian's archive when their support ends.
find_suite() { # SUITE
  local host
  for host in ${GNNC_DEBIAN_MIRROR:-http://deb.debian.org} http://archive.debian.org; do
    for compression in xz gz; do
      get "$host/debian/dists/$1/main/binary-amd64/Packages.$compression" "$work/$1.$compression" || continue
      "${compression/gz/gzip}" -dc "$work/$1.$compression" >"$work/$1.packages" && mirror=$host/debian && return 0
    done
  done
  return 1
}

# Unpacks packages of a suite, whose sums the list of packages has.
unpack_suite() { # SUITE FOLDER
  local package place sum
  mkdir -p "$2"
  for package in libc6 libc6-dev linux-libc-dev; do
    read -r place sum < <(awk -v wanted="$package" '
      /^Package: / { here = $2 == wanted } here && /^Filename: / { place = $2 } here && /^SHA256: / { sum = $2 }
      END { print place, sum }' "$work/$1.packages")
    get "$mirror/$place" "$work/package.deb" || return 1
    echo "$sum  $work/package.deb" | sha256sum --quiet -c - >/dev/null 2>&1 ||
      die "$mirror/$place does not have the SHA-256 that $1 lists"
    dpkg-deb -x "$work/package.deb" "$2"
  done
  # In a folder that is no root, absolute links would lead out of it.
  find "$2" -type l -lname '/*' -print0 | while IFS= read -r -d '' link; do ln -sfn "$2$(readlink "$link")" "$link"; done
}

# Builds run_model against a system, and runs it there.
try() { # NAME FOLDER
  local loader libraries version program=$work/run_model output status=0
  loader=$(find "$2" -name 'ld-linux-x86-64.so.2' | head -n 1)
  [ -n "$loader" ] || die "$2 has no ld-linux-x86-64.so.2: expected an unpacked x86-64 system"
  libraries=$(dirname "$(find "$2" \( -type f -o -type l \) -name libc.so.6 | head -n 1)")
  [ -e "$loader" ] || die "$loader leads out of $2 (to $(readlink "$loader")): make the link relative"
  version=$("$loader" --library-path "$libraries" "$libraries/libc.so.6" | grep -o -m 1 'version [0-9.]*[0-9]') ||
    { wrong "$1: its glibc does not start here"; return; }
  version=${version#version }
  # -B: of the starting files, the system's own come before those of this one.
  gcc --sysroot="$2" -B"$(dirname "$(find "$2" -name crt1.o | head -n 1)")" -I"$root/include" \
    "$root/examples/c/run_model.c" -ldl -o "$program" 2>"$work/log" ||
    { tail -n 3 "$work/log" >&2; die "run_model.c does not build against $1"; }
  output=$("$loader" --library-path "$libraries" "$program" "$work/model.so" 2>&1) || status=$?
  if [ "$(printf '%s\n2.17\n' "$version" | sort -V | head -n 1)" != 2.17 ]; then
    # Too old: an error that names the version is expected, nothing else.
    if [ $status -ne 0 ] && [[ $output == *"version \`GLIBC_2."*"not found"* ]]; then
      passed "$1, glibc $version: refused, as it must be: ${output##*: version}"
    else
      wrong "$1, glibc $version: expected the loader's error, found status $status: $output"
    fi
  elif [ $status -eq 0 ] && [ "$output" = "$expected" ]; then
    passed "$1, glibc $version: run_model prints the expected values"
  else
    wrong "$1, glibc $version: status $status: $output"
  fi
}

for folder in "${roots[@]}"; do
  try "$folder" "$folder"
done
for suite in "${suites[@]}"; do
  if find_suite "$suite" && unpack_suite "$suite" "$work/$suite"; then
    try "Debian $suite" "$work/$suite"
    rm -rf "${work:?}/$suite"
  else
    echo "left out: Debian $suite cannot be downloaded here"
  fi
done

# Against the lists of functions that zig has, which are not this project's.
place=$root/build/packaging-zig
python=$place/bin/python
if ! "$python" -c 'import ziglang' 2>/dev/null; then
  python3 -m venv "$place" >"$work/log" 2>&1 || true
  "$python" -m pip install --quiet --disable-pip-version-check ziglang==0.17.1 >"$work/log" 2>&1 || true
fi
if "$python" -c 'import ziglang' 2>/dev/null; then
  link() { # VERSION
    ZIG_GLOBAL_CACHE_DIR=$work/zig ZIG_LOCAL_CACHE_DIR=$work/zig "$python" -m ziglang cc -target "x86_64-linux-gnu.$1" \
      -I"$root/include" "$root/examples/c/run_model.c" "$work/model.so" -ldl -lm -lpthread \
      -Wl,--no-allow-shlib-undefined -o "$work/linked" 2>"$work/log"
  }
  if link 2.17; then
    passed "linked against the functions of glibc 2.17"
  else
    wrong "linking against glibc 2.17: $(tail -n 1 "$work/log")"
  fi
  if link 2.15; then
    wrong "linked against glibc 2.15, which lacks aligned_alloc and getauxval"
  elif grep -q 'aligned_alloc\|getauxval' "$work/log"; then
    passed "refused with glibc 2.15: $(grep -m 1 -o 'undefined[^>]*' "$work/log")"
  else
    wrong "linking against glibc 2.15 fails for another reason: $(tail -n 1 "$work/log")"
  fi
else
  echo "left out: ziglang cannot be installed from PyPI"
fi

echo "$ran passed, $failed failed"
[ "$failed" -eq 0 ]
