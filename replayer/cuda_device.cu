/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdint.h>
#define _Static_assert static_assert

#ifndef TILEWISE_EMULATION
#include <cuda_runtime.h>

template <typename... P, typename... A>
static void device_launch(void (*kernel)(P...), dim3 grid, int threads, int shared_bytes,
                          void *stream, const A &...arguments)
{
    kernel<<<grid, threads, shared_bytes, (cudaStream_t)stream>>>(arguments...);
}
static bool device_failed()
{
    return cudaGetLastError() != cudaSuccess;
}
#endif

#include "replayer/cuda_device.h"

static const size_t blocks_max = 132 * 8;
enum { THREADS = 256, AHEAD = 4 };

/* As many blocks as `work` has use for, one piece per thread or several. */
static dim3 blocks_for(size_t work)
{
    size_t blocks = (work + THREADS - 1) / THREADS;
    return dim3((unsigned)(blocks > blocks_max ? blocks_max : blocks < 1 ? 1 : blocks));
}

static int outcome()
{
    return device_failed() ? -EIO : 0;
}

static __device__ size_t own_number()
{
    return blockIdx.x * (size_t)THREADS + threadIdx.x;
}
static __device__ size_t all_threads()
{
    return gridDim.x * (size_t)THREADS;
}

/* ---- traffic ---- */

struct span {
    uint4 *at, *other;
    size_t count;
};

static __device__ uint4 plus(uint4 v, unsigned x)
{
    return make_uint4(v.x + x, v.y, v.z, v.w);
}

/* Every `everybody`-th vector of `count` from `begin` on, round the end. `zero` is 0, what the
 * compiler must not find out: it would leave out writes of what is there. */
static __device__ unsigned go_round(span s, size_t begin, size_t count, unsigned zero)
{
    unsigned sum = 0;
    size_t i = (begin + own_number()) % s.count, step = all_threads() % s.count;
#pragma unroll AHEAD
    for (size_t n = own_number(); n < count; n += all_threads()) {
        uint4 v = s.at[i];
        sum += v.x + v.y + v.z + v.w;
        if (s.other)
            s.other[i] = plus(v, zero);
        i += step;
        i -= i >= s.count ? s.count : 0;
    }
    return sum;
}

/* `never` is NULL: nor that nobody wants the sum. */
static __global__ void __launch_bounds__(THREADS)
    touch(span region, size_t begin, size_t count, span hot, unsigned zero, unsigned *never)
{
    unsigned sum = go_round(region, begin, count, zero);
    if (hot.count)
        sum += go_round(hot, 0, hot.count, zero);
    if (never)
        atomicAdd(never, sum);
}

int cuda_device_touch(const struct cuda_device_traffic *t, void *stream)
{
    span all = { (uint4 *)t->region, (uint4 *)t->other, t->region_bytes / sizeof(uint4) };
    span last = { (uint4 *)t->hot, (uint4 *)t->hot, t->hot ? t->hot_bytes / sizeof(uint4) : 0 };
    size_t count = t->bytes / sizeof(uint4), most = count > last.count ? count : last.count;
    device_launch(touch, blocks_for(most), THREADS, 0, stream, all, t->at / sizeof(uint4), count,
                  last, 0u, (unsigned *)NULL);
    return outcome();
}

/* ---- images ---- */

/* Element `number` of an operand: the direction in which memory is dense runs fastest. */
static __device__ void place(const operand &o, size_t number, int64_t at[3])
{
    bool rows_inside = o.row_step == 1;
    size_t inner = (size_t)(rows_inside ? o.rows : o.cols);
    size_t outer = (size_t)(rows_inside ? o.cols : o.rows);
    int64_t i = (int64_t)(number % inner), k = (int64_t)(number / inner % outer);
    at[0] = (int64_t)(number / inner / outer);
    at[1] = rows_inside ? i : k;
    at[2] = rows_inside ? k : i;
}

static size_t count_of(const operand &o)
{
    return (size_t)o.rows * (size_t)o.cols * (size_t)o.batch;
}

static __global__ void __launch_bounds__(THREADS) poison(const __grid_constant__ data_image image)
{
    uint32_t canary = image_canary((unsigned)image.shape.element_bytes);
    uint32_t *words = (uint32_t *)image.bytes;
    for (size_t i = own_number(); i < image.total_bytes / 4; i += all_threads())
        words[i] = canary;
}

