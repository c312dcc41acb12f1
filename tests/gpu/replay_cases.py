# SPDX-License-Identifier: Apache-2.0
"""The cases of the replay on a GPU: workloads are recorded and replayed in the same run on the same
card: two cards of one model may differ in speed, and no trace tells them apart.

Limits are those of the issue; what has no data is null and does not pass.
"""

import json
import os
import pathlib
import re
import shutil
import statistics
import subprocess

from session import Session

TOTAL_ERROR_MAX = 0.02  # in order, of the time of all kernels of the calls
SHAPE_ERROR_MAX = 0.03  # median over signatures
LISTED_ERROR = 0.06  # above: listed one by one
SHORT_NS = 5_000  # of a call
NOISE_MAX, NOISE_FROM_NS = 0.005, 20_000
SAME_CALLS_MIN = 0.98
ADD_MIN, ADD_BASES = 0.97, ("cublas", "memcpy")
WORKLOADS = {  # seconds: to record it
    "graph-16": ("--mode", "graph", "--batch", "16", "--steps", "120", "--hidden", "4096"),
    "graph-64": ("--mode", "graph", "--batch", "64", "--steps", "120", "--hidden", "4096"),
    "prefill": ("--mode", "eager", "--batch", "16", "--steps", "8", "--hidden", "4096"),
}
RECORD_SECONDS = 25
BUDGET_S = {"graph-16": 60, "graph-64": 35, "prefill": 30, "shapes": 50, "samples": 10}
# The library alone, where the kernels would take most of the time: an instrument for another device.
LIBRARY_ONLY = ("--kernel", "null")
WITH_KERNELS = ("graph-16",)
START_SECONDS = 6  # of one replay, beside its budget: the probe of the device
WRONG_LEAST = 50  # different wrong kernels that must be offered, and found
HERE = pathlib.Path(__file__).resolve().parent
SAMPLES = HERE.parents[1] / "traces" / "samples"
# Each shape shows some of the faults of wrong_candidates.cu; all of them together show all.
WRONG_SHAPES = (
    "NN:40x24x50:10",
    "NN:32x32x32:10:ao",
    "NN:33x17x20:10:bg",
    "NN:48x40x600:10",
    "TN:40x24x50:10",
    "TN:9x30x70:10:g",
)
WRONG_BATCH = "TN:20x19x33x3:10:g"
WRONG_ADDS = (
    "cublasSaxpy_v2:f32:NN:100x1x1:10",
    "cublasSaxpy_v2:f32:NN:101x1x1:10:a",
    "cublasAxpyEx:f16:NN:100x1x1:10",
    "cublasAxpyEx:bf16:NN:100x1x1:10",
    "cublasAxpyEx:bf16:NN:101x1x1:10:a",
    "cublasSgeam:f32:NN:20x30x1:10:g",
)
SANITIZED = ("cublasGemmEx:bf16:TN:64x16x64:10", "cublasSgemm_v2:f32:NN:48x40x56:10")


def _text(session: Session, name: str, words: list[str], seconds: float) -> tuple[int, str]:
    """Exit status and all that it said; kept in the folder of the session."""
    session.need(min(seconds, 20))
    limit = max(5.0, min(seconds * 1.5 + 10, session.left()))
    with open(session.work / f"{name}.txt", "w+", encoding="utf-8") as said:
        done = subprocess.run(
            words,
            stdout=said,
            stderr=subprocess.STDOUT,
            timeout=limit,
            check=False,
            cwd=session.work,
        )
        said.seek(0)
        return done.returncode, said.read()


def _replay(
    session: Session, name: str, traces: list[pathlib.Path], *options: str, budget_s: float
) -> dict:
    """Replay; the JSON report of traces and result."""
    result = session.work / f"{name}.twr"
    budget_s = min(budget_s, max(5.0, session.left() - START_SECONDS))
    words = [session.tilewise, "replay", "--device", "cuda", "--budget", f"{budget_s:.0f}"]
    words += ["-o", str(result), *options, *map(str, traces)]
    status, text = _text(session, name, words, budget_s + START_SECONDS)
    session.check(
        f"{name}: the replay ended well", status in (0, 1) and result.exists(), said=text[-1500:]
    )
    if not result.exists():
        raise RuntimeError(f"{name}: no result")
    session.figures[f"{name}: as printed"] = text.splitlines()[-60:]
    return session.report([*traces, result])


