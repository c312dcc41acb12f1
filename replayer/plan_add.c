/* SPDX-License-Identifier: Apache-2.0 */
#include "replayer/plan_add.h"

#include <stdio.h>
#include <string.h>

/* The template argument behind the functor's name, mangled. */
static uint8_t type_of_kernel(const char *name)
{
    static const char functor[] = "CUDAFunctor_addI";
    static const struct {
        const char *argument;
        uint8_t dtype;
    } types[] = {
        { "fE", TILEWISE_F32 },
        { "dE", TILEWISE_F64 },
        { "N3c104HalfEE", TILEWISE_F16 },
        { "N3c108BFloat16EE", TILEWISE_BF16 },
    };
    const char *at = strstr(name, functor);
    for (size_t i = 0; at && i < sizeof types / sizeof *types; i++)
        if (strncmp(at + strlen(functor), types[i].argument, strlen(types[i].argument)) == 0)
            return types[i].dtype;
    return TILEWISE_UNKNOWN;
}

static uint8_t find_type(const struct summary *summary, uint32_t index)
{
    uint8_t found = TILEWISE_UNKNOWN;
    for (size_t i = 0; i < summary->nkernels && found == TILEWISE_UNKNOWN; i++) {
        const struct summary_kernel *k = &summary->kernels[i];
        if (k->signature == index && k->name < summary->nstrings)
            found = type_of_kernel(summary->strings[k->name]);
    }
    return found;
}

void plan_add_resolve(struct plan_item *item, const struct summary *summary, uint32_t index,
                      uint32_t (*number)(const char *name))
{
    struct tilewise_signature *s = &item->signature;
    int64_t elements;
    /* Other bits of the flags: m and n do not say everything. */
    if (s->op != TILEWISE_OP_ADD || s->dtype_b != TILEWISE_UNKNOWN ||
        s->flags != TILEWISE_NOT_REPLAYABLE || __builtin_mul_overflow(s->m, s->n, &elements))
        return;
    uint8_t dtype = find_type(summary, index);
    if (dtype == TILEWISE_UNKNOWN || elements < 1)
        return;
    uint8_t sum = dtype == TILEWISE_F64 ? TILEWISE_F64 : TILEWISE_F32;
    *s = (struct tilewise_signature){
        .op = TILEWISE_OP_ADD,
        .dtype_b = dtype,
        .dtype_c = dtype,
        .dtype_d = dtype,
        .compute = sum,
        .scale = sum,
        .alpha = s->alpha,
        .beta = s->beta,
        .align_b = 4,
        .align_c = 4,
        .align_d = 4,
        .m = elements,
        .n = 1,
        .k = 1,
        .batch = 1,
        .ldb = 1,
        .ldc = 1,
        .ldd = 1,
        .entry = number ? number("cublasAxpyEx") : 0,
    };
    snprintf(item->reason, sizeof item->reason,
             "type as its kernel's, operands without gaps, the sum in place");
}
