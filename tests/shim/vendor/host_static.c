/* SPDX-License-Identifier: Apache-2.0
 *
 * Loads objects, some with cuBLAS inside, and calls cuBLAS once itself: `host_static OBJECT...`.
 * With $STAY it goes on for some looks of the writer, which has one each second, and ends without
 * an exit handler.
 */
#include <dlfcn.h>
#include <stdlib.h>
#include <unistd.h>

#include "tracer/cublas.h"

cublasStatus_t cublasCreate_v2(cublasHandle_t *handle);
cublasStatus_t cublasSgemm_v2(CUBLAS_GEMM_PARAMS(int, S));
typedef cublasStatus_t create_call(cublasHandle_t *handle);
typedef cublasStatus_t sgemm_call(CUBLAS_GEMM_PARAMS(int, S));

static void call(create_call *create, sgemm_call *sgemm)
{
    cublasHandle_t handle;
    create(&handle);
    sgemm(handle, 0, 0, 8, 8, 8, NULL, NULL, 8, NULL, 8, NULL, NULL, 8);
}

int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        void *object = dlopen(argv[i], RTLD_NOW | RTLD_LOCAL);
        if (!object)
            return 1;
        create_call *create = (create_call *)dlsym(object, "cublasCreate_v2");
        sgemm_call *sgemm = (sgemm_call *)dlsym(object, "cublasSgemm_v2");
        if (create && sgemm)
            call(create, sgemm);
    }
    call(cublasCreate_v2, cublasSgemm_v2);
    if (getenv("STAY")) {
        for (int i = 0; i < 50; i++) {
            usleep(100000);
            call(cublasCreate_v2, cublasSgemm_v2);
        }
        _exit(0);
    }
    return 0;
}
