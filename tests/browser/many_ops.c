/* SPDX-License-Identifier: Apache-2.0
 *
 * many_ops FILE COUNT: a trace of so many operations (at most 45), from hot to cold and from stable
 * to varying, so that a page can be tried with few and with many.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>

#include "traces/writer.h"

enum { OPS = 5, TYPES = 9, SIZES = 200, FRAMES = 64, CALLS = 3000 };

static uint64_t random_bits(void)
{
    static uint64_t state = 88172645463325252u;
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state;
}

static struct tilewise_signature signature(unsigned op, unsigned size, uint32_t entry)
{
    static const uint8_t ops[OPS] = { TILEWISE_OP_GEMM, TILEWISE_OP_GEMV, TILEWISE_OP_ADD,
                                      TILEWISE_OP_CONV, TILEWISE_OP_ATTENTION };
    static const uint8_t types[TYPES] = { TILEWISE_F32, TILEWISE_F64,  TILEWISE_BF16,
                                          TILEWISE_F16, TILEWISE_E4M3, TILEWISE_I32,
                                          TILEWISE_C64, TILEWISE_C128, TILEWISE_I8 };
    struct tilewise_signature s =
        signature_gemm(TILEWISE_ROW_MAJOR, types[op / OPS], 1 + size * (1 + op % 3), 256, 128);
    s.op = ops[op % OPS];
    s.entry = entry;
    return s;
}

/* Some have two shapes, some many, and some a set that moves on from frame to frame. */
static unsigned draw_size(unsigned op, unsigned frame)
{
    static const unsigned sizes[] = { 2, 8, 40, SIZES, 30 };
    unsigned kind = op * 7 % 5, size = (unsigned)(random_bits() % sizes[kind]);
    return kind == 4 ? (size + frame) % SIZES : size;
}

static uint32_t draw_ns(unsigned op)
{
    unsigned mean = op < 12 ? 60000 / (1 + op * op) : 100 + op * 10;
    return 300 + mean * (80 + (unsigned)(random_bits() % 41)) / 100;
}

int main(int argc, char **argv)
{
    static uint32_t ids[OPS * TYPES][SIZES];
    static struct writer_event events[CALLS];
    unsigned count = argc > 2 ? (unsigned)atoi(argv[2]) : 0;
    struct writer_options options = { .kind = TRACE_KIND_RECORDED, .shard = { .pid = 1 } };
    struct trace_counters counters = { 0 };
    struct writer *w;
    uint32_t entry;
    uint64_t now_ns = 1000;
    int fd = count && count <= OPS * TYPES ? open(argv[1], O_RDWR | O_CREAT | O_TRUNC, 0600) : -1;
    if (fd < 0 || writer_open(&w, fd, &options) != ST_OK ||
        writer_string(w, "cblas_any", 9, &entry) != ST_OK) {
        fputs("usage: many_ops FILE COUNT\n", stderr);
        return 64;
    }
    bool good = true;
    for (unsigned op = 0; op < count; op++)
        for (unsigned size = 0; size < SIZES; size++) {
            struct tilewise_signature s = signature(op, size, entry);
            good &= writer_signature(w, &s, &ids[op][size]) == ST_OK;
        }
    for (unsigned frame = 0; frame < FRAMES; frame++) {
        for (unsigned i = 0; i < CALLS; i++) {
            unsigned op = (unsigned)(random_bits() % count);
            events[i] = (struct writer_event){ ids[op][draw_size(op, frame)], draw_ns(op), now_ns };
            now_ns += events[i].duration_ns + 2000;
        }
        counters.seen += CALLS;
        counters.recorded += CALLS;
        good &= writer_events(w, 0, 0, events, CALLS) == ST_OK &&
                writer_flush(w, &counters, now_ns) == ST_OK;
    }
    return writer_close(w, &counters, now_ns) == ST_OK && good ? 0 : 2;
}
