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

/* Every character of `text`, cleaned, through `put`: as a character of its own (`bytes` of UTF-8
 * at `at`). */
typedef void put_function(FILE *out, unsigned c, const char *at, size_t bytes);

static void each(FILE *out, const char *text, put_function *put)
{
    size_t left = text ? strnlen(text, TEXT_BYTES_MAX) : 0;
    while (left > 0) {
        size_t length;
        unsigned c = escape_decode((const unsigned char *)text, left, &length);
        if (c == REPLACEMENT)
            put(out, c, "\xef\xbf\xbd", 3);
        else
            put(out, c, text, length);
        text += length;
        left -= length;
    }
}

static void put_plain(FILE *out, unsigned c, const char *at, size_t bytes)
{
    (void)c;
    fwrite(at, 1, bytes, out);
}

static void put_html(FILE *out, unsigned c, const char *at, size_t bytes)
{
    switch (c) {
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
        fwrite(at, 1, bytes, out);
    }
}

static void put_csv(FILE *out, unsigned c, const char *at, size_t bytes)
{
    if (c == '"')
        fputc('"', out);
    fwrite(at, 1, bytes, out);
}

/* Markdown passes HTML through and reads punctuation as markup. */
static void put_markdown(FILE *out, unsigned c, const char *at, size_t bytes)
{
    if (c == '<' || c == '>' || c == '&')
        put_html(out, c, at, bytes);
    else {
        if (c < 0x80 && strchr("\\`*_{}[]()#+-.!|~", (int)c))
            fputc('\\', out);
        fwrite(at, 1, bytes, out);
    }
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
