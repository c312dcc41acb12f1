/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/dispatch.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/builtin.h"
#include "kernels/dispatch_table.h"

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

/* Tables of files. They are never freed, because a call may be reading one; the list keeps them in
 * sight of leak checkers. */
struct loaded {
    struct loaded *before;
    struct dispatch_table *table; /* NULL: everything goes to the library */
};
static struct loaded nothing_leaves;
static _Atomic(struct loaded *) all_loaded, current;

enum status dispatch_load(const char *path, struct fault *fault)
{
    const struct dispatch_kernels known = { kernels, sizeof kernels / sizeof kernels[0] };
    if (path == NULL) {
        atomic_store(&current, NULL);
        return ST_OK;
    }
    struct loaded *l = calloc(1, sizeof *l);
    if (l == NULL)
        return fault_set(fault, ST_NOMEM, "%s: out of memory", path);
    enum status st = dispatch_table_read(&l->table, path, &known, fault);
    if (st != ST_OK) {
        free(l);
        return st;
    }
    l->before = atomic_load(&all_loaded);
    while (!atomic_compare_exchange_weak(&all_loaded, &l->before, l))
        ;
    atomic_store(&current, l);
    return ST_OK;
}

void dispatch_leave_all(void)
{
    atomic_store(&current, &nothing_leaves);
}

static const struct tilewise_candidate *find(const struct loaded *l,
                                             const struct tilewise_signature *s)
{
    const struct tilewise_candidate *kernel = l->table ? dispatch_table_find(l->table, s) : NULL;
    return kernel != NULL && kernel->supports(kernel, s) ? kernel : NULL;
}

const struct tilewise_candidate *dispatch_choose(const struct tilewise_signature *s)
{
    const struct loaded *l = atomic_load_explicit(&current, memory_order_acquire);
    if (l != NULL)
        return find(l, s);
    return choice_of(s) == TILE ? first(s, false) : NULL;
}

const struct tilewise_candidate *dispatch_portable(const struct tilewise_signature *s)
{
    const struct tilewise_candidate *kernel = first(s, true);
    if (kernel == NULL && ref_candidate.supports(&ref_candidate, s))
        kernel = &ref_candidate;
    return kernel;
}
