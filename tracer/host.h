/* SPDX-License-Identifier: Apache-2.0
 *
 * Functions of the host's C library that we call but do not link: found in the loaded objects
 * behind us, so that no symbol version above GLIBC_2.17 is needed and another preloaded library
 * that wraps them is honoured.
 */
#ifndef TILEWISE_TRACER_HOST_H
#define TILEWISE_TRACER_HOST_H

#include <pthread.h>
#include <stdbool.h>

#include "tracer/elf.h"

/*   name                   result   parameters */
#define HOST_LIST(X)                                                                               \
    X(dlsym, void *, (void *, const char *))                                                       \
    X(dlvsym, void *, (void *, const char *, const char *))                                        \
    X(dlopen, void *, (const char *, int))                                                         \
    X(dlclose, int, (void *))                                                                      \
    X(dlerror, char *, (void))                                                                     \
    X(pthread_create, int, (pthread_t *, const pthread_attr_t *, void *(*)(void *), void *))       \
    X(pthread_join, int, (pthread_t, void **))                                                     \
    X(pthread_detach, int, (pthread_t))                                                            \
    X(pthread_attr_init, int, (pthread_attr_t *))                                                  \
    X(pthread_attr_setstacksize, int, (pthread_attr_t *, size_t))                                  \
    X(pthread_key_create, int, (pthread_key_t *, void (*)(void *)))                                \
    X(pthread_setspecific, int, (pthread_key_t, const void *))

struct host {
    struct elf_object self; /* this library */
#define X(name, result, parameters) result(*name) parameters;
    HOST_LIST(X)
#undef X
};

/* Each member may be NULL: an old libc without libdl or libpthread in the process. Any thread;
 * the first call walks the loaded objects, later ones cost a load. */
const struct host *host_get(void);

/* Is this address one of ours? */
bool host_is_self(const void *address);

#endif
