/* SPDX-License-Identifier: Apache-2.0 */
#include "replayer/data.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "replayer/stats.h"

/* Quiet NaN in f32 and f64 alike, with a payload that no arithmetic produces. Also an unlikely
 * number in every smaller type. */
static const unsigned char canary[4] = { 0x5a, 0xa5, 0xff, 0x7f };

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

enum status data_create(struct data_image *image, const struct operand *shape)
{
    *image = (struct data_image){ .shape = *shape };
    if (!shape->present)
        return ST_OK;
    image->total_bytes = data_image_bytes(shape);
    image->first_byte = DATA_RED_ZONE_BYTES + align_offset(shape);
    image->bytes = aligned_alloc(DATA_ALIGN_BYTES, image->total_bytes);
    return image->bytes ? ST_OK : ST_NOMEM;
}

void data_release(struct data_image *image)
{
    free(image->bytes);
    *image = (struct data_image){ 0 };
}

static unsigned char *element_at(const struct data_image *image, int64_t index)
{
    return image->bytes + image->first_byte + (size_t)index * image->shape.element_bytes;
}

double data_get(const struct data_image *image, int64_t index)
{
    if (image->shape.dtype == TILEWISE_F32) {
        float value;
        memcpy(&value, element_at(image, index), sizeof value);
        return (double)value;
    }
    double value = NAN;
    if (image->shape.dtype == TILEWISE_F64)
        memcpy(&value, element_at(image, index), sizeof value);
    return value;
}

static void put_part(unsigned char *at, bool is_double, double value)
{
    float narrow = (float)value;
    if (is_double)
        memcpy(at, &value, sizeof value);
    else
        memcpy(at, &narrow, sizeof narrow);
}

void data_put(struct data_image *image, int64_t index, double value)
{
    put_part(element_at(image, index), image->shape.dtype == TILEWISE_F64, value);
}

/* The canary repeats from the start of the buffer, so its phase at an element depends on where the
 * element lies; elements are aligned to four bytes for every type that is compared. */
bool data_is_canary(const struct data_image *image, int64_t index)
{
    const unsigned char *at = element_at(image, index);
    for (size_t i = 0; i < image->shape.element_bytes; i++)
        if (at[i] != canary[(size_t)(at + i - image->bytes) % sizeof canary])
            return false;
    return true;
}

void data_poison(struct data_image *image)
{
    for (size_t i = 0; i + sizeof canary <= image->total_bytes; i += sizeof canary)
        memcpy(image->bytes + i, canary, sizeof canary);
}

/* One draw: the same for the same coordinates, whatever the order of filling. */
static uint64_t draw(uint64_t seed, int64_t b, int64_t r, int64_t c)
{
    uint64_t state = seed + (uint64_t)b * 0xd6e8feb86659fd93u + (uint64_t)r * 0xa0761d6478bd642fu +
                     (uint64_t)c * 0xe7037ed1a0b428dbu;
    return stats_random(&state);
}

static double normal_of(uint64_t bits)
{
    int64_t sum = 0;
    for (int i = 0; i < 4; i++)
        sum += (int64_t)(bits >> (16 * i) & 0xffff);
    /* Variance of a sum of four uniforms on [0, 1) is 1/3. The half keeps it off zero. */
    return ((double)sum + 0.5 - 2 * 65535.0) / 65536.0 * 1.7320508075688772;
}

static double uniform_of(uint64_t bits)
{
    return ((double)(bits >> 41) + 0.5) / 8388608.0;
}

/* A has as many digits as exact sums allow, so that a kernel which drops some is caught; B has one
 * or two units. */
static double integer_of(uint64_t bits, enum operand_name name, const struct data_recipe *recipe)
{
    int64_t most = recipe->depth < (1 << 9) ? 4095 : (1 << 21) / recipe->depth;
    if (recipe->squared)
        most = (int64_t)sqrt(most);
    if (most < 4 || name != OPERAND_A)
        most = name == OPERAND_B ? 2 : recipe->squared && name == OPERAND_A ? 2 : 4;
    double value = (double)(1 + (int64_t)((bits >> 1) % (uint64_t)most));
    return bits & 1 ? value : -value;
}

