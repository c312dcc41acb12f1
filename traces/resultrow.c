/* SPDX-License-Identifier: Apache-2.0
 *
 * Field numbers are in the files: append only.
 */
#include "traces/resultrow.h"

#include <math.h>
#include <stdlib.h>

#include "traces/format.h"
#include "traces/sigcode.h"

enum { CANDIDATES_MAX = 4096 };

enum wire { WIRE_VARINT = 0, WIRE_REAL = 1, WIRE_BYTES = 2 };

#define FIELD(row, number, type, member)                                                           \
    {                                                                                              \
        number, type, offsetof(struct result_##row, member)                                        \
    }
#define RUN(...)       FIELD(run, __VA_ARGS__)
#define CEILING(...)   FIELD(ceiling, __VA_ARGS__)
#define CANDIDATE(...) FIELD(candidate, __VA_ARGS__)
#define CASE(...)      FIELD(case, __VA_ARGS__)
#define VERDICT(...)   FIELD(verdict, __VA_ARGS__)
#define ORDER(...)     FIELD(order, __VA_ARGS__)
#define PART(...)      FIELD(order_part, __VA_ARGS__)

const struct resultrow_field resultrow_run[] = {
    RUN(1, ROW_TEXT, tilewise_version),
    RUN(2, ROW_TEXT, date_utc),
    RUN(3, ROW_TEXT, command),
    RUN(4, ROW_TEXT, host),
    RUN(5, ROW_TEXT, backend),
    RUN(6, ROW_TEXT, device),
    RUN(7, ROW_TEXT, baseline_library),
    RUN(8, ROW_TEXT, baseline_core),
    RUN(9, ROW_TEXT, protocol),
    RUN(10, ROW_BOOL, baseline_capped),
    RUN(11, ROW_U32, threads),
    RUN(12, ROW_U64, trace_shards),
    RUN(13, ROW_U64, planned_cases),
    RUN(14, ROW_U64, unplanned_cases),
    RUN(15, ROW_REAL, planned_time_share),
    RUN(16, ROW_REAL, noise_floor),
    RUN(17, ROW_TEXT, trace_device),
    { 0, ROW_TEXT, 0 },
};

const struct resultrow_field resultrow_ceiling[] = {
    CEILING(1, ROW_BYTE, dtype),
    CEILING(2, ROW_REAL, rate_flops),
    CEILING(3, ROW_REAL, bandwidth_bytes_per_s),
    CEILING(4, ROW_REAL, floor_ns),
    { 0, ROW_TEXT, 0 },
};

const struct resultrow_field resultrow_candidate[] = {
    CANDIDATE(1, ROW_TEXT, name),
    CANDIDATE(2, ROW_TEXT, reason),
    CANDIDATE(3, ROW_BYTE, status),
    CANDIDATE(4, ROW_BYTE, call),
    CANDIDATE(5, ROW_BOOL, deterministic),
    CANDIDATE(6, ROW_U32, rounds),
    CANDIDATE(7, ROW_REAL, time_ns),
    CANDIDATE(8, ROW_REAL, ratio_recorded),
    CANDIDATE(9, ROW_REAL, recorded_lo),
    CANDIDATE(10, ROW_REAL, recorded_hi),
    CANDIDATE(11, ROW_REAL, ratio_best),
    CANDIDATE(12, ROW_REAL, best_lo),
    CANDIDATE(13, ROW_REAL, best_hi),
    CANDIDATE(14, ROW_REAL, worst_error),
    { 0, ROW_TEXT, 0 },
};

const struct resultrow_field resultrow_case[] = {
    CASE(1, ROW_SIGNATURE, signature),
    CASE(2, ROW_TEXT, entry),
    CASE(3, ROW_U64, calls),
    CASE(4, ROW_U64, time_ns),
    CASE(5, ROW_REAL, time_share),
    CASE(6, ROW_BYTE, status),
    CASE(7, ROW_TEXT, reason),
    CASE(8, ROW_REAL, baseline_recorded_ns),
    CASE(9, ROW_REAL, baseline_best_ns),
    CASE(10, ROW_TEXT, baseline_best),
    CASE(11, ROW_CANDIDATES, candidates),
    CASE(12, ROW_REAL, clock_mhz),
    CASE(13, ROW_REAL, slowed_share),
    CASE(14, ROW_REAL, gpu_time_ns),
    CASE(15, ROW_REAL, kernel_ns),
    CASE(16, ROW_TEXT, kernels),
    CASE(17, ROW_REAL, recorded_ns),
    CASE(18, ROW_REAL, noise),
    CASE(19, ROW_TEXT, second),
    CASE(20, ROW_TEXT, second_reason),
    CASE(21, ROW_REAL, second_ns),
    CASE(22, ROW_REAL, second_ratio),
    CASE(23, ROW_REAL, second_lo),
    CASE(24, ROW_REAL, second_hi),
    { 0, ROW_TEXT, 0 },
};

const struct resultrow_field resultrow_order[] = {
    ORDER(1, ROW_TEXT, source),
    ORDER(2, ROW_TEXT, reason),
    ORDER(3, ROW_BYTE, status),
    ORDER(4, ROW_BOOL, in_graph),
    ORDER(5, ROW_BOOL, is_kernel_time),
    ORDER(6, ROW_U64, calls),
    ORDER(7, ROW_U64, fillers),
    ORDER(8, ROW_U64, repeats),
    ORDER(9, ROW_REAL, recorded_ns),
    ORDER(10, ROW_REAL, filler_ns),
    ORDER(11, ROW_REAL, kernel_ns),
    ORDER(12, ROW_REAL, baseline_ns),
    ORDER(13, ROW_REAL, chosen_ns),
    ORDER(14, ROW_REAL, ratio),
    ORDER(15, ROW_REAL, ratio_lo),
    ORDER(16, ROW_REAL, ratio_hi),
    ORDER(17, ROW_REAL, noise),
    ORDER(18, ROW_U32, rounds),
    ORDER(19, ROW_U32, nparts),
    ORDER(20, ROW_REAL, time_share),
    ORDER(21, ROW_TEXT, traffic), /* not in older files */
    { 0, ROW_TEXT, 0 },
};

const struct resultrow_field resultrow_order_part[] = {
    PART(1, ROW_SIGNATURE, signature),
    PART(2, ROW_TEXT, entry),
    PART(3, ROW_U64, calls),
    PART(4, ROW_REAL, recorded_ns),
    PART(5, ROW_REAL, kernel_ns),
    PART(6, ROW_BOOL, chosen),
    { 0, ROW_TEXT, 0 },
};
#undef ORDER
#undef PART

const struct resultrow_field resultrow_verdict[] = {
    VERDICT(1, ROW_BYTE, op),
    VERDICT(2, ROW_BYTE, dtype),
    VERDICT(3, ROW_TEXT, verdict),
    VERDICT(4, ROW_TEXT, stability),
    VERDICT(5, ROW_TEXT, reason),
    VERDICT(6, ROW_REAL, heat),
    VERDICT(7, ROW_REAL, heat_lo),
    VERDICT(8, ROW_REAL, heat_hi),
    VERDICT(9, ROW_REAL, gain_lo),
    VERDICT(10, ROW_REAL, gain_hi),
    { 0, ROW_TEXT, 0 },
};
#undef RUN
#undef CEILING
#undef CANDIDATE
#undef CASE
#undef VERDICT

static enum status put_bytes(struct buffer *out, uint32_t number, const void *bytes, size_t count)
{
    if (!buffer_reserve(out, 2 * VARINT_BYTES_MAX + count))
        return ST_NOMEM;
    buffer_put_varint(out, number * 4 + WIRE_BYTES);
    buffer_put_varint(out, count);
    buffer_put(out, bytes, count);
    return ST_OK;
}

static enum status put_varint(struct buffer *out, uint32_t number, uint64_t value)
{
    if (!buffer_reserve(out, 2 * VARINT_BYTES_MAX))
        return ST_NOMEM;
    buffer_put_varint(out, number * 4 + WIRE_VARINT);
    buffer_put_varint(out, value);
    return ST_OK;
}

static enum status put_real(struct buffer *out, uint32_t number, double value)
{
    uint8_t bytes[8];
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    cursor_store(bytes, bits, sizeof bytes);
    if (!buffer_reserve(out, VARINT_BYTES_MAX + sizeof bytes))
        return ST_NOMEM;
    buffer_put_varint(out, number * 4 + WIRE_REAL);
    buffer_put(out, bytes, sizeof bytes);
    return ST_OK;
}

static enum status put_text(struct buffer *out, uint32_t number, const char *text)
{
    size_t count = text ? strlen(text) : 0;
    return put_bytes(out, number, text,
                     count < TRACE_STRING_BYTES_MAX ? count : TRACE_STRING_BYTES_MAX);
}

static enum status put_signature(struct buffer *out, uint32_t number,
                                 const struct tilewise_signature *s)
{
    static const struct tilewise_signature zeros;
    struct tilewise_signature plain = *s;
    plain.entry = 0; /* a string id of another file means nothing here */
    struct buffer code = { 0 };
    if (!buffer_reserve(&code, SIGCODE_BYTES_MAX))
        return ST_NOMEM;
    sigcode_put(&code, &zeros, &plain);
    enum status st = put_bytes(out, number, code.bytes, code.size);
    buffer_free(&code);
    return st;
}

static enum status put_candidates(struct buffer *out, uint32_t number,
                                  const struct result_case *row)
{
    struct buffer nested = { 0 };
    enum status st = ST_OK;
    for (size_t i = 0; st == ST_OK && i < row->ncandidates; i++) {
        nested.size = 0;
        st = resultrow_put(&nested, resultrow_candidate, &row->candidates[i]);
        if (st == ST_OK)
            st = put_bytes(out, number, nested.bytes, nested.size);
    }
    buffer_free(&nested);
    return st;
}

static enum status put_field(struct buffer *out, const struct resultrow_field *f, const void *row)
{
    const char *at = (const char *)row + f->offset;
    switch (f->type) {
    case ROW_TEXT:
        return put_text(out, f->number, *(char *const *)at);
    case ROW_BYTE:
        return put_varint(out, f->number, *(const uint8_t *)at);
    case ROW_BOOL:
        return put_varint(out, f->number, *(const bool *)at);
    case ROW_U32:
        return put_varint(out, f->number, *(const uint32_t *)at);
    case ROW_U64:
        return put_varint(out, f->number, *(const uint64_t *)at);
    case ROW_REAL:
        return put_real(out, f->number, *(const double *)at);
    case ROW_SIGNATURE:
        return put_signature(out, f->number, (const struct tilewise_signature *)at);
    default:
        return put_candidates(out, f->number, row);
    }
}

enum status resultrow_put(struct buffer *out, const struct resultrow_field *fields, const void *row)
{
    enum status st = ST_OK;
    for (const struct resultrow_field *f = fields; st == ST_OK && f->number; f++)
        st = put_field(out, f, row);
    return st;
}

enum status resultrow_set_unknown(const struct resultrow_field *fields, void *row)
{
    enum status st = ST_OK;
    for (const struct resultrow_field *f = fields; f->number; f++) {
        char *at = (char *)row + f->offset;
        if (f->type == ROW_REAL)
            *(double *)at = NAN;
        else if (f->type == ROW_TEXT && !(*(char **)at = strdup("")))
            st = ST_NOMEM;
    }
    return st;
}

static enum status get_text(char **text, const uint8_t *bytes, size_t count)
{
    char *copy = malloc(count + 1);
    if (!copy)
        return ST_NOMEM;
    memcpy(copy, bytes, count);
    copy[count] = '\0';
    free(*text);
    *text = copy;
    return ST_OK;
}

static enum status get_candidate(struct cursor *in, struct result_case *row)
{
    if (row->ncandidates >= CANDIDATES_MAX)
        return ST_FORMAT;
    void *grown = realloc(row->candidates, (row->ncandidates + 1) * sizeof *row->candidates);
    if (!grown)
        return ST_NOMEM;
    row->candidates = grown;
    struct result_candidate *new = &row->candidates[row->ncandidates];
    memset(new, 0, sizeof *new);
    enum status st = resultrow_set_unknown(resultrow_candidate, new);
    row->ncandidates++;
    return st == ST_OK ? resultrow_get(in, resultrow_candidate, new) : st;
}

static enum status get_bytes_field(const struct resultrow_field *f, const uint8_t *bytes,
                                   size_t count, void *row)
{
    char *at = (char *)row + f->offset;
    struct cursor in = { bytes, bytes + count, false };
    switch (f->type) {
    case ROW_TEXT:
        return get_text((char **)at, bytes, count);
    case ROW_SIGNATURE:
        sigcode_get(&in, (struct tilewise_signature *)at);
        return in.bad || in.at != in.end ? ST_FORMAT : ST_OK;
    case ROW_CANDIDATES:
        return get_candidate(&in, row);
    default:
        return ST_FORMAT;
    }
}

static enum status get_varint_field(const struct resultrow_field *f, uint64_t value, void *row)
{
    char *at = (char *)row + f->offset;
    switch (f->type) {
    case ROW_BYTE:
        *(uint8_t *)at = (uint8_t)value;
        return value <= UINT8_MAX ? ST_OK : ST_FORMAT;
    case ROW_BOOL:
        *(bool *)at = value != 0;
        return ST_OK;
    case ROW_U32:
        *(uint32_t *)at = (uint32_t)value;
        return value <= UINT32_MAX ? ST_OK : ST_FORMAT;
    case ROW_U64:
        *(uint64_t *)at = value;
        return ST_OK;
    default:
        return ST_FORMAT;
    }
}

static const struct resultrow_field *find_field(const struct resultrow_field *fields,
                                                uint64_t number)
{
    for (const struct resultrow_field *f = fields; f->number; f++)
        if (f->number == number)
            return f;
    return NULL;
}

static enum status get_field(struct cursor *in, const struct resultrow_field *fields, void *row)
{
    uint64_t tag = cursor_varint(in);
    const struct resultrow_field *f = find_field(fields, tag / 4);
    if (tag % 4 == WIRE_VARINT) {
        uint64_t value = cursor_varint(in);
        return in->bad ? ST_FORMAT : f ? get_varint_field(f, value, row) : ST_OK;
    }
    uint64_t count = tag % 4 == WIRE_BYTES ? cursor_varint(in) : 8;
    const uint8_t *bytes = cursor_bytes(in, count);
    if (!bytes || tag % 4 > WIRE_BYTES)
        return ST_FORMAT;
    if (!f)
        return ST_OK;
    if (tag % 4 == WIRE_BYTES)
        return get_bytes_field(f, bytes, count, row);
    uint64_t bits = cursor_load(bytes, 8);
    if (f->type != ROW_REAL)
        return ST_FORMAT;
    memcpy((char *)row + f->offset, &bits, sizeof bits);
    return ST_OK;
}

enum status resultrow_get(struct cursor *in, const struct resultrow_field *fields, void *row)
{
    enum status st = ST_OK;
    while (st == ST_OK && in->at < in->end)
        st = get_field(in, fields, row);
    return st;
}

void resultrow_free(const struct resultrow_field *fields, void *row)
{
    for (const struct resultrow_field *f = fields; f->number; f++)
        if (f->type == ROW_TEXT)
            free(*(char **)((char *)row + f->offset));
}
