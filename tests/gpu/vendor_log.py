# SPDX-License-Identifier: Apache-2.0
"""Read what cuBLAS and cuBLASLt say about their own calls, as rows in the words of a trace.

cuBLAS, with CUBLAS_LOGINFO_DBG=1, writes a record of several lines before each call:

    I! cuBLAS (v13.1) function cublasStatus_t cublasSgemm_v2(cublasHandle_t, ...) called:
    i!  transa: type=cublasOperation_t; val=CUBLAS_OP_T(1)
    i!  m: type=int; val=64
    i!Process=7; Thread=...; GPU=0; Handle=...; StreamId=...; MathMode=CUBLAS_DEFAULT_MATH
    i! COMPILED WITH: GNU GCC/G++ / 8.5.0

cuBLASLt, with the trace bit of CUBLASLT_LOG_MASK, writes one line for each launch and leaves out
every attribute that has its default:

    [2026-01-02 03:04:05][cublasLt][7][Trace][cublasLtMatmul] A=0X7F00 Adesc=[type=R_16BF rows=64
    cols=32 ld=64] ... computeDesc=[computeType=COMPUTE_32F scaleType=R_32F transa=OP_T] algo=[...]

The same line with a typed name (cublasLtTSTMatmul) is cuBLAS calling cuBLASLt: not a call of the
program's.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import NamedTuple


class Call(NamedTuple):
    """One call; the fields that a signature has (traces/signature.h), in its words."""

    routine: str
    op: str
    m: int = 0
    n: int = 0
    k: int = 1
    batch: int = 1
    batch_kind: str = "none"
    trans_a: str = "N"
    trans_b: str = "N"
    dtype_a: str = "none"
    dtype_b: str = "none"
    dtype_c: str = "none"
    dtype_d: str = "none"
    compute: str = "none"
    scale: str = "none"
    lda: int = 0
    ldb: int = 0
    ldc: int = 0
    ldd: int = 0
    stride_a: int = 0
    stride_b: int = 0
    stride_c: int = 0
    stride_d: int = 0
    epilogue: int = 1
    bias_dtype: str = "none"
    scale_a: str = "none"
    scale_b: str = "none"
    scale_c: str = "none"
    scale_d: str = "none"
    fast_accumulation: int = 0
    order: str = "col"
    math_mode: int = 0


CUDA_TYPES = {
    "R_32F": "f32", "R_64F": "f64", "R_16F": "f16", "R_8I": "i8", "C_32F": "c64", "C_64F": "c128",
    "C_16F": "c32", "R_8U": "u8", "R_32I": "i32", "R_16BF": "bf16", "R_64I": "i64", "R_4I": "i4",
    "R_4U": "u4", "R_8F_E4M3": "e4m3", "R_8F_UE4M3": "e4m3", "R_8F_E5M2": "e5m2",
    "R_8F_UE8M0": "ue8m0", "R_6F_E2M3": "e2m3", "R_6F_E3M2": "e3m2", "R_4F_E2M1": "e2m1",
}  # fmt: skip
# Some attributes are logged as the number of the enumerator (biasDataType=14).
CUDA_NUMBERS = {
    0: "f32", 1: "f64", 2: "f16", 3: "i8", 4: "c64", 5: "c128", 6: "c32", 8: "u8", 10: "i32",
    14: "bf16", 16: "i4", 18: "u4", 24: "i64", 28: "e4m3", 29: "e5m2", 30: "ue8m0", 31: "e2m3",
    32: "e3m2", 33: "e2m1",
}  # fmt: skip
COMPUTE_TYPES = {
    "16F": "f16", "16F_PEDANTIC": "f16", "32F": "f32", "32F_PEDANTIC": "f32", "64F": "f64",
    "64F_PEDANTIC": "f64", "32I": "i32", "32I_PEDANTIC": "i32", "32F_FAST_TF32": "tf32",
}  # fmt: skip
# Letters of the typed entry points: operands, then what alpha and beta are.
TYPED = {
    "S": ("f32", "f32", "f32"), "D": ("f64", "f64", "f64"), "C": ("c64", "c64", "c64"),
    "Z": ("c128", "c128", "c128"), "H": ("f16", "f16", "f16"), "HSH": ("f16", "f16", "f32"),
    "HSS": ("f16", "f32", "f32"), "TST": ("bf16", "bf16", "f32"), "TSS": ("bf16", "f32", "f32"),
}  # fmt: skip
MATH_MODES = {
    "CUBLAS_DEFAULT_MATH": 0, "CUBLAS_TENSOR_OP_MATH": 1, "CUBLAS_PEDANTIC_MATH": 2,
    "CUBLAS_TF32_TENSOR_OP_MATH": 3, "CUBLAS_FP32_EMULATED_BF16X9_MATH": 4,
    "CUBLAS_FP64_EMULATED_FIXEDPOINT_MATH": 8,
    "CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION": 16,
}  # fmt: skip
TF32_MODE = MATH_MODES["CUBLAS_TF32_TENSOR_OP_MATH"]
EPILOGUES = {
    "DEFAULT": 1, "RELU": 2, "RELU_AUX": 130, "BIAS": 4, "RELU_BIAS": 6, "RELU_AUX_BIAS": 134,
    "DRELU": 136, "DRELU_BGRAD": 152, "GELU": 32, "GELU_AUX": 160, "GELU_BIAS": 36,
    "GELU_AUX_BIAS": 164, "DGELU": 192, "DGELU_BGRAD": 208, "BGRADA": 256, "BGRADB": 512,
}  # fmt: skip

ROUTINE = re.compile(r"^cublas(HSH|HSS|TST|TSS|[SDCZH])?([Gg]em[mv])(\w*)$")
HEAD = re.compile(r"^I! cuBLAS \(v[^)]*\) function \w+ (\w+)\(")
FIELD = re.compile(r"^i!  (\w+): type=[^;]*; val=(.*)$")
MODE = re.compile(r"MathMode=(.*)$")
LT_LINE = re.compile(r"\[cublasLt\]\[\d+\]\[Trace\]\[(\w+)\] A=")
LT_PART = re.compile(r"(\w+)=\[([^\]]*)\]")


class Malformed(ValueError):
    """The log is not what this reader knows: better no truth than a wrong one."""


def cuda_type(text: str) -> str:
    """'CUDA_R_16BF(14)', 'R_16BF' or '14' -> 'bf16'."""
    name = text.split("(")[0].strip().removeprefix("CUDA_")
    if name.isdigit() and int(name) in CUDA_NUMBERS:
        return CUDA_NUMBERS[int(name)]
    if name not in CUDA_TYPES:
        raise Malformed(f"data type '{text}'")
    return CUDA_TYPES[name]


def compute_type(text: str) -> str:
    """'CUBLAS_COMPUTE_32F(68)' or 'COMPUTE_32F' -> 'f32'; unusual ones keep their name."""
    name = text.split("(")[0].strip().removeprefix("CUBLAS_").removeprefix("COMPUTE_")
    return COMPUTE_TYPES.get(name, name.lower())


def number(text: str) -> int:
    """'64' or 'CUBLAS_OP_T(1)' -> the number."""
    found = re.search(r"\((-?\d+)\)$", text) or re.match(r"(-?\d+)$", text.strip())
    if not found:
        raise Malformed(f"number '{text}'")
    return int(found.group(1))


def transpose(text: str) -> str:
    """'CUBLAS_OP_T(1)' -> 'T'."""
    letter = re.search(r"OP_([NTC])\b", text.replace("(", " "))
    return letter.group(1) if letter else "R"


def math_mode(text: str) -> int:
    total = re.search(r"\((\d+)\)\s*$", text)
    if total:
        return int(total.group(1))
    return sum(MATH_MODES.get(name.strip(), 0) for name in text.split("|"))


def compute_in_mode(compute: str, operand: str, mode: int) -> str:
    """What the handle's math mode, which a record names as it is at the call, makes of f32."""
    single = operand in ("f32", "c64") and compute == "f32"
    return "tf32" if single and mode & 15 == TF32_MODE else compute


