/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/command.h"

#include <stdio.h>
#include <string.h>

#include "traces/suggest.h"

const struct command commands[] = {
#define ROW(name, summary) { #name, summary, cmd_##name },
#include "cli/commands.def"
#undef ROW
    { NULL, NULL, NULL },
};

int command_fault(const char *command, const struct fault *fault)
{
    fprintf(stderr, "tilewise %s: %s\n", command,
            fault->text[0] ? fault->text : status_text(fault->status));
    return EXIT_FAULT;
}

const struct command *command_find(const char *name)
{
    const char *near = NULL;
    for (const struct command *c = commands; c->name; c++) {
        if (strcmp(c->name, name) == 0)
            return c;
        suggest_offer(name, c->name, &near);
    }
    struct fault fault; /* replaces control bytes */
    if (near)
        fault_set(&fault, ST_INVALID, "no command '%.80s'; did you mean '%s'?", name, near);
    else
        fault_set(&fault, ST_INVALID, "no command '%.80s'", name);
    fprintf(stderr, "tilewise: %s; see: tilewise help\n", fault.text);
    return NULL;
}
