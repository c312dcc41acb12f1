/* SPDX-License-Identifier: Apache-2.0
 *
 * $FAKE_LT=scrambled: values are not stored as they are, so that only the getters can tell them;
 * $FAKE_LT=strict: setters refuse numbers that no attribute can have.
 */
#include "fake_cublaslt.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { INVALID = 7, DESC, LAYOUT };

/* Where an attribute lies: by number, with room between them that nobody writes. */
struct object {
    uint32_t mark; /* 2, or 1 for the older layout, which ends earlier and lies differently */
    uint8_t bytes[FAKE_LT_BYTES - 4];
};

struct attribute {
    int kind, number;
    size_t bytes;
};

static const struct attribute attribute[] = {
#define LTATTR(kind, name, number, bytes, without) { kind, number, bytes },
#include "tracer/ltattr.def"
#undef LTATTR
    { DESC, FAKE_LT_UNKNOWN_ATTRIBUTE, 4 },
};

enum {
#define ROW(family, symbol) AT_##symbol,
#include "tracer/cublaslt.def"
#undef ROW
    ROWS
};

static struct fake_row rows[ROWS + 1] = {
#define ROW(family, symbol) { #symbol, 0, 0, 0 },
#include "tracer/cublaslt.def"
#undef ROW
};
uint64_t fake_cublaslt_asked;
/* Called inside each product, if any. */
extern void (*fake_cublaslt_inner)(void *stream);
void (*fake_cublaslt_inner)(void *stream);

struct fake_row *fake_cublaslt_rows(void)
{
    return rows;
}

static bool mode_is(const char *mode)
{
    const char *now = getenv("FAKE_LT");
    return now && strcmp(now, mode) == 0;
}

static const struct attribute *find(int kind, int number, size_t bytes)
{
    for (size_t i = 0; i < sizeof attribute / sizeof *attribute; i++)
        if (attribute[i].kind == kind && attribute[i].number == number &&
            attribute[i].bytes == bytes)
            return &attribute[i];
    return NULL;
}

static uint8_t *place_of(const struct object *o, const struct attribute *a)
{
    size_t at = o->mark == 1 ? (size_t)a->number * 8 : 4 + (size_t)a->number * 10;
    return (uint8_t *)o->bytes + at;
}

static int set(int kind, struct object *o, int number, const void *value, size_t bytes)
{
    const struct attribute *a = find(kind, number, bytes);
    uint8_t mask = mode_is("scrambled") ? 0x5a : 0;
    if (!a || (mode_is("strict") && kind == DESC && number == 3 && *(const int32_t *)value > 2))
        return INVALID;
    for (size_t i = 0; i < bytes; i++)
        place_of(o, a)[i] = ((const uint8_t *)value)[i] ^ mask;
    return 0;
}

static int get(int kind, const struct object *o, int number, void *value, size_t bytes)
{
    const struct attribute *a = find(kind, number, bytes);
    uint8_t mask = mode_is("scrambled") ? 0x5a : 0;
    fake_cublaslt_asked++;
    if (!a)
        return INVALID;
    for (size_t i = 0; i < bytes; i++)
        ((uint8_t *)value)[i] = place_of(o, a)[i] ^ mask;
    return 0;
}

static void set_fresh(int kind, struct object *o, size_t bytes)
{
    o->mark = bytes < FAKE_LT_BYTES ? 1 : 2;
    for (size_t i = 0; i < sizeof attribute / sizeof *attribute; i++) {
        static const struct {
            int number;
            int64_t value;
        } other[] = { { 6, 2 }, { 7, 1 }, { 22, -1 }, { 26, -1 } };
        int64_t value = 0;
        for (size_t j = 0; j < 4 && kind == DESC; j++)
            value = attribute[i].number == other[j].number ? other[j].value : value;
        if (attribute[i].kind == kind)
            set(kind, o, attribute[i].number, &value, attribute[i].bytes);
    }
}

int cublasLtMatmulDescInit_internal(void *object, size_t bytes, int compute, int scale)
{
    if (bytes < FAKE_LT_OLD_BYTES)
        return INVALID;
    set_fresh(DESC, object, bytes);
    set(DESC, object, 0, &compute, 4);
    set(DESC, object, 1, &scale, 4);
    return 0;
}

int cublasLtMatmulDescSetAttribute(void *object, int number, const void *value, size_t bytes)
{
    return set(DESC, object, number, value, bytes);
}

int cublasLtMatmulDescGetAttribute(const void *object, int number, void *value, size_t bytes,
                                   size_t *written)
{
    *written = bytes;
    return get(DESC, object, number, value, bytes);
}

int cublasLtMatrixLayoutInit_internal(void *object, size_t bytes, int type, uint64_t rows_,
                                      uint64_t cols, int64_t ld)
{
    int one = 1;
    set_fresh(LAYOUT, object, bytes < FAKE_LT_BYTES ? FAKE_LT_BYTES : bytes);
    set(LAYOUT, object, 0, &type, 4);
    set(LAYOUT, object, 2, &rows_, 8);
    set(LAYOUT, object, 3, &cols, 8);
    set(LAYOUT, object, 4, &ld, 8);
    set(LAYOUT, object, 5, &one, 4);
    return 0;
}

int cublasLtMatrixLayoutSetAttribute(void *object, int number, const void *value, size_t bytes)
{
    return set(LAYOUT, object, number, value, bytes);
}

int cublasLtMatrixLayoutGetAttribute(const void *object, int number, void *value, size_t bytes,
                                     size_t *written)
{
    *written = bytes;
    return get(LAYOUT, object, number, value, bytes);
}

#pragma GCC diagnostic ignored "-Wunused-parameter"

#define ROW(family, symbol)                                                                        \
    cublasStatus_t symbol(family##_PARAMS)                                                         \
    {                                                                                              \
        if (rows[AT_##symbol].status)                                                              \
            return (cublasStatus_t)rows[AT_##symbol].status;                                       \
        if (fake_cublaslt_inner)                                                                   \
            fake_cublaslt_inner(stream);                                                           \
        fake_work(stream, &rows[AT_##symbol]);                                                     \
        return 0;                                                                                  \
    }
#include "tracer/cublaslt.def"
#undef ROW
