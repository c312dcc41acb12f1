/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/dispatch_table.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "traces/schema.h"
#include "traces/suggest.h"

enum { BYTES_MAX = 8 << 20 };

struct row {
    struct tilewise_signature key;           /* nothing but what is looked up; the rest is 0 */
    const struct tilewise_candidate *kernel; /* NULL: it stays */
};

struct dispatch_table {
    size_t count, capacity;
    struct row *rows;
    size_t slots;   /* a power of two, at least twice the rows */
    uint32_t *slot; /* place of a row + 1; 0: free */
};

static struct tilewise_signature key_of(const struct tilewise_signature *s)
{
    return (struct tilewise_signature){
        .op = s->op,
        .layout = s->layout,
        .trans_a = s->trans_a,
        .trans_b = s->trans_b,
        .dtype_c = s->dtype_c,
        .m = s->m,
        .n = s->n,
        .k = s->k,
        .batch = s->batch,
        .lda = s->lda,
        .ldb = s->ldb,
        .ldc = s->ldc,
    };
}

/* The slot that holds this key, or the free one where it belongs. */
static uint32_t *find_slot(const struct dispatch_table *t, const struct tilewise_signature *key)
{
    size_t mask = t->slots - 1;
    for (size_t i = signature_hash(key) & mask;; i = (i + 1) & mask)
        if (t->slot[i] == 0 || signature_equal(&t->rows[t->slot[i] - 1].key, key))
            return &t->slot[i];
}

static bool grow(struct dispatch_table *t)
{
    if (t->count < t->capacity)
        return true;
    size_t capacity = t->capacity ? 2 * t->capacity : 64;
    struct row *rows = realloc(t->rows, capacity * sizeof *rows);
    uint32_t *slot = calloc(2 * capacity, sizeof *slot);
    if (rows)
        t->rows = rows;
    if (!rows || !slot) {
        free(slot);
        return false;
    }
    free(t->slot);
    t->slot = slot;
    t->slots = 2 * capacity;
    t->capacity = capacity;
    for (size_t i = 0; i < t->count; i++)
        *find_slot(t, &rows[i].key) = (uint32_t)i + 1;
    return true;
}

static bool add(struct dispatch_table *t, const struct row *row)
{
    if (!grow(t))
        return false;
    uint32_t *slot = find_slot(t, &row->key);
    if (*slot) {
        struct row *known = &t->rows[*slot - 1];
        if (!row->kernel)
            known->kernel = NULL;
        return true;
    }
    t->rows[t->count++] = *row;
    *slot = (uint32_t)t->count;
    return true;
}

/* What the file is read into: one row at a time. */
struct reading {
    struct dispatch_table *table;
    const struct dispatch_kernels *kernels;
    struct row row;
    uint64_t op, dtype, layout;
};

static enum status take(void *context, struct fault *fault)
{
    struct reading *r = context;
    r->row.key.op = (uint8_t)r->op;
    r->row.key.dtype_c = (uint8_t)r->dtype;
    r->row.key.layout = (uint8_t)r->layout;
    bool done = add(r->table, &r->row);
    r->row = (struct row){ .kernel = NULL };
    return done ? ST_OK : fault_set(fault, ST_NOMEM, "out of memory");
}

static enum status parse_whole(void *value, const char *text, size_t *at, struct fault *fault)
{
    char *end;
    errno = 0;
    long long number = strtoll(text, &end, 10);
    bool digits =
        text[0] == '-' ? text[1] >= '0' && text[1] <= '9' : text[0] >= '0' && text[0] <= '9';
    *at = 0;
    if (!digits || *end || errno)
        return fault_set(fault, ST_INVALID, "expects a whole number, not '%s'", text);
    *(int64_t *)value = number;
    return ST_OK;
}

/* Two letters; a report writes '?' for what it does not know. */
static enum status parse_trans(void *value, const char *text, size_t *at, struct fault *fault)
{
    static const char letters[] = "NTCR?";
    struct tilewise_signature *key = value;
    const char *a = text[0] ? strchr(letters, text[0]) : NULL;
    const char *b = a && text[1] ? strchr(letters, text[1]) : NULL;
    *at = 0;
    if (!b || text[2])
        return fault_set(fault, ST_INVALID, "expects two of N, T, C and R, not '%s'", text);
    key->trans_a = (uint8_t)(a - letters);
    key->trans_b = (uint8_t)(b - letters);
    return ST_OK;
}