def scale_type(compute: str, operand: str) -> str:
    """What alpha and beta are in the entry points that take no scale type."""
    if operand in ("c64", "c128"):
        return operand
    return {"f16": "f16", "f64": "f64", "i32": "i32"}.get(compute, "f32")


class CublasLog:
    """Calls of the matrix routines in the order of the log, and how often every routine was called."""

    def __init__(self, lines: Iterable[str]):
        self.routines: Counter = Counter()
        self.calls: list[Call] = []
        self._known: dict[Call, Call] = {}
        routine, fields = "", {}
        for line in lines:
            if line.startswith("I! cuBLAS"):
                head = HEAD.match(line)
                if not head:
                    raise Malformed(line.rstrip())
                self._finish(routine, fields)
                routine, fields = head.group(1), {}
                self.routines[routine] += 1
            elif routine and line.startswith("i!"):
                field = FIELD.match(line.rstrip("\n"))
                if field:
                    fields[field.group(1).lower()] = field.group(2)
                elif mode := MODE.search(line.rstrip("\n")):
                    fields["mathmode"] = mode.group(1)
        self._finish(routine, fields)

    def _finish(self, routine: str, fields: dict[str, str]) -> None:
        kind = ROUTINE.match(routine)
        if not kind:
            return
        call = cublas_call(routine, kind.groups(), fields)
        self.calls.append(self._known.setdefault(call, call))


def cublas_call(routine: str, kind: tuple[str, str, str], fields: dict[str, str]) -> Call:
    letters, name, rest = kind
    try:
        if "Grouped" in rest:
            return Call(routine, "gemm", batch=number(fields["group_count"]), batch_kind="grouped")
        mode = math_mode(fields.get("mathmode", ""))
        shared = _batch(rest, fields) | _types(letters, fields) | {"math_mode": mode}
        shared["compute"] = compute_in_mode(shared["compute"], shared["dtype_a"], mode)
        if name.lower() == "gemv":
            return _gemv(routine, fields, shared)
        return _gemm(routine, fields, shared)
    except KeyError as missing:
        raise Malformed(
            f"a record of {routine} has no {missing}: torn by another thread?"
        ) from None


