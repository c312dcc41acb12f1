/* SPDX-License-Identifier: Apache-2.0 */
#include "tracer/capture.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#include "tracer/elf.h"

/* cudaStreamGetCaptureInfo and cuStreamGetCaptureInfo: later versions have more results, each of
 * which may be NULL; earlier ones do not look at them. */
typedef int capture_info(void *stream, int *status, unsigned long long *id, void *graph,
                         void *dependencies, void *edges, void *count);

static capture_info *_Atomic query;

void capture_learn(const void *begin)
{
    struct elf_object object;
    if (atomic_load_explicit(&query, memory_order_relaxed) || !elf_at(begin, &object))
        return;
    static const char name[][28] = { "cudaStreamGetCaptureInfo_v2", "cudaStreamGetCaptureInfo",
                                     "cuStreamGetCaptureInfo_v2", "cuStreamGetCaptureInfo" };
    void *found = NULL;
    for (size_t i = 0; i < sizeof name / sizeof *name && !found; i++)
        found = elf_symbol(&object, name[i]);
    atomic_store_explicit(&query, (capture_info *)(uintptr_t)found, memory_order_release);
}

static bool is_ours(const void *stream)
{
    /* Neither the null stream nor the legacy one can be captured, and asking for them while another
     * stream is captured is an error that the host would read. */
    return (uintptr_t)stream > 1;
}

uint64_t capture_ask(void *stream, void **graph)
{
    capture_info *ask = atomic_load_explicit(&query, memory_order_acquire);
    int status = 0;
    unsigned long long id = 0;
    if (!ask || !is_ours(stream) || ask(stream, &status, &id, graph, NULL, NULL, NULL) != 0)
        return 0;
    return status ? id : 0;
}
