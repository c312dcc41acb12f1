/* SPDX-License-Identifier: Apache-2.0 */
#include "replayer/candidates.h"

#include <dirent.h>
#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "replayer/candidate_name.h"

static const char *missing_field(const struct tilewise_candidate *row)
{
    return !row->name       ? "name"
           : !row->target   ? "target"
           : !row->summary  ? "summary"
           : !row->supports ? "supports"
           : !row->run      ? "run"
                            : NULL;
}

static enum status check_fields(const struct candidates *c, const struct tilewise_candidate *row,
                                const char *origin, struct fault *fault)
{
    const char *missing = missing_field(row);
    struct fault name;
    if (missing)
        return fault_set(fault, ST_INVALID, "%s: candidate '%s' lacks the required field '%s'",
                         origin, row->name ? row->name : "?", missing);
    if (candidate_name_check(row->name, &name) != ST_OK)
        return fault_set(fault, name.status, "%s: %s", origin, name.text);
    if (strcmp(row->target, "cpu") != 0 && strcmp(row->target, "cuda") != 0)
        return fault_set(fault, ST_INVALID,
                         "%s: candidate '%s' has the target '%.20s': cpu or cuda", origin,
                         row->name, row->target);
    for (size_t i = 0; i < c->count; i++)
        if (strcmp(c->row[i]->name, row->name) == 0)
            return fault_set(fault, ST_INVALID, "%s: the name '%s' is taken by %s", origin,
                             row->name, c->origin[i]);
    return ST_OK;
}

/* Nothing behind `bytes` is looked at before both numbers are right. */
static enum status check_row(const struct candidates *c, const struct tilewise_candidate *row,
                             const char *origin, struct fault *fault)
{
    if (row == NULL)
        return fault_set(fault, ST_INVALID, "%s: a row of its table is NULL", origin);
    if (row->abi != TILEWISE_CANDIDATE_ABI || row->bytes < sizeof *row)
        return fault_set(fault, ST_VERSION,
                         "%s: built for candidate ABI %u with %u bytes, this tilewise has ABI %u "
                         "with %zu bytes; rebuild it",
                         origin, row->abi, row->bytes, TILEWISE_CANDIDATE_ABI, sizeof *row);
    return check_fields(c, row, origin, fault);
}

enum status candidates_add(struct candidates *c, const struct tilewise_candidate *const *table,
                           size_t count, const char *origin, struct fault *fault)
{
    for (size_t i = 0; i < count; i++) {
        if (c->count == CANDIDATES_MAX)
            return fault_set(fault, ST_LIMIT, "%s: more than %d candidates", origin,
                             CANDIDATES_MAX);
        enum status st = check_row(c, table[i], origin, fault);
        if (st != ST_OK)
            return st;
        c->row[c->count] = table[i];
        c->origin[c->count++] = origin;
    }
    return ST_OK;
}

/* Loading is running: who can write the file can be whoever runs tilewise. */
static enum status check_file(const char *path, struct fault *fault)
{
    struct stat info;
    if (path[0] != '/')
        return fault_set(fault, ST_INVALID, "plug-in '%s': give the absolute path", path);
    if (stat(path, &info) < 0)
        return fault_set(fault, ST_IO, "plug-in '%s': %s", path, strerror(errno));
    if (!S_ISREG(info.st_mode))
        return fault_set(fault, ST_INVALID, "plug-in '%s' is not a regular file", path);
    if (info.st_mode & (S_IWGRP | S_IWOTH))
        return fault_set(fault, ST_INVALID, "plug-in '%s' can be written by others; chmod go-w it",
                         path);
    if (info.st_uid != 0 && info.st_uid != geteuid())
        return fault_set(fault, ST_INVALID, "plug-in '%s' belongs to another user", path);
    return ST_OK;
}

static bool read_header(const char *path, Elf64_Ehdr *out)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t got = fd < 0 ? -1 : read(fd, out, sizeof *out);
    if (fd >= 0)
        close(fd);
    return got == sizeof *out;
}

