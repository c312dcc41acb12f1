# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# numpy under the shim: its own tests pass, and its results are the same to the last bit.
. "$TILEWISE_SOURCE/tests/tap.sh"
. "$TILEWISE_SOURCE/tests/hosts/recorded.sh"

cat >"$work/hashes.py" <<'END'
import hashlib, sys
import numpy as np
rng = np.random.default_rng(7)
def show(name, x):
    print(name, hashlib.sha256(np.ascontiguousarray(x).tobytes()).hexdigest())
for dtype in "fdFD":
    for m, n, k in [(1, 1, 1), (3, 5, 7), (64, 32, 128), (129, 257, 65), (1, 300, 200), (300, 1, 200)]:
        a, b = (rng.standard_normal(s).astype(dtype) for s in ((m, k), (k, n)))
        show(f"{dtype} gemm {m} {n} {k}", a @ b)
        show(f"{dtype} transposed {m} {n} {k}", b.T @ a.T)
        show(f"{dtype} gemv {m} {k}", a @ b[:, 0])
        show(f"{dtype} syrk {m} {k}", a @ a.T)
        show(f"{dtype} strided {m} {n} {k}", a[:, ::2] @ b[::2])
    x = rng.standard_normal((40, 40)).astype(dtype)
    show(f"{dtype} solve", np.linalg.solve(x, x[0]))
    show(f"{dtype} inverse", np.linalg.inv(x))
    show(f"{dtype} singular", np.linalg.svd(x)[1])
x = rng.standard_normal((50, 20))
x[3, 4], x[5, 6], x[7, 8] = np.nan, np.inf, -0.0
with np.errstate(all="ignore"):
    show("nan", x @ x.T)
try:
    np.linalg.inv(np.zeros((3, 3)))
except np.linalg.LinAlgError as error:
    print("error", error)
END

if ! $python -c 'import numpy, pytest, hypothesis' 2>/dev/null; then
    skip "numpy" "python3-numpy, python3-pytest or python3-hypothesis is not installed"
    finish
fi
check "results are the same to the last bit" identical hashes $python "$work/hashes.py"
check "every call of that run is accounted for" accounts "$work/hashes" 120

suite='import sys, numpy
sys.exit(not numpy.test("fast", verbose=0, extra_argv=["-q", "-p", "no:cacheprovider"], tests=[
    "numpy.linalg", "numpy.matrixlib", "numpy.polynomial", "numpy.core.tests.test_multiarray",
    "numpy.core.tests.test_einsum"]))'
cd "$work" || exit 1
check "numpy's own tests pass (linalg, matrixlib, polynomial, multiarray, einsum)" \
    recorded "$work/suite" $python -c "$suite"
check "every call of the suite is accounted for" accounts "$work/suite" 1000
finish
