#!/bin/bash
# That the flags which packagers set arrive, through CMake and through cargo alone: each of these leaves a mark in what is built.
# (CXXFLAGS has nothing to arrive at: no part of the library is in C++.) Without optimisation, so that it takes two minutes.
#
#   packaging/check-flags.sh
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../cmake/setup.sh"
need_cargo
need_packages cmake make gcc binutils
work=$target/flags
rm -rf "$work"
mkdir -p "$work"
export CARGO_PROFILE_RELEASE_LTO=off CARGO_PROFILE_RELEASE_CODEGEN_UNITS=16 CARGO_PROFILE_RELEASE_OPT_LEVEL=0 CARGO_PROFILE_RELEASE_DEBUG=0
flags=("CFLAGS=-finstrument-functions" "LDFLAGS=-Wl,-z,origin" "RUSTFLAGS=-Clink-arg=-Wl,--build-id=0x6f786962")

# marked <folder>: the library and the tool in it have the mark of each.
marked() {
  local file
  for file in "$1/libblosc2.so" "$1/b2"; do
    nm -D --undefined-only "$file" | grep __cyg_profile_func_enter >/dev/null || die "CFLAGS did not arrive in $file"
    readelf -dW "$file" | grep 'FLAGS.*ORIGIN' >/dev/null || die "LDFLAGS did not arrive in $file"
    readelf -nW "$file" | grep 'Build ID: 6f786962' >/dev/null || die "RUSTFLAGS did not arrive in $file"
  done
  echo "CFLAGS, LDFLAGS and RUSTFLAGS are in the library and the tool"
}

step "Through CMake, which reads them when it is run first"
env "${flags[@]}" cmake -S "$root/cmake" -B "$work/build" -DOXIBLOSC_CARGO_TARGET_DIR="$work/by-cmake" >"$work/configure.log"
cmake --build "$work/build"
marked "$work/by-cmake/release"

step "Through cargo"
(cd "$root" && env "${flags[@]}" CARGO_TARGET_DIR="$work/by-cargo" cargo build --release --locked -p oxiblosc-c -p oxiblosc-b2 --lib --bin b2)
marked "$work/by-cargo/release"
