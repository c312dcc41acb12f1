/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/cuda/ref.h"

#include <errno.h>

#include "kernels/cuda/read.h"
#include "traces/number.h"

static bool is_known(const struct tilewise_signature *s)
{
    bool is_add = s->op == TILEWISE_OP_ADD;
    bool one_target = is_add && s->n == 1 && s->ldc == 0; /* a sum in order: no parallel work */
    return cuda_read_is_plain(s) && !one_target && (is_add || number_is_known(s->dtype_a)) &&
           number_is_known(s->dtype_b) && number_is_known(s->dtype_c);
}

int cuda_ref_compute(const struct tilewise_signature *s, const struct tilewise_args *args,
                     double *result, double *magnitude)
{
    if (!is_known(s))
        return -ENOTSUP;
    struct cuda_read_call r = cuda_read(s, args);
    struct cuda_ref_problem p = {
        .a = r.a,
        .b = r.b,
        .c = r.c,
        .m = r.call.m,
        .n = r.call.n,
        .k = r.call.k,
        .batches = r.batches,
        .alpha = r.call.alpha,
        .beta = r.call.beta,
        .result = result,
        .magnitude = magnitude,
        .is_add = s->op == TILEWISE_OP_ADD,
        .uplo = s->uplo,
        .stream = args->stream,
    };
    return cuda_ref_launch(&p);
}
