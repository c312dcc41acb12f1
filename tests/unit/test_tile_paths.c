/* SPDX-License-Identifier: Apache-2.0
 *
 * Every call of tile.h on every path: the tile kernel that a dispatch table from a file names, the
 * library because it is forced, the library because the table sends the call there, and the
 * portable kernel because there is no library. The kernels of the table are the portable ones, so
 * that all paths exist on every processor. Data are small whole numbers: every path gives the same
 * bits.
 */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kernels/tile.h"

enum { M = 5, N = 3, K = 4, LD = 7, ELEMENTS = 64 };
enum { ROWS = TILEWISE_CALL_ROW_MAJOR, COLUMNS = TILEWISE_CALL_COL_MAJOR };
enum { PLAIN = TILEWISE_CALL_N, TURNED = TILEWISE_CALL_T };

/* Operands of either type, the same values in both. */
struct operands {
    float a32[ELEMENTS], b32[ELEMENTS], c32[ELEMENTS];
    double a64[ELEMENTS], b64[ELEMENTS], c64[ELEMENTS];
};

static double a_at(int i)
{
    return i % 5 - 2;
}
static double b_at(int i)
{
    return i % 7 - 3;
}
static double c_at(int i)
{
    return i % 3 + 1;
}

static struct operands fresh(void)
{
    struct operands o;
    for (int i = 0; i < ELEMENTS; i++) {
        o.a32[i] = (float)(o.a64[i] = a_at(i));
        o.b32[i] = (float)(o.b64[i] = b_at(i));
        o.c32[i] = (float)(o.c64[i] = c_at(i));
    }
    return o;
}

/* ---- the calls, and what they must give ---- */

static int sgemm(struct operands *o)
{
    return tilewise_sgemm(COLUMNS, PLAIN, TURNED, M, N, K, 2, o->a32, LD, o->b32, LD, 3, o->c32,
                          LD);
}

static int dgemm(struct operands *o)
{
    return tilewise_dgemm(COLUMNS, PLAIN, TURNED, M, N, K, 2, o->a64, LD, o->b64, LD, 3, o->c64,
                          LD);
}

static void want_gemm(double *c)
{
    for (int i = 0; i < M; i++)
        for (int j = 0; j < N; j++) {
            double sum = 0;
            for (int p = 0; p < K; p++)
                sum += a_at(i + p * LD) * b_at(j + p * LD);
            c[i + j * LD] = 2 * sum + 3 * c_at(i + j * LD);
        }
}

static int sgemv(struct operands *o)
{
    return tilewise_sgemv(ROWS, TURNED, M, N, -1, o->a32, LD, o->b32, 2, 2, o->c32, 3);
}

static int dgemv(struct operands *o)
{
    return tilewise_dgemv(ROWS, TURNED, M, N, -1, o->a64, LD, o->b64, 2, 2, o->c64, 3);
}

static void want_gemv(double *y)
{
    for (int j = 0; j < N; j++) {
        double sum = 0;
        for (int i = 0; i < M; i++)
            sum += a_at(i * LD + j) * b_at(2 * i);
        y[3 * j] = -sum + 2 * c_at(3 * j);
    }
}

static int saxpy(struct operands *o)
{
    return tilewise_saxpy(M, 4, o->b32, 2, o->c32, 1);
}

static int daxpy(struct operands *o)
{
    return tilewise_daxpy(M, 4, o->b64, 2, o->c64, 1);
}

static void want_axpy(double *y)
{
    for (int i = 0; i < M; i++)
        y[i] = 4 * b_at(2 * i) + c_at(i);
}

static int sadd(struct operands *o)
{
    return tilewise_sadd(ROWS, M, N, -2, o->b32, 4, o->c32, LD);
}

static int dadd(struct operands *o)
{
    return tilewise_dadd(ROWS, M, N, -2, o->b64, 4, o->c64, LD);
}

static void want_add(double *y)
{
    for (int i = 0; i < M; i++)
        for (int j = 0; j < N; j++)
            y[i * LD + j] = -2 * b_at(i * 4 + j) + c_at(i * LD + j);
}

static const struct wrapper {
    const char *name;
    bool single;
    int (*call)(struct operands *o);
    void (*want)(double *c);
} wrappers[] = {
    { "sgemm", true, sgemm, want_gemm }, { "dgemm", false, dgemm, want_gemm },
    { "sgemv", true, sgemv, want_gemv }, { "dgemv", false, dgemv, want_gemv },
    { "saxpy", true, saxpy, want_axpy }, { "daxpy", false, daxpy, want_axpy },
    { "sadd", true, sadd, want_add },    { "dadd", false, dadd, want_add },
};
enum { WRAPPERS = sizeof wrappers / sizeof wrappers[0] };

