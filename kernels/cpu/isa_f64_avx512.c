/* SPDX-License-Identifier: Apache-2.0 */
#define REAL_BITS     64
#define VECTOR_BYTES  64
#define ISA           avx512
#define TILE_VECTORS  2
#define TILE_COLUMNS  14
#define BLOCK_ROWS    192
#define BLOCK_COLUMNS 2048
#define BLOCK_DEPTH   384
#include "kernels/cpu/isa_template.h"
