/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/inputs.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static enum status add(struct inputs_paths *p, const char *path, struct fault *fault)
{
    char **more = realloc(p->path, (p->count + 1) * sizeof *more);
    if (more)
        p->path = more;
    if (!more || !(more[p->count] = strdup(path)))
        return fault_set(fault, ST_NOMEM, "out of memory");
    p->count++;
    return ST_OK;
}

static int is_input(const struct dirent *entry)
{
    const char *dot = strrchr(entry->d_name, '.');
    return entry->d_name[0] != '.' && dot && (!strcmp(dot, ".twt") || !strcmp(dot, ".twr"));
}

static enum status add_directory(struct inputs_paths *p, const char *directory, struct fault *fault)
{
    struct dirent **entries;
    int count = scandir(directory, &entries, is_input, alphasort);
    if (count < 0)
        return fault_set(fault, ST_IO, "%s: %s", directory, strerror(errno));
    enum status st = ST_OK;
    for (int i = 0; i < count; i++) {
        char *path = NULL;
        if (st == ST_OK && asprintf(&path, "%s/%s", directory, entries[i]->d_name) < 0)
            st = fault_set(fault, ST_NOMEM, "out of memory");
        else if (st == ST_OK)
            st = add(p, path, fault);
        free(path);
        free(entries[i]);
    }
    free(entries);
    if (st == ST_OK && count == 0)
        return fault_set(fault, ST_INVALID, "%s: no .twt or .twr file in this directory",
                         directory);
    return st;
}

static bool is_directory(const char *path)
{
    struct stat info;
    return stat(path, &info) == 0 && S_ISDIR(info.st_mode);
}

enum status inputs_expand(struct inputs_paths *out, char *const *args, size_t count,
                          struct fault *fault)
{
    enum status st = ST_OK;
    *out = (struct inputs_paths){ 0 };
    for (size_t i = 0; i < count && st == ST_OK; i++)
        st = is_directory(args[i]) ? add_directory(out, args[i], fault) : add(out, args[i], fault);
    return st;
}

void inputs_free_paths(struct inputs_paths *p)
{
    for (size_t i = 0; i < p->count; i++)
        free(p->path[i]);
    free(p->path);
    *p = (struct inputs_paths){ 0 };
}

/* Results are read; the traces move to the front, and their number is returned in *traces. */
static enum status read_results(struct inputs *in, size_t *traces, struct fault *fault)
{
    struct inputs_paths *p = &in->paths;
    enum status st = ST_OK;
    *traces = 0;
    for (size_t i = 0; i < p->count && st == ST_OK; i++) {
        char *path = p->path[i];
        if (result_is_result_file(path)) {
            st = result_read(&in->results, path, fault);
            continue;
        }
        p->path[i] = p->path[*traces];
        p->path[(*traces)++] = path;
    }
    if (st == ST_OK && *traces == 0 && !in->may_lack_traces)
        return fault_set(fault, ST_INVALID,
                         "%s: only results; add the .twt traces that were replayed",
                         p->count ? p->path[0] : "");
    return st;
}

enum status inputs_read(struct inputs *in, char *const *args, size_t count,
                        const struct policy *policy, struct fault *fault)
{
    size_t traces;
    enum status st = ST_OK;
    if (!in->files_only)
        st = inputs_expand(&in->paths, args, count, fault);
    else
        for (size_t i = 0; i < count && st == ST_OK; i++)
            st = add(&in->paths, args[i], fault);
    if (st == ST_OK)
        st = read_results(in, &traces, fault);
    if (st == ST_OK && traces == 0)
        return ST_OK;
    if (st == ST_OK)
        st = summary_build_phase(&in->summary, (const char *const *)in->paths.path, traces,
                                 in->phase, fault);
    if (st == ST_OK)
        st = analysis_build(&in->analysis, in->summary, &in->results, policy, fault);
    return st;
}

void inputs_free(struct inputs *in)
{
    analysis_free(in->analysis);
    summary_free(in->summary);
    result_free(&in->results);
    inputs_free_paths(&in->paths);
    *in = (struct inputs){ 0 };
}
