# SPDX-License-Identifier: Apache-2.0
"""y = alpha x + y in Triton: one rounding to f32, one more to a shorter type."""
import triton
import triton.language as tl


@triton.jit
def add_vector(X, Y, alpha, m, T: tl.constexpr):
    at = tl.program_id(0) * T + tl.arange(0, T)
    inside = at < m
    x = tl.load(X + at, mask=inside).to(tl.float32)
    y = tl.load(Y + at, mask=inside).to(tl.float32)
    tl.store(Y + at, tl.fma(x, alpha, y).to(Y.dtype.element_ty), mask=inside)
