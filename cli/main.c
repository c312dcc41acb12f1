/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "analysis/suggest.h"
#include "cli/command.h"

/* Data that could not be written (a full disk) must not look like success. */
static int close_stdout(int code)
{
    if (fflush(stdout) == 0 && !ferror(stdout))
        return code;
    perror("tilewise: writing the output failed");
    return EXIT_FAULT;
}

static int unknown_command(const char *name)
{
    const char *near = NULL;
    for (const struct command *c = commands; c->name; c++)
        suggest_offer(name, c->name, &near);
    struct fault fault; /* replaces control bytes */
    if (near)
        fault_set(&fault, ST_INVALID, "no command '%.80s'; did you mean '%s'?", name, near);
    else
        fault_set(&fault, ST_INVALID, "no command '%.80s'", name);
    fprintf(stderr, "tilewise: %s; see: tilewise help\n", fault.text);
    return EXIT_BAD_USAGE;
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
    return unknown_command(name);
}
