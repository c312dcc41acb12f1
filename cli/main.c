/* SPDX-License-Identifier: Apache-2.0 */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/command.h"

/* Data that could not be written (a full disk) must not look like success. */
static int close_stdout(int code)
{
    if (fflush(stdout) == 0 && !ferror(stdout))
        return code;
    perror("tilewise: writing the output failed");
    return EXIT_FAULT;
}

/* A file must not be opened under the number of a stream that the caller closed: what is printed
 * would land in it. Writing to such an output fails as before; programs that we start find it
 * closed. */
static void hold_standard_streams(void)
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        if (fcntl(fd, F_GETFD) < 0 &&
            open("/dev/null", (fd == STDERR_FILENO ? O_WRONLY : O_RDONLY) | O_CLOEXEC) != fd)
            _exit(EXIT_FAULT);
}

int main(int argc, char **argv)
{
    hold_standard_streams();
    static char *bare[] = { "help", NULL };
    if (argc > 1 && (strcmp(argv[1], "--version") == 0 || strcmp(argv[1], "-V") == 0)) {
        puts("tilewise " TILEWISE_VERSION);
        return close_stdout(EXIT_FINE);
    }
    bool plain = argc < 2 || strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0;
    char **args = plain ? bare : argv + 1;
    const struct command *command = command_find(args[0]);
    if (!command)
        return EXIT_BAD_USAGE;
    return close_stdout(command->run(plain ? 1 : argc - 1, args));
}
