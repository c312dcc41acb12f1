/* SPDX-License-Identifier: Apache-2.0 */
#include "traces/schema.h"

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

#include "traces/scalar.h"
#include "traces/suggest.h"

enum { DEPTH_MAX = 16, FIELDS_MAX = 64, BYTES_PER_BRACKET = 16 };

/* Texts of a file outlive the parser and are never freed: this list keeps them in sight of leak
 * checkers. */
static struct kept {
    struct kept *next;
    char text[];
} * all_kept;

static const char *keep(const char *text)
{
    size_t bytes = strlen(text) + 1;
    struct kept *k = malloc(sizeof *k + bytes);
    if (!k)
        return NULL;
    memcpy(k->text, text, bytes);
    k->next = all_kept;
    all_kept = k;
    return k->text;
}

static const char *const type_words[] = {
    [SCHEMA_FLAG] = "true or false",
    [SCHEMA_TEXT] = "a text",
    [SCHEMA_COUNT] = "a whole number",
    [SCHEMA_BYTES] = "a size like 512M",
    [SCHEMA_SECONDS] = "a time like 1.5s",
    [SCHEMA_REAL] = "a number",
    [SCHEMA_CHOICE] = "one of the choices",
    [SCHEMA_WORD] = "one of the choices",
    [SCHEMA_OWN] = "a text",
    [SCHEMA_MAP] = "a map",
    [SCHEMA_LIST] = "a list",
    [SCHEMA_ANY] = "anything",
};

/* The place of `text` in "a|b|c"; -1: it is none of them, and the nearest stands in `near`. */
static int64_t find_choice(const char *choices, const char *text, char near[64])
{
    const char *best = NULL;
    int64_t place = 0;
    for (const char *p = choices; *p; place++) {
        size_t length = strcspn(p, "|");
        char word[64];
        snprintf(word, sizeof word, "%.*s", (int)length, p);
        if (strcmp(word, text) == 0)
            return place;
        const char *before = best;
        suggest_offer(text, word, &best);
        if (best != before)
            best = strcpy(near, word);
        p += length + (p[length] == '|');
    }
    return -1;
}

static enum status set_text(const struct schema_field *field, const char *text, struct fault *fault)
{
    const char *kept = keep(text);
    if (!kept)
        return fault_set(fault, ST_NOMEM, "out of memory");
    *(const char **)field->value = kept;
    return ST_OK;
}

static enum status set_choice(const struct schema_field *field, const char *text,
                              struct fault *fault)
{
    char near[64] = "";
    int64_t place = find_choice(field->choices, text, near);
    if (place < 0)
        return fault_set(fault, ST_INVALID, "expects one of %s, not '%s'%s%s%s", field->choices,
                         text, near[0] ? " (did you mean '" : "", near, near[0] ? "'?)" : "");
    if (field->type == SCHEMA_CHOICE)
        return set_text(field, text, fault);
    *(uint64_t *)field->value = (uint64_t)place;
    return ST_OK;
}

static enum status wrong_type(const struct schema_field *field, const char *text,
                              struct fault *fault)
{
    if (!*text)
        return fault_set(fault, ST_INVALID, "expects %s, and has no value",
                         type_words[field->type]);
    return fault_set(fault, ST_INVALID, "expects %s, not '%s'", type_words[field->type], text);
}

static bool in_range(const struct schema_field *field, double value)
{
    return (field->min == 0 && field->max == 0) || (value >= field->min && value <= field->max);
}

static enum status set_whole(const struct schema_field *field, const char *text,
                             struct fault *fault)
{
    uint64_t value;
    bool good =
        field->type == SCHEMA_COUNT ? scalar_count(text, &value) : scalar_bytes(text, &value);
    if (!good)
        return wrong_type(field, text, fault);
    if (!in_range(field, (double)value))
        return fault_set(fault, ST_INVALID, "expects %s from %.0f to %.0f, not '%s'",
                         type_words[field->type], field->min, field->max, text);
    *(uint64_t *)field->value = value;
    return ST_OK;
}

static enum status set_real(const struct schema_field *field, const char *text, struct fault *fault)
{
    double value;
    bool good =
        field->type == SCHEMA_REAL ? scalar_real(text, &value) : scalar_seconds(text, &value);
    if (!good)
        return wrong_type(field, text, fault);
    if (!in_range(field, value))
        return fault_set(fault, ST_INVALID, "expects %s from %g to %g, not '%s'",
                         type_words[field->type], field->min, field->max, text);
    *(double *)field->value = value;
    return ST_OK;
}

