# SPDX-License-Identifier: Apache-2.0
"""What recording costs: runs in turns, with intervals.

Three questions, each with its own method:
  - the whole decode loop, shim and all, against none: a process of each setting per round, the order
    rotated from round to round;
  - recording against paused recording in one process, switched back and forth by `tilewise ctl`: far
    less noise, since nothing else changes;
  - one call of cublasGemmEx and of cublasLtMatmul, in ns, against an empty preload (call_cost.c).
"""

import contextlib
import json
import os
import pathlib
import statistics
import subprocess
import time

import intervals
from session import Session

# "counts" is everything but GPU time; call_cost tells apart whether each call's start is kept too.
LIMITS = {"counts": 0.005, "windows": 0.01}  # of wall time; "full" is only printed
GPU_TIME = {"counts": "off", "windows": "windows", "full": "full"}
LOOP = ("--mode", "eager,graph", "--batch", "16", "--steps", "400", "--pin")
BLOCKS = 20
PROCESS_SECONDS = 16  # of one such process, its start included
# A running process looks for an order once a second.
SETTLE_SECONDS, HOLD_SECONDS = 1.2, 1.0
CALL_COST_SECONDS = 2

Blocks = dict[str, list[float]]  # mode of the decoder -> medians


def step_times(path: pathlib.Path) -> dict[str, list[tuple[int, int]]]:
    """Per mode of the decoder: (start_unix_ns, duration_ns) of each step."""
    times: dict[str, list[tuple[int, int]]] = {}
    for line in path.read_text(encoding="ascii").splitlines():
        mode, _, start, duration = line.split()
        times.setdefault(mode, []).append((int(start), int(duration)))
    return times


def _words(session: Session, setting: str, folder: pathlib.Path) -> list[str]:
    if setting == "none":
        return []
    return session.record(folder / "traces", f"--gpu-time={GPU_TIME[setting]}")


def _decode(session: Session, setting: str, number: int) -> Blocks:
    name = f"cost-{setting}-{number}"
    folder = session.work / name
    folder.mkdir(parents=True, exist_ok=True)
    times = folder / "steps.txt"
    command = session.workload("decoder", *LOOP, "--step-times", str(times))
    status = session.plain(name, _words(session, setting, folder) + command)
    if status != 0:
        raise RuntimeError(f"{name}: exit status {status}")
    return {
        mode: intervals.blocks([duration for _, duration in steps], BLOCKS)
        for mode, steps in step_times(times).items()
    }


def processes(session: Session, rounds_max: int = 6) -> None:
    """As many rounds as the time holds, at least two."""
    settings = ["none", *GPU_TIME]
    rounds: list[dict[str, Blocks]] = []
    while len(rounds) < rounds_max:
        needed = PROCESS_SECONDS * len(settings)
        if len(rounds) >= 2 and session.left() < needed:
            break
        session.need(needed)
        order = settings[len(rounds) % 4 :] + settings[: len(rounds) % 4]
        rounds.append({setting: _decode(session, setting, len(rounds)) for setting in order})
    for setting in GPU_TIME:
        for mode in rounds[0]["none"]:
            pairs = [(one["none"][mode], one[setting][mode]) for one in rounds]
            cost = intervals.Interval(*(v - 1 for v in intervals.ratio_of_rounds(pairs)))
            name = f"{setting}, {mode}, against no shim"
            _conclude(session, name, setting, cost, rounds=len(rounds))


def _conclude(
    session: Session, name: str, setting: str, cost: intervals.Interval, **how: int
) -> None:
    session.figures[f"cost: {name}"] = cost._asdict() | how
    if setting in LIMITS:
        ok = intervals.judge(cost, LIMITS[setting])
        session.check(f"cost: {name}", ok, limit=LIMITS[setting], **cost._asdict(), **how)


