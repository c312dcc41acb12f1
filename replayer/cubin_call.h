/* SPDX-License-Identifier: Apache-2.0
 *
 * From a signature to the numbers of a launch. Pure: no device, no memory of the operands.
 */
#ifndef TILEWISE_REPLAYER_CUBIN_CALL_H
#define TILEWISE_REPLAYER_CUBIN_CALL_H

#include "replayer/cubin.h"

/* A signature in a manifest's words: column-major, with A and B in each other's place where it was
 * recorded in rows. */
struct cubin_call {
    int64_t names[EXPR_NAMES];
    uint8_t type_a, type_b, type_c;
    bool transposed_a, transposed_b, is_swapped;
    bool knows_device; /* names has the device's; else what needs them is passed over */
};

struct cubin_launch_numbers {
    uint32_t grid[CUBIN_AXES], block[CUBIN_AXES], cluster[CUBIN_AXES], shared_bytes;
    uint64_t clear_bytes;
    int64_t value[CUBIN_ARGS_MAX]; /* of each argument's expression */
};

/* False for a call that no manifest has words for: epilogues, scale modes, one triangle, batches of
 * pointers, a D apart from a C that is read. */
bool cubin_call_read(const struct tilewise_signature *s, struct cubin_call *out);

/* Does the candidate compute it, as far as types, transposes, scalars and conditions go? */
bool cubin_call_fits(const struct cubin_candidate *c, const struct tilewise_signature *s,
                     const struct cubin_call *call);

/* False if there is no value in range. */
bool cubin_call_scratch(const struct cubin_candidate *c, const struct cubin_call *call,
                        uint64_t *bytes);

/* NULL, or what is out of range in it (static text). */
const char *cubin_call_launch(const struct cubin_launch *launch, const struct cubin_call *call,
                              struct cubin_launch_numbers *out);

#endif
