/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "cli/command.h"

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

/* Data that could not be written (a full disk) must not look like success. */
static int close_stdout(int code)
{
    if (fflush(stdout) == 0 && !ferror(stdout))
        return code;
    perror("tilewise: writing the output failed");
    return EXIT_FAULT;
}

int main(int argc, char **argv)
{
    const char *name = argc > 1 ? argv[1] : "help";
    if (strcmp(name, "--version") == 0 || strcmp(name, "-V") == 0) {
        puts("tilewise " TILEWISE_VERSION);
        return close_stdout(EXIT_FINE);
    }
    if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0)
        name = "help";
    for (const struct command *c = commands; c->name; c++)
        if (strcmp(c->name, name) == 0)
            return close_stdout(argc > 1 ? c->run(argc - 1, argv + 1) : c->run(argc, argv));
    fprintf(stderr, "tilewise: no command '%s'; see: tilewise help\n", name);
    return EXIT_BAD_USAGE;
}
