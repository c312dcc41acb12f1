# SPDX-License-Identifier: Apache-2.0
"""Matrix products in cuTile Python.

Column-major C[m,n] = op(A) op(B) is row-major Y[n,m] = X[n,k] W: X is B as it lies in memory, W is A.
W_ROWS says how A lies there: rows of k ([m,k], a call with trans_a = T) or of m ([k,m]). Parts of a
tile beyond the matrix are zeros, so any m, n and k are right; alpha is one and beta zero.
"""
import cuda.tile as ct

Constant = ct.Constant[int]
ZERO = ct.PaddingMode.ZERO


def swizzled(block, rows, columns, group):
    """Tile (row, column) of a block: `group` rows of tiles go column by column, so that blocks that
    run at the same time share what they read."""
    per_group = group * columns
    first = (block // per_group) * group
    height = min(rows - first, group)
    inside = block % per_group
    return first + inside % height, inside // height


def load_x(X, row, i, TN, TK):
    return ct.load(X, (row, i), (TN, TK), padding_mode=ZERO)


def load_w(W, column, i, TM, TK, W_ROWS):
    """[k,m] part of W."""
    if W_ROWS:
        return ct.transpose(ct.load(W, (column, i), (TM, TK), padding_mode=ZERO))
    return ct.load(W, (i, column), (TK, TM), padding_mode=ZERO)


def operand(tile, TF32):
    if TF32:
        return tile.astype(ct.tfloat32)
    else:
        return tile


def multiply(x, w, acc, W_FIRST, TF32):
    """acc += x w, [n,m]; with W_FIRST acc is [m,n]: the side that tensor cores take 64 rows of
    is then that of the weights, where x has few."""
    if W_FIRST:
        return ct.mma(operand(ct.transpose(w), TF32), operand(ct.transpose(x), TF32), acc)
    else:
        return ct.mma(operand(x, TF32), operand(w, TF32), acc)


def product(X, W, row, column, first, last, TM, TN, TK, W_ROWS, W_FIRST, TF32):
    """One tile of the result, [n,m] in f32, of the steps along k from `first` to `last`."""
    if W_FIRST:
        acc = ct.zeros((TM, TN), ct.float32)
    else:
        acc = ct.zeros((TN, TM), ct.float32)
    for i in range(first, last):
        x = load_x(X, row, i, TN, TK)
        w = load_w(W, column, i, TM, TK, W_ROWS)
        acc = multiply(x, w, acc, W_FIRST, TF32)
    if W_FIRST:
        acc = ct.transpose(acc)
    return acc


def matmul(X, W, Y, TM: Constant, TN: Constant, TK: Constant, GROUP: Constant, W_ROWS: Constant,
           W_FIRST: Constant, TF32: Constant):
    n = Y.shape[0]
    m = Y.shape[1]
    row, column = swizzled(ct.bid(0), ct.cdiv(n, TN), ct.cdiv(m, TM), GROUP)
    steps = ct.num_tiles(X, axis=1, shape=(TN, TK))
    acc = product(X, W, row, column, 0, steps, TM, TN, TK, W_ROWS, W_FIRST, TF32)
    ct.store(Y, (row, column), acc.astype(Y.dtype))


def matmul_parts(X, W, Z, TM: Constant, TN: Constant, TK: Constant, W_ROWS: Constant,
                 W_FIRST: Constant, TF32: Constant):
    """Where a few tiles leave multiprocessors idle: the grid's y is a part of k. Z[part,n,m] holds
    sums in f32 that sum_parts adds up in order, so that results repeat to the last bit."""
    part = ct.bid(1)
    tiles_m = ct.cdiv(Z.shape[2], TM)
    row = ct.bid(0) // tiles_m
    column = ct.bid(0) % tiles_m
    steps = ct.num_tiles(X, axis=1, shape=(TN, TK))
    each = ct.cdiv(steps, Z.shape[0])
    first = min(part * each, steps)
    last = min(first + each, steps)
    acc = product(X, W, row, column, first, last, TM, TN, TK, W_ROWS, W_FIRST, TF32)
    ct.store(Z, (part, row, column), ct.reshape(acc, (1, TN, TM)))


def sum_parts(Z, Y, TM: Constant, TN: Constant):
    row = ct.bid(1)
    column = ct.bid(0)
    acc = ct.zeros((TN, TM), ct.float32)
    for part in range(Z.shape[0]):
        acc = acc + ct.reshape(ct.load(Z, (part, row, column), (1, TN, TM), padding_mode=ZERO),
                               (TN, TM))
    ct.store(Y, (row, column), acc.astype(Y.dtype))


def matmul_batched(X, W, Y, TM: Constant, TN: Constant, TK: Constant, W_ROWS: Constant,
                   W_FIRST: Constant, TF32: Constant):
    """The grid's z is the entry of the batch."""
    entry = ct.bid(2)
    row = ct.bid(1)
    column = ct.bid(0)
    if W_FIRST:
        acc = ct.zeros((TM, TN), ct.float32)
    else:
        acc = ct.zeros((TN, TM), ct.float32)
    for i in range(ct.num_tiles(X, axis=2, shape=(1, TN, TK))):
        x = ct.reshape(ct.load(X, (entry, row, i), (1, TN, TK), padding_mode=ZERO), (TN, TK))
        if W_ROWS:
            w = ct.load(W, (entry, column, i), (1, TM, TK), padding_mode=ZERO)
            w = ct.transpose(ct.reshape(w, (TM, TK)))
        else:
            w = ct.load(W, (entry, i, column), (1, TK, TM), padding_mode=ZERO)
            w = ct.reshape(w, (TK, TM))
        acc = multiply(x, w, acc, W_FIRST, TF32)
    if W_FIRST:
        acc = ct.transpose(acc)
    ct.store(Y, (entry, row, column), ct.reshape(acc.astype(Y.dtype), (1, TN, TM)))


def matvec(X, W, Y, TM: Constant, TK: Constant):
    """n = 1, W as rows of k: multiply-adds at the speed of memory, no tensor cores."""
    block = ct.bid(0)
    acc = ct.zeros((TM, TK), ct.float32)
    for i in range(ct.num_tiles(X, axis=0, shape=(TK,))):
        x = ct.load(X, (i,), (TK,), padding_mode=ZERO).astype(ct.float32)
        w = ct.load(W, (block, i), (TM, TK), padding_mode=ZERO).astype(ct.float32)
        acc = acc + w * ct.reshape(x, (1, TK))
    ct.store(Y, (block,), ct.sum(acc, axis=1).astype(Y.dtype))
