/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads a YAML file into plain C variables by a table of fields. The file may say less than the
 * table (what it leaves out keeps its value, unless it is required) but never more: an unknown key,
 * a value of the wrong type or out of range, and a key given twice are errors that name
 * FILE:LINE:COLUMN. Maps, lists and plain values exist; anchors, aliases and tags are refused, and
 * so is anything deeper than 16 levels, longer than a limit, or with more brackets than one in 16
 * bytes of that limit. One thread at a time for one table; nothing is printed.
 */
#ifndef TILEWISE_TRACES_SCHEMA_H
#define TILEWISE_TRACES_SCHEMA_H

#include <stdbool.h>
#include <stddef.h>

#include "traces/status.h"

enum schema_type {
    SCHEMA_FLAG,    /* bool *: true, false, yes, no, on, off */
    SCHEMA_TEXT,    /* const char **: kept as long as the process lives */
    SCHEMA_COUNT,   /* uint64_t *: 1000, 64k */
    SCHEMA_BYTES,   /* uint64_t *: 512M, 2G */
    SCHEMA_SECONDS, /* double *: 60, 60s, 1.5m, 200ms */
    SCHEMA_REAL,    /* double * */
    SCHEMA_CHOICE,  /* const char **: one of `choices`; kept like a text */
    SCHEMA_WORD,    /* uint64_t *: the place of the word in `choices`, from 0 */
    SCHEMA_OWN,     /* what `parse` makes of the text, quoted or not */
    SCHEMA_MAP,     /* `fields` stand one level deeper */
    SCHEMA_LIST,    /* of maps with these `fields`; or of values, where their only name is "" */
    SCHEMA_ANY,     /* no variable: whatever stands there is passed over */
};

/* What a value of this type looks like, for a message: "a number". */
const char *schema_type_name(enum schema_type type);

/* An item of a list has been read into the variables of `fields`: take it, and set them to what the
 * next item is to find. INVALID: the fault holds only what is wrong; the reader puts the place of
 * the item before it. */
typedef enum status schema_take(void *context, struct fault *fault);

/* INVALID: the fault holds only what is wrong, and *at is the byte of the text where. */
typedef enum status schema_parse(void *value, const char *text, size_t *at, struct fault *fault);

struct schema_field {
    const char *name; /* a table ends with a NULL name */
    enum schema_type type;
    void *value;
    double min, max;     /* of a number, both inclusive; both 0 = any */
    const char *choices; /* "text|json|csv" */
    const struct schema_field *fields;
    bool required;
    schema_parse *parse; /* of an own value */
    schema_take *take;   /* of a list; with this context */
    void *context;
};

enum { SCHEMA_BYTES_MAX = 64 << 10 }; /* of a file that people write */

/* IO, INVALID (text starts with FILE:LINE:COLUMN: ), LIMIT, NOMEM. Fields before the fault have
 * been set. */
enum status schema_read_file(const struct schema_field *fields, const char *path, size_t bytes_max,
                             struct fault *fault);
/* The same from memory; `name` stands for the file in messages. */
enum status schema_read_text(const struct schema_field *fields, const char *name, const char *text,
                             size_t bytes, size_t bytes_max, struct fault *fault);

/* Set one value (not an own one) from a flag's or variable's text. INVALID: the fault holds only
 * what is wrong, for the caller to put the place before it: "expects a number from 0 to 1, not
 * 'high'". */
enum status schema_set(const struct schema_field *field, const char *text, struct fault *fault);

#endif
