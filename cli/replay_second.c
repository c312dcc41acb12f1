/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/replay_second.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const double patience_s =
    120; /* importing PyTorch from a cold disk; a graph of many calls */

/* Beside this program, as a build tree and an installation lay it out. */
static bool find_script(char path[PATH_MAX])
{
    static const char *const places[] = { "../share/tilewise", "../" TILEWISE_DATADIR "/tilewise" };
    char directory[PATH_MAX];
    ssize_t bytes = readlink("/proc/self/exe", directory, sizeof directory - 1);
    directory[bytes > 0 ? bytes : 0] = '\0';
    char *slash = strrchr(directory, '/');
    if (slash)
        *slash = '\0';
    for (size_t i = 0; i < sizeof places / sizeof *places; i++)
        if (snprintf(path, PATH_MAX, "%s/%s/torch_companion.py", directory, places[i]) < PATH_MAX &&
            access(path, R_OK) == 0)
            return true;
    return false;
}

bool replay_second_start(struct companion *c, const char *python, const struct backend *backend,
                         char text[REPLAY_SECOND_BYTES])
{
    char script[PATH_MAX];
    struct fault fault = { .text = "" };
    const char *const command[] = { python, script, backend->name, NULL };
    if (!find_script(script)) {
        snprintf(text, REPLAY_SECOND_BYTES, "none: torch_companion.py is not installed");
        return false;
    }
    if (companion_start(c, command, patience_s, &fault) == ST_OK) {
        snprintf(text, REPLAY_SECOND_BYTES, "%s", c->name);
        return true;
    }
    snprintf(text, REPLAY_SECOND_BYTES,
             "none: %.100s says: %.150s; name a Python that has PyTorch: --python", python,
             fault.text);
    return false;
}
