# SPDX-License-Identifier: Apache-2.0
"""Is cuTile worth it for these shapes? Every kernel that was compiled ahead of time is verified, and
then timed on the shapes of the LLM sample traces beside our CUDA kernels, the library (as recorded,
and its best) and PyTorch.

Speed is reported, not judged: a check fails where something is wrong or was not measured.
"""

import json
import math
import pathlib
import re

from replay_cases import _label, _make, _measured, _replay, _text
from session import Session

HERE = pathlib.Path(__file__).resolve().parent
KERNELS = HERE.parents[1] / "kernels"
SAMPLES = HERE.parents[1] / "traces" / "samples"
MAKERS = {"cuTile": "cutile_", "Triton": "triton_"}  # all others are ours
OURS = "ours"

# Every kernel meets a shape that it is offered for, odd ones too: rows that fill no tile, strides of
# the next multiple, batches.
CHECKED = [
    f"cublasGemmEx:{dtype}:{trans}:{m}x{n}x{k}:10"
    for dtype in ("bf16", "f16")
    for trans in ("TN", "NN")
    for m, n, k in (
        (2048, 1, 2048), (1000, 7, 1544), (2048, 16, 2048), (2048, 64, 2048), (520, 33, 1032), (768, 201, 776),
        (1024, 300, 1024),
    )
] + [
    f"cublasGemmEx:{dtype}:{trans}:{m}x{n}x{k}:10"
    for dtype in ("tf32", "f32")
    for trans in ("TN", "NN")
    for m, n, k in ((512, 16, 1024), (520, 33, 260), (516, 7, 132))
] + [
    f"cublasGemmStridedBatchedEx:{dtype}:{trans}:{m}x{n}x{k}x{batch}:10"
    for dtype in ("bf16", "f16", "f32")
    for trans in ("TN", "NN")
    for m, n, k, batch in ((128, 128, 64, 16), (264, 5, 72, 3), (72, 40, 200, 2))
] + [
    f"cublasAxpyEx:{dtype}:NN:{m}x1x1:10"
    for dtype in ("f32", "f16", "bf16")
    for m in (1 << 20, 100_016)
] + [f"cublasSgeam:f32:NN:{m}x{n}x1:10" for m, n in ((2048, 64), (1004, 33))]

# Matrix adds of 16 bits: no function of cuBLAS makes such a call, so no trace of a GPU has one.
UNCALLED = ["cutile_add_matrix_f16", "cutile_add_matrix_bf16"]

# Residual adds of the samples' decoder at their numbers of tokens; matrices with geam, which knows
# f32 only.
HIDDEN = 2048
TOKENS = (1, 16, 64, 128, 2048, 8192)
ADDED = (
    [f"cublasAxpyEx:bf16:NN:{HIDDEN * tokens}x1x1:100" for tokens in TOKENS]
    + [f"cublasAxpyEx:{dtype}:NN:{HIDDEN * 2048}x1x1:100" for dtype in ("f16", "f32")]
    + [f"cublasSgeam:f32:NN:{HIDDEN}x{tokens}x1:100" for tokens in (64, 2048)]
)
SAMPLED = {"prefill": "llm-prefill-eager.twt", "decode": "llm-decode-graph.twt"}
# The decode sample has 16 requests; the same layers for 1, 8, 64 and 128.
LAYERS = ((5632, 2048), (2048, 2048), (2048, 5632), (512, 2048))
WIDTHS = [f"cublasGemmEx:bf16:TN:{m}x{n}x{k}:100" for n in (1, 8, 64, 128) for m, k in LAYERS]
BUDGET_S = {"adds": 20, "prefill": 40, "decode": 35, "widths": 35}
SHAPES_MIN = {"prefill": 8, "decode": 8}
CHECK_SECONDS = 60
NO_OPERATOR = re.compile("no PyTorch operator for ")  # torch_companion.py


def manifests() -> list[pathlib.Path]:
    return sorted(KERNELS.glob("cutile/*.yaml")) + sorted(KERNELS.glob("triton/*.yaml"))


