# SPDX-License-Identifier: Apache-2.0
"""What recording costs: runs in turns, with intervals.

Each question has its own method:
  - an eager decoder is bound by Python, and two processes of one setting differ by several per cent:
    so a process takes the shim's hooks out and puts them back between its products, every millisecond
    (switch.py). What a product takes with the hooks is held against the same one of other steps
    without them, both at the pace of the milliseconds around them; the sum over a step is its cost.
    Products without the hooks are held against each other too. What is left out is the recorder's
    threads, which work on other processors in both, and, but for a figure beside it, what befalls a
    product rarely. What hooks cost differs from process to process, with where memory lies, so several
    live side by side and take their stretches one after the other. Beside it, printed: recording
    switched by `tilewise ctl`, in turns;
  - a graph's step is steady: decoders that live side by side, one of them without the shim, take
    short turns on one processor and one GPU; each turn is held against its neighbour. So, printed,
    for what CUPTI costs between windows (`attached`) and for `full`;
  - windows are judged alike as long as they wait, as being attached would cost too much: then no
    CUPTI is there when recording is on. It would stay when recording goes off, so if it was
    attached, whole processes take turns, and the mean of a long stretch counts, not its median;
  - one call of cublasGemmEx and of cublasLtMatmul, in ns, against an empty preload (call_cost.c).
"""

import contextlib
import itertools
import json
import os
import pathlib
import signal
import statistics
import subprocess
import threading
import time
from collections.abc import Iterable

import intervals
import switch
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
# Processes that switch themselves; seconds of each. The first setting is near its limit.
ALTERNATING = {"counts": 12, "windows": 6}
ALTERNATE_SECONDS = {"counts": 10, "windows": 5}
# Turns: seconds of one, and how many of each setting in a round.
TURN_SECONDS = {"eager": 0.4, "graph": 0.25}
CTL_PAIRS, PRINTED_TURNS = 3, {"eager": 10, "graph": 8}
GRAPH_TURNS, GRAPH_ROUNDS, GRAPH_PLAYERS = 16, 2, 100  # players are numbered from there on
CTL_SECONDS, STATUS_SECONDS = 3, 1.5  # processes look, and tell, once a second
JUDGED = ("counts", "windows")
PRINTED = ("attached", "full")  # without a verdict
EAGER_SECONDS, GRAPH_SECONDS, PRINTED_SECONDS = 225, 65, 45
START_SECONDS, ANSWER_SECONDS = 90, 20
# Processes: seconds of one mode, and of a whole process with its start.
STRETCH_SECONDS, PROCESS_SECONDS, ROUNDS_MIN = 4, 15, 2
BLOCKS = 8
ALIKE_CONFIDENCE = 0.99
CALL_COST_SECONDS, CALL_COST_BATCHES = 2, 300
KINDS = {"product": "a product and its setters", "execution": "an execution of cuDNN"}
WHILE_OFF = "ns of the hooks of a product and its setters while recording is off, caches emptied"

Pairs = list[tuple[float, float]]  # ns of a step: (base, changed)


class Player:
    """A decoder that waits for its turn (decoder.py --turns), with `options` of its own."""

    def __init__(self, session: Session, setting: str, number: int, *options: str):
        self.folder = session.work / f"turns-{setting}-{number}"
        self.folder.mkdir(parents=True, exist_ok=True)
        words = _words(session, setting, self.folder)
        words += session.workload("decoder", *DECODER, "--turns", *options)
        environment = os.environ | session.environment() | STILL
        self.session = session
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

    def _answer(self, words: str, seconds: float) -> dict:
        self.child.stdin.write(words + "\n")
        self.child.stdin.flush()
        return self._line(seconds + ANSWER_SECONDS)

    def turn(self, mode: str, seconds: float) -> float:
        """Median of a step, in ns."""
        return self._answer(f"{mode} {seconds}", seconds)["median_ns"]

    def alternate(self, mode: str, seconds: float) -> tuple[switch.StepCost, float, list[str]]:
        """What hooks cost; how many steps they were in; the hooks that were taken out."""
        answer = self._answer(f"{mode} {seconds} {self.folder.name}", seconds)
        return switch.StepCost(**answer["ns"]), answer["steps"], answer["hooks"]

    def traces(self) -> list[pathlib.Path]:
        return sorted((self.folder / "traces").glob("*.twt"))

    def _ctl(self, word: str) -> str:
        command = [self.session.tilewise, "ctl", str(self.folder / "traces"), word]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout

    def _standing(self) -> list[dict[str, str]]:
        """What each process that records says of itself, once a second."""
        head, *lines = self._ctl("status").splitlines() or [""]
        rows = [dict(zip(head.split(), line.split(), strict=True)) for line in lines]
        return [row for row in rows if row["state"] != "gone"]

    def order(self, word: str) -> None:
        """Recording on or off; `obeyed` waits for it."""
        self._ctl(word)

    def obeyed(self, word: str) -> None:
        deadline = time.monotonic() + CTL_SECONDS
        while time.monotonic() < deadline:
            rows = self._standing()
            if rows and all(row["state"] == word for row in rows):
                return
            time.sleep(0.02)
        raise RuntimeError(f"recording did not go {word} within {CTL_SECONDS} s")

    def seen(self) -> int:
        """Calls so far."""
        time.sleep(STATUS_SECONDS)
        return sum(int(row["seen"]) for row in self._standing())

    def let_go(self) -> None:
        with contextlib.suppress(OSError):
            self.child.stdin.close()

    def end(self) -> None:
        self.let_go()
        try:
            self.child.wait(ANSWER_SECONDS)
        except subprocess.TimeoutExpired:
            self._kill()
            self.child.wait()


