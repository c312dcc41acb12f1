#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What builds of the shim cost an eager decoder, call by call: by_call.py [--seconds S] SHIM...

One process has all of them, and doors (by_call.c) where PyTorch calls cuBLAS and cuDNN: for a few
products at a time, its calls go to the real functions or to one of the shims' hooks, by chance. So
all are met by the same decoder on the same machine within milliseconds, and differences of some 40 ns
a product show in a minute; whole steps with and without the hooks (cost.py, which judges) need ten
times as long. What each finds in the caches is a little colder than where it is alone.

Printed is JSON: ns that a product with its setters takes longer than without any shim, and a product
before which cuDNN executed a plan, with their intervals, per shim and for steps that are alike.
"""

import argparse
import ctypes
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from typing import NamedTuple

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE / "workloads")]
import intervals
import switch

# By the number of their door.
FUNCTIONS = (
    "cublasSetStream_v2",
    "cudnnBackendExecute",
    "cublasSetMathMode",
    "cublasGemmEx",
    "cudnnSetStream",
    "cudnnBackendCreateDescriptor",
    "cudnnBackendFinalize",
    "cudnnBackendDestroyDescriptor",
)
VARIANTS, GROUPS_MAX = 16, 4_000_000
KEY_BYTES = 128  # of a shim's key
RUN = 9  # groups in a row of one variant
COLD = 2  # of them, what found another variant's lines in the caches
CHUNK_STEPS = 40
DECODER = ("--mode", "eager", "--batch", "16", "--steps", "400", "--pin")


class Group(NamedTuple):
    """From one cublasSetStream to the next."""

    ns: float
    variant: int
    executions: int


class _Record(ctypes.Structure):
    _fields_ = (("ticks", ctypes.c_uint64), ("variant", ctypes.c_uint32), ("executions", ctypes.c_uint32))


def _middle(values: Sequence[float]) -> float:
    """Mean without the fastest 5 and the slowest 25 per cent, which are something else's."""
    ordered = sorted(values)
    kept = ordered[len(ordered) // 20 : len(ordered) * 3 // 4]
    return statistics.fmean(kept or ordered)


def _chunk(groups: Sequence[Group], start: int, per_step: int) -> dict[tuple[int, bool], float]:
    """Of some steps: what groups of a variant took above the median at their place in the step. The
    last place of a step holds what follows it."""
    above: dict[tuple[int, bool], list[float]] = {}
    for place in range(per_step - 1):
        numbers = range(start + place, start + CHUNK_STEPS * per_step, per_step)
        usual = statistics.median(groups[n].ns for n in numbers)
        for n in numbers:
            if n % RUN >= COLD:
                key = groups[n].variant, groups[n].executions > 0
                above.setdefault(key, []).append(groups[n].ns - usual)
    return {key: _middle(values) for key, values in above.items()}


def costs(groups: Sequence[Group], per_step: int, variants: int) -> dict[tuple[int, bool], intervals.Interval]:
    """ns above variant 0, of groups (variant, with an execution of cuDNN?)."""
    length = CHUNK_STEPS * per_step
    chunks = [_chunk(groups, at, per_step) for at in range(0, len(groups) - length + 1, length)]
    found = {}
    for key in [(v, executed) for v in range(1, variants) for executed in (False, True)]:
        base = 0, key[1]
        pairs = [(c[base], c[key]) for c in chunks if base in c and key in c]
        if pairs:
            found[key] = intervals.median_difference(pairs)
    return found


class Doors:
    """Stands where loaded objects call the real functions."""

    def __init__(self, library: pathlib.Path):
        self.library = ctypes.CDLL(str(library))
        self.library.by_call_ticks.restype = ctypes.c_uint64
        self.library.by_call_stop.restype = ctypes.c_uint64
        self.library.by_call_groups.restype = ctypes.POINTER(_Record)
        self._target = ((ctypes.c_size_t * VARIANTS) * len(FUNCTIONS)).in_dll(self.library, "by_call_target")
        self._variant = ctypes.c_uint64.in_dll(self.library, "by_call_variant")
        self.real: dict[str, int] = {}
        objects = switch.loaded_objects()
        defined = [(path, maps, dict(switch.defined(path))) for path, maps in objects.items()]
        real = {name: [m[0].first + names[name] for _, m, names in defined if name in names] for name in FUNCTIONS}
        for path, maps in objects.items():
            for name, at in switch.slots(path):
                if name in FUNCTIONS:
                    self._take(name, maps, maps[0].first + at, real[name])
        if FUNCTIONS[0] not in self.real:
            raise ValueError("nothing that is loaded calls cuBLAS")

    def _take(self, name: str, maps: list[switch.Mapping], at: int, real: list[int]) -> None:
        mapping = switch.readable(maps, at)
        cell = ctypes.c_size_t.from_address(at)
        if not mapping or cell.value not in real:
            return
        switch.make_writable(mapping, at)
        self.real[name] = cell.value
        self.lead(0, None)
        cell.value = _address(self.library, f"by_call_door_{FUNCTIONS.index(name)}")

    def lead(self, variant: int, shim: ctypes.CDLL | None) -> None:
        """To the hooks of a shim, and to the real functions that it does not hook."""
        for number, name in enumerate(FUNCTIONS):
            hook = _address(shim, name) if shim else None
            self._target[number][variant] = hook or self.real.get(name, 0)

    def choose(self, variant: int) -> None:
        self._variant.value = variant

    def groups(self, count: int, ns_per_tick: float) -> list[Group]:
        kept = self.library.by_call_groups()
        raw = [(kept[i].ticks, kept[i].variant, kept[i].executions) for i in range(count)]
        following = raw[1:]
        return [
            Group((after[0] - one[0]) * ns_per_tick, *one[1:])
            for one, after in zip(raw, following, strict=False)
        ]


def _address(library: ctypes.CDLL, name: str) -> int | None:
    function = getattr(library, name, None)
    return ctypes.cast(function, ctypes.c_void_p).value if function else None


def build_doors(folder: pathlib.Path) -> pathlib.Path:
    library = folder / "by_call.so"
    command = [os.environ.get("CC", "cc"), "-O2", "-shared", "-fPIC", "-Wl,-Bsymbolic"]
    subprocess.run([*command, str(HERE / "by_call.c"), "-o", str(library)], check=True)
    return library


def known_plan(shim: pathlib.Path, plan: int) -> int:
    """Tell a loaded shim of a plan of cuDNN, as if it had been there when that was made: else its
    executions would go a longer way than a program's. The number that it gave the plan."""
    path = os.path.realpath(shim)
    put, get = switch.places_of(path, ("cudnn_plans_put", "cudnn_plans_get"))
    base = switch.loaded_objects()[path][0].first
    key = ctypes.create_string_buffer(KEY_BYTES)
    ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_char_p)(base + put)(plan, key)
    return ctypes.CFUNCTYPE(ctypes.c_uint64, ctypes.c_void_p, ctypes.c_char_p)(base + get)(plan, key)


