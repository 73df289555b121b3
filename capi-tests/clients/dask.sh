#!/bin/bash
# Dask on python-blosc2 on this library: worker processes write one array block by block into a locked file, and into a locked directory;
# one of them is killed in the middle, and the scheduler has its tasks run again by the others. The array has to be right. Then how
# the time scales from one worker to four, beside the reference.
#
#   OXIBLOSC_MINIEXPR=<folder> OXIBLOSC_SLEEF=<folder> OXIBLOSC_TINYCC=<folder> capi-tests/clients/dask.sh [MEGABYTES]
#
# The folders are what python-blosc2-build.sh wants. The array has 256 MB, or as many as are given; 2048 take some minutes.
packages=()
source "$(dirname "$0")/python-blosc2-build.sh"
python_with distributed
megabytes=${1:-256}

# run <library folder> <arguments of dask_blocks.py...>: without what Dask says of a worker that is killed.
run() { DASK_LOGGING__DISTRIBUTED=critical LD_LIBRARY_PATH=$1 timeout 1800 "$python" "$(dirname "$0")/dask_blocks.py" "$work/dask" "$megabytes" "${@:2}"; }

step "Four workers, of which one is killed: $megabytes MB"
for storage in file directory; do
  run "$prefix/lib" "$storage" 4 kill || die "dask: FAILED"
done

step "One, two and four workers, ours and the reference"
for storage in file directory; do
  for workers in 1 2 4; do
    printf '%-9s %d workers  ours:      ' "$storage" "$workers"
    run "$prefix/lib" "$storage" "$workers" || die "dask: FAILED"
    printf '%-9s %d workers  reference: ' "$storage" "$workers"
    run "$reference" "$storage" "$workers" || echo "fails"
  done
done
rm -rf "$work/dask"
echo "dask: every array is right"
