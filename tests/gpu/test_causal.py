#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests of what judges causal heat on a GPU (TAP)."""

import contextlib
import io
import pathlib
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import causal
import tap
from session import Session

INJECTED_S = 0.2


def report(heat: dict[str, tuple[float, float]], method: str = "causal") -> dict:
    """heat: dtype -> (E, W)."""
    return {
        "ops": [
            {
                "op": "gemm",
                "dtype": dtype,
                "wall_share": wall,
                "heat": {"value": e, "lo": e - 0.01, "hi": e + 0.01, "method": method},
            }
            for dtype, (e, wall) in heat.items()
        ]
    }


def plan(moved: dict[str, float]) -> dict:
    """moved: kind -> the share of the delays by which the whole gets longer."""
    plain = [1.0, 1.01, 0.995, 1.0, 1.005, 1.0]
    seconds = {"plain": plain}
    for kind, share in moved.items():
        seconds[kind] = [one + share * INJECTED_S for one in plain]
    return {"seconds": seconds, "injected_s": dict.fromkeys(moved, INJECTED_S)}


def checks(kind: str, heat: tuple[float, float], share: float, method: str = "causal") -> list:
    with tempfile.TemporaryDirectory() as work, contextlib.redirect_stdout(io.StringIO()):
        session = Session(pathlib.Path(work), pathlib.Path(work), pathlib.Path(work), 1)
        dtype = causal.KINDS[kind][0]
        causal.judge(session, kind, report({dtype: heat}, method), plan({kind: share}))
        return [check.ok for check in session.checks]


def test_what_moves_as_predicted_passes():
    assert checks("chain", (0.38, 0.4), 0.96) == [True, True, True]
    assert checks("paced", (0.011, 0.2), 0.02) == [True, True, True]


def test_a_delay_that_is_not_felt_refutes_a_heat():
    assert checks("chain", (0.38, 0.4), 0.5) == [True, True, False]


def test_a_delay_that_is_felt_refutes_a_heat_of_none():
    assert checks("beside", (0.011, 0.2), 0.4) == [True, True, False]


def test_a_heat_against_the_construction_fails():
    assert checks("chain", (0.1, 0.4), 0.25)[1] is False
    assert checks("beside", (0.2, 0.2), 1.0)[1] is False


def test_a_share_is_no_heat():
    assert checks("chain", (0.4, 0.4), 1.0, method="wall_share") == [False, False, False]
    assert checks("chain", (0.01, 0.01), 1.0)[0] is False


def test_an_unknown_heat_is_judged():
    unknown = {"value": None, "lo": None, "hi": None, "level": None, "method": "wall_share"}
    op = {"op": "gemm", "dtype": "bf16", "wall_share": 0.01, "heat": unknown}
    assert causal.predicted(op) is None


if __name__ == "__main__":
    sys.exit(tap.run(globals()))
