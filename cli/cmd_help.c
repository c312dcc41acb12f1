/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "cli/command.h"

int cmd_help(int argc, char **argv)
{
    if (argc > 1)
        for (const struct command *c = commands; c->name; c++)
            if (strcmp(c->name, argv[1]) == 0) {
                char *args[] = { argv[1], "--help", NULL };
                return c->run(2, args);
            }
    puts("usage: tilewise COMMAND [OPTIONS]\n");
    for (const struct command *c = commands; c->name; c++)
        printf("  %-10s %s\n", c->name, c->summary);
    return EXIT_FINE;
}
