/* SPDX-License-Identifier: Apache-2.0
 *
 * The recorder's parts that need no host process.
 */
#include <criterion/criterion.h>
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "tracer/blas.h"
#include "tracer/clock.h"
#include "tracer/config.h"
#include "tracer/elf.h"
#include "tracer/table.h"
#include "tracer/thread.h"

static bool load(const char *const *variables, const char *program)
{
    memset(&config, 0, sizeof config);
    return config_load((char **)(uintptr_t)variables, program);
}

Test(config, armed_by_a_directory_alone)
{
    cr_assert(load((const char *[]){ "HOME=/", "TILEWISE_OUT=/d", NULL }, "python3"));
    cr_assert_str_eq(config.out, "/d");
    cr_assert(config.events);
    cr_assert(!config.cmdline);
    cr_assert_eq(config.size_cap_bytes, 1u << 30);
}

Test(config, unarmed_without_one)
{
    cr_assert(!load((const char *[]){ "HOME=/", NULL }, "python3"));
    cr_assert(!load((const char *[]){ "TILEWISE_OUT=", NULL }, "python3"));
    cr_assert(!load((const char *[]){ "TILEWISE_OUTPUT=/d", NULL }, "python3"));
    cr_assert(!load((const char *[]){ NULL }, NULL));
}

Test(config, kill_switch_wins)
{
    cr_assert(!load((const char *[]){ "TILEWISE_OUT=/d", "TILEWISE_DISABLE=1", NULL }, "python3"));
    cr_assert(load((const char *[]){ "TILEWISE_OUT=/d", "TILEWISE_DISABLE=0", NULL }, "python3"));
}

Test(config, settings)
{
    cr_assert(load((const char *[]){ "TILEWISE_OUT=/d", "TILEWISE_EVENTS=off",
                                     "TILEWISE_SIZE_CAP=3k", "TILEWISE_WITH_CMDLINE=1", NULL },
                   "x"));
    cr_assert(!config.events);
    cr_assert(config.cmdline);
    cr_assert_eq(config.size_cap_bytes, 3072);
}

Test(config, gpu_time_is_left_to_an_announced_tool)
{
    static const struct {
        const char *variable;
        bool taken;
    } cases[] = {
        { "NSYS_PROFILING_SESSION_ID=7", true },
        { "KINETO_USE_DAEMON=1", true },
        { "KINETO_CONFIG=/etc/libkineto.conf", true },
        { "CUDA_INJECTION64_PATH=/opt/tool.so", true },
        { "CUDA_INJECTION64_PATH=/x/libtilewise-tracer.so", false },
        { "CUDA_INJECTION64_PATH=", false },
        { "KINETO_USE_DAEMON=", false },
        { "KINETO_LOG_LEVEL=3", false },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *const wanted[] = { "TILEWISE_OUT=/d", "TILEWISE_GPU_TIME=full",
                                       cases[i].variable, NULL };
        const char *const unwanted[] = { "TILEWISE_OUT=/d", cases[i].variable, NULL };
        cr_assert(load(wanted, "x"));
        cr_assert_eq(config.gpu_taken, cases[i].taken, "%s", cases[i].variable);
        cr_assert(load(unwanted, "x"));
        cr_assert(!config.gpu_taken);
    }
}

Test(config, a_directory_that_is_too_long_records_nothing)
{
    static char text[8192] = "TILEWISE_OUT=";
    memset(text + strlen(text), 'x', 5000);
    cr_assert(!load((const char *[]){ text, NULL }, "x"));
}

Test(config, a_size_that_is_none_leaves_the_default)
{
    cr_assert(load((const char *[]){ "TILEWISE_OUT=/d", "TILEWISE_SIZE_CAP=lots", NULL }, "x"));
    cr_assert_eq(config.size_cap_bytes, 1u << 30);
}

Test(config, sizes)
{
    uint64_t bytes = 0;
    cr_assert(config_bytes("0", &bytes) && bytes == 0);
    cr_assert(config_bytes("1000", &bytes) && bytes == 1000);
    cr_assert(config_bytes("512M", &bytes) && bytes == 512u << 20);
    cr_assert(config_bytes("2t", &bytes) && bytes == 2ull << 40);
    cr_assert(config_bytes("18446744073709551615", &bytes) && bytes == UINT64_MAX);
    static const char *const bad[] = { "",
                                       "x",
                                       "-1",
                                       "1.5G",
                                       "1 G",
                                       "1GB",
                                       "1kk",
                                       "0x10",
                                       "18446744073709551616",
                                       "17179869184G",
                                       "18446744073709551615K" };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        cr_assert(!config_bytes(bad[i], &bytes), "%s", bad[i]);
}

