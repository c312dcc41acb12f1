/* SPDX-License-Identifier: Apache-2.0
 *
 * The one call site: every path, forced and chosen, gives the same result within the bound.
 */
#include "kernels/tile.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kernels/cpu/isa.h"

#include "kernel_case.h"

static struct tilewise_tile_counts counts(void)
{
    struct tilewise_tile_counts c;
    tilewise_tile_count(&c);
    return c;
}

static void force(int baseline)
{
    struct tilewise_tile_config config;
    tilewise_tile_current(&config);
    config.force_baseline = baseline;
    tilewise_tile_configure(&config);
}

static struct tilewise_signature large(enum tilewise_dtype dtype)
{
    struct tilewise_signature s = kernel_gemm(dtype, 130, 120, 110);
    kernel_set_ld(&s, 3);
    return s;
}

static void check_run(const struct tilewise_signature *s, double alpha, double beta)
{
    struct kernel_case k;
    kernel_case_make(&k, s, alpha, beta, 99);
    cr_assert_eq(tilewise_tile_run(s, &k.args), 0);
    kernel_case_check(&k, "tile");
    kernel_case_free(&k);
}

/* What the dispatch table prefers here: no tile kernel without AVX2. */
static bool has_tile(void)
{
    return isa_is_present(ISA_AVX2);
}

Test(tile, the_tile_kernel_runs)
{
    struct tilewise_signature s = large(TILEWISE_F32);
    check_run(&s, 1, 0);
    cr_expect_eq(counts().tile, has_tile() ? 1 : 0);
    cr_expect_eq(counts().library, has_tile() ? 0 : 1);
}

Test(tile, forced_to_the_library_and_back)
{
    struct tilewise_signature s = large(TILEWISE_F32);
    force(1);
    check_run(&s, 0.5, 2);
    cr_expect_eq(counts().library, 1);
    cr_expect_eq(counts().tile, 0);
    force(0);
    check_run(&s, 0.5, 2);
    cr_expect_eq(counts().tile, has_tile() ? 1 : 0);
}

static void set_environment(void)
{
    setenv("TILEWISE_FORCE_BASELINE", "1", 1);
}

Test(tile, the_environment_is_the_rollback, .init = set_environment)
{
    struct tilewise_signature s = large(TILEWISE_F64);
    check_run(&s, 1, 0);
    cr_expect_eq(counts().library, 1);
    cr_expect_eq(counts().tile, 0);
}

static void set_environment_to_zero(void)
{
    setenv("TILEWISE_FORCE_BASELINE", "0", 1);
}

Test(tile, zero_in_the_environment_forces_nothing, .init = set_environment_to_zero)
{
    struct tilewise_tile_config config;
    tilewise_tile_current(&config);
    cr_expect_eq(config.force_baseline, 0);
    cr_expect_geq(config.threads, 1);
}

Test(tile, both_paths_all_layouts_and_transposes)
{
    for (int way = 0; way < 32; way++) {
        struct tilewise_signature s =
            kernel_gemm(way & 1 ? TILEWISE_F64 : TILEWISE_F32, 101, 67, 203);
        s.layout = way & 2 ? TILEWISE_ROW_MAJOR : TILEWISE_COL_MAJOR;
        s.trans_a = way & 4 ? TILEWISE_T : TILEWISE_N;
        s.trans_b = way & 8 ? TILEWISE_C : TILEWISE_N;
        kernel_set_ld(&s, 2);
        force(way & 16 ? 1 : 0);
        check_run(&s, 1.25, way & 4 ? 0 : 0.5);
    }
    cr_expect_eq(counts().tile, has_tile() ? 16 : 0);
    cr_expect_eq(counts().library, has_tile() ? 16 : 32);
}

Test(tile, gemv_on_both_paths)
{
    for (int forced = 0; forced < 2; forced++)
        for (int way = 0; way < 4; way++) {
            struct tilewise_signature s = kernel_gemm(TILEWISE_F32, 200, 301, 1);
            s.op = TILEWISE_OP_GEMV;
            s.layout = way & 1 ? TILEWISE_ROW_MAJOR : TILEWISE_COL_MAJOR;
            s.trans_a = way & 2 ? TILEWISE_T : TILEWISE_N;
            s.lda = 301, s.ldb = -2, s.ldc = s.ldd = 3;
            force(forced);
            check_run(&s, 1, 0.5);
        }
}

