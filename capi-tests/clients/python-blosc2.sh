#!/bin/bash
# python-blosc2 4.14.1, built from its source distribution against this library as one of the system's: its tests, those it
# marks as heavy too, and its examples. What fails is run again with the reference, which takes the library's place at run
# time: what fails there too does not count.
#
#   OXIBLOSC_MINIEXPR=<folder> OXIBLOSC_SLEEF=<folder> OXIBLOSC_TINYCC=<folder> \
#     capi-tests/clients/python-blosc2.sh [--quick | --suite | --heavy | --examples | <pytest arguments>]
#
# Those folders are what python-blosc2-build.sh wants. On two processors the build takes ten minutes, and the tests take a quarter of an
# hour. --quick runs those of super-chunks, frames and stores (two minutes); --suite all that are not heavy,
# --heavy only those that are, --examples the examples; without an argument all three run. PyTorch is not installed: the
# tests that compare with it are left out unless it is there.
packages=(pytest pytest-xdist pytest-asyncio psutil pandas fsspec pyarrow 'zarr>=3.0.9' h5py hdf5plugin tables numba matplotlib xarray)
source "$(dirname "$0")/python-blosc2-build.sh"
: >"$work/ours.failed"
: >"$work/reference.failed"

# pytest_with <library folder> <log> <pytest arguments...>: a test that hangs, if with the interpreter's lock, ends its process.
pytest_with() {
  (cd "$source_dir" && LD_LIBRARY_PATH=$1 "$python" -m pytest -q -rfE -n "$jobs" --dist loadfile -p no:cacheprovider \
    -o faulthandler_timeout=900 -o faulthandler_exit_on_timeout=true "${@:3}" >"$2" 2>&1)
}

# failures <log>: the tests that failed, by name.
failures() { sed -nE 's/^(FAILED|ERROR) //p' "$1" | sed 's/ - .*//'; }

# run_tests <name> <mark> <pytest arguments...>
run_tests() {
  local log=$work/ours-$1.log again=$work/reference-$1.log failed
  step "The tests of python-blosc2: $1"
  pytest_with "$prefix/lib" "$log" -m "$2" "${@:3}"
  tail -1 "$log"
  grep -qE '[0-9]+ passed' "$log" || { tail -20 "$log"; die "no test passed"; }
  mapfile -t failed < <(failures "$log")
  [ ${#failed[@]} -gt 0 ] || return 0
  echo "with the reference, of these ${#failed[@]}:"
  pytest_with "$reference" "$again" -m "$2" "${failed[@]}"
  tail -1 "$again"
  failures "$log" >>"$work/ours.failed"
  failures "$again" >>"$work/reference.failed"
}

# example_with <library folder> <program>: in the program's folder, as the reader of the documentation runs it.
example_with() {
  (cd "$(dirname "$2")" && LD_LIBRARY_PATH=$1 MPLBACKEND=Agg timeout 300 "$python" "$2" >"$2.log" 2>&1 </dev/null)
}

# run_examples: each program in one fresh copy of the examples. Those that need a network or a package fail with both.
run_examples() {
  step "The examples of python-blosc2"
  local folder=$work/examples program count=0 failed=0
  rm -rf "$folder" "$folder.reference"
  cp -r "$source_dir/examples" "$folder"
  cp -r "$source_dir/examples" "$folder.reference"
  while read -r program; do
    count=$((count + 1))
    example_with "$prefix/lib" "$folder/$program" && continue
    failed=$((failed + 1))
    echo "EXAMPLE $program" >>"$work/ours.failed"
    example_with "$reference" "$folder.reference/$program" || echo "EXAMPLE $program" >>"$work/reference.failed"
  done < <(cd "$folder" && find . -name '*.py' | sort)
  echo "$count examples, $failed fail, $(grep -c '^EXAMPLE' "$work/reference.failed") of them with the reference too"
}

light="not heavy and not network and not tui"
heavy="heavy and not network and not tui"
LD_LIBRARY_PATH=$prefix/lib "$python" -c 'import blosc2; print("python-blosc2", blosc2.__version__, "on", blosc2.blosclib_version)' ||
  die "python-blosc2 cannot be imported"
case ${1:-} in
--quick) run_tests quick "$light" "$source_dir"/tests/test_{schunk*,open,vlmeta,mmap,compress2,*_store}.py ;;
--suite) run_tests suite "$light" tests ;;
--heavy) run_tests heavy "$heavy" tests ;;
--examples) run_examples ;;
'')
  run_tests suite "$light" tests
  run_tests heavy "$heavy" tests
  run_examples
  ;;
*) run_tests given "$light" "$@" ;;
esac
verdict
