/* SPDX-License-Identifier: Apache-2.0
 *
 * Kernels of the CUDA backend itself; only where the build has nvcc (REPLAYER_CUDA is defined). All
 * enqueue on `stream` (a cudaStream_t) and return 0, or -EIO when CUDA refuses, which it does on a
 * device that they were not built for.
 */
#ifndef TILEWISE_REPLAYER_CUDA_DEVICE_H
#define TILEWISE_REPLAYER_CUDA_DEVICE_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* struct backend_touch; addresses and sizes are multiples of 16 bytes (what is left of hot_bytes is
 * not read). */
int cuda_device_touch(const void *region, size_t region_bytes, size_t at, size_t bytes,
                      const void *hot, size_t hot_bytes, void *stream);

#ifdef __cplusplus
}
#endif
#endif
