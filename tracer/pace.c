/* SPDX-License-Identifier: Apache-2.0 */
#include "tracer/pace.h"

#include <stdio.h>

#include "tracer/attach.h"
#include "tracer/clock.h"
#include "tracer/config.h"
#include "tracer/graph.h"
#include "tracer/thread.h"

struct duty pace_duty;

static struct attach attach;
static struct duty_stretch mark; /* when the stretch under way began, and the progress then */

static uint64_t calls_now(void)
{
    uint64_t calls = 0;
    for (uint32_t i = 0, n = thread_count(); i < n; i++)
        if (thread_at(i))
            calls += thread_seen(thread_at(i));
    return calls;
}

/* Calls in launched graphs are seen too and are nodes of these: only the others are launches. */
static struct attach_work work_now(void)
{
    uint64_t calls = calls_now(), in_graphs = graph_launched_calls();
    return (struct attach_work){ calls > in_graphs ? calls - in_graphs : 0, graph_nodes() };
}

void pace_start(uint64_t now_ns)
{
    attach_start(&attach, now_ns, work_now());
}

void pace_look(uint64_t now_ns)
{
    attach_look(&attach, now_ns, work_now());
}

bool pace_is_known(void)
{
    return attach_is_known(&attach);
}

bool pace_may_attach(void)
{
    return attach_is_known(&attach) && attach_share(&attach) <= config.gpu_budget / 2;
}

/* The budget pays for being attached first, and windows get the rest. Being attached cannot be
 * taken back: where the load grew, a tenth is left for them. */
static void share_budget(void)
{
    double left = config.gpu_budget - attach_share(&attach);
    pace_duty.options.budget_share = left > config.gpu_budget / 10 ? left : config.gpu_budget / 10;
}

void pace_attached(uint64_t now_ns)
{
    struct duty_options options = duty_defaults();
    duty_start(&pace_duty, &options, now_ns);
}

void pace_mark(void)
{
    uint64_t progress = calls_now() + graph_launches();
    mark = (struct duty_stretch){ clock_ns(CLOCK_MONOTONIC), progress };
}

struct duty_stretch pace_since_mark(void)
{
    uint64_t progress = calls_now() + graph_launches();
    return (struct duty_stretch){ clock_ns(CLOCK_MONOTONIC) - mark.ns, progress - mark.progress };
}

void pace_charge(uint64_t now_ns, const struct duty_window *w)
{
    share_budget();
    duty_close(&pace_duty, now_ns, w);
}

/* Appends `share` in per cent, with one place behind the point. */
static size_t add_share(char *text, size_t bytes, size_t used, const char *format, double share)
{
    unsigned tenths = (unsigned)(share * 1000 + 0.5);
    int added = snprintf(text + used, bytes - used, format, tenths / 10, tenths % 10);
    return added > 0 && (size_t)added < bytes - used ? used + (size_t)added : used;
}

void pace_words(char *text, size_t bytes, bool is_attached, uint64_t now_ns)
{
    size_t used = 0;
    if (!is_attached) {
        used = add_share(text, bytes, used, "being attached would cost %u.%u %% of wall time",
                         attach_share(&attach));
    } else {
        used = add_share(text, bytes, used, "attached %u.%u %%", attach_share(&attach));
        used = add_share(text, bytes, used, ", windows %u.%u %% of wall time",
                         duty_cost_share(&pace_duty, now_ns));
        used = add_share(text, bytes, used, ", slower in a window by up to %u.%u %%",
                         duty_slowdown(&pace_duty));
    }
    add_share(text, bytes, used, "; budget %u.%u %%", config.gpu_budget);
}
