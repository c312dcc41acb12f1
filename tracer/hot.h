/* SPDX-License-Identifier: Apache-2.0
 *
 * Where things lie. Between two calls a host does a hundred microseconds of its own, so a hook
 * finds the caches full of other things, and what it costs is lines and pages touched, not
 * instructions:
 *   - HOT_DATA: variables that every call reads lie together;
 *   - HOT_TEXT: so do the functions that run when the real one has returned;
 *   - hot_soon, ...: have lines brought in while the real function runs.
 */
#ifndef TILEWISE_TRACER_HOT_H
#define TILEWISE_TRACER_HOT_H

enum { HOT_LINE = 64 };

/* A section of its own, not .data.something: the linker puts all of a section's parts together. */
#define HOT_DATA __attribute__((section("tilewise_hot")))

/* Of a section whose name is one in C, the linker tells where it begins and ends. */
#define HOT_TEXT __attribute__((section("tilewise_text")))
extern const char __start_tilewise_text[] __attribute__((visibility("hidden")));
extern const char __stop_tilewise_text[] __attribute__((visibility("hidden")));

/* What is rarely called from there lies elsewhere. */
#define HOT_NOT __attribute__((noinline, cold))

/* No access: any address will do. */
static inline void hot_soon(const void *address)
{
    __builtin_prefetch(address, 0, 3);
}

static inline void hot_soon_written(const void *address)
{
    __builtin_prefetch(address, 1, 3);
}

/* Into the second level: the first one is for the real function. Of HOT_TEXT alone: with the rest
 * of the hook it would be more than can be under way at once. */
static inline void hot_text_soon(void)
{
    for (const char *at = __start_tilewise_text; at < __stop_tilewise_text; at += HOT_LINE)
        __builtin_prefetch(at, 0, 2);
}

#endif