Test(config, shells_and_compilers_are_denied)
{
    static const char *const denied[] = { "bash", "-bash", "/bin/bash", "gcc", "ptxas", "git" };
    for (size_t i = 0; i < sizeof denied / sizeof *denied; i++)
        cr_assert(!config_allows(denied[i], NULL), "%s", denied[i]);
    cr_assert(config_allows("python3", NULL));
    cr_assert(config_allows("/opt/venv/bin/python", ""));
    cr_assert(config_allows("bashful", NULL));
}

Test(config, the_allow_list_replaces_the_deny_list)
{
    cr_assert(config_allows("bash", "python3,bash"));
    cr_assert(config_allows("/usr/bin/python3", "python3,bash"));
    cr_assert(!config_allows("python", "python3,bash"));
    cr_assert(!config_allows("python3.11", "python3"));
    cr_assert(!config_allows("", "python3"));
}

static struct table *new_table(void)
{
    return calloc(1, sizeof(struct table));
}

static struct tilewise_signature shape(int64_t m)
{
    return (
        struct tilewise_signature){ .op = TILEWISE_OP_GEMM, .m = m, .n = 4, .k = 8, .batch = 1 };
}

Test(table, one_entry_per_signature)
{
    struct table *t = new_table();
    for (int round = 0; round < 2; round++)
        for (int32_t i = 0; i < 5000; i++) {
            struct tilewise_signature key = shape(i);
            cr_assert_eq(table_find(t, &key), i);
        }
    cr_assert_eq(t->used, 5000);
    cr_assert_eq(table_key(t, 4321)->m, 4321);
    free(t);
}

Test(table, every_byte_of_a_signature_counts)
{
    struct table *t = new_table();
    struct tilewise_signature key = shape(3);
    cr_assert_eq(table_find(t, &key), 0);
    for (size_t i = 0; i < sizeof key; i++) {
        struct tilewise_signature other = key;
        ((unsigned char *)&other)[i] ^= 0x40;
        cr_assert_eq(table_find(t, &other), (int32_t)i + 1, "byte %zu", i);
    }
    free(t);
}

Test(table, full_is_an_answer)
{
    struct table *t = new_table();
    for (int32_t i = 0; i < TABLE_ENTRIES; i++) {
        struct tilewise_signature key = shape(i);
        cr_assert_eq(table_find(t, &key), i);
    }
    struct tilewise_signature key = shape(TABLE_ENTRIES), old = shape(77);
    cr_assert_eq(table_find(t, &key), TABLE_FULL);
    cr_assert_eq(table_find(t, &old), 77);
    cr_assert_eq(table_find_next(t, &old), 77);
    cr_assert_eq(table_find_next(t, &key), TABLE_FULL);
    cr_assert_eq(table_find_next(t, &old), 77);
    free(t);
}

Test(table, what_was_expected_is_found_as_well_as_what_was_not)
{
    struct table *t = new_table();
    /* A loop of some shapes, one of which comes twice; then other loops, longer than a chunk. */
    static const int64_t loop[] = { 3, 1, 4, 1, 5 };
    for (int round = 0; round < 3; round++)
        for (size_t i = 0; i < 5; i++) {
            struct tilewise_signature key = shape(loop[i]);
            cr_assert_eq(table_find_next(t, &key), table_find(t, &key));
        }
    cr_assert_eq(t->used, 4);
    struct tilewise_signature first = shape(3);
    cr_assert_eq(t->expected, table_row(t, (uint32_t)table_find(t, &first)));
    for (int round = 0; round < 2; round++)
        for (int64_t m = 0; m < 3 * TABLE_CHUNK; m++) {
            struct tilewise_signature key = shape(m * 7 % 1000);
            int32_t entry = table_find_next(t, &key);
            cr_assert_eq(entry, table_find(t, &key));
            cr_assert(table_same(table_key(t, (uint32_t)entry), &key));
        }
    free(t);
}

