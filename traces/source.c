/* SPDX-License-Identifier: Apache-2.0 */
#include "traces/source.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { WINDOW_BYTES = 2 * SOURCE_VIEW_MAX, READ_BYTES = 16384 };

enum status source_open(struct source *s, const char *path, struct fault *fault)
{
    struct stat info = { 0 };
    /* O_NONBLOCK: a FIFO without a writer must not hang us before it is refused. */
    *s = (struct source){ .fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK) };
    if (s->fd < 0)
        return fault_set(fault, ST_IO, "%s: %s", path, strerror(errno));
    if (fstat(s->fd, &info) < 0 || !S_ISREG(info.st_mode)) {
        bool folder = S_ISDIR(info.st_mode);
        source_close(s);
        return fault_set(fault, ST_IO, "%s: %s", path,
                         folder ? "a directory; name the files in it, DIR/*.twt"
                                : "not a regular file");
    }
    s->window = malloc(WINDOW_BYTES);
    if (!s->window) {
        source_close(s);
        return fault_set(fault, ST_NOMEM, "%s: no memory for reading", path);
    }
    return ST_OK;
}

void source_open_memory(struct source *s, const void *bytes, size_t count)
{
    *s = (struct source){ .fd = -1, .memory = bytes, .memory_bytes = count };
}

void source_close(struct source *s)
{
    free(s->window);
    if (s->fd >= 0 && !s->memory)
        close(s->fd);
    *s = (struct source){ .fd = -1 };
}

/* Read on behind the window until it holds `want` bytes, or to the end. */
static void fill(struct source *s, size_t want)
{
    while (s->window_bytes < want && !s->error) {
        size_t missing = want - s->window_bytes, room = WINDOW_BYTES - s->window_bytes;
        size_t ask = missing > READ_BYTES ? missing : READ_BYTES;
        ssize_t n = pread(s->fd, s->window + s->window_bytes, ask < room ? ask : room,
                          (off_t)(s->window_offset + s->window_bytes));
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            s->error = errno;
        if (n <= 0)
            return;
        s->window_bytes += (size_t)n;
    }
}

static size_t at_most(size_t want, uint64_t there)
{
    return there < want ? (size_t)there : want;
}

const uint8_t *source_view(struct source *s, uint64_t offset, size_t want, size_t *got)
{
    if (!s->window) {
        uint64_t start = offset < s->memory_bytes ? offset : s->memory_bytes;
        *got = at_most(want, s->memory_bytes - start);
        return s->memory + start;
    }
    uint64_t end = s->window_offset + s->window_bytes;
    if (offset < s->window_offset || offset > end) {
        s->window_offset = offset;
        s->window_bytes = 0;
    } else if (offset - s->window_offset + want > WINDOW_BYTES) {
        s->window_bytes = (size_t)(end - offset);
        memmove(s->window, s->window + (offset - s->window_offset), s->window_bytes);
        s->window_offset = offset;
    }
    size_t skip = (size_t)(offset - s->window_offset);
    fill(s, skip + want);
    *got = s->window_bytes > skip ? at_most(want, s->window_bytes - skip) : 0;
    return s->window + skip;
}
