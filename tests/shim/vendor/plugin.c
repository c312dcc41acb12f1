/* SPDX-License-Identifier: Apache-2.0 */
#include "doors.h"
#include "tracer/cublas.h"

cublasStatus_t cublasCreate_v2(cublasHandle_t *handle);
cublasStatus_t cublasSgemm_v2(CUBLAS_GEMM_PARAMS(int, S));

void plugin_run(int times)
{
    cublasHandle_t h;
    cublasCreate_v2(&h);
    for (int i = 0; i < times; i++)
        cublasSgemm_v2(h, 0, 0, 8, 8, 8, NULL, NULL, 8, NULL, 8, NULL, NULL, 8);
}