Test(table, a_call_that_was_learnt_is_expected_where_its_key_is)
{
    struct table *t = new_table();
    struct tilewise_signature key = shape(1), other = shape(2);
    struct table_call call = { { 1 } }, close = { { 1 } };
    close.byte[TABLE_CALL_BYTES - 1] = 1;
    cr_assert(!table_is_expected(t, &call));
    table_learn(t, &call, &key); /* of nothing */
    for (int i = 0; i < 2; i++) {
        table_find_next(t, &key);
        table_learn(t, &call, &other); /* not what was found */
        cr_assert(!table_is_expected(t, &call));
    }
    table_learn(t, &call, &key);
    cr_assert(table_is_expected(t, &call));
    cr_assert(!table_is_expected(t, &close));
    table_find_next(t, &other);
    table_find_next(t, &key);
    cr_assert(!table_is_expected(t, &call), "the other one is expected");
    free(t);
}

Test(table, counts_hold_sum_least_most_and_buckets)
{
    struct table *t = new_table();
    struct tilewise_signature key = shape(1);
    uint32_t entry = (uint32_t)table_find(t, &key);
    static const uint64_t ns[] = { 300, 100, 5000, 100 };
    for (size_t i = 0; i < 4; i++)
        cr_assert(table_count(t, entry, ns[i]));
    struct table_counts *c = &t->chunk[0].counts->counts[entry];
    cr_assert_eq(c->sum_ns, 5500);
    cr_assert_eq(c->min_ns, 100);
    cr_assert_eq(c->max_ns, 5000);
    cr_assert_eq(c->bucket[histogram_bucket(100)], 2);
    cr_assert_eq(c->bucket[histogram_bucket(5000)], 1);
    free(t);
}

Test(table, hashes_of_near_signatures_spread)
{
    static uint32_t used[1024];
    uint32_t most = 0;
    for (int64_t m = 0; m < 8192; m++) {
        struct tilewise_signature key = shape(m);
        uint32_t *bucket = &used[table_hash(&key) % 1024];
        ++*bucket;
        most = *bucket > most ? *bucket : most;
    }
    cr_assert_lt(most, 40, "8 on average, %u in one", most);
}

Test(thread, records_are_used_again)
{
    enum loss_cause cause;
    struct thread *a = thread_take(&cause), *b = thread_take(&cause);
    cr_assert(a && b && a != b);
    thread_give(a);
    cr_assert_eq(thread_take(&cause), a);
    cr_assert_eq(thread_count(), 2);
    cr_assert_eq(thread_at(1), b);
}

Test(thread, a_fork_child_begins_with_none)
{
    enum loss_cause cause;
    struct tilewise_signature key = shape(1);
    struct thread *t = thread_take(&cause);
    cr_assert_eq(table_find(&t->table, &key), 0);
    cr_assert(table_count(&t->table, 0, 5));
    thread_reset();
    cr_assert_eq(thread_count(), 0);
    t = thread_take(&cause);
    cr_assert(t && t->table.used == 0);
}

Test(clock, spans_and_moments)
{
    clock_start();
    /* Each pair of readings encloses or is enclosed by the other, whatever comes in between. */
    uint64_t least = clock_ns(CLOCK_MONOTONIC), ticks = clock_ticks();
    uint64_t before = clock_ns(CLOCK_MONOTONIC);
    while (clock_ns(CLOCK_MONOTONIC) < before + 20000000)
        continue;
    uint64_t end = clock_ticks(), most = clock_ns(CLOCK_MONOTONIC) - least;
    uint64_t span = clock_span_ns(end - ticks);
    cr_assert_leq(span, most + most / 100);
    cr_assert_geq(span, 20000000 - 20000000 / 100);
    uint64_t first = clock_since_start_ns(ticks);
    clock_tune();
    uint64_t again = clock_since_start_ns(ticks);
    cr_assert_leq(first > again ? first - again : again - first, 1000000);
    cr_assert_geq(clock_since_start_ns(end), again);
    cr_assert_eq(clock_since_start_ns(0), 0);
}

Test(elf, finds_what_the_loader_finds)
{
    struct elf_object libc;
    void *expected = dlsym(RTLD_NEXT, "strtoull");
    cr_assert(expected && elf_at(expected, &libc));
    cr_assert(strstr(libc.name, "libc"));
    cr_assert_eq(elf_symbol(&libc, "strtoull"), expected);
    cr_assert_null(elf_symbol(&libc, "no_such_function"));
    cr_assert_null(elf_symbol(&libc, ""));
}

Test(elf, an_address_of_nobody)
{
    struct elf_object object;
    cr_assert(!elf_at((void *)8, &object));
}

static bool count(const struct elf_object *object, void *context)
{
    (void)object;
    ++*(int *)context;
    return false;
}

