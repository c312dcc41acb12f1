#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests of turns with the real shim: a decoder that calls a fake cuBLAS is switched by `tilewise ctl`,
and takes the hooks out by itself; and of what its steps are made to say (TAP). TILEWISE, SHIM and
VENDOR_BIN: the program, the shim, where libfake_cublas.so is."""

import contextlib
import ctypes
import math
import os
import pathlib
import random
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import cost
import fake_host
import switch
import tap
from session import WORKLOADS, Session

# decoder.py as it is, but for the model: a step is CALLS products.
CALLS = 5
HOST = f"""
import ctypes, os, sys, time
from unittest.mock import MagicMock
sys.modules["torch"], sys.modules["transformers"] = MagicMock(), MagicMock()
sys.modules["torch"].inference_mode = lambda: lambda function: function
sys.path.insert(0, {str(WORKLOADS)!r})
import decoder
host = ctypes.CDLL(os.environ["FAKE_HOST"])
def step():
    for number in range({CALLS}):
        host.product(number)
    time.sleep(0.0005)
step()
decoder.build = lambda given: None
decoder.prepared = lambda given, model, mode, graph: (MagicMock(), step)
sys.exit(decoder.main())
"""


@contextlib.contextmanager
def player(setting: str):
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        options = () if setting == "none" else ("--switch", str(switch.build(folder)))
        os.environ["FAKE_HOST"] = str(fake_host.build(folder, pathlib.Path(os.environ["VENDOR_BIN"])))
        one = Session(folder, folder, folder, minutes=1)
        one.tilewise, one.shim = os.environ["TILEWISE"], os.environ["SHIM"]
        one.workload = lambda _, *words: [sys.executable, "-c", HOST, *words]
        found = cost.Player(one, setting, 0, *options)
        try:
            found.wait()
            yield found
        finally:
            found.end()


def test_ctl_switches_a_running_decoder():
    with player("counts") as one:
        seen = [one.seen()]
        for word in ("off", "on"):
            one.order(word)
            one.obeyed(word)
            assert one.turn("eager", 0.2) > 5e5
            seen.append(one.seen())
        assert seen[0] == seen[1] < seen[2], seen


def test_a_decoder_takes_its_hooks_out_between_products():
    with player("counts") as one:
        before = one.seen()
        found, steps, hooks = one.alternate("eager", 1)
        assert {"cublasGemmEx", "cublasSetMathMode", "cublasSetStream_v2"} <= set(hooks), hooks
        assert found.step > 5e5 and abs(found.added) < found.step / 10, found
        assert found.execution is None and found.product != 0, found
        # The first step's begins before the hooks are switched, the last group has no end.
        assert abs(one.seen() - before - steps * CALLS) <= 2 * switch.RUN, (one.seen() - before, steps)
        between = one.seen()
        assert one.turn("eager", 0.2) > 5e5
        assert one.seen() > between, "the hooks are back"
        traces = one.traces()
    assert len(traces) == 1, traces


def test_a_decoder_without_the_shim_takes_turns():
    with player("none") as one:
        assert one.turn("graph", 0.1) > 5e5


PLACES, EXECUTES = 12, 3


def steps_of(
    generator: random.Random,
    added: float,
    executed: float,
    *,
    rare: float = 0,
    cold: float = 0,
    noise: float = 1,
    steps: int = 2000,
):
    """Steps of a machine whose pace wanders within milliseconds, and that is interrupted now and then.
    rare: what one hook of 1000 costs; cold: the first two of a run; noise: 0 for a machine that is still."""
    found, variant, pace = [], 0, 0.0
    for step in range(steps):
        groups = []
        for place in range(PLACES):
            number = step * PLACES + place
            if number % switch.RUN == 0:
                variant = generator.randrange(len(switch.OWN))
            pace = 0.98 * pace + noise * generator.gauss(0, 0.03)
            ns = 10_000 * (1 + place) * math.exp(pace) * generator.gauss(1, noise * 0.03)
            ns += noise * (generator.random() < 0.01) * 50_000
            if switch.OWN[variant]:
                ns += (number % switch.RUN < 2) * cold
                ns += added + (place == EXECUTES) * executed + (generator.random() < 0.001) * rare
            groups.append(switch.Group(ns, variant, int(place == EXECUTES), number))
        found.append(groups)
    return found


def test_the_cost_of_a_step_is_the_sum_of_its_places():
    each = [switch.cost_of_steps(steps_of(random.Random(seed), 400, 1500)) for seed in range(8)]

    def of(name: str):
        return cost.intervals.of_processes([getattr(one, name) for one in each], 0.99)

    for name, true in (("added", 400 * PLACES + 1500), ("product", 400), ("execution", 1500), ("alike", 0)):
        found = of(name)
        assert found.lo < true < found.hi, (name, true, found)
    usual = 10_000 * sum(range(1, PLACES + 1))
    assert of("added").hi - of("added").lo < usual / 100, of("added")
    assert abs(of("step").value / usual - 1) < 0.1, of("step")


def test_all_of_a_cost_is_found():
    found = switch.cost_of_steps(steps_of(random.Random(3), 400, 1500, noise=0))
    assert abs(found.added / (400 * PLACES + 1500) - 1) < 0.05, found
    assert abs(found.mean_added / (400 * PLACES + 1500) - 1) < 0.05, found


def test_what_found_the_other_variant_s_lines_is_left_out():
    plain, cold = (
        switch.cost_of_steps(steps_of(random.Random(4), 400, 0, cold=cold)) for cold in (0, 20_000)
    )
    assert abs(cold.added - plain.added) < 400 and abs(cold.mean_added - plain.mean_added) < 400, (plain, cold)


def test_what_is_rare_is_in_the_figure_that_leaves_nothing_out():
    found = switch.cost_of_steps(steps_of(random.Random(5), 0, 0, rare=20e6))
    assert abs(found.added) < 15_000 and found.mean_added > 100_000, found


def test_steps_of_other_lengths_are_left_out():
    steps = steps_of(random.Random(6), 400, 0)
    found = switch.cost_of_steps(steps)
    for at in (700, 300, switch.WARM_UP_STEPS + 1, 3):
        steps.insert(at, steps[at] + [switch.Group(1e9, 3, 0, 0)])
    assert switch.cost_of_steps(steps) == found


def test_of_two_definitions_the_first_is_the_one_that_was_loaded_first():
    # The parts of cuDNN define what cuDNN defines; where they lie in memory tells nothing.
    with tempfile.TemporaryDirectory() as name:
        loaded = []
        for number in range(4):
            library = pathlib.Path(name) / f"lib{number}.so"
            words = [os.environ.get("CC", "cc"), "-shared", "-fPIC", "-x", "c", "-", "-o", str(library)]
            subprocess.run(words, input=b"void told_by_four(void) {}", check=True)
            loaded.append(ctypes.CDLL(str(library)))
        places = [ctypes.cast(one.told_by_four, ctypes.c_void_p).value for one in loaded]
        assert switch.real_functions(["told_by_four"]) == {"told_by_four": places}


def test_what_is_not_there_is_refused():
    assert tap.refuses(switch.places, "/bin/true")
    with tempfile.TemporaryDirectory() as name:
        library = switch.build(pathlib.Path(name))
        assert tap.refuses(switch.own_hooks, library)
        assert tap.refuses(switch.Switch, library, {})
    assert tap.refuses(switch.cost_of_steps, steps_of(random.Random(7), 0, 0, steps=30))


if __name__ == "__main__":
    sys.exit(tap.run(globals()))
