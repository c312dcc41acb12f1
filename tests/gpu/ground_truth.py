#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the vendor's own loggers saw, held against what a trace says.

  ground_truth.py run -o DIR [--also cudnn,nccl] -- CMD...
                                       run CMD with the loggers on; its stdout goes to DIR/plan.json
  ground_truth.py show DIR             the multiset of calls as JSON, largest count first
  ground_truth.py compare DIR REPORT.json [--ops gemm,gemv]
                                       exit 1 and a list of differences unless both agree

REPORT.json is the output of `tilewise report --format=json` or `tilewise info --format=json`.
Calls inside CUDA graphs are logged once and counted by their launches: see marks.py. The last line
of a workload's stdout is its plan, {"replays": {"0": 200}, ...}.

The cuBLAS log is written without a lock: a program that calls from several threads at once tears it,
which is refused here. Such a program needs a plan of its own to be held against.
"""

import argparse
import contextlib
import json
import os
import pathlib
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable, Mapping

import cudnn_log
import marks
import nccl_log
import vendor_log
from vendor_log import Call

MATRIX_OPS = ("gemm", "gemv")
REQUIRED = ("op", "dtype", "m", "n", "k", "batch")
# Further fields of a signature, compared when every row of the trace has them.
OPTIONAL = (
    "trans", "routine", "dtype_a", "dtype_b", "dtype_d", "compute", "scale", "batch_kind",
    "lda", "ldb", "ldc", "ldd", "stride_a", "stride_b", "stride_c", "stride_d", "epilogue",
)  # fmt: skip


def log_environment(folder: pathlib.Path, also: Iterable[str]) -> dict[str, str]:
    wanted = {
        "CUBLAS_LOGINFO_DBG": "1",
        "CUBLAS_LOGDEST_DBG": f"{folder}/cublas.log",
        "CUBLASLT_LOG_MASK": "2",  # launches only
        "CUBLASLT_LOG_FILE": f"{folder}/cublaslt.%i.log",
    }
    if "cudnn" in also:
        wanted |= {"CUDNN_LOGLEVEL_DBG": "3", "CUDNN_LOGDEST_DBG": f"{folder}/cudnn.log"}
    if "nccl" in also:
        wanted |= {"NCCL_DEBUG": "INFO", "NCCL_DEBUG_SUBSYS": "COLL"}
        wanted |= {"NCCL_DEBUG_FILE": f"{folder}/nccl.%p.log"}
    return wanted


def finish(command: list[str], timeout: float | None = None, **options) -> int:
    """The exit status; options: Popen's. What it started ends with it when it takes too long: it would
    disturb what is measured next."""
    child = subprocess.Popen(command, start_new_session=True, **options)
    try:
        return child.wait(timeout)
    except BaseException:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child.pid, signal.SIGKILL)
        child.wait()
        raise


def run(folder: pathlib.Path, also: Iterable[str], command: list[str], **options) -> int:
    """Run the command with the loggers on and its stdout in plan.json; options: those of finish."""
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.glob("*.log"):
        old.unlink()
    environment = os.environ | log_environment(folder, also) | options.pop("env", {})
    with open(folder / "plan.json", "wb") as plan:
        return finish(command, stdout=plan, env=environment, **options)


def expand(calls: Iterable[Call], replays: Mapping[int, int]) -> Counter:
    """Every call once, those between the marks of graph g replays[g] times."""
    counts: Counter = Counter()
    weight, open_graph = 1, None
    for call in calls:
        mark = marks.read(call.dtype_a, call.m, call.n, call.k)
        if mark is None:
            counts[call] += weight
            continue
        counts[call] += 1
        graph, ends = divmod(mark, 2)
        if ends != (open_graph is not None) or (ends and graph != open_graph):
            raise vendor_log.Malformed(f"mark {mark} out of order")
        open_graph = None if ends else graph
        weight = 1 if ends else replays[graph]
    if open_graph is not None:
        raise vendor_log.Malformed(f"the capture of graph {open_graph} has no end")
    return +counts


class Truth:
    """counts: calls by content (Call, Executed, Collective). routines: every logged BLAS routine,
    those that cuBLAS itself calls in cuBLASLt included."""

    def __init__(self, folder: pathlib.Path, replays: Mapping[int, int]):
        self.counts: Counter = Counter()
        self.routines: Counter = Counter()
        for path in sorted(folder.glob("*.log")):
            with open(path, encoding="utf-8", errors="replace") as lines:
                self._read(path.name.split(".")[0], lines, replays)

    def _read(self, library: str, lines: Iterable[str], replays: Mapping[int, int]) -> None:
        if library == "cudnn":
            self.counts += cudnn_log.executed(lines)
        elif library == "nccl":
            self.counts += nccl_log.collectives(lines)
        else:
            reader = vendor_log.CublasLog if library == "cublas" else vendor_log.CublasLtLog
            log = reader(lines)
            self.counts += expand(log.calls, replays)
            self.routines += log.routines


def plan_of(folder: pathlib.Path) -> dict:
    """The last line that the workload printed; libraries may print before it."""
    path = folder / "plan.json"
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    return json.loads(lines[-1]) if lines else {}


def load(folder: pathlib.Path) -> Truth:
    replays = plan_of(folder).get("replays", {})
    return Truth(folder, {int(graph): count for graph, count in replays.items()})


def truth_row(call) -> dict:
    row = {"k": 1, "batch": 1} | call._asdict()
    if isinstance(call, Call):
        row["dtype"] = call.dtype_c
        row["trans"] = call.trans_a if call.op == "gemv" else call.trans_a + call.trans_b
    return row


def trace_row(shape: Mapping) -> dict:
    """A row of `shapes` in the words of a Call: gemv has one transpose."""
    row = {key: value for key, value in shape.items() if value is not None}
    if "entry" in row:
        row["routine"] = row.pop("entry")
    if "ld" in row:
        row |= dict(zip(("lda", "ldb", "ldc"), row.pop("ld"), strict=True))
    if row["op"] == "gemv" and "trans" in row:
        row["trans"] = row["trans"][0]
    return row


def project(rows: Iterable[tuple[dict, int]], fields: Iterable[str]) -> Counter:
    counts: Counter = Counter()
    for row, calls in rows:
        counts[tuple(row[field] for field in fields)] += calls
    return counts


def compare(
    counts: Mapping[tuple, int], shapes: Iterable[Mapping], ops: Iterable[str] = MATRIX_OPS
) -> dict:
    """Differences between the truth and a trace's rows, on every field that both have."""
    rows = [(trace_row(shape), shape["calls"]) for shape in shapes if shape["op"] in ops]
    truths = [(truth_row(call), count) for call, count in counts.items() if call.op in ops]
    everything = [row for row, _ in rows + truths]
    missing = [field for field in REQUIRED if any(field not in row for row in everything)]
    if missing:
        raise ValueError(f"rows of the trace have no {', '.join(missing)}")
    fields = [*REQUIRED, *(f for f in OPTIONAL if all(f in row for row in everything))]
    truth, trace = project(truths, fields), project(rows, fields)
    return {
        "compared_on": fields,
        "truth_calls": sum(truth.values()),
        "trace_calls": sum(trace.values()),
        "truth_rows": len(truth),
        "trace_rows": len(trace),
        "differences": [
            dict(zip(fields, key, strict=True)) | {"truth": truth[key], "trace": trace[key]}
            for key in sorted(set(truth) | set(trace), key=str)
            if truth[key] != trace[key]
        ],
    }