/* Along k (columns of A, rows of B) the second of each pair takes the first one back, nearly. */
static double cancelling(const struct data_recipe *recipe, enum operand_name name, int64_t b,
                         int64_t r, int64_t c)
{
    if (name == OPERAND_A)
        return normal_of(draw(recipe->seed, b, r, c / 2));
    if (name != OPERAND_B)
        return normal_of(draw(recipe->seed, b, r, c)) / 1024;
    double value = normal_of(draw(recipe->seed, b, r / 2, c));
    double rest = uniform_of(draw(~recipe->seed, b, r, c)) / 1024;
    return r % 2 ? -value * (1 + rest) : value;
}

static double value_of(const struct data_recipe *recipe, enum operand_name name, int64_t b,
                       int64_t r, int64_t c)
{
    switch (recipe->class) {
    case DATA_UNIFORM:
        return uniform_of(draw(recipe->seed, b, r, c));
    case DATA_INTEGER:
        return integer_of(draw(recipe->seed, b, r, c), name, recipe);
    case DATA_CANCEL:
        return cancelling(recipe, name, b, r, c);
    default:
        return normal_of(draw(recipe->seed, b, r, c));
    }
}

static void fill_element(struct data_image *image, enum operand_name name,
                         const struct data_recipe *recipe, const int64_t at[3])
{
    const struct operand *o = &image->shape;
    bool is_double = o->dtype == TILEWISE_F64 || o->dtype == TILEWISE_C128;
    unsigned char *element = element_at(image, operand_index(o, at[0], at[1], at[2]));
    put_part(element, is_double, value_of(recipe, name, at[0], at[1], at[2]));
    if (tilewise_dtype_kind(o->dtype) != TILEWISE_KIND_COMPLEX)
        return;
    struct data_recipe imaginary = *recipe;
    imaginary.seed = recipe->seed ^ 0x5bf03635u;
    put_part(element + o->element_bytes / 2, is_double,
             value_of(&imaginary, name, at[0], at[1], at[2]));
}

void data_fill(struct data_image *image, enum operand_name name, const struct data_recipe *recipe)
{
    const struct operand *o = &image->shape;
    struct data_recipe own = *recipe;
    own.seed = recipe->seed * OPERAND_COUNT + (uint64_t)name;
    if (!o->present)
        return;
    data_poison(image);
    bool rows_inside = o->row_step == 1; /* walk memory in order */
    int64_t inner = rows_inside ? o->rows : o->cols, outer = rows_inside ? o->cols : o->rows;
    for (int64_t b = 0; b < o->batch; b++)
        for (int64_t i = 0; i < outer; i++)
            for (int64_t j = 0; j < inner; j++)
                fill_element(image, name, &own,
                             (int64_t[]){ b, rows_inside ? j : i, rows_inside ? i : j });
}

bool data_frame_intact(struct data_image *before, const struct data_image *after)
{
    const struct operand *o = &before->shape;
    for (int64_t b = 0; b < o->batch; b++)
        for (int64_t c = 0; c < o->cols; c++)
            for (int64_t r = 0; r < o->rows; r++) {
                int64_t index = operand_index(o, b, r, c);
                if (operand_holds(o, r, c))
                    memcpy(element_at(before, index), element_at(after, index), o->element_bytes);
            }
    return memcmp(before->bytes, after->bytes, before->total_bytes) == 0;
}

bool data_integers_exact(uint8_t dtype, int64_t depth)
{
    /* Largest sum is depth * 4 * 2 for long sums, 2^22 for short ones; times 1.5, in halves. */
    int64_t limit = dtype == TILEWISE_F64 ? (int64_t)1 << 48 : (int64_t)1 << 19;
    return depth < limit;
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
    bool is_double = dtype == TILEWISE_F64 || dtype == TILEWISE_C128;
    memset(out, 0, 16);
    put_part(out, is_double, value);
}
