/* SPDX-License-Identifier: Apache-2.0 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/command.h"
#include "cli/options.h"

static const struct option_row rows[] = { { 0 } };

static const struct usage usage = {
    .command = "ctl",
    .args = "DIR on|off|status",
    .doc = "Pause and resume recording in running processes, or show how it stands."
           "\vDIR is where the processes write their traces. They look at it once a second.",
    .options = rows,
    .min_args = 2,
    .max_args = 2,
};

/* What one process says about itself; the keys of its status file. */
struct standing {
    char state[8];
    long pid;
    unsigned long long seen, recorded, untimed, dropped, failed, bytes;
};

static bool read_standing(int directory, const char *name, struct standing *s)
{
    int fd = openat(directory, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    FILE *file = fd < 0 ? NULL : fdopen(fd, "r");
    *s = (struct standing){ 0 };
    if (!file)
        return false;
    int got = fscanf(file,
                     "state %7s pid %ld seen %llu recorded %llu untimed %llu dropped %llu "
                     "failed %llu bytes %llu",
                     s->state, &s->pid, &s->seen, &s->recorded, &s->untimed, &s->dropped,
                     &s->failed, &s->bytes);
    fclose(file);
    return got == 8;
}

static bool is_gone(long pid)
{
    return pid <= 0 || (kill((pid_t)pid, 0) != 0 && errno == ESRCH);
}

static void print_standing(const struct standing *s, const char *name)
{
    printf("%-5s %7ld %12llu %12llu %9llu %9llu %12llu  %s\n", is_gone(s->pid) ? "gone" : s->state,
           s->pid, s->seen, s->recorded, s->dropped, s->failed, s->bytes, name);
}

/* "x.status" to "x.twt"; false for another name. */
static bool trace_name(const char *status, char *trace, size_t bytes)
{
    size_t length = strlen(status);
    if (length < 7 || strcmp(status + length - 7, ".status") != 0)
        return false;
    snprintf(trace, bytes, "%.*s.twt", (int)(length - 7), status);
    return true;
}

static int show(DIR *dir)
{
    int count = 0;
    for (struct dirent *e; (e = readdir(dir));) {
        char trace[NAME_MAX + 8];
        struct standing s;
        if (!trace_name(e->d_name, trace, sizeof trace) ||
            !read_standing(dirfd(dir), e->d_name, &s))
            continue;
        if (count++ == 0)
            printf("%-5s %7s %12s %12s %9s %9s %12s  %s\n", "state", "pid", "seen", "recorded",
                   "dropped", "failed", "bytes", "trace");
        print_standing(&s, trace);
    }
    if (count == 0)
        fprintf(stderr, "tilewise ctl: no process is recording into this directory\n");
    return EXIT_FINE;
}

/* Written beside and renamed: a process reads the old order or the new one, never half of one. */
static enum status order(const char *path, int directory, const char *word, struct fault *fault)
{
    int fd = openat(directory, "control-new", O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC,
                    0600);
    if (fd < 0)
        return fault_set(fault, ST_IO, "%s/control: %m", path);
    bool written = dprintf(fd, "%s\n", word) > 0;
    if (close(fd) != 0 || !written || renameat(directory, "control-new", directory, "control") != 0)
        return fault_set(fault, ST_IO, "%s/control: %m", path);
    return ST_OK;
}

int cmd_ctl(int argc, char **argv)
{
    int first, code = options_parse(&usage, argc, argv, &first);
    struct fault fault = { 0 };
    if (code >= 0)
        return code;
    const char *path = argv[first], *word = argv[first + 1];
    bool is_order = strcmp(word, "on") == 0 || strcmp(word, "off") == 0;
    if (!is_order && strcmp(word, "status") != 0) {
        fprintf(stderr, "tilewise ctl: '%s' is none of on, off, status; see: tilewise help ctl\n",
                word);
        return EXIT_BAD_USAGE;
    }
    DIR *dir = opendir(path);
    if (!dir) {
        fault_set(&fault, ST_IO, "%s: %m", path);
        return command_fault("ctl", &fault);
    }
    enum status st = is_order ? order(path, dirfd(dir), word, &fault) : ST_OK;
    code = st != ST_OK ? command_fault("ctl", &fault) : is_order ? EXIT_FINE : show(dir);
    closedir(dir);
    return code;
}
