/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/causal_attach.h"

#include <math.h>
#include <stdlib.h>

#include "analysis/json.h"
#include "analysis/words.h"

static struct causal_group group_of(const struct analysis_group *g)
{
    return (struct causal_group){ g->op, g->dtype, g->shape_class, g->time_ns };
}

enum status causal_attach(struct analysis *a)
{
    const struct summary *s = a->summary;
    if (s->is_of_phase || (s->events == 0 && s->gpu.intervals == 0))
        return ST_OK;
    size_t count = a->nops + a->nclasses;
    struct causal_group *groups = calloc(count + 1, sizeof *groups);
    struct fault fault = { .text = "" };
    if (!groups)
        return ST_NOMEM;
    for (size_t i = 0; i < count; i++)
        groups[i] = group_of(i < a->nops ? &a->ops[i] : &a->classes[i - a->nops]);
    enum status st = causal_measure(&a->causal, s, groups, count, &fault);
    free(groups);
    if (st == ST_OK || st == ST_NOMEM)
        return st;
    snprintf(a->timeline_fault, sizeof a->timeline_fault, "%.150s", fault.text);
    return ST_OK;
}

static const char *source_name(enum causal_source source)
{
    static const char *const names[] = { NULL, "host", "gpu" };
    return names[source];
}

void causal_json_idle(yajl_gen g, const struct analysis *a)
{
    static const struct causal_idle unknown = { CAUSAL_NONE, NAN, NAN, NAN, NAN };
    const struct causal_idle *idle = a->causal ? &a->causal->idle : &unknown;
    json_open_map(g, "idle");
    json_key_real(g, "host", idle->host);
    json_key_real(g, "kernel", idle->kernel);
    json_key_real(g, "communication", idle->communication);
    json_key_real(g, "copy", idle->copy);
    json_key_text(g, "of", source_name(idle->source));
    yajl_gen_map_close(g);
}

bool causal_words_idle(const struct analysis *a, char *text, size_t bytes)
{
    if (!a->causal || a->causal->idle.source == CAUSAL_NONE)
        return false;
    const struct causal_idle *idle = &a->causal->idle;
    if (idle->source == CAUSAL_THREADS)
        snprintf(text, bytes,
                 "of the wall time no recorded call ran for %s, nothing but communication for %s",
                 words_share(idle->host), words_share(idle->communication));
    else
        snprintf(text, bytes,
                 "of the time of the GPU windows the GPU waited for the host for %s and for "
                 "launched work to start for %s; nothing but communication ran for %s, nothing but "
                 "copies for %s",
                 words_share(idle->host), words_share(idle->kernel),
                 words_share(idle->communication), words_share(idle->copy));
    return true;
}
