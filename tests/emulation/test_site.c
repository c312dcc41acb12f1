/* SPDX-License-Identifier: Apache-2.0
 *
 * The site on the device, emulated, against the one on the host: the same images to the byte, the
 * same answers. The suites of the verification run on it beside this one.
 */
#include <criterion/criterion.h>

#include "verify_fixture.h"

static struct site host, device;

static void open_sites(void)
{
    host = (struct site){ .ops = &site_host, .reference = ref_compute };
    device = (struct site){ .ops = &cuda_site, .reference = fixture_device_reference };
    host.backend = device.backend = &fixture_backend;
    host.session = device.session = &fixture_session;
}

TestSuite(site, .init = open_sites);

static const uint8_t all_types[] = { TILEWISE_F64,  TILEWISE_F32,  TILEWISE_F16,
                                     TILEWISE_BF16, TILEWISE_E4M3, TILEWISE_E5M2,
                                     TILEWISE_I32,  TILEWISE_I8,   TILEWISE_U8 };
enum { TYPES = sizeof all_types };

/* Gaps, two batches, any alignment; rows or columns side by side. */
static struct operand shape_of(uint8_t dtype, int variant)
{
    struct operand o = { .present = true,
                         .dtype = dtype,
                         .align_log2 = (unsigned)variant % 5,
                         .element_bytes = tilewise_dtype_bits(dtype) / 8,
                         .rows = 13,
                         .cols = 9,
                         .row_step = variant % 2 ? 1 : 11,
                         .col_step = variant % 2 ? 15 : 1,
                         .batch = 2,
                         .stride = 160 };
    o.bytes = (size_t)(o.stride + 12 * o.row_step + 8 * o.col_step + 1) * o.element_bytes;
    return o;
}

struct twins {
    struct data_image on_host, on_device;
};

static struct twins create(const struct operand *shape)
{
    struct twins t;
    cr_assert_eq(host.ops->create(&host, &t.on_host, shape), ST_OK);
    cr_assert_eq(device.ops->create(&device, &t.on_device, shape), ST_OK);
    cr_assert_eq(t.on_host.total_bytes, t.on_device.total_bytes);
    cr_assert_eq(t.on_host.first_byte, t.on_device.first_byte);
    return t;
}

static void release(struct twins *t)
{
    host.ops->release(&host, &t->on_host);
    device.ops->release(&device, &t->on_device);
}

static void fill(struct twins *t, enum operand_name name, enum data_class class)
{
    struct data_recipe recipe = {
        .class = class, .seed = 5, .depth = 40, .compute = TILEWISE_F32, .result = TILEWISE_F32
    };
    cr_assert_eq(host.ops->fill(&host, &t->on_host, name, &recipe), ST_OK);
    cr_assert_eq(device.ops->fill(&device, &t->on_device, name, &recipe), ST_OK);
}

static void expect_twins(const struct twins *t, const char *what, int number)
{
    cr_expect_arr_eq(t->on_host.bytes, t->on_device.bytes, t->on_host.total_bytes, "%s %d", what,
                     number);
}

Test(site, images_are_the_same_to_the_byte)
{
    for (int i = 0; i < TYPES * 2; i++) {
        struct operand shape = shape_of(all_types[i / 2], i);
        struct twins t = create(&shape);
        for (int class = 0; class < DATA_CLASS_COUNT; class ++)
            for (int name = 0; name < OPERAND_COUNT; name++) {
                fill(&t, (enum operand_name)name, (enum data_class) class);
                expect_twins(&t, tilewise_dtype_name(shape.dtype), class);
            }
        host.ops->put(&host, &t.on_host, 17, 3);
        device.ops->put(&device, &t.on_device, 17, 3);
        expect_twins(&t, "put", i);
        host.ops->poison(&host, &t.on_host);
        device.ops->poison(&device, &t.on_device);
        expect_twins(&t, "poison", i);
        release(&t);
    }
}

