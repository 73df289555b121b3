#!/bin/bash
# Other compilers than the machine's cc: the library is built through CMake with clang, and for aarch64 with a toolchain file, and
# the C programs of this folder run on what was installed, shared and static; those for aarch64 under qemu.
#
#   capi-tests/toolchains.sh [clang] [aarch64]
#
# Does all the set-up that a Debian 12 with a Rust toolchain needs. Ten minutes on two processors; what was built is used again.
set -uo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../cmake/setup.sh"
work=$target/toolchains
mkdir -p "$work"

# programs <name> <option...>: builds, installs, and runs the programs.
programs() {
  local name=$1
  shift
  step "$name: the library"
  configure "$root/cmake" "$work/$name/library" -DCMAKE_INSTALL_PREFIX="$work/$name/prefix" -DCMAKE_INSTALL_LIBDIR=lib \
    -DOXIBLOSC_CARGO_TARGET_DIR="$work/$name/cargo" "$@" &&
    cmake --build "$work/$name/library" >"$work/$name/build.log" 2>&1 || { tail -20 "$work/$name/build.log"; return 1; }
  cmake --install "$work/$name/library" >"$work/$name/install.log" || return 1
  step "$name: the C programs"
  configure "$root/capi-tests" "$work/$name/programs" -DBlosc2_DIR="$work/$name/prefix/lib/cmake/Blosc2" "$@" &&
    cmake --build "$work/$name/programs" -j "$jobs" >"$work/$name/programs.log" 2>&1 || { tail -20 "$work/$name/programs.log"; return 1; }
  ctest --test-dir "$work/$name/programs" -L 'shared|static' "${without[@]}" -j "$jobs" --output-on-failure --no-tests=error |
    tee "$work/$name/ctest.log" | grep -E 'tests passed|Failed|\*\*\*'
  return "${PIPESTATUS[0]}"
}

with_clang() {
  need_packages clang cmake make
  without=()
  CC=clang CXX=clang++ programs clang
}

for_aarch64() {
  need_packages gcc-aarch64-linux-gnu g++-aarch64-linux-gnu libc6-dev-arm64-cross qemu-user cmake make
  rustup target add aarch64-unknown-linux-gnu || return 1
  cat >"$work/aarch64.cmake" <<'END'
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64;-L;/usr/aarch64-linux-gnu)
END
  # How much stack a call takes is measured on the machine itself: qemu's threads have other stacks.
  without=(-E small_stacks)
  OXIBLOSC_UNDER_QEMU=1 programs aarch64 -DCMAKE_TOOLCHAIN_FILE="$work/aarch64.cmake"
}

need_cargo
failed=()
[ $# -gt 0 ] || set -- clang aarch64
for name in "$@"; do
  case $name in
  clang) with_clang || failed+=(clang) ;;
  aarch64) for_aarch64 || failed+=(aarch64) ;;
  *) die "no toolchain $name" ;;
  esac
done
[ ${#failed[@]} -eq 0 ] || die "failed: ${failed[*]}"
