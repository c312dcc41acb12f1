/* SPDX-License-Identifier: Apache-2.0 */
#include "traces/dictionary.h"

#include "traces/format.h"
#include "traces/sigcode.h"

static const struct intern_limits string_limits = { TRACE_STRINGS_MAX, TRACE_STRINGS_BYTES_MAX };
static const struct intern_limits signature_limits = {
    TRACE_SIGNATURES_MAX, TRACE_SIGNATURES_MAX * sizeof(struct tilewise_signature)
};

enum status dictionary_init(struct dictionary *d)
{
    d->strings.tail = 1;
    dictionary_begin_shard(d);
    uint32_t id;
    return intern_add(&d->strings, "", 0, &string_limits, &id);
}

void dictionary_free(struct dictionary *d)
{
    intern_free(&d->strings);
    intern_free(&d->signatures);
    buffer_free(&d->string_ids);
    buffer_free(&d->signature_ids);
}

void dictionary_begin_shard(struct dictionary *d)
{
    d->string_ids.size = d->signature_ids.size = 0;
    d->signature_ids_equal = 0;
}

static uint32_t mapped(const struct buffer *ids, uint64_t id)
{
    return id < ids->size / sizeof(uint32_t) ? ((const uint32_t *)ids->bytes)[id]
                                             : DICTIONARY_UNRESOLVED;
}

uint32_t dictionary_string(const struct dictionary *d, uint64_t id_in_shard)
{
    return id_in_shard == 0 ? 0 : mapped(&d->string_ids, id_in_shard);
}

uint32_t dictionary_name(const struct dictionary *d, uint64_t id_in_shard)
{
    uint32_t id = dictionary_string(d, id_in_shard);
    return id == DICTIONARY_UNRESOLVED ? 0 : id;
}

uint32_t dictionary_signature(const struct dictionary *d, uint64_t id_in_shard)
{
    return mapped(&d->signature_ids, id_in_shard);
}

/* Make ids up to `end` known, as unresolved. */
static enum status extend(struct buffer *ids, uint64_t end)
{
    size_t bytes = end * sizeof(uint32_t);
    if (bytes <= ids->size)
        return ST_OK;
    if (!buffer_reserve(ids, bytes - ids->size))
        return ST_NOMEM;
    memset(ids->bytes + ids->size, 0xff, bytes - ids->size);
    ids->size = bytes;
    return ST_OK;
}

/* First id and count of a section; false: malformed or beyond `max`. */
static bool read_range(struct cursor *in, uint64_t max, uint64_t *first, uint64_t *count)
{
    *first = cursor_varint_max(in, max);
    *count = cursor_varint_max(in, max - *first);
    return !in->bad;
}

static enum status define(struct buffer *ids, uint64_t id, uint32_t value)
{
    uint32_t *at = (uint32_t *)ids->bytes + id;
    if (*at != DICTIONARY_UNRESOLVED && *at != value)
        return ST_FORMAT;
    *at = value;
    return ST_OK;
}

enum status dictionary_read_strings(struct dictionary *d, struct cursor *in)
{
    uint64_t first, count;
    if (!read_range(in, TRACE_STRINGS_MAX, &first, &count) || first == 0 ||
        count > (uint64_t)(in->end - in->at))
        return ST_FORMAT;
    enum status st = extend(&d->string_ids, first + count);
    for (uint64_t id = first; st == ST_OK && id < first + count; id++) {
        uint64_t bytes = cursor_varint_max(in, TRACE_STRING_BYTES_MAX);
        const uint8_t *text = cursor_bytes(in, bytes);
        if (!text || memchr(text, 0, bytes))
            return ST_FORMAT;
        uint32_t mine;
        st = intern_add(&d->strings, text, bytes, &string_limits, &mine);
        if (st == ST_OK)
            st = define(&d->string_ids, id, mine);
    }
    return st;
}

enum status dictionary_read_signatures(struct dictionary *d, struct cursor *in)
{
    uint64_t first, count;
    if (!read_range(in, TRACE_SIGNATURES_MAX, &first, &count) ||
        count > (uint64_t)(in->end - in->at))
        return ST_FORMAT;
    enum status st = extend(&d->signature_ids, first + count);
    struct tilewise_signature s = { 0 };
    for (uint64_t id = first; st == ST_OK && id < first + count; id++) {
        sigcode_get(in, &s);
        if (in->bad)
            return ST_FORMAT;
        struct tilewise_signature here = s;
        here.entry = dictionary_string(d, s.entry);
        if (here.entry == DICTIONARY_UNRESOLVED)
            continue;
        uint32_t mine;
        st = intern_add(&d->signatures, &here, sizeof here, &signature_limits, &mine);
        if (st == ST_OK)
            st = define(&d->signature_ids, id, mine);
        if (st == ST_OK && id == d->signature_ids_equal && mine == id)
            d->signature_ids_equal++;
    }
    return st;
}
