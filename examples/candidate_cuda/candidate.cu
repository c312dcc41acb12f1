// SPDX-License-Identifier: Apache-2.0
//
// A complete plug-in for tilewise in CUDA C++: a matrix product in f32, f16 and bf16, one 16 x 16
// tile to a block. It is an example of the interface, not of a fast kernel; but all of it is
// checked like any other. docs/candidate-abi.md says what each field means.
//
//   nvcc -O3 -std=c++17 -shared -Xcompiler -fPIC -I/path/to/tilewise candidate.cu -o candidate.so
//   tilewise replay --device cuda --candidate $PWD/candidate.so TRACE.twt
//
// nvcc links the CUDA runtime statically unless told otherwise. That is right here: it loads the
// driver at its first call, and works in the context and on the stream of whoever calls run().
#include <cerrno>
#include <cstdio>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include "replayer/candidate.h"

namespace
{

constexpr int tile = 16;

// ---- the kernel ----

__device__ float widen(float x)
{
    return x;
}
__device__ float widen(__half x)
{
    return __half2float(x);
}
__device__ float widen(__nv_bfloat16 x)
{
    return __bfloat162float(x);
}

template <typename T> __device__ T narrow(float x);
template <> __device__ float narrow(float x)
{
    return x;
}
template <> __device__ __half narrow(float x)
{
    return __float2half(x);
}
template <> __device__ __nv_bfloat16 narrow(float x)
{
    return __float2bfloat16(x);
}

struct problem {
    long long m, n, k, lda, ldb, ldc;
    bool turned_a;
    float alpha, beta;
};

// C = alpha op(A) B + beta C, all in columns. C is not read when beta is 0: it holds NaN then.
template <typename T> __global__ void multiply(problem p, const T *a, const T *b, T *c)
{
    __shared__ float left[tile][tile + 1], right[tile][tile + 1];
    int x = threadIdx.x, y = threadIdx.y;
    long long i = (long long)blockIdx.x * tile + x, j = (long long)blockIdx.y * tile + y;
    float sum = 0;
    for (long long q = 0; q < p.k; q += tile) {
        bool inside_a = i < p.m && q + y < p.k, inside_b = q + x < p.k && j < p.n;
        long long at = p.turned_a ? i * p.lda + q + y : i + (q + y) * p.lda;
        left[y][x] = inside_a ? widen(a[at]) : 0;
        right[y][x] = inside_b ? widen(b[q + x + j * p.ldb]) : 0;
        __syncthreads();
        for (int r = 0; r < tile; r++)
            sum = fmaf(left[r][x], right[y][r], sum);
        __syncthreads();
    }
    if (i < p.m && j < p.n) {
        T *at = &c[i + j * p.ldc];
        *at = narrow<T>(p.beta == 0 ? p.alpha * sum : p.alpha * sum + p.beta * widen(*at));
    }
}

template <typename T> void launch(const problem &p, const tilewise_args *args)
{
    dim3 grid((unsigned)((p.m + tile - 1) / tile), (unsigned)((p.n + tile - 1) / tile));
    multiply<<<grid, dim3(tile, tile), 0, (cudaStream_t)args->stream>>>(
        p, (const T *)args->a, (const T *)args->b, (T *)args->c);
}

// ---- the candidate ----

// What makes one row of the table another than the next: self->context.
struct kind {
    tilewise_dtype dtype;
    void (*launch)(const problem &p, const tilewise_args *args);
};
const kind single = { TILEWISE_F32, launch<float> };
const kind half = { TILEWISE_F16, launch<__half> };
const kind brain = { TILEWISE_BF16, launch<__nv_bfloat16> };

char trouble[192]; // what complaint() answers; this process has one thread that calls us

int failed(cudaError_t error, const char *what)
{
    snprintf(trouble, sizeof trouble, "%s: %s", what, cudaGetErrorString(error));
    return -EIO;
}

// Say 1 only for what run() really does. Whatever is not looked at here will be given: a call with
// a batch, a triangle, an epilogue, other types, rows instead of columns. Sums in f32: so a call
// that must be summed in something else is not for this kernel, and one in tf32 would be kept
// waiting.
int supports(const tilewise_candidate *self, const tilewise_signature *s)
{
    const kind *k = (const kind *)self->context;
    bool types = s->dtype_a == k->dtype && s->dtype_b == k->dtype && s->dtype_c == k->dtype &&
                 s->compute == TILEWISE_F32 && s->scale == TILEWISE_F32;
    bool plain = s->batch_kind == TILEWISE_BATCH_NONE && s->uplo == TILEWISE_FULL &&
                 s->epilogue == 0 && s->scale_a == 0 && s->scale_b == 0 && s->flags == 0;
    // cublasLt may write D somewhere else than C; this kernel knows C alone.
    bool in_place = s->ldd == 0 || (s->ldd == s->ldc && s->dtype_d == s->dtype_c);
    bool trans = s->trans_a != TILEWISE_R && s->trans_b == TILEWISE_N;
    bool fits = s->n <= 65535LL * tile; // blocks along y
    return s->op == TILEWISE_OP_GEMM && s->layout == TILEWISE_COL_MAJOR && types && plain &&
           in_place && trans && fits;
}

// Once per process, before the first run(), with the replayer's device current. Everything that may
// load code or allocate belongs here: run() is recorded into graphs.
int init(const tilewise_candidate *)
{
    cudaFuncAttributes attributes;
    cudaError_t error = cudaFuncGetAttributes(&attributes, multiply<float>);
    return error == cudaSuccess ? 0 : failed(error, "this GPU cannot run the example");
}

// Enqueue and return: no synchronising, no allocation.
int run(const tilewise_candidate *self, const tilewise_signature *s, const tilewise_args *args)
{
    const kind *k = (const kind *)self->context;
    problem p = { s->m,
                  s->n,
                  s->k,
                  s->lda,
                  s->ldb,
                  s->ldc,
                  s->trans_a != TILEWISE_N,
                  *(const float *)args->alpha,
                  *(const float *)args->beta };
    if (args->abi != TILEWISE_CANDIDATE_ABI || args->bytes < sizeof *args)
        return -EINVAL; // another tilewise than this was built for
    k->launch(p, args);
    cudaError_t error = cudaGetLastError();
    return error == cudaSuccess ? 0 : failed(error, "the launch");
}

const char *complaint(const tilewise_candidate *)
{
    return trouble;
}

// In the order of the struct's fields; C++17 has no names for them here.
#define ROW(name, kind)                                                                            \
    {                                                                                              \
        TILEWISE_CANDIDATE_ABI, sizeof(tilewise_candidate), name, "cuda",                          \
            "example: a tile of 16 x 16 to a block", supports, nullptr, init, run, &kind,          \
            complaint, 0                                                                           \
    }
const tilewise_candidate rows[] = {
    ROW("example_cuda_gemm_f32", single),
    ROW("example_cuda_gemm_f16", half),
    ROW("example_cuda_gemm_bf16", brain),
};
const tilewise_candidate *const table[] = { &rows[0], &rows[1], &rows[2] };

} // namespace

// The one symbol that a plug-in exports.
extern "C" const tilewise_candidate *const *tilewise_candidates(uint32_t abi, size_t *count)
{
    *count = sizeof table / sizeof table[0];
    return abi == TILEWISE_CANDIDATE_ABI ? table : nullptr;
}
