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
        blocks, hooks = one.alternate("eager", 0.5)
        steps = [step for block in blocks for pair in block.pairs for step in pair]
        assert len(steps) == len(blocks) * switch.BLOCK_STEPS >= 3 * switch.BLOCK_STEPS, blocks
        assert min(steps) > 1e6, blocks
        assert hooks == ["cblas_sgemm"], hooks
        calls = (one.seen() - before) / CALLS
        # Whole blocks and a part of one.
        recorded = [(len(blocks) + more) * switch.BLOCK_STEPS / 2 for more in (1, 2)]
        assert recorded[0] <= calls <= recorded[1], (calls, recorded)
        between = one.seen()
        assert one.turn("eager", 0.2) > 1e6
        assert one.seen() > between, "the hooks are back"
        traces = one.traces()
    assert len(traces) == 1, traces


def test_a_decoder_without_the_shim_takes_turns():
    with player("none") as one:
        assert one.turn("graph", 0.1) > 1e6


def test_steps_are_grouped_by_block_and_state():
    blocks = switch.by_block(range(4 * switch.BLOCK_STEPS + 3))
    assert len(blocks) == 3, blocks
    for number, block in enumerate(blocks, 1):  # the first is left out
        first = number * switch.BLOCK_STEPS
        steps = [step for pair in block.pairs for step in pair]
        assert sorted(steps) == list(range(first, first + switch.BLOCK_STEPS)), block
        for without, with_hooks in block.pairs:
            assert abs(with_hooks - without) == 1, block
            assert switch.state_of(with_hooks) == switch.ON != switch.state_of(without), block
        assert sorted(sum(block.alike, ())) == sorted(without for without, _ in block.pairs), block
        for one, other in block.alike:
            assert abs(one - other) <= 3, block
            assert (switch.state_of(one), switch.state_of(other)) == (switch.OUT, switch.OUT_TOO)
    assert switch.by_block(range(2 * switch.BLOCK_STEPS - 1)) == []


def test_what_is_not_there_is_refused():
    assert tap.refuses(switch.places, "/bin/true")
    assert tap.refuses(switch.Switch)


if __name__ == "__main__":
    sys.exit(tap.run(globals()))
