/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/dispatch.h"

#include <string.h>

#include "kernels/builtin.h"

/* The wrappers hand over host memory: kernels of this processor alone, so that a program that links
 * them carries no others. */
#define CANDIDATE(id) extern const struct tilewise_candidate id;
#include "kernels/cpu/candidates.def"
#undef CANDIDATE
static const struct tilewise_candidate *const kernels[] = {
#define CANDIDATE(id) &id,
#include "kernels/cpu/candidates.def"
#undef CANDIDATE
};

enum choice { LIBRARY, TILE };

struct row {
    enum tilewise_op op;
    enum tilewise_dtype dtype;
    enum choice choice[DISPATCH_CLASSES];
};

/* clang-format off */
static const struct row table[] = {
    /*                                     tiny     thin  small    skinny large */
    { TILEWISE_OP_GEMM, TILEWISE_F32, { LIBRARY, TILE, LIBRARY, TILE, TILE } },
    { TILEWISE_OP_GEMM, TILEWISE_F64, { LIBRARY, TILE, LIBRARY, TILE, TILE } },
    { TILEWISE_OP_GEMV, TILEWISE_F32, { TILE, TILE, TILE, TILE, TILE } },
    { TILEWISE_OP_GEMV, TILEWISE_F64, { TILE, TILE, TILE, TILE, TILE } },
    { TILEWISE_OP_ADD, TILEWISE_F32, { LIBRARY, LIBRARY, LIBRARY, LIBRARY, LIBRARY } },
    { TILEWISE_OP_ADD, TILEWISE_F64, { LIBRARY, LIBRARY, LIBRARY, LIBRARY, LIBRARY } },
};
/* clang-format on */

enum dispatch_class dispatch_class_of(const struct tilewise_signature *s)
{
    double volume = (double)s->m * (double)s->n * (double)s->k;
    int64_t thin = s->m < s->n ? s->m : s->n;
    if (volume <= 16. * 16 * 16)
        return DISPATCH_TINY;
    if (thin <= 4)
        return DISPATCH_THIN;
    if (volume <= 96. * 96 * 96)
        return DISPATCH_SMALL;
    return thin <= 64 ? DISPATCH_SKINNY : DISPATCH_LARGE;
}

static enum choice choice_of(const struct tilewise_signature *s)
{
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++)
        if (table[i].op == s->op && table[i].dtype == s->dtype_c)
            return table[i].choice[dispatch_class_of(s)];
    return LIBRARY;
}

static bool is_portable(const struct tilewise_candidate *kernel)
{
    return strstr(kernel->name, "_portable") != NULL;
}

/* The first that does it: they are in the order of preference. */
static const struct tilewise_candidate *first(const struct tilewise_signature *s, bool portable)
{
    for (size_t i = 0; i < sizeof kernels / sizeof kernels[0]; i++)
        if (is_portable(kernels[i]) == portable && kernels[i]->supports(kernels[i], s))
            return kernels[i];
    return NULL;
}

const struct tilewise_candidate *dispatch_choose(const struct tilewise_signature *s)
{
    return choice_of(s) == TILE ? first(s, false) : NULL;
}

const struct tilewise_candidate *dispatch_portable(const struct tilewise_signature *s)
{
    const struct tilewise_candidate *kernel = first(s, true);
    if (kernel == NULL && ref_candidate.supports(&ref_candidate, s))
        kernel = &ref_candidate;
    return kernel;
}
