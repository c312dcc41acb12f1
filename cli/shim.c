/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/shim.h"

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static enum status copy(const char *found, char *path, size_t path_bytes, struct fault *fault)
{
    if (strlen(found) >= path_bytes)
        return fault_set(fault, ST_LIMIT, "%.200s...: the path of the shim is too long", found);
    strcpy(path, found);
    return ST_OK;
}

static bool program_directory(char directory[PATH_MAX])
{
    ssize_t bytes = readlink("/proc/self/exe", directory, PATH_MAX - 1);
    if (bytes <= 0)
        return false;
    directory[bytes] = '\0';
    char *slash = strrchr(directory, '/');
    if (slash)
        *slash = '\0';
    return slash != NULL;
}

enum status shim_find(char *path, size_t path_bytes, struct fault *fault)
{
    static const char *const places[] = { ".", "../lib", ("../" TILEWISE_LIBDIR "/tilewise") };
    char directory[PATH_MAX], candidate[PATH_MAX + 64], real[PATH_MAX];
    const char *given = getenv("TILEWISE_SHIM");
    if (given && given[0])
        return realpath(given, real) ? copy(real, path, path_bytes, fault)
                                     : fault_set(fault, ST_IO, "TILEWISE_SHIM=%.200s: %m", given);
    if (!program_directory(directory))
        return fault_set(fault, ST_IO, "/proc/self/exe: %m; set TILEWISE_SHIM to the shim's path");
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        snprintf(candidate, sizeof candidate, "%s/%s/libtilewise-tracer.so", directory, places[i]);
        if (realpath(candidate, real))
            return copy(real, path, path_bytes, fault);
    }
    return fault_set(
        fault, ST_IO,
        "no libtilewise-tracer.so beside %.200s: build it, or set TILEWISE_SHIM to its path",
        directory);
}
