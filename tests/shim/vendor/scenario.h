/* SPDX-License-Identifier: Apache-2.0
 *
 * Scenarios of a host program, by their names. A list ends with an empty one.
 */
#ifndef TILEWISE_TESTS_SCENARIO_H
#define TILEWISE_TESTS_SCENARIO_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

struct scenario {
    const char *name;
    void (*run)(void);
};

/* clang-format off */
#define SCENARIO(name) { #name, name }
#define SCENARIO_END   { NULL, NULL }
/* clang-format on */

/* False: there is none of that name. */
static inline bool scenario_run(const struct scenario *of, const char *name)
{
    while (of->name && strcmp(of->name, name) != 0)
        of++;
    if (of->name)
        of->run();
    return of->name;
}

#endif
