/* SPDX-License-Identifier: Apache-2.0
 *
 * Is a stream being captured? Asked of the library that a capture was begun through. Any thread;
 * no lock; what is asked is allowed in every mode of capture.
 */
#ifndef TILEWISE_TRACER_CAPTURE_H
#define TILEWISE_TRACER_CAPTURE_H

#include <stdint.h>

/* `begin` is a function of the library to ask: the first one stays. */
void capture_learn(const void *begin);

/* Number of the capture that `stream` is part of, 0 if none. `graph`, unless NULL, becomes the
 * graph that the capture makes; libraries before CUDA 11.3 leave it as it is. */
uint64_t capture_ask(void *stream, void **graph);

#endif
