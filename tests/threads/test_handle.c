/* SPDX-License-Identifier: Apache-2.0
 *
 * What is known of library handles, while threads tell and ask at once. A plain program, for the
 * thread sanitizer.
 */
#include <pthread.h>
#include <stdio.h>

/* The shim is no library that a test could link. */
#include "tracer/handle.c"
#include "tracer/stream.c"

enum { THREADS = 4, HANDLES = 3000, TURNS = 30 };

static int done, failed;

static void check(bool good, const char *what)
{
    printf("%s %d - %s\n", good ? "ok" : "not ok", ++done, what);
    failed += !good;
}

static const void *handle(int thread, int i)
{
    return (const void *)(uintptr_t)(0x10000 + (i * THREADS + thread) * 64);
}

static struct handle_state state(const void *h)
{
    uintptr_t n = (uintptr_t)h;
    return (struct handle_state){ (void *)(n + 8), (uint32_t)(n >> 6), (uint16_t)(n >> 7),
                                  n >> 6 & 1 };
}

static bool is_right(const void *h, const struct handle_state *got)
{
    struct handle_state want = state(h);
    return got->stream == want.stream && got->stream_number == want.stream_number &&
           got->math_mode == want.math_mode && got->pointer_mode == want.pointer_mode;
}

/* Each thread has handles of its own, as the library asks; they push each other out. */
static void *tell_and_ask(void *thread)
{
    uintptr_t wrong = 0;
    for (int turn = 0; turn < TURNS; turn++)
        for (int i = 0; i < HANDLES; i++) {
            const void *h = handle((int)(uintptr_t)thread, i);
            struct handle_state got, told = state(h);
            wrong += handle_get(h, &got) && !is_right(h, &got);
            handle_put(h, &told);
            wrong += handle_get(h, &got) && !is_right(h, &got);
            handle_set_math_mode(h, 7);
            handle_set_pointer_mode(h, !told.pointer_mode);
            bool is_known = handle_get(h, &got);
            wrong += is_known && (got.math_mode != 7 || got.pointer_mode == told.pointer_mode);
            handle_set_math_mode(h, told.math_mode);
            handle_set_pointer_mode(h, told.pointer_mode);
            wrong += handle_get(h, &got) && !is_right(h, &got);
            handle_set_stream(h, told.stream);
            if (i % 3 == 0) {
                handle_forget(h);
                wrong += handle_get(h, &got);
            }
        }
    return (void *)wrong;
}

int main(void)
{
    pthread_t thread[THREADS];
    uintptr_t wrong = 0;
    struct handle_state got, told = state(handle(0, 1));
    check(!handle_get(handle(0, 1), &got), "an unknown handle");
    check(!handle_get(NULL, &got), "no handle");
    handle_put(handle(0, 1), &told);
    check(handle_get(handle(0, 1), &got) && is_right(handle(0, 1), &got), "what was told");
    handle_set_stream(handle(0, 1), &told);
    check(handle_get(handle(0, 1), &got) && got.stream == &told &&
              got.stream_number == stream_number(&told) && got.math_mode == told.math_mode,
          "another stream, the modes stay");
    handle_set_math_mode(handle(0, 1), 0xffff);
    handle_set_pointer_mode(handle(0, 1), true);
    check(handle_get(handle(0, 1), &got) && got.stream == &told && got.math_mode == 0xffff &&
              got.pointer_mode == 1,
          "other modes, the stream stays");
    check(handle_has_stream(handle(0, 1), &told) && handle_has_math_mode(handle(0, 1), 0xffff) &&
              handle_has_pointer_mode(handle(0, 1), true),
          "what is there is known to be there");
    check(!handle_has_stream(handle(0, 1), &got) && !handle_has_math_mode(handle(0, 1), 0xfffe) &&
              !handle_has_pointer_mode(handle(0, 1), false),
          "and nothing else");
    handle_set_math_mode(handle(1, 1), 3);
    check(!handle_get(handle(1, 1), &got), "what is set for an unknown handle is not kept");
    handle_forget(handle(0, 1));
    check(!handle_get(handle(0, 1), &got), "a forgotten handle");
    for (uintptr_t i = 0; i < THREADS; i++)
        pthread_create(&thread[i], NULL, tell_and_ask, (void *)i);
    for (int i = 0; i < THREADS; i++) {
        void *part;
        pthread_join(thread[i], &part);
        wrong += (uintptr_t)part;
    }
    check(wrong == 0, "never another handle's state");
    printf("1..%d\n", done);
    return failed != 0;
}
