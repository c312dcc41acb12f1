/* SPDX-License-Identifier: Apache-2.0
 *
 * Two small kernels for honest timing. Only where the build has CUDA kernels (TILEWISE_CUDA is
 * defined). All enqueue on `stream` (a cudaStream_t) and return 0, or -EIO when CUDA refuses.
 */
#ifndef TILEWISE_KERNELS_CUDA_PROBE_H
#define TILEWISE_KERNELS_CUDA_PROBE_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Hold the stream until the host stores something but 0 in *gate (pinned host memory, device
 * address), so that the host can queue work before any of it runs. Lets go after timeout_ns. */
int cuda_probe_block(const volatile uint32_t *gate, uint64_t timeout_ns, void *stream);

struct cuda_probe_clock {
    uint64_t cycles, ns; /* 1e3 * cycles / ns = MHz of the multiprocessor that ran it */
};

/* Run for about spin_ns (20 us are enough for 0.5 %) and write how many cycles that was; `out` is
 * device or pinned memory. */
int cuda_probe_read_clock(struct cuda_probe_clock *out, uint64_t spin_ns, void *stream);

#ifdef __cplusplus
}
#endif
#endif
