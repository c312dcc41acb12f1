/* SPDX-License-Identifier: Apache-2.0
 *
 * What `tilewise doctor` looks at: one row per check. A check only looks; it changes nothing but a
 * probe file that it removes.
 */
#ifndef TILEWISE_CLI_CHECKS_H
#define TILEWISE_CLI_CHECKS_H

#include <stdbool.h>

enum check_state {
    CHECK_OK,
    CHECK_NOTE,    /* works, but mind this */
    CHECK_MISSING, /* does not work: the remedy says how it would */
};

struct check_finding {
    enum check_state state;
    char value[256];  /* what was found */
    char remedy[256]; /* what to do; "" when there is nothing to do */
};

struct check {
    const char *name;
    bool needed; /* without it record, replay or report cannot do their work here */
    void (*look)(struct check_finding *finding, const char *directory);
};

extern const struct check checks[]; /* ends with a NULL name */

/* "ok", "note" or "missing". Static storage. */
const char *checks_state_name(enum check_state state);

#endif
