# SPDX-License-Identifier: Apache-2.0
"""The cases of the capture: every workload under the shim, held against the vendors' own logs.

What is read of a report beside the fields of its contract, for GPU time:
  trace.gpu   {"records", "dropped", "launches"}: kernel records of CUPTI, those it dropped, and the
              kernels launched (graph nodes times graph launches included)
              time_ns, attributed_ns: measured time of all kernels, of those of recorded calls
  shapes[]    gpu_time_ns: time of all kernels of all calls of this shape, those outside of
              windows supposed to have taken as long as the measured ones
  kernels[]   {"name", "launches"}: every kernel, with or without a hooked call
"""

import json
import math
import pathlib
import re
from collections import Counter
from collections.abc import Iterable

import nccl_log
from ground_truth import MATRIX_OPS
from session import Session

DECODER = ("--mode", "eager,graph", "--batch", "1,16,64", "--steps", "200")
TIMED_DECODER = ("--mode", "eager,graph", "--batch", "16", "--steps", "200")
# Kernels of the vendor's matrix libraries, by the names that they have had so far.
GEMM_KERNEL = re.compile(r"nvjet|gemm|cutlass.*_s\d+|splitK|gemv|cublas", re.IGNORECASE)
ATTRIBUTED_SHARE_MIN = 0.95
# The same work in two runs: kernel times repeat within a few per cent.
REPEATED_TIME_SHARE = 0.05
SAMPLE_BYTES_MAX = 200 << 10
# With a short prompt: a window that meets the prefill is not to tell of anything else.
STEADY_DECODER = ("--mode", "graph", "--batch", "16", "--prompt", "32", "--seconds", "8")
SHORT_DECODER = (*STEADY_DECODER[:-1], "4")
PREFILL = ("--mode", "eager", "--batch", "4", "--prompt", "512", "--steps", "1")


def eager(session: Session) -> None:
    recording = session.recorded("eager", session.workload("eager_ops"))
    session.compare("a: PyTorch eager, call for call", recording, MATRIX_OPS)
    session.figures["eager routines"] = dict(recording.truth.routines.most_common())
    recording = session.recorded(
        "threads", session.workload("eager_ops", "--part", "threads"), logged=False
    )
    wanted = sum(op["repeat"] for op in recording.plan.get("ops", []))
    got = sum(s["calls"] for s in recording.report["shapes"] if s["op"] == "gemm")
    session.check("a: calls of four threads", got == wanted > 0, wanted=wanted, got=got)


def decoder(session: Session) -> None:
    recording = session.recorded("decoder", session.workload("decoder", *DECODER), seconds=45)
    session.compare("b: decoder, eager and CUDA graphs, call for call", recording, MATRIX_OPS)
    session.figures["decoder"] = recording.plan.get("runs", [])
    session.figures["decoder routines"] = dict(recording.truth.routines.most_common())


def compiled(session: Session) -> None:
    recording = session.recorded(
        "compile", session.workload("decoder", "--mode", "compile", "--batch", "16"), seconds=45
    )
    session.compare("b: decoder, torch.compile, call for call", recording, MATRIX_OPS)
    session.figures["decoder compiled"] = recording.plan.get("runs", [])


def reference(session: Session, name: str, command: list[str]) -> dict:
    """Kernel totals of the same command from kernel_times.c, summed over its processes."""
    folder = session.work / name
    folder.mkdir(parents=True, exist_ok=True)
    environment = {
        "CUDA_INJECTION64_PATH": str(session.tools / "kernel_times.so"),
        "KERNEL_TIMES": str(folder),
    }
    session.plain(name, command, env=environment)
    total: dict = {
        "kernels": 0,
        "dropped": 0,
        "untimed": 0,
        "launches": Counter(),
        "time_ns": Counter(),
    }
    for path in folder.glob("kernel_times.*.json"):
        one = json.loads(path.read_text(encoding="utf-8"))
        for field in ("kernels", "dropped", "untimed"):
            total[field] += one[field]
        for kernel in one["names"]:
            total["launches"][kernel["name"]] += kernel["launches"]
            total["time_ns"][kernel["name"]] += kernel["time_ns"]
    return total


def gpu_time(session: Session) -> None:
    command = session.workload("decoder", *TIMED_DECODER)
    recording = session.recorded("gpu-time", command, gpu_time="full", logged=False)
    wanted = reference(session, "kernel-times", command)
    got = recording.report["trace"].get("gpu") or {}
    launched = wanted["kernels"] + wanted["dropped"]
    session.check(
        "b: kernel records + dropped = launches, as an independent count has it",
        got.get("records", 0) + got.get("dropped", 0) == got.get("launches") == launched > 0,
        wanted=launched,
        got=got,
    )
    _names(session, recording.report, wanted)
    _attributed(session, recording.report, wanted)


