#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What builds of the shim cost a product that comes after Python's work, without a GPU:
bench_shim_python.py [--seconds S] [--work N] VENDOR_BIN SHIM...

Between two products of a fake cuBLAS, with their setters, Python does N times some 15 us of its own,
so the hooks find the caches as a Python host leaves them. The builds are met in runs of products, by
chance (tests/gpu/by_call.py): +-20 ns a product in 100 s where 35 us lie between two. A build that is
given twice differs from itself by as much or more, with where its memory lies: give copies of each.
VENDOR_BIN: tests/shim/vendor/bin of a build. Printed is JSON, ns per product.
"""

import argparse
import ctypes
import json
import os
import pathlib
import re
import statistics
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "gpu"))
import by_call
import fake_host


class Work:
    """What Python does between products: each of them before another one of a step's."""

    def __init__(self):
        self.rows = [{f"k{n}": [n / 7, n / 3] for n in range(i)} | {"name": "x" * i} for i in range(60)]
        self.text = " ".join(format(n * 0x9E3779B97F4A7C15 % 2**64, "x") for n in range(400))
        self.pattern = re.compile(r"([0-9a-f]{3})a+([0-9a-f])")

    def all(self):
        return (
            lambda: json.dumps(self.rows[:8]),
            lambda: self.pattern.findall(self.text[:1500]),
            lambda: sum(len(row) for row in self.rows),
            lambda: sorted((str(row) for row in self.rows[:6]), key=len),
            lambda: {name: value for row in self.rows[:9] for name, value in row.items()},
            lambda: f"{self.rows[3]} {[n * 2 for n in range(100)]!r}",
        )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--work", type=int, default=2)
    parser.add_argument("vendor", type=pathlib.Path, metavar="VENDOR_BIN")
    parser.add_argument("shims", nargs="+", type=pathlib.Path, metavar="SHIM")
    given = parser.parse_args()
    for needed in (given.vendor / "libfake_cublas.so", *given.shims):
        if not needed.is_file():
            parser.error(f"{needed}: no such file (build tilewise with its tests)")
    works = Work().all()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        os.environ["TILEWISE_OUT"] = str(folder / "traces")
        product = ctypes.CDLL(str(fake_host.build(folder, given.vendor.resolve()))).product

        def step() -> None:
            for number, work in enumerate(works):
                for _ in range(given.work):
                    work()
                product(number)

        def decode() -> int:
            steps, end = 0, time.monotonic() + given.seconds
            while time.monotonic() < end:
                step()
                steps += 1
            return steps

        step()
        calls = by_call.real_calls(folder)
        try:
            groups, per_step = by_call.measure(calls, given.shims, step, decode)
        except ValueError as error:
            parser.error(str(error))
        found = by_call.costs(groups, per_step, len(given.shims) + 2)
    names = ["none", "none again", *map(str, given.shims)]
    rows = [{"shim": names[variant]} | ns._asdict() for (variant, _), ns in found.items()]
    between = statistics.median(group.ns for group in groups)
    print(json.dumps({"products": len(groups), "ns between two": between, "ns": rows}, indent=1))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