def agrees(found: Mapping) -> bool:
    """Nothing differs, and there was something that could."""
    return not found["differences"] and found["truth_calls"] > 0


def show(truth: Truth) -> dict:
    return {
        "calls": sum(truth.counts.values()),
        "routines": dict(truth.routines.most_common()),
        "shapes": [truth_row(call) | {"calls": n} for call, n in truth.counts.most_common()],
    }


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(dest="verb", required=True)
    verb = commands.add_parser("run")
    verb.add_argument("-o", dest="folder", type=pathlib.Path, required=True)
    verb.add_argument("--also", default="", help="cudnn, nccl (commas allowed)")
    verb.add_argument("command", nargs="+")
    verb = commands.add_parser("show")
    verb.add_argument("folder", type=pathlib.Path)
    verb = commands.add_parser("compare")
    verb.add_argument("folder", type=pathlib.Path)
    verb.add_argument("report", type=pathlib.Path)
    verb.add_argument("--ops", default=",".join(MATRIX_OPS))
    return parser.parse_args()


def main() -> int:
    given = arguments()
    if given.verb == "run":
        return run(given.folder, given.also.split(","), given.command)
    truth = load(given.folder)
    if given.verb == "show":
        json.dump(show(truth), sys.stdout, indent=1)
        print()
        return 0
    shapes = json.loads(given.report.read_text(encoding="utf-8"))["shapes"]
    found = compare(truth.counts, shapes, given.ops.split(","))
    json.dump(found, sys.stdout, indent=1)
    print()
    return 0 if agrees(found) else 1


if __name__ == "__main__":
    sys.exit(main())
