# SPDX-License-Identifier: Apache-2.0
"""The Triton kernels that are offered, and how one is compiled. A row of a table is a candidate."""
import os
import sys
import tempfile
import threading

from manifest import Launch, Module, Offer

COMPILERS = ["triton"]
ARCHS = ["sm_80", "sm_90a", "sm_100a", "sm_120a"]
COMMITTED = ["sm_90a"]

TRITON_NAMES = {"bf16": "bf16", "f16": "fp16", "f32": "fp32"}

# type, trans, tile m x n x k, warps, stages, bytes of shared memory (the most of any architecture),
# first: the weights on the side that tensor cores take 64 rows of; offered where.
MATMUL = [
    ("bf16", "TN", (256, 128, 64), 8, 3, 147472, 0, "n >= 96"),
    ("bf16", "TN", (128, 128, 64), 8, 4, 131088, 0, "n >= 64"),
    ("bf16", "TN", (64, 64, 64), 4, 4, 65536, 1, "n > 16 && n <= 128"),
    ("bf16", "TN", (64, 16, 128), 4, 4, 81920, 1, "n <= 16"),
    ("bf16", "NN", (128, 128, 64), 8, 4, 131088, 0, "n > 16"),
    ("f16", "TN", (128, 128, 64), 8, 4, 131088, 0, "n > 16"),
    ("f16", "NN", (128, 128, 64), 8, 4, 131088, 0, "n > 16"),
]
GROUP = 8

ADD = ["f32", "f16", "bf16"]
ADD_TILE, ADD_WARPS = 4096, 8

ONE_AT_A_TIME = threading.Lock()  # Triton's settings are those of the process
DIVISIBLE = 16  # what Triton is told of pointers (bytes) and integers that `when` asks it of
SCRATCH = [{"ptr": "null"}] * 2  # global and profile scratch, which these kernels do not use


def matmul_offer(row):
    element, trans, tile, warps, stages, shared, first, where = row
    m, n, k = tile
    name = f"triton_{element}_{trans.lower()}_{m}x{n}"
    parameters = dict.fromkeys(("X", "W", "Y"), "*" + TRITON_NAMES[element])
    parameters |= dict.fromkeys(("m", "n", "k", "ldw", "ldx", "ldy"), "i32")
    what = {"kernel": "matmul", "parameters": parameters, "divisible": set(parameters) - {"n"},
            "constants": {"TM": m, "TN": n, "TK": k, "GROUP": GROUP, "W_ROWS": int(trans[0] == "T"),
                          "W_FIRST": first},
            "warps": warps, "stages": stages, "shared": shared}
    launch = Launch(module=Module(name, "matmul_triton.py", "matmul", what),
                    grid=[f"ceil_div(m, {m}) * ceil_div(n, {n})"], block=str(32 * warps),
                    shared=str(shared),
                    args=[{"ptr": p} for p in ("b", "a", "c")]
                    + [{"i32": e} for e in ("m", "n", "k", "lda", "ldb", "ldc")] + SCRATCH)
    whole = " && ".join(f"{e} % {DIVISIBLE} == 0" for e in ("m", "lda", "ldb", "ldc"))
    far = "(m + k) * lda < 2147483648 && n * max(ldb, ldc) < 2147483648"
    return Offer(name=name, summary=f"Triton, {element}, tiles of {m} x {n}", op="gemm",
                 trans=[trans], types={"a": element, "b": element, "c": element, "compute": ["f32"]},
                 when=[where, "align_a >= 16 && align_b >= 16 && align_c >= 16", whole,
                       f"k % {k} == 0", far], launches=[launch])


def add_offer(element):
    name = f"triton_add_vector_{element}"
    pointer = "*" + TRITON_NAMES[element]
    parameters = {"X": pointer, "Y": pointer, "alpha": "fp32", "m": "i32"}
    what = {"kernel": "add_vector", "parameters": parameters, "divisible": {"X", "Y", "m"},
            "constants": {"T": ADD_TILE}, "warps": ADD_WARPS, "stages": 1, "shared": 0}
    launch = Launch(module=Module(name, "add_triton.py", "add_vector", what),
                    grid=[f"ceil_div(m, {ADD_TILE})"], block=str(32 * ADD_WARPS),
                    args=[{"ptr": "b"}, {"ptr": "c"}, {"f32": "alpha"}, {"i32": "m"}] + SCRATCH)
    return Offer(name=name, summary=f"Triton, {element}, vector add", op="add", alpha="any",
                 types={"b": element, "c": element}, launches=[launch],
                 when=["n == 1 && incx == 1 && incy == 1", "align_b >= 16 && align_c >= 16",
                       f"m % {DIVISIBLE} == 0", f"m < 2147483648 - {ADD_TILE}"])


MANIFESTS = {
    "matmul": [matmul_offer(row) for row in MATMUL],
    "add": [add_offer(element) for element in ADD],
}


def build(module, arch):
    """The cubin, without line numbers; what the manifest says of it must be so."""
    os.environ["TRITON_DISABLE_LINE_INFO"] = os.environ["TRITON_DEFAULT_FP_FUSION"] = "1"
    import triton
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource
    what = module.what
    names = list(what["parameters"]) + list(what["constants"])
    source = ASTSource(
        getattr(__import__(module.source.removesuffix(".py")), what["kernel"]),
        signature=what["parameters"] | dict.fromkeys(what["constants"], "constexpr"),
        constexprs={(names.index(c),): value for c, value in what["constants"].items()},
        attrs={(names.index(p),): [["tt.divisibility", DIVISIBLE]] for p in what["divisible"]})
    with ONE_AT_A_TIME, tempfile.TemporaryDirectory() as cache:
        triton.knobs.cache.dir = cache
        kernel = triton.compile(source, target=GPUTarget("cuda", int(arch.strip("sm_a")), 32),
                                options={"num_warps": what["warps"], "num_stages": what["stages"]})
    m = kernel.metadata
    scratch = m.global_scratch_size + m.profile_scratch_size
    if m.shared > what["shared"] or m.name != module.entry or scratch or m.num_warps != what["warps"]:
        sys.exit(f"{module.name} for {arch}: {m.shared} bytes shared, {m.num_warps} warps, "
                 f"{scratch} bytes of scratch: not what offers.py says")
    return kernel.asm["cubin"]
