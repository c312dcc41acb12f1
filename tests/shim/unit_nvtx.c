/* SPDX-License-Identifier: Apache-2.0
 *
 * Names of NVTX ranges: what they say, and the pool that they are kept in.
 */
#include <criterion/criterion.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <wchar.h>

#include "tracer/nvtx_names.h"
#include "tracer/nvtx_text.h"

struct reading {
    const char *message;
    enum nvtx_work work;
    const char *name;
    int64_t m, n;
    bool hashed; /* m and n do not say all */
};

static const struct reading readings[] = {
    { "aten::add, op_id = 12, sizes = [[2, 3], [2, 3], []]", NVTX_WORK_ADD, "aten::add", 2, 3, 0 },
    { "aten::add_, seq = 7, op_id = 12, sizes = [[2, 3], [2, 3], []], input_op_ids = [(1,0)]",
      NVTX_WORK_ADD, "aten::add_", 2, 3, 0 },
    { "aten::add, op_id = 1, sizes = [[1000], [1000], []]", NVTX_WORK_ADD, "aten::add", 1000, 1,
      0 },
    { "aten::add, op_id = 1, sizes = [[4, 5, 6], [4, 5, 6], []]", NVTX_WORK_ADD, "aten::add", 120,
      1, 1 },
    { "aten::add, op_id = 1, sizes = [[4, 5], [5], []]", NVTX_WORK_ADD, "aten::add", 20, 1, 1 },
    { "aten::add, op_id = 1, sizes = [[3, 1], [1, 7], []]", NVTX_WORK_ADD, "aten::add", 21, 1, 1 },
    { "aten::add, op_id = 1, sizes = [[], [], []]", NVTX_WORK_ADD, "aten::add", 1, 1, 0 },
    { "aten::add, op_id = 1, sizes = [[0, 5], [0, 5]]", NVTX_WORK_ADD, "aten::add", 0, 5, 0 },
    { "aten::add, op_id = 1", NVTX_WORK_ADD, "aten::add", 0, 0, 0 },
    { "aten::add", NVTX_WORK_ADD, "aten::add", 0, 0, 0 },
    { "aten::mul, op_id = 3, sizes = [[8, 16], [8, 16]]", NVTX_WORK_OTHER, "aten::mul", 8, 16, 0 },
    { "aten::_softmax, sizes = [[2, 4, 64], [], []]", NVTX_WORK_OTHER, "aten::_softmax", 8, 64, 1 },
    { "aten::native_layer_norm, sizes = [[6, 64], [], [64], [64], []]", NVTX_WORK_OTHER,
      "aten::native_layer_norm", 6, 64, 1 },
    { "aten::where, seq = 0", NVTX_WORK_OTHER, "aten::where", 0, 0, 0 },
    { "aten::mm, op_id = 9, sizes = [[2, 3], [3, 4]]", NVTX_WORK_NONE, "aten::mm", 2, 3, 1 },
    { "aten::linear", NVTX_WORK_NONE, "aten::linear", 0, 0, 0 },
    { "aten::view_as_real_or_so, op_id = 2", NVTX_WORK_LEAF, "aten::view_as_real_or_so", 0, 0, 0 },
    { "aten::vie", NVTX_WORK_LEAF, "aten::vie", 0, 0, 0 },
    { "aten::", NVTX_WORK_PHASE, "aten::", 0, 0, 0 },
    { "_C::rms_norm, op_id = 2, sizes = [[6, 64], [6, 64], [64], []]", NVTX_WORK_LEAF,
      "_C::rms_norm", 6, 64, 1 },
    { "AddmmBackward0, seq = 4", NVTX_WORK_LEAF, "AddmmBackward0", 0, 0, 0 },
    { "autograd::engine::evaluate_function: AddmmBackward0, op_id = 8", NVTX_WORK_NONE,
      "autograd::engine::evaluate_function: AddmmBackward0", 0, 0, 0 },
    /* Somebody's names. */
    { "prefill", NVTX_WORK_PHASE, "prefill", 0, 0, 0 },
    { "prefill, op_id = 5", NVTX_WORK_PHASE, "prefill", 0, 0, 0 },
    { "prefill, op_id = 5, sizes = []", NVTX_WORK_PHASE, "prefill", 0, 0, 1 },
    { "first, second, seq = N", NVTX_WORK_PHASE, "first, second, seq = N", 0, 0, 0 },
    { "server::prefill", NVTX_WORK_PHASE, "server::prefill", 0, 0, 0 },
    { "a :: b, op_id = 1", NVTX_WORK_PHASE, "a :: b", 0, 0, 0 },
    { "", NVTX_WORK_PHASE, "", 0, 0, 0 },
    /* Sizes that are cut, malformed or absurd say nothing. */
    { "aten::mul, sizes = [[8, 16], [8, 1", NVTX_WORK_OTHER, "aten::mul", 0, 0, 1 },
    { "aten::mul, sizes = [[8, 16]", NVTX_WORK_OTHER, "aten::mul", 0, 0, 1 },
    { "aten::mul, sizes = [[8, -16]]", NVTX_WORK_OTHER, "aten::mul", 0, 0, 1 },
    { "aten::mul, sizes = [[8,, 16]]", NVTX_WORK_OTHER, "aten::mul", 0, 0, 1 },
    { "aten::mul, sizes = []", NVTX_WORK_OTHER, "aten::mul", 0, 0, 1 },
    { "aten::mul, sizes = [8]", NVTX_WORK_OTHER, "aten::mul", 0, 0, 1 },
    { "aten::mul, sizes = [[99999999999999999999999999]]", NVTX_WORK_OTHER, "aten::mul", 0, 0, 1 },
    { "aten::mul, sizes = [[1000000000000, 1000000000000, 1000000000000, 2]]", NVTX_WORK_OTHER,
      "aten::mul", 0, 2, 1 },
    { "aten::mul, sizes = [[1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1]]", NVTX_WORK_OTHER,
      "aten::mul", 0, 0, 1 },
};

