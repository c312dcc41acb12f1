/* SPDX-License-Identifier: Apache-2.0
 *
 * Contents of descriptors that are kept, beside the values that are read of them, for a fake
 * cuBLASLt.
 */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "fake_cublaslt.h"
#include "tracer/ltattr.h"

enum { LAYOUTS = 4, OBJECTS = 1 + LAYOUTS, COMPUTE_32F = 68 };

static const struct {
    enum ltattr_kind kind;
    int number, bytes;
} attribute[LTATTR_COUNT] = {
#define LTATTR(kind, name, number, bytes, without) { LTATTR_##kind, number, bytes },
#include "tracer/ltattr.def"
#undef LTATTR
};

static bool is_pointer(int which)
{
    static const char *const name[] = {
#define LTATTR(kind, name, number, bytes, without) #name,
#include "tracer/ltattr.def"
#undef LTATTR
    };
    const char *end = strstr(name[which], "_POINTER");
    return end && strcmp(end, "_POINTER") == 0;
}

static struct ltattr_library library;
/* The first is the product's; behind each is what must not be read. */
static _Alignas(16) uint8_t object[OBJECTS][FAKE_LT_BYTES];
static struct ltattr_objects objects;

static void setup(void)
{
    ltattr_learn(&library, (const void *)(uintptr_t)cublasLtMatmul);
    objects = (struct ltattr_objects){ object[0], { object[1], object[2], object[3], object[4] } };
    memset(object, 0xee, sizeof object);
    cublasLtMatmulDescInit_internal(object[0], FAKE_LT_BYTES, COMPUTE_32F, 0);
    for (int i = 1; i < OBJECTS; i++)
        cublasLtMatrixLayoutInit_internal(object[i], 64, 0, 70, 50, 100);
}

static void set(int of, int number, int64_t value, int bytes)
{
    int status = of == 0
                     ? cublasLtMatmulDescSetAttribute(object[0], number, &value, (size_t)bytes)
                     : cublasLtMatrixLayoutSetAttribute(object[of], number, &value, (size_t)bytes);
    cr_assert_eq(status, 0);
}

/* All that they say; of pointers whether they are set. */
struct said {
    int64_t value[OBJECTS][LTATTR_COUNT];
    bool is_understood;
};

static struct said read_all(void)
{
    struct said s;
    memset(&s, 0, sizeof s);
    s.is_understood = true;
    for (int i = 0; i < OBJECTS; i++) {
        enum ltattr_kind kind = i == 0 ? LTATTR_DESC : LTATTR_LAYOUT;
        s.is_understood &= ltattr_read(&library, kind, object[i], s.value[i]);
        for (int a = 0; a < LTATTR_COUNT; a++)
            if (is_pointer(a) && i == 0)
                s.value[0][a] = s.value[0][a] != 0;
    }
    return s;
}

TestSuite(ltattr, .init = setup);

Test(ltattr, every_attribute_of_every_descriptor_is_told)
{
    struct ltattr_content content;
    cr_assert(ltattr_are_open(&library, &objects));
    ltattr_keep(&library, &objects, &content);
    cr_assert(ltattr_is_kept(&library, &objects, &content));
    for (int of = 0; of < OBJECTS; of++)
        for (int a = 0; a < LTATTR_COUNT; a++) {
            if ((attribute[a].kind == LTATTR_DESC) != (of == 0))
                continue;
            _Alignas(16) uint8_t before[FAKE_LT_BYTES];
            memcpy(before, object[of], sizeof before);
            set(of, attribute[a].number, 42, attribute[a].bytes);
            cr_assert_not(ltattr_is_kept(&library, &objects, &content), "%d of %d", a, of);
            ltattr_keep(&library, &objects, &content);
            set(of, attribute[a].number, 43, attribute[a].bytes);
            cr_assert_eq(ltattr_is_kept(&library, &objects, &content), is_pointer(a), "%d of %d", a,
                         of);
            memcpy(object[of], before, sizeof before);
            ltattr_keep(&library, &objects, &content);
        }
    set(0, FAKE_LT_UNKNOWN_ATTRIBUTE, 1, 4);
    cr_assert_not(ltattr_is_kept(&library, &objects, &content), "an attribute that we do not know");
}

/* Whatever is set in whatever order: what is kept is found again if it says the same, and no other
 * content is taken for it. */
Test(ltattr, content_is_kept_as_it_is_read)
{
    struct ltattr_content content = { .library = NULL };
    struct said kept;
    int same = 0, other = 0;
    srandom(5);
    cr_assert_not(ltattr_is_kept(&library, &objects, &content), "nothing is kept yet");
    for (int i = 0; i < 20000; i++) {
        if (i % 4 == 0) {
            ltattr_keep(&library, &objects, &content);
            kept = read_all();
        }
        int a = (int)(random() % LTATTR_COUNT), of = 0;
        if (attribute[a].kind == LTATTR_LAYOUT)
            of = 1 + (int)(random() % LAYOUTS);
        set(of, attribute[a].number, random() % 3, attribute[a].bytes);
        struct said now = read_all();
        bool is_same = memcmp(&now, &kept, sizeof now) == 0;
        cr_assert_eq(ltattr_is_kept(&library, &objects, &content), is_same, "after %d", i);
        *(is_same ? &same : &other) += 1;
    }
    cr_assert(same > 1000 && other > 1000, "%d same, %d other", same, other);
}

Test(ltattr, a_descriptor_of_another_layout_is_not_read_as_bytes)
{
    cublasLtMatmulDescInit_internal(object[0], FAKE_LT_OLD_BYTES, COMPUTE_32F, 0);
    cr_assert_not(ltattr_are_open(&library, &objects));
}
