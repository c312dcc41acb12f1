/* SPDX-License-Identifier: Apache-2.0
 *
 * The entry points that a recorded call can have gone through, NVIDIA's numbers for types, and
 * whether a call can be made again. Pure: loads nothing.
 */
#ifndef TILEWISE_REPLAYER_CUDA_ENTRY_H
#define TILEWISE_REPLAYER_CUDA_ENTRY_H

#include <stdbool.h>
#include <stddef.h>

#include "traces/signature.h"

enum cuda_family {
    CUDA_FAMILY_NONE,
    CUDA_FAMILY_GEMM,
    CUDA_FAMILY_STRIDED,
    CUDA_FAMILY_BATCHED,
    CUDA_FAMILY_GROUPED,
    CUDA_FAMILY_TYPES,
    CUDA_FAMILY_EX,
    CUDA_FAMILY_STRIDED_EX,
    CUDA_FAMILY_BATCHED_EX,
    CUDA_FAMILY_GROUPED_EX,
    CUDA_FAMILY_GEMV,
    CUDA_FAMILY_GEMV_BATCHED,
    CUDA_FAMILY_GEMV_STRIDED,
    CUDA_FAMILY_AXPY,
    CUDA_FAMILY_AXPY_EX,
    CUDA_FAMILY_GEAM, /* in place: y is what is added to, and where the sum goes */
    CUDA_FAMILY_LT,
};

/* Number of an entry point, from 1; 0 for one that is no row of cuda_entry.def. */
uint32_t cuda_entry_number(const char *name);
const char *cuda_entry_name(uint32_t number); /* "" for 0 */
enum cuda_family cuda_entry_family(uint32_t number);

/* cudaDataType of an element type; -1 for none. */
int cuda_entry_data_type(uint8_t dtype);
/* cublasComputeType_t of a signature: as recorded, else the plain one for its types. */
int cuda_entry_compute_type(const struct tilewise_signature *s);

/* backend->supports of the CUDA backend. */
bool cuda_entry_supports(const struct tilewise_signature *s, char *why, size_t why_bytes);

/* Does cuBLAS use tensor cores for it, whose sums truncate? */
bool cuda_entry_on_tensor_cores(const struct tilewise_signature *s);

#endif
