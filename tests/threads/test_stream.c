/* SPDX-License-Identifier: Apache-2.0
 *
 * Numbers of streams, given by threads at once. A plain program, for the thread sanitizer.
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

/* The shim is no library that a test could link. */
#include "tracer/stream.c"

enum { THREADS = 4, STREAMS = 600 };

static int done, failed;
static uint32_t numbers[THREADS][STREAMS];

static void check(bool good, const char *text)
{
    printf("%s %d - %s\n", good ? "ok" : "not ok", ++done, text);
    failed += !good;
}

static const void *stream(uint32_t i)
{
    return (const void *)((uintptr_t)i * 4096);
}

static void *ask(void *out)
{
    uint32_t *got = out;
    for (uint32_t i = 0; i < STREAMS; i++)
        got[i] = stream_number(stream(i));
    return NULL;
}

static void in_threads(void)
{
    pthread_t thread[THREADS];
    static bool given[MOST + 1];
    bool distinct = true, stable = true;
    for (int i = 0; i < THREADS; i++)
        pthread_create(&thread[i], NULL, ask, numbers[i]);
    for (int i = 0; i < THREADS; i++)
        pthread_join(thread[i], NULL);
    for (uint32_t i = 0; i < STREAMS; i++) {
        uint32_t n = stream_number(stream(i));
        distinct &= n >= 1 && n <= STREAMS && !given[n];
        given[n] = true;
        for (int t = 0; t < THREADS; t++)
            stable &= numbers[t][i] == n;
    }
    check(distinct, "the null stream and others have numbers of their own, from 1");
    check(stable, "threads agree on them from the first on");
}

static void the_rest(void)
{
    bool good = true;
    for (uint32_t i = 0; i < 5000; i++)
        good &= stream_number(stream(STREAMS + i)) <= MOST;
    check(good && stream_number(stream(100000)) == MOST,
          "more streams than numbers share the last");
    check(stream_number(stream(5)) <= STREAMS, "the first keep theirs");
}

int main(void)
{
    in_threads();
    the_rest();
    printf("1..%d\n", done);
    return failed != 0;
}