/* Batches of one place hold what the last of them has. */
static __global__ void __launch_bounds__(THREADS)
    fill(const __grid_constant__ data_image image, const __grid_constant__ draw d, size_t first,
         size_t count)
{
    data_image own = image;
    for (size_t i = own_number(); i < count; i += all_threads()) {
        int64_t at[3];
        place(own.shape, first + i, at);
        data_put(&own, operand_index(&own.shape, at[0], at[1], at[2]),
                 draw_value(&d, at[0], at[1], at[2]));
    }
}

static __global__ void __launch_bounds__(THREADS)
    adopt(const __grid_constant__ data_image to, const __grid_constant__ data_image from,
          size_t count)
{
    for (size_t i = own_number(); i < count; i += all_threads()) {
        int64_t at[3];
        place(to.shape, i, at);
        if (!operand_holds(&to.shape, at[1], at[2]))
            continue;
        int64_t index = operand_index(&to.shape, at[0], at[1], at[2]);
        for (size_t b = 0; b < to.shape.element_bytes; b++)
            image_element(&to, index)[b] = image_element(&from, index)[b];
    }
}

int cuda_device_poison(const struct data_image *image, void *stream)
{
    device_launch(poison, blocks_for(image->total_bytes / 4), THREADS, 0, stream, *image);
    return outcome();
}

int cuda_device_fill(const struct data_image *image, const struct draw *d, void *stream)
{
    const operand &o = image->shape;
    size_t all = count_of(o), one = all / (size_t)o.batch;
    size_t first = o.stride == 0 ? all - one : 0;
    int error = cuda_device_poison(image, stream);
    if (error)
        return error;
    device_launch(fill, blocks_for(all - first), THREADS, 0, stream, *image, *d, first,
                  all - first);
    return outcome();
}

int cuda_device_adopt(const struct data_image *to, const struct data_image *from, void *stream)
{
    size_t count = count_of(to->shape);
    device_launch(adopt, blocks_for(count), THREADS, 0, stream, *to, *from, count);
    return outcome();
}

/* ---- questions ---- */

static __global__ void __launch_bounds__(THREADS)
    differ(const uint4 *x, const uint4 *y, size_t count, cuda_device_answer *answer)
{
    unsigned long long bad = 0;
    for (size_t i = own_number(); i < count; i += all_threads()) {
        uint4 a = x[i], b = y[i];
        bad += a.x != b.x || a.y != b.y || a.z != b.z || a.w != b.w;
    }
    if (bad)
        atomicAdd(&answer->bad, bad);
}

int cuda_device_differ(const void *x, const void *y, size_t bytes,
                       struct cuda_device_answer *answer, void *stream)
{
    size_t count = bytes / sizeof(uint4);
    device_launch(differ, blocks_for(count), THREADS, 0, stream, (const uint4 *)x, (const uint4 *)y,
                  count, answer);
    return outcome();
}

static __device__ unsigned long long bits_of(double x)
{
    unsigned long long bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

/* Errors are not negative, so they are ordered as their bits are. */
static __global__ void __launch_bounds__(THREADS)
    judge_elements(const __grid_constant__ judge j, size_t count, cuda_device_answer *answer)
{
    const operand &o = j.after.shape;
    unsigned long long bad = 0, first = CUDA_DEVICE_NONE;
    double worst = 0;
    for (size_t i = own_number(); i < count; i += all_threads()) {
        int64_t at[3];
        place(o, i, at);
        if (!operand_holds(&o, at[1], at[2]))
            continue;
        double error = judge_element(&j, at[0], at[1], at[2]).error;
        worst = error > worst ? error : worst;
        if (error <= 1)
            continue;
        unsigned long long number = (unsigned long long)((at[0] * o.cols + at[2]) * o.rows + at[1]);
        first = number < first ? number : first;
        bad++;
    }
    if (worst > 0)
        atomicMax(&answer->worst_bits, bits_of(worst));
    if (bad) {
        atomicAdd(&answer->bad, bad);
        atomicMin(&answer->first, first);
    }
}

static __global__ void judge_one(const __grid_constant__ judge j, int64_t b, int64_t r, int64_t c,
                                 cuda_device_answer *answer)
{
    judge_verdict v = judge_element(&j, b, r, c);
    answer->got = v.got;
    answer->want = v.want;
}

int cuda_device_judge(const struct judge *j, struct cuda_device_answer *answer, void *stream)
{
    size_t count = count_of(j->after.shape);
    device_launch(judge_elements, blocks_for(count), THREADS, 0, stream, *j, count, answer);
    return outcome();
}

int cuda_device_judge_one(const struct judge *j, const int64_t at[3],
                          struct cuda_device_answer *answer, void *stream)
{
    device_launch(judge_one, dim3(1), 1, 0, stream, *j, at[0], at[1], at[2], answer);
    return outcome();
}
