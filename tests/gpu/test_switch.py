#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests of turns with the real shim: a decoder that calls a fake BLAS is switched by `tilewise ctl`,
and takes the hooks out by itself (TAP). TILEWISE, SHIM and SHIM_BIN: the program, the shim, where
libplugin_a.so is."""

import contextlib
import os
import pathlib
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import cost
import switch
import tap
from session import WORKLOADS, Session

# decoder.py as it is, but for the model: a step is CALLS calls.
CALLS = 5
HOST = f"""
import ctypes, os, sys, time
from unittest.mock import MagicMock
sys.modules["torch"], sys.modules["transformers"] = MagicMock(), MagicMock()
sys.modules["torch"].inference_mode = lambda: lambda function: function
sys.path.insert(0, {str(WORKLOADS)!r})
import decoder
plugin = ctypes.CDLL(os.environ["SHIM_BIN"] + "/libplugin_a.so")
def step():
    plugin.plugin_run({CALLS})
    time.sleep(0.001)
step()
decoder.build = lambda given: None
decoder.prepared = lambda given, model, mode, graph: (MagicMock(), step)
sys.exit(decoder.main())
"""


@contextlib.contextmanager
def player(setting: str):
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        one = Session(folder, folder, folder, minutes=1)
        one.tilewise, one.shim = os.environ["TILEWISE"], os.environ["SHIM"]
        one.workload = lambda _, *words: [sys.executable, "-c", HOST, *words]
        found = cost.Player(one, setting, 0)
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
            assert one.turn("eager", 0.2) > 1e6
            seen.append(one.seen())
        assert seen[0] == seen[1] < seen[2], seen


def test_a_decoder_takes_its_hooks_out_between_steps():
    with player("counts") as one:
        before = one.seen()
        found, count, hooks = one.alternate("eager", 0.5)
        steps = [step for pair in found.pairs for step in pair]
        blocks = count // switch.BLOCK_STEPS
        assert len(steps) == (blocks - 1) * switch.BLOCK_STEPS >= 3 * switch.BLOCK_STEPS, count
        assert min(steps) > 1e6, found
        assert hooks == ["cblas_sgemm"], hooks
        recorded = sum(switch.state_of(step, "turns-counts-0") == switch.ON for step in range(count))
        assert one.seen() - before == recorded * CALLS, (recorded, count)
        between = one.seen()
        assert one.turn("eager", 0.2) > 1e6
        assert one.seen() > between, "the hooks are back"
        traces = one.traces()
    assert len(traces) == 1, traces


def test_a_decoder_without_the_shim_takes_turns():
    with player("none") as one:
        assert one.turn("graph", 0.1) > 1e6


def test_steps_are_held_against_the_one_beside_them():
    found = switch.neighbours(range(4 * switch.BLOCK_STEPS + 3), "one")
    steps = [step for pair in found.pairs for step in pair]
    # The first block is left out, and the part of one.
    assert sorted(steps) == list(range(switch.BLOCK_STEPS, 4 * switch.BLOCK_STEPS)), found
    for without, with_hooks in found.pairs:
        assert abs(with_hooks - without) == 1, found
        assert switch.state_of(with_hooks, "one") == switch.ON != switch.state_of(without, "one"), found
    assert sorted(sum(found.alike, ())) == sorted(without for without, _ in found.pairs), found
    for one, other in found.alike:
        assert abs(one - other) <= 3, found
        assert (switch.state_of(one, "one"), switch.state_of(other, "one")) == (switch.OUT, switch.OUT_TOO)
    assert switch.neighbours(range(2 * switch.BLOCK_STEPS - 1), "one") == ([], [])


def test_what_is_not_there_is_refused():
    assert tap.refuses(switch.places, "/bin/true")
    assert tap.refuses(switch.Switch)


if __name__ == "__main__":
    sys.exit(tap.run(globals()))
