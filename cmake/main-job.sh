#!/bin/bash
# The main job: build the library alone, install it, and compress a real file with it.
#
#   cmake/main-job.sh [FILE]
#
# Does all the set-up that a Debian 12 with a Rust toolchain and gcc needs, builds and installs into target/prefix,
# compiles a plain C program (capi-tests/roundtrip.c) found through pkg-config, and lets it compress, decompress and
# verify FILE with every codec and filter; without FILE it makes one. Then the same program, compiled and linked against
# another libblosc2, runs on ours through LD_PRELOAD.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/setup.sh"

file=${1:-}
[ -z "$file" ] || [ -r "$file" ] || die "cannot read $file"
mkdir -p "$target"

step "What is needed: cmake, pkg-config, python3 with venv"
need_cargo
need_packages cmake make pkg-config python3 python3-venv libc6-dev

step "Build with cargo, install into ${prefix#"$root"/}"
build_and_install OFF

step "Compile capi-tests/roundtrip.c with what pkg-config says"
export PKG_CONFIG_PATH=$prefix/lib/pkgconfig
# The flags are several words, so they are not quoted.
echo "cc roundtrip.c $(pkg-config --cflags --libs blosc2 | sed "s|$prefix|\$prefix|g")"
cc -O2 "$root/capi-tests/roundtrip.c" -o "$target/roundtrip" $(pkg-config --cflags --libs blosc2) -lm -ldl

export LD_LIBRARY_PATH=$prefix/lib
if [ -z "$file" ]; then
  file=$target/roundtrip.data
  step "Make a file of 64 MB: series of float64, counters, log text"
  "$target/roundtrip" --make "$file" 64
fi

step "Compress, decompress and verify $file"
"$target/roundtrip" --threads "$jobs" "$file"

step "The same program, linked to another libblosc2: the reference"
unset LD_LIBRARY_PATH
need_reference
export PKG_CONFIG_PATH=$reference_dir/lib/pkgconfig
cc -O2 "$root/capi-tests/roundtrip.c" -o "$target/roundtrip-reference" $(pkg-config --cflags --libs blosc2) -lm -ldl \
  -Wl,-rpath,"$reference_dir/lib"
"$target/roundtrip-reference" --threads "$jobs" --quick "$file"

step "That very program, running on ours through LD_PRELOAD"
LD_PRELOAD=$prefix/lib/libblosc2.so.9 "$target/roundtrip-reference" --threads "$jobs" --quick "$file" |
  tee "$target/preload.log"
grep -q "^libblosc2 .* from $prefix/lib/" "$target/preload.log" || die "the preloaded library was not used"

printf '\nAll files came back as they were. [%02d:%02d]\n' $((SECONDS / 60)) $((SECONDS % 60))
