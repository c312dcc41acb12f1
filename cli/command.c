/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/command.h"

#include <stdio.h>

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
