/* SPDX-License-Identifier: Apache-2.0
 *
 * The caches as a host leaves them that did other work between two calls: what was used before lies
 * in the last level at best, its pages and its branches are forgotten. For figures, one thread.
 */
#ifndef TILEWISE_TESTS_COLD_H
#define TILEWISE_TESTS_COLD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

enum {
    COLD_LINE = 64,
    COLD_PAGE = 4096,
    COLD_DATA_BYTES = 4 << 20, /* read line by line: above any second level */
    COLD_PAGES = 4096,         /* touched once each: above any second-level TLB */
    COLD_CODE_BYTES = 1 << 20, /* a jump in each line */
};

/* Memory that a caller runs through. */
struct cold_room {
    volatile uint8_t *data, *pages;
    void (*code)(void);
    size_t data_bytes, pages_bytes;
};

static inline uint64_t cold_now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static inline void *cold_map(size_t bytes, int protection)
{
    void *room = mmap(NULL, bytes, protection, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (room == MAP_FAILED)
        return NULL;
    madvise(room, bytes, MADV_NOHUGEPAGE);
    return room;
}

/* Each line jumps to the next one, the last returns. */
static inline void *cold_code(size_t bytes)
{
    uint8_t *room = cold_map(bytes, PROT_READ | PROT_WRITE);
#if defined(__aarch64__)
    static const uint8_t jump[] = { 0x10, 0, 0, 0x14 }, end[] = { 0xc0, 0x03, 0x5f, 0xd6 };
#else
    static const uint8_t jump[] = { 0xe9, COLD_LINE - 5, 0, 0, 0 }, end[] = { 0xc3 };
#endif
    if (!room)
        return NULL;
    for (size_t at = 0; at + COLD_LINE < bytes; at += COLD_LINE)
        memcpy(room + at, jump, sizeof jump);
    memcpy(room + bytes - COLD_LINE, end, sizeof end);
    __builtin___clear_cache((char *)room, (char *)room + bytes);
    return mprotect(room, bytes, PROT_READ | PROT_EXEC) == 0 ? room : NULL;
}

/* False without memory. pages: of which one line each is touched. */
static inline bool cold_make(struct cold_room *room, size_t data_bytes, size_t pages,
                             size_t code_bytes)
{
    *room = (struct cold_room){ .data_bytes = data_bytes, .pages_bytes = pages * COLD_PAGE };
    room->data = cold_map(data_bytes, PROT_READ | PROT_WRITE);
    room->pages = cold_map(room->pages_bytes, PROT_READ | PROT_WRITE);
    void *code = cold_code(code_bytes);
    if (!room->data || !room->pages || !code)
        return false;
    memcpy(&room->code, &code, sizeof code);
    memset((void *)room->data, 1, data_bytes);
    memset((void *)room->pages, 1, room->pages_bytes);
    return true;
}

static inline void cold_walk(const struct cold_room *room)
{
    for (size_t at = 0; at < room->pages_bytes; at += COLD_PAGE)
        (void)room->pages[at + at / COLD_PAGE * COLD_LINE % COLD_PAGE];
    for (size_t at = 0; at < room->data_bytes; at += COLD_LINE)
        (void)room->data[at];
    room->code();
}

#endif
