# SPDX-License-Identifier: Apache-2.0
"""Phases named through Python's nvtx package, around calls of the fake cuBLAS; says which."""

import ctypes
import sys

import nvtx


def main() -> int:
    cublas = ctypes.CDLL(sys.argv[1])
    handle = ctypes.c_void_p()
    cublas.cublasCreate_v2(ctypes.byref(handle))

    def calls(times: int) -> None:
        null = ctypes.c_void_p()
        for _ in range(times):
            cublas.cublasSgemm_v2(handle, 0, 0, 8, 8, 8, null, null, 8, null, 8, null, null, 8)

    with nvtx.annotate("prefill", color="green"):
        calls(3)
    for step in range(4):
        with nvtx.annotate(f"decode {step}", domain="server"):
            calls(2)
    nvtx.push_range("pushed")
    calls(1)
    nvtx.pop_range()
    nvtx.mark("request 1")
    calls(5)
    print("mark request # 1\nphase decode # 4 4 8\nphase prefill 1 1 3\nphase pushed 1 1 1\nwithout 5")
    return 0


if __name__ == "__main__":
    sys.exit(main())
