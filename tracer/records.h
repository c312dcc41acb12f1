/* SPDX-License-Identifier: Apache-2.0
 *
 * What graph.h knows of captures, graphs, executable graphs and their parts: a table of records by
 * name and kind. Its user serialises all of it, and calls nothing of the host meanwhile.
 */
#ifndef TILEWISE_TRACER_RECORDS_H
#define TILEWISE_TRACER_RECORDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tracer/bag.h"

enum record_kind { FREE, CAPTURE, GRAPH, EXEC, NODE, CHANGE };

struct record {
    uint64_t name;  /* number of the capture, address of the graph or node */
    uint64_t owner; /* graph that a node or body is part of, executable graph of a change */
    uint8_t kind;
    bool into_existing;
    bool has_parts; /* records that it owns */
    bool unclear;   /* holds calls that cannot be counted */
    struct bag bag;
};

/* NULL when there is none. Records move with the next records_get and records_remove. */
struct record *records_find(uint64_t name, enum record_kind kind);

/* Found or new; NULL without memory. */
struct record *records_get(uint64_t name, enum record_kind kind);

/* Take it out: another one may stand in its place afterwards. What it holds is the caller's. */
void records_remove(struct record *record);

/* All places of the table; those that are free have kind FREE. */
size_t records_places(void);
struct record *records_at(size_t place);

/* In a fork child: all are gone. */
void records_forget(void);

#endif
