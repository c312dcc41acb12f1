/* SPDX-License-Identifier: Apache-2.0
 *
 * "did you mean": the known word that is nearest to a mistyped one.
 */
#ifndef TILEWISE_TRACES_SUGGEST_H
#define TILEWISE_TRACES_SUGGEST_H

#include <stddef.h>

/* Insertions, deletions, replacements and swaps of neighbours between two words. Words longer than
 * 63 bytes are as far apart as the longer one is long. */
size_t suggest_distance(const char *a, const char *b);

/* Offer `known` for `word`: keeps in *best (NULL at first) the nearest so far, if it is near enough
 * to be a typing error (a third of the letters, at least one). */
void suggest_offer(const char *word, const char *known, const char **best);

#endif
