#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The cuTile kernels in numpy (TAP): each candidate's grid, arguments and scratch are those of its
manifest, its data small integers with exact sums, the result surrounded by what nobody may touch."""

import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path[:0] = [str(HERE / "cutile"), str(ROOT / "kernels"), str(ROOT / "tests" / "gpu")]
try:
    import numpy as np
except ImportError:
    print("1..1\nok 1 - cuTile kernels in numpy # SKIP no numpy")
    sys.exit(0)
import compile as ahead
import cuda.tile as ct
import tap

# m, n, k, batch: nothing fills its last tile; gaps: what leading dimensions are longer by.
SHAPES = [(264, 5, 1096, 1), (136, 13, 1096, 1), (520, 33, 1064, 1), (392, 201, 264, 1), (264, 1, 1096, 1),
          (136, 70, 72, 3), (264, 5, 72, 2)]  # fmt: skip
ADDS = [(4104, 1), (2056, 5)]
GAP = 16
UNTOUCHED = 777.0
TABLE = ahead.load_table("cutile")


def value(expression: str, names: dict) -> int:
    python = expression.replace("&&", " and ").replace("||", " or ").replace("/", "//")
    return int(eval(python, {"max": max, "min": min, "ceil_div": ct.cdiv}, names))


def names_of(m, n, k, batch, trans, gap):
    rows_a, columns_a = (k, m) if trans[0] == "T" else (m, k)
    lda, ldb, ldc = rows_a + gap, k + gap, m + gap
    names = dict(m=m, n=n, k=k, batch=batch, lda=lda, ldb=ldb, ldc=ldc, sm_count=132)
    names |= dict(stride_a=lda * columns_a, stride_b=ldb * n, stride_c=ldc * n)
    return names | dict.fromkeys(("align_a", "align_b", "align_c"), 16)


def column_major(memory, batch, rows, columns, ld, stride):
    return np.lib.stride_tricks.as_strided(
        memory, (batch, rows, columns), [8 * stride, 8, 8 * ld])


def split_arguments(launch, names):
    """Of a launch: (pointer, shape, strides) of each array, then the scalars' names."""
    rest = list(launch.args)
    for array in launch.module.what["arrays"]:
        dims = len(array["shape"])
        pointer, numbers = rest[0]["ptr"], [value(a["i32"], names) for a in rest[1 : 1 + 2 * dims]]
        rest = rest[1 + 2 * dims :]
        yield pointer, numbers[:dims], numbers[dims:]
    yield from (a["f32"] for a in rest)


def run(offer, memory, names, scalars):
    for launch in offer.launches:
        what = launch.module.what
        source = __import__(launch.module.source.removesuffix(".py"))
        arguments = [
            scalars[one] if isinstance(one, str) else ct.Array(memory[one[0]], *one[1:])
            for one in split_arguments(launch, names)
        ]
        grid = [value(e, names) for e in launch.grid] + [1, 1]
        ct.launch(getattr(source, what["kernel"]), grid, arguments + what["constants"])


def multiply(offer, names) -> None:
    random = np.random.default_rng(7)
    m, n, k, batch = (names[x] for x in ("m", "n", "k", "batch"))
    sizes = {x: names[f"stride_{x}"] * batch for x in "abc"}
    memory = {x: random.integers(-3, 4, sizes[x]).astype(float) for x in "ab"}
    memory["c"] = np.full(sizes["c"], UNTOUCHED)
    scratch = value(offer.scratch, names) if offer.scratch else 4
    memory["scratch"] = np.full(scratch // 4, np.nan)
    flipped = offer.trans[0][0] == "T"
    a = column_major(memory["a"], batch, *((k, m) if flipped else (m, k)), names["lda"],
                     names["stride_a"])
    b = column_major(memory["b"], batch, k, n, names["ldb"], names["stride_b"])
    wanted = np.full(sizes["c"], UNTOUCHED)
    column_major(wanted, batch, m, n, names["ldc"], names["stride_c"])[...] = (
        np.swapaxes(a, 1, 2) if flipped else a
    ) @ b
    run(offer, memory, names, {})
    assert np.array_equal(memory["c"], wanted), (offer.name, names)


def products() -> list:
    return TABLE.MANIFESTS["matmul"]


def calls_for(offer):
    """Calls that the manifest takes, with gaps behind the columns and without."""
    for m, n, k, batch in SHAPES:
        for gap in (0, GAP):
            names = names_of(m, n, k, batch, offer.trans[0], gap)
            fits = batch == 1 or offer.batch == "strided"
            if fits and all(value(condition, names) for condition in offer.when):
                yield names


def test_products_are_right():
    for offer in products():
        calls = list(calls_for(offer))
        assert calls, f"{offer.name}: no shape here"
        for names in calls:
            multiply(offer, names)


def test_parts_fill_the_device_and_are_none_too_small():
    offer = next(o for o in products() if o.name == "cutile_bf16_tn_64x16_split")
    for m, k, least, most in ((2048, 2048, 5, 8), (512, 2048, 8, 8), (32000, 2048, 1, 1)):
        names = names_of(m, 16, k, 1, "TN", 0)
        parts = value(offer.launches[0].grid[1], names)
        assert least <= parts <= most, (m, k, parts)


def test_adds_are_right():
    for offer in TABLE.MANIFESTS["add"]:
        met = 0
        for m, n in ADDS:
            step = m + GAP if n > 1 else 1
            names = dict(m=m, n=n, ldb=step, ldc=step, incx=step, incy=step, align_b=16, align_c=16)
            if not all(value(condition, names) for condition in offer.when):
                continue
            met += 1
            size = step * (n - 1) + m if n > 1 else m
            x, y = np.arange(size) % 7.0, np.arange(size) % 5.0
            column = np.arange(size) % (m + GAP) < m if n > 1 else np.ones(size, bool)
            wanted = np.where(column, 0.5 * x + y, y)
            run(offer, {"b": x, "c": y}, names, {"alpha": 0.5})
            assert np.array_equal(y, wanted), (offer.name, m, n)
        assert met, f"{offer.name}: no shape here"


def test_a_wrong_argument_is_noticed():
    """The test can fail: a manifest that mixes two strides up."""
    offer = next(o for o in products() if o.name == "cutile_bf16_nn_64x16")
    launch = offer.launches[0]
    swapped = [dict(a) for a in launch.args]
    for a in swapped:
        if a.get("i32") in ("lda", "ldb"):
            a["i32"] = "ldb" if a["i32"] == "lda" else "lda"
    names = names_of(264, 5, 1096, 1, "NN", 0)
    wrong = type(offer)(**{**vars(offer), "launches": [type(launch)(
        launch.module, launch.grid, swapped)]})  # fmt: skip
    try:
        multiply(wrong, names)
    except AssertionError:
        return
    raise AssertionError("nobody noticed")


if __name__ == "__main__":
    sys.exit(tap.run(globals()))
