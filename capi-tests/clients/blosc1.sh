#!/bin/bash
# The programs of Debian that use Blosc 1, as their packages are, on this library's libblosc.so.1: their own tests with Debian's library
# and with this one, and files that one library wrote and the other reads.
#
#   capi-tests/clients/blosc1.sh [--quick] [numcodecs] [python-blosc] [pytables] [openvdb] [gdal] [hdf5]
#
# Without a name all of them run. --quick leaves out the suites of numcodecs and PyTables (one minute and ten for each library).
# OXIBLOSC_BLOSC1 names another libblosc.so.1 to test.
source "$(dirname "$0")/common.sh"
ours=${OXIBLOSC_BLOSC1:-$prefix/lib/libblosc.so.1}
theirs=/usr/lib/$(gcc -print-multiarch)/libblosc.so.1
python=/usr/bin/python3
quick=no
clients=()
for word in "$@"; do
  if [ "$word" = --quick ]; then quick=yes; else clients+=("$word"); fi
done
[ ${#clients[@]} -gt 0 ] || clients=(numcodecs python-blosc pytables openvdb gdal hdf5)
[ -f "$ours" ] || die "there is no $ours"

# The loader looks here first for libblosc.so.1.
mkdir -p "$work/ours" "$work/theirs"
ln -sf "$(realpath "$ours")" "$work/ours/libblosc.so.1"
ln -sf "$(realpath "$theirs" 2>/dev/null)" "$work/theirs/libblosc.so.1"
export HDF5_PLUGIN_PATH=/usr/lib/$(gcc -print-multiarch)/hdf5/serial/plugins

# with <ours | theirs> <command...>: the command, which finds this libblosc.so.1.
with() {
  local library=$1
  shift
  LD_LIBRARY_PATH=$work/$library "$@"
}

# loads <object>: whether the object would get the library under test.
loads() {
  with ours ldd "$1" | grep "libblosc.so.1 => $work/ours/" >/dev/null || die "$1 does not take $work/ours/libblosc.so.1"
}

# crossing <function>: the function, called with `write` or `read`, a library and a file, writes with each library and reads with both.
crossing() {
  local writer reader
  for writer in ours theirs; do
    rm -rf "$work/$1.$writer"
    "$1" write "$writer" "$work/$1.$writer" || { echo "$1: $writer does not write"; return 1; }
    for reader in ours theirs; do
      "$1" read "$reader" "$work/$1.$writer" || { echo "$1: $reader does not read what $writer wrote"; return 1; }
    done
  done
  echo "$1: what each writes both read"
}

# suite <name> <pattern of failures> <command...>: the client's own tests with each library.
suite() {
  local name=$1 pattern=$2 library
  shift 2
  for library in theirs ours; do
    (cd "$work" && with "$library" "$@") >"$work/$name.$library.log" 2>&1
    grep -E "$pattern" "$work/$name.$library.log" | sort | uniq -c >"$work/$name.$library.failed"
    printf '%s, %s: ' "$name" "$library"
    grep -E '^Ran |passed|^OK|^FAILED' "$work/$name.$library.log" | tail -2 | tr '\n' ' ' | grep . || { tail -20 "$work/$name.$library.log"; return 1; }
    echo
  done
  ! lost "$work/$name.theirs.failed" "$work/$name.ours.failed"
}

numcodecs() {
  need_packages libblosc1 python3-numcodecs python3-numpy python3-pytest python3-msgpack
  loads "$("$python" -c 'import numcodecs.blosc as module; print(module.__file__)')"
  numcodecs_files() {
    with "$2" "$python" - "$1" "$3" <<'PYTHON'
import pickle
import sys

import numcodecs
import numpy as np

what, path = sys.argv[1:]
data = np.cumsum(np.random.default_rng(5).normal(size=300_000)).round(2)
cases = [(codec, shuffle, block) for codec in numcodecs.blosc.list_compressors() for shuffle in (0, 1, 2)
         for block in (0, 5000)]
if what == "write":
    made = {(codec, shuffle, block): numcodecs.Blosc(cname=codec, clevel=5, shuffle=shuffle, blocksize=block).encode(data)
            for codec, shuffle, block in cases}
    with open(path, "wb") as file:
        pickle.dump(made, file)
else:
    with open(path, "rb") as file:
        made = pickle.load(file)
    assert {"blosclz", "lz4", "lz4hc", "zlib", "zstd"} <= {codec for codec, _, _ in made}
    for (codec, shuffle, block), chunk in made.items():
        assert numcodecs.Blosc().decode(chunk) == data.tobytes(), (codec, shuffle, block)
PYTHON
  }
  crossing numcodecs_files || return
  [ $quick = yes ] || suite numcodecs '^(FAILED|ERROR)' "$python" -m pytest -q -p no:cacheprovider --pyargs numcodecs
}

python-blosc() {
  need_packages libblosc1 python3-blosc python3-numpy
  loads "$("$python" -c 'import blosc.blosc_extension as module; print(module.__file__)')"
  python_blosc_files() {
    with "$2" "$python" - "$1" "$3" <<'PYTHON'
import pickle
import sys

import blosc
import numpy as np

what, path = sys.argv[1:]
data = np.arange(200_000) ** 2 % 70_001
if what == "write":
    with open(path, "wb") as file:
        pickle.dump([blosc.pack_array(data, clevel=level, cname=codec) for codec in blosc.compressor_list() for level in (1, 5, 9)], file)
else:
    with open(path, "rb") as file:
        chunks = pickle.load(file)
    assert len(chunks) >= 15
    assert all((blosc.unpack_array(chunk) == data).all() for chunk in chunks)
PYTHON
  }
  crossing python_blosc_files || return
  suite python-blosc '^(FAIL|ERROR):' "$python" -c 'import blosc; blosc.test()'
}

pytables() {
  need_packages libblosc1 python3-tables python3-numpy
  loads "$("$python" -c 'import tables.hdf5extension as module; print(module.__file__)')"
  pytables_files() {
    with "$2" "$python" - "$1" "$3" <<'PYTHON'
import sys

import numpy as np
import tables

what, path = sys.argv[1:]
data = np.cumsum(np.random.default_rng(7).normal(size=(700, 130)), axis=0).round(3)
rows = np.zeros(20_000, dtype=[("id", "<i4"), ("x", "<f8"), ("name", "S12")])
rows["id"] = np.arange(20_000)
rows["x"] = np.sqrt(rows["id"])
rows["name"] = rows["id"].astype("S12")
count = 0
with tables.open_file(path, "w" if what == "write" else "r") as file:
    for codec in ("blosclz", "lz4", "lz4hc", "zlib", "zstd", "snappy"):
        if codec not in tables.blosc_compressor_list():
            continue
        count += 1
        for shuffle in ("shuffle", "bitshuffle"):
            name = f"{codec}_{shuffle}"
            filters = tables.Filters(complevel=5, complib="blosc:" + codec, **{shuffle: True})
            if what == "write":
                file.create_carray("/", "a_" + name, obj=data, filters=filters, chunkshape=(100, 60))
                file.create_table("/", "t_" + name, obj=rows, filters=filters)
                continue
            array, table = file.get_node("/a_" + name), file.get_node("/t_" + name)
            assert (array[:] == data).all() and (array[123:456:7, 11:99] == data[123:456:7, 11:99]).all(), name
            assert (table[:] == rows).all() and (table.read_where("(id > 500) & (x < 30)") == rows[501:900]).all(), name
assert count >= 5
PYTHON
  }
  crossing pytables_files || return
  [ $quick = yes ] || suite pytables '^(FAIL|ERROR):' "$python" -m tables.tests.test_all
}

openvdb() {
  need_packages libblosc1 g++ libopenvdb-dev libtbb-dev libboost-dev libboost-iostreams-dev libimath-dev
  cat >"$work/vdb.cpp" <<'CPLUSPLUS'
// write FILE | read FILE: two grids of a level set and of noise in OpenVDB's own Blosc compression.
#include <openvdb/openvdb.h>
#include <openvdb/tools/LevelSetSphere.h>
#include <cstring>
#include <iostream>

static openvdb::FloatGrid::Ptr sphere() {
  auto grid = openvdb::tools::createLevelSetSphere<openvdb::FloatGrid>(40.0f, openvdb::Vec3f(1, 2, 3), 0.5f);
  grid->setName("sphere");
  return grid;
}

static openvdb::Int32Grid::Ptr numbers() {
  auto grid = openvdb::Int32Grid::create(0);
  auto accessor = grid->getAccessor();
  unsigned state = 1;
  for (int i = 0; i < 100000; i++) {
    state = state * 1664525u + 1013904223u;
    accessor.setValue(openvdb::Coord(state >> 25, (state >> 18) & 127, (state >> 11) & 127), i);
  }
  grid->setName("numbers");
  return grid;
}

template <typename Grid> static bool same(const Grid &one, const Grid &other) {
  if (one.activeVoxelCount() != other.activeVoxelCount() || one.activeVoxelCount() == 0) return false;
  auto accessor = other.getConstAccessor();
  for (auto voxel = one.cbeginValueOn(); voxel; ++voxel)
    if (voxel.isVoxelValue() && accessor.getValue(voxel.getCoord()) != *voxel) return false;
  return true;
}

int main(int argc, char **argv) {
  if (argc != 3) return 2;
  openvdb::initialize();
  openvdb::io::File file(argv[2]);
  if (strcmp(argv[1], "write") == 0) {
    file.setCompression(openvdb::io::COMPRESS_BLOSC | openvdb::io::COMPRESS_ACTIVE_MASK);
    file.write(openvdb::GridPtrVec{sphere(), numbers()});
    return 0;
  }
  file.open();
  if (!(file.compression() & openvdb::io::COMPRESS_BLOSC)) return 3;
  bool right = same(*sphere(), *openvdb::gridPtrCast<openvdb::FloatGrid>(file.readGrid("sphere"))) &&
               same(*numbers(), *openvdb::gridPtrCast<openvdb::Int32Grid>(file.readGrid("numbers")));
  return right ? 0 : 1;
}
CPLUSPLUS
  [ "$work/vdb" -nt "$work/vdb.cpp" ] || g++ -std=c++17 -O1 "$work/vdb.cpp" -o "$work/vdb" -lopenvdb -ltbb -lImath || return
  loads "$work/vdb"
  openvdb_files() { with "$2" "$work/vdb" "$1" "$3"; }
  crossing openvdb_files
}

gdal() {
  need_packages libblosc1 gdal-bin python3-numpy
  loads "$(command -v gdal_translate)"
  "$python" - "$work/raster" <<'PYTHON'
import sys

import numpy as np

rows, columns = np.mgrid[0:700, 0:900]
(np.hypot(rows - 300, columns - 400) * 37).astype("<i2").tofile(sys.argv[1])
with open(sys.argv[1] + ".hdr", "w") as header:
    header.write("ENVI\nsamples = 900\nlines = 700\nbands = 1\ndata type = 2\ninterleave = bsq\nbyte order = 0\n")
PYTHON
  local codec
  for codec in blosclz lz4 lz4hc zlib zstd; do
    gdal_files() {
      if [ "$1" = write ]; then
        with "$2" gdal_translate -q -of Zarr -co COMPRESS=BLOSC -co BLOSC_CNAME=$codec -co BLOSC_CLEVEL=5 -co BLOSC_SHUFFLE=BYTE \
          -co BLOCKSIZE=256,256 "$work/raster" "$3" && grep -rq "\"$codec\"" "$3"
      else
        rm -f "$work/back"*
        with "$2" gdal_translate -q -of ENVI "ZARR:\"$3\"" "$work/back" && cmp "$work/raster" "$work/back"
      fi
    }
    crossing gdal_files || return
  done
}

hdf5() {
  need_packages libblosc1 hdf5-filter-plugin-blosc-serial hdf5-tools python3-tables python3-numpy
  loads "$HDF5_PLUGIN_PATH/libH5Zblosc.so"
  "$python" - "$work/plain.h5" <<'PYTHON'
import sys

import numpy as np
import tables

with tables.open_file(sys.argv[1], "w") as file:
    for kind in ("i2", "i4", "f8"):
        file.create_carray("/", kind, obj=(np.hypot(*np.mgrid[0:400, 0:500]) // 8 * 41).astype(kind), chunkshape=(100, 125))
PYTHON
  # Filter 32001 takes four values that it sets itself, then level, shuffle and codec. A chunk that does not get smaller is an error of
  # the filter, so the data compress well.
  local codec shuffle
  for codec in 0 1 2 4 5; do
    for shuffle in 1 2; do
      hdf5_files() {
        if [ "$1" = write ]; then
          with "$2" h5repack -f UD=32001,0,7,0,0,0,0,5,$shuffle,$codec "$work/plain.h5" "$3" && h5dump -pH "$3" | grep 32001 >/dev/null
        else
          with "$2" h5diff "$work/plain.h5" "$3"
        fi
      }
      crossing hdf5_files || return
    done
  done
}

failures=0
for one in "${clients[@]}"; do
  step "$one"
  "$one" || { echo "$one: FAILED"; failures=1; }
done
[ $failures = 0 ] && echo "blosc1: nothing fails with ours that passes with Debian's library"
exit $failures
