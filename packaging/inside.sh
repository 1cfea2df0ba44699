#!/usr/bin/env bash
# Run by test.sh in a fresh Debian 12, with the packages in /opt/in.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
set -euo pipefail
cd /opt/in
export HOME=/root XDG_CACHE_HOME=/tmp/cache DEBIAN_FRONTEND=noninteractive

fail() {
  echo "inside: error: $*" >&2
  exit 1
}

# Compiles the example GAT with the gnnc that is named, and runs it with parameters from PyTorch Geometric.
try() {
  local gnnc=$1 name=$2 output
  rm -rf "$XDG_CACHE_HOME"
  "$gnnc" compile gat/model.gnn -o "/tmp/$name.so"
  output=$("$gnnc" run "/tmp/$name.so" --graph data/cora.safetensors --params data/cora_gat.safetensors \
    --params-map gat/pyg.map.json)
  [[ $output == *"test accuracy 0.8170"* ]] || fail "$name: expected test accuracy 0.8170, found: $output"
  echo "passed: $name compiles examples/gat and runs it, accuracy 0.8170"
  "$gnnc" compile gat/model.gnn --cpu armv8-a -o "/tmp/$name-aarch64.so"
  output=$("$gnnc" inspect "/tmp/$name-aarch64.so")
  [[ $output == *"for aarch64"* ]] || fail "$name: expected an object for aarch64, found: $output"
  echo "passed: $name compiles it for aarch64"
}

absent() {
  hash -r
  ! type gnnc >/dev/null 2>&1 || fail "gnnc is on PATH $1"
}

# The wheel's compiler first: it needs nothing but glibc, and here is nothing else yet.
absent "before it is installed"
! ldconfig -p | grep -q 'libLLVM\|libzip\|libmetis' || fail "this Debian is not fresh"
try gnnc/bin/gnnc wheel

apt-get install -y -qq --no-install-recommends ./gnnc_*_amd64.deb >/tmp/apt.log 2>&1 ||
  { tail -n 5 /tmp/apt.log; fail "apt-get"; }
try /usr/bin/gnnc deb
gnnc-opt --version | grep -q LLVM || fail "gnnc-opt does not start"
gnnc-lsp-server --version | grep -q LLVM || fail "gnnc-lsp-server does not start"
for file in include/gnnc-c/gnnc.h lib/cmake/gnnc/gnncConfig.cmake share/doc/gnnc/copyright share/man/man1/gnnc.1.gz; do
  grep -qx "/usr/$file" <(dpkg -L gnnc) || fail "the package does not have /usr/$file"
done
[ -z "$(dpkg --verify gnnc)" ] || fail "files differ from their sums: $(dpkg --verify gnnc)"

# From C, with the header of the package.
apt-get install -y -qq --no-install-recommends gcc libc6-dev >/tmp/apt.log 2>&1 || fail "apt-get install gcc"
gnnc compile c/model.gnn -o /tmp/c.so
gcc c/run_model.c -ldl -o /tmp/run_model
[ "$(/tmp/run_model /tmp/c.so | head -n 1)" = "node 0: 0.5000 0.9082" ] || fail "run_model printed something else"
echo "passed: a C program built with the installed header runs a model"

# CMake's gnnc_add_model, with no language but C.
apt-get install -y -qq --no-install-recommends cmake make >/tmp/apt.log 2>&1 || fail "apt-get install cmake"
mkdir -p /tmp/project
cat >/tmp/project/CMakeLists.txt <<'TEXT'
cmake_minimum_required(VERSION 3.25)
project(test LANGUAGES C)
find_package(gnnc REQUIRED COMPONENTS abi)
gnnc_add_model(model /opt/in/c/model.gnn OUTPUT model.so)
add_executable(run_model /opt/in/c/run_model.c)
target_link_libraries(run_model PRIVATE gnnc::abi ${CMAKE_DL_LIBS})
TEXT
use_cmake() { # NAME [OPTION]
  rm -rf /tmp/project/build
  { cmake -S /tmp/project -B /tmp/project/build "${@:2}" && cmake --build /tmp/project/build; } >/tmp/cmake.log 2>&1 ||
    { tail -n 10 /tmp/cmake.log; fail "find_package(gnnc) with $1"; }
  /tmp/project/build/run_model /tmp/project/build/model.so >/dev/null
  echo "passed: find_package(gnnc) and gnnc_add_model with $1"
}
use_cmake deb

apt-get purge -y -qq gnnc >/tmp/apt.log 2>&1 || { tail -n 5 /tmp/apt.log; fail "apt-get purge"; }
absent "after the purge"
left=$(find /usr /etc -path '*gnnc*' | head -n 3)
[ -z "$left" ] || fail "left behind by the purge: $left"
echo "passed: purge leaves no file"

# The archive, in a folder with a space; what it loads is still installed, as dependencies of the Debian package.
mkdir -p "/srv/some where"
tar -xzf gnnc-*-linux-x86_64.tar.gz -C "/srv/some where"
place=$(echo /srv/some\ where/gnnc-*)
try "$place/bin/gnnc" archive
use_cmake archive "-DCMAKE_PREFIX_PATH=$place"
