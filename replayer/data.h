/* SPDX-License-Identifier: Apache-2.0
 *
 * Images of operands in host memory: the elements with values of a known class, NaN canaries in
 * the gaps that leading dimensions leave, and red zones on both sides. Backends copy whole images
 * to their buffers and back, so that every byte a kernel had no business with can be checked.
 */
#ifndef TILEWISE_REPLAYER_DATA_H
#define TILEWISE_REPLAYER_DATA_H

#include "replayer/draw.h"
#include "replayer/image.h"

enum { DATA_RED_ZONE_BYTES = 4096, DATA_ALIGN_BYTES = 256 };

/* Never zeros: a processor multiplies zeros faster than real data. */
enum data_class {
    DATA_NORMAL,  /* mean 0, deviation 1 (a sum of four uniforms) */
    DATA_UNIFORM, /* (0, 1): all of one sign, so that a biased rounding adds up */
    DATA_INTEGER, /* small integers whose products and sums are exact in any order */
    DATA_CANCEL,  /* neighbours along k cancel nearly: what is left shows the lost digits */
    DATA_CLASS_COUNT
};
const char *data_class_name(enum data_class c);

/* Bytes of an image, red zones and alignment included; 0 for an absent operand. */
size_t data_image_bytes(const struct operand *shape);

/* Where the operand begins in its image: its alignment class is the recorded one. */
size_t data_first_byte(const struct operand *shape);

/* Allocate (NOMEM). An absent operand has no bytes. data_release accepts a zeroed image. */
enum status data_create(struct data_image *image, const struct operand *shape);
void data_release(struct data_image *image);

struct data_recipe {
    enum data_class class;
    uint64_t seed;
    int64_t depth;           /* operand_depth(): bounds the integers so that sums stay exact */
    bool squared;            /* A meets itself (syrk) */
    uint8_t compute, result; /* enum tilewise_dtype of the signature: what integers must fit */
};

/* How the recipe draws the elements of one operand (complex ones: their real parts). */
struct draw data_draw(const struct operand *shape, enum operand_name name,
                      const struct data_recipe *recipe);
/* Canaries everywhere, then values of the recipe in the elements. Deterministic. */
void data_fill(struct data_image *image, enum operand_name name, const struct data_recipe *recipe);
/* For timing: the first bytes of a random operand (normal elements, in the gaps, too), to be
 * repeated to its end. data_noise() fills data_noise_bytes() of them. */
size_t data_noise_bytes(const struct operand *shape);
void data_noise(void *bytes, const struct operand *shape, uint64_t seed);
/* Canaries everywhere, elements included: what a result looks like that nobody wrote. */
void data_poison(struct data_image *image);

/* Do `after` and `before` agree in every byte that is no element of the result? `before` is spent
 * as scratch: afterwards it equals `after`. */
bool data_frame_intact(struct data_image *before, const struct data_image *after);

/* Are sums of integer products exact in this signature's types, alpha and beta included? */
bool data_integers_exact(const struct tilewise_signature *s);

/* Every scale of a scaled operand (fp8), so that they multiply into alpha and beta. */
#define DATA_OPERAND_SCALE 0.5

/* What the scales of this signature make of alpha (OPERAND_A) and of beta (OPERAND_C). */
double data_scale_product(const struct tilewise_signature *s, enum operand_name name);

/* alpha (OPERAND_A) or beta (OPERAND_C) for a class: 0, 1, or a short fraction. Exact in any
 * type. */
double data_scalar(enum operand_name name, uint8_t scalar_class);
/* Store it as one value of `dtype` (real or complex) at `out`, 16 bytes. */
void data_scalar_store(void *out, uint8_t dtype, double value);

#endif