enum status schema_set(const struct schema_field *field, const char *text, struct fault *fault)
{
    switch (field->type) {
    case SCHEMA_FLAG:
        return scalar_flag(text, field->value) ? ST_OK : wrong_type(field, text, fault);
    case SCHEMA_TEXT:
        return set_text(field, text, fault);
    case SCHEMA_CHOICE:
    case SCHEMA_WORD:
        return set_choice(field, text, fault);
    case SCHEMA_COUNT:
    case SCHEMA_BYTES:
        return set_whole(field, text, fault);
    case SCHEMA_SECONDS:
    case SCHEMA_REAL:
        return set_real(field, text, fault);
    case SCHEMA_ANY:
        return ST_OK;
    case SCHEMA_OWN:
    case SCHEMA_MAP:
    case SCHEMA_LIST:
        break;
    }
    return wrong_type(field, text, fault);
}

/* The walk over libyaml's events. */
struct walk {
    yaml_parser_t parser;
    yaml_event_t event; /* the one that is being looked at; always deletable */
    const char *name;
    struct fault *fault;
};

static enum status complain_at(struct walk *w, yaml_mark_t mark, const char *text)
{
    return fault_set(w->fault, ST_INVALID, "%s:%zu:%zu: %s", w->name, mark.line + 1,
                     mark.column + 1, text);
}

