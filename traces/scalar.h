/* SPDX-License-Identifier: Apache-2.0
 *
 * One value as people write it, in a YAML file, an environment variable or a flag. Every function
 * takes the whole text or refuses it, leaves *out alone when it refuses, and never overflows.
 */
#ifndef TILEWISE_TRACES_SCALAR_H
#define TILEWISE_TRACES_SCALAR_H

#include <stdbool.h>
#include <stdint.h>

/* true, yes, on, 1 and false, no, off, 0. */
bool scalar_flag(const char *text, bool *out);
/* Decimal, finite: 0.1, -3, 1e-3. No hexadecimal, no infinity, no NaN. */
bool scalar_real(const char *text, double *out);
/* 1000, 64k, 2M, 1G, in thousands. */
bool scalar_count(const char *text, uint64_t *out);
/* 4096, 64k, 512M, 2G, 1T, in powers of 1024; B, KB and KiB are understood as well. */
bool scalar_bytes(const char *text, uint64_t *out);
/* 60, 60s, 1.5m, 2h, 200ms, 50us, 50ns; never negative. */
bool scalar_seconds(const char *text, double *out);

#endif
