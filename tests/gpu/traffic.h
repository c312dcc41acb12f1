/* SPDX-License-Identifier: Apache-2.0
 *
 * Traffic to compare an add with.
 */
#ifndef TILEWISE_TESTS_GPU_TRAFFIC_H
#define TILEWISE_TESTS_GPU_TRAFFIC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Enqueue: `to` is a copy of a (b is NULL), or of a ^ b. All are `bytes` long, a multiple of 16.
 * `once`: past the caches. 0, or CUDA's error. */
int traffic_move(const void *a, const void *b, void *to, size_t bytes, bool once, void *stream);

#ifdef __cplusplus
}
#endif
#endif
