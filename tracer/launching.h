/* SPDX-License-Identifier: Apache-2.0
 *
 * What CUPTI calls on the threads of the host: launches while a window is open, and what happens to
 * graphs at any time. Binds both to the hooked call that the thread is in (launches.h).
 */
#ifndef TILEWISE_TRACER_LAUNCHING_H
#define TILEWISE_TRACER_LAUNCHING_H

#include <stdbool.h>
#include <stdint.h>

#include "tracer/cupti_find.h"

/* `api` is kept. Before the callback is given away. */
void launching_start(const struct cupti_functions *api);
cupti_callback launching_callback;

/* Have launches called back, while a window is open; and what happens to graphs, all the time. */
void launching_switch(void *subscriber, bool on);
void launching_follow_graphs(void *subscriber);

/* A window opens or closes: threads that are in a launch now start anew. */
void launching_next_window(void);

/* Successful launches of kernels, and kernels in launched graphs, since the start. */
uint64_t launching_launches(void);
uint64_t launching_nodes(void);

#endif