/* dlopen() would say "invalid ELF header" to all of it. */
static enum status check_elf(const char *path, struct fault *fault)
{
    Elf64_Ehdr own, its; /* the fields that are looked at lie at the same place in 32 bits */
    if (!read_header("/proc/self/exe", &own))
        return ST_OK; /* let the loader say it */
    if (!read_header(path, &its) || memcmp(its.e_ident, ELFMAG, SELFMAG) != 0)
        return fault_set(fault, ST_INVALID,
                         "plug-in '%s' is no shared object: it has no ELF header", path);
    if (its.e_ident[EI_CLASS] != own.e_ident[EI_CLASS] || its.e_machine != own.e_machine)
        return fault_set(fault, ST_INVALID,
                         "plug-in '%s' is built for another processor (ELF machine %u, %s bits; "
                         "here it is %u)",
                         path, its.e_machine, its.e_ident[EI_CLASS] == ELFCLASS32 ? "32" : "64",
                         own.e_machine);
    if (its.e_type != ET_DYN)
        return fault_set(fault, ST_INVALID,
                         "plug-in '%s' is an object file or a program: link it with -shared", path);
    return ST_OK;
}

static enum status load_plugin(struct candidates *c, const char *path, struct fault *fault)
{
    size_t count = 0;
    tilewise_candidates_fn list;
    enum status st = check_file(path, fault);
    if (st == ST_OK)
        st = check_elf(path, fault);
    if (st != ST_OK)
        return st;
    if (c->nplugins == CANDIDATES_PLUGINS_MAX)
        return fault_set(fault, ST_LIMIT, "more than %d plug-ins", CANDIDATES_PLUGINS_MAX);
    void *plugin = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (plugin == NULL)
        return fault_set(fault, ST_IO, "plug-in does not load: %s", dlerror());
    c->plugin[c->nplugins++] = plugin;
    *(void **)&list = dlsym(plugin, TILEWISE_CANDIDATES_SYMBOL);
    if (list == NULL)
        return fault_set(fault, ST_INVALID, "plug-in '%s' does not export %s", path,
                         TILEWISE_CANDIDATES_SYMBOL);
    const struct tilewise_candidate *const *table = list(TILEWISE_CANDIDATE_ABI, &count);
    if (table == NULL)
        return fault_set(fault, ST_VERSION, "plug-in '%s' does not serve candidate ABI %u", path,
                         TILEWISE_CANDIDATE_ABI);
    if (count == 0)
        return fault_set(fault, ST_INVALID, "plug-in '%s' offers no candidates", path);
    return candidates_add(c, table, count, path, fault);
}

/* ---- manifests ---- */

static bool is_manifest(const char *path)
{
    const char *dot = strrchr(path, '.');
    return dot && (strcmp(dot, ".yaml") == 0 || strcmp(dot, ".yml") == 0);
}

static enum status load_manifest(struct candidates *c, const char *path, struct fault *fault)
{
    if (c->nmanifests == CANDIDATES_PLUGINS_MAX)
        return fault_set(fault, ST_LIMIT, "more than %d manifests", CANDIDATES_PLUGINS_MAX);
    struct manifest *m = NULL;
    enum status st = manifest_read(&m, path, fault);
    if (st != ST_OK)
        return st;
    c->manifest[c->nmanifests++] = m;
    return candidates_add(c, m->rows, m->ncandidates, m->path, fault);
}

static int is_manifest_entry(const struct dirent *entry)
{
    return is_manifest(entry->d_name);
}

static enum status load_folder(struct candidates *c, const char *path, struct fault *fault)
{
    struct dirent **entries;
    int count = scandir(path, &entries, is_manifest_entry, alphasort);
    if (count < 0)
        return fault_set(fault, ST_IO, "%s: %s", path, strerror(errno));
    enum status st =
        count ? ST_OK : fault_set(fault, ST_INVALID, "%s: no manifest (*.yaml) in it", path);
    for (int i = 0; i < count; i++) {
        char file[PATH_MAX];
        if (st == ST_OK &&
            snprintf(file, sizeof file, "%s/%s", path, entries[i]->d_name) < PATH_MAX)
            st = load_manifest(c, file, fault);
        free(entries[i]);
    }
    free(entries);
    return st;
}

enum status candidates_load(struct candidates *c, const char *path, struct fault *fault)
{
    struct stat info;
    if (stat(path, &info) == 0 && S_ISDIR(info.st_mode))
        return load_folder(c, path, fault);
    return is_manifest(path) ? load_manifest(c, path, fault) : load_plugin(c, path, fault);
}

const char *candidates_complaint(const struct tilewise_candidate *c, const char *otherwise)
{
    const char *text = c->complaint ? c->complaint(c) : "";
    return text[0] ? text : otherwise;
}

void candidates_close(struct candidates *c)
{
    while (c->nplugins)
        dlclose(c->plugin[--c->nplugins]);
    while (c->nmanifests)
        manifest_free(c->manifest[--c->nmanifests]);
    c->count = 0;
}
