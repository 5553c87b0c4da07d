"""The calls of crates/core/workload/examples/column-calls.rs, made with numpy: same files, same words, same output.

    columns.py write DIR MIB | reserved DIR MIB | read DIR | resident DIR | random DIR READS BYTES
    columns.py sort DIR strings | sort DIR codes

Input is made before the clock starts. `write` hands the array's memory to write(2); `reserved` is ndarray.tofile, which
reserves the space by fallocate first. `sort strings` orders the symbols as texts of five bytes; `sort codes` sees
their four letters as one number, which numpy sorts faster. Both are stable and write both columns anew.
"""

import os
import sys
import time

import numpy

HEADER_BYTES = 16


def write(directory, mib):
    return new_column(directory, mib, lambda file, elements: file.write(memoryview(elements)))


def reserved(directory, mib):
    return new_column(directory, mib, lambda file, elements: elements.tofile(file))


def new_column(directory, mib, fill):
    generator = numpy.random.default_rng(7)
    elements = generator.integers(0, 2**63, int(mib) << 17, dtype=numpy.int64)
    header = numpy.array([0x0720FE, len(elements)], dtype="<i8")
    path = os.path.join(directory, "column")
    if os.path.exists(path):
        os.unlink(path)
    start = time.perf_counter()
    with open(path, "wb", buffering=0) as file:
        file.write(header.tobytes())
        fill(file, elements)
    return time.perf_counter() - start


def read(directory):
    path = os.path.join(directory, "column")
    start = time.perf_counter()
    numpy.fromfile(path, dtype="<i8")
    return time.perf_counter() - start


def resident(directory):
    path = os.path.join(directory, "column")
    start = time.perf_counter()
    mapped = numpy.memmap(path, dtype="<i8", mode="r", offset=HEADER_BYTES)
    int(mapped[::512].sum())
    return time.perf_counter() - start


def random(directory, reads, block_bytes):
    length = int(block_bytes) // 8
    mapped = numpy.memmap(os.path.join(directory, "column"), dtype="<i8", mode="r", offset=HEADER_BYTES)
    elements = numpy.asarray(mapped)
    generator = numpy.random.default_rng(7)
    starts = generator.permutation((len(elements) - length) // 512)[: int(reads)] * 512
    block = numpy.arange(length)
    total = 0
    start = time.perf_counter()
    for first in starts:
        total ^= int(elements[first + block][0])
    return time.perf_counter() - start


def sort(directory, how):
    sym, floatcol = (os.path.join(directory, name) for name in ("sym", "floatcol"))
    start = time.perf_counter()
    symbols = numpy.fromfile(sym, dtype="S5", offset=8)
    keys = symbols
    if how == "codes":
        letters = symbols.view(numpy.uint8).reshape(-1, 5)[:, :4]
        keys = numpy.ascontiguousarray(letters).view(">u4").ravel().astype(numpy.uint32)
    grade = numpy.argsort(keys, kind="stable")
    replace(sym, 8, symbols.take(grade))
    floats = numpy.memmap(floatcol, dtype="<f8", mode="r", offset=HEADER_BYTES)
    replace(floatcol, HEADER_BYTES, numpy.asarray(floats).take(grade))
    return time.perf_counter() - start


def replace(path, header_bytes, column):
    with open(path, "rb") as file:
        header = file.read(header_bytes)
    with open(path + "#", "wb") as file:
        file.write(header)
        file.flush()
        column.tofile(file)
    os.rename(path + "#", path)


CALLS = {"write": write, "reserved": reserved, "read": read, "resident": resident, "random": random, "sort": sort}
print("%.9f" % CALLS[sys.argv[1]](*sys.argv[2:]))
