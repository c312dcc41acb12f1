/* SPDX-License-Identifier: Apache-2.0
 *
 * An operand in the middle of a buffer, and how its elements are read: on the host or in a kernel,
 * wherever `bytes` points to.
 */
#ifndef TILEWISE_REPLAYER_IMAGE_H
#define TILEWISE_REPLAYER_IMAGE_H

#include "replayer/operand.h"
#include "traces/number.h"

struct data_image {
    struct operand shape;
    unsigned char *bytes; /* aligned to DATA_ALIGN_BYTES; NULL: absent */
    size_t total_bytes;
    size_t first_byte; /* of the operand */
};

TILEWISE_ANYWHERE unsigned char *image_element(const struct data_image *image, int64_t index)
{
    return image->bytes + image->first_byte + (size_t)index * image->shape.element_bytes;
}

/* One real element; `index` from operand_index(). Storing rounds. NaN for types that
 * traces/number.h does not know. */
TILEWISE_ANYWHERE double data_get(const struct data_image *image, int64_t index)
{
    return number_load(image->shape.dtype, image->bytes + image->first_byte, index);
}
TILEWISE_ANYWHERE void data_put(struct data_image *image, int64_t index, double value)
{
    number_store(image->shape.dtype, image->bytes + image->first_byte, index, value);
}

/* What fills an image where no element is, from its beginning, least byte first: quiet NaNs with a
 * payload that no arithmetic produces; for integers an unlikely number. */
TILEWISE_ANYWHERE uint32_t image_canary(unsigned element_bytes)
{
    return element_bytes == 2 ? 0x7fe57fe5u : element_bytes == 1 ? 0x7f7f7f7fu : 0x7fffa55au;
}

/* True while the element still has the canary's bits. */
TILEWISE_ANYWHERE bool data_is_canary(const struct data_image *image, int64_t index)
{
    uint32_t canary = image_canary((unsigned)image->shape.element_bytes);
    const unsigned char *at = image_element(image, index);
    for (size_t i = 0; i < image->shape.element_bytes; i++)
        if (at[i] != (unsigned char)(canary >> 8 * ((size_t)(at + i - image->bytes) % 4)))
            return false;
    return true;
}

#endif
