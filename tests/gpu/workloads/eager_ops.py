#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""PyTorch, eager: a fixed list of matrix operations, shapes and repeat counts over every dtype.

--part threads is apart because the cuBLAS log holds only one thread's calls whole; how many products
of one shape its threads make stands in THREAD_CALLS. The same work in every run, so two runs make the same calls. The last line of stdout is JSON: what
was done, what this GPU or PyTorch cannot do, and how long it took.
"""

import argparse
import json
import threading
import time
from collections.abc import Callable, Iterator

import torch
import torch.nn.functional as F

# [M, K] x [K, N], as PyTorch sees them.
SQUARE, WIDE, SKINNY, ODD, ROW = (
    (256, 256, 256),
    (64, 1024, 512),
    (16, 512, 2048),
    (333, 129, 257),
    (1, 1024, 1024),
)
SHAPES = (SQUARE, WIDE, SKINNY, ODD, ROW)
PLAIN = {
    "f64": torch.float64,
    "f32": torch.float32,
    "f16": torch.float16,
    "bf16": torch.bfloat16,
}
THREAD_SIZE, THREAD_CALLS = 128, (500, 750, 1000, 1250)
Op = tuple[str, Callable[[], object], int]  # name, call, how often


def random(*shape: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    return (torch.rand(*shape, device="cuda") - 0.5).to(dtype)


def products() -> Iterator[Op]:
    """mm of every dtype and shape, each shape another number of times."""
    for name, dtype in PLAIN.items():
        for repeat, (m, k, n) in enumerate(SHAPES, 1):
            a, b = random(m, k, dtype=dtype), random(k, n, dtype=dtype)
            yield f"mm {name} {m}x{k}x{n}", lambda a=a, b=b: a @ b, repeat
    for name, dtype in (("c64", torch.complex64), ("c128", torch.complex128)):
        a, b = torch.randn(2, 64, 64, dtype=dtype, device="cuda")
        yield f"mm {name}", lambda a=a, b=b: a @ b.mH, 2
    for name in ("f16", "bf16"):
        a, b = random(64, 512, dtype=PLAIN[name]), random(512, 128, dtype=PLAIN[name])
        yield f"mm {name} to f32", lambda a=a, b=b: torch.mm(a, b, out_dtype=torch.float32), 2


def views() -> Iterator[Op]:
    """Transposes, leading dimensions wider than the rows, and addresses off the usual alignment."""
    for name, dtype in PLAIN.items():
        a, b = random(96, 160, dtype=dtype), random(160, 224, dtype=dtype)
        at, bt = a.t().contiguous().t(), b.t().contiguous().t()
        yield f"nt {name}", lambda a=a, bt=bt: a @ bt, 2
        yield f"tn {name}", lambda at=at, b=b: at @ b, 3
        yield f"tt {name}", lambda at=at, bt=bt: at @ bt, 4
        big = random(320, 320, dtype=dtype)
        left, right = big[:96, 1:161], big[:160, 3:227]
        yield f"wide ld {name}", lambda a=left, b=right: a @ b, 2
        offset = big.flatten()[1:].unfold(0, 64, 64)
        yield f"offset {name}", lambda a=offset: a @ a.t(), 2
        yield f"every other {name}", lambda a=big[::2, ::2]: a @ a.t(), 2
    empty = random(8, 0), random(0, 8)
    yield "k = 0", lambda: empty[0] @ empty[1], 1


def batched() -> Iterator[Op]:
    for name, dtype in PLAIN.items():
        a, b = random(6, 48, 80, dtype=dtype), random(6, 80, 32, dtype=dtype)
        c = random(6, 48, 32, dtype=dtype)
        yield f"bmm {name}", lambda a=a, b=b: torch.bmm(a, b), 3
        yield f"bmm {name} transposed", lambda a=a, c=c: torch.bmm(a.mT, c), 2
        yield f"bmm {name} broadcast", lambda a=a, b=b: torch.bmm(a, b[:1].expand(6, -1, -1)), 2
        yield (
            f"baddbmm {name}",
            lambda a=a, b=b, c=c: torch.baddbmm(c, a, b, beta=0.5, alpha=2.0),
            2,
        )
        heads = random(4, 8, 64, 32, dtype=dtype)
        yield f"heads {name}", lambda q=heads: torch.einsum("bhqd,bhkd->bhqk", q, q), 1


def epilogues() -> Iterator[Op]:
    """Bias and activation; with a 1-D bias PyTorch prefers cublasLtMatmul."""
    for name in ("f32", "f16", "bf16", "f64"):
        dtype = PLAIN[name]
        x, weight = random(64, 256, dtype=dtype), random(512, 256, dtype=dtype)
        bias, full = random(512, dtype=dtype), random(64, 512, dtype=dtype)
        wt = weight.t()
        yield f"addmm {name} bias", lambda x=x, w=wt, b=bias: torch.addmm(b, x, w), 3
        yield f"addmm {name} matrix", lambda x=x, w=wt, c=full: torch.addmm(c, x, w, beta=0.25), 2
        yield f"addmm {name} alpha", lambda x=x, w=wt, b=bias: torch.addmm(b, x, w, alpha=0.5), 1
        yield (
            f"linear {name} 3-D",
            lambda x=x, w=weight, b=bias: F.linear(x.view(4, 16, -1), w, b),
            2,
        )
        for gelu in (False, True):
            yield (
                f"addmm {name} {'gelu' if gelu else 'relu'}",
                lambda x=x, w=wt, b=bias, g=gelu: torch._addmm_activation(b, x, w, use_gelu=g),
                2 + gelu,
            )


def vectors() -> Iterator[Op]:
    for name, dtype in PLAIN.items():
        a, x, y = random(384, 640, dtype=dtype), random(640, dtype=dtype), random(384, dtype=dtype)
        spread = random(1280, dtype=dtype)[::2]
        yield f"mv {name}", lambda a=a, x=x: torch.mv(a, x), 3
        yield f"mv {name} transposed", lambda a=a, y=y: torch.mv(a.t(), y), 2
        yield f"mv {name} stride 2", lambda a=a, x=spread: torch.mv(a, x), 2
        yield (
            f"addmv {name}",
            lambda a=a, x=x, y=y: torch.addmv(y, a, x, beta=0.5, alpha=2.0),
            1,
        )


def narrow() -> Iterator[Op]:
    """fp8 with one scale and with a scale a row, and int8."""
    one = torch.ones((), device="cuda")
    for m, k, n in ((64, 256, 512), (16, 1024, 256), (48, 128, 64)):
        a = random(m, k).to(torch.float8_e4m3fn)
        b = random(n, k).to(torch.float8_e4m3fn).t()
        bias = random(n, dtype=torch.bfloat16)
        for fast in (False, True):
            yield (
                f"fp8 {m}x{k}x{n} fast={fast}",
                lambda a=a, b=b, f=fast: torch._scaled_mm(
                    a, b, one, one, out_dtype=torch.bfloat16, use_fast_accum=f
                ),
                2,
            )
        yield (
            f"fp8 {m}x{k}x{n} bias",
            lambda a=a, b=b, c=bias: torch._scaled_mm(
                a, b, one, one, bias=c, out_dtype=torch.bfloat16
            ),
            1,
        )
        rows = torch.ones(m, 1, device="cuda"), torch.ones(1, n, device="cuda")
        yield (
            f"fp8 {m}x{k}x{n} by rows",
            lambda a=a, b=b, r=rows: torch._scaled_mm(a, b, *r, out_dtype=torch.bfloat16),
            1,
        )
        ia = torch.randint(-8, 8, (m, k), dtype=torch.int8, device="cuda")
        ib = torch.randint(-8, 8, (n, k), dtype=torch.int8, device="cuda").t()
        if m > 16:
            yield f"int8 {m}x{k}x{n}", lambda a=ia, b=ib: torch._int_mm(a, b), 2


def backward() -> Iterator[Op]:
    """A layer with its gradient: the three products of training."""
    layer = torch.nn.Linear(256, 384, device="cuda", dtype=torch.bfloat16)
    x = random(96, 256, dtype=torch.bfloat16).requires_grad_()
    yield "linear and its gradient", lambda: F.gelu(layer(x)).sum().backward(), 3


def half_accumulation() -> Iterator[Op]:
    a, b = random(64, 2048, dtype=torch.float16), random(2048, 64, dtype=torch.float16)
    yield "mm f16, no reduced precision reduction", lambda: a @ b, 2


def tf32_products() -> Iterator[Op]:
    for m, k, n in SHAPES[:4]:
        a, b = random(m, k), random(k, n)
        yield f"mm tf32 {m}x{k}x{n}", lambda a=a, b=b: a @ b, 2
    a, b = random(6, 48, 80), random(6, 80, 32)
    yield "bmm tf32", lambda: torch.bmm(a, b), 2


def lt_products() -> Iterator[Op]:
    for name, dtype in PLAIN.items():
        a, b = random(64, 256, dtype=dtype), random(256, 320, dtype=dtype)
        yield f"mm {name} by Lt", lambda a=a, b=b: a @ b, 2
        batch = random(3, 32, 64, dtype=dtype)
        yield f"bmm {name} by Lt", lambda a=batch: a @ a.mT, 2


class Runner:
    def __init__(self) -> None:
        self.done: list[dict] = []
        self.failed: list[dict] = []

    def run(self, ops: Iterator[Op]) -> None:
        for name, call, repeat in ops:
            try:
                for _ in range(repeat):
                    call()
                torch.cuda.synchronize()
                self.done.append({"op": name, "repeat": repeat})
            except (RuntimeError, ValueError, TypeError, NotImplementedError) as error:
                self.failed.append({"op": name, "error": str(error).splitlines()[0]})


def in_threads(runner: Runner) -> None:
    """Threads on streams of their own, each with its own library handle."""

    def work(repeat: int) -> None:
        with torch.cuda.stream(torch.cuda.Stream()):
            a = random(THREAD_SIZE, THREAD_SIZE, dtype=torch.bfloat16)
            for _ in range(repeat):
                a @ a
            torch.cuda.synchronize()

    threads = [threading.Thread(target=work, args=(repeat,)) for repeat in THREAD_CALLS]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    size = f"{THREAD_SIZE}x{THREAD_SIZE}x{THREAD_SIZE}"
    runner.done.append({"op": f"mm bf16 {size} in threads", "repeat": sum(THREAD_CALLS)})


def with_switches(runner: Runner) -> None:
    """Settings of the process that change what the same call does."""
    matmul = torch.backends.cuda.matmul
    matmul.allow_tf32 = True
    runner.run(tf32_products())
    matmul.allow_tf32 = False
    matmul.allow_fp16_reduced_precision_reduction = False
    runner.run(half_accumulation())
    matmul.allow_fp16_reduced_precision_reduction = True
    before = torch.backends.cuda.preferred_blas_library()
    torch.backends.cuda.preferred_blas_library("cublaslt")
    runner.run(lt_products())
    torch.backends.cuda.preferred_blas_library(before)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--part", default="ops", choices=("ops", "threads"))
    given = parser.parse_args()
    torch.manual_seed(1)
    start = time.monotonic()
    runner = Runner()
    if given.part == "threads":
        in_threads(runner)
    else:
        for ops in (products, views, batched, epilogues, vectors, backward):
            runner.run(ops())
        if torch.cuda.get_device_capability() >= (8, 9):
            runner.run(narrow())
        with_switches(runner)
    torch.cuda.synchronize()
    report = {"workload": "eager_ops", "failed": runner.failed, "ops": runner.done}
    print(json.dumps(report | {"wall_s": time.monotonic() - start}))
    return 1 if runner.failed else 0


if __name__ == "__main__":
    raise SystemExit(main())