def _against(players: dict[str, Player], setting: str, mode: str, turns: int) -> Pairs:
    """(step without the shim, step with it) of neighbouring turns; which of both comes first changes
    from pair to pair."""
    pairs = []
    for number in range(turns):
        order = ("none", setting) if number % 2 else (setting, "none")
        took = {who: players[who].turn(mode, TURN_SECONDS[mode]) for who in order}
        pairs.append((took["none"], took[setting]))
    return pairs


def _by_ctl(players: dict[str, Player], mode: str, pairs: int) -> dict[str, Pairs]:
    """(off, on) of neighbouring turns of each process, all of them switched at once."""
    found: dict[str, Pairs] = {setting: [] for setting in players}
    for number in range(pairs):
        took: dict[str, dict[str, float]] = {setting: {} for setting in players}
        for word in ("on", "off") if number % 2 else ("off", "on"):
            for player in players.values():
                player.order(word)
            for player in players.values():
                player.obeyed(word)
            for setting, player in players.items():
                took[setting][word] = player.turn(mode, TURN_SECONDS[mode])
        for setting, one in took.items():
            found[setting].append((one["off"], one["on"]))
    return found


@contextlib.contextmanager
def _all_players(session: Session, wanted: Iterable[tuple[str, int]], *options: str):
    """By (setting, number), ready, ended at the end."""
    players: dict[tuple[str, int], Player] = {}
    try:
        for who in wanted:
            players[who] = Player(session, *who, *options)
        for player in players.values():
            player.wait()
        yield players
    finally:
        for player in players.values():
            player.let_go()
        for player in players.values():
            player.end()


@contextlib.contextmanager
def _players(session: Session, settings: Iterable[str], number: int):
    """One of each setting."""
    with _all_players(session, [(setting, number) for setting in settings]) as players:
        yield {setting: player for (setting, _), player in players.items()}


def _cost(ratio: intervals.Interval) -> intervals.Interval:
    return intervals.Interval(*(v - 1 for v in ratio))


def _cost_of_turns(rounds: list[Pairs]) -> intervals.Interval:
    return _cost(intervals.ratio_of_turns(rounds))


def _eager(
    session: Session, players: dict[tuple[str, int], Player]
) -> dict[str, list[switch.StepCost]]:
    """Of each judged setting, what its processes found."""
    found: dict[str, list[switch.StepCost]] = {setting: [] for setting in JUDGED}
    for (setting, number), player in players.items():
        before = player.seen() if number == 0 else 0
        cost, steps, hooks = player.alternate("eager", ALTERNATE_SECONDS[setting])
        found[setting].append(cost)
        if number == 0:
            calls = (player.seen() - before) / steps
            session.figures[f"calls of an eager step, {setting}"] = calls
            session.figures[f"hooks that were taken out, {setting}"] = hooks
    return found


def _switched_by_ctl(session: Session, judged: dict[str, Player]) -> None:
    try:
        found = _by_ctl(judged, "eager", CTL_PAIRS)
    except RuntimeError as error:
        session.check("cost: ctl switches a running decoder", False, why=str(error))
        return
    session.check("cost: ctl switches a running decoder", True)
    for setting, pairs in found.items():
        name = f"cost: {setting}, eager, off and on by ctl"
        session.figures[name] = _cost_of_turns([pairs])._asdict() | {"pairs": len(pairs)}


def turns(session: Session) -> None:
    """The eager decoder."""
    session.need(EAGER_SECONDS)
    order = sorted((n, setting) for setting in JUDGED for n in range(ALTERNATING[setting]))
    wanted = [(setting, number) for number, setting in order]
    with _all_players(session, wanted, "--switch", str(switch.build(session.work))) as players:
        eager = _eager(session, players)
        _switched_by_ctl(session, {setting: players[setting, 0] for setting in JUDGED})
    traces = [player.traces() for (setting, _), player in players.items() if setting == "windows"]
    facts = session.facts(itertools.chain(*traces))
    session.figures["cost: windows, as the recorder has it"] = facts
    waited = _waited(facts)
    for setting in JUDGED if waited else ("counts",):
        _judge_eager(session, setting, eager[setting])
    if not waited:
        processes(session, "eager")


