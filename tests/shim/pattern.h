/* SPDX-License-Identifier: Apache-2.0
 *
 * The deterministic sequence of shapes that host programs call and checkers expect: call i of a
 * thread.
 */
#ifndef TILEWISE_TESTS_SHIM_PATTERN_H
#define TILEWISE_TESTS_SHIM_PATTERN_H

#include <stdint.h>

static inline int64_t pattern_m(uint64_t i)
{
    return 1 + (int64_t)(i * 7 % 97);
}

static inline int64_t pattern_n(uint64_t i)
{
    return 1 + (int64_t)(i / 97 % 13);
}

#endif