def _names(session: Session, report: dict, wanted: dict) -> None:
    got: Counter = Counter()
    for kernel in report.get("kernels", []):
        got[kernel["name"]] += kernel["launches"]
    wrong = [
        {"name": name, "wanted": wanted["launches"][name], "got": got[name]}
        for name in sorted(set(got) | set(wanted["launches"]))
        if got[name] != wanted["launches"][name]
    ]
    session.check(
        "b: every kernel counted by name", bool(got) and not wrong, names=len(got), wrong=wrong[:20]
    )


def _attributed(session: Session, report: dict, wanted: dict) -> None:
    gemm_ns = sum(ns for name, ns in wanted["time_ns"].items() if GEMM_KERNEL.search(name))
    shapes = [shape for shape in report["shapes"] if shape["op"] in MATRIX_OPS]
    attributed_ns = sum(shape.get("gpu_time_ns") or 0 for shape in shapes)
    share = attributed_ns / gemm_ns if gemm_ns else 0.0
    session.figures["GEMM kernel time attributed"] = share
    session.figures["GEMM share of GPU time"] = gemm_ns / max(1, sum(wanted["time_ns"].values()))
    session.check(
        "b: GEMM kernel time attributed to signatures",
        ATTRIBUTED_SHARE_MIN <= share <= 1 + REPEATED_TIME_SHARE,
        share=share,
        attributed_ns=attributed_ns,
        gemm_ns=gemm_ns,
    )


def windows(session: Session) -> None:
    """What a few short windows say of where GPU time goes, against a record of everything."""
    command = session.workload("decoder", *STEADY_DECODER)
    # Being attached to CUPTI costs launches of graphs more than the default budget.
    few = session.recorded(
        "windows", command, gpu_time="windows", options=["--gpu-budget=0.1"], logged=False
    )
    options = "--gpu-time=windows --gpu-budget=0.1"
    session.keep("llm-decode-graph", few, [options, "decoder", *STEADY_DECODER])
    session.figures["windows, as the recorder has it"] = session.facts(few.traces())
    command = session.workload("decoder", *SHORT_DECODER)
    every = session.recorded("windows-full", command, gpu_time="full", logged=False)
    _agree(session, few.report, every.report)


def _agree(session: Session, few: dict, every: dict) -> None:
    """Of the measured time of kernels: the share of those of recorded calls."""
    gpu, full = (report["trace"].get("gpu") or {} for report in (few, every))
    got, wanted = (one.get("attributed_ns", 0) / (one.get("time_ns") or 1) for one in (gpu, full))
    session.figures["windows"] = gpu | {"share": got, "share_full": wanted}
    session.check(
        "b: windows and the full record agree on the share of recorded calls in GPU time (5 %)",
        gpu.get("windows", 0) > 0 and wanted > 0 and abs(got / wanted - 1) <= REPEATED_TIME_SHARE,
        windows=gpu,
        full=full,
        share=got,
        share_full=wanted,
    )
    streams = (gpu.get("timeline") or {}).get("streams", 0)
    session.check(
        "b: kernels of the windows took no longer than the windows",
        0 < gpu.get("time_ns", 0) <= gpu.get("window_s", 0) * 1e9 * streams,
        windows=gpu,
    )


def samples(session: Session) -> None:
    """Small traces of real work, for readers without a GPU; `windows` has made the first."""
    for name, workload, given in (
        ("llm-prefill-eager", "decoder", PREFILL),
        ("jax", "jax_matmul", ("--repeat", "5")),
    ):
        command = session.workload(workload, *given)
        recording = session.recorded(f"sample-{name}", command, gpu_time="full", logged=False)
        session.keep(name, recording, ["--gpu-time=full", workload, *given])
    traces = {name: path for name, (path, _) in session.samples.items()}
    cards = session.cards()
    named = {name: session.facts([path], ("gpu:",)) for name, path in traces.items()}
    session.check(
        "sample traces name the GPU",
        len(named) >= 3 and all(facts == [f"gpu: {cards[0]}"] for facts in named.values()),
        cards=cards,
        facts=named,
    )
    timed = {name: session.report([path])["trace"].get("gpu") for name, path in traces.items()}
    session.check(
        "sample traces have GPU time",
        len(timed) >= 3 and all(gpu and gpu["time_ns"] > 0 for gpu in timed.values()),
        gpu=timed,
    )
    sizes = {name: path.stat().st_size for name, path in traces.items()}
    session.check(
        "three sample traces, each below 200 KiB",
        len(sizes) >= 3 and max(sizes.values()) < SAMPLE_BYTES_MAX,
        bytes=sizes,
    )


