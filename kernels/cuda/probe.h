/* SPDX-License-Identifier: Apache-2.0
 *
 * The clock of the device, for honest timing. Only where the build has CUDA kernels (TILEWISE_CUDA
 * is defined).
 */
#ifndef TILEWISE_KERNELS_CUDA_PROBE_H
#define TILEWISE_KERNELS_CUDA_PROBE_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct cuda_probe_clock {
    uint64_t cycles, ns; /* 1e3 * cycles / ns = MHz of the multiprocessor that ran it */
};

/* Enqueue on `stream` (a cudaStream_t): run for about spin_ns and write how many cycles that was;
 * `out` is device or pinned memory. 0, or -EIO when CUDA refuses. */
int cuda_probe_read_clock(struct cuda_probe_clock *out, uint64_t spin_ns, void *stream);

#ifdef __cplusplus
}
#endif
#endif
