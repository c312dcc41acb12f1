/* SPDX-License-Identifier: Apache-2.0
 *
 * Is one element of a result right? The same judge on the host and in a kernel, wherever the images
 * lie.
 */
#ifndef TILEWISE_REPLAYER_JUDGE_H
#define TILEWISE_REPLAYER_JUDGE_H

#include <math.h>

#include "replayer/image.h"

/* |got - ref| may be out |ref| + sum E + tiny; `largest`: of the type. */
struct compare_bound {
    double out, sum, tiny, largest;
};

/* |got - ref| / bound for one element: at most 1 is right. NaN counts as infinitely wrong. */
TILEWISE_ANYWHERE double compare_error(const struct compare_bound *bound, double got, double ref,
                                       double magnitude)
{
    double error = fabs(got - ref);
    double allowed = bound->out * fabs(ref) + bound->sum * magnitude + bound->tiny;
    /* Beyond the range: infinity or the largest number, as the type has it. */
    if (fabs(ref) + allowed > bound->largest && fabs(got) >= bound->largest &&
        signbit(got) == signbit(ref))
        return 0;
    return isfinite(error) && allowed == allowed ? error / allowed : INFINITY;
}

/* The element that a result computed without error becomes. */
TILEWISE_ANYWHERE double judge_rounded(uint8_t dtype, double value)
{
    double room = 0; /* not written for a type that is not stored */
    number_store(dtype, &room, 0, value);
    return number_load(dtype, &room, 0);
}

/* Adds are exact: the one correctly rounded result, with the product rounded first or not; 16-bit
 * types may round to f32 on the way. */
TILEWISE_ANYWHERE bool judge_is_exact_add(uint8_t dtype, double alpha, double x, double y,
                                          double got)
{
    volatile double wide = alpha * x;
    if (dtype == TILEWISE_F64)
        return got == fma(alpha, x, y) || got == wide + y;
    volatile float narrow = (float)wide; /* rounded on its own */
    double fused = (double)fmaf((float)alpha, (float)x, (float)y);
    double twice = (double)(narrow + (float)y);
    if (got == judge_rounded(dtype, fused) || got == judge_rounded(dtype, twice))
        return true;
    return got == judge_rounded(dtype, judge_rounded(dtype, wide) + y) ||
           got == judge_rounded(dtype, wide + y);
}

enum judge_kind {
    JUDGE_BOUND,   /* within `bound` of a reference */
    JUDGE_ADD,     /* alpha x + before, exactly */
    JUDGE_WRITTEN, /* not the canary */
    JUDGE_SPECIAL, /* NaN or infinity where one of an input leads to, and nowhere else */
    JUDGE_BITS,    /* as in `other` */
};

/* Where it must turn up: in row `row` of the result, of batch `batch` or of every one. */
struct judge_special {
    int64_t batch, row, column;
    bool infinite;    /* not NaN */
    bool everywhere;  /* in every batch */
    bool mirrored;    /* column `row`, too: a triangle of a symmetric matrix */
    bool one_element; /* nothing but (row, column) */
};

/* A question about every element of `after` that belongs to the result. A plain value. */
struct judge {
    enum judge_kind kind;
    struct data_image after;
    struct data_image other;        /* ADD: x; BITS: what to compare with */
    struct data_image before;       /* ADD: y */
    const double *want, *magnitude; /* BOUND: column-major m x n, one per batch */
    struct compare_bound bound;
    bool exact; /* BOUND: nothing may be off at all */
    double alpha;
    struct judge_special special;
};

struct judge_outcome {
    uint64_t bad;     /* elements */
    double worst;     /* BOUND: largest |c - ref| / bound */
    int64_t at[3];    /* batch, row, column of the first bad one, columns after each other */
    double got, want; /* there */
};

/* What is wrong with one element: at most 1 is right. */
struct judge_verdict {
    double error, got, want;
};

TILEWISE_ANYWHERE bool judge_is_as_special(const struct judge_special *x, int64_t b, int64_t r,
                                           int64_t c, double got)
{
    bool row = r == x->row || (x->mirrored && c == x->row);
    bool hit = (x->everywhere || b == x->batch) && row && (!x->one_element || c == x->column);
    if (x->infinite)
        return hit ? isinf(got) : isfinite(got);
    return isnan(got) == hit;
}

TILEWISE_ANYWHERE bool judge_same_bits(const struct judge *j, int64_t index)
{
    const unsigned char *x = image_element(&j->after, index), *y = image_element(&j->other, index);
    bool same = true;
    for (size_t i = 0; i < j->after.shape.element_bytes; i++)
        same = same && x[i] == y[i];
    return same;
}

TILEWISE_ANYWHERE struct judge_verdict judge_element(const struct judge *j, int64_t b, int64_t r,
                                                     int64_t c)
{
    const struct operand *o = &j->after.shape;
    int64_t index = operand_index(o, b, r, c);
    struct judge_verdict v = { 0, data_get(&j->after, index), 0 };
    bool good = true;
    switch (j->kind) {
    case JUDGE_BOUND: {
        int64_t known = (b * o->cols + c) * o->rows + r;
        v.want = j->exact ? judge_rounded(o->dtype, j->want[known]) : j->want[known];
        v.error = compare_error(&j->bound, v.got, v.want, j->magnitude[known]);
        return v;
    }
    case JUDGE_ADD: {
        double x = data_get(&j->other, operand_index(&j->other.shape, b, r, c));
        double y = data_get(&j->before, index);
        v.want = judge_rounded(o->dtype, fma(j->alpha, x, y));
        good = judge_is_exact_add(o->dtype, j->alpha, x, y, v.got);
        break;
    }
    case JUDGE_WRITTEN:
        good = !data_is_canary(&j->after, index);
        break;
    case JUDGE_SPECIAL:
        good = judge_is_as_special(&j->special, b, r, c, v.got);
        break;
    case JUDGE_BITS:
        v.want = data_get(&j->other, index);
        good = judge_same_bits(j, index);
        break;
    }
    v.error = good ? 0 : INFINITY;
    return v;
}

/* On the host: every element. */
void judge_all(const struct judge *j, struct judge_outcome *out);

#endif