static enum status parse_kernel(void *value, const char *text, size_t *at, struct fault *fault)
{
    struct reading *r = value;
    const char *near = NULL;
    *at = 0;
    for (size_t i = 0; i < r->kernels->count; i++) {
        if (strcmp(r->kernels->row[i]->name, text) == 0) {
            r->row.kernel = r->kernels->row[i];
            return ST_OK;
        }
        suggest_offer(text, r->kernels->row[i]->name, &near);
    }
    return fault_set(fault, ST_INVALID,
                     "'%s' is not one of the kernels that these calls can run%s%s%s", text,
                     near ? " (did you mean '" : "", near ? near : "", near ? "'?)" : "");
}

/* "|" before each name: what the reader is given begins behind the first. */
#define X(id, number, name) "|" name
static const char op_names[] = TILEWISE_OP_LIST(X);
#undef X
#define X(id, number, name, bits, kind) "|" name
static const char dtype_names[] = TILEWISE_DTYPE_LIST(X);
#undef X

/* clang-format off */
#define WHOLE(key, at) \
    { .name = key, .type = SCHEMA_OWN, .value = at, .parse = parse_whole, .required = true }
#define WORD(key, at, words) \
    { .name = key, .type = SCHEMA_WORD, .value = at, .choices = words, .required = true }
#define FOR_PEOPLE(key) { .name = key, .type = SCHEMA_ANY }
#define ROW \
    WORD("op", &r->op, op_names + 1), \
    WORD("dtype", &r->dtype, dtype_names + 1), \
    WORD("layout", &r->layout, "col|row"), \
    { .name = "trans", .type = SCHEMA_OWN, .value = key, .parse = parse_trans, .required = true }, \
    WHOLE("m", &key->m), WHOLE("n", &key->n), WHOLE("k", &key->k), WHOLE("batch", &key->batch), \
    { .name = "ld", .type = SCHEMA_MAP, .fields = ld, .required = true }, \
    FOR_PEOPLE("entry"), FOR_PEOPLE("time-share")

/* `text` NULL: the file of that name. */
static enum status read_rows(struct reading *r, const char *name, const char *text, size_t bytes,
                             struct fault *fault)
{
    struct tilewise_signature *key = &r->row.key;
    const struct schema_field ld[] = {
        WHOLE("a", &key->lda), WHOLE("b", &key->ldb), WHOLE("c", &key->ldc), { 0 },
    };
    const struct schema_field leaves[] = {
        ROW,
        { .name = "kernel", .type = SCHEMA_OWN, .value = r, .parse = parse_kernel, .required = true },
        FOR_PEOPLE("ratio"), FOR_PEOPLE("deterministic"), { 0 },
    };
    const struct schema_field stays[] = { ROW, FOR_PEOPLE("why"), { 0 } };
    const struct schema_field file[] = {
        FOR_PEOPLE("tilewise"), FOR_PEOPLE("device"), FOR_PEOPLE("library"), FOR_PEOPLE("replayed"),
        FOR_PEOPLE("ops"),
        { .name = "kernels", .type = SCHEMA_LIST, .fields = leaves, .take = take, .context = r,
          .required = true },
        { .name = "stays", .type = SCHEMA_LIST, .fields = stays, .take = take, .context = r },
        { 0 },
    };
    return text ? schema_read_text(file, name, text, bytes, BYTES_MAX, fault)
                : schema_read_file(file, name, BYTES_MAX, fault);
}
#undef ROW
#undef FOR_PEOPLE
#undef WORD
#undef WHOLE
/* clang-format on */

enum status dispatch_table_read_text(struct dispatch_table **out, const char *name,
                                     const char *text, size_t bytes,
                                     const struct dispatch_kernels *kernels, struct fault *fault)
{
    struct reading r = { .kernels = kernels, .table = calloc(1, sizeof *r.table) };
    *out = NULL;
    if (!r.table || !grow(r.table)) {
        dispatch_table_free(r.table);
        return fault_set(fault, ST_NOMEM, "%s: out of memory", name);
    }
    enum status st = read_rows(&r, name, text, bytes, fault);
    if (st == ST_OK)
        *out = r.table;
    else
        dispatch_table_free(r.table);
    return st;
}

enum status dispatch_table_read(struct dispatch_table **out, const char *path,
                                const struct dispatch_kernels *kernels, struct fault *fault)
{
    return dispatch_table_read_text(out, path, NULL, 0, kernels, fault);
}

void dispatch_table_free(struct dispatch_table *t)
{
    if (!t)
        return;
    free(t->rows);
    free(t->slot);
    free(t);
}

const struct tilewise_candidate *dispatch_table_find(const struct dispatch_table *t,
                                                     const struct tilewise_signature *s)
{
    struct tilewise_signature key = key_of(s);
    uint32_t at = *find_slot(t, &key);
    return at ? t->rows[at - 1].kernel : NULL;
}
