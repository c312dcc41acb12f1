/* SPDX-License-Identifier: Apache-2.0 */
#include "replayer/data.h"

#include <endian.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "replayer/stats.h"
#include "traces/number.h"

const char *data_class_name(enum data_class c)
{
    static const char *const names[] = { "normal", "uniform", "integer", "cancel" };
    return c < DATA_CLASS_COUNT ? names[c] : "unknown";
}

/* The best class is "16 or more" (signature_align): 16 is what malloc gives, and no more. */
enum { ALIGN_LOG2_MAX = 4 };

static size_t align_offset(const struct operand *shape)
{
    size_t offset =
        (size_t)1 << (shape->align_log2 < ALIGN_LOG2_MAX ? shape->align_log2 : ALIGN_LOG2_MAX);
    /* Below the element size the recorder did not know; C does not allow less. */
    return offset && offset < shape->element_bytes ? shape->element_bytes : offset;
}

size_t data_image_bytes(const struct operand *shape)
{
    if (!shape->present)
        return 0;
    size_t bytes = 2 * DATA_RED_ZONE_BYTES + align_offset(shape) + shape->bytes;
    return (bytes + DATA_ALIGN_BYTES - 1) / DATA_ALIGN_BYTES * DATA_ALIGN_BYTES;
}

size_t data_first_byte(const struct operand *shape)
{
    return DATA_RED_ZONE_BYTES + align_offset(shape);
}

enum status data_create(struct data_image *image, const struct operand *shape)
{
    *image = (struct data_image){ .shape = *shape };
    if (!shape->present)
        return ST_OK;
    image->total_bytes = data_image_bytes(shape);
    image->first_byte = data_first_byte(shape);
    image->bytes = aligned_alloc(DATA_ALIGN_BYTES, image->total_bytes);
    return image->bytes ? ST_OK : ST_NOMEM;
}

void data_release(struct data_image *image)
{
    free(image->bytes);
    *image = (struct data_image){ 0 };
}

/* `begin` is a multiple of the canary; what is left over at the end stays as it is. */
static void poison_range(struct data_image *image, size_t begin, size_t end)
{
    const uint32_t canary = htole32(image_canary((unsigned)image->shape.element_bytes));
    for (size_t i = begin; i + sizeof canary <= end; i += sizeof canary)
        memcpy(image->bytes + i, &canary, sizeof canary);
}

void data_poison(struct data_image *image)
{
    poison_range(image, 0, image->total_bytes);
}

/* Largest whole number up to which every one is exact in the type, so that no digit of it is lost
 * before the kernel sees it. */
static int64_t whole_most(uint8_t dtype, uint8_t compute)
{
    double unit = number_unit(compute == TILEWISE_TF32 ? TILEWISE_F16 : dtype);
    double most = unit > 0 ? 1 / unit : number_largest(dtype);
    return most < 4096 ? (int64_t)most - 1 : 4095;
}

/* A has as many digits as exact sums allow, so that a kernel which drops some is caught; B has one
 * or two units. */
static int64_t integer_most(const struct operand *shape, enum operand_name name,
                            const struct data_recipe *recipe)
{
    int64_t most = recipe->depth < (1 << 9) ? 4095 : (1 << 21) / recipe->depth;
    int64_t exact = whole_most(shape->dtype, recipe->compute);
    if (recipe->squared)
        most = (int64_t)sqrt(most);
    if (recipe->result == TILEWISE_F16 && most > 20000 / recipe->depth)
        most = 20000 / recipe->depth; /* the result must not overflow */
    most = most < exact ? most : exact;
    if (most < 4 || name != OPERAND_A)
        most = name == OPERAND_B ? 2 : recipe->squared && name == OPERAND_A ? 2 : 4;
    return most;
}

/* Integers take values of the size that quantised weights have. */
static double size_of(uint8_t dtype)
{
    return tilewise_dtype_kind(dtype) == TILEWISE_KIND_INTEGER ? 32 : 1;
}

struct draw data_draw(const struct operand *shape, enum operand_name name,
                      const struct data_recipe *recipe)
{
    struct draw d = { .kind = DRAW_NORMAL,
                      .seed = recipe->seed * OPERAND_COUNT + (uint64_t)name,
                      .size = size_of(shape->dtype) };
    if (recipe->class == DATA_UNIFORM)
        d.kind = DRAW_UNIFORM;
    if (recipe->class == DATA_CANCEL && name == OPERAND_C)
        d.size /= 1024; /* what A B leaves is small */
    else if (recipe->class == DATA_CANCEL)
        d.kind = name == OPERAND_A ? DRAW_CANCEL_A : DRAW_CANCEL_B;
    if (recipe->class == DATA_INTEGER) {
        d.kind = DRAW_INTEGER;
        d.most = integer_most(shape, name, recipe);
    }
    return d;
}

static uint8_t part_of(uint8_t complex)
{
    return complex == TILEWISE_C128  ? TILEWISE_F64
           : complex == TILEWISE_C64 ? TILEWISE_F32
                                     : TILEWISE_F16;
}

static void fill_element(struct data_image *image, const struct draw *d, const int64_t at[3])
{
    const struct operand *o = &image->shape;
    int64_t index = operand_index(o, at[0], at[1], at[2]);
    double value = draw_value(d, at[0], at[1], at[2]);
    if (tilewise_dtype_kind(o->dtype) != TILEWISE_KIND_COMPLEX) {
        data_put(image, index, value);
        return;
    }
    struct draw imaginary = *d;
    imaginary.seed = d->seed ^ 0x5bf03635u;
    number_store(part_of(o->dtype), image_element(image, index), 0, value);
    number_store(part_of(o->dtype), image_element(image, index), 1,
                 draw_value(&imaginary, at[0], at[1], at[2]));
}