def offered(paths: list[pathlib.Path]) -> list[str]:
    """Names of the candidates of manifests, as manifest.py lays them out."""
    text = "".join(path.read_text(encoding="utf-8") for path in paths)
    return [name for name in re.findall(r"^  - name: (\S+)\n    summary:", text, re.M)]


def maker_of(name: str) -> str:
    return next((m for m, prefix in MAKERS.items() if name.startswith(prefix)), OURS)


def ours(listing: str) -> list[str]:
    """Of our CUDA kernels those that choose their tile themselves, from `tilewise kernels`."""
    names = [line.split()[0] for line in listing.splitlines() if " cuda " in line]
    return [n for n in names if maker_of(n) == OURS and not re.search(r"_\d+x\d+\w*$", n)]


def _candidates(session: Session) -> list[str]:
    """The options that offer them."""
    status, listing = _text(session, "kernels", [session.tilewise, "kernels"], 10)
    names = offered(manifests()) + (ours(listing) if status == 0 else [])
    words = [word for path in manifests() for word in ("--candidate", str(path))]
    return [*words, "--kernel", ",".join(names)]


def refusals(report: dict) -> dict[str, str]:
    """What never ran, and the driver's own words for it."""
    found = {}
    for shape in report["shapes"]:
        for one in shape["candidates"]:
            if one["status"] == "unsupported" and one["why"]:
                found.setdefault(one["name"], one["why"])
    return found


def wrong(report: dict) -> list[list[str]]:
    return [
        [_label(shape), one["name"], one["status"], one["why"]]
        for shape in report["shapes"]
        for one in shape["candidates"]
        if one["status"] in ("failed", "crashed", "timeout", "not-verified")
    ]


def passed(report: dict) -> set[str]:
    return {
        one["name"]
        for shape in report["shapes"]
        for one in shape["candidates"]
        if one["status"] == "passed"
    }


def _judge(session: Session, name: str, report: dict) -> None:
    session.figures[f"{name}: refused, and why (the library serves these calls)"] = refusals(report)
    session.check(f"{name}: no kernel is wrong", not wrong(report), wrong=wrong(report)[:20])


def check(session: Session) -> None:
    """Every cubin loads, and every kernel is right."""
    names = offered(manifests())
    trace = _make(session, "checked", CHECKED)
    if trace is None:
        return
    result = session.work / "checked.twr"
    words = [session.tilewise, "replay", "--device", "cuda", "--mode", "check", "--time-share", "1"]
    words += ["-o", str(result), *_candidates(session), str(trace)]
    status, text = _text(session, "checked", words, CHECK_SECONDS)
    session.check("check: it ended well", status in (0, 1) and result.exists(), said=text[-1500:])
    report = session.report([trace, result])
    _judge(session, "check", report)
    for maker in MAKERS:
        mine = {name for name in names if maker_of(name) == maker} - set(UNCALLED)
        right = mine & passed(report)
        session.check(
            f"check: all {maker} kernels are right",
            bool(mine) and right == mine,
            kernels=len(mine),
            missing={name: refusals(report).get(name) for name in sorted(mine - right)},
        )


def _us(ns: float | None) -> float | None:
    return None if ns is None else round(ns / 1000, 2)


def quickest(shape: dict, maker: str) -> dict | None:
    timed = [
        one
        for one in shape["candidates"]
        if maker_of(one["name"]) == maker and one["time_ns"] is not None
        and one["status"] == "passed"
    ]
    return min(timed, key=lambda one: one["time_ns"], default=None)


def row_of(shape: dict) -> dict:
    """One line of the table: times in us; ratio and call are against the library's best, PyTorch's
    ratio against the call as recorded. Each is measured beside its baseline, at another moment than
    the next: ratios hold, times of different columns differ by the state of the card, too."""
    second = shape["second_baseline"] or {"ns": None, "ratio": None}
    row = {
        "shape": _label(shape),
        "calls": shape["calls"],
        "recorded": _us(shape["baseline_ns"]["recorded"]),
        "best": _us(shape["baseline_ns"]["best"]),
        "routine": shape["baseline_best"],
        "PyTorch": _us(second["ns"]),
        "PyTorch ratio": second["ratio"] and round(second["ratio"], 3),
    }
    for maker in (*MAKERS, OURS):
        one = quickest(shape, maker)
        row[maker] = _us(one and one["time_ns"])
        row[f"{maker} ratio"] = one and round(one["ratio"]["best"], 3)
        row[f"{maker} call"] = one and one["call"]
        row[f"{maker} kernel"] = one and one["name"]
    return row


