#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What builds of the shim cost an eager decoder, call by call: by_call.py [--seconds S] SHIM...

One process has all of them: for a few products at a time, its calls of cuBLAS and cuDNN go to the real
functions or to one of the shims' hooks, by chance (switch.py). So all are met by the same decoder on
the same machine within milliseconds, and differences of some 100 ns a product show in two minutes (more
where others work on the machine). What each finds in the caches is a little colder than where it is
alone, as in cost.py, which judges.

Printed is JSON: ns that a product with its setters takes longer than without any shim, and a product
before which cuDNN executed a plan, with their intervals, per shim and for steps that are alike.
"""

import argparse
import ctypes
import itertools
import json
import os
import pathlib
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Sequence

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE / "workloads")]
import intervals
import switch

FUNCTIONS = (
    switch.STREAM,
    switch.EXECUTE,
    "cublasSetMathMode",
    "cublasGemmEx",
    "cudnnSetStream",
    "cudnnBackendCreateDescriptor",
    "cudnnBackendFinalize",
    "cudnnBackendDestroyDescriptor",
)
CHUNK_STEPS = 40
KEY_BYTES = 128  # of a shim's key
DECODER = ("--mode", "eager", "--batch", "16", "--steps", "400", "--pin")
Group = switch.Group


def _chunk(steps: Iterable[Iterable[tuple[int, Group, float]]], last: int) -> dict[tuple[int, bool], float]:
    """ns above the usual, by variant and by whether cuDNN executed. The last place of a step holds what
    follows it."""
    above: dict[tuple[int, bool], list[float]] = {}
    for place, group, ns in itertools.chain(*steps):
        if place != last:
            above.setdefault((group.variant, group.executions > 0), []).append(ns)
    return {key: switch.middle(values) for key, values in above.items()}


def costs(groups: Sequence[Group], per_step: int, variants: int) -> dict[tuple[int, bool], intervals.Interval]:
    """ns above variant 0, of groups (variant, with an execution of cuDNN?)."""
    starts = range(0, len(groups) - per_step + 1, per_step)
    steps = switch.above_usual([groups[at : at + per_step] for at in starts])
    starts = range(0, len(steps) - CHUNK_STEPS + 1, CHUNK_STEPS)
    chunks = [_chunk(steps[at : at + CHUNK_STEPS], per_step - 1) for at in starts]
    found = {}
    for key in [(v, executed) for v in range(1, variants) for executed in (False, True)]:
        base = 0, key[1]
        pairs = [(c[base], c[key]) for c in chunks if base in c and key in c]
        if pairs:
            found[key] = intervals.median_difference(pairs)
    return found


def real_calls(folder: pathlib.Path) -> switch.Switch:
    """Of a process without a shim."""
    return switch.Switch(switch.build(folder), switch.real_functions(FUNCTIONS))


def known_plan(shim: pathlib.Path, plan: int) -> int:
    """Tell a loaded shim of a plan of cuDNN, as if it had been there when that was made: else its
    executions would go a longer way than a program's. The number that it gave the plan."""
    path = os.path.realpath(shim)
    put, get = switch.places_of(path, ("cudnn_plans_put", "cudnn_plans_get"))
    base = switch.loaded_objects()[path][0].first
    key = ctypes.create_string_buffer(KEY_BYTES)
    ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_char_p)(base + put)(plan, key)
    return ctypes.CFUNCTYPE(ctypes.c_uint64, ctypes.c_void_p, ctypes.c_char_p)(base + get)(plan, key)


def measure(
    calls: switch.Switch, shims: Sequence[pathlib.Path], step: Callable, decode: Callable
) -> tuple[list[Group], int]:
    """Groups, and how many a step has. A shim finds its own functions only while it is the last that
    was loaded: so each begins to record before the next one comes."""
    calls.lead(1, {})
    for number, shim in enumerate(shims, start=2):
        hooks = switch.functions_of(ctypes.CDLL(str(shim), mode=os.RTLD_NOW | os.RTLD_LOCAL), FUNCTIONS)
        calls.lead(number, hooks)
        calls.choose(number)
        step()
        time.sleep(0.2)
        plan = calls.plan()
        if plan and not known_plan(shim, plan):
            raise ValueError(f"{shim}: it did not take in a plan")
    calls.choose(0)
    groups, steps = calls.drawn(len(shims) + 2, decode)
    return groups, (len(groups) + 1) // max(1, steps)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=45)
    parser.add_argument("shims", nargs="+", type=pathlib.Path, metavar="SHIM")
    given = parser.parse_args()
    if len(given.shims) > switch.VARIANTS - 2:
        parser.error(f"at most {switch.VARIANTS - 2} shims")
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
        calls = real_calls(pathlib.Path(folder))

        def decode() -> int:
            decoder.keep_still(options)
            options.seconds = given.seconds
            return len(decoder.decode(options, prepared, step))

        groups, per_step = measure(calls, given.shims, step, decode)
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
