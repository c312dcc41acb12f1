# SPDX-License-Identifier: Apache-2.0
"""The cases of the capture: every workload under the shim, held against the vendors' own logs.

What is read of a report beside the fields of its contract, for GPU time:
  trace.gpu   {"records", "dropped", "launches"}: kernel records of CUPTI, those it dropped, and the
              kernels launched (graph nodes times graph launches included)
  shapes[]    gpu_time_ns: time of all kernels of the calls of this shape
  kernels[]   {"name", "launches"}: every kernel, with or without a hooked call
"""

import json
import re
from collections import Counter

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
    recording = session.recorded("nccl", session.workload("nccl_allreduce"), also=["nccl"])
    ranks = len(recording.plan.get("ranks", []))
    session.figures["NCCL ranks"] = ranks
    session.compare(f"e: NCCL over {ranks} GPU, call for call", recording, ["collective"])
    wanted = []
    for path in recording.folder.glob("nccl.*.log"):
        with open(path, encoding="utf-8", errors="replace") as lines:
            if calls := nccl_log.collectives(lines).total():
                wanted.append(calls)
    reports = [session.report([path]) for path in recording.traces()]
    per_file = [sum(s["calls"] for s in r["shapes"] if s["op"] == "collective") for r in reports]
    got = [calls for calls in per_file if calls]
    session.check(
        "e: collectives of each rank", sorted(got) == sorted(wanted) != [], wanted=wanted, got=got
    )


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
    "b-gpu-time": gpu_time,
    "c": other_hosts,
    "d": cudnn,
    "e": nccl,
    "profiler": profiler,
}
