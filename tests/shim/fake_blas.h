/* SPDX-License-Identifier: Apache-2.0
 *
 * A BLAS that computes nothing and counts exactly, with every row of the tables. Its counters live
 * in a shared file $FAKE_COUNTS/<pid>, so that they outlast the process.
 */
#ifndef TILEWISE_TESTS_SHIM_FAKE_BLAS_H
#define TILEWISE_TESTS_SHIM_FAKE_BLAS_H

#include <stdatomic.h>
#include <stdint.h>

#include "tracer/slot.h"

enum { FAKE_MOMENTS = 4096, FAKE_MOMENT_NS = 1000000 };

struct fake_moment {
    _Atomic uint64_t ns, total;
};

struct fake_counts {
    _Atomic uint64_t total;
    _Atomic uint64_t received; /* calls whose arguments were exactly those of rows.h */
    _Atomic uint64_t slot[SLOT_COUNT];
    struct fake_moment moment[FAKE_MOMENTS]; /* total at the end of each of the last milliseconds */
};

struct fake_counts *fake_counts(void);

/* Calls of this copy of the library alone. */
extern _Atomic uint64_t fake_calls_here;

#endif
