/* SPDX-License-Identifier: Apache-2.0
 *
 * Where a program's calls of cuBLAS and cuDNN go, changed between two of its products (switch.py).
 * A group is what happens from one cublasSetStream to the next. For some groups at a time, the
 * slots that the program calls through hold the functions of one variant: the real ones, or a
 * shim's hooks. Which variant comes next is drawn. One thread calls.
 */
#include <stdint.h>
#include <stdlib.h>
#include <time.h>

#define API __attribute__((visibility("default")))

enum { VARIANTS = 16 };

struct slot {
    void **at;
    void *target[VARIANTS];
};

struct group {
    uint64_t ns; /* when it began */
    uint32_t variant, executions;
};

/* What the doors lead to, which stay in their slots. */
API void *switch_stream[VARIANTS], *switch_execute[VARIANTS];
API void *switch_plan; /* the one that was executed last */

static struct slot *slots;
static uint64_t slots_count;
static struct group *group;
static uint64_t groups, groups_max, random_state;
static uint32_t variants, run_groups, variant;
static struct group none, *current = &none;

API void switch_slots(struct slot *all, uint64_t count);
void switch_slots(struct slot *all, uint64_t count)
{
    slots = all;
    slots_count = count;
}

API void switch_set(uint32_t chosen);
void switch_set(uint32_t chosen)
{
    variant = chosen;
    for (uint64_t i = 0; i < slots_count; i++)
        *slots[i].at = slots[i].target[chosen];
}

/* From now on variants are drawn, each for `run` groups, until `most` groups are kept. False: no
 * memory. */
API int switch_start(uint32_t number_of_variants, uint32_t run, uint64_t most, uint64_t seed);
int switch_start(uint32_t number_of_variants, uint32_t run, uint64_t most, uint64_t seed)
{
    free(group);
    group = calloc(most, sizeof *group);
    groups = 0;
    variants = number_of_variants;
    run_groups = run;
    random_state = seed | 1;
    groups_max = group ? most : 0;
    return group != NULL;
}

/* How many there are so far. */
API uint64_t switch_count(void);
uint64_t switch_count(void)
{
    return groups;
}

/* No group begins after this. They are kept until the next start. */
API const struct group *switch_stop(void);
const struct group *switch_stop(void)
{
    groups_max = 0;
    current = &none;
    return group;
}

static uint64_t draw(void)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return random_state >> 11;
}

static void begin(void)
{
    struct timespec now;
    if (groups >= groups_max)
        return;
    clock_gettime(CLOCK_MONOTONIC, &now);
    if (groups % run_groups == 0)
        switch_set((uint32_t)(draw() % variants));
    current = &group[groups++];
    *current =
        (struct group){ (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec, variant, 0 };
}

API int switch_stream_door(void *handle, void *stream);
int switch_stream_door(void *handle, void *stream)
{
    begin();
    return ((int (*)(void *, void *))switch_stream[variant])(handle, stream);
}

API int switch_execute_door(void *handle, void *plan, void *pack);
int switch_execute_door(void *handle, void *plan, void *pack)
{
    current->executions++;
    switch_plan = plan;
    return ((int (*)(void *, void *, void *))switch_execute[variant])(handle, plan, pack);
}
