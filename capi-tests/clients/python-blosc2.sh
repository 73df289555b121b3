#!/bin/bash
# python-blosc2 3.12.2, built from its source distribution against this library as one of the system's, and its tests. The
# reference takes the library's place at run time.
#
#   capi-tests/clients/python-blosc2.sh [--quick | <pytest arguments>]
#
# All tests take about half an hour for each library on two processors; --quick takes a minute: the tests of super-chunks
# and frames. The tests compare with PyTorch, which is large; without it (--quick) those that do are left out.
source "$(dirname "$0")/common.sh"
need_packages gcc g++ make pkg-config python3 python3-venv libc6-dev
python_with scikit-build-core cython 'numpy>=2.1' cmake ninja pytest psutil pandas
source_of blosc2 3.12.2
if ! "$work/venv/bin/pip" show --quiet blosc2 2>/dev/null; then
  step "Build python-blosc2 with USE_SYSTEM_BLOSC2=1"
  PKG_CONFIG_PATH=$prefix/lib/pkgconfig USE_SYSTEM_BLOSC2=1 "$work/venv/bin/pip" install --quiet \
    --disable-pip-version-check --no-build-isolation "$source_dir" || die "python-blosc2 does not build"
fi
tests=(tests)
if [ "${1:-}" = --quick ]; then
  shift
  tests=("$source_dir"/tests/test_{schunk*,open,vlmeta,mmap,compress2}.py)
else
  "$python" -c 'import torch' 2>/dev/null || python_with torch
fi

# run <library folder> <name>: the tests; failures go into a file. python-blosc2 sets one field of a prefilter's parameters and
# takes the others as malloc gives them (blosc2_ext.pyx, _set_prefilter): here it gives zeros.
run() {
  step "The tests of python-blosc2 with $2"
  (cd "$source_dir" && export GLIBC_TUNABLES=glibc.malloc.tcache_count=0 MALLOC_PERTURB_=255 &&
    LD_LIBRARY_PATH=$1 "$python" -m pytest "${tests[@]}" -m "not network and not heavy" -q -rfE \
    -p no:cacheprovider "${extra[@]}" >"$work/$2.log" 2>&1)
  grep -E '^(FAILED|ERROR) ' "$work/$2.log" | sed 's/ - .*//' >"$work/$2.failed"
  tail -1 "$work/$2.log"
  grep -qE '[0-9]+ passed' "$work/$2.log" || { tail -20 "$work/$2.log"; die "no test was run"; }
}
extra=("$@")
LD_LIBRARY_PATH=$prefix/lib "$python" -c 'import blosc2; print("python-blosc2", blosc2.__version__, "on", blosc2.blosclib_version)'
run "$(dirname "$OXIBLOSC_REFERENCE")" reference
run "$prefix/lib" ours
verdict
