/* SPDX-License-Identifier: Apache-2.0
 *
 * Small numbers for the streams of a process, in order of first use, from 1; 0 is "none" (a call on
 * the CPU). Addresses never leave the process. Any thread, no lock.
 */
#ifndef TILEWISE_TRACER_STREAM_H
#define TILEWISE_TRACER_STREAM_H

#include <stdint.h>

/* A stream made at the address of one that is gone has its number. From the last number on, streams
 * share it. */
uint32_t stream_number(const void *stream);

#endif
