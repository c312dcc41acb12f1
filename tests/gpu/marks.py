# SPDX-License-Identifier: Apache-2.0
"""Marks around the capture of a CUDA graph, in the order of the vendor's own logs.

A call inside a graph is logged once, when it is captured, and works as often as the graph is
launched. So a workload puts a product of a shape that nothing else has, in each of the two
libraries, before and after each capture, and says how often it launches graph g: what lies between
marks 2g and 2g + 1 counts that often.
"""

ROWS, INNER, FIRST = 3, 5, 8  # a [3,5] x [5, 8 + mark] product in f64: cublasDgemm
LT_ROWS, LT_INNER, LT_STEP = 19, 8, 8  # [19,8] x [8, 8 (1 + mark)] in int8: cublasLtMatmul


def place(torch, mark: int) -> None:
    """Make both marks; `torch` is the module, so that this file needs none."""
    left = torch.ones(ROWS, INNER, dtype=torch.float64, device="cuda")
    torch.mm(left, torch.ones(INNER, FIRST + mark, dtype=torch.float64, device="cuda"))
    left = torch.ones(LT_ROWS, LT_INNER, dtype=torch.int8, device="cuda")
    right = torch.ones(LT_STEP * (1 + mark), LT_INNER, dtype=torch.int8, device="cuda")
    torch._int_mm(left, right.t())


def read(dtype: str, m: int, n: int, k: int) -> int | None:
    """The mark that a product in BLAS orientation is, or None."""
    if (dtype, n, k) == ("f64", ROWS, INNER) and m >= FIRST:
        return m - FIRST
    if (dtype, n, k) == ("i8", LT_ROWS, LT_INNER) and m >= LT_STEP:
        return m // LT_STEP - 1
    return None
