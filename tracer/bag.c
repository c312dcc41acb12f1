/* SPDX-License-Identifier: Apache-2.0 */
#include "tracer/bag.h"

#include <sys/mman.h>

#include "tracer/pages.h"

enum { CHUNK_NODES = 4096, CHUNKS = 4096 };

struct node {
    uint32_t entry, count, next;
};

struct chunk {
    struct node node[CHUNK_NODES];
};

static struct chunk *chunk[CHUNKS];
static uint32_t used = 1; /* nodes ever taken; node 0 is never one */
static uint32_t spare;    /* list of nodes given back */

static struct node *node_at(uint32_t i)
{
    return &chunk[i / CHUNK_NODES]->node[i % CHUNK_NODES];
}

/* 0 without memory. */
static uint32_t take_node(void)
{
    if (spare) {
        uint32_t i = spare;
        spare = node_at(i)->next;
        return i;
    }
    if (used / CHUNK_NODES >= CHUNKS)
        return 0;
    struct chunk **c = &chunk[used / CHUNK_NODES];
    if (!*c)
        *c = pages_map(sizeof **c);
    return *c ? used++ : 0;
}

void bag_add(struct bag *b, uint32_t entry, uint32_t count)
{
    for (uint32_t i = b->first; i; i = node_at(i)->next)
        if (node_at(i)->entry == entry) {
            node_at(i)->count += count;
            return;
        }
    uint32_t i = take_node();
    if (!i) {
        b->lost += count;
        return;
    }
    *node_at(i) = (struct node){ entry, count, b->first };
    b->first = i;
}

void bag_add_all(struct bag *b, const struct bag *other)
{
    b->lost += other->lost;
    for (uint32_t i = other->first; i; i = node_at(i)->next)
        bag_add(b, node_at(i)->entry, node_at(i)->count);
}

void bag_remove_all(struct bag *b, const struct bag *other)
{
    b->lost -= other->lost < b->lost ? other->lost : b->lost;
    for (uint32_t i = other->first; i; i = node_at(i)->next)
        for (uint32_t j = b->first; j; j = node_at(j)->next)
            if (node_at(j)->entry == node_at(i)->entry)
                node_at(j)->count -= node_at(i)->count;
}

void bag_empty(struct bag *b)
{
    while (b->first) {
        uint32_t i = b->first;
        b->first = node_at(i)->next;
        node_at(i)->next = spare;
        spare = i;
    }
    b->lost = 0;
}

uint64_t bag_calls(const struct bag *b)
{
    uint64_t calls = b->lost;
    for (uint32_t i = b->first; i; i = node_at(i)->next)
        calls += node_at(i)->count;
    return calls;
}

void bag_each(const struct bag *b, void (*visit)(uint32_t entry, uint32_t count, void *context),
              void *context)
{
    for (uint32_t i = b->first; i; i = node_at(i)->next)
        visit(node_at(i)->entry, node_at(i)->count, context);
}

void bag_reset(void)
{
    for (uint32_t i = 0; i < CHUNKS && chunk[i]; i++) {
        munmap(chunk[i], sizeof *chunk[i]);
        chunk[i] = (struct chunk *)0;
    }
    used = 1;
    spare = 0;
}
