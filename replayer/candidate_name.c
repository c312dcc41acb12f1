/* SPDX-License-Identifier: Apache-2.0 */
#include "replayer/candidate_name.h"

#include <string.h>

enum { NAME_BYTES_MAX = 60 };

enum status candidate_name_check(const char *name, struct fault *fault)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                "0123456789_-.+";
    size_t length = strlen(name);
    if (length > 0 && length <= NAME_BYTES_MAX && strspn(name, plain) == length)
        return ST_OK;
    return fault_set(fault, ST_INVALID,
                     "the name '%.60s' is not 1 to %d letters, digits, '_', '-', '.', '+'", name,
                     NAME_BYTES_MAX);
}
