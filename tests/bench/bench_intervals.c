/* SPDX-License-Identifier: Apache-2.0
 *
 * Bytes of the trace per kernel interval, on a made-up decode loop: `bench_intervals [FILE
 * [STEPS]]`. 10 kernels a layer, 32 layers, one graph launch a step; durations and gaps jitter by a
 * few percent.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>

#include "traces/writer.h"

enum { KERNELS = 10, LAYERS = 32, STEPS = 200, BATCH = KERNELS * LAYERS };

static uint64_t state = 88172645463325252u;

/* Nearly normal around `mean`, 3 % wide. */
static uint32_t about(double mean)
{
    double sum = 0;
    for (int i = 0; i < 12; i++) {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        sum += (double)(state >> 11) * 0x1p-53;
    }
    return (uint32_t)(mean * (1 + 0.03 * (sum - 6)));
}

int main(int argc, char **argv)
{
    struct writer *w;
    struct writer_options options = { .kind = TRACE_KIND_RECORDED };
    int fd = open(argc > 1 ? argv[1] : "/dev/null", O_RDWR | O_CREAT | O_TRUNC, 0600);
    unsigned steps = argc > 2 ? (unsigned)atoi(argv[2]) : STEPS;
    struct gpu_source sources[KERNELS];
    static struct gpu_interval v[BATCH];
    if (fd < 0 || writer_open(&w, fd, &options) != ST_OK)
        return 2;
    for (uint32_t i = 0; i < KERNELS; i++) {
        char name[32];
        int bytes = snprintf(name, sizeof name, "kernel_%u", i);
        sources[i] = (struct gpu_source){ .signature = GPU_NO_SIGNATURE, .in_graph = true };
        if (writer_string(w, name, (size_t)bytes, &sources[i].name) != ST_OK)
            return 2;
    }
    struct gpu_window window = { 0, 1, 0, 0, 0, 0 };
    writer_gpu_window(w, &window);
    uint64_t now = 0, empty = writer_file_bytes(w);
    for (unsigned step = 0; step < steps; step++) {
        uint64_t launch = now;
        now += about(9000);
        for (unsigned i = 0; i < BATCH; i++) {
            uint32_t ns = about(i % KERNELS ? 2000 + 900 * (i % KERNELS) : 15000);
            v[i] = (struct gpu_interval){ now, launch, ns, i % KERNELS };
            now += ns + about(1100);
        }
        struct gpu_intervals g = {
            .stream = 1, .nsources = KERNELS, .count = BATCH, .sources = sources, .interval = v
        };
        while (writer_gpu_intervals(w, &g) == ST_LIMIT)
            writer_flush(w, &(struct trace_counters){ 0 }, now);
    }
    writer_flush(w, &(struct trace_counters){ 0 }, now);
    printf("%.2f bytes per interval\n",
           (double)(writer_file_bytes(w) - empty) / ((double)steps * BATCH));
    return writer_close(w, &(struct trace_counters){ 0 }, now) != ST_OK;
}
