/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/escape.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { REPLACEMENT = 0xfffd, TEXT_BYTES_MAX = 4096 };

static bool is_control(unsigned c)
{
    return c < 0x20 || (c >= 0x7f && c < 0xa0) || c == 0x2028 || c == 0x2029 || c == 0xfeff ||
           (c >= 0x200b && c <= 0x200f) || (c >= 0x202a && c <= 0x202e) ||
           (c >= 0x2066 && c <= 0x2069);
}

/* Length that a first byte announces, its payload bits, and the least value of that length. */
static size_t announced(unsigned char first, unsigned *bits, unsigned *least)
{
    static const struct {
        unsigned char mask, mark;
        unsigned least;
    } rows[] = {
        { 0x80, 0x00, 0 }, { 0xe0, 0xc0, 0x80 }, { 0xf0, 0xe0, 0x800 }, { 0xf8, 0xf0, 0x10000 }
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if ((first & rows[i].mask) == rows[i].mark) {
            *bits = first & (unsigned char)~rows[i].mask;
            *least = rows[i].least;
            return i + 1;
        }
    return 0;
}

unsigned escape_decode(const unsigned char *text, size_t bytes, size_t *length)
{
    unsigned c, least;
    size_t n = announced(text[0], &c, &least);
    *length = 1;
    if (n == 0 || n > bytes)
        return REPLACEMENT;
    for (size_t i = 1; i < n; i++) {
        if ((text[i] & 0xc0) != 0x80)
            return REPLACEMENT;
        c = c << 6 | (text[i] & 0x3f);
    }
    if (c < least || c > 0x10ffff || (c >= 0xd800 && c <= 0xdfff))
        return REPLACEMENT;
    *length = n;
    return is_control(c) ? REPLACEMENT : c;
}

/* A character of a text, cleaned: `bytes` of UTF-8 at `at`, between those before and behind it (0
 * at an end). */
struct letter {
    unsigned c, before, behind;
    const char *at;
    size_t bytes;
};

/* Every character of `text` through `put`. */
typedef void put_function(FILE *out, const struct letter *l);

static void each(FILE *out, const char *text, put_function *put)
{
    size_t left = text ? strnlen(text, TEXT_BYTES_MAX) : 0;
    struct letter l = { 0 };
    while (left > 0) {
        size_t length;
        l.c = escape_decode((const unsigned char *)text, left, &length);
        l.at = l.c == REPLACEMENT ? "\xef\xbf\xbd" : text;
        l.bytes = l.c == REPLACEMENT ? 3 : length;
        text += length;
        left -= length;
        l.behind = left ? (unsigned char)*text : 0;
        put(out, &l);
        l.before = l.c;
    }
}

static void put_plain(FILE *out, const struct letter *l)
{
    fwrite(l->at, 1, l->bytes, out);
}

static void put_html(FILE *out, const struct letter *l)
{
    switch (l->c) {
    case '<':
        fputs("&lt;", out);
        break;
    case '>':
        fputs("&gt;", out);
        break;
    case '&':
        fputs("&amp;", out);
        break;
    case '"':
        fputs("&quot;", out);
        break;
    case '\'':
        fputs("&#39;", out);
        break;
    case '`':
        fputs("&#96;", out);
        break;
    default:
        put_plain(out, l);
    }
}

static void put_csv(FILE *out, const struct letter *l)
{
    if (l->c == '"')
        fputc('"', out);
    put_plain(out, l);
}

static bool is_of_word(unsigned c)
{
    return (c >= '0' && c <= '9') || (c | 0x20) - 'a' < 26u || c >= 0x80;
}

/* Behind other text on its line: marks that mean something at the begin of one alone stay as they
 * are. "http://" and "www." become links by themselves. */
static bool is_markup(const struct letter *l)
{
    if (l->c == '_')
        return !is_of_word(l->before) || !is_of_word(l->behind);
    if (l->c == ':')
        return l->behind == '/';
    if (l->c == '.')
        return (l->before | 0x20) == 'w';
    return l->c < 0x80 && strchr("\\`*[]|~", (int)l->c);
}

/* Markdown passes HTML through and reads punctuation as markup. */
static void put_markdown(FILE *out, const struct letter *l)
{
    if (l->c == '<' || l->c == '>' || l->c == '&') {
        put_html(out, l);
        return;
    }
    if (is_markup(l))
        fputc('\\', out);
    put_plain(out, l);
}

void escape_plain(FILE *out, const char *text)
{
    each(out, text, put_plain);
}

void escape_html(FILE *out, const char *text)
{
    each(out, text, put_html);
}

void escape_csv(FILE *out, const char *text)
{
    if (!text)
        return;
    bool runs = *text && strchr("=+-@", *text);
    bool quotes = runs || strpbrk(text, "\",; '");
    fputs(quotes ? "\"" : "", out);
    fputs(runs ? "'" : "", out);
    each(out, text, put_csv);
    fputs(quotes ? "\"" : "", out);
}

void escape_markdown(FILE *out, const char *text)
{
    each(out, text, put_markdown);
}

char *escape_copy(const char *text)
{
    char *copy = NULL;
    size_t bytes;
    FILE *out = open_memstream(&copy, &bytes);
    if (!out)
        return NULL;
    escape_plain(out, text);
    if (fclose(out) == 0)
        return copy;
    free(copy);
    return NULL;
}
