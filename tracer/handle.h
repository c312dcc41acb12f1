/* SPDX-License-Identifier: Apache-2.0
 *
 * What we know of a library handle (cuBLAS, cuDNN): its stream and its modes. Kept by address, told
 * by the hooks of the setters, so that a call asks the library nothing. A cache: what falls out is
 * asked for again. Any thread, no lock; as in the library itself, two threads that change one
 * handle at once get one of the two states.
 */
#ifndef TILEWISE_TRACER_HANDLE_H
#define TILEWISE_TRACER_HANDLE_H

#include <stdbool.h>
#include <stdint.h>

struct handle_state {
    void *stream;
    uint32_t stream_number;
    uint16_t math_mode;
    uint8_t pointer_mode; /* 0 host, 1 device */
};

bool handle_get(const void *handle, struct handle_state *out);
void handle_put(const void *handle, const struct handle_state *state);

/* For setters, which hosts call at every product, mostly with what is there already. A handle that
 * is not known stays so. */
void handle_set_stream(const void *handle, void *stream);
void handle_set_math_mode(const void *handle, uint16_t mode);
void handle_set_pointer_mode(const void *handle, bool is_device);

/* The handle is gone: another one may get its address. */
void handle_forget(const void *handle);

#endif
