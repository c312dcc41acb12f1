# SPDX-License-Identifier: Apache-2.0
"""As much of cuTile as kernels/cutile uses, in numpy: a kernel is a Python function that is called
once for each block. What cuTile leaves undefined is an error here."""
import types

import numpy as np

float32 = tfloat32 = np.float64  # values in the tests are exact in all of them
Constant = {int: int}
PaddingMode = types.SimpleNamespace(ZERO="zero")
_block = [0, 0, 0]


class Array:
    """A view of memory: shape, strides in elements."""

    def __init__(self, memory, shape, strides):
        last = sum((n - 1) * s for n, s in zip(shape, strides))
        assert min(shape) > 0 and last < memory.size, "beyond the operand"
        self.view = np.lib.stride_tricks.as_strided(
            memory, shape, [s * memory.itemsize for s in strides])
        self.shape, self.dtype = tuple(shape), memory.dtype


def launch(kernel, grid, arguments):
    for z in range(grid[2]):
        for y in range(grid[1]):
            for x in range(grid[0]):
                _block[:] = x, y, z
                kernel(*arguments)


def bid(axis):
    return _block[axis]


def cdiv(x, y):
    return -(-x // y)


def num_tiles(array, *, axis, shape):
    return cdiv(array.shape[axis], shape[axis])


def _inside(array, index, shape):
    """The part of a tile that lies in the array."""
    assert len(index) == len(shape) == len(array.shape)
    assert all(n & (n - 1) == 0 for n in shape), "tiles are powers of two"
    begin = [i * n for i, n in zip(index, shape)]
    assert all(0 <= b < n for b, n in zip(begin, array.shape)), "a tile outside of the array"
    return tuple(slice(b, min(b + n, most)) for b, n, most in zip(begin, shape, array.shape))


def load(array, index, shape, *, padding_mode=None):
    part = array.view[_inside(array, index, shape)]
    tile = np.full(shape, 0.0 if padding_mode == PaddingMode.ZERO else np.nan)
    tile[tuple(slice(0, n) for n in part.shape)] = part
    return tile


def store(array, index, tile):
    at = _inside(array, index, tile.shape)
    part = array.view[at]
    part[...] = tile[tuple(slice(0, n) for n in part.shape)]


def zeros(shape, dtype):
    return np.zeros(shape, dtype)


def mma(x, y, acc):
    assert acc.shape == (x.shape[0], y.shape[1])
    return acc + x @ y


transpose, reshape, sum = np.transpose, np.reshape, np.sum
