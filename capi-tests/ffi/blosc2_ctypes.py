"""Python without a binding: libblosc2 through ctypes.

    python3 blosc2_ctypes.py [path of libblosc2.so.9]

Compresses numbers with a context, keeps them in a frame in a file, and reads them back. Ends with an error if anything
differs.
"""

import array
import ctypes as c
import os
import sys
import tempfile

lib = c.CDLL(sys.argv[1] if len(sys.argv) > 1 else "libblosc2.so.9")

LZ4, SHUFFLE, OVERHEAD = 1, 1, 32


class CParams(c.Structure):
    """blosc2_cparams."""

    _fields_ = [
        ("compcode", c.c_uint8),
        ("compcode_meta", c.c_uint8),
        ("clevel", c.c_uint8),
        ("use_dict", c.c_int),
        ("typesize", c.c_int32),
        ("nthreads", c.c_int16),
        ("blocksize", c.c_int32),
        ("splitmode", c.c_int32),
        ("schunk", c.c_void_p),
        ("filters", c.c_uint8 * 6),
        ("filters_meta", c.c_uint8 * 6),
        ("prefilter", c.c_void_p),
        ("preparams", c.c_void_p),
        ("tuner_params", c.c_void_p),
        ("tuner_id", c.c_int),
        ("instr_codec", c.c_bool),
        ("codec_params", c.c_void_p),
        ("filter_params", c.c_void_p * 6),
    ]


class DParams(c.Structure):
    """blosc2_dparams."""

    _fields_ = [
        ("nthreads", c.c_int16),
        ("schunk", c.c_void_p),
        ("postfilter", c.c_void_p),
        ("postparams", c.c_void_p),
        ("typesize", c.c_int32),
    ]


class Storage(c.Structure):
    """blosc2_storage."""

    _fields_ = [
        ("contiguous", c.c_bool),
        ("urlpath", c.c_char_p),
        ("cparams", c.POINTER(CParams)),
        ("dparams", c.POINTER(DParams)),
        ("io", c.c_void_p),
    ]


def function(name, result, *arguments):
    found = getattr(lib, name)
    found.restype, found.argtypes = result, arguments
    return found


version = function("blosc2_get_version_string", c.c_char_p)
get_cparams = function("blosc2_get_blosc2_cparams_defaults", CParams)
create_cctx = function("blosc2_create_cctx", c.c_void_p, CParams)
create_dctx = function("blosc2_create_dctx", c.c_void_p, DParams)
free_ctx = function("blosc2_free_ctx", None, c.c_void_p)
compress = function("blosc2_compress_ctx", c.c_int, c.c_void_p, c.c_void_p, c.c_int32, c.c_void_p, c.c_int32)
decompress = function("blosc2_decompress_ctx", c.c_int, c.c_void_p, c.c_void_p, c.c_int32, c.c_void_p, c.c_int32)
schunk_new = function("blosc2_schunk_new", c.c_void_p, c.POINTER(Storage))
schunk_open = function("blosc2_schunk_open", c.c_void_p, c.c_char_p)
schunk_free = function("blosc2_schunk_free", c.c_int, c.c_void_p)
append = function("blosc2_schunk_append_buffer", c.c_int64, c.c_void_p, c.c_char_p, c.c_int32)
read_chunk = function("blosc2_schunk_decompress_chunk", c.c_int, c.c_void_p, c.c_int64, c.c_void_p, c.c_int32)

data = array.array("i", range(100_000)).tobytes()
cparams = get_cparams()
assert (cparams.typesize, cparams.clevel, cparams.filters[5]) == (8, 5, SHUFFLE), "the struct is laid out otherwise"
cparams.compcode, cparams.typesize, cparams.nthreads = LZ4, 4, 2

cctx, dctx = create_cctx(cparams), create_dctx(DParams(nthreads=2, typesize=4))
chunk = c.create_string_buffer(len(data) + OVERHEAD)
size = compress(cctx, data, len(data), chunk, len(chunk))
back = c.create_string_buffer(len(data))
assert 0 < size < len(data) // 10, size
assert decompress(dctx, chunk, size, back, len(data)) == len(data) and back.raw == data
free_ctx(cctx), free_ctx(dctx)

with tempfile.TemporaryDirectory() as folder:
    path = os.path.join(folder, "numbers.b2frame").encode()
    schunk = schunk_new(Storage(contiguous=True, urlpath=path, cparams=c.pointer(cparams)))
    assert schunk and [append(schunk, data, len(data)) for _ in range(3)] == [1, 2, 3]
    assert schunk_free(schunk) == 0
    schunk = schunk_open(path)
    for nchunk in range(3):
        back = c.create_string_buffer(len(data))
        assert read_chunk(schunk, nchunk, back, len(data)) == len(data) and back.raw == data
    assert read_chunk(schunk, 3, back, len(data)) < 0
    schunk_free(schunk)
print("ctypes: libblosc2", version().decode(), "-", len(data), "bytes to", size)
