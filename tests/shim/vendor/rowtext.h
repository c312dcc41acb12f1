/* SPDX-License-Identifier: Apache-2.0
 *
 * One line of text for a recorded row: what a host program expects and what a trace holds are
 * printed by the same function and compared as text.
 */
#ifndef TILEWISE_TESTS_ROWTEXT_H
#define TILEWISE_TESTS_ROWTEXT_H

#include <stdio.h>

#include "traces/signature.h"

static inline void rowtext_print(const char *entry, const struct tilewise_signature *s,
                                 unsigned long long calls)
{
    printf("%s %s %s/%s/%s/%s in %s by %s %c%c %c", entry, tilewise_op_name(s->op),
           tilewise_dtype_name(s->dtype_a), tilewise_dtype_name(s->dtype_b),
           tilewise_dtype_name(s->dtype_c), tilewise_dtype_name(s->dtype_d),
           tilewise_dtype_name(s->compute), tilewise_dtype_name(s->scale),
           tilewise_trans_letter(s->trans_a), tilewise_trans_letter(s->trans_b),
           s->layout ? 'r' : 'c');
    printf(" %lldx%lldx%lld batch %d:%lld", (long long)s->m, (long long)s->n, (long long)s->k,
           s->batch_kind, (long long)s->batch);
    printf(" ld %lld %lld %lld %lld", (long long)s->lda, (long long)s->ldb, (long long)s->ldc,
           (long long)s->ldd);
    printf(" stride %lld %lld %lld %lld", (long long)s->stride_a, (long long)s->stride_b,
           (long long)s->stride_c, (long long)s->stride_d);
    printf(" align %d%d%d%d scalars %d%d scales %d%d%d%d", s->align_a, s->align_b, s->align_c,
           s->align_d, s->alpha, s->beta, s->scale_a, s->scale_b, s->scale_c, s->scale_d);
    printf(" uplo %d epilogue %d math %d flags %d x %llu\n", s->uplo, s->epilogue, s->math_mode,
           s->flags & 0xff, calls);
}

#endif
