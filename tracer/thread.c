/* SPDX-License-Identifier: Apache-2.0 */
#include "tracer/thread.h"

#include <sys/mman.h>

#include "tracer/pages.h"

static struct thread *_Atomic pool[THREAD_MAX];
static _Atomic uint32_t count; /* of pool entries in use; those below it may still be NULL */

static struct thread *take_free(void)
{
    uint32_t n = thread_count();
    for (uint32_t i = 0; i < n; i++) {
        struct thread *t = thread_at(i);
        bool free = false;
        if (t && atomic_compare_exchange_strong_explicit(
                     &t->owned, &free, true, memory_order_acquire, memory_order_relaxed))
            return t;
    }
    return NULL;
}

struct thread *thread_take(enum loss_cause *cause)
{
    struct thread *t = take_free();
    if (t)
        return t;
    uint32_t i = atomic_load_explicit(&count, memory_order_relaxed);
    do {
        *cause = LOSS_THREAD_CAP;
        if (i >= THREAD_MAX)
            return NULL;
    } while (!atomic_compare_exchange_weak(&count, &i, i + 1));
    *cause = LOSS_NO_MEMORY;
    t = pages_map(sizeof *t);
    if (!t)
        return NULL; /* the number stays unused: memory is short, numbers are not */
    t->number = i;
    atomic_store_explicit(&t->owned, true, memory_order_relaxed);
    atomic_store_explicit(&pool[i], t, memory_order_release);
    return t;
}

void thread_give(struct thread *t)
{
    atomic_store_explicit(&t->owned, false, memory_order_release);
}

uint32_t thread_count(void)
{
    return atomic_load_explicit(&count, memory_order_acquire);
}

struct thread *thread_at(uint32_t i)
{
    return atomic_load_explicit(&pool[i], memory_order_acquire);
}

static void unmap_table(struct table *table)
{
    for (int i = 0; i < TABLE_CHUNKS; i++) {
        if (table->chunk[i].rows)
            munmap(table->chunk[i].rows, sizeof *table->chunk[i].rows);
        if (table->chunk[i].counts)
            munmap(table->chunk[i].counts, sizeof *table->chunk[i].counts);
    }
    if (table->phases)
        munmap(table->phases, sizeof *table->phases);
}

static void unmap(struct thread *t)
{
    struct journal *j = t->journal;
    unmap_table(&t->table);
    if (j) {
        unmap_table(&j->table);
        munmap(j, sizeof *j);
    }
    munmap(t, sizeof *t);
}

void thread_reset(void)
{
    uint32_t n = thread_count();
    for (uint32_t i = 0; i < n; i++)
        if (thread_at(i))
            unmap(thread_at(i));
    for (uint32_t i = 0; i < n; i++)
        atomic_store(&pool[i], NULL);
    atomic_store(&count, 0);
}
