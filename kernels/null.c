/* SPDX-License-Identifier: Apache-2.0
 *
 * The ghost: a candidate that does nothing. It must fail every verification, so that a verification
 * that lets it pass is known to be broken; its time is what a call through the ABI costs.
 */
#include "kernels/builtin.h"

static int supports(const struct tilewise_candidate *self, const struct tilewise_signature *s)
{
    (void)self;
    return s->op == TILEWISE_OP_GEMM || s->op == TILEWISE_OP_GEMV || s->op == TILEWISE_OP_ADD;
}

static int run(const struct tilewise_candidate *self, const struct tilewise_signature *s,
               const struct tilewise_args *args)
{
    (void)self;
    (void)s;
    (void)args;
    return 0;
}

const struct tilewise_candidate null_candidate = {
    .abi = TILEWISE_CANDIDATE_ABI,
    .bytes = sizeof(struct tilewise_candidate),
    .name = "null",
    .target = "cpu",
    .summary = "does nothing; must fail verification",
    .supports = supports,
    .run = run,
};
