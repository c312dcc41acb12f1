/* SPDX-License-Identifier: Apache-2.0
 *
 * A view of JSON text that a library wrote: walks over members and elements, allocates nothing,
 * keeps nothing, never recurses. What is malformed ends a walk. Any thread.
 */
#ifndef TILEWISE_TRACER_JSON_H
#define TILEWISE_TRACER_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* One value as written. A string without its quotes and with its escapes. */
struct json {
    const char *at, *end;
};

struct json_walk {
    const char *at, *end;
};

/* Over the members of an object or the elements of an array; over nothing if `value` is neither. */
struct json_walk json_open(struct json value);
bool json_member(struct json_walk *walk, struct json *name, struct json *value);
bool json_element(struct json_walk *walk, struct json *value);

bool json_is(struct json value, const char *text);
bool json_same(struct json a, struct json b);
/* The first member of that name; false if there is none. */
bool json_find(struct json object, const char *name, struct json *value);
/* A whole number; false for anything else. */
bool json_integer(struct json value, int64_t *out);
/* An array of whole numbers: how many, -1 for anything else and for more than `most`. */
int json_integers(struct json value, int64_t *out, int most);

#endif
