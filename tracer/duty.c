/* SPDX-License-Identifier: Apache-2.0 */
#include "tracer/duty.h"

enum { REST_WINDOWS = 2 }; /* at least so many windows' length between two */

struct duty_options duty_defaults(void)
{
    return (struct duty_options){ .budget_share = 0.01,
                                  .window_ns = 100000000,
                                  .first_ns = 500000000,
                                  .launch_ns = 3000,
                                  .node_ns = 400,
                                  .launches_max = 50000 };
}

/* splitmix64 */
static uint64_t next_random(struct duty *d)
{
    uint64_t z = d->random += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

void duty_start(struct duty *d, const struct duty_options *options, uint64_t now_ns)
{
    *d = (struct duty){ .options = *options, .start_ns = now_ns, .random = now_ns };
    d->next_ns = now_ns + options->first_ns;
}

bool duty_is_due(const struct duty *d, uint64_t now_ns)
{
    return !d->is_open && now_ns >= d->next_ns;
}

void duty_open(struct duty *d, uint64_t now_ns)
{
    d->is_open = true;
    d->begin_ns = now_ns;
}

bool duty_is_over(const struct duty *d, uint64_t now_ns, uint64_t launches)
{
    return d->is_open &&
           (now_ns - d->begin_ns >= d->options.window_ns || launches >= d->options.launches_max);
}

void duty_close(struct duty *d, uint64_t now_ns, const struct duty_cost *cost)
{
    const struct duty_options *o = &d->options;
    uint64_t window_cost =
        cost->handling_ns + cost->launches * o->launch_ns + cost->nodes * o->node_ns;
    d->is_open = false;
    d->spent_ns += window_cost;
    /* When everything so far and one more window like this one are within the budget. */
    double wanted = ((double)d->spent_ns + (double)window_cost) / o->budget_share;
    uint64_t due_ns = d->start_ns + (uint64_t)wanted;
    uint64_t rest_ns = now_ns + REST_WINDOWS * o->window_ns;
    due_ns = due_ns > rest_ns ? due_ns : rest_ns;
    /* Up to a quarter later. */
    d->next_ns = due_ns + next_random(d) % ((due_ns - now_ns) / 4 + 1);
}

uint64_t duty_wait_ns(const struct duty *d, uint64_t now_ns)
{
    uint64_t at_ns = d->is_open ? d->begin_ns + d->options.window_ns : d->next_ns;
    return at_ns > now_ns ? at_ns - now_ns : 0;
}
