/* SPDX-License-Identifier: Apache-2.0
 *
 * A GPU without a GPU: memory is the heap, work is done when it is enqueued, time is simulated.
 * FAKE_CUDA in the environment is a comma list of what is wrong with it:
 *   devices=0  driver=12040  capability=75  memory=BYTES  start=ERROR
 *   dies=1     the driver ends the process when it is started
 *   wrong=N    algorithm N of the list (0: the library's own choice) leaves the last column out
 *   late=1     events tell the time of the calls, not that of the work
 *   context=ERROR, load=ERROR, launch=ERROR: cuCtxGetDevice, cuModuleLoadData, cuLaunchKernelEx
 *              fail with it
 *   crash=N    algorithm N ends with an illegal access; hang=N never ends
 */
#ifndef TILEWISE_TESTS_FAKE_DEVICE_H
#define TILEWISE_TESTS_FAKE_DEVICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Value of a word of FAKE_CUDA; `otherwise` where it is not there. */
long fake_setting(const char *word, long otherwise);

/* Work on a stream: now, or when the graph that is being captured is launched. `context` is copied.
 * `ns`: simulated time. */
typedef void fake_work(const void *context);
int fake_enqueue(void *stream, fake_work *work, const void *context, size_t bytes, double ns);
/* A kernel ran: for CUPTI's records, where they are on. */
void fake_kernel(double start_ns, double ns);
/* Every later call fails with this error of the runtime. */
void fake_break(int error);

/* One product, column-major or row-major, in the vendor's numbers for types. */
struct fake_gemm {
    int ta, tb, type_a, type_b, type_c, type_d, compute, scale_type, order, batch;
    int64_t m, n, k, lda, ldb, ldc, ldd, stride_a, stride_b, stride_c, stride_d;
    const void *a, *b, *c;
    void *d;
    double alpha, beta;
    const void *const *pa, *const *pb; /* batches of pointers */
    void *const *pc;
    long algorithm; /* of the list; 0: the library's own choice */
};
int fake_gemm_enqueue(void *stream, const struct fake_gemm *g);
/* y = alpha x + y for vectors (columns = 1) or in place for matrices; steps may be negative. */
struct fake_add {
    int type, rows, columns, x_step, y_step, x_column, y_column;
    const void *x;
    void *y;
    double alpha;
};
int fake_add_enqueue(void *stream, const struct fake_add *a);
double fake_scalar(const void *value, int type);

/* What cuLaunchKernelEx and cuMemsetD8Async were last told, and how often (fake_module.c). */
enum { FAKE_PARAMETERS_MAX = 64 };
struct fake_launch {
    uint32_t grid[3], block[3], cluster[3], shared_bytes;
    void *stream;
    char kernel[64];
    unsigned nparameters;
    uint64_t parameters[FAKE_PARAMETERS_MAX]; /* their bytes; above those: zero */
};
struct fake_launches {
    unsigned launches, clears, loads;
    size_t cleared_bytes;
    struct fake_launch last;
};
struct fake_launches *fake_launches(void);

#endif