def switched(session: Session, setting: str, mode: str, seconds: float) -> None:
    """Recording against paused recording, in turns within one process."""
    session.need(seconds + PROCESS_SECONDS)
    name = f"switched-{setting}-{mode}"
    folder = session.work / name
    folder.mkdir(parents=True, exist_ok=True)
    times = folder / "steps.txt"
    loop = ("--mode", mode, "--batch", "16", "--seconds", str(seconds), "--pin")
    command = session.workload("decoder", *loop, "--step-times", str(times))
    words = _words(session, setting, folder) + command
    environment = os.environ | session.environment()
    with open(folder / "plan.json", "wb") as plan:
        child = subprocess.Popen(words, stdout=plan, env=environment)
    held = _switch(session, folder / "traces", child, session.left() - 1)
    if child.returncode != 0:
        raise RuntimeError(f"{name}: exit status {child.returncode}")
    turns = _medians(step_times(times)[mode], held)
    cost = intervals.Interval(*(value - 1 for value in intervals.alternating(turns, "on")))
    _conclude(session, f"{setting}, {mode}, on against paused", setting, cost, turns=len(turns))


def _switch(session: Session, traces: pathlib.Path, child: subprocess.Popen, seconds: float):
    """Stretches [(word, begin_unix_ns, end_unix_ns)] in which an order was surely in force."""
    held, word, end = [], "off", time.monotonic() + seconds
    while child.poll() is None:
        if time.monotonic() > end:
            child.kill()
            child.wait()
            raise TimeoutError("the decoder did not end")
        ordered = subprocess.run(
            [session.tilewise, "ctl", str(traces), word], capture_output=True, check=False
        )
        with contextlib.suppress(subprocess.TimeoutExpired):
            child.wait(SETTLE_SECONDS)
        begin = time.time_ns()
        with contextlib.suppress(subprocess.TimeoutExpired):
            child.wait(HOLD_SECONDS)
        if ordered.returncode == 0:
            held.append((word, begin, time.time_ns()))
        word = "on" if word == "off" else "off"
    return held


def _medians(steps: list[tuple[int, int]], held: list) -> list[tuple[str, float]]:
    """(order, median step) of each stretch in which a step lies whole."""
    found = []
    for word, begin, end in held:
        inside = [length for start, length in steps if begin <= start and start + length <= end]
        if inside:
            found.append((word, statistics.median(inside)))
    return found


def calls(session: Session, rounds: int = 5) -> None:
    """ns per call that the hooks add, against a preload that does nothing."""
    session.need(CALL_COST_SECONDS * rounds * 3)
    program = str(session.tools / "call_cost")
    empty = {"LD_PRELOAD": str(session.tools / "empty_preload.so")}
    measured: list[dict[str, dict]] = []
    for number in range(rounds):
        one = {}
        for setting in (
            ("empty", "counts", "events") if number % 2 else ("events", "counts", "empty")
        ):
            name = f"call-{setting}-{number}"
            words = [program]
            if setting != "empty":
                events = "on" if setting == "events" else "off"
                traces = session.work / name / "traces"
                words = session.record(traces, "--gpu-time=off", f"--events={events}") + words
            session.plain(name, words, env=empty if setting == "empty" else None)
            one[setting] = json.loads((session.work / name / "plan.json").read_text())
        measured.append(one)
    for routine in measured[0]["empty"]:
        for setting in ("counts", "events"):
            pairs = [
                tuple(one[key][routine]["ns"] for key in ("empty", setting)) for one in measured
            ]
            added = intervals.difference_of_rounds(pairs)
            rows = measured[0]["empty"][routine]["m"]
            session.figures[f"ns added to {routine}, {setting}"] = added._asdict() | {"m": rows}


def switched_in_turn(session: Session) -> None:
    """Eager only: a graph's steps repeat so well that processes() is enough for them."""
    for setting in LIMITS:
        switched(session, setting, "eager", seconds=45)


CASES = {
    "cost-calls": calls,
    "cost-switched": switched_in_turn,
    "cost-processes": processes,
}