Test(nvtx, names_of_ranges)
{
    for (size_t i = 0; i < sizeof readings / sizeof *readings; i++) {
        const struct reading *r = &readings[i];
        struct nvtx_text text;
        struct tilewise_signature key;
        nvtx_text_parse(r->message, &text);
        cr_expect_eq(text.work, r->work, "%s: %d", r->message, text.work);
        cr_expect(text.bytes == strlen(r->name) && memcmp(text.name, r->name, text.bytes) == 0,
                  "%s: %.*s", r->message, (int)text.bytes, text.name);
        nvtx_text_signature(&text, &key);
        cr_expect(key.m == r->m && key.n == r->n, "%s: %lld x %lld", r->message, (long long)key.m,
                  (long long)key.n);
        cr_expect_eq(key.flags >> TILEWISE_OTHER_SHIFT != 0, r->hashed, "%s", r->message);
        cr_expect(key.flags & TILEWISE_NOT_REPLAYABLE && key.dtype_c == TILEWISE_UNKNOWN);
    }
}

Test(nvtx, sizes_tell_rows_apart_and_ids_do_not)
{
    static const char *const message[] = {
        "aten::add, op_id = 1, sizes = [[4, 5], [5], []], input_op_ids = [(1,0)]",
        "aten::add, seq = 3, op_id = 99, sizes = [[4, 5], [5], []], input_op_ids = [(7,2)]",
        "aten::add, op_id = 1, sizes = [[5, 4], [4], []]",
    };
    struct tilewise_signature key[3];
    for (int i = 0; i < 3; i++) {
        struct nvtx_text text;
        nvtx_text_parse(message[i], &text);
        nvtx_text_signature(&text, &key[i]);
    }
    cr_assert(signature_equal(&key[0], &key[1]));
    cr_assert(!signature_equal(&key[0], &key[2]));
}

/* Every row is found: the table is in order. */
Test(nvtx, every_operator_is_found)
{
    static const struct {
        const char *name;
        enum nvtx_work work;
    } row[] = {
#define ROW(name, work) { name, NVTX_WORK_##work },
#include "tracer/nvtx_aten.def"
#undef ROW
    };
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        char message[80];
        struct nvtx_text text;
        for (int in_place = 0; in_place < 2; in_place++) {
            snprintf(message, sizeof message, "aten::%s%s", row[i].name, in_place ? "_" : "");
            nvtx_text_parse(message, &text);
            cr_expect_eq(text.work, row[i].work, "%s", message);
        }
    }
}

static void expect_phase(const char *message, const char *want)
{
    struct nvtx_text text;
    char name[NVTX_TEXT_BYTES + 2];
    nvtx_text_parse(message, &text);
    size_t bytes = nvtx_text_phase(&text, name);
    cr_expect(bytes == strlen(want) && memcmp(name, want, bytes) == 0, "%s: %.*s", message,
              (int)bytes, name);
}

