# SPDX-License-Identifier: Apache-2.0
"""What recording costs: runs in turns, with intervals.

Three questions, each with its own method:
  - counts (and, printed, full) against no shim: two decoders that live side by side, one of them
    recorded, take short turns on one processor and one GPU; each turn is held against its neighbour;
  - windows against no shim: a window is rare, and its budget counts the time between turns too, so
    here whole processes take turns and the mean of a long stretch counts, not its median. Beside it,
    by turns, what CUPTI costs between the windows: it stays attached (`attached` may cost what it
    likes, `windows` waits where that is more than half of the budget), and what the recorder
    itself says that it cost;
  - one call of cublasGemmEx and of cublasLtMatmul, in ns, against an empty preload (call_cost.c).
The last, times the calls of a step, is printed beside the first: what the loop's cost should be.
"""

import contextlib
import json
import os
import pathlib
import signal
import statistics
import subprocess
import threading

import intervals
from session import Session

# "counts" is everything but GPU time; call_cost tells apart whether each call's start is kept too.
LIMITS = {"counts": 0.005, "windows": 0.01}  # of wall time; "full" is only printed
OPTIONS = {
    "counts": ["--gpu-time=off"],
    "windows": ["--gpu-time=windows"],
    "attached": ["--gpu-time=windows", "--gpu-budget=0.1"],
    "full": ["--gpu-time=full"],
}
MODES = ("eager", "graph")
DECODER = ("--mode", ",".join(MODES), "--batch", "16", "--steps", "400", "--pin")
STILL = {"PYTHONHASHSEED": "0"}  # the same layout of dictionaries in every process
# Turns: seconds of one, and how many of each setting in a round.
TURN_SECONDS = {"eager": 0.4, "graph": 0.25}
TURNS = {"eager": 20, "graph": 16}
TURN_ROUNDS, TURN_ROUND_SECONDS, TURN_SETTING_SECONDS = 3, 14, 24
PRINTED_ONCE = ("attached", "full")  # without a verdict, in the first round
START_SECONDS, ANSWER_SECONDS = 60, 20
# Processes: seconds of one mode, and of a whole process with its start.
STRETCH_SECONDS, PROCESS_SECONDS, ROUNDS_MIN = 4, 15, 2
BLOCKS = 8
CALL_COST_SECONDS = 2

Blocks = dict[str, list[float]]  # mode of the decoder -> means of stretches


