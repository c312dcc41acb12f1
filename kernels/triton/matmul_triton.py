# SPDX-License-Identifier: Apache-2.0
"""Matrix products in Triton: row-major Y[n,m] = X[n,k] W, where W is A as it lies in memory, in rows
of k (W_ROWS) or of m (kernels/cutile/matmul.py has the same reading). k is a multiple of TK."""
import triton
import triton.language as tl


@triton.jit
def matmul(X, W, Y, m, n, k, ldw, ldx, ldy, TM: tl.constexpr, TN: tl.constexpr, TK: tl.constexpr,
           GROUP: tl.constexpr, W_ROWS: tl.constexpr, W_FIRST: tl.constexpr):
    rows = tl.cdiv(n, TN)
    columns = tl.cdiv(m, TM)
    block = tl.program_id(0)
    first = block // (GROUP * columns) * GROUP
    height = min(rows - first, GROUP)
    inside = block % (GROUP * columns)
    at_n = (first + inside % height) * TN + tl.arange(0, TN)
    at_m = inside // height * TM + tl.arange(0, TM)
    at_k = tl.arange(0, TK)
    # Rows beyond the matrix repeat it: what they give is not stored.
    read_n = at_n % n
    read_m = tl.max_contiguous(tl.multiple_of(at_m % m, 16), 16)
    w_row = ldw if W_ROWS else 1
    w_step = 1 if W_ROWS else ldw
    if W_FIRST:
        acc = tl.zeros((TM, TN), tl.float32)
        x_at = X + at_k[:, None] + read_n[None, :] * ldx
        w_at = W + read_m[:, None] * w_row + at_k[None, :] * w_step
    else:
        acc = tl.zeros((TN, TM), tl.float32)
        x_at = X + read_n[:, None] * ldx + at_k[None, :]
        w_at = W + at_k[:, None] * w_step + read_m[None, :] * w_row
    for _ in range(0, k, TK):
        if W_FIRST:
            acc = tl.dot(tl.load(w_at), tl.load(x_at), acc)
        else:
            acc = tl.dot(tl.load(x_at), tl.load(w_at), acc)
        x_at += TK
        w_at += TK * w_step
    if W_FIRST:
        acc = tl.trans(acc)
    inside_y = (at_n[:, None] < n) & (at_m[None, :] < m)
    tl.store(Y + at_n[:, None] * ldy + at_m[None, :], acc.to(Y.dtype.element_ty), mask=inside_y)