static enum status complain(struct walk *w, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static enum status complain(struct walk *w, const char *format, ...)
{
    char text[400];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    return complain_at(w, w->event.start_mark, text);
}

/* Step to the next event; refuses what no file of ours needs. */
static enum status step(struct walk *w)
{
    yaml_event_delete(&w->event);
    if (!yaml_parser_parse(&w->parser, &w->event)) {
        if (w->parser.error == YAML_MEMORY_ERROR)
            return fault_set(w->fault, ST_NOMEM, "%s: out of memory", w->name);
        return complain_at(w, w->parser.problem_mark,
                           w->parser.problem ? w->parser.problem : "not YAML");
    }
    const yaml_event_t *e = &w->event;
    if (e->type == YAML_ALIAS_EVENT)
        return complain(w, "aliases are not supported: write the value out");
    bool map = e->type == YAML_MAPPING_START_EVENT, list = e->type == YAML_SEQUENCE_START_EVENT,
         scalar = e->type == YAML_SCALAR_EVENT;
    if ((map && e->data.mapping_start.anchor) || (list && e->data.sequence_start.anchor) ||
        (scalar && e->data.scalar.anchor))
        return complain(w, "anchors are not supported: write the value out");
    if ((map && e->data.mapping_start.tag) || (list && e->data.sequence_start.tag) ||
        (scalar && e->data.scalar.tag))
        return complain(w, "tags are not supported: remove it");
    return ST_OK;
}

static const char *scalar_of(const struct walk *w)
{
    return (const char *)w->event.data.scalar.value;
}

static enum status unknown_key(struct walk *w, const struct schema_field *fields, const char *key)
{
    const char *near = NULL;
    for (const struct schema_field *f = fields; f->name; f++)
        suggest_offer(key, f->name, &near);
    if (near)
        return complain(w, "unknown key '%s' (did you mean '%s'?)", key, near);
    char known[256] = "";
    for (const struct schema_field *f = fields; f->name; f++) {
        size_t used = strlen(known);
        snprintf(known + used, sizeof known - used, "%s%s", used ? ", " : "", f->name);
    }
    return complain(w, "unknown key '%s'; known here: %s", key, known);
}

/* The event is the key of a field; find it and mark it as given. */
static enum status find_field(struct walk *w, const struct schema_field *fields, bool *given,
                              const struct schema_field **out)
{
    if (w->event.type != YAML_SCALAR_EVENT)
        return complain(w, "a key must be a plain name");
    const char *key = scalar_of(w);
    if (strlen(key) != w->event.data.scalar.length)
        return complain(w, "a key must be a plain name");
    for (size_t i = 0; fields[i].name; i++) {
        if (i == FIELDS_MAX)
            return complain(w, "the table has more than %d keys", FIELDS_MAX);
        if (strcmp(fields[i].name, key) != 0)
            continue;
        if (given[i])
            return complain(w, "key '%s' is given twice", key);
        given[i] = true;
        *out = &fields[i];
        return ST_OK;
    }
    return unknown_key(w, fields, key);
}

static enum status wrong_kind(struct walk *w, const struct schema_field *field)
{
    static const char *const kinds[] = {
        [YAML_SCALAR_EVENT] = "a value",
        [YAML_MAPPING_START_EVENT] = "a map",
        [YAML_SEQUENCE_START_EVENT] = "a list",
    };
    return complain(w, "%s expects %s, not %s", field->name, type_words[field->type],
                    kinds[w->event.type]);
}

/* A byte of a value is exact on one line without escapes; else the place is where it begins. */
static enum status read_own(struct walk *w, const struct schema_field *field)
{
    struct fault fault = { .text = "" };
    yaml_mark_t mark = w->event.start_mark;
    size_t at = 0;
    enum status st = field->parse(field->value, scalar_of(w), &at, &fault);
    if (st != ST_INVALID)
        return st == ST_OK ? st : fault_set(w->fault, st, "%s: %s", w->name, fault.text);
    if (w->event.end_mark.line == mark.line)
        mark.column += at + (w->event.data.scalar.style != YAML_PLAIN_SCALAR_STYLE);
    return fault_set(w->fault, st, "%s:%zu:%zu: %s %s", w->name, mark.line + 1, mark.column + 1,
                     field->name, fault.text);
}

static enum status read_value(struct walk *w, const struct schema_field *field)
{
    if (w->event.type != YAML_SCALAR_EVENT)
        return wrong_kind(w, field);
    const char *text = scalar_of(w);
    bool quoted = w->event.data.scalar.style != YAML_PLAIN_SCALAR_STYLE;
    bool wants_text =
        field->type == SCHEMA_TEXT || field->type == SCHEMA_CHOICE || field->type == SCHEMA_WORD;
    if (strlen(text) != w->event.data.scalar.length)
        return complain(w, "%s holds a zero byte", field->name);
    if (field->type == SCHEMA_OWN)
        return read_own(w, field);
    if (quoted && !wants_text)
        return complain(w, "%s expects %s, not a quoted text", field->name,
                        type_words[field->type]);
    struct fault fault;
    enum status st = schema_set(field, text, &fault);
    if (st == ST_INVALID)
        return complain(w, "%s %s", field->name, fault.text);
    return st == ST_OK ? ST_OK : fault_set(w->fault, st, "%s: %s", w->name, fault.text);
}

static bool opens(const struct walk *w)
{
    return w->event.type == YAML_MAPPING_START_EVENT || w->event.type == YAML_SEQUENCE_START_EVENT;
}

static bool closes(const struct walk *w)
{
    return w->event.type == YAML_MAPPING_END_EVENT || w->event.type == YAML_SEQUENCE_END_EVENT;
}

/* Whatever it is: returns with its end as the event. */
static enum status pass_over(struct walk *w, unsigned depth)
{
    unsigned open = depth - 1; /* a map or a list here would be the one at `depth` */
    for (;;) {
        open += opens(w);
        open -= closes(w);
        if (open > DEPTH_MAX)
            return complain(w, "more than %d levels deep", DEPTH_MAX);
        if (open == depth - 1)
            return ST_OK;
        enum status st = step(w);
        if (st != ST_OK)
            return st;
    }
}

static enum status read_field(struct walk *w, const struct schema_field *field, unsigned depth);

static enum status find_missing(struct walk *w, const struct schema_field *fields,
                                const bool *given, yaml_mark_t begin)
{
    char text[120];
    for (size_t i = 0; fields[i].name; i++) {
        if (!fields[i].required || given[i])
            continue;
        snprintf(text, sizeof text, "key '%.80s' is missing", fields[i].name);
        return complain_at(w, begin, text);
    }
    return ST_OK;
}

/* The event is the start of a map; returns with its end as the event. */
static enum status read_map(struct walk *w, const struct schema_field *fields, unsigned depth)
{
    bool given[FIELDS_MAX] = { false };
    yaml_mark_t begin = w->event.start_mark;
    if (depth > DEPTH_MAX)
        return complain(w, "more than %d levels deep", DEPTH_MAX);
    for (;;) {
        enum status st = step(w);
        if (st != ST_OK)
            return st;
        if (w->event.type == YAML_MAPPING_END_EVENT)
            return find_missing(w, fields, given, begin);
        const struct schema_field *field = NULL;
        if ((st = find_field(w, fields, given, &field)) != ST_OK || (st = step(w)) != ST_OK ||
            (st = read_field(w, field, depth + 1)) != ST_OK)
            return st;
    }
}

/* The event is the start of an item. */
static enum status read_item(struct walk *w, const struct schema_field *list, unsigned depth)
{
    yaml_mark_t begin = w->event.start_mark;
    struct schema_field value = list->fields[0];
    bool is_value = value.name && value.name[0] == '\0';
    value.name = list->name; /* what a message calls it */
    enum status st;
    if (is_value)
        st = read_field(w, &value, depth);
    else if (w->event.type != YAML_MAPPING_START_EVENT)
        st = complain(w, "%s expects a list of maps", list->name);
    else
        st = read_map(w, list->fields, depth);
    struct fault fault;
    if (st != ST_OK || (st = list->take(list->context, &fault)) == ST_OK)
        return st;
    if (st == ST_INVALID)
        return complain_at(w, begin, fault.text);
    return fault_set(w->fault, st, "%s: %s", w->name, fault.text);
}

/* The event is the start of a list; returns with its end as the event. */
static enum status read_list(struct walk *w, const struct schema_field *list, unsigned depth)
{
    if (depth > DEPTH_MAX)
        return complain(w, "more than %d levels deep", DEPTH_MAX);
    for (;;) {
        enum status st = step(w);
        if (st != ST_OK || w->event.type == YAML_SEQUENCE_END_EVENT)
            return st;
        if ((st = read_item(w, list, depth + 1)) != ST_OK)
            return st;
    }
}

/* The event is the start of what belongs to the field. */
static enum status read_field(struct walk *w, const struct schema_field *field, unsigned depth)
{
    switch (field->type) {
    case SCHEMA_ANY:
        return pass_over(w, depth);
    case SCHEMA_MAP:
        if (w->event.type != YAML_MAPPING_START_EVENT)
            return complain(w, "%s expects a map", field->name);
        return read_map(w, field->fields, depth);
    case SCHEMA_LIST:
        if (w->event.type != YAML_SEQUENCE_START_EVENT)
            return wrong_kind(w, field);
        return read_list(w, field, depth);
    default:
        return read_value(w, field);
    }
}

/* Stream start, at most one document that is a map (or nothing at all), stream end. */
static enum status read_stream(struct walk *w, const struct schema_field *fields)
{
    static const bool nothing_given[FIELDS_MAX];
    enum status st;
    if ((st = step(w)) != ST_OK || (st = step(w)) != ST_OK)
        return st;
    yaml_mark_t begin = w->event.start_mark;
    if (w->event.type == YAML_STREAM_END_EVENT)
        return find_missing(w, fields, nothing_given, begin);
    if ((st = step(w)) != ST_OK)
        return st;
    bool nothing = w->event.type == YAML_SCALAR_EVENT && !*scalar_of(w);
    if (w->event.type == YAML_MAPPING_START_EVENT)
        st = read_map(w, fields, 1);
    else if (nothing)
        st = find_missing(w, fields, nothing_given, begin);
    else
        st = complain(w, "expected a map of keys and values");
    if (st != ST_OK || (st = step(w)) != ST_OK || (st = step(w)) != ST_OK)
        return st;
    if (w->event.type != YAML_STREAM_END_EVENT)
        return complain(w, "only one document is expected");
    return ST_OK;
}

/* libyaml's scanner takes quadratic time on deeply nested brackets. */
static size_t count_brackets(const char *text, size_t bytes)
{
    size_t brackets = 0;
    for (size_t i = 0; i < bytes; i++)
        brackets += text[i] == '[' || text[i] == '{';
    return brackets;
}

enum status schema_read_text(const struct schema_field *fields, const char *name, const char *text,
                             size_t bytes, size_t bytes_max, struct fault *fault)
{
    size_t brackets_max = bytes_max / BYTES_PER_BRACKET;
    if (bytes > bytes_max)
        return fault_set(fault, ST_LIMIT, "%s: longer than %zu KiB", name, bytes_max >> 10);
    if (count_brackets(text, bytes) > brackets_max)
        return fault_set(fault, ST_LIMIT, "%s: more than %zu brackets", name, brackets_max);
    struct walk w = { .name = name, .fault = fault };
    if (!yaml_parser_initialize(&w.parser))
        return fault_set(fault, ST_NOMEM, "%s: out of memory", name);
    yaml_parser_set_input_string(&w.parser, (const unsigned char *)text, bytes);
    enum status st = read_stream(&w, fields);
    yaml_event_delete(&w.event);
    yaml_parser_delete(&w.parser);
    return st;
}

enum status schema_read_file(const struct schema_field *fields, const char *path, size_t bytes_max,
                             struct fault *fault)
{
    FILE *file = fopen(path, "re");
    if (!file)
        return fault_set(fault, ST_IO, "%s: %s", path, strerror(errno));
    enum status st;
    char *text = malloc(bytes_max + 1);
    size_t bytes = text ? fread(text, 1, bytes_max + 1, file) : 0;
    if (!text)
        st = fault_set(fault, ST_NOMEM, "%s: out of memory", path);
    else if (ferror(file))
        st = fault_set(fault, ST_IO, "%s: %s", path, strerror(errno));
    else
        st = schema_read_text(fields, path, text, bytes, bytes_max, fault);
    free(text);
    fclose(file);
    return st;
}
