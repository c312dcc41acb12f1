/* SPDX-License-Identifier: Apache-2.0 */
#include "traces/definitions.h"

#include "traces/format.h"
#include "traces/sigcode.h"

enum { SECTION_HEAD_BYTES = 32 }; /* type, length, first id, count */

static const struct intern_limits string_limits = { TRACE_STRINGS_MAX, TRACE_STRINGS_BYTES_MAX };
static const struct intern_limits signature_limits = {
    TRACE_SIGNATURES_MAX, TRACE_SIGNATURES_MAX * sizeof(struct tilewise_signature)
};

struct pair {
    uint32_t key, value;
};

enum status definitions_init(struct definitions *d)
{
    d->strings.tail = 1;
    d->written = definitions_start();
    uint32_t id;
    return intern_add(&d->strings, "", 0, &string_limits, &id);
}

void definitions_free(struct definitions *d)
{
    intern_free(&d->strings);
    intern_free(&d->signatures);
    buffer_free(&d->facts);
}

enum status definitions_string(struct definitions *d, const char *text, size_t bytes, uint32_t *id)
{
    if (bytes > TRACE_STRING_BYTES_MAX)
        bytes = TRACE_STRING_BYTES_MAX;
    return intern_add(&d->strings, text, strnlen(text, bytes), &string_limits, id);
}

enum status definitions_signature(struct definitions *d, const struct tilewise_signature *s,
                                  uint32_t *id)
{
    if (s->entry >= d->strings.count)
        return ST_INVALID;
    return intern_add(&d->signatures, s, sizeof *s, &signature_limits, id);
}

static size_t fact_count(const struct definitions *d)
{
    return d->facts.size / sizeof(struct pair);
}

enum status definitions_fact(struct definitions *d, const char *key, const char *value)
{
    struct pair new;
    enum status st = definitions_string(d, key, strlen(key), &new.key);
    if (st == ST_OK)
        st = definitions_string(d, value, strlen(value), &new.value);
    if (st != ST_OK)
        return st;
    for (size_t i = 0; i < fact_count(d); i++)
        if (memcmp(d->facts.bytes + i * sizeof new, &new, sizeof new) == 0)
            return ST_OK;
    if (fact_count(d) >= TRACE_FACTS_MAX)
        return ST_LIMIT;
    if (!buffer_reserve(&d->facts, sizeof new))
        return ST_NOMEM;
    buffer_put(&d->facts, &new, sizeof new);
    return ST_OK;
}

struct definitions_cursor definitions_start(void)
{
    return (struct definitions_cursor){ .strings = 1 };
}

bool definitions_is_empty(const struct definitions *d)
{
    return d->strings.count <= 1 && d->signatures.count == 0;
}

bool definitions_are_pending(const struct definitions *d)
{
    return d->written.strings < d->strings.count || d->written.signatures < d->signatures.count ||
           d->written.facts < fact_count(d);
}

/* Each of these appends one section with as many items as fit and returns the next item. */
static uint32_t encode_strings(const struct definitions *d, uint32_t from, struct buffer *out,
                               size_t limit)
{
    size_t start = buffer_begin_section(out, SECTION_STRINGS);
    buffer_put_varint(out, from);
    size_t count_at = out->size;
    out->size += 4;
    uint32_t id = from;
    for (; id < d->strings.count; id++) {
        size_t bytes;
        const void *text = intern_get(&d->strings, id, &bytes);
        if (out->size + VARINT_BYTES_MAX + bytes > limit)
            break;
        buffer_put_varint(out, bytes);
        buffer_put(out, text, bytes);
    }
    buffer_patch(out, count_at, id - from);
    buffer_end_section(out, start);
    return id;
}

static uint32_t encode_signatures(const struct definitions *d, uint32_t from, struct buffer *out,
                                  size_t limit)
{
    static const struct tilewise_signature zeros;
    size_t start = buffer_begin_section(out, SECTION_SIGNATURES);
    buffer_put_varint(out, from);
    size_t count_at = out->size;
    out->size += 4;
    const struct tilewise_signature *before = &zeros;
    uint32_t id = from;
    for (; id < d->signatures.count && out->size + SIGCODE_BYTES_MAX <= limit; id++) {
        const struct tilewise_signature *s = intern_get(&d->signatures, id, NULL);
        sigcode_put(out, before, s);
        before = s;
    }
    buffer_patch(out, count_at, id - from);
    buffer_end_section(out, start);
    return id;
}

static uint32_t encode_facts(const struct definitions *d, uint32_t from, struct buffer *out,
                             size_t limit)
{
    const struct pair *facts = (const struct pair *)d->facts.bytes;
    size_t start = buffer_begin_section(out, SECTION_FACTS);
    size_t count_at = out->size;
    out->size += 4;
    uint32_t i = from;
    for (; i < fact_count(d) && out->size + 2 * VARINT_BYTES_MAX <= limit; i++) {
        buffer_put_varint(out, facts[i].key);
        buffer_put_varint(out, facts[i].value);
    }
    buffer_patch(out, count_at, i - from);
    buffer_end_section(out, start);
    return i;
}

bool definitions_encode(const struct definitions *d, struct definitions_cursor *at,
                        struct buffer *out, size_t limit)
{
    if (at->strings < d->strings.count) {
        if (out->size + SECTION_HEAD_BYTES > limit)
            return false;
        at->strings = encode_strings(d, at->strings, out, limit);
    }
    /* What refers to strings waits until all of them are defined. */
    if (at->strings < d->strings.count)
        return false;
    if (at->signatures < d->signatures.count) {
        if (out->size + SECTION_HEAD_BYTES > limit)
            return false;
        at->signatures = encode_signatures(d, at->signatures, out, limit);
    }
    if (at->facts < fact_count(d)) {
        if (out->size + SECTION_HEAD_BYTES > limit)
            return false;
        at->facts = encode_facts(d, at->facts, out, limit);
    }
    return at->signatures == d->signatures.count && at->facts == fact_count(d);
}
