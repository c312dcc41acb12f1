# SPDX-License-Identifier: Apache-2.0
"""One capture: where things are, how programs are run under the shim, and the checks so far."""

import copy
import dataclasses
import json
import os
import pathlib
import subprocess
import time
from collections.abc import Iterable, Mapping

import ground_truth

PATIENCE = 4
WORKLOADS = pathlib.Path(__file__).resolve().parent / "workloads"


class OutOfTime(RuntimeError):
    """The capture's time does not hold this step."""


@dataclasses.dataclass
class Check:
    """ok: passed, failed, or None: could not be told apart from its limit (not passed)."""

    name: str
    ok: bool | None
    detail: dict
    case: str = ""


@dataclasses.dataclass
class Recording:
    """A workload under the shim. report: of `tilewise report`; truth: of the vendors' loggers."""

    folder: pathlib.Path
    status: int
    seconds: float
    plan: dict
    report: dict
    truth: ground_truth.Truth

    def traces(self) -> list[pathlib.Path]:
        return sorted((self.folder / "traces").glob("*.twt"))


def _with_text_keys(value):
    """As JSON wants it."""
    if isinstance(value, Mapping):
        return {
            key if isinstance(key, str) else str(key): _with_text_keys(one)
            for key, one in value.items()
        }
    return [_with_text_keys(one) for one in value] if isinstance(value, (list, tuple)) else value


