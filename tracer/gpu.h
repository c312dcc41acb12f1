/* SPDX-License-Identifier: Apache-2.0
 *
 * The recorder's side of a hook of a GPU library: as tap_enter and tap_leave, for calls that run on
 * a stream and may be captured into a CUDA graph.
 */
#ifndef TILEWISE_TRACER_GPU_H
#define TILEWISE_TRACER_GPU_H

#include "tracer/clock.h"
#include "tracer/cupti.h"
#include "tracer/graph.h"
#include "tracer/launches.h"
#include "tracer/tap.h"

enum gpu_mode {
    GPU_OFF, /* make the real call and nothing else */
    GPU_RECORD,
    GPU_CAPTURE_ONLY, /* recording is off, but a graph launched later may hold this call */
};

struct gpu_call {
    const void *caller;
    uint64_t start_ticks, end_ticks;
    enum gpu_mode mode;
};

/* Then the hook has nothing to do, before the real call or after it. */
static inline bool gpu_is_off(void)
{
    return tap_is_off() && !graph_is_capturing();
}

static inline struct gpu_call gpu_enter(const void *caller)
{
    struct gpu_call call = { .caller = caller };
    if (__builtin_expect(tap_enter(caller), 1))
        call.mode = GPU_RECORD;
    else if (graph_is_capturing() && tap_enter_unrecorded())
        call.mode = GPU_CAPTURE_ONLY;
    if (call.mode) {
        cupti_look();
        tap_self.gpu_call = 0;
        call.start_ticks = clock_ticks();
    }
    return call;
}

/* May the hook enter and record with no question asked? */
static inline bool gpu_is_ready(void)
{
    return tap_is_ready(&tap_self) && !cupti_is_wanted();
}

/* gpu_enter where it may; the time. */
static inline uint64_t gpu_enter_ready(void)
{
    struct tap_self *self = &tap_self;
    tap_enter_ready(self);
    self->gpu_call = 0;
    return clock_ticks();
}

/* The library refused. */
static inline void gpu_fail(const struct gpu_call *call)
{
    if (call->mode == GPU_RECORD)
        tap_fail(call->caller);
    else
        tap_release();
}

/* One record of a call that succeeded; a call may make several, then releases once. Each takes its
 * part of the time: `part` of `parts`. */
struct gpu_place {
    uint64_t capture; /* from graph_capture_of, asked for before tap_hold */
    uint32_t stream;  /* number */
};

/* Kernels that the call launched, or the nodes that it made, were bound to a number: this is it. */
static HOT_NOT __attribute__((unused)) void
gpu_name(enum gpu_mode mode, const struct tilewise_signature *key, bool is_captured)
{
    struct tilewise_signature named = *key;
    if (is_captured)
        named.flags |= TILEWISE_IN_GRAPH;
    bool is_own = mode == GPU_RECORD && !is_captured;
    launches_name(tap_self.gpu_call, is_own ? tap_self.thread : NULL, &named);
    tap_self.gpu_call = 0;
}

static inline void gpu_add(const struct gpu_call *call, struct gpu_place place,
                           const struct tilewise_signature *key, uint64_t part, uint64_t parts)
{
    if (__builtin_expect(tap_self.gpu_call != 0, 0))
        gpu_name(call->mode, key, place.capture != 0);
    uint64_t ticks = (call->end_ticks - call->start_ticks) / parts;
    if (__builtin_expect(place.capture != 0, 0))
        graph_add_call(place.capture, key);
    else if (call->mode == GPU_RECORD)
        tap_add(key, call->start_ticks + part * ticks, ticks, place.stream);
}

/* gpu_leave of a call in the words of the table's rows. False: this is not the way. */
static inline bool gpu_leave_expected(const struct gpu_call *call, uint32_t stream,
                                      const struct table_call *words)
{
    return call->mode == GPU_RECORD && tap_self.gpu_call == 0 && !graph_is_capturing() &&
           tap_add_expected(words, call->start_ticks, call->end_ticks - call->start_ticks, stream);
}

/* The only record of a call on `stream`. */
static inline void gpu_leave(const struct gpu_call *call, void *stream, uint32_t number,
                             const struct tilewise_signature *key)
{
    struct gpu_place place = { graph_is_capturing() ? graph_capture_of(stream) : 0, number };
    tap_hold();
    gpu_add(call, place, key, 0, 1);
    tap_release();
}

#endif
