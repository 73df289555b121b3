#!/bin/bash
# PyTables 3.11.1, built from source on this library's headers: its tests with this library and with the reference in its place, and
# HDF5 files that it and PyTables' own wheel exchange. The wheel cannot be preloaded: it was compiled for libblosc2.so.7, whose
# structures differ.
#
#   capi-tests/clients/pytables.sh [--quick]
#
# All tests take about ten minutes for each library; --quick leaves them out.
source "$(dirname "$0")/common.sh"
need_packages gcc python3 python3-venv libc6-dev libhdf5-dev
python_with setuptools wheel 'numpy>=2' 'Cython>=3.1' numexpr py-cpuinfo packaging typing-extensions
# The reference renamed BLOSC2_MAX_DIM with 3.0, which PyTables does not know yet.
export PYTABLES_NO_BLOSC2_WHEEL=1 BLOSC2_DIR=$prefix CFLAGS="-O1 -DBLOSC2_MAX_DIM=B2ND_MAX_DIM"
source_of tables 3.11.1
headers=$(cat "$prefix"/include/*.h "$prefix"/include/blosc2/*.h | sha256sum)
if [ "$(cat "$work/built" 2>/dev/null)" != "$headers" ]; then
  step "Build PyTables on this library's headers"
  "$work/venv/bin/pip" install --quiet --disable-pip-version-check --no-build-isolation --force-reinstall --no-deps "$source_dir" ||
    die "PyTables does not build"
  echo "$headers" >"$work/built"
fi
wheel=$work/wheel/bin/python
[ -x "$wheel" ] || python3 -m venv "$work/wheel" || die "python3 -m venv does not work"
"$work/wheel/bin/pip" install --quiet --disable-pip-version-check --only-binary :all: tables==3.11.1 || die "pip could not install the wheel"

# PyTables makes chunks of Blosc2 as large as the processor's last cache, whose size it reads from this file if it is there, and each append
# compresses its chunk anew. With the 272 MB of some servers a test takes up to a quarter of a minute, and all take hours.
export HOME=$work/home
mkdir -p "$HOME"
echo '{"l2_cache_size": 1048576, "l3_cache_size": 8388608}' >"$HOME/.pytables-cpuinfo.json"

# with <library> <command...>: the command with the library where the loader looks first.
with() {
  local folder
  folder=$(dirname "$1")
  shift
  LD_LIBRARY_PATH=$folder "$@"
}

cat >"$work/files.py" <<'PYTHON'
"""write FILE | read FILE: tables and arrays with every codec of Blosc2, and slices of them. Chunks of arrays have several blocks."""
import sys
import numpy as np
import tables

data = np.cumsum(np.random.default_rng(7).normal(size=(900, 700)), axis=0).round(3)
rows = np.zeros(20000, dtype=[("id", "<i4"), ("x", "<f8"), ("name", "S12")])
rows["id"] = np.arange(20000)
rows["x"] = np.sqrt(rows["id"])
rows["name"] = rows["id"].astype("S12")
codecs = ["blosclz", "lz4", "lz4hc", "zlib", "zstd"]
what, path = sys.argv[1:]
with tables.open_file(path, "w" if what == "write" else "r") as file:
    for codec in codecs:
        for shuffle in ("shuffle", "bitshuffle"):
            filters = tables.Filters(complevel=5, complib="blosc2:" + codec, **{shuffle: True})
            name = f"{codec}_{shuffle}"
            if what == "write":
                file.create_carray("/", "a_" + name, obj=data, filters=filters, chunkshape=(500, 400))
                file.create_table("/", "t_" + name, obj=rows, filters=filters)
                continue
            array, table = file.get_node("/a_" + name), file.get_node("/t_" + name)
            assert (array.read() == data).all() and (array[:] == data).all(), name
            assert (array[123:856:7, 11:699] == data[123:856:7, 11:699]).all() and (array[450:550, 399:401] == data[450:550, 399:401]).all(), name
            assert (table[:] == rows).all() and (table[1000:19000:3] == rows[1000:19000:3]).all(), name
            assert (table.read_where("(id > 500) & (x < 30)") == rows[501:900]).all(), name
print(what, "fine:", len(codecs) * 2, "arrays and tables")
PYTHON

step "HDF5 files by one, read by the other"
failures=0
rm -f "$work"/*.h5
with "$ours" "$python" "$work/files.py" write "$work/ours.h5" && with "$ours" "$python" "$work/files.py" read "$work/ours.h5" &&
  "$wheel" "$work/files.py" read "$work/ours.h5" && "$wheel" "$work/files.py" write "$work/wheel.h5" &&
  with "$ours" "$python" "$work/files.py" read "$work/wheel.h5" || failures=1

# called <library>: which libraries the extensions of PyTables call to compress and to decompress, with that one: in the words of the
# dynamic loader.
called() {
  rm -f "$work"/bindings.*
  LD_DEBUG=bindings LD_DEBUG_OUTPUT=$work/bindings with "$1" "$python" "$work/files.py" read "$work/wheel.h5" >/dev/null || return 1
  cat "$work"/bindings.* | grep -E 'binding file [^ ]*/tables/[^/ ]+\.so ' |
    sed -nE "s/.* to ([^ ]+) .*symbol .blosc2_(de)?compress_ctx'.*/\1/p" | xargs -r -n 1 realpath | sort -u
}
step "Whose functions PyTables calls"
for library in "$ours" "$OXIBLOSC_REFERENCE"; do
  calls=$(called "$library")
  [ -n "$calls" ] && [ "$(dirname "$calls")" = "$(realpath "$(dirname "$library")")" ] || die "PyTables calls $calls, not $library"
done

# run <library> <name>: the tests; failures go into a file.
run() {
  step "The tests of PyTables with $2"
  (cd "$work" && with "$1" "$python" -m tables.tests.test_all >"$work/$2.log" 2>&1)
  # Some tests carry no name but their class's.
  grep -E '^(FAIL|ERROR):' "$work/$2.log" | sort | uniq -c >"$work/$2.failed"
  grep -E '^Ran |^FAILED|^OK' "$work/$2.log" || { tail -20 "$work/$2.log"; die "no test was run"; }
}
if [ "${1:-}" != --quick ]; then
  run "$OXIBLOSC_REFERENCE" reference
  run "$ours" ours
  verdict
fi
[ "$failures" = 0 ] || die "files do not cross"
