/* SPDX-License-Identifier: Apache-2.0
 *
 * Small numbers for the streams of a process, in order of first use, from 1; 0 is "none" (a call on
 * the CPU). Addresses never leave the process. Any thread, no lock.
 */
#ifndef TILEWISE_TRACER_STREAM_H
#define TILEWISE_TRACER_STREAM_H

#include <stdatomic.h>
#include <stdint.h>

#include "tracer/hot.h"

/* Streams met, one line: number << STREAM_ADDRESS_BITS | address + 1. */
enum { STREAM_NEAR_BITS = 3, STREAM_ADDRESS_BITS = 48 };
extern HOT_DATA _Atomic uint64_t stream_near[1 << STREAM_NEAR_BITS];

static inline _Atomic uint64_t *stream_near_of(const void *stream)
{
    return &stream_near[(uint32_t)(uintptr_t)stream * 0x9e3779b1u >> (32 - STREAM_NEAR_BITS)];
}

uint32_t stream_number_far(const void *stream);

/* A stream made at the address of one that is gone has its number. From the last number on, streams
 * share it. */
static inline uint32_t stream_number(const void *stream)
{
    uint64_t near = atomic_load_explicit(stream_near_of(stream), memory_order_relaxed);
    uint64_t address = near & ((UINT64_C(1) << STREAM_ADDRESS_BITS) - 1);
    if (__builtin_expect(address == (uint64_t)(uintptr_t)stream + 1, 1))
        return (uint32_t)(near >> STREAM_ADDRESS_BITS);
    return stream_number_far(stream);
}

#endif
