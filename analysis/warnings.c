/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/warnings.h"

#include <stdio.h>
#include <string.h>

static bool is_gpu_time_on(const char *value)
{
    return strcmp(value, "full") == 0 || strcmp(value, "windows") == 0;
}

bool warnings_of(const struct reader_fact *fact, char text[WARNINGS_BYTES])
{
    static const struct {
        const char *key, *before, *behind;
        bool (*is_fine)(const char *value); /* NULL: no value is */
    } rows[] = {
        { "note", "", "", NULL },
        { "bypassed_by", "", " goes past the recorder (RTLD_DEEPBIND): its calls are not seen",
          NULL },
        { "static_library", "cuBLAS is linked statically into ", "", NULL },
        { "cupti", "GPU time was not measured all the time: ", "", is_gpu_time_on },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (strcmp(fact->key, rows[i].key) != 0 ||
            (rows[i].is_fine && rows[i].is_fine(fact->value)))
            continue;
        snprintf(text, WARNINGS_BYTES, "%s%s%s", rows[i].before, fact->value, rows[i].behind);
        return true;
    }
    return false;
}
