# SPDX-License-Identifier: Apache-2.0
"""The cuTile kernels that are offered, and how one is compiled. A row of a table is a candidate."""
import os
import subprocess
import sys
import tempfile

from manifest import Launch, Module, Offer

COMPILERS = ["cuda-tile", "nvidia-cuda-tileiras"]
ARCHS = ["sm_80", "sm_90", "sm_100", "sm_120"]
COMMITTED = ["sm_90"]

# element: of the operands. each: elements in 16 bytes, which is what a copy by the TMA moves.
TYPES = {
    "bf16": {"element": "bf16", "compute": ["f32"], "each": 8},
    "f16": {"element": "f16", "compute": ["f32"], "each": 8},
    "tf32": {"element": "f32", "compute": ["tf32"], "each": 4},
    "f32": {"element": "f32", "compute": ["f32"], "each": 4},
}

# ---- arrays: what the compiler may assume, what the manifest must ask for and hand over ----


def array(element, shape, strides):
    """One array: expressions of its shape and strides; the last stride is 1."""
    return {"element": element, "shape": shape, "strides": strides}


def arguments(pointer, a):
    return [{"ptr": pointer}] + [{"i32": e} for e in a["shape"] + a["strides"]]


def x_array(t, batched=""):
    """B as rows of k."""
    lead, step = (["batch"], ["stride_b"]) if batched else ([], [])
    return array(t["element"], lead + ["n", "k"], step + ["ldb", "1"])


def w_array(t, trans, batched=""):
    lead, step = (["batch"], ["stride_a"]) if batched else ([], [])
    return array(t["element"], lead + (["m", "k"] if trans[0] == "T" else ["k", "m"]),
                 step + ["lda", "1"])


def y_array(t, batched=""):
    lead, step = (["batch"], ["stride_c"]) if batched else ([], [])
    return array(t["element"], lead + ["n", "m"], step + ["ldc", "1"])


def alignment(t, trans, strides=("lda", "ldb", "ldc")):
    each = t["each"]
    conditions = ["align_a >= 16 && align_b >= 16 && align_c >= 16"]
    conditions.append(" && ".join(f"{s} % {each} == 0" for s in strides))
    return conditions + [f"m % {each} == 0"]


def parts_of(tile_m, tile_n, tile_k):
    """So many parts of k that every multiprocessor has a tile, each of two steps at least."""
    tiles = f"(ceil_div(m, {tile_m}) * ceil_div(n, {tile_n}))"
    return f"max(1, min(ceil_div(k, {2 * tile_k}), min(32, (sm_count + {tiles} - 1) / {tiles})))"


# ---- matrix products ----

# type, trans, tile m x n x k, options of the compiler, offered where. `first`: the weights on the
# side that tensor cores take 64 rows of. Eight warps: two groups of four multiply. `ctas`: blocks
# of a cluster, which share what they load; `occupancy`: blocks of a multiprocessor.
MATMUL = [
    ("bf16", "TN", (256, 128, 64), {"warps": 8}, "n >= 96"),
    ("bf16", "TN", (128, 256, 64), {"warps": 8}, "n >= 192"),
    ("bf16", "TN", (256, 128, 64), {"warps": 8, "ctas": 2}, "n >= 96"),
    ("bf16", "TN", (128, 128, 64), {"warps": 8}, "n >= 64"),
    ("bf16", "TN", (128, 64, 64), {"first": 1}, "n > 16 && n <= 128"),
    ("bf16", "TN", (64, 64, 128), {"first": 1}, "n > 16 && n <= 64"),
    ("bf16", "TN", (64, 16, 128), {"first": 1}, "n > 8 && n <= 16"),
    ("bf16", "TN", (64, 8, 128), {"first": 1}, "n <= 8"),
    ("bf16", "NN", (256, 128, 64), {"warps": 8}, "n >= 96"),
    ("bf16", "NN", (128, 128, 64), {"warps": 8}, "n >= 64"),
    ("bf16", "NN", (64, 64, 64), {}, "n > 16 && n <= 512"),
    ("bf16", "NN", (64, 16, 128), {"first": 1}, "n <= 16"),
    ("f16", "TN", (256, 128, 64), {"warps": 8}, "n >= 96"),
    ("f16", "TN", (128, 128, 64), {"warps": 8}, "n > 16"),
    ("f16", "TN", (64, 16, 128), {"first": 1}, "n <= 16"),
    ("f16", "NN", (128, 128, 64), {"warps": 8}, "n > 16"),
    ("f16", "NN", (64, 16, 128), {"first": 1}, "n <= 16"),
    ("tf32", "TN", (128, 128, 32), {"warps": 8}, "n > 16"),
    ("tf32", "TN", (64, 16, 64), {"first": 1}, "n <= 16"),
    ("tf32", "NN", (128, 128, 32), {"warps": 8}, "n > 16"),
    ("tf32", "NN", (64, 16, 64), {"first": 1}, "n <= 16"),
    ("f32", "TN", (64, 64, 16), {}, "n > 0"),
    ("f32", "NN", (64, 64, 16), {}, "n > 0"),
]
GROUP = 8

