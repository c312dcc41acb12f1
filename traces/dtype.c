/* SPDX-License-Identifier: Apache-2.0 */
#include "traces/dtype.h"

#include <string.h>

static const struct {
    const char *name;
    unsigned bits;
    enum tilewise_dtype_kind kind;
} rows[TILEWISE_DTYPE_COUNT] = {
#define X(id, number, text, nbits, k)                                                              \
    [number] = { .name = text, .bits = nbits, .kind = TILEWISE_KIND_##k },
    TILEWISE_DTYPE_LIST(X)
#undef X
};

const char *tilewise_dtype_name(unsigned dtype)
{
    return dtype < TILEWISE_DTYPE_COUNT ? rows[dtype].name : rows[TILEWISE_UNKNOWN].name;
}

enum tilewise_dtype tilewise_dtype_find(const char *name)
{
    for (unsigned i = 0; i < TILEWISE_DTYPE_COUNT; i++)
        if (strcmp(rows[i].name, name) == 0)
            return (enum tilewise_dtype)i;
    return TILEWISE_UNKNOWN;
}

unsigned tilewise_dtype_bits(unsigned dtype)
{
    return dtype < TILEWISE_DTYPE_COUNT ? rows[dtype].bits : 0;
}

enum tilewise_dtype_kind tilewise_dtype_kind(unsigned dtype)
{
    return dtype < TILEWISE_DTYPE_COUNT ? rows[dtype].kind : TILEWISE_KIND_NONE;
}
