# SPDX-License-Identifier: Apache-2.0
"""A library that makes products of a fake cuBLAS as PyTorch does: with setters that tell nothing new."""

import os
import pathlib
import subprocess

SOURCE = """
int cublasCreate_v2(void **), cublasSetStream_v2(void *, void *), cublasSetMathMode(void *, int);
int cublasGemmEx(void *, int, int, int, int, int, const void *, const void *, int, int, const void *, int,
                 int, const void *, void *, int, int, int, int);
void product(int n)
{
    static void *handle;
    if (!handle)
        cublasCreate_v2(&handle);
    cublasSetStream_v2(handle, 0);
    cublasSetMathMode(handle, 0);
    cublasGemmEx(handle, 0, 0, 8, 8 + n, 8, 0, 0, 0, 8, 0, 0, 8, 0, 0, 0, 8, 68, -1);
    cublasSetMathMode(handle, 0);
}
"""


def build(folder: pathlib.Path, vendor: pathlib.Path) -> pathlib.Path:
    """The library, in `folder`; vendor: where libfake_cublas.so is."""
    source, library = folder / "host.c", folder / "libhost.so"
    source.write_text(SOURCE, encoding="ascii")
    # The last call must come from the library, not from whoever called the library.
    words = ["-O2", "-fno-optimize-sibling-calls", "-shared", "-fPIC", str(source), "-o", str(library)]
    libraries = [f"-L{vendor}", "-lfake_cublas", f"-Wl,-rpath,{vendor}"]
    subprocess.run([os.environ.get("CC", "cc"), *words, *libraries], check=True)
    return library