class Session:
    def __init__(
        self, build: pathlib.Path, tools: pathlib.Path, work: pathlib.Path, minutes: float
    ):
        self.samples: dict[str, tuple[pathlib.Path, list[str]]] = {}  # name -> (trace, words)
        self.tilewise = str(build / "bin" / "tilewise")
        self.shim = str(build / "lib" / "libtilewise-tracer.so")
        self.tools, self.work = tools, work
        self.python = os.environ.get("PYTHON", "python3")
        self.checks: list[Check] = []
        self.case = ""  # the one that it is for
        self.figures: dict[str, object] = {}
        self.figure_cases: dict[str, str] = {}
        self.earlier: dict[str, object] = {}  # figures of the report that this run is taken into
        self._deadline = time.monotonic() + minutes * 60

    def left(self) -> float:
        return self._deadline - time.monotonic()

    def need(self, seconds: float) -> None:
        if self.left() < seconds:
            raise OutOfTime(f"{seconds:.0f} s needed, {max(0.0, self.left()):.0f} s left")

    def known(self, name: str):
        """A figure of this run, or else of an earlier one; None."""
        return self.figures.get(name, self.earlier.get(name))

    def of_case(self, name: str) -> "Session":
        """For one case, which may run beside others: what it finds is its own until `take_in`."""
        own = copy.copy(self)
        own.case = name
        own.checks, own.figures, own.earlier = [], {}, self.earlier | self.figures
        own.samples = dict(self.samples)
        return own

    def take_in(self, own: "Session") -> None:
        for check in own.checks:
            self._tell(check)
        self.figures |= own.figures
        self.figure_cases |= dict.fromkeys(own.figures, own.case)
        self.samples |= own.samples

    def check(self, name: str, ok: bool | None, **detail) -> None:
        self.checks.append(Check(name, ok, _with_text_keys(detail), self.case))

    def _tell(self, check: Check) -> None:
        self.checks.append(check)
        print(f"{'ok' if check.ok else 'not ok'} {len(self.checks)} - {check.name}", flush=True)
        if not check.ok:
            text = json.dumps(check.detail, default=str)
            print(f"# {'unclear: ' if check.ok is None else ''}{text[:2000]}", flush=True)

    def workload(self, name: str, *arguments: str) -> list[str]:
        return [self.python, str(WORKLOADS / f"{name}.py"), *arguments]

    def record(self, folder: pathlib.Path, *options: str) -> list[str]:
        """The words that record a command into `folder`."""
        return [self.tilewise, "record", "-o", str(folder), *options, "--"]

    def keep(self, name: str, recording: Recording, words: list[str]) -> None:
        """Offer the largest trace of a recording as the sample `name`; words: how it was made."""
        traces = recording.traces()
        if traces:
            self.samples[name] = (max(traces, key=lambda path: path.stat().st_size), words)

    def environment(self, all_gpus: bool = False) -> dict[str, str]:
        """One GPU, whatever the machine has, unless a case wants all of them."""
        visible = os.environ.get("CUDA_VISIBLE_DEVICES") or "0"
        one = {} if all_gpus else {"CUDA_VISIBLE_DEVICES": visible.split(",")[0]}
        return {"TILEWISE_SHIM": self.shim} | one

    def cards(self) -> list[str]:
        """The names of the GPUs that a program may use."""
        command = ["nvidia-smi", "--query-gpu=name", "--format=csv,noheader"]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        names = done.stdout.splitlines()
        visible = os.environ.get("CUDA_VISIBLE_DEVICES")
        return names[: len(visible.split(","))] if visible else names

    def report(self, traces: Iterable[pathlib.Path]) -> dict:
        paths = [str(path) for path in traces]
        if not paths:
            return {"trace": {}, "shapes": []}
        command = [self.tilewise, "report", "--format=json", *paths]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode not in (0, 1):
            raise RuntimeError(f"tilewise report: {done.stderr.strip()}")
        return json.loads(done.stdout)

    def facts(
        self,
        traces: Iterable[pathlib.Path],
        keys: tuple[str, ...] = ("GPU:", "cupti:", "gpu_time_cost:"),
    ) -> list[str]:
        """What traces say; as a rule what the recorder says of GPU time."""
        command = [self.tilewise, "info", *map(str, traces)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        lines = [line.strip() for line in done.stdout.splitlines()]
        return [line for line in lines if line.startswith(keys)]

    def recorded(
        self,
        name: str,
        command: list[str],
        *,
        also: Iterable[str] = (),
        gpu_time: str = "off",
        options: Iterable[str] = (),
        logged: bool = True,
        all_gpus: bool = False,
        seconds: float = 20,
    ) -> Recording:
        """Run one workload under the shim, with the vendors' loggers on unless logged is False.
        seconds: what it takes as a rule; it is stopped after several times as long."""
        self.need(seconds)
        folder = self.work / name
        traces = folder / "traces"
        words = self.record(traces, f"--gpu-time={gpu_time}", *options) + command
        start = time.monotonic()
        if logged:
            environment = self.environment(all_gpus)
            status = ground_truth.run(
                folder, also, words, env=environment, timeout=PATIENCE * seconds
            )
        else:
            status = self.plain(name, words, seconds=seconds)
        taken = time.monotonic() - start
        recording = Recording(
            folder, status, taken, ground_truth.plan_of(folder), {}, ground_truth.load(folder)
        )
        recording.report = self.report(recording.traces())
        self.check(f"{name}: the program ran", status == 0, status=status, seconds=taken)
        self._adds_up(name, recording)
        return recording

    def plain(
        self,
        name: str,
        command: list[str],
        *,
        env: Mapping[str, str] | None = None,
        seconds: float = 10,
    ) -> int:
        """Run without loggers; stdout goes to the plan of `name`."""
        self.need(seconds)
        folder = self.work / name
        folder.mkdir(parents=True, exist_ok=True)
        with open(folder / "plan.json", "wb") as plan:
            environment = os.environ | self.environment() | (env or {})
            return ground_truth.finish(
                command, stdout=plan, env=environment, timeout=PATIENCE * seconds
            )

    def _adds_up(self, name: str, recording: Recording) -> None:
        trace = recording.report["trace"]
        dropped = sum(trace.get("dropped", {}).values())
        self.check(
            f"{name}: seen = recorded + dropped, nothing dropped",
            trace.get("seen", 0) > 0 and trace["seen"] == trace["recorded"] and dropped == 0,
            trace=trace,
        )

    def compare(self, name: str, recording: Recording, ops: Iterable[str]) -> None:
        found = ground_truth.compare(recording.truth.counts, recording.report["shapes"], ops)
        found["difference_count"] = len(found["differences"])
        found["differences"] = found["differences"][:20]
        found["routines"] = dict(recording.truth.routines.most_common())
        self.check(name, ground_truth.agrees(found), **found)
