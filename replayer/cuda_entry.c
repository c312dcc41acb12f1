/* SPDX-License-Identifier: Apache-2.0 */
#include "replayer/cuda_entry.h"

#include <string.h>

#include "replayer/operand.h"

static const struct {
    const char *name;
    enum cuda_family family;
} entries[] = {
    { "", CUDA_FAMILY_NONE },
#define ENTRY(family, symbol) { #symbol, CUDA_FAMILY_##family },
#include "replayer/cuda_entry.def"
#undef ENTRY
};
enum { ENTRIES = sizeof entries / sizeof entries[0] };

uint32_t cuda_entry_number(const char *name)
{
    size_t length = strlen(name);
    if (length > 3 && strcmp(name + length - 3, "_64") == 0)
        length -= 3;
    for (uint32_t i = 1; i < ENTRIES; i++)
        if (strncmp(entries[i].name, name, length) == 0 && entries[i].name[length] == '\0')
            return i;
    return 0;
}

const char *cuda_entry_name(uint32_t number)
{
    return number < ENTRIES ? entries[number].name : "";
}

enum cuda_family cuda_entry_family(uint32_t number)
{
    return number < ENTRIES ? entries[number].family : CUDA_FAMILY_NONE;
}

int cuda_entry_data_type(uint8_t dtype)
{
    static const struct {
        uint8_t dtype;
        int number;
    } types[] = {
        { TILEWISE_F32, 0 },   { TILEWISE_F64, 1 },   { TILEWISE_F16, 2 },   { TILEWISE_I8, 3 },
        { TILEWISE_C64, 4 },   { TILEWISE_C128, 5 },  { TILEWISE_U8, 8 },    { TILEWISE_I32, 10 },
        { TILEWISE_BF16, 14 }, { TILEWISE_E4M3, 28 }, { TILEWISE_E5M2, 29 },
    };
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++)
        if (types[i].dtype == dtype)
            return types[i].number;
    return -1;
}

enum { COMPUTE_16F = 64, COMPUTE_32F = 68, COMPUTE_64F = 70, COMPUTE_32I = 72, FAST_TF32 = 77 };
enum { MATH_TF32 = 3 };

int cuda_entry_compute_type(const struct tilewise_signature *s)
{
    int recorded = s->math_mode >> 8;
    switch (recorded ? TILEWISE_NONE : s->compute) {
    case TILEWISE_NONE:
        return recorded;
    case TILEWISE_F16:
        return COMPUTE_16F;
    case TILEWISE_F64:
    case TILEWISE_C128:
        return COMPUTE_64F;
    case TILEWISE_I32:
        return COMPUTE_32I;
    case TILEWISE_TF32:
        return FAST_TF32;
    default:
        return COMPUTE_32F;
    }
}

bool cuda_entry_on_tensor_cores(const struct tilewise_signature *s)
{
    uint8_t in = s->op == TILEWISE_OP_GEMV ? s->dtype_a : s->dtype_b;
    int compute = s->math_mode >> 8;
    bool fast = compute == 74 || compute == 75 || compute == FAST_TF32;
    return s->compute == TILEWISE_TF32 || fast || tilewise_dtype_bits(in) <= 16;
}

enum { SCALE_MODE_MOST = 6 }; /* our numbers: cublasLt's + 1 */

static const char *types_refused(const struct tilewise_signature *s)
{
    bool has_a = s->op != TILEWISE_OP_ADD;
    if (s->flags & TILEWISE_NOT_REPLAYABLE)
        return "the recorder did not understand the whole call";
    if ((has_a && cuda_entry_data_type(s->dtype_a) < 0) || cuda_entry_data_type(s->dtype_b) < 0 ||
        cuda_entry_data_type(s->dtype_c) < 0 ||
        (s->dtype_d && cuda_entry_data_type(s->dtype_d) < 0))
        return "no data can be made for these element types";
    return NULL;
}

/* Functions that add, and calls that do, belong together; they know no batches and no rows. */
static bool is_no_add(const struct tilewise_signature *s, enum cuda_family family)
{
    bool vector = family == CUDA_FAMILY_AXPY || family == CUDA_FAMILY_AXPY_EX;
    bool plain = s->batch_kind == TILEWISE_BATCH_NONE && s->layout == TILEWISE_COL_MAJOR &&
                 (s->n == 1 || !vector);
    bool adds = vector || family == CUDA_FAMILY_GEAM;
    return adds != (s->op == TILEWISE_OP_ADD) || (adds && !plain);
}

static const char *call_refused(const struct tilewise_signature *s)
{
    enum cuda_family family = cuda_entry_family(s->entry);
    if (s->op != TILEWISE_OP_GEMM && s->op != TILEWISE_OP_GEMV && s->op != TILEWISE_OP_ADD)
        return "only gemm, gemv and adds of cuBLAS are replayed on this device";
    if (family == CUDA_FAMILY_NONE)
        return "the recorded function is not one of cuBLAS; try --device cpu";
    if (is_no_add(s, family))
        return "the recorded function cannot have made this call";
    if (s->alpha == TILEWISE_SCALAR_DEVICE || s->beta == TILEWISE_SCALAR_DEVICE)
        return "alpha or beta is in device memory";
    if (s->scale_a > SCALE_MODE_MOST || s->scale_b > SCALE_MODE_MOST ||
        s->scale_c > SCALE_MODE_MOST || s->scale_d > SCALE_MODE_MOST)
        return "an unknown scale mode";
    bool apart = s->dtype_c != s->dtype_d || s->ldc != s->ldd || s->stride_c != s->stride_d;
    if (family == CUDA_FAMILY_LT && s->beta != TILEWISE_SCALAR_ZERO && apart)
        return "C is read and D is written with another layout";
    return types_refused(s);
}

bool cuda_entry_supports(const struct tilewise_signature *s, char *why, size_t why_bytes)
{
    return operand_is_callable(s, call_refused(s), why, why_bytes);
}