/* ---- the table ---- */

#define ROW(type, rest)                                                                            \
    "- { dtype: f32, " rest ", kernel: " type "_f32_portable }\n"                                  \
    "- { dtype: f64, " rest ", kernel: " type "_f64_portable }\n"
static const char table[] =
    "kernels:\n" ROW("gemm", "op: gemm, layout: col, trans: NT, m: 5, n: 3, k: 4, batch: 1, "
                             "ld: { a: 7, b: 7, c: 7 }")
        ROW("gemv", "op: gemv, layout: row, trans: TN, m: 5, n: 3, k: 1, batch: 1, "
                    "ld: { a: 7, b: 2, c: 3 }")
            ROW("add", "op: add, layout: col, trans: NN, m: 5, n: 1, k: 1, batch: 1, "
                       "ld: { a: 0, b: 2, c: 1 }")
                ROW("add", "op: add, layout: row, trans: NN, m: 5, n: 3, k: 1, batch: 1, "
                           "ld: { a: 0, b: 4, c: 7 }");

/* Obeyed from the first call on, so that no built-in preference of this processor is. */
static void obey(const char *text)
{
    char path[] = "/tmp/tilewise-paths-XXXXXX", why[256] = "";
    int fd = mkstemp(path);
    cr_assert(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text));
    close(fd);
    cr_assert_eq(tilewise_tile_load(path, why, sizeof why), 0, "%s", why);
    unlink(path);
}

static void force_baseline(void)
{
    struct tilewise_tile_config config;
    tilewise_tile_current(&config);
    config.force_baseline = 1;
    tilewise_tile_configure(&config);
}

static void without_library(void)
{
    setenv("TILEWISE_BLAS", "/nowhere/libnothing.so", 1);
}

/* ---- the paths ---- */

static void expect_result(const struct wrapper *w, const char *path)
{
    struct operands o = fresh();
    double want[ELEMENTS];
    for (int i = 0; i < ELEMENTS; i++)
        want[i] = c_at(i);
    w->want(want);
    cr_assert_eq(w->call(&o), 0, "%s on the path '%s'", w->name, path);
    for (int i = 0; i < ELEMENTS; i++) {
        double got = w->single ? (double)o.c32[i] : o.c64[i];
        cr_expect_eq(got, want[i], "%s on the path '%s': element %d is %g, not %g", w->name, path,
                     i, got, want[i]);
    }
}

/* Every wrapper once; each takes exactly this path. */
static void expect_path(const char *path)
{
    for (size_t i = 0; i < WRAPPERS; i++) {
        struct tilewise_tile_counts before, after;
        tilewise_tile_count(&before);
        expect_result(&wrappers[i], path);
        tilewise_tile_count(&after);
        cr_expect_eq(after.tile - before.tile, strcmp(path, "tile") == 0, "%s", wrappers[i].name);
        cr_expect_eq(after.library - before.library, strcmp(path, "library") == 0, "%s",
                     wrappers[i].name);
        cr_expect_eq(after.portable - before.portable, strcmp(path, "portable") == 0, "%s",
                     wrappers[i].name);
        cr_expect_eq(after.no_memory, 0);
    }
}

Test(tile_paths, the_table_sends_every_wrapper_to_its_kernel)
{
    obey(table);
    expect_path("tile");
}

Test(tile_paths, forced_every_wrapper_goes_to_the_library)
{
    obey(table);
    force_baseline();
    expect_path("library");
}

Test(tile_paths, what_the_table_does_not_name_goes_to_the_library)
{
    obey("kernels: []\n");
    expect_path("library");
}

Test(tile_paths, without_a_library_every_wrapper_falls_back_to_the_portable_kernel,
     .init = without_library)
{
    obey("kernels: []\n");
    expect_path("portable");
}

Test(tile_paths, without_a_library_the_way_back_ends_at_the_portable_kernel,
     .init = without_library)
{
    obey(table);
    force_baseline();
    expect_path("portable");
}

Test(tile_paths, without_a_library_the_tile_kernels_run_all_the_same, .init = without_library)
{
    obey(table);
    expect_path("tile");
}
