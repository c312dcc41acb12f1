/* SPDX-License-Identifier: Apache-2.0
 *
 * Another preloaded library: wraps puts and cblas_sgemm by RTLD_NEXT, as most tools do. If our
 * dlsym hid who calls, it would get its own functions back and never return.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

#include "rows.h"

void cblas_sgemm(CBLAS_GEMM_PARAMS(int, s));

int next_calls;

int puts(const char *text)
{
    static int depth;
    int (*real)(const char *) = (int (*)(const char *))dlsym(RTLD_NEXT, "puts");
    if (!real || ++depth > 1)
        abort();
    int result = real(text);
    depth--;
    return result;
}

void cblas_sgemm(CBLAS_GEMM_PARAMS(int, s))
{
    static int depth;
    __typeof__(&cblas_sgemm) real = (__typeof__(real))dlsym(RTLD_NEXT, "cblas_sgemm");
    if (!real || ++depth > 1)
        abort();
    next_calls++;
    real(CBLAS_GEMM_ARGS);
    depth--;
}