/* A table that sends one shape to the portable kernel, which no built-in table does. */
static const char *write_table(const char *kernel)
{
    static char path[] = "/tmp/tilewise-dispatch-XXXXXX";
    int fd = mkstemp(path);
    cr_assert_geq(fd, 0);
    dprintf(fd,
            "kernels:\n- { op: gemm, dtype: f32, layout: col, trans: NN, m: 130, n: 120, k: 110,\n"
            "    batch: 1, ld: { a: 133, b: 113, c: 133 }, kernel: %s }\n",
            kernel);
    close(fd);
    return path;
}

static void name_table(void)
{
    setenv("TILEWISE_DISPATCH", write_table("gemm_f32_portable"), 1);
}

static void name_broken_table(void)
{
    setenv("TILEWISE_DISPATCH", write_table("gemm_f32_portabel"), 1);
}

static void remove_table(void)
{
    unlink(getenv("TILEWISE_DISPATCH"));
}

Test(tile, a_table_from_a_file_is_obeyed, .init = name_table, .fini = remove_table)
{
    struct tilewise_signature s = large(TILEWISE_F32), other = large(TILEWISE_F64);
    check_run(&s, 1, 0.5);
    cr_expect_eq(counts().tile, 1, "whatever the processor");
    check_run(&other, 1, 0.5);
    cr_expect_eq(counts().library, 1, "what it does not name");
    cr_expect_str_eq(tilewise_tile_problem(), "");
    force(1);
    check_run(&s, 1, 0.5);
    cr_expect_eq(counts().library, 2, "the way back");
}

Test(tile, a_table_with_a_mistake_leaves_everything, .init = name_broken_table,
     .fini = remove_table)
{
    struct tilewise_signature s = large(TILEWISE_F32);
    check_run(&s, 1, 0.5);
    cr_expect_eq(counts().tile, 0);
    cr_expect_eq(counts().library, 1);
    cr_expect_not_null(strstr(tilewise_tile_problem(), ":3:55: kernel 'gemm_f32_portabel' is not"));
    cr_expect_not_null(strstr(tilewise_tile_problem(), "did you mean 'gemm_f32_portable'?"));
}

Test(tile, a_table_is_loaded_and_left_while_the_program_runs)
{
    struct tilewise_signature s = large(TILEWISE_F32);
    char why[200];
    const char *path = write_table("gemm_f32_portable");
    check_run(&s, 1, 0.5);
    uint64_t built_in = counts().tile;
    cr_expect_eq(tilewise_tile_load(path, why, sizeof why), 0, "%s", why);
    cr_expect_str_eq(why, "");
    check_run(&s, 1, 0.5);
    cr_expect_eq(counts().tile, built_in + 1);
    unlink(path);
    cr_expect_eq(tilewise_tile_load(path, why, sizeof why), -EIO);
    cr_expect_not_null(strstr(why, "No such file"));
    check_run(&s, 1, 0.5);
    cr_expect_eq(counts().tile, built_in + 2, "it is still obeyed");
    cr_expect_eq(tilewise_tile_load(NULL, NULL, 0), 0);
    check_run(&s, 1, 0.5);
    cr_expect_eq(counts().tile, 2 * built_in + 2);
}

Test(tile, scratch_over_the_limit_goes_to_the_library)
{
    struct tilewise_signature s = large(TILEWISE_F32);
    struct tilewise_tile_config config;
    tilewise_tile_current(&config);
    config.scratch_limit_bytes = 0;
    tilewise_tile_configure(&config);
    check_run(&s, 1, 0);
    cr_expect_eq(counts().library, 1);
    cr_expect_eq(counts().no_memory, has_tile() ? 1 : 0);
}

static void without_library(void)
{
    setenv("TILEWISE_BLAS", "/nowhere/libnothing.so", 1);
}

Test(tile, without_a_library_the_portable_kernel_runs, .init = without_library)
{
    struct tilewise_signature s = large(TILEWISE_F32);
    force(1);
    check_run(&s, 1, 0.5);
    cr_expect_eq(counts().portable, 1);
    cr_expect_eq(counts().library, 0);
}

Test(tile, without_library_and_memory_ref_runs, .init = without_library)
{
    struct tilewise_signature s = large(TILEWISE_F32);
    struct tilewise_tile_config config = { .force_baseline = 1, .scratch_limit_bytes = 0 };
    tilewise_tile_configure(&config);
    check_run(&s, 1, 0.5);
    cr_expect_eq(counts().portable, 1);
    cr_expect_eq(counts().no_memory, 1);
}

