/* SPDX-License-Identifier: Apache-2.0
 *
 * What libzstd refers to and we never want from the host. Its thread pool would need symbols of new
 * C libraries (a missing version stops every process), but we compress in one thread; its trace
 * hooks are weak, and a host that has them shall not be told of our compression.
 */
#include <errno.h>
#include <pthread.h>

int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*start)(void *),
                   void *argument)
{
    (void)thread;
    (void)attributes;
    (void)start;
    (void)argument;
    return EAGAIN;
}

int pthread_join(pthread_t thread, void **result)
{
    (void)thread;
    (void)result;
    return ESRCH;
}

unsigned long long ZSTD_trace_compress_begin(const void *cctx);
void ZSTD_trace_compress_end(unsigned long long context, const void *trace);

unsigned long long ZSTD_trace_compress_begin(const void *cctx)
{
    (void)cctx;
    return 0;
}

void ZSTD_trace_compress_end(unsigned long long context, const void *trace)
{
    (void)context;
    (void)trace;
}