# The same in parts of k, for few rows.
SPLIT = [
    ("bf16", "TN", (64, 8, 128), {"first": 1}, "n <= 8"),
    ("bf16", "TN", (64, 16, 128), {"first": 1}, "n > 8 && n <= 16"),
    ("bf16", "TN", (64, 16, 128), {"first": 1, "occupancy": 2}, "n <= 16"),
    ("bf16", "TN", (64, 64, 128), {"first": 1}, "n > 16 && n <= 128"),
    ("bf16", "NN", (64, 16, 128), {"first": 1}, "n <= 16"),
    ("f16", "TN", (64, 16, 128), {"first": 1}, "n <= 16"),
    ("f16", "NN", (64, 16, 128), {"first": 1}, "n <= 16"),
]
SUM_TILE = (256, 4)  # m x n

BATCHED = [
    ("bf16", "TN", (128, 16, 64), {"first": 1}, "n <= 16"),
    ("bf16", "NN", (64, 64, 64), {}, "n > 16"),
    ("f16", "NN", (64, 64, 64), {}, "n > 16"),
    ("f32", "NN", (64, 64, 16), {}, "n > 0"),
]

# Rows of W at once, and elements of each.
MATVEC = [("bf16", (4, 1024)), ("bf16", (16, 512))]


def tile_text(tile, options):
    pairs = "c2" if options.get("ctas") else ""
    return "x".join(map(str, tile[:2])) + pairs + ("o2" if options.get("occupancy") else "")


def constants(kind, tile, trans, options, type_name):
    flags = [int(trans[0] == "T"), options.get("first", 0), int(type_name == "tf32")]
    return list(tile) + ([GROUP] if kind == "matmul" else []) + flags


def module(kind, name, arrays, numbers, options=None, scalars=0):
    hints = {"num_worker_warps": "warps", "num_ctas": "ctas", "occupancy": "occupancy"}
    options = options or {}
    return Module(name=name, source="add.py" if kind.startswith("add") else "matmul.py", entry=name,
                  what={"kernel": kind, "arrays": arrays, "scalars": scalars, "constants": numbers,
                        "hints": {h: options[o] for h, o in hints.items() if o in options}})


def gemm_offer(name, type_name, trans, summary, when, launches, **more):
    t = TYPES[type_name]
    element = t["element"]
    return Offer(name=name, summary=f"cuTile, {type_name}, {summary}", op="gemm", trans=[trans],
                 types={"a": element, "b": element, "c": element, "compute": t["compute"]},
                 when=when, launches=launches, **more)


