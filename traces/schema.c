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

#include "traces/suggest.h"

enum { DEPTH_MAX = 16, FIELDS_MAX = 64, BYTES_PER_BRACKET = 16 };

/* The walk over libyaml's events. */
struct walk {
    yaml_parser_t parser;
    yaml_event_t event; /* the one that is being looked at; always deletable */
    const char *name, *text;
    size_t bytes;
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

/* What is no text at all has an offset in bytes, not a mark. */
static yaml_mark_t place_of_problem(const struct walk *w)
{
    yaml_mark_t mark = { 0, 0, 0 };
    if (w->parser.error != YAML_READER_ERROR)
        return w->parser.problem_mark;
    for (size_t i = 0; i < w->parser.problem_offset && i < w->bytes; i++) {
        bool ends = w->text[i] == '\n', goes_on = ((unsigned char)w->text[i] & 0xc0) == 0x80;
        mark.line += ends;
        mark.column = ends ? 0 : mark.column + !goes_on;
    }
    return mark;
}

/* Step to the next event; refuses what no file of ours needs. */
static enum status step(struct walk *w)
{
    yaml_event_delete(&w->event);
    if (!yaml_parser_parse(&w->parser, &w->event)) {
        if (w->parser.error == YAML_MEMORY_ERROR)
            return fault_set(w->fault, ST_NOMEM, "%s: out of memory", w->name);
        return complain_at(w, place_of_problem(w),
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
    return complain(w, "%s expects %s, not %s", field->name, schema_type_name(field->type),
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
                        schema_type_name(field->type));
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
    struct walk w = { .name = name, .text = text, .bytes = bytes, .fault = fault };
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