def graphs(session: Session) -> None:
    """The decoder as a CUDA graph; each round has processes of its own."""
    session.need(GRAPH_SECONDS)
    graph: dict[str, list[Pairs]] = {setting: [] for setting in JUDGED}
    numbers = range(GRAPH_PLAYERS, GRAPH_PLAYERS + GRAPH_ROUNDS)
    wanted = [(setting, number) for number in numbers for setting in ("none", *JUDGED)]
    with _all_players(session, wanted) as players:
        for number in numbers:
            these = {setting: player for (setting, of), player in players.items() if of == number}
            for setting in JUDGED:
                graph[setting].append(_against(these, setting, "graph", GRAPH_TURNS))
    facts = session.facts(itertools.chain(*(players["windows", n].traces() for n in numbers)))
    session.figures["cost: windows, graph, as the recorder has it"] = facts
    waited = _waited(facts)
    for setting in JUDGED if waited else ("counts",):
        each = [statistics.median(w / b - 1 for b, w in pairs) for pairs in graph[setting]]
        name = f"{setting}, graph, against no shim"
        cost = _cost_of_turns(graph[setting])
        _conclude(session, name, setting, cost, rounds=len(each), of_rounds=each)
    if not waited:
        processes(session, "graph")


def printed(session: Session) -> None:
    """What has no limit: being attached to CUPTI, and a record of every kernel."""
    session.need(PRINTED_SECONDS)
    with _players(session, ("none", *PRINTED), 0) as players:
        for setting in PRINTED:
            for mode in MODES:
                pairs = _against(players, setting, mode, PRINTED_TURNS[mode])
                name = f"cost: {setting}, {mode}, against no shim"
                session.figures[name] = _cost_of_turns([pairs])._asdict()


def _waited(facts: list[str]) -> bool:
    """Did the recorder decide against CUPTI in every process?"""
    return any(f.startswith("cupti: waiting:") for f in facts) and "cupti: windows" not in facts


def _judge_eager(session: Session, setting: str, processes: list[switch.StepCost]) -> None:
    """Products with the hooks against those without; unclear where the method finds a difference
    between what is alike. It is asked that with more confidence than the cost: twice a run, 0.95
    would be wrong in one run of ten."""
    each = [one.added / one.step for one in processes]
    of_alike = [one.alike / one.step for one in processes]
    cost = intervals.of_processes(each)
    alike = intervals.of_processes(of_alike, ALIKE_CONFIDENCE)
    step_ns = statistics.median(one.step for one in processes)
    nothing_left_out = intervals.of_processes([one.mean_added / one.step for one in processes])
    name = f"{setting}, eager, with the hooks and without between products"
    how = {
        "alike": alike._asdict() | {"of_processes": of_alike},
        "step_ns": step_ns,
        "of_processes": each,
        "nothing_left_out": nothing_left_out._asdict(),
    }
    details = {"processes_ns": [one._asdict() for one in processes]}
    session.figures[f"cost: {name}"] = cost._asdict() | how | details
    ok = intervals.judge(cost, LIMITS[setting]) if alike.lo <= 0 <= alike.hi else None
    if nothing_left_out.lo > LIMITS[setting]:
        ok = False
    session.check(f"cost: {name}", ok, limit=LIMITS[setting], **cost._asdict(), **how)
    _tell_kinds(session, setting, processes)
    added = session.known("ns added to cublasGemmEx, events, against an empty preload")
    if added:
        calls = session.figures[f"calls of an eager step, {setting}"]
        share = calls * added["value"] / step_ns
        session.figures[f"cost: {setting}, eager, predicted by the price of a call"] = share


def _tell_kinds(session: Session, setting: str, processes: list[switch.StepCost]) -> None:
    """Of what a step's cost is made up."""
    for kind, what in KINDS.items():
        ns = [getattr(one, kind) for one in processes]
        if None not in ns:
            name = f"ns added to {what} of the eager decoder, {setting}"
            session.figures[name] = intervals.of_processes(ns)._asdict()


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


def _decode(session: Session, setting: str, mode: str, number: int) -> list[float]:
    """Means of stretches of a whole process."""
    name = f"cost-{setting}-{mode}-{number}"
    folder = session.work / name
    folder.mkdir(parents=True, exist_ok=True)
    times = folder / "steps.txt"
    loop = (*DECODER, "--mode", mode, "--seconds", str(STRETCH_SECONDS), "--step-times", str(times))
    words = _words(session, setting, folder) + session.workload("decoder", *loop)
    status = session.plain(name, words, env=STILL)
    if status != 0:
        raise RuntimeError(f"{name}: exit status {status}")
    return intervals.blocks([duration for _, duration in step_times(times)[mode]], BLOCKS)