def matmul_offer(row):
    type_name, trans, tile, options, where = row
    t, (m, n, _) = TYPES[type_name], tile
    name = f"cutile_{type_name}_{trans.lower()}_{tile_text(tile, options)}"
    x, w, y = x_array(t), w_array(t, trans), y_array(t)
    launch = Launch(module=module("matmul", name, [x, w, y],
                                  constants("matmul", tile, trans, options, type_name), options),
                    grid=[f"ceil_div(m, {m}) * ceil_div(n, {n})"],
                    args=arguments("b", x) + arguments("a", w) + arguments("c", y))
    side = ", weights first" if options.get("first") else ""
    pair = ", in clusters of 2" if options.get("ctas") else ""
    return gemm_offer(name, type_name, trans, f"tiles of {m} x {n}{side}{pair}",
                      [where] + alignment(t, trans), [launch])


def sum_module(type_name, z, y):
    return module("sum_parts", f"cutile_{type_name}_sum_parts", [z, y], list(SUM_TILE))


def split_offer(row):
    type_name, trans, tile, options, where = row
    t, (m, n, k) = TYPES[type_name], tile
    name = f"cutile_{type_name}_{trans.lower()}_{tile_text(tile, options)}_split"
    parts = parts_of(m, n, k)
    pair = ", two at a time" if options.get("occupancy") else ""
    x, w, y = x_array(t), w_array(t, trans), y_array(t)
    z = array("f32", [parts, "n", "m"], ["n * m", "m", "1"])
    multiply = Launch(module=module("matmul_parts", name, [x, w, z],
                                    constants("matmul_parts", tile, trans, options, type_name),
                                    options),
                      grid=[f"ceil_div(m, {m}) * ceil_div(n, {n})", parts],
                      args=arguments("b", x) + arguments("a", w) + arguments("scratch", z))
    add = Launch(module=sum_module(type_name, z, y),
                 grid=[f"ceil_div(m, {SUM_TILE[0]})", f"ceil_div(n, {SUM_TILE[1]})"],
                 args=arguments("scratch", z) + arguments("c", y))
    return gemm_offer(name, type_name, trans,
                      f"tiles of {m} x {n}{pair}, k in parts, summed in order",
                      [where, f"k >= {4 * k}"] + alignment(t, trans), [multiply, add],
                      scratch=f"4 * m * n * {parts}")


def batched_offer(row):
    type_name, trans, tile, options, where = row
    t, (m, n, _) = TYPES[type_name], tile
    name = f"cutile_{type_name}_{trans.lower()}_{tile_text(tile, options)}_batched"
    x, w, y = x_array(t, "batched"), w_array(t, trans, "batched"), y_array(t, "batched")
    launch = Launch(module=module("matmul_batched", name, [x, w, y],
                                  constants("matmul_batched", tile, trans, options, type_name),
                                  options),
                    grid=[f"ceil_div(m, {m})", f"ceil_div(n, {n})", "batch"],
                    args=arguments("b", x) + arguments("a", w) + arguments("c", y))
    strides = ("lda", "ldb", "ldc", "stride_a", "stride_b", "stride_c")
    return gemm_offer(name, type_name, trans, f"tiles of {m} x {n}, batches",
                      [where, "batch > 1 && batch <= 65535", "stride_a > 0 && stride_b > 0"]
                      + alignment(t, trans, strides), [launch], batch="strided")


def matvec_offer(row):
    type_name, (m, k) = row
    t = TYPES[type_name]
    name = f"cutile_{type_name}_matvec_{m}x{k}"
    x, w = array(t["element"], ["k"], ["1"]), w_array(t, "TN")
    y = array(t["element"], ["m"], ["1"])
    launch = Launch(module=module("matvec", name, [x, w, y], [m, k]), grid=[f"ceil_div(m, {m})"],
                    args=arguments("b", x) + arguments("a", w) + arguments("c", y))
    return gemm_offer(name, type_name, "TN", f"one column, {m} rows of {k} at a time",
                      ["n == 1"] + alignment(t, "TN", ("lda",)), [launch])


# ---- adds ----

ADD = ["f32", "f16", "bf16"]
ADD_VECTOR = 4096
ADD_MATRIX = (4, 1024)  # columns of the matrix, elements of each


