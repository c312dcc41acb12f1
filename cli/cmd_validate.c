/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdio.h>

#include "analysis/escape.h"
#include "cli/command.h"
#include "cli/options.h"
#include "traces/reader.h"
#include "traces/result.h"

static const struct option_row rows[] = { { 0 } };

static const struct usage usage = {
    .command = "validate",
    .args = "FILE...",
    .doc = "Check traces and results: every frame, every checksum, every row.\v"
           "One line per file on standard output, one more per damaged stretch. Exit status 0: all "
           "of them are whole. 1: one is damaged, did not end cleanly, or its "
           "counters do not add up. 2: one cannot be read.",
    .options = rows,
    .min_args = 1,
    .max_args = -1,
};

struct finding {
    uint64_t frames, calls, unresolved;
    uint64_t in_phases;                     /* calls of PHASES rows: some of `calls` */
    uint64_t seen, recorded, dropped;       /* as the last frames state them */
    uint64_t kernels, gpu_records, gpu_now; /* gpu_now: of the shard gpu_shard so far */
    uint32_t gpu_shard;
    size_t shards, unclean, damaged;
};

/* The contract of traces/counters.h, and its word against the rows that are there. */
static bool adds_up(const struct finding *f)
{
    bool whole = !f->damaged && !f->unresolved;
    return f->seen == f->recorded + f->dropped && (!whole || f->calls == f->recorded) &&
           (!whole || f->unclean || f->kernels == f->gpu_records) &&
           (!whole || f->in_phases <= f->calls);
}

/* Kernels in rows, and the cumulative counter of each shard: shards stand one after the other. */
static void add_gpu(struct finding *f, const struct reader_frame *frame)
{
    if (frame->shard != f->gpu_shard) {
        f->gpu_records += f->gpu_now;
        f->gpu_now = 0;
        f->gpu_shard = frame->shard;
    }
    for (size_t i = 0; i < frame->nkernels; i++)
        f->kernels += frame->kernels[i].launches;
    if (frame->gpu_totals)
        f->gpu_now = frame->gpu_totals->records;
}

static enum status read_frames(struct reader *r, struct finding *f, struct fault *fault)
{
    struct reader_frame frame;
    enum status st;
    while ((st = reader_next(r, &frame, fault)) == ST_OK) {
        f->frames++;
        f->unresolved += frame.unresolved;
        for (size_t i = 0; i < frame.nevents; i++)
            f->calls += frame.events[i].count;
        for (size_t i = 0; i < frame.ncounts; i++)
            f->calls += frame.counts[i].calls;
        for (size_t i = 0; frame.phases && i < frame.phases->ncalls; i++)
            f->in_phases += frame.phases->calls[i].calls;
        add_gpu(f, &frame);
    }
    f->gpu_records += f->gpu_now;
    const struct reader_shard *shards = reader_shards(r, &f->shards);
    for (size_t i = 0; i < f->shards; i++) {
        f->unclean += !shards[i].complete;
        f->seen += shards[i].counters.seen;
        f->recorded += shards[i].counters.recorded;
        f->dropped += loss_total(&shards[i].counters);
    }
    return st == ST_END ? ST_OK : st;
}

static void print_finding(const char *path, const struct reader *r, const struct finding *f)
{
    const struct reader_damage *damage = reader_damage(r, &(size_t){ 0 });
    escape_plain(stdout, path);
    printf(": %s, %" PRIu64 " frames, %" PRIu64 " calls, %zu process%s\n",
           f->damaged || f->unresolved ? "damaged"
           : !adds_up(f)               ? "does not add up"
           : f->unclean                ? "did not end cleanly"
                                       : "whole",
           f->frames, f->calls, f->shards, f->shards == 1 ? "" : "es");
    for (size_t i = 0; i < f->damaged; i++)
        printf("  offset %" PRIu64 ", %" PRIu64 " bytes: %s\n", damage[i].offset, damage[i].bytes,
               damage[i].what);
    if (!adds_up(f))
        printf("  seen %" PRIu64 ", recorded %" PRIu64 ", dropped %" PRIu64 "; rows for %" PRIu64
               " calls\n",
               f->seen, f->recorded, f->dropped, f->calls);
    if (f->in_phases > f->calls)
        printf("  phases: rows for %" PRIu64 " calls\n", f->in_phases);
    if (f->kernels != f->gpu_records)
        printf("  GPU: %" PRIu64 " kernels counted, rows for %" PRIu64 "\n", f->gpu_records,
               f->kernels);
    if (f->unresolved)
        printf("  %" PRIu64 " calls whose signature was in a lost frame\n", f->unresolved);
}

/* Results have rows inside their frames. */
static enum status check_rows(const char *path, struct fault *fault)
{
    struct result_set set = { 0 };
    enum status st = result_read(&set, path, fault);
    result_free(&set);
    return st;
}

static int validate(const char *path)
{
    struct reader *r;
    struct finding f = { 0 };
    struct fault fault, inner;
    if (reader_open(&r, path, &fault) != ST_OK)
        return command_fault("validate", &fault);
    enum status st = read_frames(r, &f, &inner);
    reader_damage(r, &f.damaged);
    if (st != ST_OK)
        fault_set(&fault, st, "%s: %s", path, inner.text);
    else if (reader_kind(r) == TRACE_KIND_RESULT)
        st = check_rows(path, &fault);
    if (st == ST_OK)
        print_finding(path, r, &f);
    reader_close(r);
    if (st != ST_OK)
        return command_fault("validate", &fault);
    return f.damaged || f.unclean || f.unresolved || !adds_up(&f) ? EXIT_FINDING : EXIT_FINE;
}

int cmd_validate(int argc, char **argv)
{
    int first, code = options_parse(&usage, argc, argv, &first);
    if (code >= 0)
        return code;
    int worst = EXIT_FINE;
    for (int i = first; i < argc; i++) {
        int one = validate(argv[i]);
        worst = one > worst ? one : worst;
    }
    return worst;
}
