/* SPDX-License-Identifier: Apache-2.0
 *
 * Lists of names in one text: "a,b,c", or one name a line.
 */
#ifndef TILEWISE_TRACES_LIST_H
#define TILEWISE_TRACES_LIST_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

/* Is `name` one of the names in `list` (may be NULL)? The empty name is in none. */
static inline bool list_holds(const char *list, char separator, const char *name)
{
    const char ends[] = { separator, '\0' };
    size_t length = strlen(name);
    while (list && *list && length) {
        size_t item = strcspn(list, ends);
        if (item == length && memcmp(list, name, length) == 0)
            return true;
        list += item + (list[item] != '\0');
    }
    return false;
}

#endif
