/* SPDX-License-Identifier: Apache-2.0 */
#include "traces/sigcode.h"

struct field {
    uint8_t offset, bytes;
};

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "fields are copied as they are");

/* The order is that of the bits in the file: what differs most often comes first, so that most
 * masks take one or two bytes. Append only. */
/* clang-format off */
static const struct field fields[SIGCODE_FIELDS] = {
#define F(name)                                                                                    \
    { offsetof(struct tilewise_signature, name), sizeof(((struct tilewise_signature *)0)->name) }
    F(m),          F(n),        F(k),        F(lda),      F(ldb),       F(ldc),     F(ldd),
    F(align_a),    F(align_b),  F(align_c),  F(align_d),  F(entry),     F(op),      F(layout),
    F(trans_a),    F(trans_b),  F(dtype_a),  F(dtype_b),  F(dtype_c),   F(dtype_d), F(compute),
    F(scale),      F(alpha),    F(beta),     F(uplo),     F(batch_kind), F(batch),  F(stride_a),
    F(stride_b),   F(stride_c), F(stride_d), F(scale_a),  F(scale_b),   F(scale_c), F(scale_d),
    F(epilogue),   F(math_mode), F(flags),
#undef F
};
/* clang-format on */

static uint64_t field_get(const struct tilewise_signature *s, struct field f)
{
    const uint8_t *at = (const uint8_t *)s + f.offset;
    uint64_t wide = 0;
    memcpy(&wide, at, f.bytes);
    return wide;
}

static void field_set(struct tilewise_signature *s, struct field f, uint64_t value)
{
    memcpy((uint8_t *)s + f.offset, &value, f.bytes);
}

void sigcode_put(struct buffer *out, const struct tilewise_signature *before,
                 const struct tilewise_signature *s)
{
    uint64_t mask = 0;
    for (unsigned i = 0; i < SIGCODE_FIELDS; i++)
        mask |= (uint64_t)(field_get(before, fields[i]) != field_get(s, fields[i])) << i;
    buffer_put_varint(out, mask);
    for (unsigned i = 0; i < SIGCODE_FIELDS; i++)
        if (mask >> i & 1) {
            uint64_t delta = field_get(s, fields[i]) - field_get(before, fields[i]);
            buffer_put_varint(out, zigzag_encode((int64_t)delta));
        }
}

void sigcode_get(struct cursor *in, struct tilewise_signature *s)
{
    uint64_t mask = cursor_varint_max(in, (UINT64_C(1) << SIGCODE_FIELDS) - 1);
    for (unsigned i = 0; i < SIGCODE_FIELDS; i++) {
        if (!(mask >> i & 1))
            continue;
        uint64_t value = field_get(s, fields[i]) + (uint64_t)zigzag_decode(cursor_varint(in));
        if (fields[i].bytes < 8 && value >> 8 * fields[i].bytes)
            in->bad = true;
        field_set(s, fields[i], value);
    }
}
