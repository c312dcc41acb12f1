/* SPDX-License-Identifier: Apache-2.0 */
#include "tracer/json.h"

#include <string.h>

static const char *skip_space(const char *at, const char *end)
{
    while (at < end && (*at == ' ' || *at == '\t' || *at == '\n' || *at == '\r'))
        at++;
    return at;
}

/* `at` is behind the opening quote: the closing one, or NULL. */
static const char *string_end(const char *at, const char *end)
{
    for (; at < end && *at != '"'; at++)
        if (*at == '\\')
            at++;
    return at < end ? at : NULL;
}

/* Behind the bracket that closes the one at `at`, or NULL. */
static const char *nest_end(const char *at, const char *end)
{
    size_t depth = 0;
    for (; at < end; at++) {
        if (*at == '"' && !(at = string_end(at + 1, end)))
            return NULL;
        if (*at == '{' || *at == '[')
            depth++;
        else if ((*at == '}' || *at == ']') && --depth == 0)
            return at + 1;
    }
    return NULL;
}

static const char *word_end(const char *at, const char *end)
{
    while (at < end && !strchr(" \t\r\n,:{}[]\"", *at))
        at++;
    return at;
}

/* Takes one value off the walk. */
static bool take(struct json_walk *w, struct json *value)
{
    w->at = skip_space(w->at, w->end);
    if (w->at == w->end)
        return false;
    bool is_string = *w->at == '"', is_nest = *w->at == '{' || *w->at == '[';
    value->at = w->at + is_string;
    value->end = is_string ? string_end(value->at, w->end)
                 : is_nest ? nest_end(value->at, w->end)
                           : word_end(value->at, w->end);
    if (!value->end || (!is_string && value->end == value->at))
        return false;
    w->at = skip_space(value->end + is_string, w->end);
    return true;
}

static bool take_mark(struct json_walk *w, char mark)
{
    w->at = skip_space(w->at, w->end);
    if (w->at == w->end || *w->at != mark)
        return false;
    w->at++;
    return true;
}

struct json_walk json_open(struct json value)
{
    struct json_walk none = { NULL, NULL };
    bool is_nest = value.end - value.at >= 2 && (*value.at == '{' || *value.at == '[');
    return is_nest ? (struct json_walk){ value.at + 1, value.end - 1 } : none;
}

bool json_element(struct json_walk *w, struct json *value)
{
    if (!take(w, value))
        return false;
    take_mark(w, ',');
    return true;
}

bool json_member(struct json_walk *w, struct json *name, struct json *value)
{
    return take(w, name) && take_mark(w, ':') && json_element(w, value);
}

bool json_is(struct json value, const char *text)
{
    size_t bytes = strlen(text);
    return (size_t)(value.end - value.at) == bytes && memcmp(value.at, text, bytes) == 0;
}

bool json_same(struct json a, struct json b)
{
    return a.end - a.at == b.end - b.at && memcmp(a.at, b.at, (size_t)(a.end - a.at)) == 0;
}

bool json_find(struct json object, const char *name, struct json *value)
{
    struct json_walk w = json_open(object);
    struct json found;
    while (json_member(&w, &found, value))
        if (json_is(found, name))
            return true;
    return false;
}

bool json_integer(struct json value, int64_t *out)
{
    bool is_negative = value.at < value.end && *value.at == '-';
    int64_t n = 0;
    const char *at = value.at + is_negative;
    for (; at < value.end && *at >= '0' && *at <= '9'; at++)
        if (n > (INT64_MAX - 9) / 10)
            return false;
        else
            n = n * 10 + (*at - '0');
    *out = is_negative ? -n : n;
    return at == value.end && at > value.at + is_negative;
}

int json_integers(struct json value, int64_t *out, int most)
{
    struct json_walk w = json_open(value);
    struct json element;
    int count = 0;
    if (!w.at || *value.at != '[')
        return -1;
    for (; json_element(&w, &element); count++)
        if (count == most || !json_integer(element, &out[count]))
            return -1;
    return w.at == w.end ? count : -1;
}
