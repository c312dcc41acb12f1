/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/kernel_name.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

/* One identifier, its length before it ("6native"), as a further part of `text`. Returns what
 * follows it, or NULL if there is none here. */
static const char *take(const char *p, char *text, size_t *used)
{
    static const char unnamed[] = "_GLOBAL__N_";
    size_t length = 0;
    while (isdigit((unsigned char)*p) && length < KERNEL_NAME_BYTES)
        length = 10 * length + (size_t)(*p++ - '0');
    if (length == 0 || strnlen(p, length) < length ||
        *used + length + sizeof "::" > KERNEL_NAME_BYTES)
        return NULL;
    if (strncmp(p, unnamed, sizeof unnamed - 1) != 0) /* a file's own namespace says nothing */
        *used += (size_t)snprintf(text + *used, KERNEL_NAME_BYTES - *used, "%s%.*s",
                                  *used ? "::" : "", (int)length, p);
    return p + length;
}

const char *kernel_name(const char *name, char text[KERNEL_NAME_BYTES])
{
    if (strncmp(name, "_Z", 2) != 0)
        return name;
    const char *p = name + 2 + (name[2] == 'N');
    size_t used = 0;
    while (isdigit((unsigned char)*p))
        if (!(p = take(p, text, &used)))
            return name;
    return used ? text : name;
}
