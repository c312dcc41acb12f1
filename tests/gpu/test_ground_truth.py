#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests of what the GPU capture is held against: the readers of logs and the comparison (TAP).

fixtures/ holds excerpts of logs that PyTorch 2.11, JAX 0.11 and CuPy 14.2 made on an H200 with
cuBLAS 13.1, cuDNN 9.19 and NCCL 2.28. No GPU is needed here.
"""

import json
import pathlib
import re
import subprocess
import sys
import tempfile
from collections import Counter

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import cudnn_log
import ground_truth
import marks
import nccl_log
import tap
import vendor_log
from vendor_log import Call, CublasLog, CublasLtLog

FIXTURES = pathlib.Path(__file__).resolve().parent / "fixtures"


def lines(name: str) -> list[str]:
    return (FIXTURES / name).read_text(encoding="utf-8").splitlines(keepends=True)


def cublas() -> CublasLog:
    return CublasLog(lines("cublas.log"))


def cublas_lt() -> CublasLtLog:
    return CublasLtLog(lines("cublaslt.log"))


def only(calls: list[Call], **fields) -> Call:
    found = [c for c in calls if all(getattr(c, key) == value for key, value in fields.items())]
    assert len(found) == 1, f"{len(found)} calls with {fields}: {found}"
    return found[0]


def test_every_record_is_read():
    log = cublas()
    assert len(log.calls) == 25, len(log.calls)
    assert log.routines["cublasSetStream_v2"] == 1
    assert log.routines["cublasGemmEx"] == 9
    assert not any(call.routine.startswith("cublasSet") for call in log.calls)


def test_typed_gemm():
    call = only(cublas().calls, routine="cublasDgemm_v2")
    assert (call.m, call.n, call.k) == (256, 256, 256)
    assert (call.trans_a, call.trans_b, call.lda, call.ldb, call.ldc) == ("N", "N", 256, 256, 256)
    assert {call.dtype_a, call.dtype_c, call.compute, call.scale} == {"f64"}
    assert (call.batch, call.batch_kind, call.epilogue) == (1, "none", 1)


def test_types_of_gemm_ex():
    call = only(cublas().calls, routine="cublasGemmEx", dtype_a="bf16", dtype_c="f32")
    assert (call.dtype_b, call.compute, call.scale) == ("bf16", "f32", "f32")
    call = only(cublas().calls, routine="cublasGemmEx", dtype_a="c64")
    assert (call.compute, call.scale) == ("f32", "c64")


def test_math_modes():
    modes = {(c.routine, c.math_mode) for c in cublas().calls if c.math_mode}
    assert modes == {
        ("cublasSgemm_v2", 3),
        ("cublasSgemmStridedBatched", 3),
        ("cublasGemmEx", 16),
    }, modes
    assert vendor_log.math_mode("CUBLAS_DEFAULT_MATH") == 0
    assert vendor_log.math_mode("CUBLAS_DEFAULT_MATH | CUBLAS_MATH_X(16)") == 16


def test_a_math_mode_of_the_handle_makes_tf32():
    tf32 = {c.routine for c in cublas().calls if c.compute == "tf32"}
    assert tf32 == {"cublasSgemm_v2", "cublasSgemmStridedBatched"}, tf32
    assert all(c.math_mode == 3 for c in cublas().calls if c.compute == "tf32")
    text = "".join(lines("cublas.log"))
    everywhere = CublasLog(
        re.sub(r"(?m)MathMode=.*$", "MathMode=CUBLAS_TF32_TENSOR_OP_MATH", text).splitlines()
    )
    for call in everywhere.calls:
        single = call.dtype_a in ("f32", "c64")
        assert (call.compute == "tf32") == single, call


def test_a_mode_belongs_to_its_handle_and_ends_with_it():
    record = lines("cublas.log")
    first = next(i for i, line in enumerate(record) if "TF32_TENSOR_OP_MATH" in line and i > 0)
    start = max(i for i in range(first) if record[i].startswith("I! "))
    call = record[start : first + 1]
    assert "cublasSgemm" in call[0]
    other = [
        line.replace("MathMode=CUBLAS_TF32_TENSOR_OP_MATH", "MathMode=CUBLAS_DEFAULT_MATH").replace(
            "0x0x", "0x0xf"
        )
        for line in call
    ]
    found = [one.compute for one in CublasLog(call + other + call).calls]
    assert found == ["tf32", "f32", "tf32"], found


def test_strided_batch():
    call = only(cublas().calls, routine="cublasDgemmStridedBatched")
    assert (call.batch, call.batch_kind) == (6, "strided")
    assert (call.stride_a, call.stride_b, call.stride_c) == (
        call.m * call.k,
        call.k * call.n,
        call.m * call.n,
    )
    assert call.stride_d == call.stride_c


def test_gemv():
    call = only(cublas().calls, routine="cublasSgemv_v2")
    assert (call.op, call.m, call.n, call.k) == ("gemv", 640, 384, 1)
    assert (call.trans_a, call.lda, call.ldb, call.ldc) == ("T", 640, 1, 1)


def test_64_bit_twins_and_old_names():
    record = [line.replace("cublasSgemm_v2(", "cublasSgemm_v2_64(") for line in lines("cublas.log")]
    assert len(CublasLog(record).calls) == 25
    for name in ("cublasSgemm3m", "cublasSgemmEx", "cublasHSHgemvStridedBatched_64"):
        assert vendor_log.ROUTINE.match(name), name
    for name in ("cublasSgeam", "cublasStrsm_v2", "cublasGemmExtra_v2x"[:9]):
        assert not vendor_log.ROUTINE.match(name), name


def test_grouped_gemm_has_no_dimensions():
    head = "I! cuBLAS (v13.1.0) function cublasStatus_t cublasGemmGroupedBatchedEx(a) called:\n"
    call = CublasLog([head, "i!  group_count: type=int; val=4\n"]).calls[0]
    assert (call.batch_kind, call.batch, call.m) == ("grouped", 4, 0)


def test_a_torn_record_is_refused():
    records = lines("cublas.log")
    start = next(i for i, line in enumerate(records) if "cublasDgemm_v2(" in line)
    other = "I! cuBLAS (v13.1.0) function cublasStatus_t cublasSetStream_v2(a) called:\n"
    torn = records[: start + 4] + [other] + records[start + 4 :]
    assert tap.refuses(CublasLog, torn)
    assert tap.refuses(CublasLog, ["I! cuBLAS in another form\n"])


def test_lt_epilogue_and_bias():
    lt = cublas_lt()
    assert lt.routines["cublasLtMatmul"] == len(lt.calls) == 25, lt.routines
    call = only(lt.calls, epilogue=36, dtype_a="bf16", m=512)
    assert (call.trans_a, call.trans_b, call.n, call.k, call.lda) == ("T", "N", 64, 256, 256)
    assert call.bias_dtype == "none"
    call = only(lt.calls, dtype_a="e4m3", epilogue=4)
    assert call.bias_dtype == "bf16"


def test_lt_what_cublas_calls_itself_is_no_call():
    lt = cublas_lt()
    assert lt.routines["cublasLtTSTMatmul"] == 1
    assert all(call.routine == "cublasLtMatmul" for call in lt.calls)


def test_lt_fp8():
    calls = cublas_lt().calls
    call = only(calls, dtype_a="e4m3", fast_accumulation=1)
    assert (call.dtype_c, call.dtype_d, call.compute) == ("bf16", "bf16", "f32")
    call = only(calls, scale_a="outer_vec_32f")
    assert (call.scale_b, call.scale_d) == ("outer_vec_32f", "none")


def test_lt_int8():
    call = only(cublas_lt().calls, dtype_a="i8")
    assert (call.dtype_d, call.compute, call.scale) == ("i32", "i32", "i32")


def test_lt_batch_and_orders():
    calls = cublas_lt().calls
    broadcast = [c for c in calls if c.batch == 8 and c.stride_b == 0]
    assert broadcast and broadcast[0].batch_kind == "strided", broadcast
    assert {call.order for call in calls} > {"col"}
    row = next(call for call in calls if call.order.startswith("ORDER_ROW"))
    assert (row.m, row.n, row.k, row.batch) == (32, 64, 96, 8), row


def test_lt_unknown_words_are_refused():
    line = next(line for line in lines("cublaslt.log") if "][cublasLtMatmul]" in line)
    assert tap.refuses(CublasLtLog, [line.replace("type=R_", "type=Q_")])
    assert tap.refuses(CublasLtLog, [line.replace(" rows=", " rowz=")])


def test_types_by_name_and_by_number():
    assert vendor_log.cuda_type("CUDA_R_16BF(14)") == vendor_log.cuda_type("14") == "bf16"
    assert vendor_log.compute_type("CUBLAS_COMPUTE_32F_FAST_TF32(77)") == "tf32"
    assert vendor_log.compute_type("COMPUTE_32F_FAST_16F") == "32f_fast_16f"
    assert tap.refuses(vendor_log.cuda_type, "99")


def mark(number: int, lt: bool = False) -> Call:
    if lt:
        size = marks.LT_STEP * (1 + number)
        return Call("cublasLtMatmul", "gemm", size, marks.LT_ROWS, marks.LT_INNER, dtype_a="i8")
    return Call(
        "cublasDgemm_v2", "gemm", marks.FIRST + number, marks.ROWS, marks.INNER, dtype_a="f64"
    )


CALL = Call("cublasGemmEx", "gemm", 64, 32, 16, dtype_a="bf16", dtype_c="bf16")
OTHER = CALL._replace(n=1)


def test_captured_calls_count_as_often_as_the_graph_is_launched():
    calls = [CALL, mark(0), CALL, CALL, OTHER, mark(1), OTHER, mark(2), CALL, mark(3)]
    counts = ground_truth.expand(calls, {0: 200, 1: 7})
    assert counts[CALL] == 1 + 2 * 200 + 7
    assert counts[OTHER] == 200 + 1
    assert counts[mark(0)] == counts[mark(3)] == 1
    calls = [mark(0, lt=True), CALL, mark(1, lt=True)]
    assert ground_truth.expand(calls, {0: 3})[CALL] == 3


def test_a_graph_that_is_never_launched_does_no_work():
    counts = ground_truth.expand([mark(0), CALL, mark(1)], {0: 0})
    assert CALL not in counts


def test_marks_out_of_order_are_refused():
    for calls in ([mark(0), mark(0)], [mark(1)], [mark(0), mark(3)], [mark(0), CALL]):
        assert tap.refuses(ground_truth.expand, calls, {0: 1, 1: 1}), calls


def shape(call: Call, calls: int, **fields) -> dict:
    row = {"op": call.op, "dtype": call.dtype_c, "m": call.m, "n": call.n, "k": call.k}
    row |= {"batch": call.batch, "trans": call.trans_a + call.trans_b, "calls": calls}
    return row | fields


def test_equal_multisets_agree():
    found = ground_truth.compare({CALL: 5, OTHER: 1}, [shape(OTHER, 1), shape(CALL, 5)])
    assert ground_truth.agrees(found), found
    assert (found["truth_calls"], found["trace_rows"]) == (6, 2)


def test_every_difference_is_found():
    for shapes in (
        [shape(CALL, 4)],
        [shape(CALL, 5), shape(OTHER, 1)],
        [shape(CALL, 5, trans="TN")],
        [shape(CALL, 5, dtype="f16")],
        [shape(CALL, 5, batch=2)],
        [],
    ):
        found = ground_truth.compare({CALL: 5}, shapes)
        assert not ground_truth.agrees(found), shapes
        assert found["differences"], shapes


def test_rows_that_differ_in_what_is_not_compared_are_added():
    wide = CALL._replace(lda=128)
    found = ground_truth.compare({CALL: 2, wide: 3}, [shape(CALL, 5)])
    assert ground_truth.agrees(found) and "lda" not in found["compared_on"]


def test_what_both_have_is_compared():
    rows = [shape(CALL, 2, entry="cublasGemmEx", ld=[64, 16, 64])]
    found = ground_truth.compare({CALL._replace(lda=64, ldb=16, ldc=64): 2}, rows)
    assert {"routine", "lda", "ldb", "ldc"} <= set(found["compared_on"])
    assert ground_truth.agrees(found)
    assert not ground_truth.agrees(ground_truth.compare({CALL: 2}, rows))


def test_one_entry_that_is_unknown_leaves_entries_out():
    rows = [shape(CALL, 2, entry="cublasGemmEx"), shape(OTHER, 1, entry=None)]
    found = ground_truth.compare({CALL: 2, OTHER: 1}, rows)
    assert "routine" not in found["compared_on"] and ground_truth.agrees(found)


def test_gemv_has_one_transpose():
    call = Call("cublasSgemv_v2", "gemv", 4, 8, 1, trans_a="T", dtype_c="f32")
    assert ground_truth.agrees(ground_truth.compare({call: 1}, [shape(call, 1)]))


def test_nothing_against_nothing_is_no_agreement():
    assert not ground_truth.agrees(ground_truth.compare({}, []))


def test_a_trace_without_dimensions_is_refused():
    row = shape(CALL, 5)
    del row["k"]
    assert tap.refuses(ground_truth.compare, {CALL: 5}, [row])


def test_cudnn_graphs():
    counts = cudnn_log.executed(lines("cudnn.log"))
    kinds = {(c.op, c.operation, c.m, c.n, c.k, c.batch): n for c, n in counts.items()}
    assert kinds == {
        ("conv", "CONVOLUTION_FORWARD", 128, 3136, 576, 8): 1,
        ("conv", "CONVOLUTION_BACKWARD_DATA", 128, 3136, 576, 8): 1,
        ("conv", "CONVOLUTION_BACKWARD_FILTER", 128, 3136, 576, 8): 1,
        ("attention", "MATMUL+MATMUL", 512, 512, 64, 32): 1,
        ("attention", "SDPA_FWD", 1, 384, 128, 64): 1,
    }, kinds


def test_a_failed_cudnn_call_is_no_work():
    text = "".join(lines("cudnn.log")).replace("CUDNN_STATUS_SUCCESS (0)", "CUDNN_STATUS_X (9)", 1)
    assert cudnn_log.executed(text.splitlines()).total() == 4


def test_grouped_convolution():
    graph = cudnn_log.Graph()
    graph.operations = ["CONVOLUTION_FORWARD"]
    graph.tensors = {
        "x": ("f16", [2, 96, 31, 33]),
        "w": ("f16", [96, 24, 5, 5]),
        "y": ("f16", [2, 96, 16, 17]),
    }
    assert graph.row()[:6] == ("conv", "f16", 24, 272, 600, 8)


def test_nccl():
    counts = nccl_log.collectives(lines("nccl.log"))
    assert counts.total() == 12
    assert counts[nccl_log.Collective("collective", "f32", 1024, 2, "AllReduce")] == 1
    assert counts[nccl_log.Collective("collective", "bf16", 4194307, 2, "AllReduce")] == 1
    assert counts[nccl_log.Collective("collective", "f32", 4096, 2, "ReduceScatter")] == 1
    assert {call.dtype for call in counts} == {"f32", "bf16", "i64"}


def test_collectives_agree_on_every_dimension():
    counts = nccl_log.collectives(lines("nccl.log"))
    rows = [
        {"op": "collective", "dtype": c.dtype, "m": c.m, "n": c.n, "k": 1, "batch": 1, "calls": n}
        for c, n in counts.items()
    ]
    assert ground_truth.agrees(ground_truth.compare(counts, rows, ["collective"]))
    rows[0]["n"] += 1
    assert not ground_truth.agrees(ground_truth.compare(counts, rows, ["collective"]))


def test_a_folder_of_logs():
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for log in ("cublas", "cublaslt", "cudnn", "nccl"):
            target = "cublaslt.7.log" if log == "cublaslt" else f"{log}.log"
            (folder / target).write_text("".join(lines(f"{log}.log")), encoding="utf-8")
        (folder / "plan.json").write_text('chatter\n{"replays": {"0": 5}}\n', encoding="utf-8")
        truth = ground_truth.load(folder)
        assert ground_truth.plan_of(folder)["replays"] == {"0": 5}
        ops = Counter()
        for call, count in truth.counts.items():
            ops[call.op] += count
        assert ops == {"gemm": 48, "gemv": 2, "conv": 3, "attention": 2, "collective": 12}, ops
        shown = ground_truth.show(truth)
        assert shown["calls"] == 67 and len(shown["shapes"]) == len(truth.counts)
        report = {"shapes": [row | {"entry": row.get("routine")} for row in shown["shapes"]]}
        path = folder / "report.json"
        path.write_text(json.dumps(report), encoding="utf-8")
        script = str(FIXTURES.parent / "ground_truth.py")
        command = [sys.executable, script, "compare", str(folder), str(path)]
        assert subprocess.run(command, capture_output=True, check=False).returncode == 0
        report["shapes"][0]["calls"] += 1
        path.write_text(json.dumps(report), encoding="utf-8")
        assert subprocess.run(command, capture_output=True, check=False).returncode == 1


def test_run_sets_the_loggers_and_keeps_the_plan():
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name) / "logs"
        program = "import json, os; print(json.dumps(dict(os.environ)))"
        command = [sys.executable, "-c", program]
        assert ground_truth.run(folder, ["nccl"], command) == 0
        seen = ground_truth.plan_of(folder)
        assert seen["CUBLAS_LOGDEST_DBG"] == f"{folder}/cublas.log"
        assert seen["NCCL_DEBUG"] == "INFO" and "CUDNN_LOGLEVEL_DBG" not in seen
        (folder / "cublas.log").write_text("old")
        assert ground_truth.run(folder, [], [sys.executable, "-c", "raise SystemExit(3)"]) == 3
        assert not (folder / "cublas.log").exists()


if __name__ == "__main__":
    sys.exit(tap.run(globals()))
