#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests of the cases of run.sh cutile that need no GPU (TAP)."""

import pathlib
import re
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parents[1] / "kernels")]
import compile as ahead
import cutile_cases
import tap
from report import as_markdown


def call_of(text: str) -> dict:
    """What make_trace makes of it, in the words of a manifest."""
    entry, dtype, trans, shape, _ = text.split(":")
    m, n, k, batch = [*map(int, shape.split("x")), 1][:4]
    adds = "axpy" in entry.lower() or "geam" in entry
    call = {"op": "add" if adds else "gemm", "element": "f32" if dtype == "tf32" else dtype}
    call |= {"compute": "tf32" if dtype == "tf32" else "f32", "trans": trans, "strided": batch > 1}
    names = {"m": m, "n": n, "k": k, "batch": batch}
    if adds:
        step = 1 if n == 1 else m
        names |= {"ldb": step, "ldc": step, "incx": step, "incy": step}
    else:
        names |= {"lda": k if trans[0] == "T" else m, "ldb": k, "ldc": m}
        names |= {"stride_a": m * k * (batch > 1), "stride_b": k * n * (batch > 1)}
        names |= {"stride_c": m * n * (batch > 1)}
    return call | {"names": names | dict.fromkeys(("align_a", "align_b", "align_c"), 16)}


def holds(expression: str, names: dict) -> bool:
    python = expression.replace("&&", " and ").replace("||", " or ").replace("/", "//")
    return bool(eval(python, {"max": max, "min": min}, names))


def takes(offer, call: dict) -> bool:
    types = offer.types
    fits = offer.op == call["op"] and types["b"] == call["element"]
    if call["op"] == "gemm":
        fits = fits and call["compute"] in types["compute"] and call["trans"] in offer.trans
        fits = fits and (offer.batch == "strided" or not call["strided"])
    return fits and all(holds(condition, call["names"]) for condition in offer.when)


def all_offers() -> list:
    tables = [ahead.load_table(name) for name in ("cutile", "triton")]
    return [offer for table in tables for rows in table.MANIFESTS.values() for offer in rows]


def test_every_kernel_meets_a_call():
    """matrix adds of 16-bit types have no function in cuBLAS, so no call on a GPU."""
    calls = [call_of(text) for text in cutile_cases.CHECKED]
    lonely = [o.name for o in all_offers() if not any(takes(o, call) for call in calls)]
    assert lonely == cutile_cases.UNCALLED, lonely


def test_the_manifests_hold_all_offers():
    assert cutile_cases.offered(cutile_cases.manifests()) == [
        o.name for name in ("add", "matmul") for o in ahead.load_table("cutile").MANIFESTS[name]
    ] + [o.name for name in ("add", "matmul") for o in ahead.load_table("triton").MANIFESTS[name]]


def test_names_are_unique_and_say_who_made_them():
    names = [offer.name for offer in all_offers()]
    assert len(set(names)) == len(names)
    assert {cutile_cases.maker_of(name) for name in names} == {"cuTile", "Triton"}
    assert cutile_cases.maker_of("gemm_bf16_mma") == "ours"


def test_expressions_are_no_longer_than_the_loader_takes():
    for offer in all_offers():
        texts = list(offer.when) + [offer.scratch]
        for launch in offer.launches:
            texts += launch.grid + [v for a in launch.args for v in a.values()]
        assert max(map(len, texts)) <= 512, offer.name
        assert max(len(re.findall(r"\w+|[^\w\s]+", text)) for text in texts) <= 64, offer.name


def test_ours_choose_their_tile():
    listing = """candidate  target here  what it is
gemm_bf16_mma                 cuda   gemm bf16    x
gemm_bf16_mma_128x64          cuda   gemm bf16    x
gemm_f32_avx2                 cpu    gemm f32     x
cutile_bf16_tn_64x16          cuda   gemm bf16    x
add_bf16_cuda                 cuda   add bf16     x"""
    assert cutile_cases.ours(listing) == ["gemm_bf16_mma", "add_bf16_cuda"]


def candidate(name, ns, ratio, call="FASTER", status="passed", why=None) -> dict:
    return {"name": name, "status": status, "why": why, "time_ns": ns, "call": call,
            "ratio": {"best": ratio}}  # fmt: skip


def shape(calls, *candidates) -> dict:
    return {
        **{"op": "gemm", "dtype": "bf16", "m": 1, "n": 1, "k": 1, "batch": 1, "trans": "TN"},
        **{"entry": "cublasGemmEx", "calls": calls, "baseline_best": "lt#1"},
        "baseline_ns": {"recorded": 2000, "best": 1000},
        "second_baseline": {"ns": 3000, "ratio": 0.6666, "reason": None},
        "candidates": list(candidates),
    }


def test_rows_have_the_quickest_of_each():
    row = cutile_cases.row_of(
        shape(
            7,
            candidate("cutile_a", 900, 1.1),
            candidate("cutile_b", 800, 1.25),
            candidate("cutile_c", 1, 9, status="failed"),
            candidate("triton_a", 1100, 0.9, "SLOWER"),
        )
    )
    assert (row["cuTile"], row["cuTile kernel"], row["cuTile call"]) == (0.8, "cutile_b", "FASTER")
    assert row["Triton ratio"] == 0.9 and row["ours"] is None
    assert (row["PyTorch"], row["PyTorch ratio"]) == (3.0, 0.667)


def test_a_type_without_an_operator_is_no_failure():
    def row(reason):
        second = {"ns": None, "ratio": None, "reason": reason}
        return shape(1) | {"second_baseline": second}

    report = {"shapes": [shape(1), row("no PyTorch operator for i8"), row("out of memory")]}
    found = cutile_cases._without_pytorch(report)
    assert len(found) == 2
    assert [bool(cutile_cases.NO_OPERATOR.match(why)) for _, why in found] == [True, False]


def test_the_summary_is_weighed_by_time():
    rows = [
        cutile_cases.row_of(shape(3, candidate("cutile_a", 500, 2.0))),
        cutile_cases.row_of(shape(1, candidate("cutile_a", 2000, 0.5, "SLOWER"))),
        cutile_cases.row_of(shape(9)),
    ]
    found = cutile_cases.summary(rows, "cuTile")
    assert found["ratio to the library's best"] == round(2**0.5, 3), found
    assert (found["shapes"], found["of"], found["FASTER"], found["SLOWER"]) == (2, 3, 1, 1)
    assert cutile_cases.summary(rows, "Triton")["ratio to the library's best"] is None


def test_refusals_and_wrong_kernels_are_told():
    report = {
        "shapes": [
            shape(1, candidate("cutile_a", None, None, None, "unsupported", "no kernel image"),
                  candidate("cutile_b", None, None, None, "skipped", "time budget spent"),
                  candidate("triton_a", None, None, None, "failed", "nan")),  # fmt: skip
        ]
    }
    assert cutile_cases.refusals(report) == {"cutile_a": "no kernel image"}
    assert [row[1:] for row in cutile_cases.wrong(report)] == [["triton_a", "failed", "nan"]]
    assert cutile_cases.passed(report) == set()


def test_rows_are_a_table():
    rows = [{"a": 1, "b": None}, {"a": "t|u", "b": 2.5}]
    checks = [{"name": "a", "ok": True}]
    text = as_markdown("cutile", {"environment": {}, "checks": checks, "figures": {"x": rows}})
    for line in ("### x", "| a | b |", "| 1 | - |", "| t\\|u | 2.5 |"):
        assert line in text, text


if __name__ == "__main__":
    sys.exit(tap.run(globals()))
