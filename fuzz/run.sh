#!/bin/bash
# Runs the fuzz targets one after the other under AddressSanitizer, the C code of the codecs too.
#
#   fuzz/run.sh [-s SECONDS] [TARGET...]     660 seconds each, all targets
#
# Needs clang and cargo-fuzz. Stops at the first finding, which is then in fuzz/artifacts/TARGET: fix it, and move the
# input to fuzz/regressions/TARGET, from where tests/hostile replays it.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
seconds=660
if [ "${1:-}" = -s ]; then
  seconds=$2
  shift 2
fi
# The fuzzer needs options of the compiler that are not stable; the library does not.
export RUSTC_BOOTSTRAP=1
cargo run --quiet --release --example seed
export CC=clang CFLAGS="-fsanitize=address,fuzzer-no-link -g"
[ $# -gt 0 ] || set -- decompress getitem vlblocks compress patch streams registered header b2nd frames files blosc1
for target in "$@"; do
  case $target in
    decompress | getitem) longest=80000 ;;
    *) longest=20000 ;;
  esac
  echo "=== $target, $seconds seconds"
  cargo fuzz run "$target" -- -max_total_time="$seconds" -max_len=$longest -rss_limit_mb=2048 -timeout=10 \
    -print_final_stats=1 2>&1 | grep --line-buffered -vE '^#[0-9]+	(NEW|REDUCE)'
done
