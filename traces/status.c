/* SPDX-License-Identifier: Apache-2.0 */
#include "traces/status.h"

#include <stdarg.h>
#include <stdio.h>

const char *status_text(enum status st)
{
    static const char *const text[ST_COUNT] = {
#define X(id, words) [ST_##id] = words,
        STATUS_LIST(X)
#undef X
    };
    return (unsigned)st < ST_COUNT ? text[st] : "unknown status";
}

enum status fault_set(struct fault *fault, enum status st, const char *format, ...)
{
    if (!fault)
        return st;
    fault->status = st;
    va_list args;
    va_start(args, format);
    vsnprintf(fault->text, sizeof fault->text, format, args);
    va_end(args);
    /* File names and kernel names are hostile: no escape sequence may reach a terminal. */
    for (char *p = fault->text; *p; p++)
        if ((unsigned char)*p < 0x20 || *p == 0x7f)
            *p = '?';
    return st;
}
