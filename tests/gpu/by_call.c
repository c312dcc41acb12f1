/* SPDX-License-Identifier: Apache-2.0
 *
 * Doors between a program and cuBLAS and cuDNN, for by_call.py: what is called through one goes on
 * to the real function or to a shim's hook of it, by the variant that is chosen for a run of
 * groups. A group is what happens from one cublasSetStream to the next. One thread calls.
 */
#include <stdint.h>
#include <stdlib.h>
#include <x86intrin.h>

#define DOOR __attribute__((visibility("default")))

enum { VARIANTS = 16, FUNCTIONS = 8, SET_STREAM = 0, EXECUTE = 1 };

struct group {
    uint64_t ticks; /* when it began */
    uint32_t variant, executions;
};

DOOR void *by_call_target[FUNCTIONS][VARIANTS];
DOOR uint64_t by_call_variant;
DOOR void *by_call_plan; /* the one that was executed last */

static struct group *group;
static uint64_t groups, groups_max, random_state = 88172645463325252u;
static uint32_t variants, run_groups;
static struct group none, *current = &none;

/* From now on variants are drawn, each for `run` groups, until `most` groups are kept. */
DOOR int by_call_start(uint32_t number_of_variants, uint32_t run, uint64_t most);
int by_call_start(uint32_t number_of_variants, uint32_t run, uint64_t most)
{
    group = calloc(most, sizeof *group);
    variants = number_of_variants;
    run_groups = run;
    groups_max = group ? most : 0;
    return group != NULL;
}

/* How many there were; none is kept after this. */
DOOR uint64_t by_call_stop(void);
uint64_t by_call_stop(void)
{
    groups_max = 0;
    current = &none;
    return groups;
}

DOOR const struct group *by_call_groups(void);
const struct group *by_call_groups(void)
{
    return group;
}

DOOR uint64_t by_call_ticks(void);
uint64_t by_call_ticks(void)
{
    return __rdtsc();
}

static void begin(void)
{
    uint64_t ticks = __rdtsc();
    if (groups >= groups_max)
        return;
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    if (groups % run_groups == 0)
        by_call_variant = (random_state >> 11) % variants;
    current = &group[groups++];
    *current = (struct group){ ticks, (uint32_t)by_call_variant, 0 };
}

DOOR int by_call_door_0(void *handle, void *stream);
int by_call_door_0(void *handle, void *stream)
{
    begin();
    return ((int (*)(void *, void *))by_call_target[SET_STREAM][by_call_variant])(handle, stream);
}

DOOR int by_call_door_1(void *handle, void *plan, void *pack);
int by_call_door_1(void *handle, void *plan, void *pack)
{
    current->executions++;
    by_call_plan = plan;
    return ((int (*)(void *, void *, void *))by_call_target[EXECUTE][by_call_variant])(handle, plan,
                                                                                       pack);
}

/* The others, of any arguments. 128: a row of by_call_target. */
#define OTHER(number)                                                                              \
    __asm__(".globl by_call_door_" #number "\n"                                                    \
            ".type by_call_door_" #number ", @function\n"                                          \
            "by_call_door_" #number ":\n"                                                          \
            "    movq by_call_variant(%rip), %rax\n"                                               \
            "    leaq by_call_target + 128 * " #number "(%rip), %r11\n"                            \
            "    jmpq *(%r11,%rax,8)\n")
OTHER(2);
OTHER(3);
OTHER(4);
OTHER(5);
OTHER(6);
OTHER(7);
_Static_assert(sizeof by_call_target[0] == 128 && FUNCTIONS == 8, "the doors");
