#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""CuPy: matrix products of every dtype that it hands to cuBLAS. The last line of stdout is JSON."""

import argparse
import json
import time
from collections.abc import Callable, Iterator

import cupy

SHAPES = ((256, 256, 256), (16, 1024, 512), (99, 201, 303))
DTYPES = ("float64", "float32", "float16", "complex64", "complex128")


def random(*shape: int, dtype: str) -> cupy.ndarray:
    return (cupy.random.random(shape) - 0.5).astype(dtype)


def operations() -> Iterator[tuple[str, Callable[[], object], int]]:
    for dtype in DTYPES:
        for repeat, (m, k, n) in enumerate(SHAPES, 1):
            a, b = random(m, k, dtype=dtype), random(k, n, dtype=dtype)
            yield f"matmul {dtype} {m}x{k}x{n}", lambda a=a, b=b: a @ b, repeat
        c, d = random(128, 64, dtype=dtype), random(96, 64, dtype=dtype)
        yield f"dot {dtype} NT", lambda a=c, b=d: cupy.dot(a, b.T), 2
        yield f"dot {dtype} TN", lambda a=c: cupy.dot(a.T, a), 2
        batch = random(5, 48, 32, dtype=dtype)
        yield f"batched {dtype}", lambda a=batch: cupy.matmul(a, a.swapaxes(1, 2)), 3
        vector = random(64, dtype=dtype)
        yield f"vector {dtype}", lambda a=c, x=vector: a @ x, 2
        yield f"tensordot {dtype}", lambda a=c, b=d: cupy.tensordot(a, b, axes=([1], [1])), 1


def main() -> int:
    argparse.ArgumentParser(description=__doc__).parse_args()
    cupy.random.seed(1)
    start, done = time.monotonic(), []
    for name, call, repeat in operations():
        for _ in range(repeat):
            call()
        cupy.cuda.Device().synchronize()
        done.append({"op": name, "repeat": repeat})
    report = {"workload": "cupy_matmul", "cupy": cupy.__version__, "ops": done}
    print(json.dumps(report | {"wall_s": time.monotonic() - start}))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