def add_offer(type_name, matrix):
    t = TYPES[type_name]
    element, each = t["element"], t["each"]
    name = f"cutile_add_{'matrix' if matrix else 'vector'}_{type_name}"
    x = array(element, ["n", "m"], ["ldb", "1"]) if matrix else array(element, ["m"], ["1"])
    y = array(element, ["n", "m"], ["ldc", "1"]) if matrix else array(element, ["m"], ["1"])
    numbers = list(ADD_MATRIX) if matrix else [ADD_VECTOR]
    grid = ([f"ceil_div(m, {ADD_MATRIX[1]})", f"ceil_div(n, {ADD_MATRIX[0]})"] if matrix
            else [f"ceil_div(m, {ADD_VECTOR})"])
    when = [f"ldb % {each} == 0 && ldc % {each} == 0 && n > 1" if matrix
            else "n == 1 && incx == 1 && incy == 1"]
    launch = Launch(module=module("add_matrix" if matrix else "add_vector", name, [x, y], numbers,
                                  scalars=1),
                    grid=grid,
                    args=arguments("b", x) + arguments("c", y) + [{"f32": "alpha"}])
    return Offer(name=name, summary=f"cuTile, {type_name}, {'matrix' if matrix else 'vector'} add",
                 op="add", types={"b": element, "c": element}, alpha="any", launches=[launch],
                 when=when + ["align_b >= 16 && align_c >= 16", f"m % {each} == 0"])


MANIFESTS = {
    "matmul": ([matmul_offer(row) for row in MATMUL] + [split_offer(row) for row in SPLIT]
               + [batched_offer(row) for row in BATCHED] + [matvec_offer(row) for row in MATVEC]),
    "add": [add_offer(name, matrix) for matrix in (False, True) for name in ADD],
}


# ---- the compiler ----


def constraint(a, ct, compilation):
    """Of an array whose strides and last dimension are whole 16 bytes, as `when` asks."""
    dtype = {"bf16": ct.bfloat16, "f16": ct.float16, "f32": ct.float32}[a["element"]]
    each = 4 if a["element"] == "f32" else 8
    last = each if a["shape"][-1] == "m" else 1  # nothing is asked of k
    lead = len(a["shape"]) - 1
    return compilation.ArrayConstraint(
        dtype, lead + 1, index_dtype=ct.int32, stride_lower_bound_incl=0, alias_groups=(),
        may_alias_internally=False, stride_constant=(None,) * lead + (1,),
        stride_divisible_by=(each,) * lead + (1,), shape_divisible_by=(1,) * lead + (last,),
        base_addr_divisible_by=16)


def build(module, arch):
    """The cubin, without the names of files and lines that --lineinfo would put in."""
    import cuda.tile as ct
    from cuda.tile import compilation
    import nvidia.cu13
    source = __import__(module.source.removesuffix(".py"))
    what = module.what
    signature = compilation.KernelSignature(
        [constraint(a, ct, compilation) for a in what["arrays"]]
        + [compilation.ScalarConstraint(ct.float32)] * what["scalars"] + what["constants"],
        compilation.CallingConvention.cutile_python_v1(), symbol=module.entry)
    kernel = ct.kernel(getattr(source, what["kernel"]), **what["hints"])
    environment = {k: v for k, v in os.environ.items() if k not in ("CUDA_HOME", "CUDA_PATH")}
    with tempfile.TemporaryDirectory() as folder:
        bytecode, cubin = f"{folder}/kernel.bytecode", f"{folder}/kernel.cubin"
        compilation.export_kernel(kernel, [signature], bytecode, gpu_code=arch,
                                  output_format="tileir_bytecode")
        run = subprocess.run([f"{nvidia.cu13.__path__[0]}/bin/tileiras", bytecode, "-o", cubin,
                              "--gpu-name", arch, "-O3"],
                             env=environment, capture_output=True, text=True)
        if run.returncode != 0:
            sys.exit(f"{module.name} for {arch}: tileiras: {run.stderr.strip()}")
        with open(cubin, "rb") as file:
            return file.read()
