/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads a YAML file into plain C variables by a table of fields. The file may say less than the
 * table (what it leaves out keeps its value) but never more: an unknown key, a value of the wrong
 * type or out of range, and a key given twice are errors that name FILE:LINE:COLUMN. Only maps and
 * plain values exist; lists, anchors, aliases and tags are refused, and so is anything deeper than
 * 16 levels, longer than 64 KiB or with more than 4,096 brackets. One thread.
 */
#ifndef TILEWISE_TRACES_SCHEMA_H
#define TILEWISE_TRACES_SCHEMA_H

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
    SCHEMA_MAP,     /* `fields` stand one level deeper */
};

struct schema_field {
    const char *name; /* a table ends with a NULL name */
    enum schema_type type;
    void *value;
    double min, max;     /* of a number, both inclusive; both 0 = any */
    const char *choices; /* "text|json|csv" */
    const struct schema_field *fields;
};

/* IO, INVALID (text starts with FILE:LINE:COLUMN: ), LIMIT, NOMEM. Fields before the fault have
 * been set. */
enum status schema_read_file(const struct schema_field *fields, const char *path,
                             struct fault *fault);
/* The same from memory; `name` stands for the file in messages. */
enum status schema_read_text(const struct schema_field *fields, const char *name, const char *text,
                             size_t bytes, struct fault *fault);

/* Set one field (not a map) from a flag's or variable's text. INVALID: the fault holds only what is
 * wrong, for the caller to put the place before it: "expects a number from 0 to 1, not 'high'". */
enum status schema_set(const struct schema_field *field, const char *text, struct fault *fault);

#endif
