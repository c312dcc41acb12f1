/* SPDX-License-Identifier: Apache-2.0
 *
 * Kernels of the CUDA backend itself; only where the build has nvcc (REPLAYER_CUDA is defined). All
 * enqueue on `stream` (a cudaStream_t) and return 0, or -EIO when CUDA refuses, which it does on a
 * device that they were not built for. Images and answers lie in device memory.
 */
#ifndef TILEWISE_REPLAYER_CUDA_DEVICE_H
#define TILEWISE_REPLAYER_CUDA_DEVICE_H

#include "replayer/draw.h"
#include "replayer/judge.h"

#ifdef __cplusplus
extern "C" {
#endif

/* struct backend_touch; addresses and sizes are multiples of 16 bytes (what is left of hot_bytes is
 * not touched). */
struct cuda_device_traffic {
    const void *region;
    void *other, *hot;
    size_t region_bytes, at, bytes, hot_bytes;
};
int cuda_device_touch(const struct cuda_device_traffic *traffic, void *stream);

/* data_poison(); with a draw, data_fill() of elements that numbers are known for. */
int cuda_device_poison(const struct data_image *image, void *stream);
int cuda_device_fill(const struct data_image *image, const struct draw *draw, void *stream);
/* The elements of the result, where they belong to it. */
int cuda_device_adopt(const struct data_image *to, const struct data_image *from, void *stream);

/* What the questions below add to. Zero before; first: CUDA_DEVICE_NONE. */
struct cuda_device_answer {
    unsigned long long bad, worst_bits; /* the largest error, as the bits of a double */
    unsigned long long first;           /* (batch * columns + column) * rows + row */
    double got, want;                   /* of cuda_device_judge_one() */
};
#define CUDA_DEVICE_NONE (~0ULL)

/* bad: vectors of 16 bytes that differ; `bytes` is a multiple of that. */
int cuda_device_differ(const void *x, const void *y, size_t bytes,
                       struct cuda_device_answer *answer, void *stream);
/* judge_all(), and the values of one element. */
int cuda_device_judge(const struct judge *judge, struct cuda_device_answer *answer, void *stream);
int cuda_device_judge_one(const struct judge *judge, const int64_t at[3],
                          struct cuda_device_answer *answer, void *stream);

#ifdef __cplusplus
}
#endif
#endif
