"""How fast whole programs are: python-blosc2 and PyTables on this library and on the reference, the same build of the client.

    capi-tests/clients/speed.py OURS REFERENCE [ROUNDS [WORD...]]

OURS and REFERENCE are folders with a libblosc2.so.9. The Python that runs this has h5py, and PyTables, python-blosc2 and hdf5plugin
built to take the library from the system, as capi-tests/clients/pytables.sh, python-blosc2.sh and hdf5plugin.sh build them. Each library has a
process of its own; the two take turns, row by row. Printed are the milliseconds of both (the least of all rounds), and how many times as fast this library is. Words keep the rows
whose name holds all of them.
"""

import math
import os
import subprocess
import sys
import tempfile
import time

ROWS = {}


def row(name):
    """Makes a function a row. It prepares, and gives what is measured."""
    return lambda function: ROWS.setdefault(name, function)


def numbers():
    """16 MB of float64 of the kind that compresses by two."""
    import numpy as np

    rng = np.random.default_rng(1)
    steps = rng.integers(-50, 51, 2_000_000)
    return (np.cumsum(steps) / 100).reshape(2000, 1000)


def params(codec):
    import blosc2

    return {"codec": getattr(blosc2.Codec, codec), "clevel": 5}


def arrays(function):
    """Rows for LZ4 and for what python-blosc2 takes by default, Zstd."""
    for codec in ("LZ4", "ZSTD"):
        row(f"{function.__doc__}, {codec}")(lambda codec=codec: function(codec))


@arrays
def asarray(codec):
    """asarray in memory"""
    import blosc2

    a, cparams = numbers(), params(codec)
    return lambda: blosc2.asarray(a, cparams=cparams)


@arrays
def asarray_file(codec):
    """asarray to a file"""
    import blosc2

    a, cparams = numbers(), params(codec)
    return lambda: blosc2.asarray(a, cparams=cparams, urlpath="a.b2nd", mode="w")


def made(codec, **place):
    import blosc2

    return blosc2.asarray(numbers(), cparams=params(codec), **place)


@arrays
def whole(codec):
    """read whole"""
    b = made(codec)
    return lambda: b[:]


@arrays
def whole_file(codec):
    """opened and read whole from a file"""
    import blosc2

    made(codec, urlpath="b.b2nd", mode="w")
    return lambda: blosc2.open("b.b2nd", mode="r")[:]


@arrays
def rows(codec):
    """100 rows read"""
    b = made(codec)
    return lambda: [b[i] for i in range(0, 2000, 20)]


@arrays
def columns(codec):
    """20 columns read"""
    b = made(codec)
    return lambda: [b[:, j] for j in range(0, 1000, 50)]


@arrays
def points(codec):
    """200 points read"""
    b = made(codec)
    return lambda: [b[7 * i % 2000, 11 * i % 1000] for i in range(200)]


@arrays
def rows_written(codec):
    """20 rows written"""
    b, a = made(codec), numbers()

    def write():
        for i in range(0, 2000, 100):
            b[i] = a[-i]

    return write


@arrays
def copied(codec):
    """copied to the other codec"""
    b, cparams = made(codec), params("ZSTD" if codec == "LZ4" else "LZ4")
    return lambda: b.copy(cparams=cparams)


@arrays
def cframe(codec):
    """to a frame and back"""
    import blosc2

    b = made(codec)
    return lambda: blosc2.ndarray_from_cframe(b.to_cframe())[0]


@arrays
def rechunked(codec):
    """copied into other chunks"""
    b, cparams = made(codec), params(codec)
    return lambda: b.copy(chunks=(500, 500), blocks=(50, 500), cparams=cparams)


@arrays
def sliced(codec):
    """slice made an array"""
    b = made(codec)
    return lambda: b.slice((slice(100, 1900), slice(0, 900)))


@arrays
def joined(codec):
    """concat of two"""
    import blosc2

    b = made(codec)
    return lambda: blosc2.concat([b, b], axis=1)


@arrays
def stacked(codec):
    """stack of two"""
    import blosc2

    b = made(codec)
    return lambda: blosc2.stack([b, b])


