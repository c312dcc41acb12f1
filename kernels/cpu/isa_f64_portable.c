/* SPDX-License-Identifier: Apache-2.0 */
#define REAL_BITS     64
#define VECTOR_BYTES  16
#define ISA           portable
#define TILE_VECTORS  2
#define TILE_COLUMNS  4
#define BLOCK_ROWS    128
#define BLOCK_COLUMNS 2048
#define BLOCK_DEPTH   256
#include "kernels/cpu/isa_template.h"