def measure(doors: Doors, shims: Sequence[pathlib.Path], step, decode) -> tuple[list[Group], int]:
    """Groups, and how many a step has. A shim finds its own functions only while it is the last that
    was loaded: so each begins to record before the next one comes."""
    doors.lead(1, None)
    for number, shim in enumerate(shims, start=2):
        doors.lead(number, ctypes.CDLL(str(shim), mode=os.RTLD_NOW | os.RTLD_LOCAL))
        doors.choose(number)
        step()
        time.sleep(0.2)
        plan = ctypes.c_size_t.in_dll(doors.library, "by_call_plan").value
        if plan and not known_plan(shim, plan):
            raise ValueError(f"{shim}: it did not take in a plan")
    doors.choose(0)
    library, variants = doors.library, len(shims) + 2
    start = library.by_call_ticks(), time.perf_counter_ns()
    if not library.by_call_start(variants, RUN, ctypes.c_uint64(GROUPS_MAX)):
        raise MemoryError("no memory for the groups")
    steps = decode()
    count = library.by_call_stop()
    if count == GROUPS_MAX:
        raise ValueError(f"no room for more than {GROUPS_MAX} groups: give fewer seconds")
    ns_per_tick = (time.perf_counter_ns() - start[1]) / (library.by_call_ticks() - start[0])
    return doors.groups(count, ns_per_tick), count // max(1, steps)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=45)
    parser.add_argument("shims", nargs="+", type=pathlib.Path, metavar="SHIM")
    given = parser.parse_args()
    if len(given.shims) > VARIANTS - 2:
        parser.error(f"at most {VARIANTS - 2} shims")
    return given


def main() -> int:
    given = _arguments()
    import decoder
    import torch

    sys.argv = ["decoder.py", *DECODER]
    options = decoder.arguments()
    with torch.inference_mode(), tempfile.TemporaryDirectory() as folder:
        os.environ["TILEWISE_OUT"] = folder
        prepared, step = decoder.prepared(options, decoder.build(options), "eager", 0)
        doors = Doors(build_doors(pathlib.Path(folder)))

        def decode() -> int:
            decoder.keep_still(options)
            options.seconds = given.seconds
            return len(decoder.decode(options, prepared, step))

        groups, per_step = measure(doors, given.shims, step, decode)
        found = costs(groups, per_step, len(given.shims) + 2)
    names = ["none", "none again", *map(str, given.shims)]
    rows = [
        {"shim": names[variant], "with an execution of cuDNN": executed} | ns._asdict()
        for (variant, executed), ns in found.items()
    ]
    print(json.dumps({"groups": len(groups), "groups of a step": per_step, "ns": rows}, indent=1))
    return 0


if __name__ == "__main__":
    try:
        raise SystemExit(main())
    except ValueError as error:
        raise SystemExit(f"by_call.py: {error}") from None
