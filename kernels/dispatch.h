/* SPDX-License-Identifier: Apache-2.0
 *
 * Which kernel for which shape: by a table from a file (dispatch_table.h) where one was loaded,
 * else by the one in dispatch.c. There shapes fall into classes, and the table says for every op,
 * element type and class whether the tile kernel or the library runs: what tests/bench/bench_gemm
 * measured, tile where it is not slower.
 */
#ifndef TILEWISE_KERNELS_DISPATCH_H
#define TILEWISE_KERNELS_DISPATCH_H

#include "replayer/candidate.h"
#include "traces/status.h"

/* By the smaller of m and n, then by m n k; the first that fits. */
enum dispatch_class {
    DISPATCH_TINY,   /* m n k up to 16^3 */
    DISPATCH_THIN,   /* m or n up to 4 */
    DISPATCH_SMALL,  /* m n k up to 96^3 */
    DISPATCH_SKINNY, /* m or n up to 64 */
    DISPATCH_LARGE,
    DISPATCH_CLASSES,
};

enum dispatch_class dispatch_class_of(const struct tilewise_signature *s);

/* Obey the table in this file from now on; NULL: the one of dispatch.c again. Calls that are being
 * looked up finish with the table that they began with, so tables stay in memory. Any thread.
 * As dispatch_table_read(); on failure nothing changes. */
enum status dispatch_load(const char *path, struct fault *fault);
/* From now on everything goes to the library. Any thread. */
void dispatch_leave_all(void);

/* The kernel for this signature, or NULL: the library. Only kernels that this processor runs; the
 * portable ones are preferred to a library only by a file. Any thread. */
const struct tilewise_candidate *dispatch_choose(const struct tilewise_signature *s);

/* The kernel that runs anywhere, for when there is no library; "ref" if nothing else does it; NULL
 * if that does not either. */
const struct tilewise_candidate *dispatch_portable(const struct tilewise_signature *s);

#endif
