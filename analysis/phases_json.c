/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/phases_json.h"

#include "analysis/json.h"
#include "analysis/phases.h"

static void phase(yajl_gen g, const struct summary *s, uint32_t i)
{
    const struct summary_phase *p = &s->phases.phases[i];
    yajl_gen_map_open(g);
    json_key_text(g, "name", phases_name(s, i));
    json_key_whole(g, "entries", p->entries);
    json_key(g, "time_ns");
    if (p->ended)
        json_whole(g, p->time_ns);
    else
        json_text(g, NULL);
    json_key_whole(g, "calls", p->calls);
    json_key_whole(g, "calls_time_ns", p->call_ns);
    yajl_gen_map_close(g);
}

static void mark(yajl_gen g, const struct summary *s, const struct summary_mark *m)
{
    yajl_gen_map_open(g);
    json_key_text(g, "name", s->strings[m->name]);
    json_key_whole(g, "count", m->count);
    json_key_whole(g, "first_unix_ns", m->first_unix_ns);
    json_key_whole(g, "last_unix_ns", m->last_unix_ns);
    yajl_gen_map_close(g);
}

void phases_json(yajl_gen g, const struct summary *s)
{
    json_open_array(g, "phases");
    for (uint32_t i = 0; i < s->phases.nphases; i++)
        phase(g, s, i);
    yajl_gen_array_close(g);
    json_open_array(g, "marks");
    for (size_t i = 0; i < s->phases.nmarks; i++)
        mark(g, s, &s->phases.marks[i]);
    yajl_gen_array_close(g);
    json_key_whole(g, "phases_lost", s->phases.lost);
}

void phases_json_shape(yajl_gen g, const struct analysis_shape *shape)
{
    if (shape->nphases == 0)
        return;
    json_open_array(g, "phases");
    for (size_t i = 0; i < shape->nphases; i++) {
        yajl_gen_map_open(g);
        json_key_whole(g, "phase", shape->phases[i].phase);
        json_key_whole(g, "calls", shape->phases[i].calls);
        json_key_whole(g, "time_ns", shape->phases[i].time_ns);
        yajl_gen_map_close(g);
    }
    yajl_gen_array_close(g);
}
