#!/bin/bash
# All tests: style, the crate's own, and the C programs against what is installed.
#
#   capi-tests/run-all.sh
#
# Does all the set-up that a Debian 12 with a Rust toolchain and gcc needs. Every step is run even when one before it
# failed; the exit status is zero when all passed. OXIBLOSC_REFERENCE may name another libblosc2.so.9 to compare with.
set -uo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../cmake/setup.sh"
cd "$root" || exit 1
mkdir -p "$target"

# check <what> <command...>: one step, whose outcome the summary shows.
check() {
  local what=$1 started=$SECONDS outcome=passed
  shift
  step "$what"
  "$@" || { outcome=FAILED; failed=1; }
  results+=("$(printf '%-8s %4d s  %s' "$outcome" $((SECONDS - started)) "$what")")
}

rust_components() {
  cargo fmt --version && cargo clippy --version && return
  command -v rustup >/dev/null || die "cargo fmt or cargo clippy is missing, and there is no rustup to get it with"
  rustup component add rustfmt clippy
}

c_programs() {
  compiled=no
  configure "$root/capi-tests" "$target/capi-tests" -DCMAKE_PREFIX_PATH="$prefix" -DOXIBLOSC_MEMCHECK=ON \
    -DOXIBLOSC_BUILD_DIR="$target/cmake" &&
    cmake --build "$target/capi-tests" -j "$jobs" && compiled=yes
}

# run_labelled <labels>
run_labelled() {
  [ "$compiled" = yes ] || { echo "not run: the programs did not compile"; return 1; }
  ctest --test-dir "$target/capi-tests" -L "$1" -j "$jobs" --output-on-failure --no-tests=error
}

# models <cargo's arguments...>: tests under the model checker, of which there have to be some.
models() {
  local log=$target/models.log
  RUSTFLAGS="--cfg loom -D warnings" CARGO_TARGET_DIR=$target/models timeout 600 cargo test --profile checked "$@" >"$log" 2>&1
  local outcome=$?
  cat "$log"
  [ $outcome = 0 ] && grep -q '^test result: ok\. [1-9]' "$log"
}
# The locks of three crates, in every interleaving. One scene has too many for it to end.
lock_models() {
  models -p oxiblosc-base --test state_lock_model &&
    models -p oxiblosc-io --lib model:: &&
    models -p oxiblosc-pool --lib model:: -- --skip one_caller_two_workers
}

# cargo_test <cargo's arguments...>
cargo_test() { cargo test --workspace --profile checked --no-fail-fast "$@"; }

# All tests of all crates. Cargo runs one program after the other, and many of them wait more than they compute: so there are two cargos,
# and what the second one says is shown behind the first.
cargo_tests() {
  local beside outcome=0
  cargo_test --no-run || return 1
  { cargo_test --test '[e-z]*' && cargo_test --doc; } >"$target/tests.log" 2>&1 &
  beside=$!
  cargo_test --lib --bins --test '[a-d]*' || outcome=1
  wait $beside || outcome=1
  cat "$target/tests.log"
  return $outcome
}

# The examples in Rust, which cargo compiled with the tests. Those in C are among the C programs.
examples() {
  local source name
  for source in crates/oxiblosc/examples/*.rs; do
    name=$(basename "$source" .rs)
    "$target/checked/examples/$name" || { echo "failed: $name"; return 1; }
  done
}

# The fuzz targets compile; `tests/hostile` runs what most of them do.
fuzz_targets() {
  pretend_compiler "$target/fuzz/cc"
  CC=$target/fuzz/cc CXX=$target/fuzz/cc AR=true CUSTOM_LIBFUZZER_PATH=$target/fuzz/none.a CARGO_TARGET_DIR=$target/fuzz \
    cargo check --quiet --locked --bins --examples --manifest-path fuzz/Cargo.toml
}

step "What is needed: compilers, cmake, pkg-config, libclang, valgrind, python3 with venv, luajit, the library of Blosc 1 to compare with"
need_cargo
need_packages gcc g++ make cmake pkg-config clang libclang-dev valgrind python3 python3-venv luajit libc6-dev \
  libblosc1 libblosc-dev
rust_components || die "no cargo fmt or cargo clippy"
# bindgen, which reads both sets of headers, loads libclang; where there are several the newest is taken.
if [ -z "${LIBCLANG_PATH:-}" ]; then
  libclang=$(find /usr/lib/llvm-*/lib /usr/lib/*-linux-gnu -maxdepth 1 -name 'libclang*.so*' 2>/dev/null | sort -V | tail -1)
  [ -z "$libclang" ] || export LIBCLANG_PATH=${libclang%/*}
fi
echo "LIBCLANG_PATH=${LIBCLANG_PATH:-(not set)}"

step "The reference library to compare with"
need_reference

# Linking, installing and tests that wait leave much of two processors idle. So there are three rows of steps, and what the others say is
# shown behind the first.
crates() {
  step "Plugins to load"
  need_plugins
  check "cargo fmt" cargo fmt --all --check
  check "cargo clippy" cargo clippy --workspace --profile checked --all-targets --quiet -- -D warnings
  check "cargo test" cargo_tests
  check "Examples in Rust" examples
  check "Documentation of the crates" env RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps --profile checked --quiet
  check "Crash and power with checksums" env BLOSC_CHECKSUMS=1 cargo test --workspace --profile checked --test faults -- crash::sweep power::sweep
}

library() {
  check "Build and install into ${prefix#"$root"/}" build_and_install
  check "Compile the C programs against what is installed" c_programs
  check "C programs: shared library, static library, under valgrind" run_labelled 'shared|static|memcheck'
  check "Programs in other languages" run_labelled ffi
  check "What is installed: names, links, symbols, pkg-config" run_labelled package
  check "What is installed, as packagers look at it: licences, hardening, symbols file, wheel" packaging/check-installed.sh
  # The others take minutes: see the scripts.
  check "A client: PyTables, HDF5 files by one library and read by the other" capi-tests/clients/pytables.sh --quick
}

systems() {
  # Its cross compilers are those of an x86-64.
  [ "$(uname -m)" != x86_64 ] ||
    check "Other systems and processors: Windows under wine, musl, macOS, AArch64 under qemu" capi-tests/toolchains.sh --quick
  check "Models of the locks" lock_models
  check "The fuzz targets compile" fuzz_targets
}

# row <steps>: those steps, in a process of their own, and the summary in a file.
row() (
  results=() failed=0
  "$1"
  printf '%s\n' "${results[@]}" >"$target/$1.summary"
  exit $failed
)

rm -f "$target"/{crates,library,systems}.summary
row library >"$target/library.log" 2>&1 &
library=$!
row systems >"$target/systems.log" 2>&1 &
systems=$!
# What runs beside does not get an interruption from the keyboard.
trap 'kill 0' INT
failed=0
row crates || failed=1
wait $library || failed=1
wait $systems || failed=1
cat "$target"/{library,systems}.log

printf '\n=== Summary  [%02d:%02d]\n' $((SECONDS / 60)) $((SECONDS % 60))
cat "$target"/{crates,library,systems}.summary || failed=1
exit $failed
