/* SPDX-License-Identifier: Apache-2.0 */
#define REAL_BITS     64
#define VECTOR_BYTES  32
#define ISA           avx2
#define TILE_VECTORS  2
#define TILE_COLUMNS  6
#define BLOCK_ROWS    128
#define BLOCK_COLUMNS 2048
#define BLOCK_DEPTH   384
#include "kernels/cpu/isa_template.h"
