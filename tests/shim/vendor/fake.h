/* SPDX-License-Identifier: Apache-2.0
 *
 * Fake vendor libraries, made from the shim's own tables: every function counts and returns what a
 * test scripted. Work goes to a fake GPU with streams, captures and graphs, which knows how often
 * each call was really executed: the truth that a trace is held against.
 */
#ifndef TILEWISE_TESTS_FAKE_H
#define TILEWISE_TESTS_FAKE_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct fake_row {
    const char *symbol;
    int status;      /* what the function returns; 0 = success */
    uint64_t called; /* with success, under capture too */
    uint64_t executed;
};

/* Every fake library exports its rows under its own name: one with symbol NULL at the end. */
typedef struct fake_row *fake_rows(void);

/* The fake GPU. */
struct fake_stream;
struct fake_stream *fake_stream(void);
/* CUDA's address of a thread's own stream; the functions with _ptsz take 0 for it. */
enum { FAKE_PER_THREAD = 2 };
/* `other` joins the capture of `stream`, as by an event. */
void fake_join(struct fake_stream *other, const struct fake_stream *stream);
/* The next end of a capture on the stream fails. */
void fake_invalidate(struct fake_stream *stream);
/* One success of `row` on a stream: executed now, or by the launches of the graph. */
void fake_work(void *stream, struct fake_row *row);
/* A library puts `row` into a graph. */
void fake_graph_work(void *graph, struct fake_row *row);
/* Let functions of the runtime call the driver's, by their exported names. */
extern int fake_nested;
/* What the runtime says of itself: 12000 has the old cudaGraphAddNode. */
extern int fake_runtime_version;
/* What a function of the runtime or driver returns, without doing anything; 0: it works. */
extern fake_rows fake_gpu_rows;
/* A function of the runtime or driver where no preload stands in front of it; NULL: no such. */
void *fake_gpu_past(const char *symbol);

/* "SYMBOL EXECUTED" for each row that was executed. */
static inline void fake_print(fake_rows *rows)
{
    for (struct fake_row *r = rows(); r->symbol; r++)
        if (r->executed)
            printf("%s %llu\n", r->symbol, (unsigned long long)r->executed);
}

#endif
