/* SPDX-License-Identifier: Apache-2.0 */
#include "traces/shard.h"

#include <fcntl.h>
#include <stddef.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

static int hex_digit(char c)
{
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* 32 hexadecimal digits, with dashes between them. */
static void parse_boot_id(uint64_t id[2], const char *text, size_t count)
{
    unsigned digits = 0;
    for (size_t i = 0; i < count && digits < 32; i++) {
        int digit = hex_digit(text[i]);
        if (digit >= 0) {
            id[digits / 16] = id[digits / 16] << 4 | (unsigned)digit;
            digits++;
        }
    }
}

void shard_of_this_process(struct shard_id *id)
{
    char text[256] = "";
    struct timespec now;
    *id = (struct shard_id){ .pid = (uint32_t)getpid() };
    if (gethostname(text, sizeof text - 1) == 0)
        id->host_hash = XXH3_64bits(text, strlen(text));
    clock_gettime(CLOCK_REALTIME, &now);
    id->start_unix_ns = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
    int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return;
    ssize_t got = read(fd, text, sizeof text);
    close(fd);
    if (got > 0)
        parse_boot_id(id->boot_id, text, (size_t)got);
}
