/* SPDX-License-Identifier: Apache-2.0 */
#include "traces/crc32c.h"

#include <string.h>

#ifdef __x86_64__
#include <cpuid.h>
#include <stdatomic.h>
#include <stdbool.h>
#endif

/* Four bits at a time: 64 bytes of table; for processors without the instruction. */
static uint32_t crc_portable(uint32_t crc, const uint8_t *bytes, size_t count)
{
    static const uint32_t table[16] = {
        0x00000000, 0x105ec76f, 0x20bd8ede, 0x30e349b1, 0x417b1dbc, 0x5125dad3,
        0x61c69362, 0x7198540d, 0x82f63b78, 0x92a8fc17, 0xa24bb5a6, 0xb21572c9,
        0xc38d26c4, 0xd3d3e1ab, 0xe330a81a, 0xf36e6f75,
    };
    for (size_t i = 0; i < count; i++) {
        crc ^= bytes[i];
        crc = crc >> 4 ^ table[crc & 15];
        crc = crc >> 4 ^ table[crc & 15];
    }
    return crc;
}

#ifdef __x86_64__
__attribute__((target("sse4.2"))) static uint32_t crc_sse42(uint32_t crc, const uint8_t *bytes,
                                                            size_t count)
{
    uint64_t wide = crc;
    for (; count >= 8; bytes += 8, count -= 8) {
        uint64_t word;
        memcpy(&word, bytes, 8);
        wide = __builtin_ia32_crc32di(wide, word);
    }
    crc = (uint32_t)wide;
    for (size_t i = 0; i < count; i++)
        crc = __builtin_ia32_crc32qi(crc, bytes[i]);
    return crc;
}

/* Asked here and not by the compiler's own check: that one asks all there is when an object is
 * loaded, the tracer in each process, and a virtual machine takes microseconds for each answer. */
static bool has_sse42(void)
{
    enum { NOT_ASKED, NO, YES };
    static _Atomic int answer = NOT_ASKED;
    int known = atomic_load_explicit(&answer, memory_order_relaxed);
    if (known == NOT_ASKED) {
        unsigned a, b, c = 0, d;
        known = __get_cpuid(1, &a, &b, &c, &d) && (c & bit_SSE4_2) ? YES : NO;
        atomic_store_explicit(&answer, known, memory_order_relaxed);
    }
    return known == YES;
}
#endif

uint32_t crc32c(const void *bytes, size_t count)
{
#ifdef __x86_64__
    if (has_sse42())
        return ~crc_sse42(~0u, bytes, count);
#endif
    return ~crc_portable(~0u, bytes, count);
}
