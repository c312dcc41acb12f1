/* SPDX-License-Identifier: Apache-2.0 */
#include "traces/suggest.h"

#include <string.h>

enum { WORD_BYTES_MAX = 63 };

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

size_t suggest_distance(const char *a, const char *b)
{
    size_t rows = strlen(a), columns = strlen(b);
    if (rows > WORD_BYTES_MAX || columns > WORD_BYTES_MAX)
        return rows > columns ? rows : columns;
    size_t d[WORD_BYTES_MAX + 1][WORD_BYTES_MAX + 1];
    for (size_t i = 0; i <= rows; i++)
        d[i][0] = i;
    for (size_t j = 0; j <= columns; j++)
        d[0][j] = j;
    for (size_t i = 1; i <= rows; i++)
        for (size_t j = 1; j <= columns; j++) {
            size_t replace = d[i - 1][j - 1] + (a[i - 1] != b[j - 1]);
            d[i][j] = least(replace, least(d[i - 1][j], d[i][j - 1]) + 1);
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                d[i][j] = least(d[i][j], d[i - 2][j - 2] + 1);
        }
    return d[rows][columns];
}

void suggest_offer(const char *word, const char *known, const char **best)
{
    size_t length = strlen(word), limit = length < 6 ? (length < 2 ? 0 : 1) : length / 3;
    size_t distance = suggest_distance(word, known);
    if (distance <= limit && (!*best || distance < suggest_distance(word, *best)))
        *best = known;
}