Test(tile, one_triangle_is_done_by_ref)
{
    struct tilewise_signature s = kernel_gemm(TILEWISE_F32, 20, 20, 30);
    kernel_set_ld(&s, 0);
    s.uplo = TILEWISE_LOWER;
    check_run(&s, 1, 0.5);
    cr_expect_eq(counts().portable, 1);
}

Test(tile, unknown_types_are_refused)
{
    struct tilewise_signature s = kernel_gemm(TILEWISE_BF16, 4, 4, 4);
    kernel_set_ld(&s, 0);
    cr_expect_eq(tilewise_tile_run(&s, &(struct tilewise_args){ 0 }), -ENOTSUP);
}

Test(tile, strided_batches_on_both_paths)
{
    for (int forced = 0; forced < 2; forced++) {
        struct tilewise_signature s = kernel_gemm(TILEWISE_F64, 120, 110, 100);
        kernel_set_ld(&s, 0);
        s.batch_kind = TILEWISE_BATCH_STRIDED, s.batch = 2;
        s.stride_a = s.lda * s.k, s.stride_b = s.ldb * s.n + 1;
        s.stride_c = s.stride_d = s.ldc * s.n;
        force(forced);
        check_run(&s, 1, 0.5);
    }
}

/* The wrappers, on numbers that can be checked by head: A = 1 2; 3 4, B = 5 6; 7 8 in rows. */
Test(tile, sgemm_and_dgemm)
{
    const float a[] = { 1, 2, 3, 4 }, b[] = { 5, 6, 7, 8 };
    const double a64[] = { 1, 2, 3, 4 }, b64[] = { 5, 6, 7, 8 };
    float c[4] = { 1, 1, 1, 1 };
    double c64[4] = { NAN, NAN, NAN, NAN };
    cr_assert_eq(tilewise_sgemm(TILEWISE_CALL_ROW_MAJOR, TILEWISE_CALL_N, TILEWISE_CALL_T, 2, 2, 2,
                                1, a, 2, b, 2, 1, c, 2),
                 0);
    cr_expect_eq(c[0], 5 + 12 + 1);
    cr_expect_eq(c[1], 7 + 16 + 1);
    cr_expect_eq(c[3], 21 + 32 + 1);
    cr_assert_eq(tilewise_dgemm(TILEWISE_CALL_COL_MAJOR, TILEWISE_CALL_N, TILEWISE_CALL_N, 2, 2, 2,
                                2, a64, 2, b64, 2, 0, c64, 2),
                 0);
    cr_expect_eq(c64[0], 2 * (1 * 5 + 3 * 6));
    cr_expect_eq(c64[3], 2 * (2 * 7 + 4 * 8));
}

Test(tile, sgemv_and_dgemv)
{
    const float a[] = { 1, 2, 3, 4, 5, 6 }, x[] = { 1, 10, 100 };
    const double a64[] = { 1, 2, 3, 4, 5, 6 }, x64[] = { 1, 10 };
    float y[2] = { 1, 1 };
    double y64[3] = { NAN, NAN, NAN };
    cr_assert_eq(
        tilewise_sgemv(TILEWISE_CALL_ROW_MAJOR, TILEWISE_CALL_N, 2, 3, 1, a, 3, x, 1, 2, y, 1), 0);
    cr_expect_eq(y[0], 321 + 2);
    cr_expect_eq(y[1], 654 + 2);
    cr_assert_eq(tilewise_dgemv(TILEWISE_CALL_ROW_MAJOR, TILEWISE_CALL_T, 2, 3, 1, a64, 3, x64, 1,
                                0, y64, 1),
                 0);
    cr_expect_eq(y64[0], 41);
    cr_expect_eq(y64[2], 63);
}

Test(tile, axpy_and_matrix_add)
{
    const float x[] = { 1, 2, 3, 4 };
    const double x64[] = { 1, 2, 3, 4, 5, 6 };
    float y[] = { 10, 20, 30, 40 };
    double y64[] = { 10, 20, 30, 40 };
    cr_assert_eq(tilewise_saxpy(4, 2, x, -1, y, 1), 0);
    cr_expect_eq(y[0], 18);
    cr_expect_eq(y[3], 42);
    cr_assert_eq(tilewise_dadd(TILEWISE_CALL_ROW_MAJOR, 2, 2, 1, x64, 3, y64, 2), 0);
    cr_expect_eq(y64[1], 22);
    cr_expect_eq(y64[2], 34);
    cr_expect_eq(y64[3], 45);
}