def nvtx(session: Session) -> None:
    command = session.workload("nvtx_ops")
    recording = session.recorded("nvtx", command, options=["--nvtx"], logged=False)
    plan, report = recording.plan, recording.report
    phases = {phase["name"]: phase["entries"] for phase in report.get("phases") or []}
    wanted = plan.get("phases", {})
    session.check(
        "phases by NVTX ranges",
        bool(wanted) and all(phases.get(name) == entries for name, entries in wanted.items()),
        wanted=wanted,
        got=report.get("phases"),
    )
    adds = Counter({math.prod(row["size"]): row["calls"] for row in plan.get("adds", [])})
    got: Counter = Counter()
    for row in report["shapes"]:
        if row["op"] == "add":
            got[row["m"] * row["n"] * row["batch"]] += row["calls"]
    session.check(
        "additions by PyTorch's emit_nvtx, sizes and counts", got == adds != Counter(),
        wanted=adds, got=got,
    )  # fmt: skip


def other_hosts(session: Session) -> None:
    recording = session.recorded("jax", session.workload("jax_matmul"))
    session.compare("c: JAX, call for call", recording, MATRIX_OPS)
    recording = session.recorded("cupy", session.workload("cupy_matmul"))
    session.compare("c: CuPy, call for call", recording, MATRIX_OPS)


def cudnn(session: Session) -> None:
    recording = session.recorded("cudnn", session.workload("conv_attention"), also=["cudnn"])
    session.compare("d: cuDNN convolutions, call for call", recording, ["conv"])
    session.compare("d: cuDNN attention, call for call", recording, ["attention"])
    inside = sum(n for call, n in recording.truth.counts.items() if call.op in MATRIX_OPS)
    counted = sum(s["calls"] for s in recording.report["shapes"] if s["op"] in MATRIX_OPS)
    session.check(
        "d: products that cuDNN asks of cuBLASLt are not counted twice",
        counted == 0,
        made_by_cudnn=inside,
        counted=counted,
    )


def nccl(session: Session) -> None:
    command = session.workload("nccl_allreduce")
    recording = session.recorded("nccl", command, also=["nccl"], all_gpus=True)
    ranks = len(recording.plan.get("ranks", []))
    session.figures["NCCL ranks"] = ranks
    cards = len(session.cards())
    session.check(
        "e: a rank on each GPU of the machine", ranks == cards > 0, ranks=ranks, cards=cards
    )
    session.compare(f"e: NCCL over {ranks} GPU, call for call", recording, ["collective"])
    logs = recording.folder.glob("nccl.*.log")
    wanted = [calls for path in logs if (calls := _rank(path))]
    got = []
    for path in recording.traces():
        rows = [s for s in session.report([path])["shapes"] if s["op"] == "collective"]
        if rows:
            keys = [(str((s["dtype"], s["m"], s["n"])), s["calls"]) for s in rows]
            got.append(_sum(keys))
    key = str
    session.check(
        "e: sizes and counts of each rank",
        sorted(got, key=key) == sorted(wanted, key=key) and len(got) == ranks > 0,
        ranks=ranks,
        wanted=wanted,
        got=got,
    )


def _rank(path: pathlib.Path) -> dict[str, int]:
    with open(path, encoding="utf-8", errors="replace") as lines:
        calls = nccl_log.collectives(lines)
    return _sum((str((c.dtype, c.m, c.n)), n) for c, n in calls.items())


def _sum(pairs: Iterable[tuple[str, int]]) -> dict[str, int]:
    total: Counter = Counter()
    for key, count in pairs:
        total[key] += count
    return dict(sorted(total.items()))


def profiler(session: Session) -> None:
    command = session.workload("torch_profiler")
    session.plain("profiler-alone", command)
    alone = json.loads((session.work / "profiler-alone" / "plan.json").read_text() or "{}")
    recording = session.recorded("profiler", command, gpu_time="windows", logged=False)
    together = recording.plan
    same = all(alone.get(key) == together.get(key) for key in ("kernels", "names"))
    session.check(
        "PyTorch's profiler sees the same kernels", same and bool(alone), alone=alone, got=together
    )


CASES = {
    "a": eager,
    "b": decoder,
    "b-compile": compiled,
    "b-gpu-time": gpu_time,
    "c": other_hosts,
    "d": cudnn,
    "e": nccl,
    "profiler": profiler,
    "windows": windows,
    "samples": samples,
    "nvtx": nvtx,
}
