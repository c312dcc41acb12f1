/* SPDX-License-Identifier: Apache-2.0
 *
 * A program that is linked to no GPU library and loads an installation of them by its files' names,
 * as JAX, CuPy and ctypes do: `host_soname WAY FOLDER...` prints the calls that were executed.
 * local     all of the first folder with RTLD_LOCAL, each called
 * copies    cuBLAS of each folder: the same soname, each with its own handles
 * deepbind  the same with RTLD_DEEPBIND
 * dlmopen   cuBLAS of the first folder in a namespace of its own
 */
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "fake.h"
#include "fake_cublaslt.h"
#include "fake_cudnn.h"
#include "tracer/cublas.h"
#include "tracer/graph_calls.h"
#include "tracer/nccl.h"

#define FIND(library, symbol) ((__typeof__(&symbol))must(dlsym(library, #symbol)))

cublasStatus_t cublasCreate_v2(cublasHandle_t *handle);
cublasStatus_t cublasSetStream_v2(cublasHandle_t handle, cudaStream_t stream);
cublasStatus_t cublasSgemm_v2(CUBLAS_GEMM_PARAMS(int, S));
ncclResult_t ncclAllReduce(NCCL_REDUCED_PARAMS);
#define ROW(family, symbol) int symbol(family##_PARAMS);
#include "tracer/graph.def"
#undef ROW
fake_rows fake_cublas_rows, fake_nccl_rows;

static void *must(void *found)
{
    if (!found) {
        fprintf(stderr, "%s\n", dlerror());
        exit(1);
    }
    return found;
}

static const char *path_of(const char *folder, const char *file)
{
    static char path[4096];
    snprintf(path, sizeof path, "%s/%s", folder, file);
    return path;
}

static void *open_local(const char *folder, const char *file, int flags)
{
    return must(dlopen(path_of(folder, file), RTLD_NOW | RTLD_LOCAL | flags));
}

static void call_cublas(void *library, int times, void *stream)
{
    cublasHandle_t handle;
    FIND(library, cublasCreate_v2)(&handle);
    FIND(library, cublasSetStream_v2)(handle, stream);
    for (int i = 0; i < times; i++)
        FIND(library, cublasSgemm_v2)
    (handle, 0, 0, 8, 8, 8, NULL, NULL, 8, NULL, 8, NULL, NULL, 8);
}

static void call_lt(void *library)
{
    enum { COMPUTE_F32 = 68, SIZE = 8 };
    static _Alignas(16) uint8_t desc[FAKE_LT_BYTES], layout[FAKE_LT_BYTES];
    FIND(library, cublasLtMatmulDescInit_internal)(desc, sizeof desc, COMPUTE_F32, 0);
    FIND(library, cublasLtMatrixLayoutInit_internal)(layout, 64, 0, SIZE, SIZE, SIZE);
    FIND(library, cublasLtMatmul)
    (NULL, (void *)desc, NULL, NULL, (void *)layout, NULL, (void *)layout, NULL, NULL,
     (void *)layout, NULL, (void *)layout, NULL, NULL, 0, NULL);
}

static void call_cudnn(void *library)
{
    static struct fake_extent image = { 2, 4, { 8, 64, 30, 30 }, { 57600, 900, 30, 1 } };
    static struct fake_extent filter = { 2, 4, { 128, 32, 3, 3 }, { 0 } };
    static struct fake_extent result = { 2, 4, { 8, 128, 28, 28 }, { 100352, 784, 28, 1 } };
    static struct fake_conv conv = { 0, 1, 2 };
    FIND(library, cudnnConvolutionForward)
    (NULL, NULL, (void *)&image, NULL, (void *)&filter, NULL, (void *)&conv, 0, NULL, 0, NULL,
     (void *)&result, NULL);
}

/* cuBLAS captured through the runtime, launched through the runtime and the driver. */
static void call_graphs(void *runtime, void *driver, void *cublas)
{
    void *graph = NULL, *exec = NULL, *stream = FIND(driver, fake_stream)();
    FIND(runtime, cudaStreamBeginCapture)(stream, 0);
    call_cublas(cublas, 2, stream);
    FIND(runtime, cudaStreamEndCapture)(stream, &graph);
    FIND(runtime, cudaGraphInstantiate)(&exec, graph, 0, 0, 0);
    for (int i = 0; i < 5; i++) {
        FIND(runtime, cudaGraphLaunch)(exec, stream);
        FIND(driver, cuGraphLaunch)(exec, stream);
    }
}

static int local(char **folder)
{
    void *cublas = open_local(*folder, "libcublas.so.13", 0);
    void *lt = open_local(*folder, "libcublasLt.so.13", 0);
    void *cudnn = open_local(*folder, "libcudnn.so.9", 0);
    void *nccl = open_local(*folder, "libnccl.so.2", 0);
    void *runtime = open_local(*folder, "libcudart.so.13", 0);
    void *driver = open_local(*folder, "libcuda.so.1", 0);
    int ranks = 4;
    call_cublas(cublas, 3, NULL);
    call_graphs(runtime, driver, cublas);
    call_lt(lt);
    call_cudnn(cudnn);
    FIND(nccl, ncclAllReduce)(NULL, NULL, 100, 9, 0, (ncclComm_t)(void *)&ranks, NULL);
    fake_print(FIND(cublas, fake_cublas_rows));
    fake_print(FIND(lt, fake_cublaslt_rows));
    fake_print(FIND(cudnn, fake_cudnn_rows));
    fake_print(FIND(nccl, fake_nccl_rows));
    return 0;
}

static int copies(char **folder, int flags)
{
    unsigned long long sum = 0;
    for (int i = 0; folder[i]; i++)
        for (int turn = 0; turn < 3; turn++)
            call_cublas(open_local(folder[i], "libcublas.so.13", flags), i + 1, NULL);
    for (int i = 0; folder[i]; i++) {
        fake_rows *rows = FIND(open_local(folder[i], "libcublas.so.13", flags), fake_cublas_rows);
        unsigned long long executed = 0;
        for (struct fake_row *r = rows(); r->symbol; r++)
            executed += r->executed;
        if (executed != 3ull * (unsigned)(i + 1))
            return 1; /* a call reached another copy */
        sum += executed;
    }
    printf("cublasSgemm_v2 %llu\n", sum);
    return 0;
}

static int apart(char **folder)
{
    void *cublas =
        must(dlmopen(LM_ID_NEWLM, path_of(*folder, "libcublas.so.13"), RTLD_NOW | RTLD_LOCAL));
    call_cublas(cublas, 4, NULL);
    fake_print(FIND(cublas, fake_cublas_rows));
    return 0;
}

int main(int argc, char **argv)
{
    const char *way = argc > 2 ? argv[1] : "";
    if (strcmp(way, "local") == 0)
        return local(argv + 2);
    if (strcmp(way, "copies") == 0)
        return copies(argv + 2, 0);
    if (strcmp(way, "deepbind") == 0)
        return copies(argv + 2, RTLD_DEEPBIND);
    return strcmp(way, "dlmopen") == 0 ? apart(argv + 2) : 64;
}
