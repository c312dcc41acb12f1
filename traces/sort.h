/* SPDX-License-Identifier: Apache-2.0
 *
 * Sorting what mostly comes in order.
 */
#ifndef TILEWISE_TRACES_SORT_H
#define TILEWISE_TRACES_SORT_H

#include <stdlib.h>

/* As qsort; rows that are in order already cost one look at each. */
static inline void sort_unordered(void *rows, size_t count, size_t row_bytes,
                                  int (*compare)(const void *left, const void *right))
{
    const char *at = rows;
    size_t ordered = 1;
    while (ordered < count && compare(at, at + row_bytes) <= 0) {
        at += row_bytes;
        ordered++;
    }
    if (ordered < count)
        qsort(rows, count, row_bytes, compare);
}

#endif