def processes(session: Session, mode: str, rounds_max: int = 6) -> None:
    """Windows that attached, in one mode of the decoder: as many rounds as the time holds."""
    settings = ["none", "windows"]
    rounds: list[dict[str, list[float]]] = []
    while len(rounds) < rounds_max:
        needed = PROCESS_SECONDS * len(settings)
        if len(rounds) >= ROUNDS_MIN and session.left() < needed:
            break
        session.need(needed)
        order = settings[:: -1 if len(rounds) % 2 else 1]
        number = len(rounds)
        rounds.append({setting: _decode(session, setting, mode, number) for setting in order})
    traces = sorted((session.work / f"cost-windows-{mode}-{len(rounds) - 1}" / "traces").glob("*.twt"))
    name = f"cost: windows, {mode}, processes, as the recorder has it"
    session.figures[name] = session.facts(traces)
    pairs = [(one["none"], one["windows"]) for one in rounds]
    cost = _cost(intervals.ratio_of_rounds(pairs))
    _conclude(session, f"windows, {mode}, against no shim", "windows", cost, rounds=len(rounds))


def _conclude(
    session: Session, name: str, setting: str, cost: intervals.Interval, **how
) -> None:
    session.figures[f"cost: {name}"] = cost._asdict() | how
    ok = intervals.judge(cost, LIMITS[setting])
    session.check(f"cost: {name}", ok, limit=LIMITS[setting], **cost._asdict(), **how)


def _settled(batches: list[float]) -> float:
    """A quarter of the batches took less: what a call takes when nothing else gets in its way."""
    return statistics.quantiles(batches, n=4)[0]


def _call_cost(session: Session, setting: str, number: int) -> dict[str, dict]:
    """What one process of call_cost.c printed."""
    name = f"call-{setting}-{number}"
    words = [str(session.tools / "call_cost"), str(CALL_COST_BATCHES)]
    environment = {"LD_PRELOAD": str(session.tools / "empty_preload.so")}
    if setting != "empty":
        events = "on" if setting == "events" else "off"
        traces = session.work / name / "traces"
        words = session.record(traces, "--gpu-time=off", f"--events={events}") + words
        words += [switch.places(session.shim), str(session.tools / "call_direct.so")]
        environment = {}
    status = session.plain(name, words, env=environment)
    if status != 0:
        raise RuntimeError(f"{name}: exit status {status}")
    return json.loads((session.work / name / "plan.json").read_text(encoding="utf-8"))


def calls(session: Session, rounds: int = 4) -> None:
    """ns per call: what recording adds, off and on in one process; what the hook takes while off,
    against a preload that does nothing; both together."""
    settings = ("empty", "counts", "events")
    session.need(CALL_COST_SECONDS * rounds * len(settings))
    measured = []
    for number in range(rounds):
        order = settings if number % 2 else settings[::-1]
        measured.append({setting: _call_cost(session, setting, number) for setting in order})
    _cold(session, [m[setting]["cold"] for m in measured for setting in ("counts", "events")])
    for routine, one in measured[0]["empty"].items():
        empty = [_settled(m["empty"][routine]["off"]) for m in measured]
        off = [_settled(m["events"][routine]["off"]) for m in measured]
        _ns(session, f"ns of the hook of {routine} while recording is off", empty, off)
        for setting in ("counts", "events"):
            rows = [m[setting][routine] for m in measured]
            off, on = ([_settled(row[state]) for row in rows] for state in ("off", "on"))
            _ns(session, f"ns added to {routine}, {setting}", off, on, m=one["m"])
            _ns(session, f"ns added to {routine}, {setting}, against an empty preload", empty, on)


def _cold(session: Session, processes: list[dict]) -> None:
    """Each call was made in three ways, one after the other."""

    def added(base: str, changed: str) -> list[float]:
        return [
            statistics.median(c - b for b, c in zip(one[base], one[changed], strict=True))
            for one in processes
        ]

    nothing, m = [0.0] * len(processes), processes[0]["m"]
    direct = [statistics.median(one["direct"]) for one in processes]
    _ns(session, "ns of a product and its setters without the shim, caches emptied", nothing, direct, m=m)
    _ns(session, WHILE_OFF, nothing, added("direct", "off"), m=m)
    name = "ns added to a product and its setters by recording, caches emptied"
    _ns(session, name, nothing, added("off", "on"), m=m)


def _ns(session: Session, name: str, base: list[float], changed: list[float], **how) -> None:
    added = intervals.median_difference(list(zip(base, changed, strict=True)))
    session.figures[name] = added._asdict() | how


CASES = {
    "cost-calls": calls,
    "cost-turns": turns,
    "cost-graphs": graphs,
    "cost-printed": printed,
}
