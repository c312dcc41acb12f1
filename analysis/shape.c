/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/shape.h"

#include <stdlib.h>
#include <string.h>

const char *shape_dimension_name(enum shape_dimension d)
{
    static const char *const names[SHAPE_DIMENSIONS] = { "m", "n", "k", "batch" };
    return names[d];
}

int64_t shape_dimension(const struct tilewise_signature *s, enum shape_dimension d)
{
    const int64_t values[SHAPE_DIMENSIONS] = { s->m, s->n, s->k, s->batch };
    return values[d];
}

uint8_t shape_dtype(const struct tilewise_signature *s)
{
    return s->dtype_c == TILEWISE_NONE ? s->dtype_d : s->dtype_c;
}

static void set_dimension(struct tilewise_signature *s, enum shape_dimension d, int64_t v)
{
    int64_t *const values[SHAPE_DIMENSIONS] = { &s->m, &s->n, &s->k, &s->batch };
    *values[d] = v;
}

/* Up to a whole multiple of `step`; what cannot be rounded (absurd, negative) stays as it is. */
static int64_t round_up(int64_t v, int64_t step)
{
    int64_t padded;
    if (v <= 0 || __builtin_add_overflow(v, step - 1, &padded))
        return v;
    return padded / step * step;
}

int64_t shape_bucket(int64_t v)
{
    if (v > 4)
        return round_up(v, 8);
    return v == 3 ? 4 : v;
}

struct tilewise_signature shape_project(const struct tilewise_signature *s,
                                        const struct shape_rule *rule)
{
    struct tilewise_signature p = *s;
    p.align_a = p.align_b = p.align_c = p.align_d = 0;
    if (!rule->as_called) {
        p.entry = 0;
        p.flags &= (uint16_t)~TILEWISE_IN_GRAPH;
        p.lda = p.ldb = p.ldc = p.ldd = 0;
        p.stride_a = p.stride_b = p.stride_c = p.stride_d = 0;
    }
    for (enum shape_dimension d = 0; d < SHAPE_DIMENSIONS; d++) {
        int64_t v = shape_dimension(s, d);
        if (rule->grain == SHAPE_BUCKET && rule->round[d])
            set_dimension(&p, d, shape_bucket(v));
        if (rule->grain == SHAPE_TILE)
            set_dimension(&p, d, round_up(v, rule->tile[d]));
    }
    return p;
}

struct projected {
    struct tilewise_signature shape;
    size_t member; /* position in `members` */
};

static int by_shape(const void *a, const void *b)
{
    const struct projected *x = a, *y = b;
    return memcmp(&x->shape, &y->shape, sizeof x->shape);
}

size_t shape_number(const struct summary *s, const uint32_t *members, size_t count,
                    const struct shape_rule *rule, uint32_t *key)
{
    if (count == 0)
        return 0;
    struct projected *rows = calloc(count, sizeof *rows);
    if (!rows)
        return SIZE_MAX;
    for (size_t i = 0; i < count; i++)
        rows[i] =
            (struct projected){ .shape = shape_project(&s->signatures[members[i]].signature, rule),
                                .member = i };
    qsort(rows, count, sizeof *rows, by_shape);
    size_t keys = 0;
    for (size_t i = 0; i < count; i++) {
        keys += i == 0 || by_shape(&rows[i - 1], &rows[i]) != 0;
        key[rows[i].member] = (uint32_t)(keys - 1);
    }
    free(rows);
    return keys;
}

const char *shape_class_name(const struct tilewise_signature *s)
{
    static const char *const names[2][5][3] = {
        { { "vector", "vector short-k", "vector deep-k" },
          { "skinny", "skinny short-k", "skinny deep-k" },
          { "small", "small short-k", "small deep-k" },
          { "mid", "mid short-k", "mid deep-k" },
          { "large", "large short-k", "large deep-k" } },
        { { "batched vector", "batched vector short-k", "batched vector deep-k" },
          { "batched skinny", "batched skinny short-k", "batched skinny deep-k" },
          { "batched small", "batched small short-k", "batched small deep-k" },
          { "batched mid", "batched mid short-k", "batched mid deep-k" },
          { "batched large", "batched large short-k", "batched large deep-k" } },
    };
    int64_t narrow = s->m < s->n ? s->m : s->n, wide = s->m < s->n ? s->n : s->m;
    if (s->op == TILEWISE_OP_GEMV)
        return "vector";
    if (s->op == TILEWISE_OP_ADD)
        return narrow <= 1 ? "vector" : "matrix";
    if (s->op != TILEWISE_OP_GEMM)
        return "any";
    int size = (narrow > 1) + (narrow > 16) + (narrow > 127) + (narrow > 511);
    int depth = s->k <= 64 ? 1 : s->k / 8 > wide ? 2 : 0;
    return names[s->batch > 1][size][depth];
}
