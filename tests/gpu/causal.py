#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Causal heat, checked live on a GPU: a loop is recorded, then a known delay is put behind every call
of one kind of its products, and its wall time moves as the heat said.

Called by run.sh, which looks for the GPU. About 45 s.
"""

import json
import sys
from typing import NamedTuple

import capture
import intervals
from session import Session

# What each kind of product of causal_steps.py is in a report, and what share of its time the whole
# waits for by construction: all of it, or none.
KINDS = {"chain": ("bf16", 1), "beside": ("f16", 0), "paced": ("f32", 0)}
# E and W are of what was recorded; a delay kernel has a launch of its own, clocks move.
TOLERANCE = 0.1
WALL_SHARE_MIN = 0.02
ROUNDS = 6
# Of wall time for the windows: the kernels are short, being attached alone costs some per cent.
BUDGET = 0.2
SECONDS = 10


class Prediction(NamedTuple):
    """Of a delay behind all calls: by what share of it the whole gets longer. E / W."""

    value: float
    lo: float
    hi: float


def predicted(op: dict) -> Prediction | None:
    """None: the trace does not know its timeline."""
    heat = op["heat"]
    if heat["method"] != "causal" or heat["lo"] is None or not op["wall_share"]:
        return None
    return Prediction(*(heat[key] / op["wall_share"] for key in ("value", "lo", "hi")))


def moved(seconds: dict[str, list[float]], kind: str, injected_s: float) -> intervals.Interval:
    """The share of the delays by which the whole got longer, over rounds."""
    pairs = list(zip(seconds["plain"], seconds[kind], strict=True))
    took = intervals.median_difference(pairs)
    return intervals.Interval(*(value / injected_s for value in took))


def agrees(moving: intervals.Interval, wanted: Prediction) -> bool:
    """Do the intervals meet, but for the tolerance?"""
    return moving.lo <= wanted.hi + TOLERANCE and moving.hi >= wanted.lo - TOLERANCE


def find_op(report: dict, dtype: str) -> dict:
    return next(op for op in report["ops"] if (op["op"], op["dtype"]) == ("gemm", dtype))


def judge(session: Session, kind: str, report: dict, plan: dict) -> None:
    dtype, share = KINDS[kind]
    op = find_op(report, dtype)
    wanted = predicted(op)
    moving = moved(plan["seconds"], kind, plan["injected_s"][kind])
    figures = {"E": op["heat"], "W": op["wall_share"], "predicted": wanted, "moved": moving}
    session.figures[f"causal heat, {kind}"] = figures
    session.check(
        f"{kind}: its heat is that of a timeline, with a part of the time",
        wanted is not None and op["wall_share"] >= WALL_SHARE_MIN,
        **figures,
    )
    session.check(
        f"{kind}: the whole waits for {'all' if share else 'none'} of its time, as it was built",
        wanted is not None and abs(wanted.value - share) <= 2 * TOLERANCE,
        **figures,
    )
    session.check(
        f"{kind}: a delay moves the whole as predicted",
        wanted is not None and agrees(moving, wanted),
        **figures,
    )


def causal(session: Session) -> None:
    recording = session.recorded(
        "causal",
        session.workload("causal_steps", "--seconds", str(SECONDS)),
        gpu_time="windows",
        options=(f"--gpu-budget={BUDGET}",),
        logged=False,
        seconds=30,
    )
    measure = session.workload("causal_steps", "--rounds", str(ROUNDS))
    status = session.plain("causal-delays", measure, seconds=30)
    session.check("the delays were measured", status == 0, status=status)
    lines = (session.work / "causal-delays" / "plan.json").read_text(encoding="utf-8").splitlines()
    plan = json.loads(lines[-1])
    session.figures["causal windows"] = (recording.report["trace"]["gpu"] or {}).get("windows")
    session.figures["causal idle"] = recording.report["idle"]
    for kind in KINDS:
        judge(session, kind, recording.report, plan)


CASES = {"causal": causal}

if __name__ == "__main__":
    sys.exit(capture.main("causal", CASES, __doc__))