class Player:
    """A decoder that waits for its turn (decoder.py --turns)."""

    def __init__(self, session: Session, setting: str, number: int):
        self.folder = session.work / f"turns-{setting}-{number}"
        self.folder.mkdir(parents=True, exist_ok=True)
        words = _words(session, setting, self.folder)
        words += session.workload("decoder", *DECODER, "--turns")
        environment = os.environ | session.environment() | STILL
        self.steps = 0
        self.child = subprocess.Popen(
            words,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=environment,
            start_new_session=True,
        )

    def _kill(self) -> None:
        """The recorder and what it records."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.child.pid, signal.SIGKILL)

    def _line(self, seconds: float) -> dict:
        """The next line of JSON; a decoder that is silent for too long is ended."""
        late = threading.Timer(seconds, self._kill)
        late.start()
        try:
            for line in self.child.stdout:
                if line.startswith("{"):
                    return json.loads(line)
        finally:
            late.cancel()
        raise RuntimeError(f"a decoder ended or was silent: exit status {self.child.wait()}")

    def wait(self) -> None:
        self._line(START_SECONDS)

    def turn(self, mode: str, seconds: float) -> float:
        """Median of a step, in ns."""
        self.child.stdin.write(f"{mode} {seconds}\n")
        self.child.stdin.flush()
        answer = self._line(ANSWER_SECONDS)
        self.steps += answer["steps"]
        return answer["median_ns"]

    def end(self) -> None:
        with contextlib.suppress(OSError):
            self.child.stdin.close()
        try:
            self.child.wait(ANSWER_SECONDS)
        except subprocess.TimeoutExpired:
            self._kill()
            self.child.wait()


def _play(players: dict[str, Player]) -> dict[str, dict[str, list[tuple[float, float]]]]:
    """Per setting and mode (step without the shim, step with it) of neighbouring turns; which of both
    comes first changes from pair to pair."""
    pairs: dict[str, dict[str, list[tuple[float, float]]]] = {}
    for setting in players.keys() - {"none"}:
        pairs[setting] = {}
        for mode in MODES:
            found = pairs[setting].setdefault(mode, [])
            for number in range(TURNS[mode]):
                order = ("none", setting) if number % 2 else (setting, "none")
                took = {who: players[who].turn(mode, TURN_SECONDS[mode]) for who in order}
                found.append((took["none"], took[setting]))
    return pairs


def turns(session: Session) -> None:
    """Each round has new processes."""
    rounds: dict[str, dict[str, list]] = {}
    for number in range(TURN_ROUNDS):
        settings = ["none", "counts", *(PRINTED_ONCE if number == 0 else [])]
        needed = TURN_ROUND_SECONDS + TURN_SETTING_SECONDS * (len(settings) - 1)
        if number > 0 and session.left() < needed:
            break
        session.need(needed)
        players: dict[str, Player] = {}
        try:
            for setting in settings:
                players[setting] = Player(session, setting, number)
            for player in players.values():
                player.wait()
            for setting, modes in _play(players).items():
                for mode, pairs in modes.items():
                    rounds.setdefault(setting, {}).setdefault(mode, []).append(pairs)
        finally:
            for player in players.values():
                player.end()
    for setting, modes in rounds.items():
        for mode, played in modes.items():
            cost = intervals.Interval(*(v - 1 for v in intervals.ratio_of_turns(played)))
            name = f"{setting}, {mode}, against no shim"
            each = [statistics.median(w / b - 1 for b, w in pairs) for pairs in played]
            _conclude(session, name, setting, cost, rounds=len(played), of_rounds=each)
    _predict(session, players["counts"], rounds["counts"]["eager"])


def _predict(session: Session, player: Player, played: list) -> None:
    """The share of an eager step that its hooked products take at the ns of call_cost.c."""
    report = session.report(sorted((player.folder / "traces").glob("*.twt")))
    added = session.figures.get("ns added to cublasGemmEx, events")
    if not added or not player.steps:
        return
    calls = report["trace"].get("seen", 0) / player.steps
    step_ns = statistics.median(base for pairs in played for base, _ in pairs)
    session.figures["cost: counts, eager, predicted"] = {
        "calls_per_step": calls,
        "step_ns": step_ns,
        "share": calls * added["value"] / step_ns,
    }


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
    return session.record(folder / "traces", *OPTIONS[setting])


def _decode(session: Session, setting: str, number: int) -> Blocks:
    name = f"cost-{setting}-{number}"
    folder = session.work / name
    folder.mkdir(parents=True, exist_ok=True)
    times = folder / "steps.txt"
    loop = (*DECODER, "--seconds", str(STRETCH_SECONDS), "--step-times", str(times))
    words = _words(session, setting, folder) + session.workload("decoder", *loop)
    status = session.plain(name, words, env=STILL)
    if status != 0:
        raise RuntimeError(f"{name}: exit status {status}")
    return {
        mode: intervals.blocks([duration for _, duration in steps], BLOCKS)
        for mode, steps in step_times(times).items()
    }


def processes(session: Session, rounds_max: int = 6) -> None:
    """As many rounds as the time holds."""
    settings = ["none", "windows"]
    rounds: list[dict[str, Blocks]] = []
    while len(rounds) < rounds_max:
        needed = PROCESS_SECONDS * len(settings)
        if len(rounds) >= ROUNDS_MIN and session.left() < needed:
            break
        session.need(needed)
        order = settings[:: -1 if len(rounds) % 2 else 1]
        rounds.append({setting: _decode(session, setting, len(rounds)) for setting in order})
    traces = sorted((session.work / f"cost-windows-{len(rounds) - 1}" / "traces").glob("*.twt"))
    session.figures["cost: windows, as the recorder has it"] = session.facts(traces)
    for mode in MODES:
        pairs = [(one["none"][mode], one["windows"][mode]) for one in rounds]
        cost = intervals.Interval(*(v - 1 for v in intervals.ratio_of_rounds(pairs)))
        name = f"windows, {mode}, against no shim"
        _conclude(session, name, "windows", cost, rounds=len(rounds))


def _conclude(
    session: Session, name: str, setting: str, cost: intervals.Interval, **how
) -> None:
    session.figures[f"cost: {name}"] = cost._asdict() | how
    if setting in LIMITS:
        ok = intervals.judge(cost, LIMITS[setting])
        session.check(f"cost: {name}", ok, limit=LIMITS[setting], **cost._asdict(), **how)


def _settled(batches: list[float]) -> float:
    """A quarter of the batches took less: what a call takes when nothing else gets in its way."""
    return statistics.quantiles(batches, n=4)[0]


def calls(session: Session, rounds: int = 8) -> None:
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
                (_settled(one["empty"][routine]["ns"]), _settled(one[setting][routine]["ns"]))
                for one in measured
            ]
            added = intervals.median_difference(pairs)
            rows = measured[0]["empty"][routine]["m"]
            session.figures[f"ns added to {routine}, {setting}"] = added._asdict() | {"m": rows}


CASES = {
    "cost-calls": calls,
    "cost-turns": turns,
    "cost-processes": processes,
}