def _label(shape: dict) -> str:
    size = f"{shape['m']}x{shape['n']}x{shape['k']}x{shape['batch']}"
    return f"{shape['dtype']} {shape['op']} {size} {shape['trans']} {shape['entry']}"


def _measured(report: dict) -> list[dict]:
    return [s for s in report["shapes"] if s["baseline_ns"]["recorded"] is not None]


def _noise(session: Session, name: str, report: dict) -> None:
    long = [s for s in _measured(report) if s["baseline_ns"]["recorded"] > NOISE_FROM_NS]
    noises = [(s["baseline_noise"], _label(s)) for s in long if s["baseline_noise"] is not None]
    session.check(
        f"{name}: A/A band <= 0.5 % on shapes above 20 us",
        bool(noises) and max(noises)[0] <= NOISE_MAX,
        above=[n for n in noises if n[0] > NOISE_MAX],
        shapes=len(noises),
        median=statistics.median(n[0] for n in noises) if noises else None,
    )


def _isolated(session: Session, name: str, report: dict) -> None:
    """Reported, not judged: an isolated loop is known to be optimistic."""
    found = report["fidelity"]
    session.figures[f"{name}: isolated fidelity"] = {
        "total": found["total"],
        "median_abs_error": found["median_abs_error"],
        "same_kernel_share": found["same_kernel_share"],
        "shapes": [
            {"shape": _label(s), "calls": s["calls"], **s["fidelity"]} for s in _measured(report)
        ],
    }
    session.check(
        f"{name}: kernel time is known on both sides",
        found["total"] is not None
        and not any(s["fidelity"]["by_events"] for s in _measured(report)),
        fidelity=found["total"],
    )
    session.check(
        f"{name}: the same kernels run", (found["same_kernel_share"] or 0) >= 0.95, **found
    )


def _why(shape: dict) -> str | None:
    """Why a shape's time may differ by more than LISTED_ERROR; None: nobody knows."""
    if shape["recorded_ns"] < SHORT_NS:
        return "so short that starting it, and what ran before, are most of its time"
    return None


def _of_all_passes(rows: list[dict], key: str) -> float:
    return sum(row[key] * row["repeats"] for row in rows)


def _in_order(session: Session, name: str, report: dict) -> None:
    """All stretches together, each as often as it was recorded."""
    every = report["fidelity"]["in_order"]
    session.figures[f"{name}: in-order fidelity"] = every
    rows = [row for row in every if row["status"] == "passed" and row["replayed_ns"]]
    shapes = [shape for row in rows for shape in row["shapes"] if shape["error"] is not None]
    times = [_of_all_passes(rows, key) for key in ("replayed_ns", "recorded_ns")]
    total = times[0] / times[1] if rows else None
    session.check(
        f"{name}: in order, all kernel time within 2 %",
        bool(rows) and len(rows) == len(every) and abs(total - 1) <= TOTAL_ERROR_MAX,
        total=total,
        stretches=[[row["source"], row["repeats"], row["total"], row["why"]] for row in every],
        isolated=report["fidelity"]["total"],
    )
    median = statistics.median(abs(shape["error"]) for shape in shapes) if shapes else None
    session.check(
        f"{name}: in order, median error of a signature <= 3 %",
        median is not None and median <= SHAPE_ERROR_MAX,
        median=median,
        isolated=report["fidelity"]["median_abs_error"],
    )
    large = [shape for shape in shapes if abs(shape["error"]) > LISTED_ERROR]
    listed = [{**shape, "why": _why(shape)} for shape in large]
    session.figures[f"{name}: in order, above 6 %"] = listed
    session.check(
        f"{name}: in order, each error above 6 % is explained",
        bool(shapes) and all(shape["why"] for shape in listed),
        listed=listed,
    )


