/* SPDX-License-Identifier: Apache-2.0
 *
 * The stream of a cuDNN handle: as handle.h knows it, or asked for once.
 */
#ifndef TILEWISE_TRACER_CUDNN_HANDLE_H
#define TILEWISE_TRACER_CUDNN_HANDLE_H

#include "tracer/handle.h"

/* `real`: a function of the library that the handle belongs to. */
struct handle_state cudnn_handle_ask(const void *handle, const void *real);

static inline struct handle_state cudnn_handle_state(const void *handle, const void *real)
{
    struct handle_state state;
    return __builtin_expect(handle_get(handle, &state), 1) ? state : cudnn_handle_ask(handle, real);
}

#endif