def _batch(rest: str, fields: dict[str, str]) -> dict:
    if "Batched" not in rest:
        return {}
    kind = "strided" if "Strided" in rest else "pointers"
    return {"batch": number(fields["batchcount"]), "batch_kind": kind}


def _types(letters: str, fields: dict[str, str]) -> dict:
    if "atype" in fields:
        a, b, c = (cuda_type(fields[f"{operand}type"]) for operand in "abc")
        compute = compute_type(fields.get("computetype", "CUBLAS_COMPUTE_32F"))
        scale = scale_type(compute, a)
    else:
        a, c, scale = TYPED[letters]
        b = a
        compute = {"c64": "f32", "c128": "f64"}.get(scale, scale)
    operands = {"dtype_a": a, "dtype_b": b, "dtype_c": c, "dtype_d": c}
    return operands | {"compute": compute, "scale": scale}


def _gemm(routine: str, fields: dict[str, str], shared: dict) -> Call:
    strides = {}
    if shared.get("batch_kind") == "strided":
        strides = {f"stride_{x}": number(fields[f"stride{x}"]) for x in "abc"}
        strides["stride_d"] = strides["stride_c"]
    return Call(
        routine,
        "gemm",
        *(number(fields[dimension]) for dimension in "mnk"),
        trans_a=transpose(fields["transa"]),
        trans_b=transpose(fields["transb"]),
        lda=number(fields["lda"]),
        ldb=number(fields["ldb"]),
        ldc=number(fields["ldc"]),
        ldd=number(fields["ldc"]),
        **strides,
        **shared,
    )


def _gemv(routine: str, fields: dict[str, str], shared: dict) -> Call:
    """m and n as called, k = 1; ldb and ldc are the increments of x and y."""
    strides = {}
    if shared.get("batch_kind") == "strided":
        strides = {f"stride_{x}": number(fields[f"stride{y}"]) for x, y in zip("abc", "axy")}
        strides["stride_d"] = strides["stride_c"]
    return Call(
        routine,
        "gemv",
        number(fields["m"]),
        number(fields["n"]),
        1,
        trans_a=transpose(fields["trans"]),
        lda=number(fields["lda"]),
        ldb=number(fields["incx"]),
        ldc=number(fields["incy"]),
        ldd=number(fields["incy"]),
        **strides,
        **shared,
    )


def attributes(text: str) -> dict[str, str]:
    return dict(pair.split("=", 1) for pair in text.split() if "=" in pair)


def lt_matmul(line: str) -> Call:
    parts = {name: attributes(text) for name, text in LT_PART.findall(line)}
    try:
        a, b, c, d = (parts[f"{operand}desc"] for operand in "ABCD")
        how = parts["computeDesc"]
        trans_a, trans_b = (transpose(how.get(f"trans{x}", "OP_N")) for x in "ab")
        strided = any("stridedBatchOffset" in operand for operand in (a, b, c, d))
        epilogue = how.get("epilogue", "EPILOGUE_DEFAULT").removeprefix("EPILOGUE_")
        batch = number(d.get("batchCount", "1"))
        return Call(
            "cublasLtMatmul",
            "gemm",
            number(d["rows"]),
            number(d["cols"]),
            number(a["cols" if trans_a == "N" else "rows"]),
            batch,
            "pointers" if "batchMode" in d else "strided" if strided or batch > 1 else "none",
            trans_a,
            trans_b,
            *(cuda_type(operand["type"]) for operand in (a, b, c, d)),
            compute_type(how["computeType"]),
            cuda_type(how["scaleType"]),
            *(number(operand["ld"]) for operand in (a, b, c, d)),
            *(number(operand.get("stridedBatchOffset", "0")) for operand in (a, b, c, d)),
            EPILOGUES[epilogue],
            cuda_type(how["biasDataType"]) if "biasDataType" in how else "none",
            *(how.get(f"{operand}ScaleMode", "none").lower() for operand in "abcd"),
            number(how.get("fastAccumulationFlag", "0")),
            "".join(operand.get("order", "ORDER_COL") for operand in (a, b, c, d))
            .replace("ORDER_COL" * 4, "col")
            .replace("ORDER_ROW" * 4, "row"),
        )
    except KeyError as missing:
        raise Malformed(f"{missing} in '{line.rstrip()}'") from None


class CublasLtLog:
    """Launches of cublasLtMatmul by the program; those that cuBLAS makes are counted by name."""

    def __init__(self, lines: Iterable[str]):
        self.routines: Counter = Counter()
        self.calls: list[Call] = []
        known: dict[Call, Call] = {}
        for name, line in self._launches(lines):
            self.routines[name] += 1
            if name == "cublasLtMatmul":
                call = lt_matmul(line)
                self.calls.append(known.setdefault(call, call))

    @staticmethod
    def _launches(lines: Iterable[str]) -> Iterator[tuple[str, str]]:
        for line in lines:
            head = LT_LINE.search(line)
            if head:
                yield head.group(1), line