Test(nvtx, a_number_at_the_end_is_an_instance)
{
    expect_phase("step 17", "step #");
    expect_phase("ProfilerStep#12", "ProfilerStep#");
    expect_phase("ProfilerStep#12, op_id = 4", "ProfilerStep#");
    expect_phase("layer 3 of 32 mlp", "layer 3 of 32 mlp");
    expect_phase("42", "#");
    expect_phase("", "");
}

Test(nvtx, ten_kilobytes_of_anything)
{
    static char message[10241];
    struct nvtx_text text;
    struct tilewise_signature key;
    uint64_t seed = 1;
    static const char letters[] = "aten::, seq = op_id sizes = [[]0123456789\t\x01\xff\xe2\x82\xac";
    for (int round = 0; round < 20000; round++) {
        for (size_t i = 0; i < 700; i++) {
            seed = seed * 6364136223846793005u + 1442695040888963407u;
            message[i] = letters[(seed >> 33) % (sizeof letters - 1)];
        }
        memcpy(message, "aten::add, sizes = [[", round % 2 ? 21 : 0);
        nvtx_text_parse(message, &text);
        nvtx_text_signature(&text, &key);
        cr_assert(text.bytes <= NVTX_TEXT_BYTES);
        cr_assert(signature_is_sane(&key));
    }
    memset(message, '[', 10240);
    nvtx_text_parse(message, &text);
    cr_assert_eq(text.bytes, (size_t)NVTX_TEXT_BYTES);
}

Test(nvtx, wide_characters)
{
    char text[NVTX_TEXT_BYTES + 1];
    nvtx_text_narrow(L"d\u00e9code \u20ac \U0001f600", text);
    cr_assert_str_eq(text, "d\xc3\xa9"
                           "code \xe2\x82\xac \xf0\x9f\x98\x80");
    const wchar_t broken[] = { 'a', (wchar_t)0xd800, (wchar_t)0x7fffffff, 'b', 0 };
    nvtx_text_narrow(broken, text);
    cr_assert_str_eq(text, "a\xef\xbf\xbd\xef\xbf\xbd"
                           "b");
    wchar_t many[2000];
    wmemset(many, 0x20ac, 1999);
    many[1999] = 0;
    nvtx_text_narrow(many, text);
    cr_assert_eq(strlen(text), (size_t)NVTX_TEXT_BYTES / 3 * 3);
}

enum { PLACES = 8 };
static struct nvtx_name pool[PLACES];

static unsigned number(const char *name)
{
    return nvtx_names_number(pool, PLACES, name, strlen(name));
}

Test(names, same_name_same_number_until_full)
{
    char name[8];
    unsigned seen = 0;
    for (int i = 0; i < PLACES; i++) {
        snprintf(name, sizeof name, "n%d", i);
        unsigned n = number(name);
        cr_assert(n >= 1 && n <= PLACES && !(seen & 1u << n));
        seen |= 1u << n;
        cr_assert_eq(number(name), n);
        cr_assert_str_eq(nvtx_names_text(pool, n), name);
    }
    cr_assert_eq(number("one more"), 0);
    cr_assert_neq(number("n3"), 0);
}

Test(names, long_ones_are_cut_between_characters)
{
    char name[300];
    memset(name, 'x', sizeof name);
    memcpy(name + NVTX_NAMES_BYTES - 2, "\xe2\x82\xac", 3);
    unsigned n = nvtx_names_number(pool, PLACES, name, sizeof name);
    cr_assert_eq(strlen(nvtx_names_text(pool, n)), (size_t)NVTX_NAMES_BYTES - 2);
}

static void *name_many(void *numbers)
{
    for (unsigned i = 0; i < PLACES; i++) {
        char name[8];
        snprintf(name, sizeof name, "t%u", i);
        ((unsigned *)numbers)[i] = number(name);
    }
    return NULL;
}

Test(names, threads_agree)
{
    enum { THREADS = 8 };
    pthread_t thread[THREADS];
    unsigned numbers[THREADS][PLACES];
    for (int i = 0; i < THREADS; i++)
        pthread_create(&thread[i], NULL, name_many, numbers[i]);
    for (int i = 0; i < THREADS; i++)
        pthread_join(thread[i], NULL);
    for (int i = 1; i < THREADS; i++)
        cr_assert_arr_eq(numbers[i], numbers[0], sizeof numbers[0]);
}
