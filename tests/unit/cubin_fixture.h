/* SPDX-License-Identifier: Apache-2.0
 *
 * A folder with cubins of the simulated GPU (tests/gpu-fake/fake_module.c) and a manifest.
 */
#ifndef TILEWISE_TESTS_CUBIN_FIXTURE_H
#define TILEWISE_TESTS_CUBIN_FIXTURE_H

#include <criterion/criterion.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "replayer/manifest.h"

static char cubin_folder[64], cubin_path[96];
static struct fault cubin_fault;

static inline void cubin_set_up(void)
{
    strcpy(cubin_folder, "/tmp/tilewise-cubin-XXXXXX");
    cr_assert_not_null(mkdtemp(cubin_folder));
    snprintf(cubin_path, sizeof cubin_path, "%s/m.yaml", cubin_folder);
}

static inline void cubin_tear_down(void)
{
    char command[128];
    snprintf(command, sizeof command, "rm -rf %s", cubin_folder);
    cr_assert_eq(system(command), 0);
}

static inline void cubin_write(const char *name, const char *text)
{
    char path[160];
    snprintf(path, sizeof path, "%s/%s", cubin_folder, name);
    FILE *file = fopen(path, "w");
    cr_assert_not_null(file);
    fputs(text, file);
    cr_assert_eq(fclose(file), 0);
}

/* The hash of a text, in digits. */
static inline const char *cubin_sha256(const char *text)
{
    static char digits[2 * SHA256_BYTES + 1];
    uint8_t digest[SHA256_BYTES];
    sha256(text, strlen(text), digest);
    for (int i = 0; i < SHA256_BYTES; i++)
        sprintf(digits + 2 * i, "%02x", digest[i]);
    return digits;
}

/* A row of `cubins:` for a file that is written here. */
static inline const char *cubin_row(const char *arch, const char *name, const char *text)
{
    static char row[256];
    cubin_write(name, text);
    snprintf(row, sizeof row, "      - { arch: %s, file: %s, sha256: %s }\n", arch, name,
             cubin_sha256(text));
    return row;
}

/* One module `k` with one cubin for sm_90, and this text of candidates. */
static inline void cubin_manifest(const char *cubin, const char *candidates)
{
    char text[16384];
    snprintf(text, sizeof text,
             "format: 1\nmodules:\n  - name: k\n    compilers: [fake 1.0, other 2]\n    cubins:\n%s"
             "candidates:\n%s",
             cubin_row("sm_90", "k.cubin", cubin), candidates);
    cubin_write("m.yaml", text);
}

static inline struct manifest *cubin_read(void)
{
    struct manifest *m = NULL;
    cr_assert_eq(manifest_read(&m, cubin_path, &cubin_fault), ST_OK, "%s", cubin_fault.text);
    return m;
}

#endif
