# SPDX-License-Identifier: Apache-2.0
"""y = alpha x + y in cuTile Python: one rounding to f32, one more to a shorter type."""
import cuda.tile as ct

Constant = ct.Constant[int]


def add_vector(X, Y, alpha, T: Constant):
    at = (ct.bid(0),)
    x = ct.load(X, at, (T,)).astype(ct.float32)
    y = ct.load(Y, at, (T,)).astype(ct.float32)
    ct.store(Y, at, (x * alpha + y).astype(Y.dtype))


def add_matrix(X, Y, alpha, ROWS: Constant, COLUMNS: Constant):
    """Columns that lie ldb and ldc apart: as rows of m."""
    at = (ct.bid(1), ct.bid(0))
    x = ct.load(X, at, (ROWS, COLUMNS)).astype(ct.float32)
    y = ct.load(Y, at, (ROWS, COLUMNS)).astype(ct.float32)
    ct.store(Y, at, (x * alpha + y).astype(Y.dtype))
