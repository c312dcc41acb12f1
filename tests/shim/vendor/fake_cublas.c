/* SPDX-License-Identifier: Apache-2.0
 *
 * A fake cuBLAS from cublas.def and cublas_state.def.
 */
#include <stdlib.h>

#include "fake.h"
#include "tracer/cublas.h"

struct state {
    void *stream;
    int pointer_mode, math_mode;
};

enum {
#define ROW(family, symbol, ...) AT_##symbol,
#include "tracer/cublas.def"
#include "tracer/cublas_state.def"
#undef ROW
    ROWS
};

static struct fake_row rows[ROWS + 1] = {
#define ROW(family, symbol, ...) { #symbol, 0, 0, 0 },
#include "tracer/cublas.def"
#include "tracer/cublas_state.def"
#undef ROW
};

fake_rows fake_cublas_rows;
/* A call that cuBLAS makes inside each of its own, if any. */
extern void (*fake_cublas_inner)(void *stream);
extern uint64_t fake_cublas_asked;     /* calls of the getters */
extern const void *fake_cublas_caller; /* where the last product returned to */
void (*fake_cublas_inner)(void *stream);
uint64_t fake_cublas_asked;
const void *fake_cublas_caller;

struct fake_row *fake_cublas_rows(void)
{
    return rows;
}

cublasStatus_t cublasCreate_v2(cublasHandle_t *handle);
cublasStatus_t cublasGetStream_v2(cublasHandle_t handle, cudaStream_t *stream);
cublasStatus_t cublasGetPointerMode_v2(cublasHandle_t handle, cublasPointerMode_t *mode);
cublasStatus_t cublasGetMathMode(cublasHandle_t handle, cublasMath_t *mode);

/* The next handle gets the address of the last one destroyed. */
static _Thread_local struct state *destroyed;

static struct state *state_of(cublasHandle_t handle)
{
    return (struct state *)handle;
}

cublasStatus_t cublasCreate_v2(cublasHandle_t *handle)
{
    struct state *made = destroyed ? destroyed : malloc(sizeof *made);
    destroyed = NULL;
    *made = (struct state){ 0 };
    *handle = (cublasHandle_t)made;
    return 0;
}

cublasStatus_t cublasGetStream_v2(cublasHandle_t handle, cudaStream_t *stream)
{
    fake_cublas_asked++;
    *stream = state_of(handle)->stream;
    return 0;
}

cublasStatus_t cublasGetPointerMode_v2(cublasHandle_t handle, cublasPointerMode_t *mode)
{
    fake_cublas_asked++;
    *mode = (cublasPointerMode_t)state_of(handle)->pointer_mode;
    return 0;
}

cublasStatus_t cublasGetMathMode(cublasHandle_t handle, cublasMath_t *mode)
{
    fake_cublas_asked++;
    *mode = (cublasMath_t)state_of(handle)->math_mode;
    return 0;
}

static cublasStatus_t work(int at, cublasHandle_t handle)
{
    if (rows[at].status)
        return (cublasStatus_t)rows[at].status;
    if (fake_cublas_inner)
        fake_cublas_inner(state_of(handle)->stream);
    fake_work(state_of(handle)->stream, &rows[at]);
    return 0;
}

/* The addresses of arguments that the function does not use would be warned about one by one. */
#pragma GCC diagnostic ignored "-Wunused-parameter"

#define ROW(family, symbol, I, E)                                                                  \
    cublasStatus_t symbol(family##_PARAMS(I, E));                                                  \
    cublasStatus_t symbol(family##_PARAMS(I, E))                                                   \
    {                                                                                              \
        fake_cublas_caller = __builtin_return_address(0);                                          \
        return work(AT_##symbol, handle);                                                          \
    }
#include "tracer/cublas.def"
#undef ROW

#define CUBLAS_SET_STREAM_DO       state_of(handle)->stream = stream
#define CUBLAS_SET_POINTER_MODE_DO state_of(handle)->pointer_mode = (int)mode
#define CUBLAS_SET_MATH_MODE_DO    state_of(handle)->math_mode = (int)mode
#define CUBLAS_DESTROY_DO          destroyed = state_of(handle)
#define ROW(family, symbol)                                                                        \
    cublasStatus_t symbol(family##_PARAMS);                                                        \
    cublasStatus_t symbol(family##_PARAMS)                                                         \
    {                                                                                              \
        if (rows[AT_##symbol].status)                                                              \
            return (cublasStatus_t)rows[AT_##symbol].status;                                       \
        rows[AT_##symbol].called++;                                                                \
        family##_DO;                                                                               \
        return 0;                                                                                  \
    }
#include "tracer/cublas_state.def"
#undef ROW
