/* SPDX-License-Identifier: Apache-2.0
 *
 * Names in traces and results come from other people's processes: entry points, kernels, devices,
 * facts. Whatever bytes they hold, what these functions print is valid UTF-8 without control bytes
 * and means nothing but itself where it is printed. At most 4 KiB of a name are printed. NULL
 * prints nothing.
 */
#ifndef TILEWISE_ANALYSIS_ESCAPE_H
#define TILEWISE_ANALYSIS_ESCAPE_H

#include <stddef.h>
#include <stdio.h>

/* Decode one character of at most `bytes` bytes at `text`; *length gets what it takes (at least 1).
 * Invalid bytes and control characters (C0, DEL, C1, and those that turn the direction of text)
 * become U+FFFD. `bytes` > 0. */
unsigned escape_decode(const unsigned char *text, size_t bytes, size_t *length);

/* For a terminal and for plain text. */
void escape_plain(FILE *out, const char *text);
/* For HTML and SVG text and attribute values in double quotes. */
void escape_html(FILE *out, const char *text);
/* One cell, in quotes where needed; a cell that a spreadsheet would run starts with an apostrophe.
 */
void escape_csv(FILE *out, const char *text);
/* For Markdown, in a cell of a table too, behind other text on its line. */
void escape_markdown(FILE *out, const char *text);
/* A clean copy for encoders with their own quoting (JSON): to be freed; NULL without memory. */
char *escape_copy(const char *text);

#endif