Test(elf, walks_go_on_after_a_fork)
{
    int before = 0, during = 0, after = 0;
    elf_each(count, &before);
    elf_fork_begin();
    elf_each(count, &during); /* the forking thread itself may look things up */
    elf_fork_end(false);
    elf_each(count, &after);
    cr_assert_gt(before, 2);
    cr_assert_eq(during, before);
    cr_assert_eq(after, before);
}

Test(blas, scalar_classes)
{
    static const float pair[4][2] = { { 0, 0 }, { 1, 0 }, { 0, 1 }, { 1, 1 } };
    const float *zero = pair[0], *one = pair[1], *i = pair[2], *one_i = pair[3], *null = NULL;
    cr_assert_eq(BLAS_BY_VALUE_s(0.0f), TILEWISE_SCALAR_ZERO);
    cr_assert_eq(BLAS_BY_VALUE_s(-0.0f), TILEWISE_SCALAR_ZERO);
    cr_assert_eq(BLAS_BY_VALUE_d(1.0), TILEWISE_SCALAR_ONE);
    cr_assert_eq(BLAS_BY_VALUE_d(__builtin_nan("")), TILEWISE_SCALAR_OTHER);
    cr_assert_eq(BLAS_BY_VALUE_c(zero), TILEWISE_SCALAR_ZERO);
    cr_assert_eq(BLAS_BY_VALUE_c(one), TILEWISE_SCALAR_ONE);
    cr_assert_eq(BLAS_BY_VALUE_c(i), TILEWISE_SCALAR_OTHER);
    cr_assert_eq(BLAS_BY_POINTER_c(one_i), TILEWISE_SCALAR_OTHER);
    cr_assert_eq(BLAS_BY_POINTER_s(null), TILEWISE_SCALAR_UNREAD);
}

Test(blas, alignment_is_a_power_of_two_of_16_at_most)
{
    cr_assert_eq(signature_align((void *)0x1), 0);
    cr_assert_eq(signature_align((void *)0x44), 2);
    cr_assert_eq(signature_align((void *)0x1000), 4);
    cr_assert_eq(signature_align(NULL), 4);
}

static bool gemm_is_valid(int layout, int trans_a, int trans_b, int lda, int ldb, int ldc)
{
    struct tilewise_signature key;
    return blas_gemm(&key, (struct blas_call){ .element = BLAS_ELEMENT_s,
                                               .layout = blas_layout(layout),
                                               .trans_a = blas_trans(trans_a),
                                               .trans_b = blas_trans(trans_b),
                                               BLAS_SIZES(3, 5, 7, lda, ldb, ldc) });
}

Test(blas, leading_dimensions_by_layout_and_transposes)
{
    cr_assert(gemm_is_valid(102, 111, 111, 3, 7, 3));
    cr_assert(!gemm_is_valid(102, 111, 111, 2, 7, 3));
    cr_assert(!gemm_is_valid(102, 111, 111, 3, 6, 3));
    cr_assert(!gemm_is_valid(102, 111, 111, 3, 7, 2));
    cr_assert(gemm_is_valid(102, 112, 113, 7, 5, 3));
    cr_assert(!gemm_is_valid(102, 112, 113, 6, 5, 3));
    cr_assert(gemm_is_valid(101, 111, 111, 7, 5, 5));
    cr_assert(!gemm_is_valid(101, 111, 111, 6, 5, 5));
    cr_assert(gemm_is_valid(101, 114, 112, 7, 7, 5));
    cr_assert(!gemm_is_valid(101, 115, 111, 7, 7, 5));
    cr_assert(!gemm_is_valid(103, 111, 111, 7, 7, 7));
}

Test(blas, empty_work_is_no_error)
{
    struct tilewise_signature key;
    struct blas_call call = { .element = BLAS_ELEMENT_d, BLAS_SIZES(0, 0, 0, 1, 1, 1) };
    cr_assert(blas_gemm(&key, call));
    cr_assert(blas_gemv(&key, call));
    cr_assert(blas_axpy(
        &key, (struct blas_call){ .element = BLAS_ELEMENT_d, BLAS_SIZES(-4, 1, 1, 0, 1, 1) }));
    cr_assert_eq(key.m, 0);
}

Test(blas, a_conjugate_syrk_is_refused_for_complex_alone)
{
    struct tilewise_signature key;
    struct blas_call call = { .uplo = TILEWISE_UPPER,
                              .trans_a = TILEWISE_C,
                              BLAS_SIZES(4, 4, 4, 4, 4, 4) };
    call.element = BLAS_ELEMENT_s;
    cr_assert(blas_syrk(&key, call));
    call.element = BLAS_ELEMENT_z;
    cr_assert(!blas_syrk(&key, call));
}