Test(tile, a_column_in_a_row_major_matrix_is_added_with_its_step)
{
    const float x[] = { 1, 0, 2, 0 };
    float y[] = { 10, 5, 5, 20 };
    cr_assert_eq(tilewise_sadd(TILEWISE_CALL_ROW_MAJOR, 2, 1, 1, x, 2, y, 3), 0);
    cr_expect_eq(y[0], 11);
    cr_expect_eq(y[1], 5);
    cr_expect_eq(y[3], 22);
    cr_assert_eq(tilewise_sadd(TILEWISE_CALL_COL_MAJOR, 2, 1, 1, x, 2, y, 3), 0);
    cr_expect_eq(y[0], 12);
    cr_expect_eq(y[1], 5);
}

Test(tile, daxpy_counts_as_one_call)
{
    double x = 3, y = 4;
    cr_assert_eq(tilewise_daxpy(1, 1, &x, 1, &y, 1), 0);
    cr_expect_eq(y, 7);
    cr_expect_eq(counts().tile + counts().library + counts().portable, 1);
}

static int bad_sgemm(int layout, int trans, int64_t m, int64_t ld)
{
    static float x[64];
    return tilewise_sgemm(layout, trans, TILEWISE_CALL_N, m, 4, 4, 1, x, ld, x + 16, 4, 0, x + 32,
                          4);
}

Test(tile, what_blas_refuses_is_refused)
{
    const int rows = TILEWISE_CALL_ROW_MAJOR, n = TILEWISE_CALL_N;
    cr_expect_eq(bad_sgemm(rows, n, 4, 4), 0);
    cr_expect_eq(bad_sgemm(100, n, 4, 4), -EINVAL);
    cr_expect_eq(bad_sgemm(rows, 110, 4, 4), -EINVAL);
    cr_expect_eq(bad_sgemm(rows, 115, 4, 4), -EINVAL);
    cr_expect_eq(bad_sgemm(rows, n, -1, 4), -EINVAL);
    cr_expect_eq(bad_sgemm(rows, n, 4, 3), -EINVAL);
    cr_expect_eq(counts().tile + counts().library + counts().portable, 1);
    float x[8] = { 0 };
    cr_expect_eq(tilewise_sgemv(rows, n, 2, 2, 1, x, 2, x + 4, 0, 0, x + 6, 1), -EINVAL);
    cr_expect_eq(tilewise_sadd(rows, 2, 2, 1, x, 1, x + 4, 2), -EINVAL);
    cr_expect_eq(tilewise_saxpy(-1, 1, x, 1, x, 1), -EINVAL);
}

Test(tile, empty_work_is_fine)
{
    float x[1] = { 7 };
    const int rows = TILEWISE_CALL_ROW_MAJOR, n = TILEWISE_CALL_N;
    cr_expect_eq(tilewise_sgemm(rows, n, n, 0, 1, 1, 1, x, 1, x, 1, 0, x, 1), 0);
    cr_expect_eq(tilewise_saxpy(0, 1, x, 1, x, 1), 0);
    cr_expect_eq(x[0], 7);
}

static void *run_large(void *unused)
{
    struct tilewise_signature s = large(TILEWISE_F32);
    for (int i = 0; i < 20; i++)
        check_run(&s, 1, 0.5);
    return unused;
}

Test(tile, many_threads_at_once)
{
    pthread_t threads[4];
    for (int i = 0; i < 4; i++)
        cr_assert_eq(pthread_create(&threads[i], NULL, run_large, NULL), 0);
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    cr_expect_eq(counts().tile, has_tile() ? 80 : 0);
}

Test(tile, a_forked_child_goes_on, .timeout = 60)
{
    struct tilewise_signature s = kernel_gemm(TILEWISE_F32, 300, 300, 300);
    struct tilewise_tile_config config = { .threads = 2, .scratch_limit_bytes = SIZE_MAX };
    kernel_set_ld(&s, 0);
    tilewise_tile_configure(&config);
    check_run(&s, 1, 0);
    pid_t child = fork();
    if (child == 0) {
        check_run(&s, 1, 0);
        _exit(0);
    }
    int status;
    cr_assert_eq(waitpid(child, &status, 0), child);
    cr_expect(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}