def _recorded(session: Session, name: str) -> list[pathlib.Path]:
    folder = session.work / name / "traces"
    if not list(folder.glob("*.twt")):
        session.recorded(
            name,
            session.workload("decoder", *WORKLOADS[name]),
            gpu_time="full",
            logged=False,
            seconds=RECORD_SECONDS,
        )
    return sorted(folder.glob("*.twt"))


def _workload(name: str):
    def case(session: Session) -> None:
        traces = _recorded(session, name)
        options = ("--order=recorded", *(() if name in WITH_KERNELS else LIBRARY_ONLY))
        report = _replay(session, name, traces, *options, budget_s=BUDGET_S[name])
        _isolated(session, name, report)
        _in_order(session, name, report)
        _noise(session, name, report)
        session.figures[f"{name}: calls"] = _calls(report)

    return case


def _calls(report: dict) -> dict[str, str]:
    """FASTER, SAME, SLOWER or UNCLEAR of every candidate that was timed."""
    return {
        f"{_label(shape)}: {one['name']}": one["call"]
        for shape in _measured(report)
        for one in shape["candidates"]
        if one["call"] is not None
    }


def again(session: Session) -> None:
    """The whole comparison once more: the same call for every shape and candidate."""
    traces = _recorded(session, "graph-16")
    first = session.figures.get("graph-16: calls")
    if first is None:
        report = _replay(session, "graph-16", traces, budget_s=BUDGET_S["graph-16"])
        first = _calls(report)
    second = _calls(_replay(session, "again", traces, budget_s=BUDGET_S["graph-16"]))
    both = sorted(first.keys() & second.keys())
    other = {key: [first[key], second[key]] for key in both if first[key] != second[key]}
    share = 1 - len(other) / len(both) if both else None
    session.check(
        "again: the same call for at least 98 % of the shapes",
        share is not None and share >= SAME_CALLS_MIN,
        share=share,
        compared=len(both),
        only_once=len(first.keys() ^ second.keys()),
        other=other,
    )


def _make(session: Session, name: str, calls: list[str]) -> pathlib.Path | None:
    """A trace of calls that nobody made, by make_trace."""
    maker = pathlib.Path(session.tilewise).with_name("make_trace")
    path = session.work / f"{name}.twt"
    if not maker.exists():
        session.check(f"{name}: make_trace is built", False, wanted=str(maker))
        return None
    subprocess.run([str(maker), str(path), *calls], check=True)
    return path


def table(session: Session) -> None:
    """The recorded call against the best of the library, over the shapes measured before."""
    shapes = json.loads((HERE / "replay_shapes.json").read_text(encoding="utf-8"))["shapes"]
    calls = [f"cublasGemmEx:bf16:TN:{s['n']}x{s['m']}x{s['k']}:100" for s in shapes]
    trace = _make(session, "shapes", calls)
    if trace is None:
        return
    options = ("--time-share", "1", *LIBRARY_ONLY)
    report = _replay(session, "shapes", [trace], *options, budget_s=BUDGET_S["shapes"])
    rows = {(s["n"], s["m"], s["k"]): s for s in _measured(report)}
    found = []
    for s in shapes:
        row = rows.get((s["m"], s["n"], s["k"]))
        base = row["baseline_ns"] if row else {"recorded": None, "best": None}
        ratio = base["recorded"] / base["best"] if base["recorded"] and base["best"] else None
        found.append(
            {
                **{key: s[key] for key in ("m", "n", "k")},
                "recorded_us": base["recorded"] and base["recorded"] / 1000,
                "best_us": base["best"] and base["best"] / 1000,
                "routine": row and row["baseline_best"],
                "recorded_over_best": ratio,
                "earlier": s["default_over_best"],
                "noise": row and row["baseline_noise"],
            }
        )
    session.figures["shapes: recorded and best of the library"] = found
    known = [row for row in found if row["recorded_over_best"] is not None]
    session.check(
        "shapes: every shape is measured", len(known) == len(shapes), known=len(known)
    )
    session.check(
        "shapes: the best is never slower than the recorded call",
        bool(known) and all(row["recorded_over_best"] >= 0.995 for row in known),
    )
    _noise(session, "shapes", report)