@arrays
def grown(codec):
    """resized and written, 20 times"""
    import blosc2

    a = numbers()

    def grow():
        b = blosc2.zeros((0, 1000), dtype=a.dtype, chunks=(100, 1000), cparams=params(codec))
        for i in range(0, 2000, 100):
            b.resize((i + 100, 1000))
            b[i : i + 100] = a[i : i + 100]
        return b

    return grow


@arrays
def masked(codec):
    """items where a mask is true"""
    b, mask = made(codec), numbers() > 0
    return lambda: b[mask]


@arrays
def mean(codec):
    """mean along an axis"""
    b = made(codec)
    return lambda: b.mean(axis=0)


def schunk(codec):
    """A super-chunk of 80 chunks."""
    import blosc2

    return blosc2.SChunk(chunksize=200_000, data=numbers(), cparams={"typesize": 8, **params(codec)})


@arrays
def super_chunk(codec):
    """super-chunk made, and its chunks read"""
    return lambda: [chunk[0] for chunk in schunk(codec).iterchunks("f8")]


@arrays
def slices(codec):
    """200 slices of a super-chunk"""
    s = schunk(codec)
    return lambda: [s[i : i + 500] for i in range(0, 1_900_000, 9500)]


@arrays
def inserted(codec):
    """20 chunks inserted and deleted"""
    s, a = schunk(codec), numbers()[:25]

    def change():
        for i in range(20):
            s.insert_data(i, a, False)
        for _ in range(20):
            s.delete_chunk(0)

    return change


@arrays
def metalayers(codec):
    """100 variable-length metalayers"""
    import blosc2

    def change():
        s = blosc2.SChunk(cparams=params(codec))
        for i in range(100):
            s.vlmeta[f"k{i}"] = list(range(50))
        return [s.vlmeta[f"k{i}"] for i in range(100)]

    return change


@arrays
def mapped(codec):
    """opened through a memory map and read whole"""
    import blosc2

    made(codec, urlpath="m.b2nd", mode="w")
    return lambda: blosc2.open("m.b2nd", mode="r", mmap_mode="r")[:]


@arrays
def strings(codec):
    """strings written and read"""
    import blosc2
    import numpy as np

    a = np.array([f"name{i % 977}" for i in range(300_000)])
    return lambda: blosc2.asarray(a, cparams=params(codec))[:]


@arrays
def stored(codec):
    """20 arrays in a TreeStore, written and read"""
    import blosc2

    a = numbers()[:50]

    def store():
        with blosc2.TreeStore("t.b2z", mode="w") as tree:
            for i in range(20):
                tree[f"/a{i}"] = a
        with blosc2.TreeStore("t.b2z", mode="r") as tree:
            return [tree[f"/a{i}"][:] for i in range(20)]

    return store


def appends(**place):
    import blosc2

    a = numbers()

    def append():
        s = blosc2.SChunk(chunksize=8000, cparams={"typesize": 8, **params("LZ4")}, mode="w", **place)
        for i in range(1000):
            s.append_data(a[i])
        return s

    return append


row("1,000 appends, frame in memory")(lambda: appends(contiguous=True))
row("1,000 appends, file")(lambda: appends(contiguous=True, urlpath="s.b2frame"))
row("1,000 appends, directory")(lambda: appends(contiguous=False, urlpath="s.b2d"))


@row("compress2 and decompress2 of 8 KB, 200 times")
def compress2():
    import blosc2

    a = numbers()[:8, :1000]
    return lambda: [blosc2.decompress2(blosc2.compress2(a, typesize=8)) for _ in range(200)]


@row("pack_tensor and unpack_tensor")
def tensor():
    import blosc2

    a = numbers()
    return lambda: blosc2.unpack_tensor(blosc2.pack_tensor(a))


@row("zeros, then a sum")
def zeros():
    import blosc2

    return lambda: blosc2.zeros((2000, 1000)).sum()


@row("lazy expression")
def lazy():
    b = made("LZ4")
    return lambda: (b + 1).compute()


def pytables(write):
    """Writes a file and reads it. Chunks have a shape of their own: PyTables makes them as large as the processor's last cache, and each append
    compresses its chunk anew."""
    import tables

    filters = tables.Filters(complevel=5, complib="blosc2:lz4", shuffle=True)

    def run():
        with tables.open_file("t.h5", "w") as file:
            write(file, filters)
        with tables.open_file("t.h5") as file:
            return [node.read() for node in file.walk_nodes("/", "Leaf")]

    return run


