/* SPDX-License-Identifier: Apache-2.0
 *
 * Element and compute types. The numbers are written to trace files: append only, never renumber.
 */
#ifndef TILEWISE_TRACES_DTYPE_H
#define TILEWISE_TRACES_DTYPE_H

#include <stdint.h>

/*   id      number  name     bits  kind */
#define TILEWISE_DTYPE_LIST(X)                                                                     \
    X(NONE, 0, "none", 0, NONE)                                                                    \
    X(F64, 1, "f64", 64, REAL)                                                                     \
    X(F32, 2, "f32", 32, REAL)                                                                     \
    X(TF32, 3, "tf32", 32, REAL) /* a compute type; stored as f32 */                               \
    X(F16, 4, "f16", 16, REAL)                                                                     \
    X(BF16, 5, "bf16", 16, REAL)                                                                   \
    X(E4M3, 6, "e4m3", 8, REAL)                                                                    \
    X(E5M2, 7, "e5m2", 8, REAL)                                                                    \
    X(UE8M0, 8, "ue8m0", 8, REAL)                                                                  \
    X(E3M2, 9, "e3m2", 6, REAL)                                                                    \
    X(E2M3, 10, "e2m3", 6, REAL)                                                                   \
    X(E2M1, 11, "e2m1", 4, REAL)                                                                   \
    X(I32, 12, "i32", 32, INTEGER)                                                                 \
    X(I8, 13, "i8", 8, INTEGER)                                                                    \
    X(U8, 14, "u8", 8, INTEGER)                                                                    \
    X(I4, 15, "i4", 4, INTEGER)                                                                    \
    X(U4, 16, "u4", 4, INTEGER)                                                                    \
    X(I64, 17, "i64", 64, INTEGER)                                                                 \
    X(C64, 18, "c64", 64, COMPLEX)    /* two f32 */                                                \
    X(C128, 19, "c128", 128, COMPLEX) /* two f64 */                                                \
    X(C32, 20, "c32", 32, COMPLEX)    /* two f16 */                                                \
    X(UNKNOWN, 21, "unknown", 0, NONE)

enum tilewise_dtype {
#define X(id, number, name, bits, kind) TILEWISE_##id = number,
    TILEWISE_DTYPE_LIST(X)
#undef X
        TILEWISE_DTYPE_COUNT
};

enum tilewise_dtype_kind {
    TILEWISE_KIND_NONE,
    TILEWISE_KIND_REAL,
    TILEWISE_KIND_INTEGER,
    TILEWISE_KIND_COMPLEX,
};

/* Short name ("f32"); "unknown" for a number that no row has. Static storage. */
const char *tilewise_dtype_name(unsigned dtype);
/* Number for a short name, or TILEWISE_UNKNOWN. */
enum tilewise_dtype tilewise_dtype_find(const char *name);
/* Bits of one element; 0 for NONE and UNKNOWN. */
unsigned tilewise_dtype_bits(unsigned dtype);
enum tilewise_dtype_kind tilewise_dtype_kind(unsigned dtype);

#endif