Test(site, one_byte_is_a_difference)
{
    struct operand shape = shape_of(TILEWISE_BF16, 1);
    struct twins x = create(&shape), y = create(&shape);
    fill(&x, OPERAND_A, DATA_NORMAL);
    fill(&y, OPERAND_A, DATA_NORMAL);
    for (size_t i = 0; i < x.on_device.total_bytes; i += 97) {
        bool same = false;
        device.ops->same(&device, &x.on_device, &y.on_device, &same);
        cr_assert(same);
        x.on_device.bytes[i] ^= 4;
        device.ops->same_on_device(&device, &x.on_device, y.on_device.bytes, &same);
        cr_assert_not(same, "byte %zu", i);
        x.on_device.bytes[i] ^= 4;
    }
    release(&x);
    release(&y);
}

/* A triangle is the result; everything else is the frame. */
Test(site, frame_is_what_is_no_element)
{
    struct operand shape = shape_of(TILEWISE_F32, 1);
    shape.rows = shape.cols = 9;
    shape.uplo = TILEWISE_LOWER;
    struct twins before = create(&shape), after = create(&shape);
    for (size_t i = 0; i < before.on_host.total_bytes; i += 61) {
        bool on_host, on_device;
        fill(&before, OPERAND_C, DATA_NORMAL);
        fill(&after, OPERAND_C, DATA_NORMAL);
        after.on_host.bytes[i] ^= 1;
        after.on_device.bytes[i] ^= 1;
        host.ops->frame(&host, &before.on_host, &after.on_host, &on_host);
        device.ops->frame(&device, &before.on_device, &after.on_device, &on_device);
        cr_assert_eq(on_host, on_device, "byte %zu", i);
    }
    release(&before);
    release(&after);
}

static void expect_same_outcome(const struct judge *on_host, const struct judge *on_device)
{
    struct judge_outcome x, y;
    cr_assert_eq(host.ops->judge(&host, on_host, &x), ST_OK);
    cr_assert_eq(device.ops->judge(&device, on_device, &y), ST_OK);
    cr_expect_eq(x.bad, y.bad);
    cr_expect_eq(x.worst, y.worst);
    cr_expect_arr_eq(x.at, y.at, sizeof x.at);
    cr_expect((x.got == y.got || (isnan(x.got) && isnan(y.got))) &&
              (x.want == y.want || (isnan(x.want) && isnan(y.want))));
}

/* Each kind of question about a result with some wrong elements in it. */
Test(site, judges_agree)
{
    for (int i = 0; i < 6; i++) {
        struct operand shape = shape_of(i % 3 ? TILEWISE_BF16 : TILEWISE_F32, i);
        struct twins after = create(&shape), other = create(&shape), before = create(&shape);
        size_t count = (size_t)(shape.rows * shape.cols * shape.batch);
        double *want = calloc(2 * count, sizeof *want);
        fill(&after, OPERAND_C, DATA_NORMAL);
        fill(&other, OPERAND_C, i % 2 ? DATA_NORMAL : DATA_UNIFORM);
        fill(&before, OPERAND_C, DATA_CANCEL);
        for (size_t k = 0; k < count; k++)
            want[k] = k % 3 ? 0.25 : NAN, want[count + k] = 8;
        for (int kind = JUDGE_BOUND; kind <= JUDGE_BITS; kind++) {
            struct judge x = { .kind = (enum judge_kind)kind,
                               .after = after.on_host,
                               .other = other.on_host,
                               .before = before.on_host,
                               .want = want,
                               .magnitude = want + count,
                               .bound = { 0x1p-8, 0x1p-2, 0, 1e38 },
                               .alpha = 1.5,
                               .special = {
                                   .batch = 1, .row = 3, .column = 2, .infinite = i % 2 } };
            struct judge y = x;
            y.after = after.on_device;
            y.other = other.on_device;
            y.before = before.on_device;
            expect_same_outcome(&x, &y);
        }
        free(want);
        release(&after);
        release(&other);
        release(&before);
    }
}
