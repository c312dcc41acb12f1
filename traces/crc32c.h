/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TILEWISE_TRACES_CRC32C_H
#define TILEWISE_TRACES_CRC32C_H

#include <stddef.h>
#include <stdint.h>

/* CRC32C (Castagnoli) of `count` bytes, with the processor's instruction where there is one. Any
 * thread. crc32c("123456789") = 0xe3069283. */
uint32_t crc32c(const void *bytes, size_t count);

#endif
