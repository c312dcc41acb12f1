/* SPDX-License-Identifier: Apache-2.0
 *
 * One window of GPU time: opened, closed, and drained until its records are there or given up; then
 * it is a row of the ledger. When, is for cupti.c, under whose lock all of this is.
 */
#ifndef TILEWISE_TRACER_CUPTI_WINDOW_H
#define TILEWISE_TRACER_CUPTI_WINDOW_H

#include <stdbool.h>
#include <stdint.h>

#include "tracer/cupti_find.h"
#include "tracer/duty.h"

/* Once, when CUPTI is attached: its functions stay. */
void cupti_window_start(const struct cupti_functions *functions, void *subscriber);

/* What the window under way costs, known when it is drained; `outside` is for the caller. */
extern struct duty_window cupti_window_cost;

void cupti_window_open(uint64_t now_ns);
/* Launches and kernels of graphs so far. */
uint64_t cupti_window_kernels(void);
/* A window that stays open: what has come is a row each row_ns. */
void cupti_window_go_on(uint64_t now_ns, uint64_t row_ns);

void cupti_window_close(uint64_t now_ns);
/* After each cupti_window_poll_ns(): true once it is in the ledger. */
bool cupti_window_drain(uint64_t now_ns);
uint64_t cupti_window_poll_ns(void);
/* Into the ledger with what there is. */
void cupti_window_finish(void);
/* No window is open or drained: records that came since, as one more row. */
void cupti_window_add_late(void);

#endif
