/* SPDX-License-Identifier: Apache-2.0 */
#include "traces/buffer.h"

#include <sys/mman.h>

enum { FIRST_BYTES = 16384 };

bool buffer_reserve(struct buffer *b, size_t more)
{
    if (more <= b->capacity - b->size)
        return true;
    if (more > SIZE_MAX / 4 - b->size)
        return false;
    size_t capacity = b->capacity ? b->capacity : FIRST_BYTES;
    while (capacity - b->size < more)
        capacity *= 2;
    void *bytes =
        b->bytes ? mremap(b->bytes, b->capacity, capacity, MREMAP_MAYMOVE)
                 : mmap(NULL, capacity, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (bytes == MAP_FAILED)
        return false;
    b->bytes = bytes;
    b->capacity = capacity;
    return true;
}

void buffer_free(struct buffer *b)
{
    if (b->bytes)
        munmap(b->bytes, b->capacity);
    *b = (struct buffer){ 0 };
}
