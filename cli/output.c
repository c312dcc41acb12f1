/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/output.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "traces/scan.h"

static enum status complain(const struct output *o, struct fault *fault)
{
    return fault_set(fault, ST_IO, "%s: %s", o->path, strerror(errno));
}

static enum status open_beside(struct output *o, struct fault *fault)
{
    if (asprintf(&o->temporary, "%s.XXXXXX", o->path) < 0) {
        o->temporary = NULL;
        return fault_set(fault, ST_NOMEM, "out of memory");
    }
    int fd = mkstemp(o->temporary);
    o->stream = fd < 0 ? NULL : fdopen(fd, "w");
    if (o->stream)
        return ST_OK;
    enum status st = complain(o, fault);
    if (fd >= 0) {
        close(fd);
        unlink(o->temporary);
    }
    free(o->temporary);
    return st;
}

enum status output_spares(const char *path, unsigned kind, struct fault *fault)
{
    static const char *const names[] = { [TRACE_KIND_RECORDED] = "a recorded trace",
                                         [TRACE_KIND_RESULT] = "the result of a replay",
                                         [TRACE_KIND_MERGED] = "a merged trace" };
    struct stat entry;
    if (stat(path, &entry) != 0)
        return ST_OK;
    if (!S_ISREG(entry.st_mode))
        return fault_set(fault, ST_INVALID, "%s: no regular file stands there; it is not replaced",
                         path);
    unsigned there = scan_kind(path);
    if (there == 0 || there == kind || there >= sizeof names / sizeof *names)
        return ST_OK;
    return fault_set(fault, ST_INVALID,
                     "%s: %s stands there; it is not replaced: name another file behind -o", path,
                     names[there]);
}

enum status output_open(struct output *o, const char *path, struct fault *fault)
{
    struct stat there;
    *o = (struct output){ .path = path };
    if (!path[0] || strcmp(path, "-") == 0) {
        o->stream = stdout;
        return ST_OK;
    }
    if (stat(path, &there) != 0 || S_ISREG(there.st_mode)) {
        enum status st = output_spares(path, 0, fault);
        return st == ST_OK ? open_beside(o, fault) : st;
    }
    o->stream = fopen(path, "we");
    return o->stream ? ST_OK : complain(o, fault);
}

enum status output_close(struct output *o, enum status st, struct fault *fault)
{
    if (o->stream == stdout)
        return st; /* main looks after it */
    bool bad = ferror(o->stream);
    bad |= fclose(o->stream) != 0;
    if (st == ST_OK && bad)
        st = complain(o, fault);
    if (st == ST_OK && o->temporary && rename(o->temporary, o->path) != 0)
        st = complain(o, fault);
    if (st != ST_OK && o->temporary)
        unlink(o->temporary);
    free(o->temporary);
    return st;
}
