/* SPDX-License-Identifier: Apache-2.0
 *
 * One value of a schema, from its text.
 */
#include "traces/schema.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "traces/scalar.h"
#include "traces/suggest.h"

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

const char *schema_type_name(enum schema_type type)
{
    static const char *const words[] = {
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
    return words[type];
}

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
                         schema_type_name(field->type));
    return fault_set(fault, ST_INVALID, "expects %s, not '%s'", schema_type_name(field->type),
                     text);
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
                         schema_type_name(field->type), field->min, field->max, text);
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
                         schema_type_name(field->type), field->min, field->max, text);
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
