/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/phases_json.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/escape.h"
#include "analysis/phases.h"

static void key(yajl_gen g, const char *name)
{
    yajl_gen_string(g, (const unsigned char *)name, strlen(name));
}

static void whole(yajl_gen g, uint64_t value)
{
    char number[24];
    int length = snprintf(number, sizeof number, "%" PRIu64, value);
    yajl_gen_number(g, number, (size_t)length);
}

static void key_whole(yajl_gen g, const char *name, uint64_t value)
{
    key(g, name);
    whole(g, value);
}

static void key_name(yajl_gen g, const char *name)
{
    char *clean = escape_copy(name);
    key(g, "name");
    if (clean)
        yajl_gen_string(g, (const unsigned char *)clean, strlen(clean));
    else
        yajl_gen_null(g);
    free(clean);
}

static void phase(yajl_gen g, const struct summary *s, uint32_t i)
{
    const struct summary_phase *p = &s->phases.phases[i];
    yajl_gen_map_open(g);
    key_name(g, phases_name(s, i));
    key_whole(g, "entries", p->entries);
    key(g, "time_ns");
    if (p->ended)
        whole(g, p->time_ns);
    else
        yajl_gen_null(g);
    key_whole(g, "calls", p->calls);
    key_whole(g, "calls_time_ns", p->call_ns);
    yajl_gen_map_close(g);
}

static void mark(yajl_gen g, const struct summary *s, const struct summary_mark *m)
{
    yajl_gen_map_open(g);
    key_name(g, s->strings[m->name]);
    key_whole(g, "count", m->count);
    key_whole(g, "first_unix_ns", m->first_unix_ns);
    key_whole(g, "last_unix_ns", m->last_unix_ns);
    yajl_gen_map_close(g);
}

void phases_json(yajl_gen g, const struct summary *s)
{
    key(g, "phases");
    yajl_gen_array_open(g);
    for (uint32_t i = 0; i < s->phases.nphases; i++)
        phase(g, s, i);
    yajl_gen_array_close(g);
    key(g, "marks");
    yajl_gen_array_open(g);
    for (size_t i = 0; i < s->phases.nmarks; i++)
        mark(g, s, &s->phases.marks[i]);
    yajl_gen_array_close(g);
    key_whole(g, "phases_lost", s->phases.lost);
}

void phases_json_shape(yajl_gen g, const struct analysis_shape *shape)
{
    if (shape->nphases == 0)
        return;
    key(g, "phases");
    yajl_gen_array_open(g);
    for (size_t i = 0; i < shape->nphases; i++) {
        yajl_gen_map_open(g);
        key_whole(g, "phase", shape->phases[i].phase);
        key_whole(g, "calls", shape->phases[i].calls);
        key_whole(g, "time_ns", shape->phases[i].time_ns);
        yajl_gen_map_close(g);
    }
    yajl_gen_array_close(g);
}
