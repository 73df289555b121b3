#!/bin/bash
# Other systems, processors, C libraries and compilers than those of the machine: the library is built for them, and what can be run is.
#
#   capi-tests/toolchains.sh [--quick] [windows] [musl] [macos] [aarch64] [clang]
#
#   windows   built by MinGW; the C programs of this folder, shared and static, and the crates' tests under wine
#   musl      the C programs, static, and the crates' tests, run as they are
#   macos     compiled for both processors, and not linked: there is no linker for it here
#   aarch64   the C programs, shared and static, and the crates' tests, among them NEON against the portable code, under qemu
#   clang     the C programs, shared and static, with the library built by clang; with --quick the C in the library alone, by CMake's flags
#
# --quick is what run-all.sh runs, four minutes in all: a few C programs, and the tests of the crates that differ most. Does all the set-up
# that a Debian 12 with a Rust toolchain needs. What was built is used again. All is built as the tests are, with the checks of a debug
# build; with --quick the library is not optimised.
set -uo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../cmake/setup.sh"
cd "$root" || exit 1
work=$target/toolchains
quick=
profile=checked
# The programs of --quick: files, locks and memory maps, arrays, threads, codecs, and chunks of all kinds.
few=(io frames transactions b2nd threads pipelines special_chunks)

# cross <target> <prefix>: cargo by itself takes the compilers that CMake hands it, so that neither builds anew what the other built.
cross() {
  local name=${1//-/_}
  export "CC_$name=$(command -v "$2gcc")" "AR_$name=$(command -v "$2ar")" "CARGO_TARGET_${name^^}_LINKER=$(command -v "$2gcc")"
}

need_target() { rustup target add "$1" >"$work/rustup.log" 2>&1 || { cat "$work/rustup.log"; return 1; }; }

# programs <name> <labels> <option...>: builds through CMake, installs, and runs the C programs.
programs() {
  local name=$1 labels=$2 made=() chosen=("${without[@]}")
  shift 2
  if [ -n "$quick" ]; then
    set -- "$@" -DOXIBLOSC_TOOL=OFF -DOXIBLOSC_BLOSC1=OFF
    labels=shared made=(--target "${few[@]/%/_shared}") chosen+=(-R "$(IFS='|'; echo "\\.(${few[*]})\$")")
  fi
  step "$name: the library"
  configure "$root/cmake" "$work/$name/library" -DCMAKE_INSTALL_PREFIX="$work/$name/prefix" -DCMAKE_INSTALL_LIBDIR=lib \
    -DOXIBLOSC_CARGO_TARGET_DIR="$target" -DOXIBLOSC_CARGO_PROFILE=$profile "$@" &&
    cmake --build "$work/$name/library" >"$work/$name/build.log" 2>&1 || { tail -20 "$work/$name/build.log"; return 1; }
  cmake --install "$work/$name/library" >"$work/$name/install.log" || return 1
  step "$name: the C programs"
  configure "$root/capi-tests" "$work/$name/programs" -DBlosc2_DIR="$work/$name/prefix/lib/cmake/Blosc2" "$@" &&
    cmake --build "$work/$name/programs" -j "$jobs" "${made[@]}" >"$work/$name/programs.log" 2>&1 || { tail -20 "$work/$name/programs.log"; return 1; }
  ctest --test-dir "$work/$name/programs" -L "$labels" "${chosen[@]}" -j "$jobs" --output-on-failure --no-tests=error |
    tee "$work/$name/ctest.log" | grep -E 'tests passed|Failed|\*\*\*'
  return "${PIPESTATUS[0]}"
}

# crate_tests <name> <target> <package...>: the tests of crates, without the reference, which is of another kind.
crate_tests() {
  local name=$1 for_target=$2 kinds=(--lib)
  shift 2
  # The tool's tests run it.
  case " $* " in *' oxiblosc-b2 '*) kinds+=(--bins --test cli) ;; esac
  step "$name: the tests of $*"
  need_target "$for_target" || return 1
  mkdir -p "$work/$name"
  env -u CI -u OXIBLOSC_REFERENCE -u OXIBLOSC_PLUGIN_PYTHON CARGO_TARGET_DIR="$target" \
    cargo test --profile $profile --target "$for_target" "${kinds[@]}" --no-fail-fast ${*/#/-p } >"$work/$name/tests.log" 2>&1
  local outcome=$?
  grep -E '^test result|FAILED|panicked|^error' "$work/$name/tests.log"
  return "$outcome"
}

for_windows() {
  need_packages gcc-mingw-w64-x86-64 g++-mingw-w64-x86-64 wine64 cmake make
  need_target x86_64-pc-windows-gnu || return 1
  cross x86_64-pc-windows-gnu x86_64-w64-mingw32-
  local wine=/usr/lib/wine/wine64
  export WINEPREFIX=$work/windows/wine WINEDEBUG=-all WINEDLLOVERRIDES="mscoree,mshtml=;winemenubuilder.exe,explorer.exe=d"
  export WINEPATH="Z:${work//\//\\}\\windows\\prefix\\bin" CARGO_TARGET_X86_64_PC_WINDOWS_GNU_RUNNER=$wine
  mkdir -p "$work/windows"
  [ -f "$WINEPREFIX/system.reg" ] || "$wine" wineboot -i >"$work/windows/wine.log" 2>&1
  # Wine 8 lacks the library that Rust's runtime has its random numbers from: one with that function.
  cat >"$work/windows/bcryptprimitives.c" <<'C'
#include <windows.h>
BOOLEAN NTAPI SystemFunction036(PVOID buffer, ULONG length);
__declspec(dllexport) BOOL WINAPI ProcessPrng(PBYTE data, SIZE_T len) { return SystemFunction036(data, (ULONG)len); }
C
  x86_64-w64-mingw32-gcc -shared -O2 "$work/windows/bcryptprimitives.c" -ladvapi32 \
    -o "$WINEPREFIX/drive_c/windows/system32/bcryptprimitives.dll" || return 1
  cat >"$work/windows.cmake" <<END_OF_FILE
set(CMAKE_SYSTEM_NAME Windows)
set(CMAKE_SYSTEM_PROCESSOR x86_64)
set(CMAKE_C_COMPILER x86_64-w64-mingw32-gcc)
set(CMAKE_CXX_COMPILER x86_64-w64-mingw32-g++)
set(CMAKE_EXE_LINKER_FLAGS_INIT -static)
set(CMAKE_CROSSCOMPILING_EMULATOR $wine)
END_OF_FILE
  without=()
  programs windows 'shared|static' -DCMAKE_TOOLCHAIN_FILE="$work/windows.cmake" || return 1
  # Frames have the sweep in which processes are killed.
  local crates=(oxiblosc-io)
  [ -n "$quick" ] || crates+=(oxiblosc-{pool,frame,base,filters,codecs,chunk,b2} oxiblosc)
  crate_tests windows x86_64-pc-windows-gnu "${crates[@]}"
}

for_musl() {
  need_packages musl-tools
  local name program unwinding failed=0 count=0 for_target=x86_64-unknown-linux-musl
  need_target $for_target || return 1
  mkdir -p "$work/musl"
  [ -z "$quick" ] || { compiles musl $for_target -p oxiblosc-c && crate_tests musl $for_target oxiblosc-io; return; }
  step "musl: the library"
  CARGO_TARGET_DIR="$target" cargo build --profile checked --lib -p oxiblosc-c --target $for_target >"$work/musl/build.log" 2>&1 ||
    { tail -20 "$work/musl/build.log"; return 1; }
  # What unwinds the stack is no part of the archive. That of a gcc for glibc, which musl-gcc takes, wants glibc; Rust brings one for musl.
  unwinding=$(rustc --print sysroot)/lib/rustlib/$for_target/lib/self-contained/libunwind.a
  step "musl: the C programs, static"
  for program in capi-tests/*.c; do
    name=$(basename "$program" .c)
    case $name in
    # These want a loader, or that the archive hides what is inside, as the installed one does; the last measures glibc's stacks.
    roundtrip | own_codecs | small_stacks) continue ;;
    esac
    count=$((count + 1))
    { musl-gcc -std=gnu11 -O1 -static -Iinclude "$program" "$target/$for_target/checked/libblosc2.a" \
      "$unwinding" -o "$work/musl/$name" &&
      timeout 120 "$work/musl/$name"; } >"$work/musl/$name.log" 2>&1 || { failed=1; echo "failed: $name"; tail -5 "$work/musl/$name.log"; }
  done
  echo "$count programs"
  crate_tests musl $for_target oxiblosc-{io,pool,frame,base,filters,codecs,chunk} oxiblosc && [ "$failed" = 0 ]
}

# compiles <name> <target> <what...>: cargo checks it; nothing is linked.
compiles() {
  local name=$1 for_target=$2
  shift 2
  step "$name: $for_target"
  need_target "$for_target" || return 1
  pretend_compiler "$work/$name/cc"
  CC=$work/$name/cc CXX=$work/$name/cc AR=true CARGO_TARGET_DIR="$target" \
    cargo check "$@" --profile $profile --target "$for_target" >"$work/$name/$for_target.log" 2>&1 ||
    { grep -A8 '^error' "$work/$name/$for_target.log" | head -40; return 1; }
}

for_macos() {
  local for_target
  for for_target in x86_64-apple-darwin aarch64-apple-darwin; do
    [ -n "$quick" ] && [ $for_target = x86_64-apple-darwin ] && continue
    compiles macos $for_target --workspace || return 1
  done
}

# What clang gets of CMake's flags and ours is the C in the library. A cargo that compiles that alone: the Rust is the same, and takes longer.
clang_compiles_c() {
  mkdir -p "$work/clang"
  cat >"$work/clang/cargo" <<END_OF_FILE
#!/bin/sh
[ "\$1" = rustc ] || exec "$(command -v cargo)" "\$@"
exec "$(command -v cargo)" check --profile $profile --locked -p zstd-sys -p lz4-sys -p libdeflate-sys
END_OF_FILE
  chmod +x "$work/clang/cargo"
  step "clang: the C in the library"
  CC=clang CXX=clang++ configure "$root/cmake" "$work/clang/library" -DOXIBLOSC_CARGO="$work/clang/cargo" \
    -DOXIBLOSC_CARGO_TARGET_DIR="$work/clang/target" -DOXIBLOSC_CARGO_PROFILE=$profile -DOXIBLOSC_TOOL=OFF -DOXIBLOSC_BLOSC1=OFF &&
    cmake --build "$work/clang/library" --target cargo_library >"$work/clang/build.log" 2>&1 || { tail -20 "$work/clang/build.log"; return 1; }
}

for_clang() {
  need_packages clang cmake make
  [ -z "$quick" ] || { clang_compiles_c; return; }
  # How much stack a call takes is measured with an optimised library.
  without=(-E small_stacks)
  CC=clang CXX=clang++ programs clang 'shared|static' -DOXIBLOSC_CARGO_TARGET_DIR="$work/clang/cargo"
}

for_aarch64() {
  need_packages gcc-aarch64-linux-gnu g++-aarch64-linux-gnu libc6-dev-arm64-cross qemu-user cmake make
  need_target aarch64-unknown-linux-gnu || return 1
  cat >"$work/aarch64.cmake" <<'END_OF_FILE'
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64;-L;/usr/aarch64-linux-gnu)
END_OF_FILE
  export OXIBLOSC_EMULATOR="qemu-aarch64 -L /usr/aarch64-linux-gnu"
  export CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_RUNNER=$OXIBLOSC_EMULATOR
  cross aarch64-unknown-linux-gnu aarch64-linux-gnu-
  # How much stack a call takes is measured on the machine itself: qemu's threads have other stacks.
  without=(-E small_stacks)
  OXIBLOSC_UNDER_QEMU=1 programs aarch64 'shared|static' -DCMAKE_TOOLCHAIN_FILE="$work/aarch64.cmake" || return 1
  # The tests of the filters are those of NEON against the portable code. Without optimisation they take minutes.
  local crates=(oxiblosc-filters) profile=checked
  [ -n "$quick" ] || crates+=(oxiblosc-{chunk,codecs,base,io,frame})
  crate_tests aarch64 aarch64-unknown-linux-gnu "${crates[@]}"
}

need_cargo
failed=()
[ "${1:-}" != --quick ] || { quick=yes profile=quick work=$work/quick; shift; export CFLAGS=-O1; }
mkdir -p "$work"
[ $# -gt 0 ] || set -- windows musl macos aarch64 clang
for name in "$@"; do
  case $name in
  windows | musl | macos | aarch64 | clang) "for_$name" || failed+=("$name") ;;
  *) die "no toolchain $name" ;;
  esac
done
[ ${#failed[@]} -eq 0 ] || die "failed: ${failed[*]}"
