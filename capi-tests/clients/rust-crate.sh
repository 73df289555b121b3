#!/bin/bash
# The Rust crate blosc2 0.2.3, whose bindings (blosc2-rs-sys 0.1.6) carry the C library's source: here they take the headers
# of this library instead and link to what is installed. Its own tests, with this library and with the reference in its place.
#
#   capi-tests/clients/rust-crate.sh
source "$(dirname "$0")/common.sh"
need_cargo
need_packages gcc clang libclang-dev libc6-dev
crate=blosc2-0.2.3 bindings=blosc2-rs-sys-0.1.6

# Cargo fetches both, and says where they are.
if [ ! -d "$work/$crate" ]; then
  mkdir -p "$work/fetch/src"
  echo 'fn main() {}' >"$work/fetch/src/main.rs"
  printf '[package]\nname = "fetch"\nversion = "0.0.0"\nedition = "2024"\n[dependencies]\nblosc2 = "=0.2.3"\nblosc2-rs-sys = "=0.1.6"\n[workspace]\n' \
    >"$work/fetch/Cargo.toml"
  (cd "$work/fetch" && cargo fetch --quiet) || die "cargo could not fetch the crate"
  for name in $crate $bindings; do
    found=$(find "${CARGO_HOME:-$HOME/.cargo}/registry/src" -maxdepth 2 -name "$name" -print -quit)
    [ -n "$found" ] || die "no $name in cargo's registry"
    cp -r "$found" "$work/$name"
  done
fi

step "Point the bindings at $prefix"
rm -rf "$work/$bindings/third-party" "$work/$bindings/c/blosc2"
cp -r "$prefix/include/." "$work/$bindings/c/"
python3 - "$work/$bindings/build.rs" <<'PYTHON' || die "build.rs is not as expected"
import re, sys
path = sys.argv[1]
text = open(path).read()
if "BLOSC2_LIB_DIR" not in text:
    head, tail = text.split("fn build_c_lib() -> String {", 1)
    rest = tail[tail.index("fn build_c_lib_extension"):]
    text = head.replace("static={lib_name}", "dylib={lib_name}") + '''fn build_c_lib() -> String {
    println!("cargo::rustc-link-search=native={}", std::env::var("BLOSC2_LIB_DIR").unwrap());
    "blosc2".to_string()
}

''' + rest
    open(path, "w").write(text)
PYTHON
grep -q 'blosc2-rs-sys = { path' "$work/$crate/Cargo.toml" ||
  printf '\n[patch.crates-io]\nblosc2-rs-sys = { path = "../%s" }\n\n[workspace]\n' "$bindings" >>"$work/$crate/Cargo.toml"

step "Compile the tests"
export BLOSC2_LIB_DIR=$prefix/lib CARGO_TARGET_DIR=$work/target
(cd "$work/$crate" && cargo test --no-run --features ndarray,half,num-complex >"$work/build.log" 2>&1) ||
  { tail -40 "$work/build.log"; die "the crate does not compile"; }

# run <library folder> <name>
run() {
  step "The tests of the crate with $2"
  (cd "$work/$crate" && LD_LIBRARY_PATH=$1 cargo test --no-fail-fast --features ndarray,half,num-complex >"$work/$2.log" 2>&1)
  grep -E '^test .* \.\.\. ok' "$work/$2.log" | sort >"$work/$2.passed"
  # A program that dies says nothing of the tests that it had.
  grep -E "^test .* \.\.\. FAILED|signal:|process didn't exit successfully|could not execute" "$work/$2.log" | sort >"$work/$2.failed"
  grep '^test result' "$work/$2.log" || { tail -20 "$work/$2.log"; die "no test was run"; }
}
run "$(dirname "$OXIBLOSC_REFERENCE")" reference
run "$prefix/lib" ours
# What passes with the reference has to be there, and to pass.
comm -23 "$work/reference.passed" "$work/ours.passed" | sed 's/$/ (not with ours)/' >>"$work/ours.failed"
verdict
