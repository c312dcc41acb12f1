/* SPDX-License-Identifier: Apache-2.0
 *
 * What counts as one shape. A signature also holds what changes from call to call without changing
 * the shape (alignment of pointers, leading dimensions, entry point, being launched in a graph):
 * those are left out here, so that two buffers of one size are one shape. Three grains: raw (the
 * dimensions as called), bucket (chosen dimensions rounded up the way serving engines pad) and tile
 * (dimensions in whole tiles).
 */
#ifndef TILEWISE_ANALYSIS_SHAPE_H
#define TILEWISE_ANALYSIS_SHAPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "traces/summary.h"

enum shape_dimension { SHAPE_M, SHAPE_N, SHAPE_K, SHAPE_BATCH, SHAPE_DIMENSIONS };
const char *shape_dimension_name(enum shape_dimension d); /* "m", "n", "k", "batch" */
int64_t shape_dimension(const struct tilewise_signature *s, enum shape_dimension d);

/* The type that a shape goes by: that of C, or of what is written where there is no C. */
uint8_t shape_dtype(const struct tilewise_signature *s);

enum shape_grain { SHAPE_RAW, SHAPE_BUCKET, SHAPE_TILE };

struct shape_rule {
    enum shape_grain grain;
    bool as_called; /* entry point, leading dimensions, strides and graphs make shapes of their own
                     */
    bool round[SHAPE_DIMENSIONS];   /* bucket: which dimensions are padded */
    int64_t tile[SHAPE_DIMENSIONS]; /* tile: extent per dimension, at least 1 */
};

/* 1, 2, 4, 8, 16, 24, 32, ...: the padded size that holds v. */
int64_t shape_bucket(int64_t v);

/* The shape of `s` under the rule, padded dimensions included (a tile grain gives whole tiles in
 * elements). Equal shapes are equal bytes. */
struct tilewise_signature shape_project(const struct tilewise_signature *s,
                                        const struct shape_rule *rule);

/* Number the shapes of `members` (indexes into the summary's signatures): key[i] of members[i].
 * Keys count from 0 and do not depend on the order of the members. Returns how many there are, or
 * SIZE_MAX without memory. */
size_t shape_number(const struct summary *s, const uint32_t *members, size_t count,
                    const struct shape_rule *rule, uint32_t *key);

/* Class of a shape for the rows of the matrix: by the smaller of m and n ("vector" 1, "skinny" up
 * to 16, "small" up to 127, "mid" up to 511, "large"), then "short-k" (k at most 64) or "deep-k"
 * (k above 8 max(m, n)), with "batched" before it. gemv is "vector"; add is "vector" or "matrix".
 * Static storage. */
const char *shape_class_name(const struct tilewise_signature *s);

#endif