@row("PyTables: CArray written and read")
def carray():
    a = numbers()
    return pytables(lambda file, filters: file.create_carray("/", "a", obj=a, filters=filters))


@row("PyTables: EArray, rows appended, and read")
def earray():
    import tables

    a = numbers()

    def write(file, filters):
        shapes = {"shape": (0, 1000), "chunkshape": (100, 1000)}
        e = file.create_earray("/", "e", tables.Float64Atom(), filters=filters, **shapes)
        for i in range(0, 2000, 20):
            e.append(a[i : i + 20])

    return pytables(write)


@row("PyTables: Table written and read")
def table():
    import numpy as np

    a = numbers()
    records = np.rec.fromarrays([a.ravel(), np.arange(a.size)], names="x,n")
    return pytables(
        lambda file, filters: file.create_table("/", "t", obj=records, filters=filters, chunkshape=65536)
    )


def takes_the_systems_library(plugin):
    """Whether hdf5plugin's filter names the library that it needs, rather than containing it."""
    with open(plugin, "rb") as file:
        return b"libblosc2.so" in file.read()


def hdf5plugin_rows(codec):
    @row(f"hdf5plugin: dataset written and read, {codec.upper()}")
    def dataset():
        import h5py
        import hdf5plugin

        plugin = os.path.join(hdf5plugin.PLUGIN_PATH, "libh5blosc2.so")
        assert takes_the_systems_library(plugin), f"{plugin} contains Blosc2"
        a, filters = numbers(), hdf5plugin.Blosc2(codec, 5, hdf5plugin.Blosc2.SHUFFLE)

        def run():
            with h5py.File("p.h5", "w") as file:
                file.create_dataset("a", data=a, chunks=(100, 1000), **filters)
            with h5py.File("p.h5") as file:
                return file["a"][:]

        return run


for codec in ("lz4", "zstd"):
    hdf5plugin_rows(codec)


def work():
    """Runs the rows that are asked for on standard input; says how long each took."""
    ready = {}
    for line in sys.stdin:
        name = line.rstrip("\n")
        if name not in ready:
            ready.clear()
            ready[name] = ROWS[name]()
        started = time.perf_counter()
        result = ready[name]()
        elapsed = time.perf_counter() - started
        del result
        print(elapsed, flush=True)


def start(library, folder):
    path = os.path.realpath(os.path.join(library, "libblosc2.so.9"))
    env = {**os.environ, "LD_LIBRARY_PATH": library, "LD_PRELOAD": path}
    command = [sys.executable, os.path.abspath(__file__), "--work"]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    return subprocess.Popen(command, env=env, cwd=folder, text=True, **pipes)


def ask(worker, name):
    worker.stdin.write(name + "\n")
    worker.stdin.flush()
    answer = worker.stdout.readline()
    if not answer:
        raise SystemExit(f"{name}: a process has ended")
    return float(answer)


def main(ours, reference, rounds, words):
    names = [name for name in ROWS if all(word in name for word in words)]
    ratios = []
    with tempfile.TemporaryDirectory() as a, tempfile.TemporaryDirectory() as b:
        workers = start(ours, a), start(reference, b)
        for name in names:
            least = [math.inf, math.inf]
            for turn in range(rounds + 1):
                for at in (0, 1) if turn % 2 else (1, 0):
                    elapsed = ask(workers[at], name)
                    # The first time is not counted: modules are loaded then.
                    if turn:
                        least[at] = min(least[at], elapsed)
            ratios.append(least[1] / least[0])
            print(f"{ratios[-1]:6.2f}  {1000 * least[0]:9.2f} {1000 * least[1]:9.2f}  {name}", flush=True)
        for worker in workers:
            worker.stdin.close()
            worker.wait()
    mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
    print(f"{mean:6.2f}  geometric mean of {len(ratios)} rows, {sum(ratio < 1 for ratio in ratios)} under 1")


if sys.argv[1:] == ["--work"]:
    work()
elif len(sys.argv) > 2:
    rounds, *words = sys.argv[3:] or ["5"]
    main(sys.argv[1], sys.argv[2], int(rounds), words)
else:
    raise SystemExit(__doc__)
