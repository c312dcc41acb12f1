/* SPDX-License-Identifier: Apache-2.0 */
#include "tracer/duty.h"

enum { WINDOWS_MIN = 4 }; /* before their error can be told */

static const double KEPT = 0.95;     /* of the weight of a window, with each that follows */
static const double DEVIATIONS = 2.; /* above the mean */

struct duty_options duty_defaults(void)
{
    return (struct duty_options){ .budget_share = 0.01,
                                  .window_ns = 100000000,
                                  .kernels_max = 4000,
                                  .first_ns = 500000000,
                                  .rest_ns = 200000000,
                                  .stretch_ns = 50000000,
                                  .least = { .launch_ns = 3000, .node_ns = 1400 },
                                  .most = { .launch_ns = 20000, .node_ns = 10000 } };
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

bool duty_is_near(const struct duty *d, uint64_t now_ns)
{
    return !d->is_open && now_ns + d->options.stretch_ns >= d->next_ns;
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

bool duty_is_over(const struct duty *d, uint64_t now_ns, uint64_t kernels)
{
    return d->is_open &&
           (now_ns - d->begin_ns >= d->options.window_ns || kernels >= d->options.kernels_max);
}

/* Square root without libm, which the host may not have loaded. */
static double root(double of)
{
    double r = of > 1 ? of : 1;
    for (int i = 0; i < 80; i++)
        r = (r + of / r) / 2;
    return r;
}

static bool is_comparable(const struct duty_window *w)
{
    return w->inside.ns > 0 && w->outside.ns > 0 && w->outside.progress > 0;
}

static void learn(struct duty *d, const struct duty_window *w)
{
    double ns = (double)w->inside.ns;
    double lost =
        ns - (double)w->inside.progress * (double)w->outside.ns / (double)w->outside.progress;
    d->seen.windows = d->seen.windows * KEPT + 1;
    d->seen.ns = d->seen.ns * KEPT + ns;
    d->seen.lost = d->seen.lost * KEPT + lost;
    d->seen.ns_ns = d->seen.ns_ns * KEPT + ns * ns;
    d->seen.lost_ns = d->seen.lost_ns * KEPT + lost * ns;
    d->seen.lost_lost = d->seen.lost_lost * KEPT + lost * lost;
}

struct estimate {
    double low, high;
};

static double to_share(double x)
{
    return x < 0 ? 0 : x > 1 ? 1 : x;
}

/* A ratio estimate with its error: lost = share x ns, from windows of different lengths. */
static struct estimate estimate(const struct duty *d)
{
    double n = d->seen.windows;
    /* The weights of WINDOWS_MIN windows, nearly. */
    if (n < WINDOWS_MIN * KEPT * KEPT || d->seen.ns <= 0)
        return (struct estimate){ 0, 1 };
    double share = d->seen.lost / d->seen.ns;
    double left = d->seen.lost_lost - 2 * share * d->seen.lost_ns + share * share * d->seen.ns_ns;
    double error = left > 0 ? root(left * n / (n - 1)) / d->seen.ns : 0;
    return (struct estimate){ to_share(share - DEVIATIONS * error),
                              to_share(share + DEVIATIONS * error) };
}

double duty_slowdown(const struct duty *d)
{
    return estimate(d).high;
}

static double price(const struct duty_price *p, const struct duty_window *w)
{
    return (double)w->launches * (double)p->launch_ns + (double)w->nodes * (double)p->node_ns;
}

/* Of the host's wall time: never more than the window was long. */
static double cost_to_host(const struct duty *d, const struct duty_window *w)
{
    double all = (double)w->inside.ns;
    double least = price(&d->options.least, w);
    double most = price(&d->options.most, w) + (double)w->switch_ns;
    struct estimate share = is_comparable(w) ? estimate(d) : (struct estimate){ 0, 1 };
    double cost = share.high * all;
    cost = cost > most ? most : cost;
    cost = cost < least ? least : cost;
    /* What is surely lost is lost, whatever the prices say. */
    cost = cost < share.low * all ? share.low * all : cost;
    return cost > all ? all : cost;
}

void duty_close(struct duty *d, uint64_t now_ns, const struct duty_window *w)
{
    const struct duty_options *o = &d->options;
    if (is_comparable(w))
        learn(d, w);
    double cost = (double)w->handling_ns + cost_to_host(d, w);
    uint64_t rest_ns = (uint64_t)(cost / o->budget_share);
    d->is_open = false;
    d->spent_ns += (uint64_t)cost;
    rest_ns = rest_ns > o->rest_ns ? rest_ns : o->rest_ns;
    /* Up to a quarter later. */
    d->next_ns = now_ns + rest_ns + next_random(d) % (rest_ns / 4 + 1);
}

double duty_cost_share(const struct duty *d, uint64_t now_ns)
{
    return now_ns > d->start_ns ? (double)d->spent_ns / (double)(now_ns - d->start_ns) : 0;
}
