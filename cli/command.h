/* SPDX-License-Identifier: Apache-2.0
 *
 * One file per command, one row per command in commands.def. A command gets its own argv (argv[0]
 * is its name), writes data to stdout and everything else to stderr, and returns the exit code.
 */
#ifndef TILEWISE_CLI_COMMAND_H
#define TILEWISE_CLI_COMMAND_H

#include <stdbool.h>

#include "traces/status.h"

enum { EXIT_FINE = 0, EXIT_FINDING = 1, EXIT_FAULT = 2, EXIT_BAD_USAGE = 64 };

struct command {
    const char *name, *summary;
    int (*run)(int argc, char **argv);
};

#define ROW(name, summary) int cmd_##name(int argc, char **argv);
#include "cli/commands.def"
#undef ROW

extern const struct command commands[]; /* ends with a NULL name */

/* The command of this name; NULL after a line on stderr that names the nearest one. */
const struct command *command_find(const char *name);

/* Print "tilewise COMMAND: TEXT" on stderr and return EXIT_FAULT. */
int command_fault(const char *command, const struct fault *fault);

#endif
