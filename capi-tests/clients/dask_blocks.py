"""Writes an array block by block with Dask into one frame, and reads it back reduced.

    dask_blocks.py FOLDER MEGABYTES file|directory WORKERS [kill]

The frame is made in FOLDER. With "kill", a worker process is killed once a quarter of the blocks is written. Ends with an error if a number
of the array is another than it has to be.
"""

import os
import shutil
import signal
import sys
import time

import blosc2
import numpy as np
from distributed import Client, LocalCluster, as_completed

COLUMNS = 1000
# Rows of a block; as many are a chunk of the array, so that no two blocks share one.
ROWS = 500


def block(nth):
    """The numbers of a block."""
    rows = np.arange(nth * ROWS, (nth + 1) * ROWS, dtype="f8")[:, None]
    return np.round(rows + np.sin(np.arange(COLUMNS) / 50), 3)


def opened(path, mode):
    """The array, with a lock between processes."""
    return blosc2.open(path, mode=mode, locking=True)


def write(path, nth):
    """Writes a block, whether it was written before or not. Gives its number."""
    opened(path, "a")[nth * ROWS : (nth + 1) * ROWS] = block(nth)
    return nth


def reduce(path, nth):
    """The sum of a block as it lies in the frame, and whether it is right."""
    there = opened(path, "r")[nth * ROWS : (nth + 1) * ROWS]
    return float(there.sum()), bool(np.array_equal(there, block(nth)))


def main(folder, megabytes, storage, workers, kill):
    blosc2.set_nthreads(1)
    count = max(8, megabytes * 1_000_000 // (ROWS * COLUMNS * 8))
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    path = os.path.join(folder, "array.b2nd")
    empty = blosc2.zeros(
        (count * ROWS, COLUMNS),
        dtype="f8",
        chunks=(ROWS, COLUMNS),
        urlpath=path,
        contiguous=storage == "file",
        mode="w",
    )
    del empty
    cluster = LocalCluster(
        n_workers=workers, threads_per_worker=1, processes=True, host="127.0.0.1", dashboard_address=None
    )
    with cluster, Client(cluster) as client:
        client.wait_for_workers(workers)
        client.run(blosc2.set_nthreads, 1)
        start = time.perf_counter()
        writing = client.map(write, [path] * count, range(count), pure=False, retries=3)
        for done, _ in enumerate(as_completed(writing)):
            if kill and done == count // 4:
                victim = next(iter(client.run(os.getpid).values()))
                os.kill(victim, signal.SIGKILL)
                kill = False
        client.gather(writing)
        written = time.perf_counter() - start
        start = time.perf_counter()
        sums = client.gather(client.map(reduce, [path] * count, range(count), pure=False, retries=3))
        read = time.perf_counter() - start
    wrong = [nth for nth, (_, right) in enumerate(sums) if not right]
    total = sum(each for each, _ in sums)
    expected = sum(float(block(nth).sum()) for nth in range(count))
    if wrong or total != expected:
        sys.exit(f"wrong: blocks {wrong}, sum {total} for {expected}")
    speed = count * ROWS * COLUMNS * 8 / 1e6
    print(f"{count} blocks, written in {written:.2f} s ({speed / written:.0f} MB/s), read in {read:.2f} s", flush=True)


if __name__ == "__main__":
    folder, megabytes, storage, workers = sys.argv[1:5]
    main(folder, int(megabytes), storage, int(workers), "kill" in sys.argv[5:])
