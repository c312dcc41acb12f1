/* SPDX-License-Identifier: Apache-2.0
 *
 * The pace of the host and what GPU time costs it: watches how far the process gets with and
 * without a window, and keeps the budget (attach.h, duty.h). Under the lock of cupti.c.
 */
#ifndef TILEWISE_TRACER_PACE_H
#define TILEWISE_TRACER_PACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tracer/duty.h"

/* Nothing is attached yet: begin to watch what the process does. */
void pace_start(uint64_t now_ns);
/* Every tenth of a second or so. */
void pace_look(uint64_t now_ns);
/* Was enough seen to say what being attached would cost, and does the budget hold it? */
bool pace_is_known(void);
bool pace_may_attach(void);

/* CUPTI is attached: windows may come. */
void pace_attached(uint64_t now_ns);
/* A stretch begins; how far it is now. */
void pace_mark(void);
struct duty_stretch pace_since_mark(void);
/* The window is over; the budget waits from now on. */
void pace_charge(uint64_t now_ns, const struct duty_window *w);

extern struct duty pace_duty;

/* What all of it is believed to cost the process, in words. At least 160 bytes. */
void pace_words(char *text, size_t bytes, bool is_attached, uint64_t now_ns);

#endif