def _kernels(session: Session) -> list[dict]:
    """The add kernels: checked bit for bit, then timed in turns against cuBLAS and a copy of as
    many bytes (kernels.c)."""
    build = pathlib.Path(session.tilewise).parents[1]
    programs = [build / "bin" / "gpu_kernels", build / "tests" / "gpu" / "gpu_kernels"]
    program = next((p for p in programs if p.exists()), None)
    if program is None:
        session.check("add: gpu_kernels is built", False, wanted=list(map(str, programs)))
        return []
    words = [str(program), "--only", "add_", "--check-only", "--cases", "200"]
    status, text = _text(session, "add-check", words, 15)
    checked = [row for row in _rows(text) if "checked" in row]
    session.check(
        "add: bit-exact on random shapes",
        status == 0 and bool(checked) and not any(row["wrong"] for row in checked),
        status=status,
        checked=checked,
        wrong=[row for row in _rows(text) if "seed" in row and "wrong" in row][:5],
    )
    words = [str(program), "--only", "add_", "--time-only", "--short"]
    status, text = _text(session, "add-times", words, 40)
    session.check("add: timed", status == 0 and '"ratio"' in text, said=text[-500:])
    return [row for row in _rows(text) if "ratio" in row]


def _rows(text: str) -> list[dict]:
    """The objects that a C program printed, one a line: what is no number there is None."""
    lines = [line for line in text.splitlines() if line.startswith("{")]
    return [json.loads(re.sub(r":-?(?:inf|nan)\b", ":null", line)) for line in lines]


def _torch_adds(text: str) -> dict[str, float]:
    """Of torch_add.py: microseconds by the name that gpu_kernels has for the same work."""
    names = {"float32": "f32", "float64": "f64", "float16": "f16", "bfloat16": "bf16"}
    found = {}
    for row in _rows(text):
        if "us" in row:
            rows, columns = [*reversed(row["shape"]), 1][:2]  # column-major, as BLAS has it
            found[f"{names[row['torch']]} add {rows}x{columns}"] = row["us"]
    return found


def add(session: Session) -> None:
    """y += alpha x against the best of cuBLAS, the traffic of a copy, and PyTorch. Ours is what
    tile.h calls: one kernel per type, whatever the size."""
    rows = _kernels(session)
    status, text = _text(session, "torch-add", [session.python, str(HERE / "torch_add.py")], 30)
    torch = _torch_adds(text)
    session.check("add: PyTorch is timed", status == 0 and bool(torch), said=text[-500:])
    cases: dict[str, dict] = {}
    for row in rows:
        if not re.fullmatch(r"add_\w+_cuda", row["kernel"]) or row["base"] not in ADD_BASES:
            continue
        found = cases.setdefault(row["case"], {"us": row["us"], "base_us": {}})
        found["base_us"][row["base"]] = row["us"] * row["ratio"]  # as in the same turns
        found["us"] = min(found["us"], row["us"])
    for case, found in cases.items():
        if case in torch:
            found["base_us"]["PyTorch"] = torch[case]
        found["share"] = min(found["base_us"].values()) / found["us"]
    session.figures["add: of the best of cuBLAS, copy and PyTorch"] = cases
    session.check(
        "add: at >= 0.97 of the best",
        bool(cases) and all(found["share"] >= ADD_MIN for found in cases.values()),
        below={case: f for case, f in cases.items() if f["share"] < ADD_MIN},
    )


def samples(session: Session) -> None:
    """Traces of other machines: they replay, and claim no fidelity."""
    traces = sorted(SAMPLES.glob("*.twt"))
    if not traces:
        session.figures["samples"] = None
        print("# samples: none in traces/samples", flush=True)
        return
    for trace in traces:
        name = f"sample-{trace.stem}"
        report = _replay(session, name, [trace], budget_s=BUDGET_S["samples"])
        runs = report["replays"]
        session.figures[name] = {
            "recorded on": runs[0].get("trace_device") if runs else None,
            "fidelity": report["fidelity"]["total"],
            "measured": len(_measured(report)),
        }