def summary(rows: list[dict], maker: str) -> dict:
    """Over the shapes where it has a kernel, weighed by the time that the library's best takes."""
    mine = [row for row in rows if row[f"{maker} ratio"]]
    weights = [row["calls"] * row["best"] for row in mine]
    total = sum(weights)
    logs = [w * math.log(row[f"{maker} ratio"]) for w, row in zip(weights, mine, strict=True)]
    calls = [row[f"{maker} call"] for row in mine]
    return {
        "maker": maker,
        "shapes": len(mine),
        "of": len(rows),
        "ratio to the library's best": round(math.exp(sum(logs) / total), 3) if total else None,
        **{call: calls.count(call) for call in ("FASTER", "SAME", "SLOWER", "UNCLEAR")},
    }


def _verdicts(report: dict) -> list[dict]:
    return [
        {
            **{key: op[key] for key in ("op", "dtype", "verdict")},
            "stability": op["stability"]["level"],
            "because": op["reason"],
        }
        for op in report["ops"]
    ]


def _without_pytorch(report: dict) -> list[list]:
    """[shape, why] of the measured ones that PyTorch did not compute."""
    return [
        [_label(s), (s["second_baseline"] or {}).get("reason")]
        for s in _measured(report)
        if (s["second_baseline"] or {"ns": None})["ns"] is None
    ]


def _compare(session: Session, name: str, report: dict, least: int) -> None:
    _judge(session, name, report)
    rows = [row_of(shape) for shape in _measured(report)]
    session.figures[f"{name}: shapes"] = rows
    session.figures[f"{name}: makers"] = [summary(rows, maker) for maker in (*MAKERS, OURS)]
    session.figures[f"{name}: verdicts"] = _verdicts(report)
    session.check(f"{name}: shapes are measured", len(rows) >= least, shapes=len(rows), least=least)
    for maker in (*MAKERS, OURS):
        count = sum(row[maker] is not None for row in rows)
        session.check(f"{name}: {maker} is timed", count > 0, shapes=count, of=len(rows))
    without = _without_pytorch(report)
    session.figures[f"{name}: PyTorch has no operator for"] = [
        s for s, why in without if NO_OPERATOR.match(why or "")
    ]
    failed = [row for row in without if not NO_OPERATOR.match(row[1] or "")]
    session.check(
        f"{name}: PyTorch is timed on every shape that it has an operator for",
        len(rows) > len(without) and not failed,
        without=failed,
    )
    session.check(f"{name}: every operation has a verdict", all(op["verdict"] for op in report["ops"]))


def _with_pytorch(session: Session) -> list[str]:
    return ["--baseline", "pytorch", "--python", session.python, *_candidates(session)]


def adds(session: Session) -> None:
    trace = _make(session, "adds", ADDED)
    if trace is None:
        return
    options = ("--time-share", "1", *_with_pytorch(session))
    report = _replay(session, "adds", [trace], *options, budget_s=BUDGET_S["adds"])
    _compare(session, "adds", report, len(ADDED))


def _sample(name: str):
    """Products of bf16, which is what the samples' decoder multiplies."""

    def case(session: Session) -> None:
        traces, options = [SAMPLES / SAMPLED[name]], _with_pytorch(session)
        report = _replay(session, name, traces, *options, budget_s=BUDGET_S[name])
        _compare(session, name, report, SHAPES_MIN[name])

    return case


def widths(session: Session) -> None:
    trace = _make(session, "widths", WIDTHS)
    if trace is None:
        return
    options = ("--time-share", "1", *_with_pytorch(session))
    report = _replay(session, "widths", [trace], *options, budget_s=BUDGET_S["widths"])
    _compare(session, "widths", report, len(WIDTHS))


CASES = {
    "check": check,
    "adds": adds,
    **{name: _sample(name) for name in SAMPLED},
    "widths": widths,
}
