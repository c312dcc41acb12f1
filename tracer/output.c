/* SPDX-License-Identifier: Apache-2.0 */
#include "tracer/output.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
    CLOSE_RANGE_UNSHARE_FLAG = 2, /* linux/close_range.h, newer than our floor */
    CLOSE_RANGE_CALL = 436,
    GETRANDOM_NONBLOCK = 1,
    SAFE_FD = 100,       /* hosts close and reuse low numbers */
    FALLBACK_FDS = 4096, /* how many to close one by one */
    HOST_BYTES = 32,
};

/* fstat and fstatat of glibc before 2.33 have other names than after it. */
static int stat_at(int directory, const char *name, struct stat *st)
{
    int flags = *name ? AT_SYMLINK_NOFOLLOW : AT_EMPTY_PATH;
    return (int)syscall(SYS_newfstatat, directory, name, st, flags);
}

static int stat_fd(int fd, struct stat *st)
{
    return stat_at(fd, "", st);
}

/* A table of descriptors for this thread alone: the host may close all of its own and never meet
 * ours, and its children inherit none. */
static bool leave_fd_table(void)
{
    if (syscall(CLOSE_RANGE_CALL, 0, ~0u, CLOSE_RANGE_UNSHARE_FLAG) == 0)
        return true;
    if (syscall(SYS_unshare, CLONE_FILES) != 0)
        return false;
    for (int fd = 0; fd < FALLBACK_FDS; fd++)
        close(fd);
    return true;
}

/* Take over `fd` under a number that hosts do not reuse by accident, and remember what it is. */
static bool guard(struct output *o, struct output_guard *g, int fd)
{
    struct stat st;
    if (fd >= 0 && !o->private_table) {
        int high = fcntl(fd, F_DUPFD_CLOEXEC, SAFE_FD);
        close(fd);
        fd = high;
    }
    if (fd < 0 || stat_fd(fd, &st) != 0)
        return false;
    *g = (struct output_guard){ fd, st.st_dev, st.st_ino };
    return true;
}

static bool is_same(const struct output_guard *g)
{
    struct stat st;
    return stat_fd(g->fd, &st) == 0 && st.st_dev == g->device && st.st_ino == g->inode;
}

bool output_is_safe(const struct output *o)
{
    return o->private_table || (is_same(&o->directory) && is_same(&o->trace));
}

bool output_open(struct output *o, const char *directory)
{
    struct stat st;
    *o = (struct output){ .private_table = leave_fd_table() };
    if (mkdir(directory, 0700) != 0 && errno != EEXIST)
        return false;
    int fd = open(directory, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (!guard(o, &o->directory, fd) || stat_fd(o->directory.fd, &st) != 0)
        return false;
    return st.st_uid == geteuid() && (st.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

static void host_name(char *text)
{
    if (gethostname(text, HOST_BYTES) != 0)
        strcpy(text, "host");
    text[HOST_BYTES - 1] = '\0';
    for (char *c = text; *c; c++)
        if (!strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-", *c))
            *c = '-';
}

int output_create(struct output *o, const struct shard_id *shard)
{
    char host[HOST_BYTES], file[sizeof o->name + 8];
    uint64_t random = shard->start_unix_ns;
    host_name(host);
    syscall(SYS_getrandom, &random, sizeof random, GETRANDOM_NONBLOCK);
    snprintf(o->name, sizeof o->name, "%s.%u.%llu.%016llx", host, shard->pid,
             (unsigned long long)(shard->start_unix_ns / 1000000000u), (unsigned long long)random);
    snprintf(file, sizeof file, "%s.twt", o->name);
    int fd =
        openat(o->directory.fd, file, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    return guard(o, &o->trace, fd) ? o->trace.fd : -1;
}

enum output_order output_read_order(const struct output *o)
{
    struct stat st;
    char text[3] = "";
    if (stat_at(o->directory.fd, "disable", &st) == 0)
        return OUTPUT_DISABLED;
    int fd = openat(o->directory.fd, "control", O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0)
        return OUTPUT_ON;
    ssize_t got = stat_fd(fd, &st) == 0 && S_ISREG(st.st_mode) ? read(fd, text, sizeof text) : 0;
    close(fd);
    return got == 3 && memcmp(text, "off", 3) == 0 ? OUTPUT_OFF : OUTPUT_ON;
}

static void status_name(const struct output *o, char *text, size_t bytes, const char *ending)
{
    snprintf(text, bytes, "%s.%s", o->name, ending);
}

void output_status(const struct output *o, const char *text, size_t bytes)
{
    char name[sizeof o->name + 16], temporary[sizeof o->name + 16];
    status_name(o, name, sizeof name, "status");
    status_name(o, temporary, sizeof temporary, "status-new");
    int fd = openat(o->directory.fd, temporary,
                    O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0)
        return;
    bool complete = write(fd, text, bytes) == (ssize_t)bytes;
    close(fd);
    if (complete)
        renameat(o->directory.fd, temporary, o->directory.fd, name);
    else
        unlinkat(o->directory.fd, temporary, 0);
}

void output_remove_status(const struct output *o)
{
    char name[sizeof o->name + 16];
    status_name(o, name, sizeof name, "status");
    unlinkat(o->directory.fd, name, 0);
}
