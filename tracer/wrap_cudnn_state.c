/* SPDX-License-Identifier: Apache-2.0
 *
 * The hooks of cudnn_state.def: what a cuDNN handle is told, so that no call asks for it.
 */
#include "tracer/cudnn.h"
#include "tracer/cudnn_handle.h"
#include "tracer/hook.h"
#include "tracer/hot.h"
#include "tracer/sibling.h"
#include "tracer/stream.h"
#include "tracer/tap.h"

#define SUCCESS ((cudnnStatus_t)0)

enum { NOT_INITIALIZED = 1001 };

static cudnnStatus_t missing(void)
{
    return (cudnnStatus_t)NOT_INITIALIZED;
}

HOT_NOT struct handle_state cudnn_handle_ask(const void *handle, const void *real)
{
    static struct sibling known;
    int (*ask)(const void *, void **) = sibling_find(&known, real, "cudnnGetStream");
    struct handle_state state = { 0 };
    if (ask)
        ask(handle, &state.stream);
    state.stream_number = stream_number(state.stream);
    handle_put(handle, &state);
    return state;
}

#define CUDNN_SET_STREAM_TOLD     handle_set_stream(handle, stream)
#define CUDNN_SET_STREAM_IDLE     handle_has_stream(handle, stream)
#define CUDNN_DESTROY_HANDLE_TOLD handle_forget(handle)
#define CUDNN_DESTROY_HANDLE_IDLE false

#define ROW(family, symbol)                                                                        \
    HOOK_SETTER(cudnnStatus_t, SUCCESS, symbol, HOOK_LIST(family##_PARAMS),                        \
                HOOK_LIST(family##_ARGS), family##_IDLE, family##_TOLD)
#include "tracer/cudnn_state.def"
#undef ROW

HOOK_TABLE(wrap_cudnn_state_hook)
#define ROW(family, symbol) HOOK_ROW(symbol, missing)
#include "tracer/cudnn_state.def"
#undef ROW
HOOK_TABLE_END