def _wrong_calls() -> list[str]:
    calls = list(WRONG_ADDS)
    for dtype in ("f32", "f16", "bf16", "tf32"):
        calls += [f"cublasGemmEx:{dtype}:{shape}" for shape in WRONG_SHAPES]
        calls.append(f"cublasGemmStridedBatchedEx:{dtype}:{WRONG_BATCH}")
    return calls


def _statuses(text: str) -> dict[str, set[str]]:
    """What `tilewise replay` prints of candidates: the statuses that each was given."""
    found: dict[str, set[str]] = {}
    for name, status in re.findall(r"^\s+((?:wrong|right|varies)_\w+)\s+([\w-]+)", text, re.M):
        found.setdefault(name, set()).add(status)
    return found


def wrong(session: Session) -> None:
    """Kernels that are wrong in one way each (wrong_candidates.cu) fail; right ones pass."""
    plugin = pathlib.Path(session.shim).with_name("libtilewise-wrong-cuda.so")
    if not plugin.exists():
        session.check("wrong: the plug-in is built", False, wanted=str(plugin))
        return
    trace = _make(session, "wrong", _wrong_calls())
    if trace is None:
        return
    words = [session.tilewise, "replay", "--device", "cuda", "--mode", "check"]
    words += ["--time-share", "1", "--candidate", str(plugin), str(trace)]
    status, text = _text(session, "wrong", words, 60)
    found = _statuses(text)
    missed = {n: sorted(s) for n, s in found.items() if n[:5] == "wrong" and s != {"failed"}}
    blamed = {n: sorted(s) for n, s in found.items() if n[:5] != "wrong" and s != {"passed"}}
    caught = sum(name.startswith("wrong") for name in found) - len(missed)
    session.figures["wrong: offered, of them found"] = [caught + len(missed), caught]
    session.check(
        f"wrong: every wrong kernel fails, {WRONG_LEAST} at least",
        status == 1 and caught >= WRONG_LEAST and not missed,
        status=status,
        missed=missed,
        found=caught,
        said=text[-300:],
    )
    session.check(
        "wrong: no right kernel fails",
        any(name.startswith("right") for name in found) and not blamed,
        blamed=blamed,
    )


def sanitizer(session: Session) -> None:
    """memcheck and racecheck over the verification of a short plan."""
    cuda = os.environ.get("CUDA_HOME", "/usr/local/cuda")
    program = shutil.which("compute-sanitizer") or f"{cuda}/bin/compute-sanitizer"
    trace = _make(session, "short", list(SANITIZED))
    if trace is None:
        return
    if not pathlib.Path(program).exists():
        session.check("compute-sanitizer is there", False, wanted=program)
        return
    for tool in ("memcheck", "racecheck"):
        words = [program, "--tool", tool, "--target-processes", "all", "--error-exitcode", "86"]
        words += [session.tilewise, "replay", "--device", "cuda", "--mode", "check"]
        words += ["--time-share", "1", "--budget", "40", str(trace)]
        status, text = _text(session, tool, words, 30)
        counts = [int(n) for n in re.findall(r"ERROR SUMMARY: (\d+) error", text)]
        hazards = [int(n) for n in re.findall(r"RACECHECK SUMMARY: (\d+) hazard", text)]
        found = counts + hazards
        session.check(
            f"{tool}: clean on a short plan",
            status == 0 and bool(found) and sum(found) == 0,
            status=status,
            summaries=len(found),
            found=sum(found),
            said=text[-1200:],
        )


CASES = {
    **{name: _workload(name) for name in WORKLOADS},
    "again": again,
    "shapes": table,
    "add": add,
    "samples": samples,
    "wrong": wrong,
    "sanitizer": sanitizer,
}
