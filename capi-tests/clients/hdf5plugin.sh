#!/bin/bash
# hdf5plugin 7.1.0, built from source with this library as one of the system's and without its other filters; its Blosc2
# tests; and b2h5py on top of it. The reference takes the library's place at run time.
#
#   capi-tests/clients/hdf5plugin.sh
source "$(dirname "$0")/common.sh"
need_packages gcc g++ make pkg-config python3 python3-venv libc6-dev
python_with 'setuptools>=77' wheel numpy h5py py-cpuinfo packaging pkgconfig pytest b2h5py
source_of hdf5plugin 7.1.0
if [ ! -e "$work/built" ]; then
  step "Build hdf5plugin with HDF5PLUGIN_SYSTEM_LIBRARIES=blosc2"
  PKG_CONFIG_PATH=$prefix/lib/pkgconfig HDF5PLUGIN_SYSTEM_LIBRARIES=blosc2 \
    HDF5PLUGIN_STRIP=blosc,bshuf,bzip2,fcidecomp,htj2k,lz4,sperr,sz,sz3,zfp,zstd \
    CFLAGS="$(PKG_CONFIG_PATH=$prefix/lib/pkgconfig pkg-config --cflags blosc2)" \
    LDFLAGS="$(PKG_CONFIG_PATH=$prefix/lib/pkgconfig pkg-config --libs-only-L blosc2)" \
    "$work/venv/bin/pip" install --quiet --disable-pip-version-check --no-build-isolation --force-reinstall --no-deps \
    "$source_dir" || die "hdf5plugin does not build"
  touch "$work/built"
fi

cat >"$work/test_b2h5py.py" <<'PYTHON'
"""Slices that b2h5py reads block by block are those that HDF5 reads through the filter."""
import b2h5py
import h5py
import hdf5plugin
import numpy as np
import pytest

data = np.cumsum(np.random.default_rng(3).normal(size=(200, 90, 40)), axis=0).round(3)


@pytest.mark.parametrize("codec", ["blosclz", "lz4", "lz4hc", "zlib", "zstd"])
@pytest.mark.parametrize("filters", [hdf5plugin.Blosc2.SHUFFLE, hdf5plugin.Blosc2.BITSHUFFLE])
def test_slices(tmp_path, codec, filters):
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file.create_dataset("a", data=data, chunks=(64, 45, 40), **hdf5plugin.Blosc2(codec, 5, filters))
    with h5py.File(tmp_path / "a.h5") as file:
        dataset = file["a"]
        for at in [np.s_[:], np.s_[10:150, 3:80, 5], np.s_[77], np.s_[1:200, 44:46, 39:]]:
            assert (dataset[at] == data[at]).all()
            with b2h5py.fast_slicing():
                assert (dataset[at] == data[at]).all()
            assert (b2h5py.B2Dataset(dataset)[at] == data[at]).all()
PYTHON

# run <library folder> <name>
run() {
  step "The Blosc2 tests of hdf5plugin and b2h5py with $2"
  (cd "$work" && LD_LIBRARY_PATH=$1 "$python" -m pytest -q -rfE -p no:cacheprovider --pyargs hdf5plugin.test \
    test_b2h5py.py -k "losc2 or slices" >"$work/$2.log" 2>&1)
  grep -E '^(FAILED|ERROR) ' "$work/$2.log" | sed 's/ - .*//' >"$work/$2.failed"
  tail -1 "$work/$2.log"
  grep -qE '[0-9]+ passed' "$work/$2.log" || { tail -20 "$work/$2.log"; die "no test was run"; }
  LD_LIBRARY_PATH=$1 "$python" - "$1" <<'PYTHON' || die "the library was not used"
import sys, hdf5plugin, h5py, numpy, tempfile, os
with tempfile.TemporaryDirectory() as folder, h5py.File(os.path.join(folder, "a.h5"), "w") as file:
    file.create_dataset("a", data=numpy.arange(10000), **hdf5plugin.Blosc2())
used = {line.split()[-1] for line in open("/proc/self/maps") if "libblosc2.so" in line}
sys.exit(not any(os.path.samefile(os.path.dirname(path), sys.argv[1]) for path in used))
PYTHON
}
run "$(dirname "$OXIBLOSC_REFERENCE")" reference
run "$prefix/lib" ours
verdict
