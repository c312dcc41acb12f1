/* SPDX-License-Identifier: Apache-2.0
 *
 * Where things lie. Between two calls a host does a hundred microseconds of its own, so a hook
 * finds the caches full of other things, and what it costs is lines and pages touched, not
 * instructions:
 *   - HOT_DATA: variables that every call reads lie together;
 *   - HOT_TEXT: so do the functions that it runs.
 * Nothing is fetched ahead but the next place in a journal: on the processors beside an H200, what
 * was fetched before the real call took as long as it saved. Each of the two begins with a page,
 * because what is aligned so is linked first (CMakeLists.txt). Declarations are marked too: so the
 * compiler knows that they are ours, and near.
 */
#ifndef TILEWISE_TRACER_HOT_H
#define TILEWISE_TRACER_HOT_H

enum { HOT_LINE = 64, HOT_PAGE = 4096 };

/* A section of its own, not .data.something: the linker puts all of a section's parts together. */
#define HOT_DATA __attribute__((section("tilewise_hot"), visibility("hidden")))

#define HOT_TEXT __attribute__((section("tilewise_text"), aligned(HOT_LINE)))

/* What is rarely called from there lies elsewhere. */
#define HOT_NOT __attribute__((noinline, cold))

#endif
