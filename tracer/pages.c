/* SPDX-License-Identifier: Apache-2.0 */
#include "tracer/pages.h"

#include <errno.h>
#include <sys/mman.h>

void *pages_map(size_t bytes)
{
    int kept = errno;
    void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
                   -1, 0);
    if (p != MAP_FAILED) {
        madvise(p, bytes, MADV_NOHUGEPAGE);
        madvise(p, bytes, MADV_DONTDUMP);
    }
    errno = kept;
    return p == MAP_FAILED ? NULL : p;
}
