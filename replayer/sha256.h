/* SPDX-License-Identifier: Apache-2.0
 *
 * SHA-256 (FIPS 180-4): is the file still what a manifest was written for? The only need here, and
 * a fixed algorithm: no library for it has to be where the replayer runs.
 */
#ifndef TILEWISE_REPLAYER_SHA256_H
#define TILEWISE_REPLAYER_SHA256_H

#include <stddef.h>
#include <stdint.h>

enum { SHA256_BYTES = 32 };

void sha256(const void *data, size_t bytes, uint8_t digest[SHA256_BYTES]);

#endif
