/* SPDX-License-Identifier: Apache-2.0
 *
 * NVIDIA's driver, runtime, cuBLAS and cuBLASLt, loaded by dlopen: the same program runs where
 * there is no GPU, and the vendor's headers are not needed to build it. Handles are pointers,
 * enumerations ints.
 */
#ifndef TILEWISE_REPLAYER_CUDA_API_H
#define TILEWISE_REPLAYER_CUDA_API_H

#include <stddef.h>
#include <stdint.h>

#include "traces/status.h"

/* Numbers of the vendor that we name. */
enum {
    CUDA_ATTRIBUTE_SM_COUNT = 16,
    CUDA_ATTRIBUTE_L2_BYTES = 38,
    CUDA_ATTRIBUTE_MAJOR = 75, /* of the driver and of the runtime */
    CUDA_ATTRIBUTE_MINOR = 76,
    CUDA_COPY_TO_DEVICE = 1,
    CUDA_COPY_TO_HOST = 2,
    CUDA_COPY_ON_DEVICE = 3,
    CUDA_STREAM_NON_BLOCKING = 1,
    CUDA_CAPTURE_RELAXED = 2,
    CUDA_EVENT_RECORD_EXTERNAL = 1,
    CUBLAS_POINTERS_ON_HOST = 0,
    CUBLAS_POINTERS_ON_DEVICE = 1,
    CUBLAS_STATUS_NOT_SUPPORTED = 15,
    CUBLASLT_DESC_TRANS_A = 3,
    CUBLASLT_DESC_TRANS_B = 4,
    CUBLASLT_DESC_EPILOGUE = 7,
    CUBLASLT_DESC_BIAS_POINTER = 8,
    CUBLASLT_DESC_A_SCALE_POINTER = 17, /* then B, C, D */
    CUBLASLT_DESC_FAST_ACCUM = 25,
    CUBLASLT_DESC_BIAS_TYPE = 26,
    CUBLASLT_DESC_A_SCALE_MODE = 31, /* then B, C, D */
    CUBLASLT_LAYOUT_ORDER = 1,
    CUBLASLT_LAYOUT_BATCH = 5,
    CUBLASLT_LAYOUT_STRIDE = 6,
    CUBLASLT_PREFERENCE_WORKSPACE = 1,
    CUBLASLT_PREFERENCE_ALIGN_A = 5, /* then B, C, D */
};

/* Opaque, as the vendor's: 64 bytes of algorithm first. */
struct cuda_lt_found {
    uint64_t algorithm[8];
    size_t workspace_bytes;
    int status;
    float waves;
    int reserved[4];
};

/* clang-format off */
/* X(name, return type, parameters) */
#define CUDA_DRIVER_LIST(X)                                                                        \
    X(cuInit,               int, (unsigned flags))                                                 \
    X(cuDriverGetVersion,   int, (int *version))                                                   \
    X(cuDeviceGetCount,     int, (int *count))                                                     \
    X(cuDeviceGetName,      int, (char *name, int bytes, int device))                              \
    X(cuDeviceGetAttribute, int, (int *value, int attribute, int device))                          \
    X(cuDeviceTotalMem_v2,  int, (size_t *bytes, int device))
#define CUDA_RUNTIME_LIST(X)                                                                       \
    X(cudaSetDevice,              int, (int device))                                               \
    X(cudaGetErrorString,         const char *, (int error))                                       \
    X(cudaGetLastError,           int, (void))                                                     \
    X(cudaRuntimeGetVersion,      int, (int *version))                                             \
    X(cudaDeviceGetAttribute,     int, (int *value, int attribute, int device))                    \
    X(cudaDeviceGetPCIBusId,      int, (char *id, int bytes, int device))                          \
    X(cudaMemGetInfo,             int, (size_t *free_bytes, size_t *total_bytes))                  \
    X(cudaMalloc,                 int, (void **memory, size_t bytes))                              \
    X(cudaFree,                   int, (void *memory))                                             \
    X(cudaMemcpy,                 int, (void *to, const void *from, size_t bytes, int kind))       \
    X(cudaMemcpyAsync,            int, (void *to, const void *from, size_t bytes, int kind, void *stream)) \
    X(cudaStreamCreateWithFlags,  int, (void **stream, unsigned flags))                            \
    X(cudaStreamDestroy,          int, (void *stream))                                             \
    X(cudaStreamSynchronize,      int, (void *stream))                                             \
    X(cudaStreamBeginCapture,     int, (void *stream, int mode))                                   \
    X(cudaStreamEndCapture,       int, (void *stream, void **graph))                               \
    X(cudaGraphInstantiateWithFlags, int, (void **exec, void *graph, unsigned long long flags))    \
    X(cudaGraphUpload,            int, (void *exec, void *stream))                                 \
    X(cudaGraphLaunch,            int, (void *exec, void *stream))                                 \
    X(cudaGraphExecDestroy,       int, (void *exec))                                               \
    X(cudaGraphDestroy,           int, (void *graph))                                              \
    X(cudaEventCreate,            int, (void **event))                                             \
    X(cudaEventDestroy,           int, (void *event))                                              \
    X(cudaEventRecordWithFlags,   int, (void *event, void *stream, unsigned flags))                \
    X(cudaEventElapsedTime,       int, (float *ms, void *start, void *end))
