#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests of what is measured call by call (TAP): the arithmetic, and with the real shim and a fake
cuBLAS. TILEWISE, SHIM and VENDOR_BIN: the program, the shim, where libfake_cublas.so is."""

import json
import math
import os
import pathlib
import random
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
import by_call
import fake_host
import tap

PLACES = 6  # groups of a step; cuDNN executes at the fourth
HOST = f"""
import ctypes, json, pathlib, sys
sys.path.insert(0, {str(HERE)!r})
import by_call
host, folder, shim, steps = ctypes.CDLL(sys.argv[1]), pathlib.Path(sys.argv[2]), sys.argv[3], int(sys.argv[4])
by_call.switch.GROUPS_MAX = int(sys.argv[5])
step = lambda: [host.product(place) for place in range({PLACES})]
step()
calls = by_call.real_calls(folder)
def decode():
    for _ in range(steps):
        step()
    return steps
"""
ORDERS = HOST + """
for variant in range(4):
    calls.lead(variant, {})
orders = [calls.drawn(4, decode, seed)[0] for seed in ("one", "other", "one")]
print(json.dumps([[group.variant for group in groups] for groups in orders]))
"""
RUNS = HOST + """
groups, per_step = by_call.measure(calls, [pathlib.Path(shim)], step, decode)
print(json.dumps([per_step, [group.variant for group in groups]]))
"""


def made(generator: random.Random, added: dict[int, float], executed: float, steps: int):
    """Groups of a machine whose pace wanders, and that is interrupted now and then."""
    groups, variant, pace = [], 0, 0.0
    for number in range(steps * PLACES):
        place = number % PLACES
        if number % by_call.switch.RUN == 0:
            variant = generator.randrange(len(added) + 1)
        pace = 0.98 * pace + generator.gauss(0, 0.01)
        ns = 20_000 * (1 + place) * math.exp(pace)
        ns += generator.gauss(0, 2000) + (generator.random() < 0.01) * 50_000
        ns += added.get(variant, 0) + (place == 3 and variant > 0) * executed
        groups.append(by_call.Group(ns, variant, int(place == 3), number))
    return groups


def holds(interval, ns: float) -> bool:
    return interval.lo <= ns <= interval.hi


def test_a_cost_is_found_to_200_ns_where_one_call_varies_by_2_us():
    found = by_call.costs(made(random.Random(1), {1: 0, 2: 400}, 0, 6000), PLACES, 3)
    assert holds(found[1, False], 0)
    assert holds(found[2, False], 400)
    assert found[2, False].hi - found[2, False].lo < 400


def test_an_execution_of_cudnn_is_told_apart():
    found = by_call.costs(made(random.Random(2), {1: 0, 2: 0}, 1500, 6000), PLACES, 3)
    assert holds(found[2, True], 1500)
    assert holds(found[2, False], 0)


def hosted(script: str, folder: pathlib.Path, steps: int, most: int = 10_000):
    """What a host of a fake cuBLAS printed."""
    host = fake_host.build(folder, pathlib.Path(os.environ["VENDOR_BIN"]))
    words = [sys.executable, "-B", "-c", script, str(host), str(folder), os.environ["SHIM"], str(steps), str(most)]
    environment = os.environ | {"TILEWISE_OUT": str(folder / "traces")}
    done = subprocess.run(words, capture_output=True, text=True, check=True, env=environment)
    return json.loads(done.stdout)


def run(folder: pathlib.Path, steps: int, most: int = 10_000) -> tuple[int, list[int], str]:
    out = hosted(RUNS, folder, steps, most)
    traces = folder / "traces"
    info = [os.environ["TILEWISE"], "info", *map(str, traces.glob("*.twt"))]
    told = subprocess.run(info, capture_output=True, text=True, check=True).stdout
    return *out, told


def test_a_shim_is_told_of_a_plan():
    shim = os.environ["SHIM"]
    script = (
        f"import sys; sys.path.insert(0, {str(HERE)!r})\n"
        "import by_call, ctypes, pathlib\n"
        "ctypes.CDLL(sys.argv[1])\n"
        "print(*(by_call.known_plan(pathlib.Path(sys.argv[1]), plan) for plan in (0x7000, 0x8000, 0x7000)))"
    )
    words = [sys.executable, "-B", "-c", script, shim]
    assert subprocess.run(words, capture_output=True, text=True, check=True).stdout.split() == ["1", "2", "3"]


def test_the_shim_gets_the_calls_of_its_runs_alone():
    steps = 300
    with tempfile.TemporaryDirectory() as folder:
        per_step, variants, told = run(pathlib.Path(folder), steps)
    assert per_step == PLACES
    assert len(variants) == steps * PLACES - 1
    runs = [set(variants[i : i + by_call.switch.RUN]) for i in range(0, len(variants), by_call.switch.RUN)]
    assert all(len(run) == 1 for run in runs)
    assert set(variants) == {0, 1, 2}
    # One step came before; the last group has no end and is not among them.
    calls = variants.count(2) + PLACES
    assert f"{calls} calls" in told or f"{calls + 1} calls" in told, told


def test_each_seed_has_an_order_of_its_own():
    with tempfile.TemporaryDirectory() as folder:
        one, other, again = hosted(ORDERS, pathlib.Path(folder), 200)
    assert set(one) == set(other) == {0, 1, 2, 3}
    assert one == again != other


def test_a_run_that_is_too_long_is_refused():
    with tempfile.TemporaryDirectory() as folder:
        try:
            run(pathlib.Path(folder), 300, 300 * PLACES - 1)
        except subprocess.CalledProcessError as error:
            assert "give fewer seconds" in error.stderr, error.stderr
            return
    raise AssertionError("a step of which the last groups were not kept")


def test_a_python_host_without_a_gpu_gives_a_figure_for_each_build():
    bench = HERE.parent / "bench" / "bench_shim_python.py"
    words = [sys.executable, "-B", str(bench), "--seconds=2", os.environ["VENDOR_BIN"], os.environ["SHIM"]]
    found = json.loads(subprocess.run(words, capture_output=True, text=True, check=True).stdout)
    assert found["products"] > 1000, found
    assert [row["shim"] for row in found["ns"]] == ["none again", os.environ["SHIM"]], found


if __name__ == "__main__":
    raise SystemExit(tap.run(globals()))