/* From here on drawing each element is felt. */
static const size_t repeat_from_bytes = 8u << 20;
/* Prime, so that neither rows nor columns of any matrix are alike. */
enum { REPEAT_ELEMENTS = 1048573 };

/* Do the elements fill the operand without gaps? */
static bool is_gapless(const struct operand *o)
{
    int64_t count = o->rows * o->cols * o->batch;
    return o->uplo == TILEWISE_FULL && o->row_step > 0 &&
           o->bytes == (size_t)count * o->element_bytes;
}

/* The first `have` bytes of an operand again and again, to its end. */
static void repeat(struct data_image *image, size_t have)
{
    unsigned char *at = image->bytes + image->first_byte;
    size_t bytes = image->shape.bytes;
    while (have && have < bytes) {
        size_t more = have < bytes - have ? have : bytes - have;
        memcpy(at + have, at, more);
        have += more;
    }
}

/* Large operands repeat a long draw; only the frame around them holds canaries. */
static void fill_repeating(struct data_image *image, const struct draw *d)
{
    const struct operand *o = &image->shape;
    size_t end = image->first_byte + o->bytes;
    poison_range(image, 0, image->first_byte);
    poison_range(image, end / 4 * 4, image->total_bytes);
    for (int64_t i = 0; i < REPEAT_ELEMENTS; i++)
        data_put(image, i, draw_value(d, 0, i, 0));
    repeat(image, REPEAT_ELEMENTS * o->element_bytes);
}

void data_fill(struct data_image *image, enum operand_name name, const struct data_recipe *recipe)
{
    const struct operand *o = &image->shape;
    if (!o->present)
        return;
    const struct draw d = data_draw(o, name, recipe);
    if (o->bytes >= repeat_from_bytes && recipe->class != DATA_CANCEL &&
        tilewise_dtype_kind(o->dtype) != TILEWISE_KIND_COMPLEX && is_gapless(o)) {
        fill_repeating(image, &d);
        return;
    }
    data_poison(image);
    bool rows_inside = o->row_step == 1; /* walk memory in order */
    int64_t inner = rows_inside ? o->rows : o->cols, outer = rows_inside ? o->cols : o->rows;
    for (int64_t b = 0; b < o->batch; b++)
        for (int64_t i = 0; i < outer; i++)
            for (int64_t j = 0; j < inner; j++)
                fill_element(image, &d, (int64_t[]){ b, rows_inside ? j : i, rows_inside ? i : j });
}

size_t data_noise_bytes(const struct operand *shape)
{
    static const size_t pattern_bytes = 512u << 10;
    return shape->bytes < pattern_bytes ? shape->bytes : pattern_bytes;
}

void data_noise(void *bytes, const struct operand *shape, uint64_t seed)
{
    bool is_complex = tilewise_dtype_kind(shape->dtype) == TILEWISE_KIND_COMPLEX;
    uint8_t part = is_complex ? part_of(shape->dtype) : shape->dtype;
    size_t count = data_noise_bytes(shape) / (tilewise_dtype_bits(part) / 8);
    for (size_t i = 0; i < count; i++)
        number_store(part, bytes, (int64_t)i, size_of(part) * draw_normal(stats_random(&seed)));
}

bool data_frame_intact(struct data_image *before, const struct data_image *after)
{
    const struct operand *o = &before->shape;
    if (is_gapless(o))
        memcpy(image_element(before, 0), image_element(after, 0), o->bytes);
    for (int64_t b = 0; b < o->batch && !is_gapless(o); b++)
        for (int64_t c = 0; c < o->cols; c++)
            for (int64_t r = 0; r < o->rows; r++) {
                int64_t index = operand_index(o, b, r, c);
                if (operand_holds(o, r, c))
                    memcpy(image_element(before, index), image_element(after, index),
                           o->element_bytes);
            }
    return memcmp(before->bytes, after->bytes, before->total_bytes) == 0;
}

bool data_integers_exact(const struct tilewise_signature *s)
{
    /* Largest sum is depth * 4 * 2 for long sums, 2^22 for short ones; times 1.5, in halves. */
    int64_t depth = operand_depth(s);
    int64_t limit = s->dtype_c == TILEWISE_F64 ? (int64_t)1 << 48 : (int64_t)1 << 19;
    /* Few digits are kept between the steps of these. */
    bool is_fp8 = s->dtype_b == TILEWISE_E4M3 || s->dtype_b == TILEWISE_E5M2;
    return depth < limit && s->compute != TILEWISE_F16 && !is_fp8;
}

double data_scale_product(const struct tilewise_signature *s, enum operand_name name)
{
    int scales = (s->scale_d != 0) +
                 (name == OPERAND_A ? (s->scale_a != 0) + (s->scale_b != 0) : s->scale_c != 0);
    return scales ? pow(DATA_OPERAND_SCALE, scales) : 1;
}

double data_scalar(enum operand_name name, uint8_t scalar_class)
{
    if (scalar_class == TILEWISE_SCALAR_ZERO)
        return 0;
    if (scalar_class == TILEWISE_SCALAR_ONE)
        return 1;
    return name == OPERAND_A ? 1.5 : -0.5;
}

void data_scalar_store(void *out, uint8_t dtype, double value)
{
    bool is_complex = tilewise_dtype_kind(dtype) == TILEWISE_KIND_COMPLEX;
    memset(out, 0, 16);
    number_store(is_complex ? part_of(dtype) : dtype, out, 0, value);
}
