/* SPDX-License-Identifier: Apache-2.0 */
#include "fake_cupti.h"

#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tracer/cupti_abi.h"

enum { MULTIPLE_SUBSCRIBERS = 39, END = 12, RECORDS = 512, NODES = 64, GRAPHS = 8, GAP_NS = 1000 };
enum { RUNTIME = 2 }; /* a domain */

#define ROW(name, parameters) int cupti##name parameters;
#include "tracer/cupti.def"
#undef ROW

struct record { /* as large as the real one */
    struct cupti_kernel kernel;
    uint8_t rest[216 - sizeof(struct cupti_kernel)];
};

struct node {
    const char *name;
    uint64_t ns, id;
};

struct graph {
    void *exec;
    struct node node[NODES];
    int count;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static cupti_callback *subscribed;
static cupti_request *request;
static cupti_completed *completed;
static bool enabled[4][1024], activity[32];
static uint8_t *buffer;
static size_t buffer_bytes, used;
static uint64_t now_ns = 1000000, next_id = 100, made;
static uint32_t correlation;
static struct fake_launch how;
static struct graph pending, graphs[GRAPHS];
static int graph_count;

/* A child may be forked while the recorder's keeper is in here. */
static void unlock_in_child(void)
{
    lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
}

__attribute__((constructor)) static void follow_forks(void)
{
    pthread_atfork(NULL, NULL, unlock_in_child);
}

static bool scripted(const char *what)
{
    const char *script = getenv("FAKE_CUPTI");
    return script && strcmp(script, what) == 0;
}

int cuptiGetVersion(uint32_t *version)
{
    *version = scripted("old") ? 17 : 130001;
    return 0;
}

/* It takes its leave at exit, before whoever came earlier. */
static bool has_left;

static void leave(void)
{
    has_left = true;
}

int cuptiSubscribe(void **subscriber, cupti_callback *callback, void *own)
{
    (void)own;
    if (scripted("busy") || subscribed)
        return MULTIPLE_SUBSCRIBERS;
    if (scripted("leaves"))
        atexit(leave);
    subscribed = callback;
    *subscriber = &subscribed;
    return 0;
}

int cuptiUnsubscribe(void *subscriber)
{
    (void)subscriber;
    subscribed = NULL;
    memset(enabled, 0, sizeof enabled);
    return 0;
}

/* Their numbers. */
static const struct function {
    uint32_t runtime, driver;
} launch_kernel = { 211, 307 }, launch_graph = { 311, 514 };

/* "within": callbacks are switched off while a launch is under way, if one comes soon. */
static _Atomic bool is_switching, is_within, has_switched;

static void wait_for_launch(void)
{
    is_switching = true;
    for (int ms = 0; ms < 50 && !is_within; ms++)
        usleep(1000);
}

static void wait_for_switch(void)
{
    is_within = is_switching;
    while (is_switching)
        sched_yield();
    is_within = false;
}

int cuptiEnableCallback(uint32_t enable, void *subscriber, uint32_t domain, uint32_t id)
{
    (void)subscriber;
    bool is_launch = (domain == RUNTIME && id == launch_kernel.runtime) ||
                     (domain == CUPTI_DOMAIN_DRIVER && id == launch_kernel.driver);
    bool is_off = is_launch && enabled[domain][id] && !enable;
    if (scripted("within") && is_off)
        wait_for_launch();
    enabled[domain][id] = enable;
    is_switching = false;
    has_switched |= is_off;
    return 0;
}

int cuptiActivityRegisterCallbacks(cupti_request *on_request, cupti_completed *on_completed)
{
    request = on_request;
    completed = on_completed;
    return 0;
}

int cuptiActivityEnable(uint32_t kind)
{
    activity[kind] = true;
    return 0;
}

/* A graph is launched again with records off, while those of its last launch are still to be
 * fetched: the ends of its kernels are those of the later launch. */
static void spoil_last_graph(void)
{
    enum { LATER_NS = 10000000 };
    pthread_mutex_lock(&lock);
    struct record *r = (struct record *)(void *)(buffer + used);
    while (used && r > (struct record *)(void *)buffer && r[-1].kernel.node &&
           r[-1].kernel.correlation == correlation)
        (--r)->kernel.end += LATER_NS;
    pthread_mutex_unlock(&lock);
}

int cuptiActivityDisable(uint32_t kind)
{
    if (scripted("stale") && kind == CUPTI_KIND_KERNEL && activity[kind])
        spoil_last_graph();
    pthread_mutex_lock(&lock);
    activity[kind] = false;
    pthread_mutex_unlock(&lock);
    return 0;
}

/* Where the next record begins: its clock has nothing to do with the host's. */
int cuptiGetTimestamp(uint64_t *ns)
{
    pthread_mutex_lock(&lock);
    *ns = now_ns;
    pthread_mutex_unlock(&lock);
    return 0;
}

static void complete(void)
{
    uint8_t *full = buffer;
    size_t bytes = used;
    buffer = NULL;
    used = 0;
    if (full)
        completed(NULL, 0, full, buffer_bytes, bytes);
}

int cuptiActivityFlushAll(uint32_t flag)
{
    (void)flag;
    if (has_left)
        abort();
    if (scripted("stuck"))
        pause();
    pthread_mutex_lock(&lock);
    complete();
    pthread_mutex_unlock(&lock);
    return 0;
}

int cuptiActivityGetNextRecord(uint8_t *at, size_t valid_bytes, void **record)
{
    uint8_t *next = *record ? (uint8_t *)*record + sizeof(struct record) : at;
    if (next + sizeof(struct record) > at + valid_bytes)
        return END;
    *record = next;
    return 0;
}

int cuptiGetGraphNodeId(void *node, uint64_t *id)
{
    *id = (uint64_t)(uintptr_t)node;
    return 0;
}

static void fire(uint32_t domain, uint32_t id, const void *data)
{
    if (subscribed && enabled[domain][id])
        subscribed(NULL, domain, id, data);
}

static void fire_call(uint32_t domain, uint32_t id, uint32_t site, uint32_t number, void *exec)
{
    int good = 0;
    struct {
        void *exec, *stream;
    } parameters = { exec, NULL };
    fire(domain, id,
         &(struct cupti_call){
             .site = site, .parameters = &parameters, .result = &good, .correlation = number });
}

/* As the real one of CUDA 13.0 does: the driver's part of a launch bears the number of the
 * runtime's; and where the runtime's end falls into a time without its callback, all later launches
 * of the thread do too. */
static __thread struct {
    uint32_t depth, number;
} outer;

static uint32_t begin_launch(const struct function *f, void *exec)
{
    bool is_repeated = scripted("repeat") && has_switched && outer.number;
    if (outer.depth == 0 && !is_repeated)
        outer.number = __atomic_add_fetch(&correlation, 1, __ATOMIC_RELAXED);
    outer.depth += enabled[RUNTIME][f->runtime];
    fire_call(RUNTIME, f->runtime, CUPTI_SITE_ENTER, outer.number, exec);
    fire_call(CUPTI_DOMAIN_DRIVER, f->driver, CUPTI_SITE_ENTER, outer.number, exec);
    wait_for_switch();
    return outer.number;
}

static void end_launch(const struct function *f, void *exec)
{
    fire_call(CUPTI_DOMAIN_DRIVER, f->driver, CUPTI_SITE_EXIT, outer.number, exec);
    outer.depth -= outer.depth && enabled[RUNTIME][f->runtime];
    fire_call(RUNTIME, f->runtime, CUPTI_SITE_EXIT, outer.number, exec);
}

static void fire_graph(uint32_t id, struct cupti_graph g)
{
    fire(CUPTI_DOMAIN_RESOURCE, id, &(struct cupti_resource){ .descriptor = &g });
}

static void add_record(struct record r, uint64_t ns)
{
    pthread_mutex_lock(&lock);
    size_t most;
    if (!activity[r.kernel.kind] || (scripted("drop") && ++made % 10 == 0)) {
        pthread_mutex_unlock(&lock);
        return;
    }
    if (buffer && used + sizeof(struct record) > buffer_bytes)
        complete();
    if (!buffer)
        request(&buffer, &buffer_bytes, &most);
    if (buffer) {
        r.kernel.start = scripted("zero") ? 0 : now_ns;
        r.kernel.end = scripted("zero") ? 0 : now_ns + ns;
        memcpy(buffer + used, &r, sizeof r);
        used += sizeof r;
    }
    now_ns += ns + GAP_NS;
    pthread_mutex_unlock(&lock);
}

void fake_how(const struct fake_launch *next)
{
    how = *next;
}

static void add_kernel(const char *name, uint64_t ns, uint32_t number, uint64_t node)
{
    struct record r = { .kernel = { .kind = CUPTI_KIND_KERNEL,
                                    .correlation = number,
                                    .name = name,
                                    .node = node,
                                    .device = how.device,
                                    .stream = how.stream,
                                    .grid = { how.grid[0], how.grid[1], how.grid[2] },
                                    .block = { how.block[0], how.block[1], how.block[2] },
                                    .shared_bytes = how.shared_bytes } };
    add_record(r, ns);
}

void fake_move(int direction, uint64_t ns)
{
    struct cupti_move move = { .kind = direction ? CUPTI_KIND_COPY : CUPTI_KIND_FILL,
                               .direction = (uint8_t)direction,
                               .device = how.device,
                               .stream = how.stream };
    struct record r = { 0 };
    memcpy(&r, &move, sizeof move);
    add_record(r, ns);
}

void fake_kernel(const char *name, uint64_t ns)
{
    add_kernel(name, ns, begin_launch(&launch_kernel, NULL), 0);
    end_launch(&launch_kernel, NULL);
}

/* As the real one: the kind of the node stands in the first callback alone. */
static void make_node(struct cupti_graph g, uint32_t event)
{
    enum { ALLOCATION = 10 };
    fire_graph(CUPTI_NODE_CREATE_STARTING, (struct cupti_graph){ .node_kind = ALLOCATION });
    fire_graph(event, (struct cupti_graph){ .node = (void *)1, .original_node = (void *)2 });
    fire_graph(CUPTI_NODE_CREATE_STARTING, (struct cupti_graph){ .node_kind = 0 });
    if (event == CUPTI_NODE_CLONED)
        fire_graph(CUPTI_NODE_CREATED, (struct cupti_graph){ .node = g.node });
    fire_graph(event, g);
}

void fake_node(const char *name, uint64_t ns)
{
    struct node *n = &pending.node[pending.count++];
    *n = (struct node){ name, ns, next_id++ };
    begin_launch(&launch_kernel, NULL);
    make_node((struct cupti_graph){ .node = (void *)(uintptr_t)n->id }, CUPTI_NODE_CREATED);
    end_launch(&launch_kernel, NULL);
}

void fake_instantiate(void *exec)
{
    struct graph *g = &graphs[graph_count++ % GRAPHS];
    *g = pending;
    g->exec = exec;
    pending.count = 0;
    for (int i = 0; i < g->count; i++) {
        void *original = (void *)(uintptr_t)g->node[i].id;
        g->node[i].id = next_id++;
        make_node((struct cupti_graph){ .node = (void *)(uintptr_t)g->node[i].id,
                                        .original_node = original },
                  CUPTI_NODE_CLONED);
    }
    fire_graph(CUPTI_EXEC_CREATED, (struct cupti_graph){ .exec = exec });
}

void fake_graph_launch(void *exec)
{
    const struct graph *g = graphs;
    while (g->exec != exec)
        g++;
    if (scripted("again") && !activity[CUPTI_KIND_KERNEL])
        spoil_last_graph();
    uint32_t number = begin_launch(&launch_graph, exec);
    for (int i = 0; i < g->count; i++)
        add_kernel(g->node[i].name, g->node[i].ns, number, g->node[i].id);
    end_launch(&launch_graph, exec);
}
