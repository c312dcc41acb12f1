/* SPDX-License-Identifier: Apache-2.0
 *
 * A host program that is linked to no BLAS and finds it with dlsym: host_dl MODE [LIBRARY...].
 * Exit status 0 when everything was as it would be without a recorder.
 */
#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "fake_blas.h"
#include "rows.h"

#define ROW(family, symbol, integer, element)                                                      \
    typedef void type_##symbol(family##_PARAMS(integer, element));
#include "tracer/cblas.def"
#include "tracer/fblas.def"
#undef ROW

static bool failed;

static void expect(bool good, const char *text)
{
    if (!good)
        printf("wrong: %s\n", text);
    failed |= !good;
}

static void *open_library(const char *path)
{
    void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!handle)
        printf("wrong: %s\n", dlerror());
    failed |= !handle;
    return handle;
}

static uint64_t calls_of(void *handle)
{
    _Atomic uint64_t *calls = dlsym(handle, "fake_calls_here");
    return calls ? *calls : 0;
}

static void call_sgemm(void *function, int times)
{
    type_cblas_sgemm *f = (type_cblas_sgemm *)function;
    for (int i = 0; f && i < times; i++)
        CBLAS_GEMM_CALL(f, int, s);
}

/* Every row, as often as `host rows` calls it. */
static void rows(char **library)
{
    void *handle = open_library(library[0]);
    if (!handle)
        return;
#define ROW(family, symbol, integer, element)                                                      \
    for (int i = 0; i < 1 + SLOT_##symbol % 3; i++) {                                              \
        type_##symbol *f = (type_##symbol *)dlsym(handle, #symbol);                                \
        expect(f != NULL, #symbol);                                                                \
        if (f)                                                                                     \
            family##_CALL(f, integer, element);                                                    \
    }
#include "tracer/cblas.def"
#include "tracer/fblas.def"
#undef ROW
    struct fake_counts *(*counts)(void) =
        (struct fake_counts * (*)(void)) dlsym(handle, "fake_counts");
    expect(counts && counts()->received == counts()->total, "arguments arrive unchanged");
}

/* dlsym's other half: dlerror. */
static void errors(char **library)
{
    void *handle = open_library(library[0]), *libm = open_library("libm.so.6");
    dlerror();
    expect(!dlsym(libm, "cblas_sgemm") && dlerror(),
           "a name that the library has not: NULL, error");
    expect(!dlerror(), "an error is told once");
    expect(!dlsym(handle, "no_such_name") && dlsym(handle, "cblas_sgemm"), "found after a failure");
    expect(!dlerror(), "a success clears the error");
    expect(!dlsym(RTLD_DEFAULT, "cblas_sgemm"), "RTLD_LOCAL is not in the global scope");
    const char *text = dlerror();
    expect(text && strstr(text, "cblas_sgemm"), "its error names the symbol");
    expect(!dlsym(dlopen(NULL, RTLD_NOW), "cblas_sgemm") && dlerror(), "nor in the program's");
    expect(!dlsym(RTLD_NEXT, "no_such_name") && dlerror(), "RTLD_NEXT fails as ever");
    expect(dlsym(RTLD_DEFAULT, "puts") == (void *)puts, "names outside the tables are untouched");
    call_sgemm(dlsym(handle, "cblas_sgemm"), 2);
    expect(calls_of(handle) == 2, "the library was called");
}

static void global(char **library)
{
    void *handle = dlopen(library[0], RTLD_NOW | RTLD_GLOBAL);
    call_sgemm(dlsym(RTLD_DEFAULT, "cblas_sgemm"), 3);
    call_sgemm(dlsym(dlopen(NULL, RTLD_NOW), "cblas_sgemm"), 4);
    expect(handle && calls_of(handle) == 7, "found in the global scope");
}

static void versioned(char **library)
{
    void *handle = open_library(library[0]);
    void *found = handle ? dlvsym(handle, "cblas_sgemm", "BLAS_1") : NULL;
    expect(found != NULL, "dlvsym finds the version");
    expect(handle && !dlvsym(handle, "cblas_sgemm", "BLAS_2") && dlerror(), "and no other");
    expect(dlvsym(RTLD_DEFAULT, "puts", "GLIBC_2.2.5") != NULL ||
               dlvsym(RTLD_DEFAULT, "puts", "GLIBC_2.17") != NULL,
           "names outside the tables");
    call_sgemm(found, 6);
    expect(handle && calls_of(handle) == 6, "the library was called");
}

/* Library i is called i + 2 times, by its own handle. */
static void copies(char **library)
{
    for (int i = 0; library[i]; i++)
        call_sgemm(dlsym(open_library(library[i]), "cblas_sgemm"), i + 2);
    for (int i = 0; library[i]; i++)
        expect(calls_of(open_library(library[i])) == (uint64_t)i + 2, library[i]);
}

/* Plugins, each linked to a copy of its own: pairs of plugin and copy. */
static void plugins(char **library)
{
    for (int round = 0; round < 2; round++)
        for (int i = 0; library[i] && library[i + 1]; i += 2) {
            void (*run)(int) = (void (*)(int))dlsym(open_library(library[i]), "plugin_run");
            expect(run != NULL, library[i]);
            if (run)
                run(i + 3);
        }
    for (int i = 0; library[i] && library[i + 1]; i += 2)
        expect(calls_of(open_library(library[i + 1])) == 2 * ((uint64_t)i + 3), library[i + 1]);
}

static void netlib(char **library)
{
    void *handle = open_library(library[0]);
    void (*solve)(int) = (void (*)(int))dlsym(handle, "solve_");
    call_sgemm(dlsym(handle, "cblas_sgemm"), 4);
    if (solve)
        solve(5);
    int *cblas = dlsym(handle, "netlib_cblas"), *fortran = dlsym(handle, "netlib_fortran");
    expect(cblas && *cblas == 4 && fortran && *fortran == 9, "the library was called");
}

static void vendor(char **library)
{
    void *part = open_library(library[1]);
    call_sgemm(dlsym(open_library(library[0]), "cblas_sgemm"), 3);
    expect(part && calls_of(part) == 3, "the part was called");
}

/* With next.so preloaded, before or behind the recorder. */
static void next(char **library)
{
    void *handle = dlopen(library[0], RTLD_NOW | RTLD_GLOBAL);
    puts("through both");
    call_sgemm(dlsym(RTLD_DEFAULT, "cblas_sgemm"), 5);
    int *calls = dlsym(RTLD_DEFAULT, "next_calls");
    expect(calls && *calls == 5, "the other preload saw the calls");
    expect(handle && calls_of(handle) == 5, "the library was called");
}

/* A function that only has a name of BLAS. */
static void homonym(char **library)
{
    void *handle = open_library(library[0]);
    int (*run)(void) = handle ? (int (*)(void))dlsym(handle, "homonym_run") : NULL;
    typedef float saxpy_type(int, float, const float *, float *, double, int, long, long, long,
                             long, long);
    saxpy_type *found = handle ? (saxpy_type *)dlsym(handle, "saxpy") : NULL;
    float x = 1, y = 1;
    expect(run && run() && run(), "called through the linker");
    expect(found && found(1, 3, &x, &y, 2, 1, 1, 1, 1, 1, 1) == 12 && y == 4, "called by dlsym");
}

/* RTLD_DEEPBIND goes past every preload: nothing is seen, nothing breaks. */
static void deepbind(char **library)
{
    void *handle = dlopen(library[0], RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND);
    void (*run)(int) = handle ? (void (*)(int))dlsym(handle, "plugin_run") : NULL;
    expect(run != NULL, "the plugin loads");
    if (run)
        run(3);
    expect(calls_of(open_library(library[1])) == 3, "the library was called");
}

static const struct {
    const char *name;
    void (*run)(char **library);
} mode[] = {
    { "rows", rows },           { "errors", errors },   { "global", global },
    { "versioned", versioned }, { "copies", copies },   { "plugins", plugins },
    { "netlib", netlib },       { "vendor", vendor },   { "next", next },
    { "deepbind", deepbind },   { "homonym", homonym },
};

int main(int argc, char **argv)
{
    for (size_t i = 0; argc > 2 && i < sizeof mode / sizeof *mode; i++)
        if (strcmp(mode[i].name, argv[1]) == 0) {
            mode[i].run(argv + 2);
            return failed;
        }
    fprintf(stderr, "usage: host_dl MODE LIBRARY...\n");
    return 64;
}