#define CUDA_BLAS_LIST(X)                                                                          \
    X(cublasCreate_v2,         int, (void **handle))                                               \
    X(cublasDestroy_v2,        int, (void *handle))                                                \
    X(cublasGetVersion_v2,     int, (void *handle, int *version))                                  \
    X(cublasSetStream_v2,      int, (void *handle, void *stream))                                  \
    X(cublasSetWorkspace_v2,   int, (void *handle, void *memory, size_t bytes))                    \
    X(cublasSetMathMode,       int, (void *handle, int mode))                                      \
    X(cublasSetPointerMode_v2, int, (void *handle, int mode))                                      \
    X(cublasSasum_v2,          int, (void *handle, int n, const float *x, int incx, float *result))
#define CUDA_LT_LIST(X)                                                                            \
    X(cublasLtCreate,                   int, (void **handle))                                      \
    X(cublasLtDestroy,                  int, (void *handle))                                       \
    X(cublasLtGetVersion,               size_t, (void))                                            \
    X(cublasLtMatmulDescCreate,         int, (void **desc, int compute, int scale))                \
    X(cublasLtMatmulDescDestroy,        int, (void *desc))                                         \
    X(cublasLtMatmulDescSetAttribute,   int, (void *desc, int attribute, const void *value, size_t bytes)) \
    X(cublasLtMatrixLayoutCreate,       int, (void **layout, int type, uint64_t rows, uint64_t columns, int64_t ld)) \
    X(cublasLtMatrixLayoutDestroy,      int, (void *layout))                                       \
    X(cublasLtMatrixLayoutSetAttribute, int, (void *layout, int attribute, const void *value, size_t bytes)) \
    X(cublasLtMatmulPreferenceCreate,   int, (void **preference))                                  \
    X(cublasLtMatmulPreferenceDestroy,  int, (void *preference))                                   \
    X(cublasLtMatmulPreferenceSetAttribute, int, (void *preference, int attribute, const void *value, size_t bytes)) \
    X(cublasLtMatmulAlgoGetHeuristic,   int, (void *handle, void *desc, void *a, void *b, void *c, void *d, void *preference, int wanted, struct cuda_lt_found *found, int *count)) \
    X(cublasLtMatmul,                   int, (void *handle, void *desc, const void *alpha, const void *a, void *a_layout, const void *b, void *b_layout, const void *beta, const void *c, void *c_layout, void *d, void *d_layout, const void *algorithm, void *workspace, size_t workspace_bytes, void *stream))
/* clang-format on */

struct cuda_api {
    void *driver, *runtime, *blas, *lt; /* dlopen handles */
#define X(name, result, parameters) result(*name) parameters;
    CUDA_DRIVER_LIST(X)
    CUDA_RUNTIME_LIST(X)
    CUDA_BLAS_LIST(X)
    CUDA_LT_LIST(X)
#undef X
};

/* Load the driver and the libraries into a zeroed `api`; `folder` is searched first (NULL: the
 * usual places only). DEVICE: no driver; UNSUPPORTED: a library or a function of it is missing. The
 * fault says which, and the remedy. They stay loaded: they have threads and exit handlers of their
 * own. */
enum status cuda_api_open_driver(struct cuda_api *api, const char *folder, struct fault *fault);
enum status cuda_api_open_libraries(struct cuda_api *api, const char *folder, struct fault *fault);

/* A function of cuBLAS by its name, or NULL. */
void *cuda_api_blas_symbol(const struct cuda_api *api, const char *name);

#endif
