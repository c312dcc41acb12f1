/* SPDX-License-Identifier: Apache-2.0 */
#include "tracer/launching.h"

#include <errno.h>

#include "tracer/launches.h"
#include "tracer/tap.h"

static const struct cupti_functions *api;
static _Atomic uint64_t launches, nodes;
static _Atomic uint32_t window_number;

void launching_start(const struct cupti_functions *functions)
{
    api = functions;
}

void launching_switch(void *subscriber, bool on)
{
#define ROW(id, what, name) api->EnableCallback(on, subscriber, CUPTI_DOMAIN_DRIVER, id);
#include "tracer/cupti_launch.def"
#undef ROW
}

void launching_follow_graphs(void *subscriber)
{
    static const uint32_t id[] = { CUPTI_NODE_CREATE_STARTING, CUPTI_NODE_CREATED,
                                   CUPTI_NODE_CLONED, CUPTI_EXEC_CREATED,
                                   CUPTI_EXEC_DESTROY_STARTING };
    for (size_t i = 0; i < sizeof id / sizeof *id; i++)
        api->EnableCallback(1, subscriber, CUPTI_DOMAIN_RESOURCE, id[i]);
}

void launching_next_window(void)
{
    atomic_fetch_add(&window_number, 1);
}

uint64_t launching_launches(void)
{
    return atomic_load(&launches);
}

uint64_t launching_nodes(void)
{
    return atomic_load(&nodes);
}

enum what { NOTHING, KERNEL, GRAPH };

static enum what what_of(uint32_t id)
{
    switch (id) {
#define ROW(id, what, name)                                                                        \
    case id:                                                                                       \
        return what;
#include "tracer/cupti_launch.def"
#undef ROW
    default:
        return NOTHING;
    }
}

/* The number of the hooked call that this thread is in; 0: in none. */
static uint32_t current_call(struct tap_self *self, bool *first)
{
    if (self->phase != TAP_IN_CALL)
        return 0;
    *first = self->gpu_call == 0;
    if (*first)
        self->gpu_call = launches_number();
    return self->gpu_call;
}

/* Where launches one after the other bear one number, CUPTI has lost track of this thread. */
static void launch_begins(struct tap_self *self, enum what what, const struct cupti_call *c)
{
    uint32_t number = atomic_load_explicit(&window_number, memory_order_relaxed);
    if (self->gpu_window != number) {
        self->gpu_window = number;
        self->gpu_depth = 0;
    }
    if (self->gpu_depth++ == 0) {
        bool first = false;
        self->gpu_is_captured = false;
        if (what == KERNEL)
            current_call(self, &first);
        self->gpu_is_first = first;
        self->gpu_is_unclear = c->correlation == self->gpu_correlation;
        self->gpu_correlation = c->correlation;
    }
    uint32_t call = what == KERNEL && self->phase == TAP_IN_CALL ? self->gpu_call : 0;
    if (self->gpu_is_unclear)
        launches_blur(c->correlation);
    else
        launches_add(c->correlation, call, self->gpu_is_first);
}

static void launch_ends(struct tap_self *self, enum what what, const struct cupti_call *c)
{
    if (self->gpu_window != atomic_load_explicit(&window_number, memory_order_relaxed) ||
        self->gpu_depth == 0 || --self->gpu_depth > 0)
        return;
    if (self->gpu_is_captured || (c->result && *c->result != 0))
        return;
    if (what == KERNEL)
        atomic_fetch_add_explicit(&launches, 1, memory_order_relaxed);
    else if (c->parameters)
        atomic_fetch_add_explicit(&nodes, launches_exec(*(void *const *)c->parameters),
                                  memory_order_relaxed);
}

/* Is this thread in a launch that launch_begins saw? */
static bool is_in_launch(const struct tap_self *self)
{
    return self->gpu_depth > 0 &&
           self->gpu_window == atomic_load_explicit(&window_number, memory_order_relaxed);
}

/* What kind of node it is stands in the callback before it is made, and only there. */
static void node_created(struct tap_self *self, const struct cupti_graph *g)
{
    bool first = self->gpu_is_first;
    uint64_t id;
    self->gpu_is_captured = true;
    if (!self->gpu_is_kernel)
        return;
    uint32_t call = self->phase == TAP_IN_CALL && is_in_launch(self) ? self->gpu_call
                                                                     : current_call(self, &first);
    if (call && api->GetGraphNodeId(g->node, &id) == CUPTI_OK)
        launches_add_node(id, call, first);
}

static void node_cloned(struct tap_self *self, const struct cupti_graph *g)
{
    uint64_t id, original;
    if (!self->gpu_is_kernel)
        return;
    self->gpu_nodes++;
    if (api->GetGraphNodeId(g->node, &id) == CUPTI_OK &&
        api->GetGraphNodeId(g->original_node, &original) == CUPTI_OK)
        launches_clone_node(id, original);
}

/* An executable graph is made by cloning every node, and then it is said to be there. */
static void exec_created(struct tap_self *self, const struct cupti_graph *g)
{
    launches_set_exec(g->exec, self->gpu_nodes);
    self->gpu_nodes = 0;
}

static void on_resource(struct tap_self *self, uint32_t id, const struct cupti_graph *g)
{
    if (id == CUPTI_NODE_CREATE_STARTING)
        self->gpu_is_kernel = g->node_kind == CUPTI_NODE_IS_KERNEL;
    else if (id == CUPTI_NODE_CREATED)
        node_created(self, g);
    else if (id == CUPTI_NODE_CLONED)
        node_cloned(self, g);
    else if (id == CUPTI_EXEC_CREATED)
        exec_created(self, g);
    else if (id == CUPTI_EXEC_DESTROY_STARTING)
        launches_set_exec(g->exec, 0);
}

void launching_callback(void *own, uint32_t domain, uint32_t id, const void *data)
{
    (void)own;
    int kept = errno;
    struct tap_self *self = &tap_self;
    enum what what = domain == CUPTI_DOMAIN_DRIVER ? what_of(id) : NOTHING;
    const struct cupti_resource *resource = data;
    if (domain == CUPTI_DOMAIN_RESOURCE && resource->descriptor)
        on_resource(self, id, resource->descriptor);
    else if (what != NOTHING && ((const struct cupti_call *)data)->site == CUPTI_SITE_ENTER)
        launch_begins(self, what, data);
    else if (what != NOTHING)
        launch_ends(self, what, data);
    errno = kept;
}
